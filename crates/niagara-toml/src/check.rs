//! Does a document have the structure that a schema describes? Every key that is unknown or missing and every value of the
//! wrong kind is a mistake of its own.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::mistake::Mistakes;
use crate::nearest::{did_you_mean, nearest};

/// A format of values that a schema names (`"format": "duration"`).
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// As the schema names it.
    pub name: &'static str,
    /// Whether a value has it; of a list its items with commas between them.
    pub holds: fn(&str) -> bool,
    /// What such a value is: `a duration`.
    pub what: &'static str,
    /// How it is written.
    pub written: &'static str,
}

/// Notes what in `table` does not fit `schema`.
pub(crate) fn check(
    table: &DeTable<'_>,
    schema: &Value,
    formats: &[Format],
    mistakes: &mut Mistakes<'_>,
) {
    Checker { formats, mistakes }.table(&Place::top(), table, 0, schema);
}

/// Where a value stands, as messages say it.
struct Place<'p> {
    /// The key, or that of the list it is in.
    key: &'p str,
    /// The keys on the way, dots between them.
    path: String,
    /// An entry of a list.
    is_entry: bool,
}

impl<'p> Place<'p> {
    fn top() -> Self {
        Place {
            key: "",
            path: String::new(),
            is_entry: false,
        }
    }

    fn inner<'k>(&self, key: &'k str) -> Place<'k> {
        let dot = if self.path.is_empty() { "" } else { "." };
        Place {
            key,
            path: format!("{}{dot}{key}", self.path),
            is_entry: false,
        }
    }

    fn entry(&self) -> Place<'_> {
        Place {
            key: self.key,
            path: self.path.clone(),
            is_entry: true,
        }
    }

    /// A table there.
    fn table(&self) -> String {
        match (self.path.as_str(), self.is_entry) {
            ("", _) => "this file".to_owned(),
            (path, true) => format!("[[{path}]]"),
            (path, false) => format!("[{path}]"),
        }
    }
}

struct Checker<'c, 'm> {
    formats: &'c [Format],
    mistakes: &'c mut Mistakes<'m>,
}

impl Checker<'_, '_> {
    fn table(&mut self, place: &Place<'_>, table: &DeTable<'_>, at: usize, schema: &Value) {
        let Some(known) = schema["properties"].as_object() else {
            // Keys of the author's.
            for (key, value) in table {
                self.value(
                    &place.inner(key.get_ref()),
                    value,
                    &schema["additionalProperties"],
                );
            }
            return;
        };
        // What is misspelled is not missing too.
        let mut misspelled = Vec::new();
        for (key, value) in table {
            let name: &str = key.get_ref();
            match known.get(name) {
                Some(schema) => self.value(&place.inner(name), value, schema),
                None => {
                    let names: Vec<&str> = known.keys().map(String::as_str).collect();
                    misspelled.extend(nearest(name, names.iter().copied()));
                    let meant = did_you_mean(name, names.iter().copied());
                    self.mistakes.add(
                        key.span().start,
                        format!("unknown key `{name}` in {}", place.table()),
                        format!("{meant}keys: {}", names.join(", ")),
                    );
                }
            }
        }
        let required = schema["required"].as_array().into_iter().flatten();
        let required = required.filter_map(Value::as_str);
        for name in required.filter(|name| !table.contains_key(*name) && !misspelled.contains(name))
        {
            let help = known[name]["description"].as_str().unwrap_or("its value");
            self.mistakes.add(
                at,
                format!("`{name}` is missing in {}", place.table()),
                format!("add {name}: {help}"),
            );
        }
    }

    fn value(&mut self, place: &Place<'_>, value: &Spanned<DeValue<'_>>, schema: &Value) {
        let (at, inner) = (value.span().start, value.get_ref());
        if let Some(format) = schema["format"].as_str().and_then(|name| self.format(name)) {
            if !plain(inner).is_some_and(|text| (format.holds)(&text)) {
                let cause = format!("{}: {} was expected here", place.key, format.what);
                self.mistakes
                    .add(at, cause, format!("write {}", format.written));
            }
            return;
        }
        if let Some(words) = words(schema) {
            return self.word(place, value, &words);
        }
        let branches = schema["anyOf"]
            .as_array()
            .map_or(std::slice::from_ref(schema), Vec::as_slice);
        let Some(fitting) = branches.iter().find(|branch| is_of_type(inner, branch)) else {
            self.mistakes.add(
                at,
                wrong_kind(place, branches),
                how_to_write(place, branches),
            );
            return;
        };
        if schema["anyOf"].is_array() {
            return self.value(place, value, fitting);
        }
        match inner {
            DeValue::Table(table) => self.table(place, table, at, fitting),
            DeValue::Array(items) => self.list(place, items, at, fitting),
            DeValue::String(text)
                if text.trim().is_empty() && fitting["minLength"].as_u64() > Some(0) =>
            {
                let cause = format!("{}: the text is empty", place.key);
                self.mistakes
                    .add(at, cause, "write something, or leave the key out");
            }
            DeValue::Integer(_) | DeValue::Float(_) => self.number(place, inner, at, fitting),
            _ => {}
        }
    }

    fn format(&self, name: &str) -> Option<Format> {
        self.formats
            .iter()
            .copied()
            .find(|format| format.name == name)
    }

