//! What a profile says: plain data, as it is stored and printed.

use std::collections::BTreeMap;

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::folded::{Folded, Place};
use crate::limit::FoundLimit;
use crate::live::LiveServer;
use crate::locks::{LockWaits, ObjectWaits};
use crate::symbols::ModuleSymbols;

/// Where the time of one variant under one load goes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// What was profiled: `mariadb-10.11 + jemalloc`.
    pub variant: String,
    /// What the server calls itself.
    pub server_version: String,
    /// The load, in one line.
    pub workload: String,
    /// CPUs of the machine.
    pub cpus: usize,
    /// The running server that was observed; none where Niagara started one for it.
    pub live: Option<LiveServer>,
    /// Queries per second while nothing was observed: median of the slices. Of a live server: on average.
    pub queries_per_second: Option<f64>,
    /// Transactions per second while nothing was observed: median of the slices. Not known of a live server.
    pub transactions_per_second: Option<f64>,
    /// CPU time of the server per query while nothing was observed, in microseconds.
    pub cpu_us_per_query: Option<f64>,
    /// What limits, the strongest first.
    pub limits: Vec<FoundLimit>,
    /// What the threads that serve the load did with their time.
    pub time: Option<ThreadTime>,
    /// What ran.
    pub cpu: Option<Cpu>,
    /// What threads waited for.
    pub off_cpu: Option<Waiting>,
    /// System calls.
    pub syscalls: Option<Vec<Syscall>>,
    /// The server's own locks, and waits for rows and tables.
    pub locks: Option<Locks>,
    /// Calls of the allocator.
    pub allocations: Option<Allocations>,
    /// What each view cost.
    pub costs: Vec<Cost>,
    /// How much each of the server's status counters grew per query.
    pub status_per_query: BTreeMap<String, f64>,
    /// Statements of a captured load that read far more than they return, by their share.
    pub statements: Vec<HeavyStatement>,
    /// What could not be seen here, and how to see it.
    pub missing: Vec<Explanation>,
    /// Where the names of functions came from.
    pub symbols: Vec<ModuleSymbols>,
    /// Stacks of what ran; they take more room than all the rest.
    #[serde(skip)]
    pub cpu_stacks: Folded,
    /// Stacks of what was waited for, in seconds.
    #[serde(skip)]
    pub off_cpu_stacks: Folded,
}

/// A statement that reads far more rows than it returns, as the capture has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HeavyStatement {
    /// The digest's number.
    pub digest: String,
    /// Its text, without literals.
    pub text: String,
    /// Its share of the captured time, 0 to 1.
    pub share: f64,
    /// Rows that an execution reads.
    pub rows_examined: f64,
    /// Rows that an execution returns or changes.
    pub rows_returned: f64,
}

/// A profile with its stacks, as it is kept among results.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StoredProfile {
    profile: Profile,
    cpu_stacks: Folded,
    off_cpu_stacks: Folded,
}

impl From<&Profile> for StoredProfile {
    fn from(profile: &Profile) -> StoredProfile {
        StoredProfile {
            profile: profile.clone(),
            cpu_stacks: profile.cpu_stacks.clone(),
            off_cpu_stacks: profile.off_cpu_stacks.clone(),
        }
    }
}

impl From<StoredProfile> for Profile {
    fn from(stored: StoredProfile) -> Profile {
        Profile {
            cpu_stacks: stored.cpu_stacks,
            off_cpu_stacks: stored.off_cpu_stacks,
            ..stored.profile
        }
    }
}

/// The time of the threads that serve the load, divided: shares, which add up to 1.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct ThreadTime {
    /// On a CPU.
    pub running: f64,
    /// Ready to run, and waiting for a CPU.
    pub ready: f64,
    /// Waiting for the client's next statement.
    pub client: f64,
    /// Waiting for a lock of the server.
    pub locks: f64,
    /// Waiting for anything else: files, memory, timers.
    pub other: f64,
}

/// What ran.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Cpu {
    /// Samples of the server, with those that there was no room for.
    pub samples: u64,
    /// Samples per second of a CPU.
    pub frequency: u64,
    /// Shares of the machine's CPU time: server, load generator, network interrupts, other interrupts, others, idle. Beside a live
    /// server Niagara itself stands for the load generator. Empty where the machine cannot be seen whole.
    pub machine: BTreeMap<String, f64>,
    /// The server's CPU time by layer.
    pub layers: Vec<LayerShare>,
    /// The hottest functions.
    pub functions: Vec<FunctionShare>,
    /// Share of the server's own frames that have a function's name.
    pub named_share: Option<f64>,
    /// The part of it whose names were told by their neighbours (function-names/), not by a symbol table.
    pub inferred_share: Option<f64>,
    /// Share of stacks whose first frame was not reached.
    pub truncated_share: f64,
    /// The kernel's part was not seen: all of this is of the server's own code alone.
    pub user_only: bool,
}

/// One layer's part.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LayerShare {
    /// The layer.
    pub layer: String,
    /// For people.
    pub title: String,
    /// What belongs to it.
    pub what: String,
    /// Share, 0 to 1.
    pub share: f64,
    /// Microseconds per query.
    pub us_per_query: Option<f64>,
}

