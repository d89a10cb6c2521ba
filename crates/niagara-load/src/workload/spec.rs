//! A workload with all its numbers.

use super::{Distribution, WorkloadKind};
use crate::error::LoadError;
use serde::{Deserialize, Serialize};

/// A workload and its parameters. The default is sysbench's `oltp_read_only` with sysbench's own defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkloadSpec {
    /// Which workload.
    pub kind: WorkloadKind,
    /// Tables, `sbtest1` to `sbtestN`; a statement's table is drawn uniformly.
    pub tables: u32,
    /// Rows per table.
    pub table_size: u64,
    /// How row numbers are drawn.
    pub distribution: Distribution,
    /// Rows that a range covers.
    pub range_size: u32,
    /// Point selects per transaction (`oltp_point_select` always has one).
    pub point_selects: u32,
    /// `SELECT c … BETWEEN` per transaction.
    pub simple_ranges: u32,
    /// `SELECT SUM(k) … BETWEEN` per transaction.
    pub sum_ranges: u32,
    /// `SELECT c … BETWEEN … ORDER BY c` per transaction.
    pub order_ranges: u32,
    /// `SELECT DISTINCT c … BETWEEN … ORDER BY c` per transaction.
    pub distinct_ranges: u32,
    /// Whether there are range selects at all.
    pub range_selects: bool,
    /// `UPDATE … SET k=k+1` per transaction.
    pub index_updates: u32,
    /// `UPDATE … SET c=…` per transaction.
    pub non_index_updates: u32,
    /// Deletes of a row followed by an insert with the same id, per transaction.
    pub delete_inserts: u32,
    /// Leave out `BEGIN` and `COMMIT`: every statement is its own transaction.
    pub skip_trx: bool,
}

impl Default for WorkloadSpec {
    fn default() -> Self {
        WorkloadSpec {
            kind: WorkloadKind::OltpReadOnly,
            tables: 1,
            table_size: 10_000,
            distribution: Distribution::default(),
            range_size: 100,
            point_selects: 10,
            simple_ranges: 1,
            sum_ranges: 1,
            order_ranges: 1,
            distinct_ranges: 1,
            range_selects: true,
            index_updates: 1,
            non_index_updates: 1,
            delete_inserts: 1,
            skip_trx: false,
        }
    }
}

/// Statements of one kind in one transaction; more is surely a mistake.
const MOST_PER_TRANSACTION: u32 = 100_000;

impl WorkloadSpec {
    /// Refuses what cannot be run, naming the field and the values that can.
    pub fn validate(&self) -> Result<(), LoadError> {
        let invalid = |message: String| Err(LoadError::Invalid(message));
        if !(1..=65_536).contains(&self.tables) {
            return invalid(format!("tables = {}: must be from 1 to 65536", self.tables));
        }
        // id is a signed 32-bit INTEGER, as in sysbench.
        if !(1..=i32::MAX as u64).contains(&self.table_size) {
            return invalid(format!(
                "table_size = {}: must be from 1 to {}",
                self.table_size,
                i32::MAX
            ));
        }
        if !(1..=i32::MAX as u32).contains(&self.range_size) {
            return invalid(format!(
                "range_size = {}: must be from 1 to {}",
                self.range_size,
                i32::MAX
            ));
        }
        for (field, count) in [
            ("point_selects", self.point_selects),
            ("simple_ranges", self.simple_ranges),
            ("sum_ranges", self.sum_ranges),
            ("order_ranges", self.order_ranges),
            ("distinct_ranges", self.distinct_ranges),
            ("index_updates", self.index_updates),
            ("non_index_updates", self.non_index_updates),
            ("delete_inserts", self.delete_inserts),
        ] {
            if count > MOST_PER_TRANSACTION {
                return invalid(format!(
                    "{field} = {count}: must be at most {MOST_PER_TRANSACTION}"
                ));
            }
        }
        if super::transaction::steps(self).is_empty() {
            return invalid(format!(
                "a transaction of {} would have no statements: ask for some, or leave skip_trx off",
                self.kind
            ));
        }
        self.distribution.validate().map_err(LoadError::Invalid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_round_trip_and_defaults() {
        let spec: WorkloadSpec =
            serde_json::from_str(r#"{"kind": "oltp_read_write", "tables": 4}"#).unwrap();
        assert_eq!(spec.kind, WorkloadKind::OltpReadWrite);
        assert_eq!((spec.tables, spec.table_size), (4, 10_000));
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<WorkloadSpec>(&text).unwrap(), spec);
        assert!(serde_json::from_str::<WorkloadSpec>(r#"{"table": 4}"#).is_err());
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let good = WorkloadSpec::default();
        good.validate().unwrap();
        let refused = |spec: WorkloadSpec, word: &str| {
            let message = spec.validate().unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        };
        refused(
            WorkloadSpec {
                tables: 0,
                ..good.clone()
            },
            "tables",
        );
        refused(
            WorkloadSpec {
                table_size: 0,
                ..good.clone()
            },
            "table_size",
        );
        refused(
            WorkloadSpec {
                table_size: 1 << 31,
                ..good.clone()
            },
            "table_size",
        );
        refused(
            WorkloadSpec {
                range_size: 0,
                ..good.clone()
            },
            "range_size",
        );
        refused(
            WorkloadSpec {
                order_ranges: u32::MAX,
                ..good.clone()
            },
            "order_ranges",
        );
        refused(
            WorkloadSpec {
                point_selects: 0,
                range_selects: false,
                skip_trx: true,
                ..good.clone()
            },
            "no statements",
        );
        refused(
            WorkloadSpec {
                distribution: Distribution::Special {
                    iterations: 0,
                    percent: 1,
                    share: 75,
                },
                ..good
            },
            "iterations",
        );
    }
}
