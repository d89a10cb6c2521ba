//! A statement of a transaction, and the values that statements know by name.

use super::definition::{Source, Step};
use super::numbers::{Numbers, number};
use super::read_generator::{GENERATORS, generator};
use super::sql::{is_name, named};
use super::toml_table::{Item, Read, mistake};

/// Executions of a statement in one transaction; more is surely a mistake.
const MAX_TIMES: u64 = 10_000;

/// A name of the author's: of a table, a column, a transaction, a value.
pub(super) fn name(at: usize, name: &str, what: &str) -> Read<String> {
    if is_name(name) {
        return Ok(name.to_owned());
    }
    mistake(
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
    pub(super) fn add(&mut self, at: usize, text: &str, source: Source) -> Read<usize> {
        let text = name(at, text, "value")?;
        if self.values.iter().any(|(known, _)| *known == text) {
            return mistake(
                at,
                format!("a second value `{text}` in this transaction"),
                "give it another name",
            );
        }
        self.values.push((text, source));
        Ok(self.values.len() - 1)
    }

    /// Values that are drawn: a table of names and how.
    pub(super) fn draw(
        &mut self,
        draw: Item<'_>,
        numbers: &Numbers,
        source: impl Fn(super::generator::Generator) -> Source,
    ) -> Read<()> {
        let example = format!("write draw = {{ name = … }} with one of: {GENERATORS}");
        for (at, how) in draw.entries(&example)? {
            let generator = generator(how, numbers, true)?;
            self.add(at, how.name, source(generator))?;
        }
        Ok(())
    }

    /// The place of the value called `name`.
    fn find(&self, at: usize, name: &str) -> Read<usize> {
        if let Some(place) = self.values.iter().position(|(known, _)| known == name) {
            return Ok(place);
        }
        let known: Vec<&str> = self.values.iter().map(|(name, _)| name.as_str()).collect();
        let known = match known.as_slice() {
            [] => "none".to_owned(),
            known => known.join(", "),
        };
        mistake(
            at,
            format!("no value is called `{name}` here"),
            format!("say under `draw` how it is drawn; values known here: {known}"),
        )
    }
}

/// The statement of this `place` in its transaction: a text, or a table with `sql` and how it is executed.
pub(super) fn statement(
    place: usize,
    item: Item<'_>,
    names: &mut Names,
    numbers: &Numbers,
) -> Read<Step> {
    const KEYS: [&str; 5] = ["sql", "name", "times", "draw", "keep"];
    if item.as_text().is_some() {
        let (sql, parameters) = sql(item, names)?;
        return Ok(Step {
            name: None,
            sql,
            parameters,
            times: 1,
            keep: Vec::new(),
        });
    }
    if !item.is_table() {
        return mistake(
            item.at,
            "a statement is a text or a table",
            format!(
                "write it in quotes, or as {{ sql = \"…\" }} with keys: {}",
                KEYS.join(", ")
            ),
        );
    }
    let table = item.table("a statement", &KEYS)?;
    let text = table.require("sql", "sql = \"SELECT …\"")?;
    let called = table.get("name").map(|name| name.text()).transpose()?;
    let times = match table.get("times") {
        Some(times) => number(times, numbers, MAX_TIMES)?.max(1) as u32,
        None => 1,
    };
    if let Some(draw) = table.get("draw") {
        names.draw(draw, numbers, |generator| Source::Step(place, generator))?;
    }
    // Looked up before what the answer brings is added: a statement cannot use its own.
    let (sql, parameters) = sql(text, names)?;
    let mut keep = Vec::new();
    if let Some(columns) = table.get("keep") {
        for column in columns.texts()? {
            keep.push(names.add(columns.at, column, Source::Answer)?);
        }
        if keep.is_empty() {
            return mistake(
                columns.at,
                "`keep` names nothing",
                "write keep = [\"price\"], a name for each of the first columns",
            );
        }
    }
    Ok(Step {
        name: called.map(str::to_owned),
        sql,
        parameters,
        times,
        keep,
    })
}

/// A statement with question marks, and the values for them by their places.
fn sql(item: Item<'_>, names: &Names) -> Read<(String, Vec<usize>)> {
    let text = item.as_text().unwrap_or_default();
    // A text begins after its quote, where it is written on one line without escapes.
    let inside = |offset: usize| item.at + 1 + offset;
    let found = named(text).or_else(|offset| {
        mistake(
            inside(offset),
            "a question mark would be a parameter without a name",
            "write :name, and say under `draw` how it is drawn",
        )
    })?;
    if found.sql.is_empty() {
        return mistake(item.at, "a statement without a text", "leave it out");
    }
    let places = found
        .names
        .iter()
        .map(|(name, offset)| names.find(inside(*offset), name));
    let places = places.collect::<Read<_>>()?;
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

#[cfg(test)]
mod tests {
    use super::*;

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
