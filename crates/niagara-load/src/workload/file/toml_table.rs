//! A TOML document with places: tables whose keys are known, values of the kind that is wanted, and what is to be said
//! where they are not. Knows nothing of workloads.

use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A mistake: at which byte of the text, what it is, and what to do about it.
#[derive(Debug)]
pub(super) struct Mistake {
    at: usize,
    cause: String,
    remedy: String,
}

/// What is read, or the first mistake.
pub(super) type Read<T> = Result<T, Mistake>;

/// A mistake at byte `at`.
pub(super) fn mistake<T>(
    at: usize,
    cause: impl Into<String>,
    remedy: impl Into<String>,
) -> Read<T> {
    Err(Mistake {
        at,
        cause: cause.into(),
        remedy: remedy.into(),
    })
}

impl Mistake {
    /// `path:line:column: cause`, then `remedy: …`; columns are characters, and both counts begin at 1.
    pub(super) fn told(&self, path: &str, text: &str) -> String {
        let before = text.get(..self.at).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let (cause, remedy) = (&self.cause, &self.remedy);
        format!("{path}:{line}:{column}: {cause}\nremedy: {remedy}")
    }
}

/// Reads a text and hands its document to `read`; `remedy` is for what is not TOML.
pub(super) fn read<T>(
    text: &str,
    remedy: &str,
    read: impl FnOnce(&DeTable<'_>) -> Read<T>,
) -> Result<T, Mistake> {
    match DeTable::parse(text) {
        Ok(document) => read(document.get_ref()),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            mistake(at, one_line(error.message()), remedy)
        }
    }
}

/// A message of the parser on one line.
pub(super) fn one_line(message: &str) -> String {
    message.trim_end().replace('\n', ", ")
}

/// A table whose keys are known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Table<'t> {
    /// How messages call it.
    what: &'static str,
    /// Where it begins.
    pub at: usize,
    entries: &'t DeTable<'t>,
}

impl<'t> Table<'t> {
    /// Refuses keys other than `keys`.
    pub(super) fn new(
        what: &'static str,
        at: usize,
        entries: &'t DeTable<'t>,
        keys: &[&str],
    ) -> Read<Self> {
        for key in entries.keys() {
            let name: &str = key.get_ref();
            if !keys.contains(&name) {
                return mistake(
                    key.span().start,
                    format!("unknown key `{name}` in {what}"),
                    format!("its keys: {}", keys.join(", ")),
                );
            }
        }
        Ok(Table { what, at, entries })
    }

    /// The value of a key, if it is there.
    pub(super) fn get(&self, key: &'t str) -> Option<Item<'t>> {
        let value = self.entries.get(key)?;
        Some(Item::new(key, value))
    }

    /// The value of a key that must be there; `example` is how it is written.
    pub(super) fn require(&self, key: &'t str, example: &str) -> Read<Item<'t>> {
        match self.get(key) {
            Some(item) => Ok(item),
            None => mistake(
                self.at,
                format!("{} without `{key}`", self.what),
                format!("add {example}"),
            ),
        }
    }

    /// The tables of a list, each with `keys`; none where the key is not there.
    pub(super) fn tables(
        &self,
        key: &'t str,
        what: &'static str,
        keys: &[&str],
    ) -> Read<Vec<Table<'t>>> {
        let Some(list) = self.get(key) else {
            return Ok(Vec::new());
        };
        let items = list.list(&format!("write [[{key}]] before each"))?;
        items.iter().map(|item| item.table(what, keys)).collect()
    }
}

/// A value, with its place and the key or list that it stands in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item<'t> {
    /// The key.
    pub name: &'t str,
    /// Where the value begins.
    pub at: usize,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Item<'t> {
    fn new(name: &'t str, value: &'t Spanned<DeValue<'t>>) -> Self {
        Item {
            name,
            at: value.span().start,
            value,
        }
    }

    fn wrong<T>(&self, wanted: &str, remedy: impl Into<String>) -> Read<T> {
        mistake(self.at, format!("`{}` takes {wanted}", self.name), remedy)
    }

