//! JSON of any shape as lines of name and value.

use serde_json::Value;

/// `cpu › model` and `Xeon …`, in the order of the document; what is null or empty is left out.
pub(crate) fn flat(value: &Value) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    flatten(String::new(), value, &mut rows);
    rows
}

fn flatten(key: String, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (name, inner) in map {
                let path = if key.is_empty() {
                    name.clone()
                } else {
                    format!("{key} › {name}")
                };
                flatten(path, inner, rows);
            }
        }
        Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
            for (i, item) in items.iter().enumerate() {
                flatten(format!("{key} {}", i + 1), item, rows);
            }
        }
        Value::Array(items) => {
            if !items.is_empty() {
                let texts: Vec<String> = items.iter().map(scalar).collect();
                rows.push((key, texts.join(", ")));
            }
        }
        other => rows.push((key, scalar(other))),
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => other.to_string(),
    }
}
