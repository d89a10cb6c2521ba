//! The pages of docs/results say what their records say. `make docs-results` writes them.

mod record;
mod render;

use std::path::{Path, PathBuf};

use record::{Record, Row};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

/// All records, in the order of the contents.
fn records() -> Vec<Record> {
    let contents = std::fs::read_to_string(folder().join("../SUMMARY.md")).expect("the contents");
    let mut records: Vec<(usize, Record)> = std::fs::read_dir(folder())
        .expect("docs/results")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .filter(|path| !path.ends_with("schema.json"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("readable");
            let record: Record = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(path.file_stem().expect("a name"), record.id.as_str());
            assert_eq!(record.schema, "schema.json", "{}", record.id);
            let place = contents
                .find(&format!("results/{}.md", record.id))
                .unwrap_or_else(|| panic!("docs/SUMMARY.md lacks results/{}.md", record.id));
            (place, record)
        })
        .collect();
    records.sort_by_key(|(place, _)| *place);
    records.into_iter().map(|(_, record)| record).collect()
}

/// Writes `text` where the documentation is to be written, else compares.
fn agree(name: &str, text: &str) {
    let path = folder().join(name);
    if std::env::var_os("NIAGARA_WRITE_DOCS").is_some() {
        std::fs::write(&path, text).expect("writable");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == text,
        "docs/results/{name} is not what its record says: make docs-results"
    );
}

#[test]
fn pages_are_rendered_from_their_records() {
    let records = records();
    assert!(records.len() > 20, "the records were found");
    for record in &records {
        agree(&format!("{}.md", record.id), &render::page(record));
    }
    agree("README.md", &render::overview(&records));
    let schema = schemars::schema_for!(Record);
    let schema = serde_json::to_string_pretty(&schema).expect("a schema");
    agree("schema.json", &format!("{schema}\n"));
}

/// A page without a record would be written by hand again.
#[test]
fn every_page_has_a_record() {
    let known: Vec<String> = records().into_iter().map(|record| record.id).collect();
    for entry in std::fs::read_dir(folder()).expect("docs/results").flatten() {
        let path = entry.path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        if path.extension().is_some_and(|ending| ending == "md") && name != "README" {
            assert!(known.contains(&name.into_owned()), "{}", path.display());
        }
    }
}

#[test]
fn figures_lie_within_their_intervals() {
    for record in records() {
        for run in &record.runs {
            let said = run.found.iter().chain(&run.notes).chain(&run.not_measured);
            assert!(
                said.into_iter().all(|words| !words.is_empty()),
                "{}: {}",
                record.id,
                run.title
            );
        }
        let tables = record.runs.iter().flat_map(|run| &run.tables);
        for table in tables {
            for row in &table.rows {
                check(&record.id, row, &table.columns);
            }
        }
    }
}

fn check(id: &str, row: &Row, columns: &[String]) {
    assert_ne!(row.change.as_deref(), Some(""), "{id}: {}", row.name);
    for (name, figure) in &row.figures {
        let place = format!("{id}: {}: {name}", row.name);
        assert!(columns.contains(name), "{place}: no such column");
        let Some(middle) = figure.ratio.or(figure.value) else {
            assert!(figure.text.is_some(), "{place}: no figure");
            continue;
        };
        if let Some(low) = figure.low {
            let high = figure.high.unwrap_or(f64::INFINITY);
            assert!((low..=high).contains(&middle), "{place}");
        }
    }
}
