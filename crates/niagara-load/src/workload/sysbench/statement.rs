//! The statements of the workloads.

use crate::protocol::command::ParameterType;

/// A prepared statement has at most this many parameters: their number is a 16-bit field of the protocol.
pub(super) const MAX_PARAMETERS: u32 = u16::MAX as u32;

/// A statement; those on a table exist once per table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Statement {
    Begin,
    Commit,
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    Delete,
    /// Puts the row back that `Delete` has removed.
    Insert,
    /// `oltp_delete`'s: nothing follows.
    SingleDelete,
    /// `oltp_insert`'s: a new row.
    NewRow,
    /// `bulk_insert`'s: many new rows, in the connection's own table.
    BulkInsert,
    /// `select_random_points`'s, on the first table.
    RandomPoints,
    /// `select_random_ranges`'s, on the first table.
    RandomRanges,
}

/// As many integers as a statement may have.
static INTS: [ParameterType; MAX_PARAMETERS as usize] =
    [ParameterType::Int; MAX_PARAMETERS as usize];

impl Statement {
    pub(crate) const COUNT: usize = 16;

    #[cfg(test)]
    pub(crate) const ALL: [Statement; Statement::COUNT] = [
        Statement::Begin,
        Statement::Commit,
        Statement::PointSelect,
        Statement::SimpleRange,
        Statement::SumRange,
        Statement::OrderRange,
        Statement::DistinctRange,
        Statement::IndexUpdate,
        Statement::NonIndexUpdate,
        Statement::Delete,
        Statement::Insert,
        Statement::SingleDelete,
        Statement::NewRow,
        Statement::BulkInsert,
        Statement::RandomPoints,
        Statement::RandomRanges,
    ];

    /// Whether there is one of it for every table.
    pub(crate) fn has_table(self) -> bool {
        !matches!(
            self,
            Statement::Begin
                | Statement::Commit
                | Statement::BulkInsert
                | Statement::RandomPoints
                | Statement::RandomRanges
        )
    }

    /// Whether sysbench sends it as text whatever it may prepare.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Statement::NewRow | Statement::BulkInsert)
    }

    /// The text to prepare, for table `table`; `repeats` is the number of points or ranges of the statements that
    /// have any.
    pub(crate) fn sql(self, table: u32, repeats: u32) -> String {
        match self {
            Statement::Begin => "BEGIN".into(),
            Statement::Commit => "COMMIT".into(),
            Statement::PointSelect => format!("SELECT c FROM sbtest{table} WHERE id=?"),
            Statement::SimpleRange => {
                format!("SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ?")
            }
            Statement::SumRange => {
                format!("SELECT SUM(k) FROM sbtest{table} WHERE id BETWEEN ? AND ?")
            }
            Statement::OrderRange => {
                format!("SELECT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Statement::DistinctRange => {
                format!("SELECT DISTINCT c FROM sbtest{table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Statement::IndexUpdate => format!("UPDATE sbtest{table} SET k=k+1 WHERE id=?"),
            Statement::NonIndexUpdate => format!("UPDATE sbtest{table} SET c=? WHERE id=?"),
            Statement::Delete | Statement::SingleDelete => {
                format!("DELETE FROM sbtest{table} WHERE id=?")
            }
            Statement::Insert | Statement::NewRow => {
                format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)")
            }
            Statement::BulkInsert => format!("INSERT INTO sbtest{table} VALUES(?,?)"),
            Statement::RandomPoints => {
                let points = vec!["?"; repeats as usize].join(", ");
                format!("SELECT id, k, c, pad FROM sbtest1 WHERE k IN ({points})")
            }
            Statement::RandomRanges => {
                let ranges = vec!["k BETWEEN ? AND ?"; repeats as usize].join(" OR ");
                format!("SELECT count(k) FROM sbtest1 WHERE {ranges}")
            }
        }
    }

    /// The types of its parameters, in order.
    pub(crate) fn parameters(self, repeats: u32) -> &'static [ParameterType] {
        use ParameterType::{Int, String};
        match self {
            Statement::Begin | Statement::Commit => &[],
            Statement::PointSelect
            | Statement::IndexUpdate
            | Statement::Delete
            | Statement::SingleDelete => &[Int],
            Statement::SimpleRange
            | Statement::SumRange
            | Statement::OrderRange
            | Statement::DistinctRange
            | Statement::BulkInsert => &[Int, Int],
            Statement::NonIndexUpdate => &[String, Int],
            Statement::Insert | Statement::NewRow => &[Int, Int, String, String],
            Statement::RandomPoints => ints(repeats),
            Statement::RandomRanges => ints(repeats.saturating_mul(2)),
        }
    }
}

fn ints(count: u32) -> &'static [ParameterType] {
    // Validation holds the number within the array.
    &INTS[..INTS.len().min(count as usize)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_types_as_question_marks() {
        for (position, statement) in Statement::ALL.into_iter().enumerate() {
            assert_eq!(statement as usize, position);
            for repeats in [1, 10, 1000] {
                let sql = statement.sql(7, repeats);
                assert_eq!(
                    sql.matches('?').count(),
                    statement.parameters(repeats).len()
                );
                if statement.has_table() {
                    assert!(sql.contains("sbtest7"), "{sql}");
                }
            }
        }
    }

    #[test]
    fn points_and_ranges() {
        assert_eq!(
            Statement::RandomPoints.sql(1, 3),
            "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)"
        );
        assert_eq!(
            Statement::RandomRanges.sql(1, 2),
            "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?"
        );
    }
}
