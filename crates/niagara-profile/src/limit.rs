//! What limits now: rules as data, asked of everything that was seen.

use std::collections::BTreeMap;

use anyhow::Result;
use include_dir::{Dir, include_dir};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/data/limits");

/// Something that can limit a server.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// The file's name.
    #[serde(skip)]
    pub id: String,
    /// For people: `the table cache is too small`.
    pub title: String,
    /// What it means and what to do.
    pub why: String,
    /// It is what should limit a server that is otherwise in order: CPU, network, disk.
    #[serde(default)]
    pub natural: bool,
    /// Functions by name, `*` standing for anything: time of a stack that holds one of them counts.
    #[serde(default)]
    pub functions: Vec<String>,
    /// Time that these layers took counts.
    #[serde(default)]
    pub layers: Vec<String>,
    /// Stacks with one of these functions do not count, whatever else they hold.
    #[serde(default)]
    pub except: Vec<String>,
    /// Only running (`cpu`) or only waiting time (`waiting`) counts; both unless said.
    #[serde(default)]
    pub only: Option<Only>,
    /// All time on a CPU, and waiting for one, counts.
    #[serde(default)]
    pub running: bool,
    /// It is threads that wait: it is not named where nobody observed what they wait for, whatever they run.
    #[serde(default)]
    pub waits: bool,
    /// The status counter that must have grown, and by how much per query at least.
    #[serde(default)]
    pub status: BTreeMap<String, f64>,
    /// Limits that say the same and more: where one of them is found, this is not named.
    #[serde(default)]
    pub unless: Vec<String>,
    /// Share of a query's time below which it is not worth a word.
    pub from: f64,
    /// Levers that address it.
    #[serde(default)]
    pub levers: Vec<String>,
}

/// Which time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Only {
    /// On a CPU.
    Cpu,
    /// Waiting.
    Waiting,
}

/// A limit that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FoundLimit {
    /// The limit.
    pub limit: String,
    /// For people.
    pub title: String,
    /// What it means and what to do.
    pub why: String,
    /// It is what should limit a server that is otherwise in order.
    pub natural: bool,
    /// Share of a query's time in the server, 0 to 1.
    pub share: f64,
    /// Levers that address it, as they are written in a variant.
    pub levers: Vec<String>,
    /// Their identifiers, in the same order.
    pub lever_ids: Vec<String>,
    /// What each of them risks, in the same order: `durability`; empty where it is nothing but memory.
    pub lever_risks: Vec<String>,
}

impl FoundLimit {
    /// Its levers for people, with what they risk: `transport=unix`, `log-flush=os (risk: durability)`.
    pub fn levers_with_risks(&self) -> Vec<String> {
        let risk = |place: usize| self.lever_risks.get(place).filter(|risk| !risk.is_empty());
        let told = |(place, lever): (usize, &String)| match risk(place) {
            Some(risk) => format!("{lever} (risk: {risk})"),
            None => lever.clone(),
        };
        self.levers.iter().enumerate().map(told).collect()
    }
}

/// The time of the threads that serve the load.
#[derive(Debug)]
pub struct Evidence<'a> {
    /// Stacks with the layer each belongs to and its seconds: what ran, then what was waited for. Waiting for the client's
    /// next statement is left out: it is no time of a query.
    pub stacks: Vec<Seen<'a>>,
    /// Seconds on a CPU, and waiting for one.
    pub running: f64,
    /// Whether waiting was observed too. Without it shares are of the CPU time alone, and nobody knows whether CPUs limit.
    pub waiting_seen: bool,
    /// Growth of status counters per query.
    pub status: &'a BTreeMap<String, f64>,
}

/// A stack.
#[derive(Debug)]
pub struct Seen<'a> {
    /// Names of its functions.
    pub functions: Vec<&'a str>,
    /// Its layer.
    pub layer: &'a str,
    /// Waiting rather than running.
    pub waiting: bool,
    /// Seconds.
    pub seconds: f64,
}

