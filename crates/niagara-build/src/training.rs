//! What an instrumented server is run with, so that its profile speaks of the load that matters.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use niagara_load::{TracePart, is_workload_file};
use niagara_toml::{Text, TextOr};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::named_training::named_training;
use crate::training_list::{read, written};

/// The part of a capture that trains, where nobody says which: the rest is left to judge by.
pub const TRAINING_PART: TracePart = TracePart::First(50);

/// Under this name among [`Training::content`] stands what the data are known by.
pub(crate) const DATA: &str = "data";

/// Workloads that train a build: each gets its share of the seconds, one after the other, on tables of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("required" = ["workloads"]))]
#[serde(default, deny_unknown_fields)]
pub struct Training {
    /// Workloads with their weights: `{ oltp_read_only = 2, oltp_read_write = 1 }`, or a list, all with weight 1. A workload is
    /// one that is built in, a training of `trainings/`, or the path of a file: a workload of your own (`./shop.toml`), a
    /// script of sysbench's (`./shop.lua`), a capture (`./shop.capture`).
    #[schemars(with = "Weights")]
    #[serde(deserialize_with = "weights_or_list")]
    pub workloads: BTreeMap<String, u32>,
    /// Connections; a capture has its own.
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
    /// Count in two rounds, the second after inlining, so that a function has counts for each place that it was inlined at.
    /// clang alone, and not for BOLT.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contexts: bool,
    /// Options of the workloads that have them: numbers of a workload's file, options of a script, `commit_order` of a
    /// capture.
    #[schemars(with = "BTreeMap<String, niagara_toml::Scalar>")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// The part of a capture that trains: `first:50%` (the default) or `after:50%` of its transactions, or those of some
    /// sessions: `sessions:50%`, `other-sessions:50%`.
    #[schemars(with = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<TracePart>,
    /// The workload on whose tables a capture was taken.
    #[schemars(with = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tables_of: Option<String>,
    /// The data that a capture or a workload of a file runs on, in place of its own: a data directory, a backup, a dump; in a
    /// file by its path from the file's folder.
    #[schemars(with = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<PathBuf>,
    /// The database of the data; none is their only one.
    #[schemars(with = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// What stands for the content of the files among the workloads, and of the data: a build is known by these, not by
    /// paths. Filled in by [`pinned`](Training::pinned).
    #[schemars(skip_deserializing)]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub content: BTreeMap<String, String>,
}

impl Default for Training {
    fn default() -> Training {
        Training {
            workloads: BTreeMap::from([("oltp_read_only".to_owned(), 1)]),
            threads: 16,
            seconds: DEFAULT_SECONDS,
            tables: 1,
            table_size: 50_000,
            here: false,
            contexts: false,
            set: BTreeMap::new(),
            part: None,
            tables_of: None,
            data: None,
            schema: None,
            content: BTreeMap::new(),
        }
    }
}

/// ON and OFF: true and false of a study file.
fn yes_or_no(value: &str, whether: &str) -> Result<bool> {
    match value {
        "yes" | "ON" => Ok(true),
        "no" | "OFF" => Ok(false),
        _ => bail!("`{value}` is neither yes nor no: whether to {whether}"),
    }
}

