//! From a file's text to a [`Definition`], with every mistake's place, cause and remedy.

use super::definition::{Column, Definition, Source, Table, Transaction};
use super::numbers::{Numbers, number};
use super::read_generator::generator;
use super::read_statement::{Names, begins_transaction, name, statement};
use super::toml_table::{self, Item, Read, mistake};
use crate::workload::family::Measure;
use std::collections::BTreeMap;

/// Rows of a table; more is surely a mistake.
const MAX_ROWS: u64 = 10_000_000_000;

const FILE: [&str; 7] = [
    "title",
    "job",
    "measure",
    "scale",
    "multiple",
    "table",
    "transaction",
];
const TABLE: [&str; 5] = ["name", "rows", "create", "columns", "after"];
const TRANSACTION: [&str; 4] = ["name", "weight", "draw", "statements"];

/// Reads a workload's file; `set` are numbers that are set otherwise than its `[scale]` says.
///
/// # Errors
/// The first mistake: `path:line:column: cause`, then `remedy: …`.
pub(super) fn read(
    path: &str,
    text: &str,
    set: &BTreeMap<String, u64>,
) -> Result<Definition, String> {
    let remedy = "correct it here; docs/custom-workload.md shows the format";
    toml_table::read(text, remedy, |document| {
        definition(toml_table::Table::new("the file", 0, document, &FILE)?, set)
    })
    .map_err(|mistake| mistake.told(path, text))
}

fn definition(file: toml_table::Table<'_>, set: &BTreeMap<String, u64>) -> Read<Definition> {
    let title = file.require("title", "title = \"…\", what the load is in a few words")?;
    let title = title.text()?;
    let job = file.get("job");
    let is_job = job.map_or(Ok(false), |job| job.yes_or_no())?;
    let measure = match file.get("measure") {
        None => Measure::default(),
        Some(measure) => measure.word(&[
            ("transactions", Measure::Transactions),
            ("commits", Measure::Commits),
        ])?,
    };
    let numbers = Numbers::read(file, set)?;
    let tables = file.tables("table", "a table", &TABLE)?;
    let tables = named_apart(&tables, "table", |one| table(one, &numbers))?;
    let transactions = file.tables("transaction", "a transaction", &TRANSACTION)?;
    if transactions.is_empty() {
        return mistake(
            0,
            "there are no transactions",
            "add [[transaction]] with name and statements",
        );
    }
    let transactions = named_apart(&transactions, "transaction", |one| {
        transaction(one, is_job, &numbers)
    })?;
    let mut steps = transactions.iter().flat_map(|one| &one.steps);
    if let Some(job) = job
        && is_job
        && steps.all(|step| step.name.is_none())
    {
        return mistake(
            job.at,
            "a job is timed statement by statement, and none has a name",
            "write { name = \"…\", sql = \"…\" } for those that are to be timed",
        );
    }
    Ok(Definition {
        title: title.into(),
        job: is_job,
        measure,
        scale: numbers.names(),
        tables,
        transactions,
    })
}

