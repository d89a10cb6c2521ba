//! From a file's text to a [`Definition`], with every mistake's place, cause and remedy.

use super::definition::{Column, Definition, Source, Step, Table, Transaction};
use super::generator::Generator;
use super::sql::{is_name, named};
use crate::workload::Distribution;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: Spanned<String>,
    #[serde(default)]
    scale: BTreeMap<Spanned<String>, Spanned<u64>>,
    #[serde(default)]
    table: Vec<Spanned<FileTable>>,
    #[serde(default)]
    transaction: Vec<Spanned<FileTransaction>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTable {
    name: Spanned<String>,
    rows: Spanned<Value>,
    create: Spanned<String>,
    #[serde(default)]
    columns: BTreeMap<Spanned<String>, Spanned<Value>>,
    #[serde(default)]
    after: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTransaction {
    name: Spanned<String>,
    weight: Option<Spanned<u64>>,
    #[serde(default)]
    draw: BTreeMap<Spanned<String>, Spanned<Value>>,
    statements: Spanned<Vec<Spanned<Value>>>,
}

/// A mistake: where (a byte of the file), what, what to do.
struct Mistake(usize, String, String);

type Read<T> = Result<T, Mistake>;

fn mistake<T>(at: usize, cause: impl Into<String>, remedy: impl Into<String>) -> Read<T> {
    Err(Mistake(at, cause.into(), remedy.into()))
}

/// Greatest whole number that is drawn: parameters are 32-bit integers with a sign.
const GREATEST: u64 = i32::MAX as u64;
/// Rows of a table, executions of a statement, weights: more is surely a mistake.
const MOST_ROWS: u64 = 10_000_000_000;
const MOST_TIMES: u64 = 10_000;
/// A parameter's length is written into one byte.
const LONGEST: usize = 250;

const GENERATORS: &str = "{ int = [FROM, TO] }, { decimal = [FROM, TO] }, { text = [FEWEST, MOST] }, \
                          { pattern = \"##-##\" }, { one_of = [\"a\", \"b\"] }, { unique = true }";

/// Reads a workload's file; `scale` are numbers that the user has set, `path` is how errors call the file.
///
/// # Errors
/// The first mistake: `path:line:column: cause`, then `remedy: …`.
pub fn read(path: &str, text: &str, scale: &BTreeMap<String, u64>) -> Result<Definition, String> {
    parse(text, scale).map_err(|Mistake(at, cause, remedy)| {
        let before = text.get(..at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("{path}:{line}:{column}: {cause}\nremedy: {remedy}")
    })
}

fn parse(text: &str, set: &BTreeMap<String, u64>) -> Read<Definition> {
    let file: File = toml::from_str(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let cause = error.message().trim_end().replace('\n', ", ");
        Mistake(
            at,
            cause,
            "correct it here; docs/own-workload.md shows the format".into(),
        )
    })?;
    if file.title.get_ref().trim().is_empty() {
        return mistake(
            file.title.span().start,
            "the title is empty",
            "say in a few words what the load is",
        );
    }
    let mut scale = BTreeMap::new();
    for (name, value) in &file.scale {
        scale.insert(name.get_ref().clone(), *value.get_ref());
    }
    for (name, value) in set {
        if scale.insert(name.clone(), *value).is_none() {
            let known: Vec<&str> = file
                .scale
                .keys()
                .map(|name| name.get_ref().as_str())
                .collect();
            return mistake(
                0,
                format!("{name} was set, and the file's [scale] has no such number"),
                format!("its numbers: {}", known.join(", ")),
            );
        }
    }
    let tables = file
        .table
        .iter()
        .map(|table| read_table(table, &scale))
        .collect::<Read<Vec<_>>>()?;
    if file.transaction.is_empty() {
        return mistake(
            0,
            "there are no transactions",
            "add [[transaction]] with name and statements",
        );
    }
    let transactions = file
        .transaction
        .iter()
        .map(|transaction| read_transaction(transaction, &scale))
        .collect::<Read<Vec<_>>>()?;
    for (place, one) in file.transaction.iter().enumerate() {
        let name = &one.get_ref().name;
        if file.transaction[..place]
            .iter()
            .any(|other| other.get_ref().name == *name)
        {
            return mistake(
                name.span().start,
                format!("a second transaction `{}`", name.get_ref()),
                "give it another name",
            );
        }
    }
    for (place, one) in file.table.iter().enumerate() {
        let name = &one.get_ref().name;
        if file.table[..place]
            .iter()
            .any(|other| other.get_ref().name == *name)
        {
            return mistake(
                name.span().start,
                format!("a second table `{}`", name.get_ref()),
                "give it another name",
            );
        }
    }
    Ok(Definition {
        title: file.title.get_ref().trim().into(),
        scale: scale.into_keys().collect(),
        tables,
        transactions,
    })
}

fn read_name(name: &Spanned<String>, what: &str) -> Read<String> {
    if is_name(name.get_ref()) {
        return Ok(name.get_ref().clone());
    }
    mistake(
        name.span().start,
        format!("`{}` cannot be the name of a {what}", name.get_ref()),
        "take letters, digits and underscores, a letter first",
    )
}

fn read_table(table: &Spanned<FileTable>, scale: &BTreeMap<String, u64>) -> Read<Table> {
    let file = table.get_ref();
    let name = read_name(&file.name, "table")?;
    let rows = number(
        file.rows.get_ref(),
        file.rows.span().start,
        scale,
        MOST_ROWS,
    )?;
    let create = file.create.get_ref();
    let mentions = create.to_lowercase().contains(&name.to_lowercase());
    let begins = create
        .trim_start()
        .to_uppercase()
        .starts_with("CREATE TABLE");
    if !begins || !mentions {
        return mistake(
            file.create.span().start,
            format!("this does not create table {name}"),
            format!("write CREATE TABLE {name} (…) ENGINE = {{engine}}"),
        );
    }
    let mut columns = Vec::new();
    for (column, value) in &file.columns {
        let column = read_name(column, "column")?;
        let drawn = match value.get_ref() {
            Value::String(word) if word == "row" => Column::Row,
            _ => Column::Drawn(generator(value, scale, false)?),
        };
        columns.push((column, drawn));
    }
    if columns.is_empty() && rows > 0 {
        return mistake(
            file.rows.span().start,
            format!("table {name} is to have rows, and no column says what is in them"),
            "add [table.columns], or rows = 0",
        );
    }
    Ok(Table {
        name,
        rows,
        create: create.trim().into(),
        columns,
        after: file.after.clone(),
    })
}

/// Where names of a transaction's values are looked up and added.
struct Names {
    values: Vec<(String, Source)>,
}

impl Names {
    fn add(&mut self, name: &Spanned<String>, source: Source) -> Read<usize> {
        let text = read_name(name, "value")?;
        if self.values.iter().any(|(known, _)| *known == text) {
            return mistake(
                name.span().start,
                format!("a second value `{text}` in this transaction"),
                "give it another name",
            );
        }
        self.values.push((text, source));
        Ok(self.values.len() - 1)
    }
}

fn read_transaction(
    transaction: &Spanned<FileTransaction>,
    scale: &BTreeMap<String, u64>,
) -> Read<Transaction> {
    let file = transaction.get_ref();
    let name = read_name(&file.name, "transaction")?;
    let weight = match &file.weight {
        None => 1,
        Some(weight) if (1..=1_000_000).contains(weight.get_ref()) => *weight.get_ref() as u32,
        Some(weight) => {
            return mistake(
                weight.span().start,
                "a weight is from 1 to 1000000",
                "write as in weight = 3",
            );
        }
    };
    let mut names = Names { values: Vec::new() };
    for (value, how) in &file.draw {
        let source = Source::Transaction(generator(how, scale, true)?);
        names.add(value, source)?;
    }
    let statements = file.statements.get_ref();
    if statements.is_empty() {
        return mistake(
            file.statements.span().start,
            format!("transaction {name} has no statements"),
            "add some",
        );
    }
    let mut steps = Vec::new();
    for (place, statement) in statements.iter().enumerate() {
        steps.push(read_step(place, statement, &mut names, scale)?);
    }
    let begins = steps.iter().any(|step| begins_transaction(&step.sql));
    Ok(Transaction {
        name,
        weight,
        values: names.values,
        steps,
        begins,
    })
}

/// `BEGIN`, `BEGIN WORK`, `START TRANSACTION` and what may follow.
fn begins_transaction(sql: &str) -> bool {
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

/// A statement: a text, or a table with `sql` and how it is executed.
fn read_step(
    place: usize,
    statement: &Spanned<Value>,
    names: &mut Names,
    scale: &BTreeMap<String, u64>,
) -> Read<Step> {
    const KEYS: &str = "sql, name, times, draw, keep";
    let at = statement.span().start;
    let mut times = 1;
    let mut keep = Vec::new();
    let mut called = None;
    let text = match statement.get_ref() {
        Value::String(text) => text,
        Value::Table(table) => {
            for key in table.keys() {
                if !["sql", "name", "times", "draw", "keep"].contains(&key.as_str()) {
                    return mistake(
                        at,
                        format!("`{key}` is no key of a statement"),
                        format!("keys: {KEYS}"),
                    );
                }
            }
            if let Some(value) = table.get("name") {
                called = value.as_str().map(|name| name.trim().to_owned());
                if called.as_ref().is_none_or(String::is_empty) {
                    return mistake(at, "`name` is a text", "write name = \"sum by state\"");
                }
            }
            if let Some(value) = table.get("times") {
                times = number(value, at, scale, MOST_TIMES)?.max(1) as u32;
            }
            if let Some(draw) = table.get("draw") {
                let Some(draw) = draw.as_table() else {
                    return mistake(
                        at,
                        "`draw` is a table",
                        format!("write draw = {{ name = … }} with one of: {GENERATORS}"),
                    );
                };
                for (value, how) in draw {
                    let how = Spanned::new(statement.span(), how.clone());
                    let source = Source::Step(place, generator(&how, scale, true)?);
                    names.add(&Spanned::new(statement.span(), value.clone()), source)?;
                }
            }
            let Some(sql) = table.get("sql").and_then(Value::as_str) else {
                return mistake(
                    at,
                    "a statement without `sql`",
                    "write { sql = \"SELECT …\" }",
                );
            };
            // Found before what the answer brings: a statement cannot use its own.
            if let Some(columns) = table.get("keep") {
                let columns = columns.as_array().into_iter().flatten();
                for column in columns {
                    let Some(column) = column.as_str() else {
                        return mistake(
                            at,
                            "`keep` is a list of names",
                            "write keep = [\"price\"]",
                        );
                    };
                    keep.push(column.to_owned());
                }
                if keep.is_empty() {
                    return mistake(
                        at,
                        "`keep` names nothing",
                        "write keep = [\"price\"], a name for each of the first columns",
                    );
                }
            }
            sql
        }
        _ => {
            return mistake(
                at,
                "a statement is a text or a table",
                format!("write it in quotes, or as {{ sql = \"…\" }} with keys: {KEYS}"),
            );
        }
    };
    // A text begins after its quote, where it is written on one line without escapes.
    let inside = |offset: usize| match statement.get_ref() {
        Value::String(_) => at + 1 + offset,
        _ => at,
    };
    let found = named(text).or_else(|offset| {
        mistake(
            inside(offset),
            "a question mark would be a parameter without a name",
            "write :name, and say under `draw` how it is drawn",
        )
    })?;
    if found.sql.is_empty() {
        return mistake(at, "an empty statement", "leave it out");
    }
    let mut parameters = Vec::new();
    for (name, offset) in &found.names {
        match names.values.iter().position(|(known, _)| known == name) {
            Some(place) => parameters.push(place),
            None => {
                let known: Vec<&str> = names.values.iter().map(|(name, _)| name.as_str()).collect();
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                return mistake(
                    inside(*offset),
                    format!("no value is called `{name}` here"),
                    format!("say under `draw` how it is drawn; values known here: {known}"),
                );
            }
        }
    }
    let keep = keep
        .into_iter()
        .map(|column| names.add(&Spanned::new(statement.span(), column), Source::Answer))
        .collect::<Read<Vec<_>>>()?;
    Ok(Step {
        name: called,
        sql: found.sql,
        parameters,
        times,
        keep,
    })
}

/// A number, or the name of one of the scale.
fn number(value: &Value, at: usize, scale: &BTreeMap<String, u64>, most: u64) -> Read<u64> {
    let number = match value {
        Value::Integer(number) => u64::try_from(*number).ok(),
        Value::String(name) => match scale.get(name) {
            Some(number) => Some(*number),
            None => {
                let known: Vec<&str> = scale.keys().map(String::as_str).collect();
                return mistake(
                    at,
                    format!("[scale] has no number `{name}`"),
                    format!("its numbers: {}", known.join(", ")),
                );
            }
        },
        _ => None,
    };
    match number.filter(|number| *number <= most) {
        Some(number) => Ok(number),
        None => mistake(
            at,
            format!("a whole number from 0 to {most} was expected here"),
            "write a number without quotes, or the name of a number of [scale] in quotes",
        ),
    }
}

fn generator(
    value: &Spanned<Value>,
    scale: &BTreeMap<String, u64>,
    in_load: bool,
) -> Read<Generator> {
    let at = value.span().start;
    let wrong = |cause: String| -> Read<Generator> {
        mistake(at, cause, format!("write one of: {GENERATORS}"))
    };
    let Some(table) = value.get_ref().as_table() else {
        return wrong("how the value is drawn was expected here".into());
    };
    let kinds = ["int", "decimal", "text", "pattern", "one_of", "unique"];
    let found: Vec<&str> = kinds
        .into_iter()
        .filter(|kind| table.contains_key(*kind))
        .collect();
    let [kind] = found.as_slice() else {
        return wrong(match found.as_slice() {
            [] => "it does not say how the value is drawn".into(),
            several => format!("{} at once", several.join(" and ")),
        });
    };
    let extra = match *kind {
        "int" => "distribution",
        "one_of" => "weights",
        _ => kind,
    };
    if let Some(key) = table.keys().find(|key| key != kind && *key != extra) {
        return wrong(format!("`{key}` means nothing beside `{kind}`"));
    }
    let Some(body) = table.get(*kind) else {
        return wrong(format!("`{kind}` is missing"));
    };
    let pair = |most: u64| -> Read<(u64, u64)> {
        let ends = body.as_array().map(Vec::as_slice);
        let Some([first, last]) = ends else {
            return mistake(
                at,
                format!("`{kind}` takes two numbers"),
                format!("write {kind} = [1, 10]"),
            );
        };
        let ends = (
            number(first, at, scale, most)?,
            number(last, at, scale, most)?,
        );
        if ends.0 > ends.1 {
            return mistake(
                at,
                format!("`{kind}` ends at {} before it begins at {}", ends.1, ends.0),
                "write the lesser number first",
            );
        }
        Ok(ends)
    };
    match *kind {
        "int" => {
            let (first, last) = pair(GREATEST)?;
            let distribution = match table.get("distribution") {
                None => Distribution::Uniform,
                Some(how) => match how.clone().try_into::<Distribution>() {
                    Ok(distribution) => distribution,
                    Err(error) => {
                        return mistake(
                            at,
                            error.message().trim_end().replace('\n', ", "),
                            format!("write one of: {}", Distribution::NAMES.join(", ")),
                        );
                    }
                },
            };
            if let Err(cause) = distribution.validate() {
                return mistake(at, cause, "change the parameter");
            }
            Ok(Generator::Int(first as u32, last as u32, distribution))
        }
        "decimal" => {
            let hundredths = |value: &Value| match value {
                Value::Integer(number) => number.checked_mul(100),
                Value::Float(number) if number.abs() < 1e15 => {
                    Some((number * 100.0).round() as i64)
                }
                _ => None,
            };
            let ends = body.as_array().map(Vec::as_slice);
            let ends = match ends {
                Some([first, last]) => hundredths(first).zip(hundredths(last)),
                _ => None,
            };
            match ends {
                Some((first, last)) if first <= last => Ok(Generator::Decimal(first, last)),
                _ => mistake(
                    at,
                    "`decimal` takes two numbers, the lesser first",
                    "write decimal = [0.01, 99.99]",
                ),
            }
        }
        "text" => {
            let (fewest, most) = pair(if in_load { LONGEST as u64 } else { 65_535 })?;
            Ok(Generator::Text(fewest as usize, most as usize))
        }
        "pattern" => match body.as_str() {
            Some(pattern) if pattern.len() <= LONGEST => Ok(Generator::Pattern(pattern.into())),
            _ => mistake(
                at,
                format!("`pattern` takes a text of at most {LONGEST} bytes"),
                "write pattern = \"###-##\": every # becomes a digit",
            ),
        },
        "one_of" => one_of(body, table.get("weights"), at),
        _ => match (body.as_bool(), in_load) {
            (Some(true), true) => Ok(Generator::Unique),
            _ => mistake(
                at,
                "`unique` is for values of transactions",
                "in a table, write \"row\" for the number of the row",
            ),
        },
    }
}

fn one_of(words: &Value, weights: Option<&Value>, at: usize) -> Read<Generator> {
    let texts: Option<Vec<&str>> = words
        .as_array()
        .and_then(|words| words.iter().map(Value::as_str).collect());
    let Some(texts) =
        texts.filter(|texts| !texts.is_empty() && texts.iter().all(|text| text.len() <= LONGEST))
    else {
        return mistake(
            at,
            "`one_of` takes texts",
            "write one_of = [\"new\", \"paid\"]",
        );
    };
    let weights: Option<Vec<u32>> = match weights {
        None => Some(vec![1; texts.len()]),
        Some(weights) => weights.as_array().and_then(|weights| {
            let numbers = weights.iter().map(|weight| {
                let number = weight.as_integer()?;
                u32::try_from(number)
                    .ok()
                    .filter(|number| (1..=1_000_000).contains(number))
            });
            numbers.collect()
        }),
    };
    let Some(weights) = weights.filter(|weights| weights.len() == texts.len()) else {
        return mistake(
            at,
            "`weights` takes a number from 1 to 1000000 for each text",
            "write weights = [3, 1]",
        );
    };
    let mut sum = 0;
    let words = texts.iter().zip(weights).map(|(text, weight)| {
        sum += weight;
        ((*text).to_owned(), sum)
    });
    Ok(Generator::OneOf(words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = include_str!("../../../../../docs/examples/shop.toml");

    fn none() -> BTreeMap<String, u64> {
        BTreeMap::new()
    }

    #[test]
    fn the_documents_example_is_read() {
        let shop = read("shop.toml", SHOP, &none()).unwrap();
        assert_eq!(shop.tables.len(), 3);
        assert_eq!(shop.transactions.len(), 2);
        assert!(shop.writes());
        let more = BTreeMap::from([("customers".to_owned(), 77)]);
        let shop = read("shop.toml", SHOP, &more).unwrap();
        assert_eq!(shop.tables[0].rows, 77);
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

    fn refused(from: &str, to: &str, words: &[&str]) {
        let text = SHOP.replacen(from, to, 1);
        assert_ne!(text, SHOP, "the test changes something: {from}");
        let error = read("shop.toml", &text, &none()).unwrap_err();
        let line = text[..text.find(to).unwrap()].matches('\n').count() + 1;
        assert!(
            error.starts_with(&format!("shop.toml:{line}:")),
            "line {line}: {error}"
        );
        assert!(error.contains("\nremedy: "), "{error}");
        for word in words {
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn mistakes_have_place_cause_and_remedy() {
        refused("weight = 3", "weigth = 3", &["weigth"]);
        refused("weight = 3", "weight = 0", &["from 1 to"]);
        refused(
            "rows = \"customers\"",
            "rows = \"customer\"",
            &["no number `customer`", "customers"],
        );
        refused("\"row\"", "\"rows\"", &["how the value is drawn"]);
        refused(
            "{ int = [1, \"customers\"], distribution = \"zipfian\" }",
            "{ int = [9, 1] }",
            &["before it begins"],
        );
        refused("\"zipfian\"", "\"zipfy\"", &["no distribution 'zipfy'"]);
        refused(
            "id = :customer",
            "id = :custommer",
            &["no value is called `custommer`", "customer"],
        );
        refused("id = :customer", "id = ?", &["without a name"]);
        refused("title = ", "titel = ", &["titel"]);
    }

    #[test]
    fn a_statement_on_several_lines_is_found_where_it_begins() {
        let text = SHOP.replacen("CREATE TABLE customer", "CREATE VIEW customer", 1);
        let error = read("shop.toml", &text, &none()).unwrap_err();
        let line = text[..text.find("create = ").unwrap()]
            .matches('\n')
            .count()
            + 1;
        assert!(error.starts_with(&format!("shop.toml:{line}:")), "{error}");
        assert!(error.contains("does not create table customer"), "{error}");
    }

    #[test]
    fn what_is_set_must_be_there() {
        let set = BTreeMap::from([("clients".to_owned(), 1)]);
        let error = read("shop.toml", SHOP, &set).unwrap_err();
        assert!(
            error.contains("clients") && error.contains("customers"),
            "{error}"
        );
    }

    #[test]
    fn nonsense_is_an_error_and_no_panic() {
        for text in [
            "",
            "title = 1",
            "= =",
            "title = \"x\"",
            "title = \"x\"\n[[transaction]]\nname = \"a\"\nstatements = []",
        ] {
            let error = read("x.toml", text, &none()).unwrap_err();
            assert!(error.starts_with("x.toml:"), "{error}");
        }
    }
}
