//! Digests of statements from the performance schema.

use anyhow::Result;

use super::reader::{Reader, Refusal, number, text};
use super::{Source, part};
use crate::facts::{Digest, Statements};
use crate::gap::{Gap, GapCause, MissingPart};

/// How many digests are read.
const MOST: u32 = 10;
/// Digests of users: the server's own are left out, those of monitoring, and of connections without a database those that name
/// no table, as a checkup's are.
const OF_USERS: &str = "DIGEST IS NOT NULL AND COALESCE(SCHEMA_NAME, '') NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema') \
    AND DIGEST_TEXT NOT LIKE '%information_schema%' AND DIGEST_TEXT NOT LIKE '%performance_schema%' AND DIGEST_TEXT NOT LIKE 'SHOW %' \
    AND (SCHEMA_NAME IS NOT NULL OR DIGEST_TEXT LIKE '% FROM %' OR DIGEST_TEXT LIKE 'INSERT %' OR DIGEST_TEXT LIKE 'UPDATE %' \
    OR DIGEST_TEXT LIKE 'REPLACE %' OR DIGEST_TEXT LIKE 'CALL %')";

/// Those that took most time; none where they are not counted.
pub(super) fn read(
    reader: &mut Reader<'_>,
    source: &Source<'_>,
    gaps: &mut Vec<Gap>,
) -> Result<Option<Statements>> {
    if !source.variables.is_on("performance_schema") {
        gaps.push(Gap {
            part: MissingPart::Statements,
            cause: GapCause::NotCounted {
                option: "performance_schema = ON".to_owned(),
            },
        });
        return Ok(None);
    }
    let read = digests(reader);
    let read = part(
        read,
        MissingPart::Statements,
        source.privileges,
        "SELECT ON performance_schema.*",
        gaps,
    )?;
    Ok(read.filter(|statements| statements.seconds > 0.0))
}

fn digests(reader: &mut Reader<'_>) -> Result<Statements, Refusal> {
    let from =
        format!("FROM performance_schema.events_statements_summary_by_digest WHERE {OF_USERS}");
    let seconds = reader.value(&format!("SELECT SUM(SUM_TIMER_WAIT) / 1e12 {from}"))?;
    let rows = reader.rows(&format!(
        "SELECT SCHEMA_NAME, LEFT(DIGEST_TEXT, 1000), COUNT_STAR, SUM_TIMER_WAIT / 1e12, SUM_ROWS_EXAMINED, \
         SUM_ROWS_SENT + SUM_ROWS_AFFECTED, SUM_NO_INDEX_USED {from} ORDER BY SUM_TIMER_WAIT DESC LIMIT {MOST}"
    ))?;
    let digest = |row| Digest {
        schema: Some(text(row, 0).to_owned()).filter(|name| !name.is_empty()),
        text: text(row, 1).to_owned(),
        count: number(row, 2),
        seconds: number(row, 3),
        rows_examined: number(row, 4),
        rows_returned: number(row, 5),
        without_index: number(row, 6),
    };
    Ok(Statements {
        seconds: seconds.and_then(|sum| sum.parse().ok()).unwrap_or(0.0),
        digests: rows.iter().map(digest).collect(),
    })
}
