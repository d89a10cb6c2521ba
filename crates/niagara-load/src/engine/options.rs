//! How servers are loaded: connections, limits, and what is put up with.

use crate::engine::pacing::Pacing;
use crate::error::LoadError;
use crate::net::io_choice::IoChoice;
use niagara_capture::rewrite::RewrittenTexts;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How servers are loaded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DriverOptions {
    /// Connections per side, each with one transaction in flight. Default 1.
    pub connections: u32,
    /// Threads of this process that drive them. Default: one for every eight CPUs, at least one, no more than
    /// `connections`. One is enough for more queries than eight CPUs of a server answer.
    pub loops: Option<usize>,
    /// How the system is asked for input and output. Default [`IoChoice::Auto`].
    pub io: IoChoice,
    /// Whether wake-ups for answers are coalesced. Default [`CoalescingChoice::Auto`].
    pub coalescing: CoalescingChoice,
    /// Seed of everything that is drawn. A connection draws the same on every side. Default 1.
    pub seed: u64,
    /// Bound on a login, and on preparing each statement after it. Default 10 s.
    pub connect_timeout: Duration,
    /// A loop that waits for answers and hears nothing from a loaded server for this long gives it up.
    /// Default 60 s, which is longer than InnoDB waits for a lock.
    pub stall_timeout: Duration,
    /// Setting it ends whatever runs, within 100 ms plus the transactions in flight. Of one process: it is not serialised.
    #[serde(skip)]
    pub cancel: Arc<AtomicBool>,
    /// Server errors after which a transaction is rolled back, counted and begun again.
    pub ignored_errors: IgnoredErrors,
    /// What becomes of a connection that is lost under load. `None` (the default): the run fails.
    pub retry: Option<Retry>,
    /// Every connection is re-established after this many transactions. `None` (the default): as the workload's `reconnect` says.
    pub reconnect_after: Option<u64>,
    /// Of a capture, by side: statements that are sent in place of captured ones. Of one process: they are not serialised.
    #[serde(skip)]
    pub rewritten: Vec<Option<Arc<RewrittenTexts>>>,
    /// Of a capture: about how long a segment takes at the captured pace. Default 1 s.
    pub segment: Duration,
    /// Of a capture: the segments that it is cut into at least, where it has as many transactions. Default 1.
    pub segments_at_least: usize,
}

impl Default for DriverOptions {
    fn default() -> Self {
        DriverOptions {
            connections: 1,
            loops: None,
            io: IoChoice::Auto,
            coalescing: CoalescingChoice::Auto,
            seed: 1,
            connect_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(60),
            cancel: Arc::default(),
            ignored_errors: IgnoredErrors::default(),
            retry: None,
            reconnect_after: None,
            rewritten: Vec::new(),
            segment: Duration::from_secs(1),
            segments_at_least: 1,
        }
    }
}

/// Wake-up coalescing: for how long a loop that waits lets answers come in before it is woken for them; io_uring and closed loops only.
///
/// A loop on CPUs of its own is faster than the server, so it sleeps before every answer, and waking a sleeping CPU
/// costs the server's thread time (in a virtual machine much of it). It is woken for at most half of the answers that are expected at once; the statements of
/// the other connections keep the server busy meanwhile. An answer is seen later by up to this time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CoalescingChoice {
    /// [`CoalescingChoice::among`] the connections where that does not keep the server waiting: in a closed loop of a workload
    /// that only reads, on a server of this machine, with eight connections or more for each CPU, where the loops may
    /// not use all CPUs. Else none.
    #[default]
    Auto,
    /// So long; zero for not at all.
    For(Duration),
}

impl CoalescingChoice {
    /// What `Auto` comes to among this many connections of a loop: 100 µs for every 32, no more than 1 ms. The more of them
    /// share a server, the longer each waits for its turn, and the less such a time is beside that.
    pub fn among(connections: usize) -> Duration {
        let share = connections as f64 / 32.0;
        Duration::from_micros(100)
            .mul_f64(share)
            .min(Duration::from_millis(1))
    }
}

impl fmt::Display for CoalescingChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CoalescingChoice::Auto => f.write_str("auto"),
            CoalescingChoice::For(Duration::ZERO) => f.write_str("off"),
            CoalescingChoice::For(time) => write!(f, "{}us", time.as_micros()),
        }
    }
}

