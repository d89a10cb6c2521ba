//! sysbench's tests of databases.

use crate::workload::kind::WorkloadKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A test, by sysbench's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SysbenchTest {
    /// One `SELECT` by primary key, outside of a transaction.
    OltpPointSelect,
    /// `BEGIN`, point selects, four kinds of range selects, `COMMIT`.
    #[default]
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
}

impl SysbenchTest {
    /// All of them.
    pub const ALL: [SysbenchTest; 11] = [
        SysbenchTest::OltpPointSelect,
        SysbenchTest::OltpReadOnly,
        SysbenchTest::OltpReadWrite,
        SysbenchTest::OltpWriteOnly,
        SysbenchTest::OltpUpdateIndex,
        SysbenchTest::OltpUpdateNonIndex,
        SysbenchTest::OltpInsert,
        SysbenchTest::OltpDelete,
        SysbenchTest::BulkInsert,
        SysbenchTest::SelectRandomPoints,
        SysbenchTest::SelectRandomRanges,
    ];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        match self {
            SysbenchTest::OltpPointSelect => "oltp_point_select",
            SysbenchTest::OltpReadOnly => "oltp_read_only",
            SysbenchTest::OltpReadWrite => "oltp_read_write",
            SysbenchTest::OltpWriteOnly => "oltp_write_only",
            SysbenchTest::OltpUpdateIndex => "oltp_update_index",
            SysbenchTest::OltpUpdateNonIndex => "oltp_update_non_index",
            SysbenchTest::OltpInsert => "oltp_insert",
            SysbenchTest::OltpDelete => "oltp_delete",
            SysbenchTest::BulkInsert => "bulk_insert",
            SysbenchTest::SelectRandomPoints => "select_random_points",
            SysbenchTest::SelectRandomRanges => "select_random_ranges",
        }
    }

    /// Whether its transactions change data.
    pub fn writes(self) -> bool {
        match self {
            SysbenchTest::OltpPointSelect
            | SysbenchTest::OltpReadOnly
            | SysbenchTest::SelectRandomPoints
            | SysbenchTest::SelectRandomRanges => false,
            SysbenchTest::OltpReadWrite
            | SysbenchTest::OltpWriteOnly
            | SysbenchTest::OltpUpdateIndex
            | SysbenchTest::OltpUpdateNonIndex
            | SysbenchTest::OltpInsert
            | SysbenchTest::OltpDelete
            | SysbenchTest::BulkInsert => true,
        }
    }

    /// Whether its statements look for rows that were made before the load and that the load itself keeps.
    pub fn asks_for_rows(self) -> bool {
        match self {
            SysbenchTest::OltpInsert | SysbenchTest::OltpDelete | SysbenchTest::BulkInsert => false,
            SysbenchTest::OltpPointSelect
            | SysbenchTest::OltpReadOnly
            | SysbenchTest::OltpReadWrite
            | SysbenchTest::OltpWriteOnly
            | SysbenchTest::OltpUpdateIndex
            | SysbenchTest::OltpUpdateNonIndex
            | SysbenchTest::SelectRandomPoints
            | SysbenchTest::SelectRandomRanges => true,
        }
    }
}

impl From<SysbenchTest> for WorkloadKind {
    fn from(test: SysbenchTest) -> Self {
        WorkloadKind::new(test.name())
    }
}

impl fmt::Display for SysbenchTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for SysbenchTest {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        SysbenchTest::ALL
            .into_iter()
            .find(|test| test.name() == name)
            .ok_or_else(|| {
                let known = SysbenchTest::ALL.map(SysbenchTest::name);
                format!("no test '{name}'; known are {}", known.join(", "))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for test in SysbenchTest::ALL {
            assert_eq!(test.to_string().parse(), Ok(test));
            assert_eq!(
                serde_json::to_string(&test).unwrap(),
                format!("\"{}\"", test.name())
            );
        }
        let error = "oltp".parse::<SysbenchTest>().unwrap_err();
        assert!(error.contains("oltp_read_only"), "{error}");
    }
}