/// Seconds of a training, where nobody says how many.
const DEFAULT_SECONDS: u32 = 30;

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

    /// Seconds of load for each workload, at least one; a training with a name is the workloads that it is made of.
    pub(crate) fn shares(&self) -> Vec<(String, f64)> {
        let all: f64 = self.workloads.values().copied().map(f64::from).sum();
        let mut shares = BTreeMap::<&str, f64>::new();
        for (name, weight) in &self.workloads {
            let share = f64::from(self.seconds) * f64::from(*weight) / all.max(1.0);
            match named_training(name) {
                None => *shares.entry(name).or_default() += share,
                Some(training) => {
                    let parts: f64 = training.workloads.values().copied().map(f64::from).sum();
                    for (name, weight) in &training.workloads {
                        *shares.entry(name).or_default() += share * f64::from(*weight) / parts;
                    }
                }
            }
        }
        shares
            .into_iter()
            .map(|(name, seconds)| (name.to_owned(), seconds.max(1.0)))
            .collect()
    }

    /// The workloads as they are written in a variant: `oltp_read_only:2/oltp_read_write`.
    pub fn names(&self) -> String {
        written(&self.workloads)
    }

    /// For people: the same, with the part of a capture that trains and whether there are two rounds.
    pub(crate) fn words(&self) -> String {
        let mut words = self.names();
        if self.captures().next().is_some() {
            words.push_str(&format!(" ({})", self.trained_part().words()));
        }
        if self.contexts {
            words.push_str(" by contexts");
        }
        words
    }

    /// The workloads that are files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &str> {
        let names = self.workloads.keys().map(String::as_str);
        names.filter(|name| is_workload_file(name))
    }

    /// Those of them that are captures.
    pub(crate) fn captures(&self) -> impl Iterator<Item = &str> {
        self.files().filter(|name| name.ends_with(".capture"))
    }

    /// The part of a capture that trains.
    pub(crate) fn trained_part(&self) -> TracePart {
        self.part.unwrap_or(TRAINING_PART)
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

    /// As it stands in a build's key: files by their content, not by their paths.
    pub(crate) fn keyed(&self) -> Training {
        let mut training = self.clone();
        let known = |name: &str| match self.content.get(name) {
            Some(content) => format!("content {content}"),
            None => name.to_owned(),
        };
        training.workloads = BTreeMap::new();
        for (name, weight) in &self.workloads {
            *training.workloads.entry(known(name)).or_default() += weight;
        }
        if self.captures().next().is_some() {
            training.part = Some(self.trained_part());
        }
        training.tables_of = self.tables_of.as_deref().map(known);
        training.data = self.data.as_ref().map(|_| PathBuf::from(known(DATA)));
        training.content = BTreeMap::new();
        training
    }

    /// The same with the paths of files as they are from `folder`.
    #[must_use]
    pub(crate) fn in_folder(mut self, folder: &Path) -> Training {
        let workloads = std::mem::take(&mut self.workloads);
        for (name, weight) in workloads {
            *self.workloads.entry(name_in(&name, folder)).or_default() += weight;
        }
        self.tables_of = self.tables_of.map(|name| name_in(&name, folder));
        self.data = self.data.map(|data| folder.join(data));
        self
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
            "workloads" => self.train_on(value)?,
            "part" => self.part = Some(value.parse().map_err(anyhow::Error::msg)?),
            "data" => self.data = Some(PathBuf::from(value)),
            "schema" => self.schema = Some(value.to_owned()),
            "tables_of" => self.tables_of = Some(value.to_owned()),
            "here" => self.here = yes_or_no(value, "train on this machine")?,
            "contexts" => self.contexts = yes_or_no(value, "count in two rounds")?,
            _ => match part.split_once('.') {
                Some(("set", name)) if !name.is_empty() => {
                    self.set.insert(name.to_owned(), value.to_owned());
                }
                _ => bail!(
                    "a training has no `{part}`; it has: workloads, threads, seconds, tables, table_size, here, contexts, set.NAME, part, \
                     tables_of, data, schema"
                ),
            },
        }
        Ok(())
    }

    /// Trains on the workloads that `text` names.
    pub(crate) fn train_on(&mut self, text: &str) -> Result<()> {
        // A training with a name says how long it takes, and takes that along when it is replaced.
        let named = |workloads: &BTreeMap<String, u32>| {
            let named = workloads.keys().filter_map(|name| named_training(name));
            named.map(|training| training.seconds).max()
        };
        let before = named(&self.workloads);
        self.workloads = read(text)?;
        if self.seconds == before.unwrap_or(DEFAULT_SECONDS) {
            self.seconds = named(&self.workloads).unwrap_or(DEFAULT_SECONDS);
        }
        Ok(())
    }
}