/// The limits of the program.
///
/// # Errors
/// A file among them is wrong.
pub fn limits() -> Result<Vec<Limit>> {
    rules::files(&BUILT_IN)
        .map(|(name, text)| {
            let limit: Limit = rules::read("limits", name, text)?;
            Ok(Limit {
                id: name.to_owned(),
                ..limit
            })
        })
        .collect()
}

/// What limits: first what should not, by its share of a query's time, then what may.
///
/// # Errors
/// A rule cannot be read.
pub fn diagnose(limits: &[Limit], evidence: &Evidence<'_>) -> Result<Vec<FoundLimit>> {
    let waiting: f64 = evidence
        .stacks
        .iter()
        .filter(|seen| seen.waiting)
        .map(|seen| seen.seconds)
        .sum();
    let whole = evidence.running + waiting;
    let mut found = Vec::new();
    for limit in limits {
        let grew = |(name, least): (&String, &f64)| {
            evidence
                .status
                .get(name)
                .is_some_and(|value| value >= least)
        };
        let unseen = limit.waits && !evidence.waiting_seen;
        if whole <= 0.0 || unseen || !limit.status.iter().all(grew) {
            continue;
        }
        let (patterns, except) = (
            rules::any_of(&limit.functions)?,
            rules::any_of(&limit.except)?,
        );
        let counts = |seen: &&Seen<'_>| {
            let right_kind = match limit.only {
                None => true,
                Some(Only::Cpu) => !seen.waiting,
                Some(Only::Waiting) => seen.waiting,
            };
            right_kind
                && !seen.functions.iter().any(|name| except.is_match(name))
                && (limit.layers.iter().any(|layer| layer == seen.layer)
                    || seen.functions.iter().any(|name| patterns.is_match(name)))
        };
        let mut seconds: f64 = evidence
            .stacks
            .iter()
            .filter(counts)
            .map(|seen| seen.seconds)
            .sum();
        if limit.running {
            if !evidence.waiting_seen {
                continue;
            }
            seconds += evidence.running;
        }
        let share = seconds / whole;
        if share >= limit.from {
            found.push(FoundLimit {
                limit: limit.id.clone(),
                title: limit.title.clone(),
                why: limit.why.trim().to_owned(),
                natural: limit.natural,
                share,
                levers: limit.levers.clone(),
                lever_ids: limit.levers.clone(),
                lever_risks: Vec::new(),
            });
        }
    }
    let said: Vec<String> = found.iter().map(|found| found.limit.clone()).collect();
    found.retain(|found| {
        let limit = limits.iter().find(|limit| limit.id == found.limit);
        !limit.is_some_and(|limit| limit.unless.iter().any(|other| said.contains(other)))
    });
    found.sort_by(|a, b| a.natural.cmp(&b.natural).then(b.share.total_cmp(&a.share)));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    static EMPTY: BTreeMap<String, f64> = BTreeMap::new();

    fn seen<'a>(functions: &[&'a str], layer: &'a str, waiting: bool, seconds: f64) -> Seen<'a> {
        Seen {
            functions: functions.to_vec(),
            layer,
            waiting,
            seconds,
        }
    }

    fn first(stacks: Vec<Seen<'_>>, status: &[(&str, f64)]) -> Vec<String> {
        let status = status
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect();
        let running = stacks
            .iter()
            .filter(|seen| !seen.waiting)
            .map(|seen| seen.seconds)
            .sum();
        let evidence = Evidence {
            stacks,
            running,
            waiting_seen: true,
            status: &status,
        };
        let found = diagnose(&limits().unwrap(), &evidence).unwrap();
        found.into_iter().map(|found| found.limit).collect()
    }

    #[test]
    fn a_healthy_server_is_bound_by_the_cpu() {
        let stacks = vec![
            seen(&["do_command", "JOIN::exec"], "sql", false, 4.0),
            seen(&["do_command", "malloc"], "memory", false, 0.3),
            seen(&["do_command", "net_flush"], "network-write", false, 2.0),
        ];
        assert_eq!(first(stacks, &[("Opened_tables", 0.0)])[0], "cpu");
    }

    #[test]
    fn without_off_cpu_data_cpus_are_not_called_the_limit() {
        let evidence = Evidence {
            stacks: vec![seen(&["do_command", "malloc"], "memory", false, 1.0)],
            running: 1.0,
            waiting_seen: false,
            status: &BTreeMap::new(),
        };
        let found = diagnose(&limits().unwrap(), &evidence).unwrap();
        let found: Vec<&str> = found.iter().map(|found| &*found.limit).collect();
        assert_eq!(found, ["memory"]);
    }

    #[test]
    fn without_off_cpu_data_threads_are_not_said_to_wait_for_each_other() {
        let evidence = |waiting_seen| Evidence {
            stacks: vec![
                seen(
                    &["do_command", "___pthread_mutex_lock"],
                    "locks",
                    false,
                    1.0,
                ),
                seen(&["do_command", "JOIN::exec"], "sql", false, 3.0),
            ],
            running: 4.0,
            waiting_seen,
            status: &EMPTY,
        };
        let names = |waiting_seen| -> Vec<String> {
            let found = diagnose(&limits().unwrap(), &evidence(waiting_seen)).unwrap();
            found.into_iter().map(|found| found.limit).collect()
        };
        // Taking a lock that is free is work as any other; only who saw the waiting knows that it is more.
        assert!(names(false).is_empty(), "{:?}", names(false));
        assert_eq!(names(true), ["locks", "cpu"]);
    }

    #[test]
    fn levers_are_told_with_what_they_risk() {
        let owned = |words: [&str; 2]| words.map(str::to_owned).to_vec();
        let found = FoundLimit {
            limit: "disk".to_owned(),
            title: "disk".to_owned(),
            why: String::new(),
            natural: true,
            share: 0.5,
            levers: owned(["log-flush=os", "redo-log-large"]),
            lever_ids: owned(["log-flush-os", "redo-log-large"]),
            lever_risks: owned(["durability", ""]),
        };
        assert_eq!(
            found.levers_with_risks(),
            ["log-flush=os (risk: durability)", "redo-log-large"]
        );
        // Nobody looked them up.
        let unknown = FoundLimit {
            lever_risks: Vec::new(),
            ..found
        };
        assert_eq!(
            unknown.levers_with_risks(),
            ["log-flush=os", "redo-log-large"]
        );
    }

    #[test]
    fn planted_causes_come_first() {
        let busy = || seen(&["do_command", "JOIN::exec"], "sql", false, 1.0);
        let table = vec![
            busy(),
            seen(
                &[
                    "open_table",
                    "MDL_context::acquire_lock",
                    "MDL_wait::timed_wait",
                ],
                "locks",
                true,
                9.0,
            ),
        ];
        assert_eq!(first(table, &[])[0], "metadata-locks");
        // A thread that sleeps until its commit is durable waits for the disk, and for no other thread.
        let commit = vec![
            busy(),
            seen(
                &[
                    "ha_commit_trans",
                    "log_write_up_to",
                    "group_commit_lock::acquire",
                    "pthread_cond_wait",
                ],
                "locks",
                true,
                9.0,
            ),
        ];
        assert_eq!(first(commit, &[]), ["disk"]);
        // MariaDB's sleeps where its answer would be sent; one that waits for a client to read is no disk's.
        let sending = |innermost: &'static str, layer| {
            let functions = ["net_send_ok", "net_real_write", innermost];
            vec![busy(), seen(&functions, layer, true, 9.0)]
        };
        assert_eq!(first(sending("pthread_cond_wait", "locks"), &[]), ["disk"]);
        assert_eq!(
            first(sending("vio_write", "network-write"), &[]),
            ["network"]
        );
        let memory = vec![
            busy(),
            seen(&["alloc_root", "malloc"], "memory", false, 2.0),
        ];
        assert_eq!(first(memory, &[])[0], "memory");
        let tables = || {
            vec![
                busy(),
                seen(
                    &["open_tables", "open_table_from_share"],
                    "table",
                    false,
                    3.0,
                ),
            ]
        };
        assert_eq!(first(tables(), &[("Opened_tables", 0.9)])[0], "table-cache");
        assert_ne!(first(tables(), &[("Opened_tables", 0.0)])[0], "table-cache");
    }
}
