//! What a duel is asked to do and what it answers: two plain documents.

use niagara_load::{StepTime, WorkloadSpec, counted};
use niagara_model::{DuelRecord, Phase, ReplayRecord, ResourceCounters, SliceRecord};
use niagara_server::TlsSession;
use niagara_stats::InterferenceSlope;
use serde::{Deserialize, Serialize};

use crate::variants::variant::Variant;

/// The load that every side of a study gets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Schema, data, transactions and their mix.
    pub workload: WorkloadSpec,
    /// Storage engine of the tables.
    pub engine: String,
    /// Connections per server: `--threads`, unless a capture or a job has its own number (`load_of`).
    pub threads: u32,
}

impl Load {
    /// One connection on a table of ten rows.
    #[cfg(test)]
    pub(crate) fn of_ten_rows() -> Self {
        Self {
            workload: WorkloadSpec::of(niagara_load::Sysbench {
                table_size: 10,
                ..niagara_load::Sysbench::default()
            }),
            engine: "InnoDB".to_owned(),
            threads: 1,
        }
    }

    /// Names the data that this load finds: equal keys, equal tables. The mix of statements does
    /// not matter to it, nor does the engine, which an image is keyed by anyway.
    pub(crate) fn dataset_key(&self) -> String {
        self.workload.data_key(self.threads)
    }

    /// Statements that read every table of the workload and every index of them once, in `database`.
    pub(crate) fn read_all_statements(&self, database: &str) -> Vec<String> {
        self.workload.read_all_statements(database, self.threads)
    }

    /// The load as a variant gets it: with tables in the variant's engine.
    pub fn on(&self, variant: &Variant) -> Load {
        Load {
            engine: self.engine_of(variant).to_owned(),
            ..self.clone()
        }
    }

    /// Storage engine of the tables that a variant gets.
    pub(crate) fn engine_of<'a>(&'a self, variant: &'a Variant) -> &'a str {
        variant.engine.as_deref().unwrap_or(&self.engine)
    }

    /// Whether there are conditions that its data must meet after any load: `tpcc` on an engine with transactions.
    pub(crate) fn has_conditions(&self, variant: &Variant) -> bool {
        let engine = self.engine_of(variant).to_ascii_lowercase();
        self.workload.has_conditions() && ["innodb", "rocksdb"].contains(&engine.as_str())
    }

    /// One line for people: `oltp_read_only, 1 table of 100000 rows, InnoDB, 32 threads`.
    pub fn one_line(&self) -> String {
        let name = match self.workload.title() {
            Some(title) => format!("{} ({title})", self.workload.name()),
            None => self.workload.name().to_owned(),
        };
        // A capture has no threads: its sessions take turns on connections.
        let threads = match self.workload.capture() {
            Some(_) => format!("{} at a time", counted(self.threads.into(), "connection")),
            None => counted(self.threads.into(), "thread"),
        };
        format!(
            "{name}, {}, {}, {threads}",
            self.workload.data_in_words(self.threads),
            self.engine,
        )
    }
}

/// What a duel (or pair) is made of, and which of it counts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct DuelSettings {
    /// Couples of slices in a duel; windows per run in a pair.
    pub couples: u32,
    /// Counted seconds of a slice (of a window, in a pair).
    pub slice_seconds: f64,
    /// Seconds of load before a slice counts.
    pub ramp_seconds: f64,
    /// Seconds of load on each side before the first slice.
    pub warm_up_seconds: f64,
    /// Share of the machine's CPU time, 0 to 1, taken by others (processes, the hypervisor) from both slices of a couple
    /// together, at which the couple weighs half; from 1 on all couples weigh the same and nothing is adjusted.
    pub disturbance: f64,
}

/// How two variants are set against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Both alive, load alternating between them, the idle one frozen.
    Duel,
    /// One after the other, each from a fresh start, order by a fair coin.
    Pair,
    /// The protocol of 2008: five runs of A, then five of B, best and worst dropped, no interval.
    Trimmed,
    /// One variant alone, from a fresh start: nothing is compared. A sweep's, where variants are not two.
    Solo,
}

impl Protocol {
    /// What it counts: `duel`, `pair`.
    pub fn unit(self) -> &'static str {
        niagara_model::unit(&self.to_string())
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Duel => "duel",
            Self::Pair => "pair",
            Self::Trimmed => "trimmed",
            Self::Solo => "solo",
        })
    }
}

/// The unit of work: everything that is needed to run one duel, here or elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DuelSpec {
    /// Position in its study, from 0.
    pub seq: u32,
    /// What it is for.
    pub phase: Phase,
    /// The lever of a claim, else empty.
    pub subject: String,
    /// A and B.
    pub variants: [Variant; 2],
    /// The load for both.
    pub load: Load,
    /// Slices and warm-up.
    pub duel_settings: DuelSettings,
    /// Seed of the order within couples and of the load.
    pub seed: u64,
    /// What the study's duels before it tell of throughput and CPU time taken by others.
    pub interference_slope: InterferenceSlope,
    /// Transactions per second that arrive in a slice, over all connections; `None`: closed load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
}

impl DuelSettings {
    /// The share at which a couple weighs half, as the statistics take it.
    pub(crate) fn half_weight(&self) -> f64 {
        if self.disturbance < 1.0 {
            self.disturbance
        } else {
            f64::INFINITY
        }
    }
}

/// What came of a duel.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct DuelOutcome {
    /// The result.
    pub record: DuelRecord,
    /// Every slice behind it.
    pub slices: Vec<SliceRecord>,
    /// Throughput per interval of each side's warm-up, transactions per second.
    pub warm_up_curves: [Vec<f64>; 2],
    /// By side: what was counted over its slices; of a sweep's duels alone.
    pub counters: Vec<(u8, ResourceCounters)>,
    /// Of a capture: what its replay did, by side.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replays: Vec<(u8, ReplayRecord)>,
    /// Of a job: how long each side's steps took.
    pub steps: [Vec<StepTime>; 2],
    /// How each side's load was encrypted, where it was.
    pub encryption: [Option<TlsSession>; 2],
}
