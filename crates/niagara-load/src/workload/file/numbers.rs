//! The numbers of a workload's file that have names, and can be set otherwise than it says.

use super::toml_table::{Item, Read, Table, mistake};
use std::collections::BTreeMap;

/// Numbers by name.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    scale: BTreeMap<String, u64>,
    /// Names that set another number to a multiple: which one, and of what.
    multiples: BTreeMap<String, (String, u64)>,
}

impl Numbers {
    /// Those of a file, of which `set` are set otherwise.
    pub(super) fn read(file: Table<'_>, set: &BTreeMap<String, u64>) -> Read<Self> {
        let mut numbers = Numbers::default();
        if let Some(scale) = file.get("scale") {
            for (_, item) in scale.entries("write [scale], then as in rows = 1_000")? {
                let number = item.whole(0..=i64::MAX as u64)?;
                numbers.scale.insert(item.name.to_owned(), number);
            }
        }
        if let Some(multiples) = file.get("multiple") {
            let example = "write [multiple], then as in size = { of = \"rows\", each = 1_000 }";
            for (at, item) in multiples.entries(example)? {
                let multiple = item.table("a multiple", &["of", "each"])?;
                let of = multiple.require("of", "of = \"…\", a name of [scale]")?;
                let each = multiple.require("each", "each = 1_000")?;
                let each = each.whole(1..=i64::MAX as u64)?;
                numbers.known(of)?;
                if numbers.scale.contains_key(item.name) {
                    return mistake(
                        at,
                        format!("`{}` is in [scale] too", item.name),
                        "give it another name",
                    );
                }
                let multiple = (of.text()?.to_owned(), each);
                numbers.multiples.insert(item.name.to_owned(), multiple);
            }
        }
        for (name, value) in set {
            numbers.set(name, *value)?;
        }
        Ok(numbers)
    }

    fn set(&mut self, name: &str, value: u64) -> Read<()> {
        if let Some((of, each)) = self.multiples.get(name) {
            // What has such a size is numbered by 32-bit integers with a sign.
            let product = value.saturating_mul(*each).clamp(1, i32::MAX as u64);
            self.scale.insert(of.clone(), product);
            return Ok(());
        }
        match self.scale.get_mut(name) {
            Some(number) => {
                *number = value;
                Ok(())
            }
            None => mistake(
                0,
                format!("{name} was set, and the file's [scale] has no such number"),
                format!("its numbers: {}", self.names().join(", ")),
            ),
        }
    }

    /// All names.
    pub(super) fn names(&self) -> Vec<String> {
        self.scale
            .keys()
            .chain(self.multiples.keys())
            .cloned()
            .collect()
    }

    /// The number that a text names.
    fn known(&self, item: Item<'_>) -> Read<u64> {
        let name = item.text()?;
        match self.scale.get(name) {
            Some(number) => Ok(*number),
            None => {
                let known: Vec<&str> = self.scale.keys().map(String::as_str).collect();
                mistake(
                    item.at,
                    format!("[scale] has no number `{name}`"),
                    format!("its numbers: {}", known.join(", ")),
                )
            }
        }
    }
}

/// A number up to `most`, or the name of one.
pub(super) fn number(item: Item<'_>, numbers: &Numbers, most: u64) -> Read<u64> {
    let number = match item.as_text() {
        Some(_) => Some(numbers.known(item)?),
        None => item
            .as_whole()
            .and_then(|number| u64::try_from(number).ok()),
    };
    match number.filter(|number| *number <= most) {
        Some(number) => Ok(number),
        None => mistake(
            item.at,
            format!("a whole number from 0 to {most} was expected here"),
            "write a number without quotes, or the name of a number of [scale] in quotes",
        ),
    }
}
