//! A statement of a transaction, and the values that statements know by name.

use super::definition::{Source, Step};
use super::format::{Draw, StatementFormat};
use super::numbers::{Numbers, number};
use super::read_generator::generator;
use super::sql::{is_name, named};
use niagara_toml::{At, Found, TextOr, finding};

/// Executions of a statement in one transaction; more is surely a mistake.
const MAX_TIMES: u64 = 10_000;

/// A name of the author's: of a table, a column, a transaction, a value.
pub(super) fn name(at: usize, name: &str, what: &str) -> Found<String> {
    if is_name(name) {
        return Ok(name.to_owned());
    }
    finding(
        at,
        format!("`{name}` cannot be the name of a {what}"),
        "take letters, digits and underscores, a letter first",
    )
}

/// The values of a transaction, by name, in the order in which statements know them.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub values: Vec<(String, Source)>,
}

impl Names {
    /// A value that is called so from here on; its place.
    pub(super) fn add(&mut self, at: usize, text: &str, source: Source) -> Found<usize> {
        let text = name(at, text, "value")?;
        if self.values.iter().any(|(known, _)| *known == text) {
            return finding(
                at,
                format!("a second value `{text}` in this transaction"),
                "give it another name",
            );
        }
        self.values.push((text, source));
        Ok(self.values.len() - 1)
    }

    /// Values that are drawn.
    pub(super) fn draw(
        &mut self,
        draw: &Draw,
        numbers: &Numbers,
        source: impl Fn(super::generator::Generator) -> Source,
    ) -> Found<()> {
        for (name, way) in draw {
            let generator = generator(way.at, way, numbers, true)?;
            self.add(name.at, name, source(generator))?;
        }
        Ok(())
    }

    /// The place of the value called `name`.
    fn find(&self, at: usize, name: &str) -> Found<usize> {
        if let Some(place) = self.values.iter().position(|(known, _)| known == name) {
            return Ok(place);
        }
        let known: Vec<&str> = self.values.iter().map(|(name, _)| name.as_str()).collect();
        let known = match known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        finding(
            at,
            format!("no value is called `{name}` here"),
            format!("say under `draw` how it is drawn; values known here: {known}"),
        )
    }
}

/// The statement of this `place` in its transaction: a text, or a table with `sql` and how it is executed.
pub(super) fn statement(
    place: usize,
    given: &At<TextOr<StatementFormat>>,
    names: &mut Names,
    numbers: &Numbers,
) -> Found<Step> {
    let table = match &given.value {
        TextOr::Other(table) => table,
        TextOr::Text(text) => {
            let (sql, parameters) = sql(given.at, text, names)?;
            return Ok(Step {
                name: None,
                sql,
                parameters,
                times: 1,
                keep: Vec::new(),
            });
        }
    };
    let times = match &table.times {
        Some(times) => number(times, numbers, MAX_TIMES)?.max(1) as u32,
        None => 1,
    };
    names.draw(&table.draw, numbers, |generator| {
        Source::Step(place, generator)
    })?;
    // Looked up before what the answer brings is added: a statement cannot use its own.
    let (sql, parameters) = sql(table.sql.at, &table.sql, names)?;
    let mut keep = Vec::new();
    if let Some(columns) = &table.keep {
        for column in columns.iter() {
            keep.push(names.add(column.at, column, Source::Answer)?);
        }
        if keep.is_empty() {
            return finding(
                columns.at,
                "`keep` names nothing",
                "write keep = [\"price\"], a name for each of the first columns",
            );
        }
    }
    Ok(Step {
        name: table.name.as_ref().map(|name| name.trim().to_owned()),
        sql,
        parameters,
        times,
        keep,
    })
}

/// A statement with question marks, and the values for them by their places.
fn sql(at: usize, text: &str, names: &Names) -> Found<(String, Vec<usize>)> {
    // A text begins after its quote, where it is written on one line without escapes.
    let inside = |offset: usize| at + 1 + offset;
    let found = named(text).or_else(|offset| {
        finding(
            inside(offset),
            "a question mark would be a parameter without a name",
            "write :name, and say under `draw` how it is drawn",
        )
    })?;
    if found.sql.is_empty() {
        return finding(at, "a statement without a text", "leave it out");
    }
    let places = found
        .names
        .iter()
        .map(|(name, offset)| names.find(inside(*offset), name));
    let places = places.collect::<Found<_>>()?;
    Ok((found.sql, places))
}

/// `BEGIN`, `BEGIN WORK`, `START TRANSACTION` and what may follow.
pub(super) fn begins_transaction(sql: &str) -> bool {
    let mut words = sql.split(|c: char| c.is_whitespace() || c == ';');
    let mut next = || {
        words
            .find(|word| !word.is_empty())
            .map(str::to_ascii_uppercase)
    };
    match next().as_deref() {
        Some("BEGIN") => true,
        Some("START") => next().as_deref() == Some("TRANSACTION"),
        _ => false,
    }
}

/// Statements that end a transaction; those that change tables or accounts do it by the way.
const ENDS: [&str; 10] = [
    "COMMIT", "ROLLBACK", "CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "GRANT", "REVOKE",
    "ANALYZE",
];

/// Whether a statement ends the transaction that it is sent in.
pub(super) fn ends_transaction(sql: &str) -> bool {
    let mut words = sql.split(|c: char| c.is_whitespace() || c == ';');
    let mut next = || words.find(|word| !word.is_empty()).unwrap_or_default();
    let first = next();
    let ends = ENDS.iter().any(|known| first.eq_ignore_ascii_case(known));
    ends && !(first.eq_ignore_ascii_case("ROLLBACK") && next().eq_ignore_ascii_case("TO"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollback_to_a_savepoint_ends_no_transaction() {
        for ends in ["COMMIT", "rollback;", "Rollback Work", "DROP TABLE t"] {
            assert!(ends_transaction(ends), "{ends}");
        }
        for other in ["ROLLBACK TO a", "SELECT 1", "COMMITTED", ""] {
            assert!(!ends_transaction(other), "{other}");
        }
    }

    #[test]
    fn every_way_to_begin_a_transaction_is_known() {
        for begins in [
            "BEGIN",
            "begin work",
            "START  TRANSACTION",
            "start\ntransaction read only",
        ] {
            assert!(begins_transaction(begins), "{begins}");
        }
        for other in ["SELECT 1", "START SLAVE", "BEGINNING", ""] {
            assert!(!begins_transaction(other), "{other}");
        }
    }
}
