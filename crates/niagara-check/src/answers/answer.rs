//! What a server answers to a statement, and how two answers differ.

use std::ops::Range;

use niagara_load::{Admin, LoadError, Row};
use niagara_model::{AnswerMismatch, RowMismatch, StatementError};

use super::script::is_ordered;

/// Columns of `SHOW WARNINGS`.
const LEVEL: usize = 0;
const NUMBER: usize = 1;
const MESSAGE: usize = 2;
/// Characters of a value that a finding shows.
const SHOWN: usize = 120;

/// A server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Rows, or the error's number and message.
    pub reply: Result<Vec<Row>, (u16, String)>,
    /// Rows changed; −1 for a query.
    pub changed: Option<String>,
    /// Warnings: level, number, message.
    pub warnings: Vec<Row>,
}

/// How closely two answers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closeness {
    /// Everything, to the wording of errors and warnings: servers of one release.
    Whole,
    /// Rows, counts, numbers of errors: servers of one series. Releases change what they warn of, and how loudly, while they
    /// answer the same: that is told ([`warns_otherwise`]) and is no fault.
    Numbers,
    /// Rows, and numbers of errors: any two servers of the family.
    Rows,
}

/// Asks a server; an error only when it is gone.
pub fn ask(admin: &mut Admin, sql: &str) -> Result<Answer, LoadError> {
    let reply = match admin.rows(sql) {
        Ok(rows) => Ok(rows),
        Err(LoadError::Query { code, message, .. }) => Err((code, message)),
        Err(error) => return Err(error),
    };
    let warned = reply.is_err() || admin.warnings() > 0;
    // Reads the diagnostics without clearing them.
    let changed = match &reply {
        Ok(_) => {
            admin.rows("GET DIAGNOSTICS @niagara_rows = ROW_COUNT")?;
            None
        }
        Err(_) => Some("-1".to_owned()),
    };
    let warnings = match warned {
        true => admin.rows("SHOW WARNINGS")?,
        // There may be some of a statement before this one.
        false => Vec::new(),
    };
    let changed = match changed {
        Some(changed) => Some(changed),
        None => admin.value("SELECT @niagara_rows")?,
    };
    let reply = reply.map(|mut rows| {
        if !is_ordered(sql) {
            rows.sort();
        }
        rows
    });
    Ok(Answer {
        reply,
        changed,
        warnings,
    })
}

/// How two answers differ: `ours` is the server under test, `theirs` the reference.
pub fn difference(ours: &Answer, theirs: &Answer, closeness: Closeness) -> Option<AnswerMismatch> {
    let error = |(code, message): &(u16, String)| StatementError {
        code: *code,
        message: message.clone(),
    };
    match (&ours.reply, &theirs.reply) {
        (Err(ours), Ok(_)) => return Some(AnswerMismatch::Error { ours: error(ours) }),
        (Ok(_), Err(theirs)) => {
            return Some(AnswerMismatch::NoError {
                theirs: error(theirs),
            });
        }
        (Err(ours), Err(theirs)) => {
            if ours.0 != theirs.0 || (closeness == Closeness::Whole && ours.1 != theirs.1) {
                return Some(AnswerMismatch::OtherError {
                    ours: error(ours),
                    theirs: error(theirs),
                });
            }
        }
        (Ok(ours), Ok(theirs)) => {
            if let Some(first) = rows_differ(ours, theirs) {
                return Some(AnswerMismatch::Rows { first });
            }
        }
    }
    if closeness == Closeness::Rows {
        return None;
    }
    if ours.changed != theirs.changed {
        return Some(AnswerMismatch::ChangedRows {
            ours: ours.changed.clone(),
            theirs: theirs.changed.clone(),
        });
    }
    if closeness == Closeness::Numbers {
        return None;
    }
    warnings_differ(ours, theirs, LEVEL..MESSAGE + 1)
}

/// How the levels and numbers of two answers' warnings differ.
pub(crate) fn warns_otherwise(ours: &Answer, theirs: &Answer) -> Option<AnswerMismatch> {
    warnings_differ(ours, theirs, LEVEL..NUMBER + 1)
}

