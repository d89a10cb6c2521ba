//! The JSON Schema of what is printed, from the types that are printed. It takes no field that a type does not have.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::{Document, Printed};

/// How a schema refers to a type that it defines.
const DEFINED: &str = "#/$defs/";
/// Keywords whose schemas all describe the same value as the schema that holds them.
const ALTERNATIVES: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// The schema of a document: its format, and its fields.
pub(crate) fn of_fields<T: Printed>() -> Value {
    let mut schema = open::<T>();
    let format = json!({
        "description": "Which document this is, and the version of its form.",
        "const": T::DOCUMENT.format(),
    });
    if let Some(properties) = part(&mut schema, "properties", json!({})).as_object_mut() {
        properties.insert("format".into(), format);
    }
    if let Some(required) = part(&mut schema, "required", json!([])).as_array_mut() {
        required.insert(0, "format".into());
    }
    finished(schema, T::DOCUMENT)
}

/// The schema of a line of a document that has many.
pub(crate) fn of_line<T: JsonSchema>(document: Document) -> Value {
    finished(open::<T>(), document)
}

/// A part of a schema, made where it is not there.
fn part<'s>(schema: &'s mut Value, name: &str, nothing: Value) -> &'s mut Value {
    if schema[name].is_null() {
        schema[name] = nothing;
    }
    &mut schema[name]
}

/// The schema of a type as it is written; it takes further fields.
fn open<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let schema = settings.into_generator().into_root_schema_for::<T>();
    schema.to_value()
}

fn finished(mut schema: Value, document: Document) -> Value {
    schema["title"] = document.format().into();
    schema["description"] = format!("What `{}` prints.", document.command()).into();
    let shared = Shared::of(&schema);
    if let Some(Value::Object(types)) = schema.get_mut("$defs") {
        for (name, inner) in types {
            match shared.0.contains(name) {
                true => shared.close_inside(inner),
                false => shared.close(inner),
            }
        }
    }
    shared.close(&mut schema);
    schema
}

/// Types some of whose fields are those of another type: they take further fields, and whoever uses them does not.
struct Shared(BTreeSet<String>);

impl Shared {
    fn of(schema: &Value) -> Self {
        let mut shared = Self(BTreeSet::new());
        // A shared type shares the types that it consists of.
        loop {
            let before = shared.0.len();
            shared.find(schema, false);
            for (name, inner) in schema["$defs"].as_object().into_iter().flatten() {
                shared.find(inner, shared.0.contains(name));
            }
            if shared.0.len() == before {
                return shared;
            }
        }
    }

    /// `is_part`: the schema has some of the fields of an object, and another schema has others.
    fn find(&mut self, schema: &Value, is_part: bool) {
        let Value::Object(map) = schema else {
            return;
        };
        let is_part = is_part || is_joined(map);
        if let Some(name) = name_of(map)
            && is_part
        {
            self.0.insert(name.to_owned());
        }
        for name in ALTERNATIVES {
            for inner in map
                .get(name)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                self.find(inner, is_part);
            }
        }
        for inner in values(map) {
            self.find(inner, false);
        }
    }

    /// Has a schema take no other fields than those that it names.
    fn close(&self, schema: &mut Value) {
        self.close_inside(schema);
        let Value::Object(map) = schema else {
            return;
        };
        let is_shared = name_of(map).is_some_and(|name| self.0.contains(name));
        if is_joined(map) || is_shared {
            map.entry("unevaluatedProperties").or_insert(false.into());
        } else if map.contains_key("properties") {
            map.entry("additionalProperties").or_insert(false.into());
        } else {
            for inner in ALTERNATIVES {
                let inner = map.get_mut(inner).and_then(Value::as_array_mut);
                inner.into_iter().flatten().for_each(|it| self.close(it));
            }
        }
    }

    /// The same of the values of its fields alone.
    fn close_inside(&self, schema: &mut Value) {
        let Value::Object(map) = schema else {
            return;
        };
        for name in ALTERNATIVES {
            let inner = map.get_mut(name).and_then(Value::as_array_mut);
            inner
                .into_iter()
                .flatten()
                .for_each(|it| self.close_inside(it));
        }
        for name in ["properties", "patternProperties"] {
            let inner = map.get_mut(name).and_then(Value::as_object_mut);
            inner
                .into_iter()
                .flatten()
                .for_each(|(_, it)| self.close(it));
        }
        for name in ["items", "additionalProperties"] {
            map.get_mut(name).into_iter().for_each(|it| self.close(it));
        }
        let inner = map.get_mut("prefixItems").and_then(Value::as_array_mut);
        inner.into_iter().flatten().for_each(|it| self.close(it));
    }
}

