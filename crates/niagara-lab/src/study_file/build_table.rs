//! A `build` table as its parts in words, the ones that a variant has behind `build.`: lists and tables within it are ways of
//! writing them.

use toml::Value;

/// `flags = ["-O3"]` is `flags` = `-O3`; `pgo = { workloads = { oltp_insert = 2 }, threads = 8, set = { rows = 5 } }` is `pgo` =
/// `oltp_insert:2`, `pgo.threads` = `8` and `pgo.set.rows` = `5`; `cmake = { WITH_WSREP = false }` is `cmake.WITH_WSREP` = `OFF`.
pub(crate) fn settings(key: &str, value: &Value) -> Vec<(String, String)> {
    match (key, value) {
        ("pgo" | "bolt", Value::Table(training)) => {
            let (workloads, rest): (Vec<_>, Vec<_>) = training
                .iter()
                .partition(|(name, _)| name.as_str() == "workloads");
            let workloads = workloads
                .into_iter()
                .map(|(_, value)| (key.to_owned(), workloads_in_words(value)));
            let rest = rest.into_iter().flat_map(|(name, value)| match value {
                // Options of the workloads.
                Value::Table(options) => options
                    .iter()
                    .map(|(option, value)| (format!("{key}.{name}.{option}"), plain(value)))
                    .collect(),
                value => vec![(format!("{key}.{name}"), plain(value))],
            });
            workloads.chain(rest).collect()
        }
        (_, Value::Table(table)) => table
            .iter()
            .map(|(name, value)| (format!("{key}.{name}"), plain(value)))
            .collect(),
        (_, Value::Array(items)) => items
            .iter()
            .map(|item| (key.to_owned(), plain(item)))
            .collect(),
        _ => vec![(key.to_owned(), plain(value))],
    }
}

fn workloads_in_words(value: &Value) -> String {
    match value {
        Value::Table(weights) => weights
            .iter()
            .map(|(name, weight)| format!("{name}:{weight}"))
            .collect::<Vec<_>>()
            .join(","),
        _ => plain(value),
    }
}

/// A value as the server, a workload's option or a list reads it.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Boolean(true) => "ON".to_owned(),
        Value::Boolean(false) => "OFF".to_owned(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
