//! What an instrumented server is run with, so that its profile speaks of the load that matters.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use niagara_toml::{Text, TextOr};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// Workloads that train a build: each gets its share of the seconds, one after the other, on tables of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["workloads"]))]
#[serde(default, deny_unknown_fields)]
pub struct Training {
    /// Workloads with their weights: `{ oltp_read_only = 2, oltp_read_write = 1 }`, or a list, all with weight 1.
    #[schemars(with = "Weights")]
    #[serde(deserialize_with = "weights_or_list")]
    pub workloads: BTreeMap<String, u32>,
    /// Connections.
    #[schemars(range(min = 1, max = 16_384))]
    pub threads: u32,
    /// Seconds of load in all.
    #[schemars(range(min = 1, max = 86_400))]
    pub seconds: u32,
    /// Tables.
    #[schemars(range(min = 1, max = 10_000))]
    pub tables: u32,
    /// Rows of each table.
    #[schemars(range(min = 1, max = 4_294_967_295_u64))]
    pub table_size: u64,
    /// Train on this machine, even where a profile that comes with the program fits.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub here: bool,
}

impl Default for Training {
    fn default() -> Training {
        Training {
            workloads: BTreeMap::from([("oltp_read_only".to_owned(), 1)]),
            threads: 16,
            seconds: 30,
            tables: 1,
            table_size: 50_000,
            here: false,
        }
    }
}

impl Training {
    /// Training on these workloads in equal parts.
    pub fn on(workloads: &[&str]) -> Training {
        Training {
            workloads: workloads
                .iter()
                .map(|name| ((*name).to_owned(), 1))
                .collect(),
            ..Training::default()
        }
    }

    /// Seconds of load for each workload, at least one.
    pub fn shares(&self) -> Vec<(&str, f64)> {
        let all: u32 = self.workloads.values().sum();
        let share =
            |weight: u32| f64::from(self.seconds) * f64::from(weight) / f64::from(all.max(1));
        self.workloads
            .iter()
            .map(|(name, weight)| (name.as_str(), share(*weight).max(1.0)))
            .collect()
    }

    /// The workloads as they are written in a variant: `oltp_read_only:2/oltp_read_write`.
    pub fn names(&self) -> String {
        let name = |(name, weight): (&String, &u32)| match weight {
            1 => name.clone(),
            weight => format!("{name}:{weight}"),
        };
        self.workloads
            .iter()
            .map(name)
            .collect::<Vec<_>>()
            .join("/")
    }

    /// Weights without a common factor, none of them zero.
    pub(crate) fn normal(&self) -> Training {
        let mut training = self.clone();
        training.workloads.retain(|_, weight| *weight > 0);
        let common = training.workloads.values().copied().fold(0, gcd).max(1);
        for weight in training.workloads.values_mut() {
            *weight /= common;
        }
        training
    }

    pub(crate) fn set(&mut self, part: &str, value: &str) -> Result<()> {
        let number = || -> Result<u32> {
            match value.parse::<u32>() {
                Ok(number) if number > 0 => Ok(number),
                _ => bail!(
                    "`{value}` is not a number of {part} to train with; write a whole number from 1"
                ),
            }
        };
        match part {
            "threads" => self.threads = number()?,
            "seconds" => self.seconds = number()?,
            "tables" => self.tables = number()?,
            "table_size" => self.table_size = u64::from(number()?),
            "workloads" => self.workloads = workloads(value)?,
            "here" => {
                self.here = match value {
                    // ON and OFF: true and false of a study file.
                    "yes" | "ON" => true,
                    "no" | "OFF" => false,
                    _ => bail!("`{value}` is neither yes nor no: whether to train on this machine"),
                }
            }
            _ => bail!(
                "a training has no `{part}`; it has: workloads, threads, seconds, tables, table_size, here"
            ),
        }
        Ok(())
    }
}

/// Reads `oltp_read_only:2/oltp_read_write`; `/`, `+` and `,` separate alike.
pub(crate) fn workloads(text: &str) -> Result<BTreeMap<String, u32>> {
    let mut found = BTreeMap::new();
    for part in text
        .split(['/', '+', ','])
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        let (name, weight) = part.split_once(':').unwrap_or((part, "1"));
        match weight.parse::<u32>() {
            Ok(weight) if weight > 0 => found.insert(name.to_owned(), weight),
            _ => bail!(
                "`{weight}` is not a weight for {name}; write a whole number from 1, as in {name}:2"
            ),
        };
    }
    if found.is_empty() {
        bail!("no workload is named to train on; write as in oltp_read_only:2/oltp_read_write");
    }
    Ok(found)
}

/// How workloads are written.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a schema only")]
enum Weights {
    Words(TextOr<Vec<Text>>),
    Table(BTreeMap<String, std::num::NonZeroU32>),
}

fn weights_or_list<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, u32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Weights(BTreeMap<String, u32>),
        List(Vec<String>),
        Words(String),
    }
    match Written::deserialize(from)? {
        Written::Weights(weights) => Ok(weights),
        Written::List(names) => Ok(names.into_iter().map(|name| (name, 1)).collect()),
        Written::Words(words) => workloads(&words).map_err(serde::de::Error::custom),
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_share_the_seconds_by_weight() {
        let training = Training {
            workloads: workloads("a:3/b").expect("valid"),
            seconds: 40,
            ..Training::default()
        };
        assert_eq!(training.shares(), [("a", 30.0), ("b", 10.0)]);
        assert_eq!(training.names(), "a:3/b");
        let list: Training = toml::from_str("workloads = [\"a\", \"b\"]").expect("valid");
        assert_eq!(list, Training::on(&["a", "b"]));
        let words: Training = toml::from_str("workloads = \"a/b\"").expect("valid");
        assert_eq!(words, list);
    }
}
