//! What a server's process is started with, beside its variables: [`ProcessSettings`].
//!
//! One type for a lever, a study file, a running server and a deployment. Its fields, how two of it are merged and its words for
//! people are in this file. The compiler asks for a new field wherever settings take effect.

mod cpu_list;

use std::collections::BTreeMap;

pub use cpu_list::{format_cpu_list, parse_cpu_list};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a server's process is started with, beside its variables. `None` is what it has anyway.
///
/// The parameters are what a file has in place of CPU numbers, of a scheduling policy and of a value of the environment: a text with
/// its place, or an expression that is worked out for a machine ([`ProcessSettings::resolve`]).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProcessSettings<Cpus = Vec<usize>, Policy = Scheduling, Value = String> {
    /// Memory allocator to preload: glibc, jemalloc, tcmalloc, mimalloc
    #[schemars(length(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub malloc: Option<String>,
    /// Ask the malloc for transparent huge pages
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages_heap: Option<bool>,
    /// Put the program's text on transparent huge pages
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages_text: Option<bool>,
    /// CPUs of the server, as in 0-3,8
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_cpus: Option<Cpus>,
    /// CPUs of the load generator, as in 0-3,8
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cpus: Option<Cpus>,
    /// How the kernel schedules the server: batch, or nice N with N from -20 to 19
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduling: Option<Policy>,
    /// How the load reaches the server
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<TransportKind>,
    /// Environment of the server's process
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, Value>,
    /// Keep the server's memory from being swapped
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_memory: Option<bool>,
}

/// Declares a table of a file that has keys of its own and those of [`ProcessSettings`]. TOML's reader knows the places of values only
/// in a table that is one struct.
#[macro_export]
macro_rules! with_process_settings {
    ($(#[$about:meta])* $name:ident<$cpus:ty, $policy:ty, $value:ty> { $($own:tt)* }) => {
        $(#[$about])*
        struct $name {
            $($own)*
            malloc: Option<String>,
            huge_pages_heap: Option<bool>,
            huge_pages_text: Option<bool>,
            server_cpus: Option<$cpus>,
            client_cpus: Option<$cpus>,
            scheduling: Option<$policy>,
            transport: Option<$crate::TransportKind>,
            environment: std::collections::BTreeMap<String, $value>,
            lock_memory: Option<bool>,
        }

        impl $name {
            /// Takes the settings of the process out of the table.
            fn take_process(&mut self) -> $crate::ProcessSettings<$cpus, $policy, $value> {
                $crate::ProcessSettings {
                    malloc: self.malloc.take(),
                    huge_pages_heap: self.huge_pages_heap.take(),
                    huge_pages_text: self.huge_pages_text.take(),
                    server_cpus: self.server_cpus.take(),
                    client_cpus: self.client_cpus.take(),
                    scheduling: self.scheduling.take(),
                    transport: self.transport.take(),
                    environment: std::mem::take(&mut self.environment),
                    lock_memory: self.lock_memory.take(),
                }
            }
        }
    };
}

impl<Cpus, Policy, Value> Default for ProcessSettings<Cpus, Policy, Value> {
    fn default() -> Self {
        Self {
            malloc: None,
            huge_pages_heap: None,
            huge_pages_text: None,
            server_cpus: None,
            client_cpus: None,
            scheduling: None,
            transport: None,
            environment: BTreeMap::new(),
            lock_memory: None,
        }
    }
}

impl<Cpus, Policy, Value> ProcessSettings<Cpus, Policy, Value> {
    /// Adds other settings, which have the last word on what both name.
    pub fn merge(&mut self, other: Self) {
        let Self {
            malloc,
            huge_pages_heap,
            huge_pages_text,
            server_cpus,
            client_cpus,
            scheduling,
            transport,
            environment,
            lock_memory,
        } = other;
        self.malloc = malloc.or(self.malloc.take());
        self.huge_pages_heap = huge_pages_heap.or(self.huge_pages_heap);
        self.huge_pages_text = huge_pages_text.or(self.huge_pages_text);
        self.server_cpus = server_cpus.or(self.server_cpus.take());
        self.client_cpus = client_cpus.or(self.client_cpus.take());
        self.scheduling = scheduling.or(self.scheduling.take());
        self.transport = transport.or(self.transport);
        self.environment.extend(environment);
        self.lock_memory = lock_memory.or(self.lock_memory);
    }

    /// The same with CPUs, policies and values of the environment (by their names) as these functions understand them.
    ///
    /// # Errors
    /// The first error of one of them.
    pub fn resolve<C, P, V, E>(
        self,
        mut cpus: impl FnMut(Cpus) -> Result<C, E>,
        policy: impl FnMut(Policy) -> Result<P, E>,
        mut value: impl FnMut(&str, Value) -> Result<V, E>,
    ) -> Result<ProcessSettings<C, P, V>, E> {
        let environment = self.environment.into_iter();
        Ok(ProcessSettings {
            malloc: self.malloc,
            huge_pages_heap: self.huge_pages_heap,
            huge_pages_text: self.huge_pages_text,
            server_cpus: self.server_cpus.map(&mut cpus).transpose()?,
            client_cpus: self.client_cpus.map(&mut cpus).transpose()?,
            scheduling: self.scheduling.map(policy).transpose()?,
            transport: self.transport,
            environment: environment
                .map(|(name, text)| value(&name, text).map(|value| (name, value)))
                .collect::<Result<_, E>>()?,
            lock_memory: self.lock_memory,
        })
    }

    /// Whether the malloc is asked for transparent huge pages.
    pub fn has_huge_heap(&self) -> bool {
        self.huge_pages_heap == Some(true)
    }

    /// Whether the program's text is put on transparent huge pages.
    pub fn has_huge_text(&self) -> bool {
        self.huge_pages_text == Some(true)
    }

    /// Whether the server's memory is kept from being swapped.
    pub fn locks_memory(&self) -> bool {
        self.lock_memory == Some(true)
    }

    /// Whether the load reaches the server through its Unix socket.
    pub fn is_on_socket(&self) -> bool {
        self.transport == Some(TransportKind::Unix)
    }
}

impl ProcessSettings {
    /// The same without what a process has anyway: settings that do the same are equal then.
    pub fn normal(self) -> Self {
        // Every field is named: a new switch has to say what is normal.
        let Self {
            malloc,
            huge_pages_heap,
            huge_pages_text,
            server_cpus,
            client_cpus,
            scheduling,
            lock_memory,
            transport,
            environment,
        } = self;
        let is_on = |on: &bool| *on;
        Self {
            malloc,
            huge_pages_heap: huge_pages_heap.filter(is_on),
            huge_pages_text: huge_pages_text.filter(is_on),
            server_cpus,
            client_cpus,
            scheduling,
            lock_memory: lock_memory.filter(is_on),
            transport: transport.filter(|kind| *kind != TransportKind::default()),
            environment,
        }
    }

    /// A few words for each setting, for people: `malloc=jemalloc`, `server on CPUs 0-2`.
    pub fn in_words(&self) -> Vec<String> {
        let Self {
            malloc,
            huge_pages_heap,
            huge_pages_text,
            server_cpus,
            client_cpus,
            scheduling,
            transport,
            environment,
            lock_memory,
        } = self;
        let on_off = |what: &str, on: &bool| format!("{what} {}", if *on { "on" } else { "off" });
        let huge_heap = huge_pages_heap.as_ref();
        let huge_text = huge_pages_text.as_ref();
        let parts = [
            malloc.as_ref().map(|malloc| format!("malloc={malloc}")),
            huge_heap.map(|on| on_off("huge pages for the heap", on)),
            huge_text.map(|on| on_off("2 MB pages for the server's code", on)),
            transport.map(|transport| match transport {
                TransportKind::Tcp => "TCP".to_owned(),
                TransportKind::Unix => "Unix socket".to_owned(),
                TransportKind::Tls => "TCP with TLS".to_owned(),
            }),
            server_cpus
                .as_ref()
                .map(|cpus| format!("server on {}", named(cpus))),
            client_cpus
                .as_ref()
                .map(|cpus| format!("client on {}", named(cpus))),
            scheduling.map(|scheduling| match scheduling {
                Scheduling::Batch => "SCHED_BATCH".to_owned(),
                Scheduling::Nice(nice) => format!("nice {nice}"),
            }),
        ];
        let environment = environment.iter();
        let environment = environment.map(|(name, value)| format!("{name}={value}"));
        let locked = lock_memory.as_ref().map(|on| on_off("locked memory", on));
        parts
            .into_iter()
            .flatten()
            .chain(environment)
            .chain(locked)
            .collect()
    }
}

fn named(cpus: &[usize]) -> String {
    let plural = if cpus.len() == 1 { "" } else { "s" };
    format!("CPU{plural} {}", format_cpu_list(cpus))
}

/// A scheduling class or weight for the server's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scheduling {
    /// `SCHED_BATCH`: longer slices, fewer wake-up preemptions.
    Batch,
    /// A nice value, −20 to 19; negative ones need the right to set them.
    Nice(i32),
}

impl Scheduling {
    /// How policies are written.
    pub const WRITTEN: &str = "write \"batch\" or \"nice N\" with N from -20 to 19";

    /// The policy that `text` names.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "batch" {
            return Some(Self::Batch);
        }
        let nice = text.strip_prefix("nice ")?.trim().parse().ok()?;
        (-20..=19).contains(&nice).then_some(Self::Nice(nice))
    }
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
    /// TCP over loopback, encrypted.
    ///
    /// It only costs, and whether to encrypt is not a question of speed: a tuning tries its lever only by name.
    Tls,
}

