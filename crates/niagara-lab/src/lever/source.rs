//! A TOML file that knows where everything stands, for errors with file, line, column, cause and remedy.

use std::ops::Range;

use anyhow::{Result, anyhow};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use niagara_server::did_you_mean;

/// A file's name and text.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

/// A table of it, with its name for messages (`[change]`; the top has none).
#[derive(Clone, Copy)]
pub(crate) struct Table<'a> {
    pub source: Source<'a>,
    pub name: &'a str,
    table: &'a DeTable<'a>,
    span: (usize, usize),
}

/// A value and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct Node<'a> {
    pub source: Source<'a>,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Source<'a> {
    /// Reads the file's TOML.
    pub(crate) fn toml(self) -> Result<Spanned<DeTable<'a>>> {
        DeTable::parse(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.error(at, error.message().trim_end(), "correct the TOML here")
        })
    }

    /// The whole file as a table.
    pub(crate) fn table(self, table: &'a Spanned<DeTable<'a>>) -> Table<'a> {
        Table {
            source: self,
            name: "",
            table: table.get_ref(),
            span: (0, 0),
        }
    }

    /// `levers/x.toml:3:8: cause`, `remedy: …`.
    pub(crate) fn error(self, at: usize, cause: &str, remedy: &str) -> anyhow::Error {
        let before = &self.text[..at.min(self.text.len())];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        anyhow!("{}:{line}:{column}: {cause}\nremedy: {remedy}", self.file)
    }
}

impl<'a> Table<'a> {
    /// Refuses keys that are not `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<()> {
        for (key, _) in self.table {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let place = if self.name.is_empty() {
                    "a lever".to_owned()
                } else {
                    self.name.to_owned()
                };
                let cause = format!("unknown key `{name}` in {place}");
                let remedy = format!(
                    "{}keys: {}",
                    did_you_mean(name, known.iter().copied()),
                    known.join(", ")
                );
                return Err(self.source.error(key.span().start, &cause, &remedy));
            }
        }
        Ok(())
    }

    /// Every key, where it stands, and its value.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'a str, usize, Node<'a>)> {
        let source = self.source;
        self.table.iter().map(move |(key, value)| {
            let name: &str = key.get_ref();
            (name, key.span().start, Node { source, value })
        })
    }

    pub(crate) fn get(&self, key: &str) -> Option<Node<'a>> {
        Some(Node {
            source: self.source,
            value: self.table.get(key)?,
        })
    }

    /// A table inside it.
    pub(crate) fn inner(&self, key: &str, name: &'static str) -> Result<Option<Table<'a>>> {
        let Some(node) = self.get(key) else {
            return Ok(None);
        };
        match node.value.get_ref() {
            DeValue::Table(_) => node.table(name).map(Some),
            _ => Err(node.error(
                &format!("`{key}` is not a table"),
                &format!("write {name} on a line, then its keys"),
            )),
        }
    }

    /// A key's text, which must be there.
    pub(crate) fn required(&self, key: &str, example: &str) -> Result<&'a str> {
        match self.get(key) {
            None => Err(self.error(
                &format!("`{key}` is missing"),
                &format!("add {key} = \"{example}\""),
            )),
            Some(node) => {
                let text = node.text()?.trim();
                if text.is_empty() {
                    return Err(node.error(
                        &format!("`{key}` is empty"),
                        &format!("write as in \"{example}\""),
                    ));
                }
                Ok(text)
            }
        }
    }

    /// A key's text, when it is there.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<&'a str>> {
        self.get(key).map(|node| node.text()).transpose()
    }

    /// An error about the table as a whole.
    pub(crate) fn error(&self, cause: &str, remedy: &str) -> anyhow::Error {
        self.source.error(self.span.0, cause, remedy)
    }
}

impl<'a> Node<'a> {
    pub(crate) fn text(&self) -> Result<&'a str> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.error("a text was expected here", "write it in quotes")),
        }
    }

    pub(crate) fn yes_no(&self) -> Result<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(value) => Ok(*value),
            _ => Err(self.error(
                "true or false was expected here",
                "write true or false, without quotes",
            )),
        }
    }

    pub(crate) fn integer(&self) -> Result<u64> {
        match self.value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse().ok(),
            _ => None,
        }
        .ok_or_else(|| {
            self.error(
                "a whole number was expected here",
                "write a number without quotes",
            )
        })
    }

    /// A number, whole or not.
    pub(crate) fn number(&self) -> Result<f64> {
        match self.value.get_ref() {
            DeValue::Integer(number) => number.to_string().parse().ok(),
            DeValue::Float(number) => number.to_string().parse().ok(),
            _ => None,
        }
        .ok_or_else(|| {
            self.error(
                "a number was expected here",
                "write a number without quotes, as in 1.19",
            )
        })
    }

    /// A table.
    pub(crate) fn table(&self, name: &'static str) -> Result<Table<'a>> {
        match self.value.get_ref() {
            DeValue::Table(table) => {
                let Range { start, end } = self.value.span();
                Ok(Table {
                    source: self.source,
                    name,
                    table,
                    span: (start, end),
                })
            }
            _ => Err(self.error(
                "a table was expected here",
                &format!("write {name} on a line, then its keys"),
            )),
        }
    }

    pub(crate) fn list(&self) -> Result<Vec<Node<'a>>> {
        match self.value.get_ref() {
            DeValue::Array(values) => Ok(values
                .iter()
                .map(|value| Node {
                    source: self.source,
                    value,
                })
                .collect()),
            _ => Err(self.error(
                "a list was expected here",
                "write it in brackets, as in [\"thp\"]",
            )),
        }
    }

    /// What a variable may be set to, as the server reads it: text, number, `ON`, `OFF`.
    pub(crate) fn scalar(&self) -> Result<String> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) => Ok(number.to_string()),
            DeValue::Float(number) => Ok(number.to_string()),
            DeValue::Boolean(true) => Ok("ON".to_owned()),
            DeValue::Boolean(false) => Ok("OFF".to_owned()),
            _ => Err(self.error(
                "a variable's value was expected here",
                "write a text, a number, true or false",
            )),
        }
    }

    /// An error at the value.
    pub(crate) fn error(&self, cause: &str, remedy: &str) -> anyhow::Error {
        self.error_at(0, cause, remedy)
    }

    /// An error `offset` bytes into a text.
    pub(crate) fn error_at(&self, offset: usize, cause: &str, remedy: &str) -> anyhow::Error {
        let start = self.value.span().start;
        let quote = if matches!(self.value.get_ref(), DeValue::String(_)) && offset > 0 {
            1
        } else {
            0
        };
        self.source.error(start + quote + offset, cause, remedy)
    }
}
