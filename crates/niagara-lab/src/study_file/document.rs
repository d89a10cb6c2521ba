//! The format of a study file: its keys, what they are for (messages and editors show these comments) and where they stand.

use std::collections::BTreeMap;

use niagara_build::Recipe;
use niagara_server::ProcessSettings;
use niagara_toml::{At, Scalar, Text};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Value;

use super::quantities::{DurationText, Probability, ShareText, ThreadCounts};
use crate::asking::question::StudyKind;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Document {
    /// What is asked: is B faster than A (compare), what does each step add (ladder), which combination is best (matrix), where
    /// does it stop scaling (sweep)
    pub kind: At<StudyKind>,
    /// For people
    pub title: Text,
    /// What was asked then, and what came out
    pub asked: Text,
    /// What has changed since
    pub changed: Text,
    /// What is measured now
    pub measured: Text,
    /// Where the published figures come from
    pub source: Option<Text>,
    /// The published table, as text: shown beside the results
    pub published: Option<Text>,
    /// The server as packaged: a name of `niagara server list`, or a path; mariadb-10.11 unless given
    pub server: Option<At<Text>>,
    /// Storage engine of the tables: InnoDB, Aria, MyISAM, RocksDB
    pub engine: Option<At<Text>>,
    /// The load
    pub workload: Option<At<Workload>>,
    /// Several loads: of a matrix
    #[schemars(length(min = 1))]
    pub workloads: Option<At<Vec<At<Workload>>>>,
    /// Connections: 32, [1, 2, 4] or "1..256" (doubling); a list is for matrix and sweep; a job has one
    pub threads: Option<At<ThreadCounts>>,
    /// Variants by a name of yours, to be spoken of in a, b, start and sweep
    #[serde(default)]
    pub variants: BTreeMap<String, NamedVariant>,
    /// compare: the baseline, a variant's name or an expression such as base
    pub a: Option<At<Text>>,
    /// compare: the candidate
    pub b: Option<At<Text>>,
    /// ladder, matrix: what everything starts from; base unless given
    pub start: Option<At<Text>>,
    /// ladder: the steps in order, each kept when proven
    #[schemars(length(min = 1))]
    pub rungs: Option<At<Vec<Rung>>>,
    /// matrix: what is combined with what
    #[schemars(length(min = 1))]
    pub axes: Option<At<Vec<Axis>>>,
    /// matrix: every combination of levels (all), or one axis at a time beside the baseline (each)
    pub combine: Option<At<Combine>>,
    /// matrix: variants that are no combination of levels, a row each against the same baseline: names or expressions; "base" is
    /// the package
    #[schemars(length(min = 1))]
    pub beside: Option<At<Vec<At<Text>>>>,
    /// sweep: the variants, names or expressions; base unless given
    pub sweep: Option<At<Vec<At<Text>>>>,
    /// compare, ladder, matrix: how variants meet (docs/methodology.md); duel unless given, pair of jobs; trimmed is for compare
    /// alone
    pub protocol: Option<At<Meeting>>,
    /// compare: what decides; throughput unless given. p95 and p99 are latencies at a fixed rate of arrivals
    #[schemars(extend("enum" = niagara_model::Goal::ALL.map(niagara_model::Goal::name)))]
    pub goal: Option<At<String>>,
    /// compare by p95 or p99: transactions per second that arrive ("2000"), or a share of what A does under closed load ("70%",
    /// unless given)
    pub rate: Option<At<Text>>,
    /// Error probability; 0.05 unless given
    pub alpha: Option<Probability>,
    /// Smallest gain that is worth the trouble; 0.5% unless given
    pub min_effect: Option<ShareText>,
    /// Seed of every random choice; a fresh one unless given
    #[schemars(range(max = 9_223_372_036_854_775_807_u64))]
    pub seed: Option<u64>,
    /// Time for all measurements, excluding setup; 10m unless given
    pub budget: Option<DurationText>,
    /// Most duels for one question (fresh starts at one thread count, in a sweep)
    #[schemars(range(min = 2, max = 128))]
    pub duels: Option<u64>,
    /// Couples of slices in a duel (windows of a run)
    #[schemars(range(min = 2, max = 200))]
    pub couples: Option<u64>,
    /// Counted time of a slice of load
    pub slice: Option<DurationText>,
    /// Longest warm-up of a side; 3s unless given
    pub warm_up: Option<DurationText>,
    /// Share of the CPUs, taken by others, at which a couple of slices weighs half; 5% unless given
    pub disturbance: Option<ShareText>,
    /// The host that the load comes from, over ssh (docs/two-machines.md): a name, user@name or an address; this one unless given
    pub client_host: Option<At<Text>>,
    /// Your server's option file as the start, by its path from this file's folder (docs/own-server.md)
    pub config_file: Option<At<Text>>,
    /// Your data in place of the workload's own: a data directory, a prepared backup, a dump, by its path from this file's folder
    pub data: Option<At<Text>>,
    /// The database of the data that the load is in; the only one unless given
    pub schema: Option<At<Text>>,
    /// Memory of the production machine, as in 64G: it bounds the sizes that are tried
    pub memory: Option<At<Text>>,
    /// CPUs of the production machine
    #[schemars(range(min = 1, max = 4096))]
    pub cpus: Option<u32>,
    /// ladder, matrix: measure a lever that changes nothing and one known to slow the server first; true unless given
    pub controls: Option<At<bool>>,
    /// What differs between the small and the original size
    #[serde(default)]
    pub size: Sizes,
}

/// How levels of axes are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Combine {
    All,
    Each,
}

