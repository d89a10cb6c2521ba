//! What a lever changes, with literal values for one machine.

use std::collections::BTreeMap;

use niagara_build::Recipe;
use niagara_capture::rewrite::Rewrite;
use niagara_origin::data::ChangeStatement;
use niagara_server::{Config, ProcessSettings, both_names, is_switches, switched};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Differences from the variant it is applied to; what is absent stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Change {
    /// Server variables; an empty value is a flag.
    pub config: BTreeMap<String, String>,
    // A new kind of lever is a field of this type.
    /// What surrounds the server's process.
    pub runtime: ProcessSettings,
    /// How the binary is made, as [`Recipe::set`] takes it; anything here turns a packaged server into a built one.
    pub build: BTreeMap<String, String>,
    /// Statements that change the data, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sql: Vec<ChangeStatement>,
    /// Statements that are sent in place of captured ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rewrite: Vec<Rewrite>,
}

/// Adds `changes` to `config`; they have the last word on what they name.
fn extend(config: &mut Config, changes: &Config) {
    for (name, value) in changes {
        // The same variable by its other name: of two the later one would hold, whoever gave it.
        for other in both_names(name).iter().filter(|other| *other != name) {
            config.remove(other);
        }
        let value = match config.get(name) {
            Some(there) if is_switches(name) => switched(there, value),
            _ => value.clone(),
        };
        config.insert(name.clone(), value);
    }
}

impl Change {
    /// Whether it sets server variables, and does nothing else.
    pub(crate) fn only_sets_variables(&self) -> bool {
        let variables = Self {
            config: self.config.clone(),
            ..Self::default()
        };
        *self == variables && !self.config.is_empty()
    }

    /// Makes the change; it has the last word on what it names.
    pub(crate) fn apply(
        &self,
        build: &mut Option<Recipe>,
        runtime: &mut ProcessSettings,
        config: &mut Config,
    ) {
        for (key, value) in &self.build {
            // Was read by the same function when the lever was, so it is valid.
            let _ = build.get_or_insert_default().set(key, value);
        }
        extend(config, &self.config);
        runtime.merge(self.runtime.clone());
        *runtime = std::mem::take(runtime).normal();
    }

