//! The values that options have, and reading them as what they should be.

use crate::failure::Failure;
use crate::option::{Definition, Kind};
use std::collections::BTreeMap;

/// Values by option; `-` and `_` in names are the same.
#[derive(Debug, Clone, Default)]
pub struct Values {
    entries: BTreeMap<String, Entry>,
}

#[derive(Debug, Clone)]
struct Entry {
    kind: Kind,
    values: Vec<String>,
    /// The user gave it; what it has is not just the default.
    given: bool,
}

/// Why a value was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejected {
    /// No such option (so far: a test may bring it).
    Unknown,
    /// Neither on nor off.
    NotAFlag,
}

fn key(name: &str) -> String {
    name.replace('-', "_")
}

impl Values {
    /// Makes options known, with their defaults. What was given for them before stays.
    pub fn define(&mut self, definitions: &[Definition]) {
        for definition in definitions {
            let entry = self
                .entries
                .entry(key(definition.name))
                .or_insert_with(|| Entry {
                    kind: definition.kind,
                    values: Vec::new(),
                    given: false,
                });
            if !entry.given {
                entry.kind = definition.kind;
                // Defaults fit their kind: a unit test checks all of them.
                entry.values = read(definition.kind, definition.default).unwrap_or_default();
            }
        }
    }

    /// The kind of a known option.
    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.entries.get(&key(name)).map(|entry| entry.kind)
    }

    /// Gives an option a value; `None` is an option without `=`.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<(), Rejected> {
        let entry = self.entries.get_mut(&key(name)).ok_or(Rejected::Unknown)?;
        entry.values = read(entry.kind, value).ok_or(Rejected::NotAFlag)?;
        entry.given = true;
        Ok(())
    }

    /// Gives a list option its values one by one.
    pub(crate) fn set_list(&mut self, name: &str, values: Vec<String>) -> Result<(), Rejected> {
        let entry = self.entries.get_mut(&key(name)).ok_or(Rejected::Unknown)?;
        entry.values = values;
        entry.given = true;
        Ok(())
    }

    /// Whether the user gave it.
    pub fn given(&self, name: &str) -> bool {
        self.entries
            .get(&key(name))
            .is_some_and(|entry| entry.given)
    }

    /// Names of the options that the user gave, with `_`.
    pub(crate) fn given_names(&self) -> impl Iterator<Item = &str> {
        self.entries
            .iter()
            .filter(|(_, entry)| entry.given)
            .map(|(name, _)| name.as_str())
    }

    /// All values.
    pub fn list(&self, name: &str) -> &[String] {
        self.entries
            .get(&key(name))
            .map_or(&[], |entry| entry.values.as_slice())
    }

    /// The value, if there is one that is not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.list(name).first().map(String::as_str)
    }

    /// All options that are known, with `_`.
    pub fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        self.entries
            .iter()
            .map(|(name, entry)| (name.as_str(), entry.kind))
    }

    /// Makes an option known that no test says it has, as a text.
    pub fn define_text(&mut self, name: &str) {
        self.entries.entry(key(name)).or_insert_with(|| Entry {
            kind: Kind::Text,
            values: Vec::new(),
            given: false,
        });
    }

    /// On or off.
    pub fn flag(&self, name: &str) -> bool {
        !self.list(name).is_empty()
    }

    /// A whole number within C's `int`; 0 without a value.
    pub fn integer(&self, name: &str) -> Result<i32, Failure> {
        let Some(text) = self.text(name) else {
            return Ok(0);
        };
        text.trim_start().parse().map_err(|_| invalid(name, text))
    }

    /// A number; 0 without a value. More than sysbench asks for: what follows the digits is not dropped.
    pub fn number(&self, name: &str) -> Result<f64, Failure> {
        let Some(text) = self.text(name) else {
            return Ok(0.0);
        };
        match text.trim_start().parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => Err(invalid(name, text)),
        }
    }

    /// A number of bytes; 0 without a value. As with sysbench, the letter behind the digits counts, so that `1GB` and `1GiB` are `1G`.
    pub fn size(&self, name: &str) -> Result<u64, Failure> {
        let Some(text) = self.text(name) else {
            return Ok(0);
        };
        niagara_load::size_in_bytes(text).ok_or_else(|| invalid(name, text))
    }
}

