//! What has to end before a unit may begin.
//!
//! A unit waits before its first statement only: then it holds no locks, so what it waits for cannot be waiting for it, and
//! the captured order has no circles.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::types::Unit;

/// Which order of the capture a replay keeps between sessions. Within a session it keeps all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommitOrder {
    /// A transaction begins after those that had changed data and had ended before it began. Reading changes nothing,
    /// so nobody waits for it.
    #[default]
    Normal,
    /// None.
    None,
    /// A transaction begins after all that had ended before it began.
    Strict,
}

impl CommitOrder {
    /// The word that users write.
    pub fn name(self) -> &'static str {
        match self {
            CommitOrder::Normal => "normal",
            CommitOrder::None => "none",
            CommitOrder::Strict => "strict",
        }
    }
}

impl fmt::Display for CommitOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CommitOrder {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [CommitOrder::Normal, CommitOrder::None, CommitOrder::Strict]
            .into_iter()
            .find(|order| order.name() == text)
            .ok_or_else(|| format!("'{text}' is not a commit order: normal, none or strict"))
    }
}

/// Gives units, which are in the order of their beginnings, their gates and ranks.
///
/// Gates grow with the units' places: the first unit whose gate is shut is followed by such units only.
pub(super) fn put_in_order(units: &mut [Unit], order: CommitOrder) {
    let waited_for = |unit: &Unit| match order {
        CommitOrder::Normal => unit.writes,
        CommitOrder::None => false,
        CommitOrder::Strict => unit.steps > 0,
    };
    let mut by_end: Vec<u32> = (0..units.len() as u32)
        .filter(|&place| waited_for(&units[place as usize]))
        .collect();
    by_end.sort_by_key(|&place| (units[place as usize].end_us, place));
    let ends: Vec<u64> = by_end
        .iter()
        .map(|&place| units[place as usize].end_us)
        .collect();
    for (rank, &place) in by_end.iter().enumerate() {
        units[place as usize].rank = rank as u32;
    }
    for unit in units {
        // Ended before, not at the same microsecond: so no unit waits for one that has a place behind it.
        unit.gate = ends.partition_point(|&end| end < unit.start_us) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::super::types::NONE;
    use super::*;

    fn unit(start_us: u64, end_us: u64, writes: bool) -> Unit {
        Unit {
            start_us,
            end_us,
            session: 0,
            first_step: 0,
            steps: 1,
            next: NONE,
            gate: 0,
            rank: NONE,
            is_first: false,
            writes,
        }
    }

    #[test]
    fn units_wait_for_what_had_ended() {
        let captured = [
            unit(0, 50, true),
            unit(10, 20, false),
            unit(15, 30, true),
            unit(40, 60, true),
            unit(55, 58, false),
        ];
        let gates = |order| {
            let mut units = captured;
            put_in_order(&mut units, order);
            units.map(|unit| unit.gate)
        };
        assert_eq!(gates(CommitOrder::None), [0; 5]);
        // Of those that write, the one of 15 to 30 ends first, then that of 0 to 50.
        assert_eq!(gates(CommitOrder::Normal), [0, 0, 0, 1, 2]);
        assert_eq!(gates(CommitOrder::Strict), [0, 0, 0, 2, 3]);
    }

    #[test]
    fn nobody_waits_in_a_circle() {
        // All begin and end within one microsecond.
        let mut units = [unit(5, 5, true); 4];
        put_in_order(&mut units, CommitOrder::Strict);
        assert!(units.iter().all(|unit| unit.gate == 0), "{units:?}");
    }

    #[test]
    fn words() {
        for order in [CommitOrder::Normal, CommitOrder::None, CommitOrder::Strict] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        assert!(
            "loose"
                .parse::<CommitOrder>()
                .unwrap_err()
                .contains("strict")
        );
    }
}
