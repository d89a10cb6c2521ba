//! The statements of the workloads.

use crate::protocol::command::ParameterType;

/// A statement; those on a table exist once per table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Statement {
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
    Insert,
}

impl Statement {
    pub const COUNT: usize = 11;

    /// Whether the statement names a table.
    pub fn has_table(self) -> bool {
        !matches!(self, Statement::Begin | Statement::Commit)
    }

    /// The text to prepare, for table `table`.
    pub fn sql(self, table: u32) -> String {
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
            Statement::Delete => format!("DELETE FROM sbtest{table} WHERE id=?"),
            Statement::Insert => {
                format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES (?, ?, ?, ?)")
            }
        }
    }

    /// The types of its parameters, in order.
    pub fn parameters(self) -> &'static [ParameterType] {
        use ParameterType::{Int, String};
        match self {
            Statement::Begin | Statement::Commit => &[],
            Statement::PointSelect | Statement::IndexUpdate | Statement::Delete => &[Int],
            Statement::SimpleRange
            | Statement::SumRange
            | Statement::OrderRange
            | Statement::DistinctRange => &[Int, Int],
            Statement::NonIndexUpdate => &[String, Int],
            Statement::Insert => &[Int, Int, String, String],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_types_as_question_marks() {
        for statement in [
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
        ] {
            let sql = statement.sql(7);
            assert_eq!(sql.matches('?').count(), statement.parameters().len());
            assert_eq!(sql.contains("sbtest7"), statement.has_table());
            assert!((statement as usize) < Statement::COUNT);
        }
    }
}
