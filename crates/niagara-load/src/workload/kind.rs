//! The workloads' names.
//!
//! Those of sysbench keep its names; the others are Niagara's.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A workload, by the name that users write: sysbench's, or one of Niagara's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// One `SELECT` by primary key, outside of a transaction.
    OltpPointSelect,
    /// `BEGIN`, point selects, four kinds of range selects, `COMMIT`.
    OltpReadOnly,
    /// As `oltp_read_only`, then two updates, a delete and an insert of the same row.
    OltpReadWrite,
    /// The writes of `oltp_read_write` without its reads.
    OltpWriteOnly,
    /// Updates of an indexed column, outside of a transaction.
    OltpUpdateIndex,
    /// Updates of a column without an index, outside of a transaction.
    OltpUpdateNonIndex,
    /// One insert, in text, outside of a transaction.
    OltpInsert,
    /// One delete of a row that may be gone already, outside of a transaction.
    OltpDelete,
    /// Inserts of tens of thousands of short rows each, in text; every connection has its own table.
    BulkInsert,
    /// One `SELECT` of several values of an indexed column.
    SelectRandomPoints,
    /// One `SELECT` that counts several ranges of an indexed column.
    SelectRandomRanges,
    /// The five transactions of TPC-C.
    Tpcc,
    /// Light SQL, a commit each.
    Commit,
    /// A reporting job: statements timed one by one.
    Report,
    /// What a file says.
    Own,
}

impl WorkloadKind {
    /// All that have a name of their own; not `Own`, whose name is a file's.
    pub const ALL: [WorkloadKind; 14] = [
        WorkloadKind::OltpPointSelect,
        WorkloadKind::OltpReadOnly,
        WorkloadKind::OltpReadWrite,
        WorkloadKind::OltpWriteOnly,
        WorkloadKind::OltpUpdateIndex,
        WorkloadKind::OltpUpdateNonIndex,
        WorkloadKind::OltpInsert,
        WorkloadKind::OltpDelete,
        WorkloadKind::BulkInsert,
        WorkloadKind::SelectRandomPoints,
        WorkloadKind::SelectRandomRanges,
        WorkloadKind::Tpcc,
        WorkloadKind::Commit,
        WorkloadKind::Report,
    ];

    /// Whether it is one of sysbench's.
    pub fn is_sysbench(self) -> bool {
        !matches!(
            self,
            WorkloadKind::Tpcc | WorkloadKind::Commit | WorkloadKind::Report | WorkloadKind::Own
        )
    }

    /// Whether tables and transactions are those of a file, be it one built in.
    pub fn is_from_file(self) -> bool {
        matches!(
            self,
            WorkloadKind::Commit | WorkloadKind::Report | WorkloadKind::Own
        )
    }

    /// Whether it is a single job, done once from a cold start, rather than a load that goes on.
    pub fn is_job(self) -> bool {
        self == WorkloadKind::Report
    }

    /// Whether its transactions change data.
    pub fn writes(self) -> bool {
        match self {
            WorkloadKind::OltpPointSelect
            | WorkloadKind::OltpReadOnly
            | WorkloadKind::SelectRandomPoints
            | WorkloadKind::SelectRandomRanges => false,
            WorkloadKind::OltpReadWrite
            | WorkloadKind::OltpWriteOnly
            | WorkloadKind::OltpUpdateIndex
            | WorkloadKind::OltpUpdateNonIndex
            | WorkloadKind::OltpInsert
            | WorkloadKind::OltpDelete
            | WorkloadKind::BulkInsert
            | WorkloadKind::Tpcc
            | WorkloadKind::Commit
            | WorkloadKind::Report
            // Until the file is looked at.
            | WorkloadKind::Own => true,
        }
    }

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            WorkloadKind::OltpPointSelect => "oltp_point_select",
            WorkloadKind::OltpReadOnly => "oltp_read_only",
            WorkloadKind::OltpReadWrite => "oltp_read_write",
            WorkloadKind::OltpWriteOnly => "oltp_write_only",
            WorkloadKind::OltpUpdateIndex => "oltp_update_index",
            WorkloadKind::OltpUpdateNonIndex => "oltp_update_non_index",
            WorkloadKind::OltpInsert => "oltp_insert",
            WorkloadKind::OltpDelete => "oltp_delete",
            WorkloadKind::BulkInsert => "bulk_insert",
            WorkloadKind::SelectRandomPoints => "select_random_points",
            WorkloadKind::SelectRandomRanges => "select_random_ranges",
            WorkloadKind::Tpcc => "tpcc",
            WorkloadKind::Commit => "commit",
            WorkloadKind::Report => "report",
            WorkloadKind::Own => "own",
        }
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for WorkloadKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        WorkloadKind::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| {
                let known: Vec<_> = WorkloadKind::ALL.iter().map(|kind| kind.name()).collect();
                format!("no workload '{name}'; known are {}", known.join(", "))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for kind in WorkloadKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
            assert_eq!(
                serde_json::to_string(&kind).unwrap(),
                format!("\"{}\"", kind.name())
            );
        }
        let error = "oltp".parse::<WorkloadKind>().unwrap_err();
        assert!(error.contains("oltp_read_only"), "{error}");
    }
}
