//! From a file's text to a [`Definition`], with every mistake's place, cause and remedy.

use super::definition::{Column, Definition, Source, Table, Transaction};
use super::format::{TableFormat, TransactionFormat, Way, WorkloadFormat};
use super::numbers::{Numbers, number};
use super::read_generator::{generator, no_way};
use super::read_statement::{Names, leaves_open, name, statement};
use niagara_toml::{At, FileError, Found, Mistakes, Text, TextOr, finding};
use std::collections::BTreeMap;

/// Rows of a table; more is surely a mistake.
const MAX_ROWS: u64 = 10_000_000_000;

/// JSON Schema (draft 2020-12) of workload files.
pub fn schema() -> serde_json::Value {
    niagara_toml::schema::<WorkloadFormat>("Niagara workload")
}

/// Reads a workload's file; `set` are numbers that are set otherwise than its `[scale]` says.
///
/// # Errors
/// Its mistakes.
pub(super) fn read(
    path: &str,
    text: &str,
    set: &BTreeMap<String, u64>,
) -> Result<Definition, FileError> {
    let help = "docs/custom-workload.md shows the format";
    let format = niagara_toml::read(path, text, help, &[])?;
    let mut mistakes = Mistakes::of(path, text);
    let definition = mistakes.take(definition(format, set));
    mistakes.unless_any(definition)
}

fn definition(file: WorkloadFormat, set: &BTreeMap<String, u64>) -> Found<Definition> {
    let numbers = Numbers::read(file.scale, file.multiple, set)?;
    let is_job = file.job.as_ref().is_some_and(|job| job.value);
    named_apart("table", file.table.iter().map(|table| &table.name))?;
    let tables = file.table.iter().map(|one| table(one, &numbers));
    let tables = tables.collect::<Found<_>>()?;
    if file.transaction.is_empty() {
        return finding(
            0,
            "there are no transactions",
            "add [[transaction]] with name and statements",
        );
    }
    named_apart("transaction", file.transaction.iter().map(|one| &one.name))?;
    let transactions = file
        .transaction
        .iter()
        .map(|one| transaction(one, is_job, &numbers));
    let transactions = transactions.collect::<Found<Vec<Transaction>>>()?;
    let mut steps = transactions.iter().flat_map(|one| &one.steps);
    if let Some(job) = &file.job
        && is_job
        && steps.all(|step| step.name.is_none())
    {
        return finding(
            job.at,
            "a job is timed statement by statement, and none has a name",
            "write { name = \"…\", sql = \"…\" } for those that are to be timed",
        );
    }
    Ok(Definition {
        title: file.title.trim().to_owned(),
        job: is_job,
        measure: file.measure,
        scale: numbers.names(),
        tables,
        transactions,
    })
}

/// Names, of which no two may be the same.
fn named_apart<'n>(what: &str, all: impl Iterator<Item = &'n At<Text>>) -> Found<()> {
    let mut names: Vec<String> = Vec::new();
    for called in all {
        let text = name(called.at, called.trim(), what)?;
        if names.contains(&text) {
            return finding(
                called.at,
                format!("a second {what} `{text}`"),
                "give it another name",
            );
        }
        names.push(text);
    }
    Ok(())
}

fn table(file: &TableFormat, numbers: &Numbers) -> Found<Table> {
    let name_of_table = file.name.trim();
    let rows = number(&file.rows, numbers, MAX_ROWS)?;
    let columns = file
        .columns
        .iter()
        .map(|(called, how)| Ok((name(called.at, called, "column")?, column(how, numbers)?)));
    let columns = columns.collect::<Found<Vec<_>>>()?;
    if columns.is_empty() && rows > 0 {
        return finding(
            file.rows.at,
            format!("table {name_of_table} is to have rows, and no column says what is in them"),
            "add [table.columns], or rows = 0",
        );
    }
    Ok(Table {
        name: name_of_table.into(),
        rows,
        create: create_table(&file.create, name_of_table)?,
        columns,
        after: file.after.iter().map(|one| one.trim().to_owned()).collect(),
    })
}

