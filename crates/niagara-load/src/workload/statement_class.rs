//! What sysbench counts a statement as.

use serde::{Deserialize, Serialize};

/// What sysbench counts a statement as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatementClass {
    /// `SELECT`.
    Read,
    /// `INSERT`, `UPDATE`, `DELETE`, `REPLACE`.
    Write,
    /// Everything else: `BEGIN`, `COMMIT`, `ROLLBACK`, …
    Other,
}

impl StatementClass {
    pub(crate) fn of(sql: &str) -> Self {
        let word = sql.split_whitespace().next().unwrap_or_default();
        let is = |known: &str| word.eq_ignore_ascii_case(known);
        if is("SELECT") {
            StatementClass::Read
        } else if ["INSERT", "UPDATE", "DELETE", "REPLACE"]
            .into_iter()
            .any(is)
        {
            StatementClass::Write
        } else {
            StatementClass::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_as_sysbench_counts() {
        for (sql, class) in [
            ("SELECT c FROM sbtest1", StatementClass::Read),
            ("update sbtest1 SET k=k+1", StatementClass::Write),
            ("DELETE FROM sbtest1", StatementClass::Write),
            ("BEGIN", StatementClass::Other),
            ("", StatementClass::Other),
        ] {
            assert_eq!(StatementClass::of(sql), class, "{sql}");
        }
    }
}
