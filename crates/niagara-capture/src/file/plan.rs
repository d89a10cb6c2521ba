//! What a server says of how it executed a statement.

use serde::Serialize;

/// How a statement was executed, as far as the source says it: MariaDB with `log_slow_verbosity=query_plan`, Percona Server with
/// `log_slow_verbosity=full`, MySQL with `log_slow_extra`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Plan {
    /// It read a table or an index from one end to the other.
    pub full_scan: Option<bool>,
    /// It joined a table that way for each row of another.
    pub full_join: Option<bool>,
    /// It sorted rows.
    pub filesort: Option<bool>,
    /// It made a temporary table.
    pub temporary_table: Option<bool>,
    /// It made one on disk.
    pub temporary_table_on_disk: Option<bool>,
}

impl Plan {
    /// As a capture has it: two bits for each fact, 0 for none.
    pub(super) fn to_number(self) -> u64 {
        let facts = [
            self.full_scan,
            self.full_join,
            self.filesort,
            self.temporary_table,
            self.temporary_table_on_disk,
        ];
        let bits = |fact: Option<bool>| fact.map_or(0, |is_so| 1 + u64::from(is_so));
        (facts.into_iter().rev()).fold(0, |number, fact| number << 2 | bits(fact))
    }

    /// Of such a number; none of one that a capture cannot have.
    pub(super) fn from_number(number: u64) -> Option<Plan> {
        if number >> 10 != 0 {
            return None;
        }
        let fact = |place: u32| match number >> (2 * place) & 3 {
            0 => Some(None),
            1 => Some(Some(false)),
            2 => Some(Some(true)),
            _ => None,
        };
        Some(Plan {
            full_scan: fact(0)?,
            full_join: fact(1)?,
            filesort: fact(2)?,
            temporary_table: fact(3)?,
            temporary_table_on_disk: fact(4)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_come_back_from_their_numbers() {
        let plan = Plan {
            full_scan: Some(true),
            full_join: Some(false),
            filesort: None,
            temporary_table: Some(true),
            temporary_table_on_disk: Some(false),
        };
        for plan in [plan, Plan::default()] {
            assert_eq!(Plan::from_number(plan.to_number()), Some(plan));
        }
        assert_eq!(Plan::default().to_number(), 0);
        assert_eq!(Plan::from_number(3), None);
        assert_eq!(Plan::from_number(1 << 10), None);
    }
}