/// The name of a workload as it is from `folder`, where it is a path.
fn name_in(name: &str, folder: &Path) -> String {
    let path = Path::new(name.strip_prefix("./").unwrap_or(name));
    if folder.as_os_str().is_empty() || path.is_absolute() || !is_workload_file(name) {
        return name.to_owned();
    }
    let path = folder.join(path);
    match path.is_absolute() || path.starts_with("..") {
        true => path.display().to_string(),
        false => format!("./{}", path.display()),
    }
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
        Written::Words(words) => read(&words).map_err(serde::de::Error::custom),
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
            workloads: read("tpcc:3/report").expect("valid"),
            seconds: 40,
            ..Training::default()
        };
        let share = |name: &str, seconds: f64| (name.to_owned(), seconds);
        assert_eq!(
            training.shares(),
            [share("report", 10.0), share("tpcc", 30.0)]
        );
        assert_eq!(training.names(), "report/tpcc:3");
        let list: Training = toml::from_str("workloads = [\"a\", \"b\"]").expect("valid");
        assert_eq!(list, Training::on(&["a", "b"]));
        let words: Training = toml::from_str("workloads = \"a/b\"").expect("valid");
        assert_eq!(words, list);
    }

    #[test]
    fn a_training_with_a_name_is_its_workloads_for_as_long_as_it_says() {
        let mut training = Training::default();
        training.set("workloads", "mixed:3/commit").expect("known");
        assert_eq!(
            (training.names().as_str(), training.seconds),
            ("commit/mixed:3", 120)
        );
        let shares = training.shares();
        let all: f64 = shares.iter().map(|(_, seconds)| seconds).sum();
        assert!((all - 120.0).abs() < 1e-9, "{shares:?}");
        for name in ["answers", "report", "tpcc", "oltp_read_only"] {
            assert!(shares.iter().any(|(known, _)| known == name), "{name}");
        }
        let commit = shares.iter().find(|(name, _)| name == "commit");
        assert!(commit.expect("there").1 > 30.0, "{shares:?}");
        // What takes its place takes no longer than it would have alone.
        training.set("workloads", "oltp_read_only").expect("known");
        assert_eq!(training.seconds, DEFAULT_SECONDS);
        // Who asks for a number of seconds gets that.
        let mut asked = Training::default();
        asked.set("seconds", "60").expect("a number");
        asked.set("workloads", "mixed").expect("known");
        assert_eq!(asked.seconds, 60);
    }

    #[test]
    fn the_key_has_content_and_no_paths() {
        let of = |path: &str, content: &str, settings: &[(&str, &str)]| {
            let mut training = Training::default();
            training.set("workloads", path).expect("a path");
            for (part, value) in settings {
                training.set(part, value).expect("valid");
            }
            let names: Vec<String> = training.files().map(str::to_owned).collect();
            for name in names {
                training.content.insert(name, content.to_owned());
            }
            serde_json::to_string(&training.keyed()).expect("plain data")
        };
        let key = of("./shop.toml", "1", &[]);
        assert_eq!(key, of("/srv/shop.toml", "1", &[]));
        assert!(!key.contains("shop"), "{key}");
        for other in [
            of("./shop.toml", "2", &[]),
            of("./shop.toml:2,tpcc", "1", &[]),
            of("./shop.toml", "1", &[("set.rows", "5")]),
            of("./shop.capture", "1", &[]),
        ] {
            assert_ne!(key, other);
        }
        // Of a capture the part that trains counts, asked for or not.
        let half = of("./shop.capture", "1", &[]);
        assert_eq!(half, of("./shop.capture", "1", &[("part", "first:50%")]));
        for part in ["first:30%", "sessions:50%"] {
            assert_ne!(half, of("./shop.capture", "1", &[("part", part)]));
        }
        // What was built before files could be named has the key that it had.
        let old = serde_json::to_string(&Training::default().keyed()).expect("plain data");
        assert_eq!(
            old,
            r#"{"workloads":{"oltp_read_only":1},"threads":16,"seconds":30,"tables":1,"table_size":50000}"#
        );
    }

    #[test]
    fn paths_of_a_study_begin_at_its_folder() {
        for (name, folder, expected) in [
            ("./shop.toml", "studies", "./studies/shop.toml"),
            ("./shop.toml", "/srv", "/srv/shop.toml"),
            ("/a/shop.toml", "studies", "/a/shop.toml"),
            ("../shop.lua", "/srv/x", "/srv/x/../shop.lua"),
            ("tpcc", "studies", "tpcc"),
            ("./shop.toml", "", "./shop.toml"),
        ] {
            assert_eq!(name_in(name, Path::new(folder)), expected);
        }
    }
}