fn create_table(create: &At<Text>, table: &str) -> Found<String> {
    let text = create.trim();
    let mentions = text.to_lowercase().contains(&table.to_lowercase());
    if text.to_uppercase().starts_with("CREATE TABLE") && mentions {
        return Ok(text.into());
    }
    finding(
        create.at,
        format!("this does not create table {table}"),
        format!("write CREATE TABLE {table} (…) ENGINE = {{engine}}"),
    )
}

fn column(how: &At<TextOr<Way>>, numbers: &Numbers) -> Found<Column> {
    match &how.value {
        TextOr::Text(text) if text == "row" => Ok(Column::Row),
        TextOr::Text(_) => no_way(
            how.at,
            "how the value is drawn was expected here, or \"row\"",
        ),
        TextOr::Other(way) => Ok(Column::Drawn(generator(how.at, way, numbers, false)?)),
    }
}

fn transaction(file: &TransactionFormat, is_job: bool, numbers: &Numbers) -> Found<Transaction> {
    let name = file.name.trim();
    let mut names = Names::default();
    names.draw(&file.draw, numbers, Source::Transaction)?;
    let mut steps = Vec::new();
    let mut open = None;
    for (place, item) in file.statements.iter().enumerate() {
        let step = statement(place, item, &mut names, numbers)?;
        open = leaves_open(open.is_some(), &step.sql).then(|| open.unwrap_or(item.at));
        if is_job && !step.parameters.is_empty() {
            return finding(
                item.at,
                "the statements of a job have no drawn values",
                "write the value itself",
            );
        }
        steps.push(step);
    }
    if steps.is_empty() {
        return finding(
            file.statements.at,
            format!("transaction {name} has no statements"),
            "add some",
        );
    }
    if let Some(at) = open {
        return finding(
            at,
            format!(
                "transaction {name} begins here and does not end: others would wait for its locks"
            ),
            "add COMMIT or ROLLBACK",
        );
    }
    let begins = steps.iter().any(|step| leaves_open(false, &step.sql));
    Ok(Transaction {
        name: name.into(),
        weight: file.weight.unwrap_or(1),
        values: names.values,
        steps,
        begins,
    })
}

#[cfg(test)]
mod tests {
    use niagara_error::Explanation;

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

    fn refusal(read: Result<Definition, FileError>) -> String {
        Explanation::from(&read.unwrap_err()).to_string()
    }

    #[test]
    fn a_transaction_that_nothing_ends_is_refused() {
        let open = SHOP.replacen("  \"COMMIT\",\n", "", 1);
        let line = open[..open.find("\"BEGIN\"").unwrap()]
            .matches('\n')
            .count()
            + 1;
        let error = refusal(read("shop.toml", &open, &none()));
        assert!(error.starts_with(&format!("shop.toml:{line}:")), "{error}");
        assert!(error.contains("does not end"), "{error}");
        let undone = SHOP.replacen("\"COMMIT\"", "\"ROLLBACK\"", 1);
        assert!(read("shop.toml", &undone, &none()).is_ok());
    }

    fn refused(from: &str, to: &str, words: &[&str]) {
        let text = SHOP.replacen(from, to, 1);
        assert_ne!(text, SHOP, "the test changes something: {from}");
        let error = refusal(read("shop.toml", &text, &none()));
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
        let error = refusal(read("shop.toml", &text, &none()));
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
        let error = refusal(read("shop.toml", SHOP, &set));
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
            let error = refusal(read("x.toml", text, &none()));
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
        let error = refusal(job("\"SELECT 1\""));
        assert!(error.starts_with("x.toml:2:7: "), "{error}");
        let error = refusal(job("{ name = \"one\", sql = \"SELECT :v\" }"));
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
        let error = refusal(read("shop.toml", &text, &none()));
        assert!(error.contains("no number `clients`"), "{error}");
    }

    #[test]
    fn error_positions_point_at_the_value() {
        let place = |from: &str, to: &str| {
            let error = refusal(read("shop.toml", &SHOP.replacen(from, to, 1), &none()));
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
