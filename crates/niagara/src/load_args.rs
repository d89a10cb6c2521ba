//! The options of a load, and the load that they describe.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use niagara_error::bail;
use niagara_lab::{Load, Origin, load_of};
use niagara_load::{
    WorkloadBuilder, WorkloadKind, WorkloadSpec, is_workload_file, with_replay_options,
    workload_of_file,
};
use niagara_origin::pack::PACK_ENDING;

use crate::shared_args::assignment;

/// The workload when none is named.
const DEFAULT_WORKLOAD: &str = "oltp_read_only";

/// Whether a word names a pack.
pub fn is_pack(word: &str) -> bool {
    word.ends_with(PACK_ENDING)
}

/// A workload as the command line names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkloadArg {
    /// One that is built in.
    Named(WorkloadKind),
    /// The file of one's own.
    File(PathBuf),
}

impl Default for WorkloadArg {
    fn default() -> Self {
        let kind = WorkloadKind::all().find(|kind| kind.to_string() == DEFAULT_WORKLOAD);
        Self::Named(kind.expect("a workload that is built in"))
    }
}

impl std::fmt::Display for WorkloadArg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(kind) => kind.fmt(f),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl std::str::FromStr for WorkloadArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if is_workload_file(text) || is_pack(text) {
            return Ok(Self::File(text.into()));
        }
        text.parse().map(Self::Named).map_err(|error| {
            format!("{error}; name a file of your own by its path: ./{text}.capture for your captured traffic (docs/capture.md), \
                     ./{text}.toml for a workload of SQL, ./{text}.lua for a script for sysbench")
        })
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArgs {
    /// A name (docs/workloads.md), or a file: shop.capture, ./shop.toml [default: oltp_read_only]
    ///
    /// sysbench's: oltp_read_only, oltp_read_write, oltp_write_only, oltp_point_select, oltp_update_index, oltp_update_non_index,
    /// oltp_insert, oltp_delete, bulk_insert, select_random_points, select_random_ranges. Others: tpcc, commit, report.
    /// Files: a capture of your traffic (docs/replay.md), your own workload (docs/custom-workload.md), a Lua script for sysbench
    /// (docs/scripts.md).
    #[arg(long, visible_alias = "capture", value_name = "WORKLOAD")]
    pub workload: Option<WorkloadArg>,
    /// Connections
    ///
    /// A capture brings its own number, and a job has one.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=16384))]
    pub threads: u32,
    #[command(flatten)]
    pub data: DataArgs,
    /// Order of a capture's transactions across sessions [default: normal]
    ///
    /// normal: a transaction begins after those that had changed data and had ended before it. strict: after all that had
    /// ended before it. none: only the order within a session is kept.
    #[arg(long, value_name = "ORDER", value_parser = ["normal", "none", "strict"], hide_short_help = true)]
    pub commit_order: Option<String>,
    /// Replay a capture at this multiple of its speed [default: as fast as its order allows]
    #[arg(long, value_name = "TIMES", hide_short_help = true)]
    pub speed: Option<String>,
    /// The workload whose tables a capture needs
    #[arg(long, value_name = "WORKLOAD")]
    pub tables_of: Option<String>,
}

/// What a workload's tables are, and its further options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub struct DataArgs {
    /// Tables [default: 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub tables: Option<u32>,
    /// Rows in each table [default: 100000]
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub table_size: Option<u64>,
    /// Warehouses of tpcc [default: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000), hide_short_help = true)]
    pub warehouses: Option<u32>,
    /// Storage engine of the tables
    #[arg(long, default_value = "InnoDB", hide_short_help = true)]
    pub engine: String,
    /// An option of the workload: point_selects=5; may be repeated
    ///
    /// Options have sysbench's names. A workload's file has the numbers of its [scale].
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
}

impl WorkloadArg {
    /// The workload, nothing set yet.
    ///
    /// # Errors
    /// A file that cannot be read, or has a mistake.
    pub fn spec(&self) -> Result<WorkloadSpec> {
        match self {
            Self::Named(kind) => Ok(WorkloadSpec::of(*kind)),
            Self::File(path) => Ok(workload_of_file(path)?),
        }
    }
}

impl LoadArgs {
    /// The workload that was named, or the default one.
    pub fn workload(&self) -> WorkloadArg {
        self.workload.clone().unwrap_or_default()
    }

    /// The load: the workload on this many connections; --set has the last word.
    ///
    /// # Errors
    /// An option that the workload does not have, a value that it does not take; a mistake in its file.
    pub fn load(&self) -> Result<Load> {
        let named = self.workload().spec()?;
        let of_capture = [
            ("commit_order", &self.commit_order),
            ("speed", &self.speed),
            ("tables_of", &self.tables_of),
        ];
        let of_capture: Vec<(&str, &str)> = of_capture
            .iter()
            .filter_map(|(name, value)| Some((*name, value.as_deref()?)))
            .collect();
        if let (None, Some((name, _))) = (named.capture(), of_capture.first()) {
            bail!(
                "--{} is for captures, and {} is none", name.replace('_', "-"), named.spelling();
                remedy: "leave it out, or name a capture: --workload shop.capture"
            );
        }
        let named = with_replay_options(named, &of_capture)?;
        self.data.load_of(named, self.threads)
    }
}

/// Refuses a load without tables before anything is fetched or loaded for it.
///
/// # Errors
/// A capture without data: neither the user's own nor those of a workload.
pub fn check_data(workload: &WorkloadSpec, origin: &Origin) -> Result<()> {
    if origin.data.is_none() && workload.needs_data() {
        bail!(
            "{} is a capture, which has no data of its own", workload.spelling();
            remedy: "say where the data are with --data; where the capture was taken on the tables of one of Niagara's \
             workloads, name that with --tables-of"
        );
    }
    Ok(())
}

impl DataArgs {
    /// The load: `named` with these tables on this many connections; --set has the last word.
    ///
    /// # Errors
    /// An option that the workload does not have, a value that it does not take.
    pub fn load_of(&self, named: WorkloadSpec, threads: u32) -> Result<Load> {
        let name = named.spelling().to_owned();
        let mut base = WorkloadBuilder::from(named);
        // A workload's own defaults are not the command line's.
        for (option, value, usual) in [
            ("tables", self.tables.map(u64::from), 1),
            ("table_size", self.table_size, 100_000),
            ("warehouses", self.warehouses.map(u64::from), 5),
        ] {
            let is_taken = base.set(option, &value.unwrap_or(usual).to_string())?;
            if value.is_some() && !is_taken {
                bail!(
                    "{name} takes no --{}", option.replace('_', "-");
                    remedy: "leave it out; a workload's file has numbers of its own (--set NAME=VALUE)"
                );
            }
        }
        let set = self.set.iter();
        let options = set.map(|(name, value)| (name.as_str(), value.as_str()));
        load_of(base.build()?, options, &self.engine, threads)
    }
}