/// Whether several schemas together have the fields of an object.
fn is_joined(map: &Map<String, Value>) -> bool {
    let is_composed = ALTERNATIVES.iter().any(|name| map.contains_key(*name));
    let is_named = map.contains_key("$ref");
    let has_fields = map.contains_key("properties");
    map.contains_key("allOf") || (has_fields && (is_composed || is_named))
}

/// The type that a schema refers to.
fn name_of(map: &Map<String, Value>) -> Option<&str> {
    map.get("$ref")?.as_str()?.strip_prefix(DEFINED)
}

/// The schemas of the values that an object or a list holds.
fn values(map: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let objects = ["properties", "patternProperties"];
    let objects = objects.into_iter().filter_map(|name| map.get(name));
    let fields = objects.filter_map(Value::as_object).flatten();
    let lists = map.get("prefixItems").and_then(Value::as_array);
    let single = ["items", "additionalProperties"];
    let single = single.into_iter().filter_map(|name| map.get(name));
    fields
        .map(|(_, inner)| inner)
        .chain(lists.into_iter().flatten())
        .chain(single)
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Whole {
        #[serde(flatten)]
        kind: Kind,
        /// How many.
        count: u32,
        #[serde(skip_serializing_if = "Option::is_none")]
        rest: Option<Rest>,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(tag = "kind", rename_all = "kebab-case")]
    enum Kind {
        Small(Rest),
        Large { by: Vec<Rest> },
    }

    #[derive(Serialize, JsonSchema)]
    struct Rest {
        left: f64,
    }

    impl Printed for Whole {
        const DOCUMENT: Document = Document::Doctor;
    }

    fn accepts(schema: &Value, document: &Value) -> bool {
        jsonschema::validator_for(schema)
            .unwrap()
            .is_valid(document)
    }

    #[test]
    fn what_is_printed_fits_and_nothing_else() {
        let schema = of_fields::<Whole>();
        assert_eq!(schema["title"], "niagara.doctor/1");
        let rest = || Rest { left: 0.5 };
        let mut documents = Vec::new();
        for kind in [Kind::Small(rest()), Kind::Large { by: vec![rest()] }] {
            let text = super::super::text(&Whole {
                kind,
                count: 2,
                rest: Some(rest()),
            });
            documents.push(serde_json::from_str::<Value>(&text.unwrap()).unwrap());
        }
        for document in &documents {
            assert!(accepts(&schema, document), "{schema:#}\n{document:#}");
            // A field less, but for one that may be left out, or one that nobody knows.
            for name in document.as_object().unwrap().keys() {
                let mut less = document.clone();
                less.as_object_mut().unwrap().remove(name);
                assert_eq!(accepts(&schema, &less), name == "rest", "{name}");
            }
            for place in ["", "/rest", "/by/0"] {
                let mut more = document.clone();
                let Some(object) = more.pointer_mut(place) else {
                    continue;
                };
                object["misspelt"] = 1.into();
                assert!(!accepts(&schema, &more), "{place}: {schema:#}");
            }
        }
        let mut other = documents[0].clone();
        other["format"] = "niagara.levers/1".into();
        assert!(!accepts(&schema, &other));
        let mut other = documents[0].clone();
        other["count"] = "2".into();
        assert!(!accepts(&schema, &other));
    }
}