/// How the warnings differ in these of their columns.
fn warnings_differ(
    ours: &Answer,
    theirs: &Answer,
    columns: Range<usize>,
) -> Option<AnswerMismatch> {
    let kept = |rows: &[Row]| -> Vec<Row> {
        rows.iter()
            .map(|row| {
                let columns = columns.clone().filter_map(|column| row.get(column));
                columns.cloned().collect()
            })
            .collect()
    };
    rows_differ(&kept(&ours.warnings), &kept(&theirs.warnings))
        .map(|first| AnswerMismatch::Warnings { first })
}

fn rows_differ(ours: &[Row], theirs: &[Row]) -> Option<RowMismatch> {
    for (index, (our, their)) in ours.iter().zip(theirs).enumerate() {
        if our != their {
            let column = our.iter().zip(their).position(|(a, b)| a != b);
            return Some(match column {
                Some(column) => RowMismatch::Value {
                    row: index + 1,
                    column: column + 1,
                    ours: shown(our[column].as_deref()),
                    theirs: shown(their[column].as_deref()),
                },
                None => RowMismatch::Columns {
                    row: index + 1,
                    ours: our.len(),
                    theirs: their.len(),
                },
            });
        }
    }
    (ours.len() != theirs.len()).then_some(RowMismatch::Count {
        ours: ours.len(),
        theirs: theirs.len(),
    })
}

/// A value, or its beginning.
fn shown(value: Option<&str>) -> Option<String> {
    let text = value?;
    Some(match text.chars().count() > SHOWN {
        true => format!("{}…", text.chars().take(SHOWN).collect::<String>()),
        false => text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[Option<&str>]]) -> Answer {
        Answer {
            reply: Ok(rows
                .iter()
                .map(|row| row.iter().map(|cell| cell.map(str::to_owned)).collect())
                .collect()),
            changed: Some("-1".into()),
            warnings: Vec::new(),
        }
    }

    fn error(code: u16, message: &str) -> Answer {
        Answer {
            reply: Err((code, message.into())),
            ..answer(&[])
        }
    }

    #[test]
    fn the_first_difference_is_told() {
        let whole = |a: &Answer, b: &Answer| {
            let found = difference(a, b, Closeness::Whole);
            found.map(|found| found.to_string())
        };
        let ours = answer(&[&[Some("1"), None], &[Some("2"), Some("b")]]);
        assert_eq!(whole(&ours, &ours), None);
        let theirs = answer(&[&[Some("1"), Some("")], &[Some("2"), Some("b")]]);
        assert_eq!(
            whole(&ours, &theirs).as_deref(),
            Some("row 1, column 2: NULL, there ``")
        );
        assert_eq!(
            whole(&ours, &answer(&[&[Some("1"), None]])).as_deref(),
            Some("2 rows, there 1")
        );
        assert_eq!(
            whole(&ours, &error(1062, "Duplicate")).as_deref(),
            Some("no error, there 1062 (Duplicate)")
        );
    }

    #[test]
    fn servers_of_other_versions_may_word_errors_differently() {
        let (ours, theirs) = (error(1062, "Duplicate"), error(1062, "Double"));
        assert!(difference(&ours, &theirs, Closeness::Whole).is_some());
        assert_eq!(difference(&ours, &theirs, Closeness::Numbers), None);
        assert!(difference(&ours, &error(1, "Duplicate"), Closeness::Rows).is_some());
        let changed = Answer {
            changed: Some("3".into()),
            ..answer(&[])
        };
        assert!(difference(&changed, &answer(&[]), Closeness::Numbers).is_some());
    }

    #[test]
    fn warnings_may_differ_between_releases() {
        let warned = |level: &str, number: &str, text: &str| Answer {
            warnings: vec![[level, number, text].map(|part| Some(part.into())).into()],
            ..answer(&[])
        };
        let ours = warned("Warning", "1292", "a");
        let otherwise = warned("Note", "4037", "b");
        let (reworded, silent) = (warned("Warning", "1292", "b"), answer(&[]));
        for other in [&otherwise, &reworded, &silent] {
            assert!(difference(&ours, other, Closeness::Whole).is_some());
            assert_eq!(difference(&ours, other, Closeness::Numbers), None);
            assert_eq!(difference(&ours, other, Closeness::Rows), None);
        }
        assert_eq!(
            warns_otherwise(&ours, &otherwise).map(|found| found.to_string()),
            Some("warnings: row 1, column 1: `Warning`, there `Note`".to_owned())
        );
        assert_eq!(warns_otherwise(&ours, &reworded), None);
        assert!(warns_otherwise(&ours, &silent).is_some());
    }
}
