//! Documents that commands print: each fits the schema that the documentation has of it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Commands that keep a study in a folder.
const STUDIES: [&str; 4] = ["tune", "compare", "sweep", "run"];

/// What a command has printed, where it prints JSON; of a study what would be printed of it.
pub fn check(command: &Command, output: &Output) {
    let words: Vec<_> = command.get_args().collect();
    let is_study = STUDIES
        .iter()
        .any(|name| words.first().is_some_and(|it| it == name));
    let folder = words.iter().position(|word| *word == "--out");
    if let Some(folder) = folder.and_then(|at| words.get(at + 1))
        && is_study
        && output.status.success()
    {
        let mut report = Command::new(env!("CARGO_BIN_EXE_niagara"));
        report.args(["report", "--json"]).arg(folder);
        if let Some(place) = command.get_current_dir() {
            report.current_dir(place);
        }
        let printed = report.output().expect("niagara runs").stdout;
        if !printed.is_empty() {
            read(&String::from_utf8_lossy(&printed));
        }
    }
    let is_export = words.iter().take(2).eq(["capture", "export"].iter());
    let is_json = words
        .iter()
        .position(|word| *word == "--format")
        .is_some_and(|at| words.get(at + 1).is_some_and(|word| *word == "json"));
    let text = String::from_utf8_lossy(&output.stdout);
    if is_export {
        let lines = text.lines();
        let lines = lines.map(|line| serde_json::from_str(line).expect("a line of JSON"));
        fit("niagara.capture-event/1", lines);
    } else if (is_json || words.iter().any(|word| *word == "--json")) && !text.is_empty() {
        read(&text);
    }
}

/// A document; it fits the schema of its format.
pub fn read(text: &str) -> Value {
    let document: Value =
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
    let format = document["format"].as_str();
    let format = format.unwrap_or_else(|| panic!("no format:\n{text}"));
    fit(format, [document.clone()]);
    document
}

/// Checks documents by the schema of their format.
fn fit(format: &str, documents: impl IntoIterator<Item = Value>) {
    let name = format!("../../docs/schemas/{}.json", format.replace('/', "-"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let schema = std::fs::read_to_string(&path);
    let schema = schema.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let schema: Value = serde_json::from_str(&schema).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    for document in documents {
        let mistakes: Vec<String> = validator
            .iter_errors(&document)
            .map(|mistake| format!("{}: {mistake}", mistake.instance_path()))
            .collect();
        assert!(
            mistakes.is_empty(),
            "{format}:\n{}\n{document:#}",
            mistakes.join("\n")
        );
    }
}