/// What sysbench says of a number that is none; the name as it keeps it.
fn invalid(name: &str, value: &str) -> Failure {
    Failure::usage(format!(
        "Invalid value for the '{}' option: '{value}'",
        key(name)
    ))
}

fn read(kind: Kind, value: Option<&str>) -> Option<Vec<String>> {
    Some(match (kind, value) {
        (Kind::Flag, None | Some("on" | "true" | "1")) => vec!["on".to_owned()],
        (Kind::Flag, Some("off" | "false" | "0")) => Vec::new(),
        (Kind::Flag, Some(_)) => return None,
        (Kind::Mode, None) => vec!["on".to_owned()],
        (_, None | Some("")) => Vec::new(),
        (Kind::List, Some(text)) => text
            .split(',')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect(),
        (_, Some(text)) => vec![text.to_owned()],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::{GENERAL, MYSQL, of_test};
    use niagara_load::SysbenchTest;

    fn values() -> Values {
        let mut values = Values::default();
        values.define(GENERAL);
        values.define(MYSQL);
        values
    }

    #[test]
    fn dashes_and_underscores_are_the_same() {
        let mut values = values();
        values.set("report_interval", Some("5")).unwrap();
        assert_eq!(values.integer("report-interval"), Ok(5));
        assert!(values.given("report-interval") && !values.given("time"));
        assert_eq!(values.set("table-size", Some("5")), Err(Rejected::Unknown));
        values.define(&of_test(SysbenchTest::OltpReadOnly));
        assert_eq!(values.number("table-size"), Ok(10_000.0));
    }

    #[test]
    fn flags() {
        let mut values = values();
        for (text, on) in [
            (None, true),
            (Some("on"), true),
            (Some("true"), true),
            (Some("1"), true),
            (Some("off"), false),
            (Some("false"), false),
            (Some("0"), false),
        ] {
            values.set("debug", text).unwrap();
            assert_eq!(values.flag("debug"), on, "{text:?}");
        }
        for text in ["", "5", "foo", "ON"] {
            assert_eq!(values.set("debug", Some(text)), Err(Rejected::NotAFlag));
        }
    }

    #[test]
    fn numbers() {
        let mut values = values();
        for (text, number) in [
            ("4", 4),
            ("-4", -4),
            ("+4", 4),
            (" 4", 4),
            ("2147483647", i32::MAX),
        ] {
            values.set("threads", Some(text)).unwrap();
            assert_eq!(values.integer("threads"), Ok(number));
        }
        for text in ["4x", "4 ", "four", "2147483648", "1e3", "4.0"] {
            values.set("report-interval", Some(text)).unwrap();
            let failure = values.integer("report-interval").unwrap_err();
            assert_eq!(
                failure.to_string(),
                format!("Invalid value for the 'report_interval' option: '{text}'")
            );
        }
        values.set("threads", Some("")).unwrap();
        assert_eq!(values.integer("threads"), Ok(0));
        values.set("threads", None).unwrap();
        assert_eq!(values.integer("threads"), Ok(0));
    }

    #[test]
    fn sizes() {
        let mut values = values();
        assert_eq!(values.size("thread-stack-size"), Ok(65_536));
        for (text, size) in [
            ("512", 512),
            ("1m", 1 << 20),
            ("1KB", 1 << 10),
            ("3MiB", 3 << 20),
            ("2G", 2 << 30),
            ("2gb", 2 << 30),
            ("1T", 1 << 40),
        ] {
            values.set("thread-stack-size", Some(text)).unwrap();
            assert_eq!(values.size("thread-stack-size"), Ok(size));
        }
        for text in ["K", "12X", "1Kb/s", "12B", "1.5K", "99999999999T", "-1"] {
            values.set("thread-stack-size", Some(text)).unwrap();
            assert!(values.size("thread-stack-size").is_err(), "{text}");
        }
    }

    #[test]
    fn lists() {
        let mut values = values();
        assert_eq!(values.list("mysql-host"), ["localhost"]);
        assert_eq!(values.text("mysql-socket"), None);
        values.set("mysql-host", Some("a,,b,")).unwrap();
        assert_eq!(values.list("mysql-host"), ["a", "b"]);
        values.set("mysql-host", Some("")).unwrap();
        assert!(values.list("mysql-host").is_empty());
    }
}