/// How variants meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Meeting {
    Duel,
    Pair,
    Trimmed,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sizes {
    /// A laptop finishes it
    pub small: Option<SizeEntry>,
    /// True to the original
    pub original: Option<SizeEntry>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SizeEntry {
    /// How this size differs from the other, for people
    pub note: Option<Text>,
    /// Connections in this size
    pub threads: Option<At<ThreadCounts>>,
    /// Time for all measurements in this size, excluding setup
    pub budget: Option<DurationText>,
    /// Most duels for one question (fresh starts at one thread count, in a sweep)
    #[schemars(range(min = 2, max = 128))]
    pub duels: Option<u64>,
    /// Couples of slices in a duel (windows of a run)
    #[schemars(range(min = 2, max = 200))]
    pub couples: Option<u64>,
    /// Counted time of a slice of load
    pub slice: Option<DurationText>,
    /// Longest warm-up of a side
    pub warm_up: Option<DurationText>,
    /// matrix: what this size measures, levels by axis: { compiler = ["clang"] }. Of an axis that is named the baseline and these
    /// levels; the report lists the other combinations as not measured
    #[serde(default)]
    pub part: BTreeMap<String, At<LevelNames>>,
    /// Options of every workload that has them: table_size = 10000
    #[serde(default)]
    pub options: BTreeMap<String, At<Scalar>>,
}

/// Levels of an axis, by their names
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct LevelNames(#[schemars(length(min = 1))] pub Vec<At<Text>>);

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Workload {
    /// A workload that Niagara knows, or the path of one of your own, from this file's folder: ./shop.toml
    pub name: At<Text>,
    /// What it is called in the report, without a comma; its name unless given
    pub title: Option<At<Text>>,
    /// Options by sysbench's names: table_size = 100000, point_selects = 5; of a workload from a file the numbers of its [scale]
    #[serde(default)]
    pub options: BTreeMap<String, At<Scalar>>,
    /// Builds were trained with it: its results are shown apart from those of held-out workloads
    #[serde(default)]
    pub trained: bool,
}

/// A table that changes a server: keys of its own, and those that all such tables have.
macro_rules! changes {
    ($(#[$about:meta])* $name:ident { $($own:tt)* }) => {
        $(#[$about])*
        #[derive(Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $($own)*
            /// How the server is built (docs/builds.md)
            #[serde(default)]
            #[schemars(with = "Recipe")]
            pub build: BTreeMap<String, At<Value>>,
            /// Levers in order, as on the command line: "malloc=jemalloc", "transport=unix", "cfg.innodb_io_capacity=2000"
            #[serde(default)]
            pub levers: Vec<At<Text>>,
            /// Server variables: innodb_io_capacity = 2000; true is ON, an empty text is a flag
            #[serde(default)]
            pub config: BTreeMap<String, At<Scalar>>,
            /// What surrounds the server's process
            #[serde(default)]
            pub runtime: Runtime,
            /// Statements that change the data, executed once on a copy of them: ["ALTER TABLE …"], or files: ["./add-index.sql"]
            #[serde(default)]
            pub sql: Vec<At<Text>>,
            /// Statements in place of captured ones: a file of them, by its path from this file's folder (docs/replay.md)
            pub rewrite: Option<At<Text>>,
        }

        impl $name {
            /// The keys that all such tables have.
            pub(crate) fn parts(&self) -> Parts<'_> {
                Parts {
                    build: &self.build,
                    levers: &self.levers,
                    config: &self.config,
                    runtime: &self.runtime,
                    sql: &self.sql,
                    rewrite: self.rewrite.as_ref(),
                }
            }
        }
    };
}

/// The keys that variants, rungs and levels share.
pub(crate) struct Parts<'a> {
    pub build: &'a BTreeMap<String, At<Value>>,
    pub levers: &'a [At<Text>],
    pub config: &'a BTreeMap<String, At<Scalar>>,
    pub runtime: &'a Runtime,
    pub sql: &'a [At<Text>],
    pub rewrite: Option<&'a At<Text>>,
}

changes!(NamedVariant {
    /// For people
    pub title: Option<Text>,
    /// Another server than the study's: a name of `niagara server list`, or a path
    pub server: Option<At<Text>>,
    /// Storage engine of the tables: InnoDB, Aria, MyISAM, RocksDB
    pub engine: Option<At<Text>>,
});

changes!(Rung {
    /// What is changed, for people
    pub title: At<Text>,
    /// What the published study found, as in "+8.1 %"
    pub published: Option<Text>,
    /// What it is today, and what is expected of it
    pub why: Option<Text>,
    /// Why this rung cannot be tried today: it stays in the report with this reason
    pub cannot: Option<Text>,
});

changes!(Level {
    /// Short, for tables and charts
    pub name: At<Text>,
    /// The levels of other axes that it is combined with, by axis: { compiler = ["gcc"] }; with all unless given
    #[serde(default)]
    pub only: BTreeMap<String, At<LevelNames>>,
});

/// As a study file writes them.
pub(crate) type Runtime = ProcessSettings<At<Text>, At<Text>, At<Scalar>>;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Axis {
    /// What the levels are levels of
    pub name: At<Text>,
    /// The first is the baseline of this axis
    #[schemars(length(min = 1))]
    pub levels: Vec<Level>,
}

/// JSON Schema (draft 2020-12) of a study file for editors, indented, with a line end.
pub fn schema() -> String {
    format!("{:#}\n", niagara_toml::schema::<Document>("Niagara study"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_beside_the_studies_is_current() {
        let kept = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../studies/study.schema.json"
        );
        let text = std::fs::read_to_string(kept).expect("studies/study.schema.json");
        assert!(
            text == schema(),
            "studies/study.schema.json is not what the program makes: \
             cargo run -- study schema > studies/study.schema.json"
        );
    }
}