    fn word(&mut self, place: &Place<'_>, value: &Spanned<DeValue<'_>>, words: &[&str]) {
        let (at, known) = (value.span().start, words.join(", "));
        match value.get_ref().as_str() {
            Some(text) if words.contains(&text) => {}
            Some(text) => {
                let meant = did_you_mean(text, words.iter().copied());
                let cause = format!("{}: unknown value `{text}`", place.key);
                self.mistakes
                    .add(at, cause, format!("{meant}known: {known}"));
            }
            None => {
                let cause = format!("{}: a word was expected here", place.key);
                self.mistakes
                    .add(at, cause, format!("write one of these in quotes: {known}"));
            }
        }
    }

    fn list(&mut self, place: &Place<'_>, items: &DeArray<'_>, at: usize, schema: &Value) {
        let least = schema["minItems"].as_u64().unwrap_or(0);
        if (items.len() as u64) < least {
            let cause = format!("`{}` is empty", place.key);
            self.mistakes
                .add(at, cause, format!("write at least {least}"));
        }
        for item in items {
            self.value(&place.entry(), item, &schema["items"]);
        }
    }

    fn number(&mut self, place: &Place<'_>, value: &DeValue<'_>, at: usize, schema: &Value) {
        let number: Option<f64> = plain(value).and_then(|text| text.parse().ok());
        let bound = |name: &str, missing: f64| schema[name].as_f64().unwrap_or(missing);
        let bounds = bound("minimum", f64::NEG_INFINITY)..=bound("maximum", f64::INFINITY);
        if !number.is_some_and(|number| bounds.contains(&number)) {
            let branches = std::slice::from_ref(schema);
            self.mistakes.add(
                at,
                wrong_kind(place, branches),
                how_to_write(place, branches),
            );
        }
    }
}

/// The words that are the only values, where that is so.
fn words(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::as_str).collect();
    }
    let each = schema["oneOf"].as_array()?.iter();
    // Of words with descriptions each is a schema; those without are together in one.
    let words = each.map(|one| match one["const"].as_str() {
        Some(word) => Some(vec![word]),
        None => words(one),
    });
    words
        .collect::<Option<Vec<_>>>()
        .map(|words| words.concat())
}

fn is_of_type(value: &DeValue<'_>, schema: &Value) -> bool {
    let fits = |name: &Value| match value {
        DeValue::String(_) => name == "string",
        DeValue::Integer(_) => name == "integer" || name == "number",
        DeValue::Float(_) => name == "number",
        DeValue::Boolean(_) => name == "boolean",
        DeValue::Array(_) => name == "array",
        DeValue::Table(_) => name == "object",
        DeValue::Datetime(_) => false,
    };
    match &schema["type"] {
        // Anything.
        Value::Null => true,
        Value::Array(types) => types.iter().any(fits),
        one => fits(one),
    }
}

fn wrong_kind(place: &Place<'_>, branches: &[Value]) -> String {
    let kinds: Vec<&str> = branches.iter().map(kind).collect();
    format!("{}: {} was expected here", place.key, kinds.join(" or "))
}

/// What a value of this schema is called.
fn kind(schema: &Value) -> &'static str {
    match schema["type"].as_str() {
        Some("string") => "a text",
        Some("boolean") => "true or false",
        Some("integer") if is_bounded(schema) => "a whole number within bounds",
        Some("integer") => "a whole number",
        Some("number") if is_bounded(schema) => "a number within bounds",
        Some("number") => "a number",
        Some("array") if schema["items"]["type"] == "string" => "a list of texts",
        Some("array") if schema["items"]["type"] == "object" => "a list of tables",
        Some("array") => "a list",
        Some("object") => "a table",
        _ => "a text, a number, true or false",
    }
}

fn is_bounded(schema: &Value) -> bool {
    schema["minimum"].is_number() || schema["maximum"].is_number()
}

fn how_to_write(place: &Place<'_>, branches: &[Value]) -> String {
    let key = place.key;
    let [only] = branches else {
        let several: Vec<String> = branches.iter().map(in_short).collect();
        return format!("write {}", several.join(", or "));
    };
    let range = || match (&only["minimum"], &only["maximum"]) {
        (least, Value::Null) => format!("from {least}"),
        (Value::Null, most) => format!("up to {most}"),
        (least, most) => format!("from {least} to {most}"),
    };
    match only["type"].as_str() {
        Some("string") => "write it in quotes".to_owned(),
        Some("boolean") => "write true or false, without quotes".to_owned(),
        Some("integer" | "number") if is_bounded(only) => {
            format!("write a number {}, without quotes", range())
        }
        Some("integer" | "number") => "write a number, without quotes".to_owned(),
        Some("array") if only["items"]["type"] == "object" => {
            format!("write [[{key}]] before each")
        }
        Some("array") => format!("write as in {key} = [\"…\"]"),
        Some("object") if only["properties"].is_object() => {
            format!(
                "write {} on a line of its own, then its keys",
                place.table()
            )
        }
        Some("object") => format!("write as in {key} = {{ name = value }}"),
        _ => "write a text, a number, true or false".to_owned(),
    }
}

fn in_short(schema: &Value) -> String {
    match schema["properties"].as_object() {
        Some(keys) => {
            let names: Vec<&str> = keys.keys().map(String::as_str).collect();
            format!("{}: {}", kind(schema), names.join(", "))
        }
        None => kind(schema).to_owned(),
    }
}

/// A value as [`Scalar`](crate::Scalar) reads it.
fn plain(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()?
            .to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(yes) => if *yes { "ON" } else { "OFF" }.to_owned(),
        DeValue::Array(items) => {
            let items: Option<Vec<String>> =
                items.iter().map(|item| plain(item.get_ref())).collect();
            items?.join(",")
        }
        _ => return None,
    })
}
