//! The numbers of a workload's file that have names, and can be set otherwise than it says.

use super::format::{Multiple, Number};
use niagara_toml::{At, Found, TextOr, finding};
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
    pub(super) fn read(
        scale: BTreeMap<String, u64>,
        multiples: BTreeMap<At<String>, Multiple>,
        set: &BTreeMap<String, u64>,
    ) -> Found<Self> {
        let mut numbers = Numbers {
            scale,
            multiples: BTreeMap::new(),
        };
        for (name, multiple) in multiples {
            numbers.known(multiple.of.at, &multiple.of)?;
            if numbers.scale.contains_key(&name.value) {
                return finding(
                    name.at,
                    format!("`{}` is in [scale] too", *name),
                    "give it another name",
                );
            }
            let of = (multiple.of.value.0, multiple.each);
            numbers.multiples.insert(name.value, of);
        }
        for (name, value) in set {
            numbers.set(name, *value)?;
        }
        Ok(numbers)
    }

    fn set(&mut self, name: &str, value: u64) -> Found<()> {
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
            None => finding(
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
    fn known(&self, at: usize, name: &str) -> Found<u64> {
        match self.scale.get(name.trim()) {
            Some(number) => Ok(*number),
            None => {
                let known: Vec<&str> = self.scale.keys().map(String::as_str).collect();
                finding(
                    at,
                    format!("[scale] has no number `{name}`"),
                    format!("its numbers: {}", known.join(", ")),
                )
            }
        }
    }
}

/// A number up to `most`, or the name of one.
pub(super) fn number(given: &Number, numbers: &Numbers, most: u64) -> Found<u64> {
    let number = match &given.value {
        TextOr::Text(name) => numbers.known(given.at, name)?,
        TextOr::Other(number) => *number,
    };
    if number <= most {
        return Ok(number);
    }
    finding(
        given.at,
        format!("a whole number from 0 to {most} was expected here"),
        "write a number without quotes, or the name of a number of [scale] in quotes",
    )
}
