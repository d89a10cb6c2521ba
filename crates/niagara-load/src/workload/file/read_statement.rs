//! A statement of a transaction, and the values that statements know by name.

use super::definition::{Source, Step};
use super::format::{Draw, StatementFormat};
use super::numbers::{Numbers, number};
use super::read_generator::generator;
use super::sql::{is_name, named};
use niagara_capture::sql::{Boundary, Class, Cut, SqlMode, classify, digest_text};
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

/// Whether a transaction is open behind a statement, by whether one was before it.
pub(super) fn leaves_open(was_open: bool, sql: &str) -> bool {
    let mut cut = Cut::default();
    cut.read(sql.as_bytes(), SqlMode::default());
    let digest = digest_text(cut.for_digest());
    let class = classify(&digest).class;
    let boundary = Boundary::of(class, &digest);
    match class {
        Class::Begin => true,
        Class::Commit | Class::Rollback => boundary.chains,
        _ => was_open && !boundary.commits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_open_until_something_ends_it() {
        for ends in ["COMMIT", "rollback;", "Rollback Work", "DROP TABLE t"] {
            assert!(!leaves_open(true, ends), "{ends}");
        }
        for other in [
            "ROLLBACK TO a",
            "SELECT 1",
            "COMMITTED",
            "",
            "COMMIT AND CHAIN",
            "ANALYZE SELECT 1",
            "CREATE TEMPORARY TABLE t (a INT)",
        ] {
            assert!(leaves_open(true, other), "{other}");
        }
        // A block of statements ends its own transactions.
        assert!(!leaves_open(false, "BEGIN NOT ATOMIC SELECT 1; END"));
    }

    #[test]
    fn every_way_to_begin_a_transaction_is_known() {
        for begins in [
            "BEGIN",
            "begin work",
            "START  TRANSACTION",
            "start\ntransaction read only",
        ] {
            assert!(leaves_open(false, begins), "{begins}");
        }
        for other in ["SELECT 1", "START SLAVE", "BEGINNING", ""] {
            assert!(!leaves_open(false, other), "{other}");
        }
    }
}
