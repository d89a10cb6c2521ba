//! How long a server is waited for, by the time that the machine left it: what a slow disk or other processes take is no fault of
//! the server's.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use niagara_error::{Explanation, problem};
use niagara_server::RunningServer;
use niagara_server::machine::{DisturbanceMeter, Interval, Sample};

use crate::server::STATEMENT_TIMEOUT;

/// The time of its own that a server gets to do what it is waited for.
pub(super) const GIVEN: Duration = Duration::from_secs(30);
/// On the clock no wait is longer: a server that had too little of its own by then is neither right nor wrong. Shorter than a
/// statement may take, or a client that waits for the disk would take its server for lost before.
const LONGEST: Duration = STATEMENT_TIMEOUT.saturating_sub(Duration::from_secs(20));
/// How often it is looked what the machine does.
const LOOK: Duration = Duration::from_millis(100);

/// A wait for a server.
pub(super) struct Patience<'a> {
    server: &'a RunningServer,
    meter: DisturbanceMeter,
    last: Sample,
    spent: Spent,
}

/// How a wait stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// It may be waited on.
    Goes,
    /// The server had all of its time: what has not come by now is its own fault.
    Over,
    /// The machine left it too little; in words.
    Timeout(Timeout),
}

/// What cannot be said of a server, for the machine kept it from its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Timeout(Explanation);

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.cause)
    }
}

impl std::error::Error for Timeout {}

niagara_error::remedied!(Timeout, |timeout| timeout.0.clone());

impl Timeout {
    /// For this reason.
    #[cfg(test)]
    pub fn for_test(why: &str) -> Timeout {
        Timeout(why.into())
    }

    /// That this has not come.
    pub fn about(self, what: &str) -> Timeout {
        let told = problem!(
            "{what}, which decides nothing: {}", self.0.cause;
            remedy: "check again while nothing else uses the machine, or name a folder on a faster disk in NIAGARA_WORK"
        );
        Timeout(told.into())
    }
}

impl<'a> Patience<'a> {
    /// With this server, from now on.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn with(server: &'a RunningServer) -> Result<Patience<'a>> {
        let meter = DisturbanceMeter::new(vec![server.pid() as u32])?;
        Ok(Patience {
            server,
            last: meter.sample()?,
            meter,
            spent: Spent::default(),
        })
    }

    /// How the wait stands now.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn look(&mut self) -> Result<Wait> {
        if self.last.at.elapsed() >= LOOK {
            let now = self.meter.sample()?;
            let interval = now.since(&self.last);
            self.spent.add(&interval, self.server.waits_for_disk());
            self.last = now;
        }
        Ok(self.spent.judged())
    }
}

/// What became of the time of a wait, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Spent {
    all: f64,
    /// Other processes, or other machines, had the CPUs.
    taken: f64,
    /// It waited for the disk.
    on_disk: f64,
}

impl Spent {
    /// Takes in what happened since the last look. A server that sleeps, or that spins, has this time for itself; its own work
    /// on the CPUs takes nothing from it, however many of its threads wait for their turn.
    fn add(&mut self, interval: &Interval, waits_for_disk: bool) {
        self.all += interval.seconds;
        if waits_for_disk {
            self.on_disk += interval.seconds;
        } else {
            let share = (interval.steal + interval.foreign).clamp(0.0, 1.0);
            self.taken += share * interval.seconds;
        }
    }

    fn own(self) -> f64 {
        self.all - self.taken - self.on_disk
    }

    fn judged(self) -> Wait {
        if self.own() >= GIVEN.as_secs_f64() {
            return Wait::Over;
        }
        if self.all < LONGEST.as_secs_f64() {
            return Wait::Goes;
        }
        Wait::Timeout(Timeout(problem!(
            "of {:.0} s the machine left it {:.0} s (others had the CPUs for {:.0} s, it waited for the disk for {:.0} s)",
            self.all,
            self.own(),
            self.taken,
            self.on_disk
        ).into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a wait of so many looks, of a second each, stands.
    fn after(looks: usize, taken: f64, waits_for_disk: bool) -> Wait {
        let mut spent = Spent::default();
        for _ in 0..looks {
            let interval = Interval {
                seconds: 1.0,
                steal: taken / 2.0,
                foreign: taken / 2.0,
                ..Interval::default()
            };
            spent.add(&interval, waits_for_disk);
        }
        spent.judged()
    }

    #[test]
    fn a_server_that_had_its_time_has_no_excuse() {
        assert_eq!(after(29, 0.0, false), Wait::Goes);
        assert_eq!(after(30, 0.0, false), Wait::Over);
        // Half of the machine is enough for it, in twice the time.
        assert_eq!(after(59, 0.5, false), Wait::Goes);
        assert_eq!(after(60, 0.5, false), Wait::Over);
    }

    #[test]
    fn what_the_machine_took_is_not_the_servers_and_no_wait_is_endless() {
        for (taken, waits_for_disk, told) in [
            (1.0, false, "others had the CPUs for 100 s"),
            (0.0, true, "it waited for the disk for 100 s"),
        ] {
            assert_eq!(after(99, taken, waits_for_disk), Wait::Goes);
            let Wait::Timeout(undecided) = after(100, taken, waits_for_disk) else {
                panic!("{told}");
            };
            let words = undecided.about("no commit came").to_string();
            assert!(
                words.starts_with("no commit came, which decides nothing: of 100 s")
                    && words.contains(told),
                "{words}"
            );
        }
    }
}