/// Reads a list of things with names, of which no two may be called the same.
fn named_apart<T>(
    tables: &[toml_table::Table<'_>],
    what: &str,
    read: impl Fn(toml_table::Table<'_>) -> Read<T>,
) -> Read<Vec<T>> {
    let mut names: Vec<&str> = Vec::new();
    let mut all = Vec::with_capacity(tables.len());
    for table in tables {
        let called = table.require("name", "name = \"…\"")?;
        let text = called.text()?;
        name(called.at, text, what)?;
        if names.contains(&text) {
            return mistake(
                called.at,
                format!("a second {what} `{text}`"),
                "give it another name",
            );
        }
        names.push(text);
        all.push(read(*table)?);
    }
    Ok(all)
}

fn table(file: toml_table::Table<'_>, numbers: &Numbers) -> Read<Table> {
    let name_of_table = file.require("name", "name = \"…\"")?.text()?;
    let rows = file.require("rows", "rows = 1_000")?;
    let rows_at = rows.at;
    let rows = number(rows, numbers, MAX_ROWS)?;
    let create = file.require("create", "create = \"CREATE TABLE …\"")?;
    let columns = match file.get("columns") {
        Some(columns) => columns
            .entries("write [table.columns], then as in id = \"row\"")?
            .into_iter()
            .map(|(at, how)| Ok((name(at, how.name, "column")?, column(how, numbers)?)))
            .collect::<Read<Vec<_>>>()?,
        None => Vec::new(),
    };
    if columns.is_empty() && rows > 0 {
        return mistake(
            rows_at,
            format!("table {name_of_table} is to have rows, and no column says what is in them"),
            "add [table.columns], or rows = 0",
        );
    }
    let after = file
        .get("after")
        .map_or(Ok(Vec::new()), |one| one.texts())?;
    Ok(Table {
        name: name_of_table.into(),
        rows,
        create: create_table(create, name_of_table)?,
        columns,
        after: after.into_iter().map(str::to_owned).collect(),
    })
}

fn create_table(create: Item<'_>, table: &str) -> Read<String> {
    let text = create.text()?;
    let mentions = text.to_lowercase().contains(&table.to_lowercase());
    if text.to_uppercase().starts_with("CREATE TABLE") && mentions {
        return Ok(text.into());
    }
    mistake(
        create.at,
        format!("this does not create table {table}"),
        format!("write CREATE TABLE {table} (…) ENGINE = {{engine}}"),
    )
}

fn column(how: Item<'_>, numbers: &Numbers) -> Read<Column> {
    match how.as_text() {
        Some("row") => Ok(Column::Row),
        _ => Ok(Column::Drawn(generator(how, numbers, false)?)),
    }
}

fn transaction(file: toml_table::Table<'_>, is_job: bool, numbers: &Numbers) -> Read<Transaction> {
    let name = file.require("name", "name = \"…\"")?.text()?;
    let weight = match file.get("weight") {
        Some(weight) => weight.whole(1..=1_000_000)? as u32,
        None => 1,
    };
    let mut names = Names::default();
    if let Some(draw) = file.get("draw") {
        names.draw(draw, numbers, Source::Transaction)?;
    }
    let list = file.require("statements", "statements = [\"SELECT …\"]")?;
    let mut steps = Vec::new();
    for (place, item) in list
        .list("write statements = [\"SELECT …\"]")?
        .into_iter()
        .enumerate()
    {
        let step = statement(place, item, &mut names, numbers)?;
        if is_job && !step.parameters.is_empty() {
            return mistake(
                item.at,
                "the statements of a job have no drawn values",
                "write the value itself",
            );
        }
        steps.push(step);
    }
    if steps.is_empty() {
        return mistake(
            list.at,
            format!("transaction {name} has no statements"),
            "add some",
        );
    }
    let begins = steps.iter().any(|step| begins_transaction(&step.sql));
    Ok(Transaction {
        name: name.into(),
        weight,
        values: names.values,
        steps,
        begins,
    })
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

    #[test]
    fn a_job_is_timed_by_names_and_draws_nothing() {
        let job = |statement: &str| {
            let text = format!(
                "title = \"x\"\njob = true\n[[transaction]]\nname = \"a\"\nstatements = [{statement}]\n\
                 [transaction.draw]\nv = {{ int = [1, 2] }}"
            );
            read("x.toml", &text, &none())
        };
        assert!(job("{ name = \"one\", sql = \"SELECT 1\" }").unwrap().job);
        let error = job("\"SELECT 1\"").unwrap_err();
        assert!(error.starts_with("x.toml:2:7: "), "{error}");
        let error = job("{ name = \"one\", sql = \"SELECT :v\" }").unwrap_err();
        assert!(
            error.starts_with("x.toml:5:15: ") && error.contains("drawn"),
            "{error}"
        );
    }

    #[test]
    fn a_multiple_sets_a_number_of_the_scale() {
        let text = format!("{SHOP}\n[multiple]\nsize = {{ of = \"customers\", each = 50 }}\n");
        let set = BTreeMap::from([("size".to_owned(), 3)]);
        let shop = read("shop.toml", &text, &set).unwrap();
        assert_eq!(shop.tables[0].rows, 150);
        assert_eq!(shop.scale, ["customers", "products", "size"]);
        let text = text.replace("of = \"customers\"", "of = \"clients\"");
        let error = read("shop.toml", &text, &none()).unwrap_err();
        assert!(error.contains("no number `clients`"), "{error}");
    }

    #[test]
    fn error_positions_point_at_the_value() {
        let place = |from: &str, to: &str| {
            let error = read("shop.toml", &SHOP.replacen(from, to, 1), &none()).unwrap_err();
            let place: Vec<usize> = error
                .split(':')
                .skip(1)
                .take(2)
                .filter_map(|n| n.parse().ok())
                .collect();
            let line = SHOP
                .replacen(from, to, 1)
                .lines()
                .nth(place[0] - 1)
                .unwrap()
                .to_owned();
            line.chars().skip(place[1] - 1).collect::<String>()
        };
        assert!(place("times = 3", "times = -3").starts_with("-3"));
        assert!(place("id = :product\", keep", "id = :produce\", keep").starts_with(":produce"));
        assert!(place("weight = 7", "weight = \"7\"").starts_with("\"7\""));
        assert!(place("exponent = 0.9", "exponent = -1.0").starts_with("{ type"));
    }
}
