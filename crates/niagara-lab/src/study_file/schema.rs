//! The JSON schema of study files, for editors: made from the same description as the checker.

use serde_json::{Map, Value, json};

use super::shape::{FILE, Group, Shape, WEIGHT};

/// JSON Schema (draft 2020-12) of a study file, indented, with a line end.
pub fn schema() -> String {
    let mut whole = object(&FILE);
    if let Value::Object(map) = &mut whole {
        map.insert(
            "$schema".into(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        map.insert("title".into(), json!("Niagara study"));
    }
    format!("{whole:#}\n")
}

fn object(group: &Group) -> Value {
    let mut properties = Map::new();
    for key in group.keys {
        let mut shape = of(key.shape);
        if let Value::Object(map) = &mut shape {
            map.insert("description".into(), json!(key.help));
        }
        properties.insert(key.name.into(), shape);
    }
    let required: Vec<&str> = group
        .keys
        .iter()
        .filter(|key| key.required)
        .map(|key| key.name)
        .collect();
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

fn of(shape: Shape) -> Value {
    match shape {
        Shape::Text => json!({"type": "string", "minLength": 1}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Shape::Share => json!({"anyOf": [
            {"type": "string", "pattern": r"^[0-9.]+ ?%?$"},
            {"type": "number", "minimum": 0, "maximum": 1},
        ]}),
        Shape::Probability => json!({"type": "number", "minimum": 0.0001, "maximum": 0.5}),
        Shape::Duration => json!({"anyOf": [
            {"type": "string", "pattern": "^[0-9]"},
            {"type": "number", "exclusiveMinimum": 0},
        ]}),
        Shape::Threads => json!({"anyOf": [
            {"type": "integer", "minimum": 1, "maximum": 16384},
            {"type": "string", "pattern": r"^[0-9., ]+$"},
            {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 16384}, "minItems": 1},
        ]}),
        Shape::YesNo => json!({"type": "boolean"}),
        Shape::Scalar => scalar(),
        Shape::Texts => json!({"type": "array", "items": {"type": "string", "minLength": 1}}),
        Shape::Table(group) => object(group),
        Shape::Tables(group) => json!({"type": "array", "items": object(group), "minItems": 1}),
        Shape::Named(group) => json!({"type": "object", "additionalProperties": object(group)}),
        Shape::Map => json!({"type": "object", "additionalProperties": scalar()}),
        Shape::Words => json!({"anyOf": [of(Shape::Text), of(Shape::Texts)]}),
        Shape::Weights => json!({"anyOf": [
            of(Shape::Text),
            of(Shape::Texts),
            {"type": "object", "additionalProperties": of(WEIGHT)},
        ]}),
        Shape::TextOr(group) => json!({"anyOf": [of(Shape::Text), object(group)]}),
    }
}

fn scalar() -> Value {
    json!({"type": ["string", "number", "boolean"]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_beside_the_studies_is_current() {
        let kept = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../studies/study.schema.json"
        );
        let text = std::fs::read_to_string(kept).expect("studies/study.schema.json");
        assert!(
            text == schema(),
            "studies/study.schema.json is not what the program makes: \
             cargo run -- study schema > studies/study.schema.json"
        );
    }
}