    /// Adds another change to this one; it has the last word on what both name.
    pub(crate) fn add(&mut self, other: Change) {
        extend(&mut self.config, &other.config);
        self.build.extend(other.build);
        self.sql.extend(other.sql);
        self.rewrite.extend(other.rewrite);
        self.runtime.merge(other.runtime);
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// For people: `innodb_buffer_pool_size=1G, malloc=jemalloc, server on CPUs 0-2`.
    pub fn one_line(&self) -> String {
        let mut parts: Vec<String> = self
            .config
            .iter()
            .map(|(name, value)| {
                if value.is_empty() {
                    name.clone()
                } else {
                    format!("{name}={}", readable(value))
                }
            })
            .collect();
        parts.extend(
            self.build
                .iter()
                .map(|(key, value)| format!("build.{key}={value}")),
        );
        parts.extend(self.runtime.in_words());
        parts.extend(
            self.sql
                .iter()
                .map(|statement| format!("sql: {}", statement.one_line())),
        );
        parts.extend(
            self.rewrite
                .iter()
                .map(|rewrite| format!("rewrite of {}", rewrite.digest)),
        );
        if parts.len() > MAX_PARTS {
            let more = parts.len() - (MAX_PARTS - 1);
            parts.truncate(MAX_PARTS - 1);
            parts.push(format!("and {more} more"));
        }
        parts.join(", ")
    }
}

/// Longer changes are shown by their first parts.
const MAX_PARTS: usize = 4;

/// `1G` for 1073741824; other values as they are.
fn readable(value: &str) -> String {
    value.parse().map_or_else(|_| value.to_owned(), sized)
}

/// A number as people write sizes: `1G` for 1073741824, `1000` for 1000.
pub(super) fn sized(number: u64) -> String {
    for (unit, bytes) in [("G", 1_u64 << 30), ("M", 1 << 20)] {
        if number >= bytes && number.is_multiple_of(bytes) {
            return format!("{}{unit}", number / bytes);
        }
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use niagara_server::{Scheduling, TransportKind};

    use super::*;

    const SWITCHES: &str = "optimizer_switch";

    #[test]
    fn switches_of_one_variable_add_up() {
        let of = |value: &str| Config::from([(SWITCHES.to_owned(), value.to_owned())]);
        let mut config = of("derived_merge=off,mrr=off");
        extend(&mut config, &of("mrr=on,mrr_sort_keys=on"));
        extend(&mut config, &of("rowid_filter=off"));
        assert_eq!(
            config[SWITCHES],
            "derived_merge=off,mrr=on,mrr_sort_keys=on,rowid_filter=off"
        );
        // Both name it: once is what a server takes.
        extend(&mut config, &of("MRR=default"));
        assert_eq!(
            config[SWITCHES],
            "derived_merge=off,mrr_sort_keys=on,rowid_filter=off,MRR=default"
        );
        // Nothing is named.
        let mut empty = of("");
        extend(&mut empty, &of("mrr=on"));
        extend(&mut empty, &of(""));
        assert_eq!(empty[SWITCHES], "mrr=on");
        let of = |value: &str| Config::from([("sql_mode".to_owned(), value.to_owned())]);
        let mut other = of("ANSI");
        extend(&mut other, &of("TRADITIONAL"));
        assert_eq!(other["sql_mode"], "TRADITIONAL");
    }

    #[test]
    fn the_default_of_all_switches_leaves_nothing_of_those_before_it() {
        let set = |values: &[&str]| {
            let mut config = Config::new();
            for value in values {
                let change = Config::from([(SWITCHES.to_owned(), (*value).to_owned())]);
                extend(&mut config, &change);
            }
            config.remove(SWITCHES).expect("set")
        };
        assert_eq!(set(&["mrr=on,rowid_filter=off", "default"]), "default");
        // Wherever it stands in its list, what else is named there is in force.
        for list in ["default,mrr=off", "mrr=off,Default"] {
            assert_eq!(set(&["mrr=on,rowid_filter=off", list]), list);
        }
        // It is said once, and what comes behind it adds up again.
        let all = ["default", "mrr=on", "default,rowid_filter=off", "mrr=off"];
        assert_eq!(set(&all), "default,rowid_filter=off,mrr=off");
        assert_eq!(
            set(&["default,mrr=on", "mrr=default"]),
            "default,mrr=default"
        );
    }

    #[test]
    fn a_change_has_the_last_word_on_what_it_names_only() {
        let mut runtime = ProcessSettings {
            malloc: Some("tcmalloc".into()),
            lock_memory: Some(true),
            ..ProcessSettings::default()
        };
        let mut config = Config::from([("a".into(), "1".into()), ("b".into(), "2".into())]);
        let change = Change {
            config: BTreeMap::from([("b".into(), "3".into())]),
            runtime: ProcessSettings {
                malloc: Some("jemalloc".into()),
                transport: Some(TransportKind::Unix),
                ..ProcessSettings::default()
            },
            ..Change::default()
        };
        let mut build = None;
        change.apply(&mut build, &mut runtime, &mut config);
        assert_eq!(build, None);
        assert_eq!(
            config,
            Config::from([("a".into(), "1".into()), ("b".into(), "3".into())])
        );
        assert_eq!(runtime.malloc.as_deref(), Some("jemalloc"));
        assert_eq!(runtime.transport, Some(TransportKind::Unix));
        assert!(runtime.locks_memory());
        assert!(Change::default().is_empty() && !change.is_empty());
    }

    #[test]
    fn changes_of_the_build_add_up() {
        let change = |key: &str, value: &str| Change {
            build: BTreeMap::from([(key.into(), value.into())]),
            ..Change::default()
        };
        let mut build = None;
        for change in [
            change("flags", "-O3"),
            change("flags", "-march=native"),
            change("lto", "full"),
        ] {
            change.apply(
                &mut build,
                &mut ProcessSettings::default(),
                &mut Config::new(),
            );
        }
        let recipe = build.expect("a built server");
        assert_eq!(recipe.one_line(), "gcc -O3 -march=native, LTO full");
        assert_eq!(change("lto", "full").one_line(), "build.lto=full");
    }

    #[test]
    fn a_variable_that_is_skipped_by_the_start_is_set_by_a_lever() {
        let skipped = ("skip_innodb_adaptive_hash_index", "");
        let set = ("innodb_adaptive_hash_index", "ON");
        let config = |(name, value): (&str, &str)| Config::from([(name.into(), value.into())]);
        for (start, lever) in [(skipped, set), (set, skipped)] {
            let mut merged = config(start);
            extend(&mut merged, &config(lever));
            assert_eq!(merged, config(lever));
        }
    }

    #[test]
    fn one_line_is_for_people() {
        let change = Change {
            config: BTreeMap::from([
                ("innodb_buffer_pool_size".into(), "1073741824".into()),
                ("skip_log_bin".into(), String::new()),
            ]),
            runtime: ProcessSettings {
                server_cpus: Some(vec![0, 1, 2]),
                client_cpus: Some(vec![3]),
                scheduling: Some(Scheduling::Nice(-5)),
                ..ProcessSettings::default()
            },
            ..Change::default()
        };
        assert_eq!(
            change.one_line(),
            "innodb_buffer_pool_size=1G, skip_log_bin, server on CPUs 0-2, and 2 more"
        );
        let change = Change {
            runtime: ProcessSettings {
                client_cpus: Some(vec![3]),
                scheduling: Some(Scheduling::Nice(-5)),
                transport: Some(TransportKind::Unix),
                ..ProcessSettings::default()
            },
            ..Change::default()
        };
        assert_eq!(change.one_line(), "Unix socket, client on CPU 3, nice -5");
    }
}