    /// Its text, if it is one.
    pub(super) fn as_text(&self) -> Option<&'t str> {
        self.value.get_ref().as_str()
    }

    /// Its whole number, if it is one.
    pub(super) fn as_whole(&self) -> Option<i64> {
        let number = self.value.get_ref().as_integer()?;
        i64::from_str_radix(number.as_str(), number.radix()).ok()
    }

    /// Its number with a point, if it is one.
    pub(super) fn as_real(&self) -> Option<f64> {
        self.value.get_ref().as_float()?.as_str().parse().ok()
    }

    /// Whether it is a table.
    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// A text that is not empty, without the space around it.
    pub(super) fn text(&self) -> Read<&'t str> {
        match self.as_text().map(str::trim) {
            Some(text) if !text.is_empty() => Ok(text),
            Some(_) => mistake(
                self.at,
                format!("`{}` is empty", self.name),
                "write something",
            ),
            None => self.wrong("a text", format!("write {} = \"…\"", self.name)),
        }
    }

    /// A whole number within bounds.
    pub(super) fn whole(&self, bounds: RangeInclusive<u64>) -> Read<u64> {
        let number = self
            .as_whole()
            .and_then(|number| u64::try_from(number).ok());
        match number.filter(|number| bounds.contains(number)) {
            Some(number) => Ok(number),
            None => self.wrong(
                &format!("a whole number from {} to {}", bounds.start(), bounds.end()),
                format!(
                    "write as in {} = {}, without quotes",
                    self.name,
                    bounds.start()
                ),
            ),
        }
    }

    /// true or false.
    pub(super) fn yes_or_no(&self) -> Read<bool> {
        match self.value.get_ref().as_bool() {
            Some(value) => Ok(value),
            None => self.wrong("true or false", "write it without quotes"),
        }
    }

    /// One of a few words.
    pub(super) fn word<T: Copy>(&self, words: &[(&str, T)]) -> Read<T> {
        let text = self.as_text();
        match words.iter().find(|(word, _)| Some(*word) == text) {
            Some((_, meaning)) => Ok(*meaning),
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                self.wrong(
                    "one of a few words",
                    format!("write one of these in quotes: {}", known.join(", ")),
                )
            }
        }
    }

    /// A list; its items are called as it is.
    pub(super) fn list(&self, example: &str) -> Read<Vec<Item<'t>>> {
        match self.value.get_ref().as_array() {
            Some(items) => Ok(items
                .iter()
                .map(|item| Item::new(self.name, item))
                .collect()),
            None => self.wrong("a list", example),
        }
    }

    /// A list of texts that are not empty.
    pub(super) fn texts(&self) -> Read<Vec<&'t str>> {
        let example = format!("write as in {} = [\"…\"]", self.name);
        self.list(&example)?.iter().map(Item::text).collect()
    }

    /// A table with known keys.
    pub(super) fn table(&self, what: &'static str, keys: &[&str]) -> Read<Table<'t>> {
        match self.value.get_ref().as_table() {
            Some(entries) => Table::new(what, self.at, entries, keys),
            None => self.wrong(
                "a table",
                format!("write {{ … }} with keys: {}", keys.join(", ")),
            ),
        }
    }

    /// The entries of a table whose keys are the author's, by name, each with the place of its key.
    pub(super) fn entries(&self, example: &str) -> Read<Vec<(usize, Item<'t>)>> {
        let Some(entries) = self.value.get_ref().as_table() else {
            return self.wrong("a table", example);
        };
        let mut found: Vec<(usize, Item<'t>)> = entries
            .iter()
            .map(|(key, value)| (key.span().start, Item::new(key.get_ref(), value)))
            .collect();
        found.sort_by_key(|(_, item)| item.name);
        Ok(found)
    }

    /// What serde makes of the value.
    pub(super) fn parse<T: serde::de::DeserializeOwned>(&self, remedy: &str) -> Read<T> {
        T::deserialize(toml::de::ValueDeserializer::from(self.value.clone()))
            .or_else(|error| mistake(self.at, one_line(error.message()), remedy))
    }
}