/// One function's part.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct FunctionShare {
    /// Its name.
    pub name: String,
    /// Where its code is.
    pub place: Place,
    /// Share of the samples in it.
    pub own: f64,
    /// Share of the samples in it or in what it calls.
    pub with_callees: f64,
}

/// What threads waited for.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Waiting {
    /// Threads that ran under the load, and how many were observed at a time.
    pub threads: (usize, usize),
    /// Those of them that serve no connection, and are left out.
    pub background: usize,
    /// How many threads had their turn.
    pub had_turn: usize,
    /// Waits per query.
    pub waits_per_query: Option<f64>,
    /// Times a thread was taken off its CPU, per query.
    pub preempted_per_query: Option<f64>,
    /// Waiting time by what for, as shares of the threads' time.
    pub reasons: Vec<LayerShare>,
    /// Where threads sleep in a lock: the innermost functions of the server on the way to it.
    pub sites: Vec<Site>,
    /// Share of stacks whose first frame was not reached.
    pub truncated_share: f64,
}

/// A place in the server.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Site {
    /// Functions, innermost first.
    pub functions: Vec<String>,
    /// Share of the threads' time.
    pub share: f64,
}

/// System calls of one kind.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Syscall {
    /// Its name.
    pub name: String,
    /// Calls per second of all threads that serve the load.
    pub per_second: f64,
    /// Share of these threads' time within it, waiting included.
    pub share: f64,
    /// Calls per query.
    pub per_query: Option<f64>,
    /// Microseconds within it per query, waiting included.
    pub us_per_query: Option<f64>,
    /// Share that returned an error.
    pub errors: f64,
    /// Bytes moved per call, for those that move some.
    pub bytes_per_call: Option<f64>,
}

/// Locks.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Locks {
    /// By the server's own instruments.
    pub named: Vec<LockWaits>,
    /// How many connections were observed at a time, of how many.
    pub threads: (usize, usize),
    /// Waits for rows and tables, seen by sampling.
    pub objects: Vec<ObjectWaits>,
    /// Waits for row locks per query, by the engine's counters.
    pub row_waits_per_query: Option<f64>,
    /// Average wait for a row lock, in microseconds.
    pub row_wait_us: f64,
}

/// Calls of the allocator.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Allocations {
    /// Allocations per query: `malloc`, `calloc`, `realloc`, `operator new` and their kin.
    pub calls_per_query: f64,
    /// Frees per query.
    pub frees_per_query: f64,
    /// Bytes asked for per query.
    pub bytes_per_query: f64,
    /// Stacks observed.
    pub sampled: u64,
    /// Share of allocations that the same thread frees before its next statement arrives, of those whose end was seen.
    pub paired_share: f64,
    /// Share of allocations of which nobody saw whether they were freed in time: their thread made too many others meanwhile.
    pub unknown_share: f64,
    /// Share of the observed allocations whose stack could not be copied, so that nobody knows who made them.
    pub stackless_share: f64,
    /// Where they are made, those with the most pairs first.
    pub sites: Vec<AllocationSite>,
}

/// A place that allocates.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct AllocationSite {
    /// Functions, the one that asked the allocator first.
    pub functions: Vec<String>,
    /// Calls per query.
    pub calls_per_query: f64,
    /// Bytes per query.
    pub bytes_per_query: f64,
    /// Of the calls, those whose memory the same thread freed within the same query, per query; calls that were lost sight of
    /// are taken to end as the others of this place do.
    pub pairs_per_query: f64,
    /// Share of all calls.
    pub share: f64,
}

/// What looking cost.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// The view.
    pub view: String,
    /// What it was compared with: `without`, in couples of slices.
    pub couples: usize,
    /// Throughput with the view over throughput without, and its 95 % interval.
    pub ratio: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// CPU time of the server per query with the view over the same without, and the ends of its 95 % interval.
    pub cpu: Option<[f64; 3]>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::Frame;

    #[test]
    fn a_profile_is_read_as_it_was_stored() {
        let frame = |name: &str, place| Frame {
            name: name.to_owned(),
            place,
            named: true,
            inferred: name == "recv",
        };
        let mut profile = Profile {
            variant: "base".to_owned(),
            ..Profile::default()
        };
        let stack = [frame("main", Place::Server), frame("recv", Place::Kernel)];
        profile.cpu_stacks.add(stack.clone(), 3.0);
        profile.cpu_stacks.add(stack[..1].to_vec(), 1.0);
        profile.off_cpu_stacks.add(stack, 0.25);
        let text = toml::to_string(&StoredProfile::from(&profile)).unwrap();
        let again = Profile::from(toml::from_str::<StoredProfile>(&text).unwrap());
        assert_eq!(again.variant, "base");
        for (stored, read) in [
            (&profile.cpu_stacks, &again.cpu_stacks),
            (&profile.off_cpu_stacks, &again.off_cpu_stacks),
        ] {
            let stacks = |folded: &Folded| -> Vec<_> {
                let stacks = folded.stacks();
                stacks
                    .map(|(frames, weight)| {
                        (frames.into_iter().cloned().collect::<Vec<_>>(), weight)
                    })
                    .collect()
            };
            assert_eq!(stacks(stored), stacks(read));
        }
        assert_eq!(
            again.cpu_stacks.inferred_share(),
            profile.cpu_stacks.inferred_share()
        );
    }
}