impl FromStr for CoalescingChoice {
    type Err = String;

    /// `auto`, `off`, or microseconds: `50us`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let microseconds = match text {
            "auto" => return Ok(CoalescingChoice::Auto),
            "off" => Some(0),
            _ => text
                .strip_suffix("us")
                .and_then(|number| number.parse().ok()),
        };
        match microseconds {
            Some(0) => Ok(CoalescingChoice::For(Duration::ZERO)),
            Some(some @ 1..=10_000) => Ok(CoalescingChoice::For(Duration::from_micros(some))),
            _ => Err(format!(
                "'{text}' is neither auto nor off nor a time from 1us to 10000us"
            )),
        }
    }
}

/// Server errors that belong to a transaction's life: it is rolled back, counted and begun again.
///
/// Written as sysbench's `--mysql-ignore-errors`: numbers with commas between them, or `all`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredErrors {
    /// These, by the server's numbers.
    These(Vec<u16>),
    /// Every one that does not end the connection.
    All,
}

impl Default for IgnoredErrors {
    /// Deadlock (1213), lock wait timeout (1205), record changed since it was read (1020): sysbench's list; and
    /// duplicate key (1062), which a delete and insert outside of a transaction can meet.
    fn default() -> Self {
        IgnoredErrors::These(vec![1213, 1205, 1020, 1062])
    }
}

impl IgnoredErrors {
    pub(crate) fn contain(&self, code: u16) -> bool {
        match self {
            IgnoredErrors::These(codes) => codes.contains(&code),
            IgnoredErrors::All => true,
        }
    }
}

impl FromStr for IgnoredErrors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.trim() == "all" {
            return Ok(IgnoredErrors::All);
        }
        text.split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
            .map(|word| {
                word.parse().map_err(|_| {
                    format!("'{word}' is not the number of a server error: write numbers with commas between them, or all")
                })
            })
            .collect::<Result<_, _>>()
            .map(IgnoredErrors::These)
    }
}

/// How a lost connection is re-established. The wait doubles from `first` to `longest` with every attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// Before the first attempt. Default 10 ms.
    pub first: Duration,
    /// Between later attempts. Default 1 s.
    pub longest: Duration,
    /// A connection that is not there again after this long fails the run. Default 60 s.
    pub give_up_after: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            first: Duration::from_millis(10),
            longest: Duration::from_secs(1),
            give_up_after: Duration::from_secs(60),
        }
    }
}

/// One slice.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SliceOptions {
    /// Counted time. Default 500 ms.
    pub duration: Duration,
    /// Load before counted time. Default 50 ms.
    pub ramp: Duration,
    /// CPUs the loops may use; `None`: those they had when they were started.
    pub cpus: Option<Vec<usize>>,
    /// How long transactions in flight may take to finish; then the server counts as lost. Default 30 s.
    pub drain_timeout: Duration,
    /// Counted time continues until the transactions in flight are finished: a slice is then a batch of whole transactions,
    /// and where it was cut says nothing about its rate. Default false.
    pub count_drain: bool,
}

impl Default for SliceOptions {
    fn default() -> Self {
        SliceOptions {
            duration: Duration::from_millis(500),
            ramp: Duration::from_millis(50),
            cpus: None,
            drain_timeout: Duration::from_secs(30),
            count_drain: false,
        }
    }
}

