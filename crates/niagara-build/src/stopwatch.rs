//! Seconds and CPU seconds of a part of a build.

use std::time::Instant;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

/// What was spent since it was started.
pub(crate) struct Stopwatch {
    began: Instant,
    cpu: Option<f64>,
}

impl Stopwatch {
    pub(crate) fn start() -> Stopwatch {
        Stopwatch {
            began: Instant::now(),
            cpu: children_cpu_seconds(),
        }
    }

    /// Seconds.
    pub(crate) fn seconds(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// CPU seconds of the programs that were run and ended meanwhile, with those that they ran themselves; a server that this
    /// process ended meanwhile counts as well.
    pub(crate) fn cpu_seconds(&self) -> Option<f64> {
        Some(children_cpu_seconds()? - self.cpu?)
    }
}

/// CPU seconds of all children of this process that have ended and were waited for.
fn children_cpu_seconds() -> Option<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Some(micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn cpu_time_of_grandchildren_counts() {
        let watch = Stopwatch::start();
        let work = "sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'; true";
        let ended = Command::new("sh").args(["-c", work]).status();
        assert!(ended.expect("sh is everywhere").success());
        assert!(watch.cpu_seconds().expect("Linux counts it") > 0.005);
        assert!(watch.seconds() > 0.005);
    }
}
