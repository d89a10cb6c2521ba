//! What a file of docs/results/*.json holds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// A published result: the runs that belong to one question, and what they found.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// the schema beside the records, "schema.json"
    #[serde(rename = "$schema")]
    pub schema: String,
    /// the file's name without its ending
    pub id: String,
    /// what was asked, as a heading
    pub title: String,
    /// the study's file, from the root of the repository
    pub study: Option<String>,
    /// what the study of 2008 to 2010 published, where one is repeated
    pub published: Option<String>,
    /// the finding in one sentence, with its figure
    pub finding: String,
    /// sentences above the runs: what was found, and what it means
    #[serde(default)]
    pub found: Vec<String>,
    /// sentences: what no run here measured
    #[serde(default)]
    pub not_measured: Vec<String>,
    pub runs: Vec<Run>,
}

/// Commands that were run under the same conditions, and their figures.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// heading of the run, which links name
    pub title: String,
    /// the page has its title and finding alone, or counts it where nothing was found; the rest is in the record
    #[serde(default)]
    pub only_in_record: bool,
    /// day on which the figures were added to the repository, as in "2026-11-20"
    pub date: Option<String>,
    /// as they were typed; `…` stands for each workload of the rows
    #[serde(default)]
    pub commands: Vec<String>,
    /// seeds of the run, which repeat its random choices
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// releases and builds
    #[serde(default)]
    pub servers: Vec<String>,
    /// settings of the server that the ratios are over
    pub baseline: Option<String>,
    /// workloads, as `--workload` has them
    #[serde(default)]
    pub workloads: Vec<String>,
    /// rows or warehouses, and how they relate to the buffer pool
    pub data: Option<String>,
    /// connections of the load
    #[serde(default)]
    pub threads: Vec<u32>,
    /// how the load connects: "TCP", "Unix socket"
    pub transport: Option<String>,
    pub machine: Option<Machine>,
    /// who else used the machine: "quiet", "others took 2 to 5 % of the CPUs"
    pub conditions: Option<String>,
    /// how long it took, and how much of that was load
    pub time: Option<String>,
    /// standard deviation of one duel's ratio
    pub spread: Option<String>,
    #[serde(default)]
    pub tables: Vec<Table>,
    /// sentences: what was found, and what it means
    #[serde(default)]
    pub found: Vec<String>,
    /// sentences: method, checks, exceptions, figures without a table; the page leaves them to the record
    #[serde(default)]
    pub notes: Vec<String>,
    /// sentences: what this run does not show
    #[serde(default)]
    pub not_measured: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// the processor, as far as it was noted
    pub cpu: String,
    /// CPUs that the system sees
    pub cpus: u32,
    pub virtual_machine: bool,
    /// as noted, "24 GiB"
    pub memory: Option<String>,
    pub system: Option<String>,
    pub kernel: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// caption
    pub title: Option<String>,
    /// what a row's name is: "workload", "rung"
    pub rows_are: String,
    /// what ratios are over
    pub over: Option<String>,
    /// confidence of the intervals, in per cent, where it is not 95 for each
    pub confidence: Option<String>,
    /// names of the figures, in the order of the page
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
    /// the page has its title alone, the rows are in the record
    #[serde(default)]
    pub only_in_record: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    pub name: String,
    /// "faster", "slower", "undetected", "kept", …
    pub verdict: Option<String>,
    /// duels or starts behind the row
    pub n: Option<u32>,
    pub note: Option<String>,
    /// the settings behind the name, which the page leaves to the record
    pub change: Option<String>,
    #[serde(default)]
    pub figures: BTreeMap<String, Figure>,
}

/// One figure: a ratio or a value, with its interval where it has one, or a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// throughput, time or cost of one over the other
    pub ratio: Option<f64>,
    /// an absolute figure
    pub value: Option<f64>,
    /// lower end of the interval
    pub low: Option<f64>,
    /// upper end of the interval
    pub high: Option<f64>,
    /// unit of an absolute figure: "ms", "%"
    pub unit: Option<String>,
    /// digits behind the point that the run printed
    #[serde(default)]
    pub decimals: usize,
    /// what stands there instead of a figure, or behind it
    pub text: Option<String>,
}