/// One run: a slice with intervals, pacing and limits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunOptions {
    /// Load before counted time. Default 0.
    pub warm_up: Duration,
    /// Counted time at most. `None`: until `events` are done or `on_interval` says stop. Default 10 s.
    pub duration: Option<Duration>,
    /// Transactions begun in counted time at most; over all connections. Default: no limit.
    pub events: Option<u64>,
    /// When transactions start. Default [`Pacing::Closed`].
    pub pacing: Pacing,
    /// What every full interval of counted time did is handed out as soon as it is over. Default: nothing is.
    pub interval: Option<Duration>,
    /// CPUs the loops may use; `None`: those they had when they were started.
    pub cpus: Option<Vec<usize>>,
    /// How long transactions in flight may take to finish; then the server counts as lost. Default 30 s.
    pub drain_timeout: Duration,
    /// Counted time continues until the transactions in flight are finished, as sysbench counts: they are part of the
    /// figures, and so is their time. Default false.
    pub count_drain: bool,
    /// Of a capture: replay its next segment, the whole of it and no more, however long that takes; counted time is then
    /// all of it, and the run has no warm-up. Default false: the trace is replayed until the time is over.
    pub segment: bool,
    /// Intervals say what each connection did, too. Default false: that costs a list of them for every interval.
    pub connections_by_interval: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            warm_up: Duration::ZERO,
            duration: Some(Duration::from_secs(10)),
            events: None,
            pacing: Pacing::Closed,
            interval: None,
            cpus: None,
            drain_timeout: Duration::from_secs(30),
            count_drain: false,
            segment: false,
            connections_by_interval: false,
        }
    }
}

/// No run is longer; bounds keep the clock's arithmetic from overflowing.
pub(crate) const MAX_RUN: Duration = Duration::from_secs(10 * 366 * 86_400);

impl RunOptions {
    pub(crate) fn validate(&self) -> Result<(), LoadError> {
        let invalid = |message: &str| Err(LoadError::invalid(message));
        if self.duration == Some(Duration::ZERO) {
            return invalid("a run must have a duration");
        }
        if self.duration.is_some_and(|duration| duration > MAX_RUN)
            || self.warm_up > MAX_RUN
            || self.drain_timeout > MAX_RUN
        {
            return invalid("a run can last ten years at most");
        }
        if self.events == Some(0) {
            return invalid("events = 0: a run must have at least one transaction");
        }
        if self
            .interval
            .is_some_and(|interval| interval < Duration::from_millis(1))
        {
            return invalid("an interval must have at least 1 ms");
        }
        if let Pacing::Open(schedule) = &self.pacing {
            schedule.validate().map_err(LoadError::invalid)?;
        }
        Ok(())
    }
}

impl From<&SliceOptions> for RunOptions {
    fn from(slice: &SliceOptions) -> Self {
        RunOptions {
            warm_up: slice.ramp,
            duration: Some(slice.duration),
            cpus: slice.cpus.clone(),
            drain_timeout: slice.drain_timeout,
            count_drain: slice.count_drain,
            segment: true,
            ..RunOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_errors_as_sysbench_writes_them() {
        assert_eq!("all".parse(), Ok(IgnoredErrors::All));
        assert_eq!(
            "1213, 1020,1205".parse(),
            Ok(IgnoredErrors::These(vec![1213, 1020, 1205]))
        );
        assert_eq!("".parse(), Ok(IgnoredErrors::These(vec![])));
        assert!(
            "1213,x"
                .parse::<IgnoredErrors>()
                .unwrap_err()
                .contains("'x'")
        );
        assert!("70000".parse::<IgnoredErrors>().is_err());
        assert!(IgnoredErrors::All.contain(1));
        assert!(!IgnoredErrors::default().contain(1146));
    }

    #[test]
    fn the_delay_grows_with_connections() {
        let of = |connections| CoalescingChoice::among(connections).as_micros();
        assert_eq!([0, 8, 32, 64, 4096].map(of), [0, 25, 100, 200, 1000]);
    }

    #[test]
    fn coalescing_as_it_is_written() {
        for text in ["auto", "off", "50us"] {
            assert_eq!(text.parse::<CoalescingChoice>().unwrap().to_string(), text);
        }
        for text in ["", "50", "50ms", "-1us", "20000us"] {
            assert!(text.parse::<CoalescingChoice>().is_err(), "{text}");
        }
    }

    #[test]
    fn impossible_run_options_are_refused() {
        let refused = |options: RunOptions| options.validate().unwrap_err();
        refused(RunOptions {
            duration: Some(Duration::ZERO),
            ..RunOptions::default()
        });
        refused(RunOptions {
            duration: Some(Duration::MAX),
            ..RunOptions::default()
        });
        refused(RunOptions {
            events: Some(0),
            ..RunOptions::default()
        });
        refused(RunOptions {
            interval: Some(Duration::from_micros(1)),
            ..RunOptions::default()
        });
        RunOptions::default().validate().unwrap();
    }
}
