//! The page of file formats, from what reads and writes them.

use std::fmt::Write as _;

use anyhow::{Context, Result};
use niagara_lab::study_file;
use niagara_report::CSV_HEADER;
use niagara_store::SCHEMA;
use serde_json::Value;

/// Every format that is read or written, on one page of Markdown.
///
/// # Errors
/// The schema of study files is no JSON object.
pub fn page() -> Result<String> {
    let schema: Value = serde_json::from_str(study_file::schema().as_ref())?;
    let keys = schema["properties"]
        .as_object()
        .context("the schema of study files has no properties")?;
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut page = "# File formats\n\n\
        What people write: [study files](studies.md) (below), [workload files](custom-workload.md), [lever files](levers.md), \
        [patches](patches.md). What Niagara writes: the results of a study (below), reports, [captures](capture.md).\n\n\
        ## Study files\n\n\
        TOML. `niagara study schema` prints the JSON schema, for editors; `niagara study check FILE` names every mistake with its \
        line and remedy. The keys at the top:\n\n\
        | key | | what it is |\n| --- | --- | --- |\n"
        .to_owned();
    for (name, key) in keys {
        let needed = match required.contains(&name.as_str()) {
            true => "required",
            false => "",
        };
        let words = key["description"].as_str().unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| `{name}` | {needed} | {} |",
            words.replace('|', "\\|")
        );
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
         The study's summary, as it stands in the table `summary` of results.db. Of two studies it is one object: `format` \
         (counted up when a field changes its meaning), `studies`, `headline`, `warnings`, `set_up` (each fact with its two values and \
         whether they differ), `total`, `beside` and `parts` (each with both estimates, their difference and whether it excludes 1), \
         `only_in`, `alpha` and `family`. An estimate is an object of `ratio`, `low` and `high`; `null` is unbounded.\n",
        SCHEMA.trim(),
        columns.join(", ")
    );
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_format() {
        let page = page().unwrap();
        for words in [
            "| `threads` |",
            "CREATE TABLE duel",
            "`server_cpu_seconds`",
            "`only_in`",
        ] {
            assert!(page.contains(words), "{words}");
        }
    }
}
