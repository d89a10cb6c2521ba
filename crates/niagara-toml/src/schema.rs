//! The JSON Schema of a format, made from its type.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// JSON Schema (draft 2020-12) of the files that are read as `T`, whole: it refers to nothing outside. `title` is what
/// editors call such a file.
pub fn schema<T: JsonSchema>(title: &str) -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    without_null(&mut schema);
    schema["title"] = title.into();
    schema
}

/// The schema that texts are checked against, made once for each type: to make it takes longer than to read a lever's file, and there
/// are more than a hundred of those.
pub(crate) fn schema_once<T: JsonSchema + 'static>() -> Arc<Value> {
    static MADE: Mutex<BTreeMap<TypeId, Arc<Value>>> = Mutex::new(BTreeMap::new());
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    let schema = made
        .entry(TypeId::of::<T>())
        .or_insert_with(|| Arc::new(schema::<T>("")));
    Arc::clone(schema)
}

/// Takes out what says nothing about a TOML file: null, which TOML does not have, defaults, and Rust's sizes of numbers.
fn without_null(schema: &mut Value) {
    let Value::Object(map) = schema else {
        return;
    };
    map.remove("default");
    map.retain(|key, value| key != "format" || !RUST_NUMBERS.iter().any(|name| value == name));
    if let Some(Value::Array(types)) = map.get_mut("type") {
        types.retain(|name| name != "null");
        if types.len() == 1 {
            let only = types.remove(0);
            map.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(words)) = map.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        let inner = std::mem::take(branches).into_iter().flat_map(alternatives);
        *branches = inner.filter(|branch| branch["type"] != "null").collect();
        if branches.len() == 1
            && let Value::Object(only) = branches.remove(0)
        {
            map.remove("anyOf");
            for (key, value) in only {
                map.entry(key).or_insert(value);
            }
            return without_null(schema);
        }
    }
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Value::Object(inner)) => inner.values_mut().for_each(without_null),
            ("anyOf" | "oneOf", Value::Array(inner)) => inner.iter_mut().for_each(without_null),
            ("items" | "additionalProperties", inner) => without_null(inner),
            _ => {}
        }
    }
}

const RUST_NUMBERS: [&str; 5] = ["uint8", "uint32", "uint64", "int64", "double"];

/// The alternatives of an alternative, as they are of the whole.
fn alternatives(mut schema: Value) -> Vec<Value> {
    match (schema["format"].is_string(), schema["anyOf"].take()) {
        (false, Value::Array(inner)) => inner.into_iter().flat_map(alternatives).collect(),
        (_, inner) => {
            if inner.is_array() {
                schema["anyOf"] = inner;
            } else if let Value::Object(map) = &mut schema {
                map.remove("anyOf");
            }
            vec![schema]
        }
    }
}
