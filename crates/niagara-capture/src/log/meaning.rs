//! Whether the second of an entry is that of its start or of its end.
//!
//! Releases differ and do not document it. The order of a slow log is that of completion, so ends never go back: where the
//! seconds plus durations do, the seconds are ends; where the seconds themselves do, they are starts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `SET timestamp` of a slow log says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// The second in which the statement began.
    #[default]
    Start,
    /// The second in which it ended.
    End,
}

/// Collects what speaks for either.
#[derive(Debug, Default)]
pub(super) struct Votes {
    last_second: Option<i64>,
    last_end: i64,
    start: u64,
    end: u64,
}

impl Votes {
    /// An entry in the order of the log: its second, and its duration in microseconds.
    pub fn see(&mut self, second: i64, duration_us: u64) {
        let duration = i64::try_from(duration_us / 1_000_000).unwrap_or(i64::MAX / 4);
        let end = second.saturating_add(duration);
        if let Some(last) = self.last_second {
            if second < last {
                self.start += 1;
            }
            // Seconds are cut off on both sides: a difference of one says nothing.
            if end + 1 < self.last_end {
                self.end += 1;
            }
        }
        self.last_second = Some(second);
        self.last_end = self.last_end.max(end);
    }

    /// What the log means; a start where nothing speaks for either.
    pub fn verdict(&self) -> Meaning {
        if self.end > self.start {
            Meaning::End
        } else {
            Meaning::Start
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_completion_tells_starts_from_ends() {
        let verdict = |entries: &[(i64, u64)]| {
            let mut votes = Votes::default();
            for &(second, duration) in entries {
                votes.see(second, duration * 1_000_000);
            }
            votes.verdict()
        };
        assert_eq!(
            verdict(&[(10, 0), (13, 0), (11, 2), (13, 0)]),
            Meaning::Start
        );
        assert_eq!(verdict(&[(10, 0), (20, 9), (20, 0), (21, 0)]), Meaning::End);
        assert_eq!(verdict(&[(10, 0), (11, 0)]), Meaning::Start);
    }
}
