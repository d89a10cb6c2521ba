//! Starts of statements from what a log says of them.
//!
//! Logs with seconds leave the microseconds open. What narrows them: a session does one thing at a time, and the order of a
//! slow log is that of completion. The earliest start that both allow is taken, within the second that the log says.

use crate::log::Stamp;

const SECOND: i64 = 1_000_000;

/// Gives entries their starts, in the order of the log.
#[derive(Debug, Default)]
pub struct Clock {
    /// The latest end so far, in microseconds.
    last: i64,
}

impl Clock {
    /// The start of the next entry in microseconds since 1970, and whether it is exact. `duration_us`: of the statement, 0 where
    /// it is not known; `free_us`: when the session was done with what it did before.
    pub fn start(&mut self, stamp: Stamp, duration_us: u64, free_us: Option<i64>) -> (i64, bool) {
        let duration = i64::try_from(duration_us).unwrap_or(i64::MAX / 4);
        let within = |second: i64, time: i64| {
            let from = second.saturating_mul(SECOND);
            time.clamp(from, from.saturating_add(SECOND - 1))
        };
        let (start, exact) = match stamp {
            Stamp::Exact(start) => (start, true),
            Stamp::Second(second) => {
                let by_order = self.last.saturating_sub(duration);
                let earliest = by_order.max(free_us.unwrap_or(i64::MIN));
                (within(second, earliest), false)
            }
            Stamp::EndSecond(second) => {
                let free = free_us.unwrap_or(i64::MIN).saturating_add(duration);
                (
                    within(second, self.last.max(free)).saturating_sub(duration),
                    false,
                )
            }
        };
        self.last = self.last.max(start.saturating_add(duration));
        (start, exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_narrowed_by_order_and_by_session() {
        let mut clock = Clock::default();
        let second = |n| Stamp::Second(n);
        assert_eq!(clock.start(second(10), 300_000, None), (10_000_000, false));
        // Ended after the one before it, so it began no earlier than this.
        assert_eq!(clock.start(second(10), 100_000, None), (10_200_000, false));
        // The session was busy until later.
        assert_eq!(
            clock.start(second(10), 100, Some(10_500_000)),
            (10_500_000, false)
        );
        // A lock wait that began earlier than others that have ended.
        assert_eq!(clock.start(second(9), 1_600_100, None), (9_000_000, false));
        assert_eq!(
            clock.start(Stamp::Exact(11_000_001), 5, None),
            (11_000_001, true)
        );
        assert_eq!(
            clock.start(Stamp::EndSecond(14), 2_500_000, None),
            (11_500_000, false)
        );
    }
}