/// What client and server agreed on for an encrypted connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSession {
    /// Version of TLS, as the server names it: `TLSv1.3`
    pub version: String,
    /// Cipher, as the server names it: `TLS_AES_256_GCM_SHA384`
    pub cipher: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_settings_say_nothing() {
        assert_eq!(
            serde_json::to_string(&ProcessSettings::<Vec<usize>>::default()).expect("plain data"),
            "{}"
        );
        let settings: ProcessSettings =
            serde_json::from_str(r#"{"malloc":"jemalloc","scheduling":{"nice":5}}"#)
                .expect("valid");
        assert_eq!(settings.scheduling, Some(Scheduling::Nice(5)));
    }

    #[test]
    fn merged_settings_keep_what_is_not_named() {
        let mut settings: ProcessSettings = ProcessSettings {
            malloc: Some("tcmalloc".into()),
            huge_pages_heap: Some(true),
            transport: Some(TransportKind::Unix),
            environment: BTreeMap::from([("A".into(), "1".into()), ("B".into(), "2".into())]),
            ..ProcessSettings::default()
        };
        settings.merge(ProcessSettings {
            huge_pages_heap: Some(false),
            transport: Some(TransportKind::Tcp),
            server_cpus: Some(vec![0]),
            environment: BTreeMap::from([("B".into(), "3".into())]),
            ..ProcessSettings::default()
        });
        let expected = ProcessSettings {
            malloc: Some("tcmalloc".into()),
            server_cpus: Some(vec![0]),
            environment: BTreeMap::from([("A".into(), "1".into()), ("B".into(), "3".into())]),
            ..ProcessSettings::default()
        };
        assert_eq!(settings.normal(), expected);
    }
}
