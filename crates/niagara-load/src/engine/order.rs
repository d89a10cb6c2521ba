//! What a driver and its loops say to each other: orders, what each connection did, reports.

use crate::engine::options::{CoalescingChoice, IgnoredErrors, Retry};
use crate::engine::pacing::Arrivals;
use crate::engine::recorder::Window;
use crate::error::LoadError;
use crate::script::program::Counts;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a loop is to do for one slice or run.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub side: usize,
    /// When the load was kicked off; arrivals count from here.
    pub kick: Instant,
    /// Counted time.
    pub count_from: Instant,
    pub stop_at: Instant,
    /// Of a capture: its next segment, the whole of it and no more.
    pub segment: bool,
    /// Report whenever this much counted time has passed.
    pub interval: Option<Duration>,
    pub drain_timeout: Duration,
    /// Counted time ends with the drain, not before it.
    pub count_drain: bool,
    pub connections_by_interval: bool,
    pub stall_timeout: Duration,
    pub cpus: Option<Vec<usize>>,
    /// Transactions that may begin in counted time, and how many did.
    pub events: Option<(u64, Arc<AtomicU64>)>,
    /// Of an open loop: where all loops take their transactions from.
    pub arrivals: Option<Arc<Mutex<Arrivals>>>,
    /// Another loop has failed: leave everything as it is.
    pub abort: Arc<AtomicBool>,
    /// End counted time now and drain.
    pub stop: Arc<AtomicBool>,
    /// The user wants to stop: as `stop`, and the drain is short.
    pub cancel: Arc<AtomicBool>,
}

/// What a connection did since the kick.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Served {
    pub transactions: u64,
    /// Time within them.
    pub busy: Duration,
    /// Time from when they were to begin until they did: of an open loop, their waiting for a connection.
    pub waited: Duration,
    /// The least of both for one of them; nothing without one.
    pub shortest: Duration,
    /// The most.
    pub longest: Duration,
}

impl Served {
    /// One more transaction, which began so long after its time and then took so long.
    pub(crate) fn add(&mut self, waited: Duration, took: Duration) {
        let all = waited + took;
        self.shortest = match self.transactions {
            0 => all,
            _ => self.shortest.min(all),
        };
        self.longest = self.longest.max(all);
        self.transactions += 1;
        self.busy += took;
        self.waited += waited;
    }

    /// The same with what a transaction under way has taken so far.
    pub(crate) fn with_part(self, part: Duration) -> Self {
        Served {
            busy: self.busy + part,
            ..self
        }
    }
}

/// What a loop says.
#[derive(Debug)]
pub(crate) enum Report {
    /// An interval is over. What each connection did since the kick, if that was asked for.
    Interval(Window, Vec<Served>),
    /// All transactions are finished.
    Finished {
        window: Window,
        /// When the last one was.
        ended: Instant,
        /// When counted time ended.
        stopped: Instant,
        /// What each connection did.
        per_connection: Vec<Served>,
    },
    /// The slice cannot be finished.
    Failed(LoadError),
}

/// What is put up with.
#[derive(Debug, Clone)]
pub(crate) struct Policy {
    pub ignored_errors: IgnoredErrors,
    pub retry: Option<Retry>,
    pub reconnect_after: Option<u64>,
    /// A server that is not heard of for this long is given up.
    pub stall_timeout: Duration,
    /// Whether wake-ups for answers are coalesced.
    pub coalescing: CoalescingChoice,
    /// With [`CoalescingChoice::Auto`] they are, where the loop has CPUs of its own.
    pub auto_coalesces: bool,
}

impl Policy {
    /// The longest delay of a wake-up for a loop of this many `connections` that may use `cpus` of the machine's `machine` CPUs.
    pub(crate) fn max_delay(&self, connections: usize, cpus: usize, machine: usize) -> Duration {
        match self.coalescing {
            CoalescingChoice::For(delay) => delay,
            CoalescingChoice::Auto if self.auto_coalesces && cpus < machine => {
                CoalescingChoice::among(connections)
            }
            CoalescingChoice::Auto => Duration::ZERO,
        }
    }
}

/// What a loop has done outside its runs: before the first one, and after the last.
#[derive(Debug, Default)]
pub(crate) struct LoopExit {
    /// Statements of a script's `thread_init` and `thread_done`.
    pub counts: Counts,
    /// The first of its threads that failed when it took leave.
    pub failure: Option<LoadError>,
    /// It had failed before, so that its threads did not take leave.
    pub broken: bool,
}

/// Errors by which a server says that the connection ends.
pub(crate) const ENDING_ERRORS: [u16; 5] = [
    1053, // the server shuts down
    1080, // forced close
    1927, // connection was killed (MariaDB)
    3169, // session was killed (MySQL)
    4031, // closed for inactivity (MySQL)
];

/// An error of this machine while doing `what`.
pub(crate) fn client(what: &str) -> impl Fn(io::Error) -> LoadError + '_ {
    move |error| LoadError::Client(format!("{what}: {error}"))
}

/// What tests carry out.
#[cfg(test)]
pub(crate) mod fixture {
    use super::*;
    use crate::engine::recorder::Kinds;
    use crate::workload::StatementClass;

    /// Longer than any of them takes.
    pub(crate) const LONG: Duration = Duration::from_secs(60);

    /// What a script's statements are counted as.
    pub(crate) fn kinds() -> Kinds {
        Kinds {
            names: ["read", "write", "other", "rollback"]
                .map(|name| (name.to_owned(), StatementClass::Other))
                .to_vec(),
            types: Vec::new(),
        }
    }

    pub(crate) fn policy(stall_timeout: Duration, retry: Option<Retry>) -> Policy {
        Policy {
            ignored_errors: IgnoredErrors::default(),
            retry,
            reconnect_after: None,
            stall_timeout,
            coalescing: CoalescingChoice::Auto,
            auto_coalesces: false,
        }
    }

    /// Kicked off at `now`.
    pub(crate) fn order(now: Instant, stall_timeout: Duration) -> Order {
        Order {
            side: 0,
            kick: now,
            count_from: now,
            stop_at: now + LONG,
            segment: false,
            interval: None,
            drain_timeout: LONG,
            count_drain: false,
            connections_by_interval: false,
            stall_timeout,
            cpus: None,
            events: None,
            arrivals: None,
            abort: Arc::default(),
            stop: Arc::default(),
            cancel: Arc::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_part_of_a_transaction_but_not_of_the_time_within_it() {
        let ms = Duration::from_millis;
        let mut served = Served::default();
        served.add(ms(100), ms(10));
        served.add(ms(0), ms(30));
        assert_eq!((served.busy, served.waited), (ms(40), ms(100)));
        assert_eq!((served.shortest, served.longest), (ms(30), ms(110)));
        let with_part = served.with_part(ms(7));
        assert_eq!((with_part.busy, with_part.transactions), (ms(47), 2));
        assert_eq!(with_part.waited, ms(100));
    }
}
