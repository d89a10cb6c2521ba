//! The page of file formats, from what reads and writes them.

use std::fmt::Write as _;

use anyhow::Result;
use niagara_lab::{lever, study_file};
use niagara_load::workload_file_schema;
use niagara_report::CSV_HEADER;
use niagara_server::ServerDescription;
use niagara_store::SCHEMA;
use serde_json::Value;

use crate::json::Document;

/// Every format that is read or written, on one page of Markdown.
///
/// # Errors
/// A schema that cannot be read.
pub fn page() -> Result<String> {
    let mut page = "# File formats\n\n\
        What people write is TOML: study, lever, workload and server files. What Niagara writes: the results of a study, reports, \
        [captures](#capture-files). Each mistake in a file is told with its line and remedy.\n"
        .to_owned();
    let studies: Value = serde_json::from_str(&study_file::schema())?;
    let written = [
        (
            "Study files",
            "[How to write one](studies.md); `niagara study schema` prints the JSON schema, for editors.",
            studies,
        ),
        (
            "Lever files",
            "[How to write one](levers.md); `niagara levers --levers FOLDER` reads a folder of them.",
            lever::schema(),
        ),
        (
            "Workload files",
            "[How to write one](custom-workload.md).",
            workload_file_schema(),
        ),
        (
            "Server files",
            "What `data/servers/NAME.toml` says of a server that can be fetched.",
            niagara_toml::schema::<ServerDescription>("Niagara server"),
        ),
    ];
    for (title, words, schema) in written {
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## {title}\n\n{words}\n\n| key | | what it is |\n| --- | --- | --- |\n"
        );
        keys(&mut page, "", &schema);
    }
    let columns: Vec<String> = CSV_HEADER
        .trim()
        .split(',')
        .map(|name| format!("`{name}`"))
        .collect();
    let _ = write!(
        page,
        "\n## results.db\n\n\
         SQLite, one file for each study, next to its reports. Its tables:\n\n```sql\n{}\n```\n\n\
         ## niagara report --format csv\n\n\
         A line for every slice (RFC 4180, UTF-8). Columns: {}.\n\n\
         ## niagara report --format json\n\n\
         [A study's summary](schemas/{}), or [two side by side](schemas/{}).\n",
        SCHEMA.trim(),
        columns.join(", "),
        Document::Report.schema_file(),
        Document::SideBySide.schema_file(),
    );
    page.push_str(
        "\n## What --json prints\n\n\
         One object, whose first field is `format`; its number is counted up when a field changes its meaning. \
         A list stands in `items`. Each format has a JSON Schema, which `niagara schema FORMAT` prints, too.\n\n\
         | format | command |\n| --- | --- |\n",
    );
    for document in Document::ALL {
        let _ = writeln!(
            page,
            "| [`{}`](schemas/{}) | `{}` |",
            document.format(),
            document.schema_file(),
            document.command()
        );
    }
    // Writing to a string cannot fail.
    let _ = write!(
        page,
        "\n## Capture files\n\n[What they are for](capture.md).\n\n{}",
        niagara_capture::file::DESCRIPTION
    );
    Ok(page)
}

/// A row for each key of a table, those of tables within it behind their name and a full stop.
fn keys(page: &mut String, before: &str, schema: &Value) {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for (name, key) in schema["properties"].as_object().into_iter().flatten() {
        let needed = match required.contains(&name.as_str()) {
            true => "required",
            false => "",
        };
        let words = key["description"].as_str().unwrap_or_default();
        let words = words.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(page, "| `{before}{name}` | {needed} | {words} |");
        keys(page, &format!("{before}{name}."), key);
        keys(page, &format!("{before}{name}[]."), &key["items"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_format() {
        let page = page().unwrap();
        for words in [
            "| `threads` |",
            "| `title` | required |",
            "## Workload files",
            "## Server files",
            "CREATE TABLE duel",
            "`server_cpu_seconds`",
            "(schemas/niagara.side-by-side-1.json)",
            "| [`niagara.checkup/1`](schemas/niagara.checkup-1.json) | `niagara checkup --json` |",
            "## Capture files",
            "| lengths | a varint for each place of the template |",
        ] {
            assert!(page.contains(words), "{words}");
        }
    }
}
