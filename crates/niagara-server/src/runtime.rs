//! What surrounds a server's process, and its variables.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Server variables: name with underscores → value; an empty value is a flag (`--skip_name_resolve`).
pub type Config = BTreeMap<String, String>;

/// A variable's name as [`Config`] keeps it: lower case, dashes turned to underscores, no leading `--`.
pub fn normalise_variable(name: &str) -> String {
    name.trim()
        .trim_start_matches("--")
        .to_lowercase()
        .replace('-', "_")
}

/// The names that a variable may be spoken of by: its own, and the one that switches it off (`log_bin`, `skip_log_bin`).
pub fn both_names(name: &str) -> [String; 2] {
    let bare = name.strip_prefix("skip_").unwrap_or(name);
    [bare.to_owned(), format!("skip_{bare}")]
}

/// What surrounds the server's process: malloc, huge pages, CPUs, scheduling, environment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Runtime {
    /// Name of a malloc of the install (`jemalloc`, `tcmalloc`, `mimalloc`, `glibc`); `None` is what the binary came with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malloc: Option<String>,
    /// Ask the malloc for transparent huge pages.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub huge_pages_heap: bool,
    /// Put the program's text on transparent huge pages, by a library that is preloaded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub huge_pages_text: bool,
    /// CPUs the server may run on; `None` is all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpus: Option<Vec<usize>>,
    /// CPUs the load generator may run on; kept here because both halves are one placement, applied by the load generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpus: Option<Vec<usize>>,
    /// How the kernel schedules the server; `None` is the default class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Scheduling>,
    /// How the load generator reaches the server; the server always offers both.
    #[serde(skip_serializing_if = "TransportKind::is_default")]
    pub transport: TransportKind,
    /// Further environment of the server's process.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// Keep the server's memory from being swapped (`--memlock`).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lock_memory: bool,
}

/// A scheduling class or weight for the server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// `SCHED_BATCH`: longer slices, fewer wake-up preemptions.
    Batch,
    /// A nice value, −20 to 19; negative ones need the right to set them.
    Nice(i32),
}

/// How the load generator reaches the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TransportKind {
    /// TCP over loopback.
    #[default]
    Tcp,
    /// A Unix domain socket.
    Unix,
}

impl TransportKind {
    fn is_default(&self) -> bool {
        *self == TransportKind::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variable_names_are_kept_in_one_form() {
        assert_eq!(
            normalise_variable("--Innodb-Buffer-Pool-Size "),
            "innodb_buffer_pool_size"
        );
        assert_eq!(normalise_variable("skip_name_resolve"), "skip_name_resolve");
    }

    #[test]
    fn a_default_runtime_says_nothing() {
        assert_eq!(
            serde_json::to_string(&Runtime::default()).expect("plain data"),
            "{}"
        );
        let runtime: Runtime =
            serde_json::from_str(r#"{"malloc":"jemalloc","scheduling":{"nice":5}}"#)
                .expect("valid");
        assert_eq!(runtime.scheduling, Some(Scheduling::Nice(5)));
    }
}
