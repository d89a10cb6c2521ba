//! Arguments that several commands have.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{ArgAction, Args};
use niagara_error::{Explanation, bail};
use niagara_lab::quantity::bytes;
pub use niagara_lab::quantity::duration;
use niagara_lab::quantity::share as percent;
use niagara_lab::{Load, RateChoice, RemoteShell};
use niagara_model::Goal;
use niagara_origin::configuration::ConfigSource;
use niagara_report::Format;

/// What a study's exit codes mean, for the end of its help.
pub const EXIT_CODES: &str = "Exit code: 0 on completion, whatever the verdict; 1 after an error; 2 for a wrong command line; 130 after Ctrl-C.";

/// The same of a command that comes to no verdict.
pub const PLAIN_EXIT_CODES: &str =
    "Exit code: 0 on completion; 1 after an error; 2 for a wrong command line; 130 after Ctrl-C.";

/// Help in two lengths, for commands whose options fill more than a screen: their own `--help` is off.
#[derive(Debug, Clone, Default, Args)]
pub struct HelpArgs {
    /// Print the common options
    #[arg(short = 'h', long, action = ArgAction::HelpShort, help_heading = "Help")]
    help: Option<bool>,
    /// Print all options, explained
    #[arg(long, action = ArgAction::HelpLong, help_heading = "Help")]
    help_all: Option<bool>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Slices")]
pub struct DuelArgs {
    /// Length of a slice of load [default: 100ms, 1s if the workload writes]
    ///
    /// At least 3ms for each thread. It is the length of a window in a pair (5s) and in a trimmed run (10s).
    #[arg(long, value_parser = duration, hide_short_help = true)]
    pub slice: Option<Duration>,
    /// Couples of slices in a duel [default: by the budget and this machine's noise]
    ///
    /// Usually 40, in a tuning 30; with slices above 250ms 20 and 12. In a pair: windows of a run.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=300), hide_short_help = true)]
    pub couples: Option<u32>,
    /// Share of the CPUs taken by others at which a couple weighs half; 100% weighs all alike
    #[arg(long, default_value = "5%", value_parser = percent, value_name = "SHARE", hide_short_help = true)]
    pub disturbance: f64,
    /// Longest warm-up of a side; the first duels show how much is enough
    #[arg(long, default_value = "3s", value_parser = duration, hide_short_help = true)]
    pub warm_up: Duration,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Your own server (docs/own-server.md)")]
pub struct OriginArgs {
    /// Take traffic, data, settings and machine from a pack
    ///
    /// `niagara pack` makes it. Other options have the last word. It is unpacked into the cache once.
    #[arg(long, value_name = "PACK")]
    pub pack: Option<PathBuf>,
    /// The configuration of an adopted pack.
    #[arg(skip)]
    pub packed_config: Option<ConfigSource>,
    /// Start from this option file and its includes
    ///
    /// Paths, network, keys and replication are left out and listed.
    #[arg(long, value_name = "MY.CNF")]
    pub config: Option<PathBuf>,
    /// Start from the settings of a running server: socket or HOST:PORT
    ///
    /// Nothing of that server is changed.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "config")]
    pub config_from: Option<String>,
    /// Account for --config-from [default: the user who runs this]
    ///
    /// The password is NIAGARA_PASSWORD or MYSQL_PWD, or is asked for.
    #[arg(
        long,
        value_name = "USER",
        requires = "config_from",
        hide_short_help = true
    )]
    pub config_user: Option<String>,
    /// Your data: a data directory, a prepared backup, or a dump
    ///
    /// Data directories are cold or snapshots. Backups come from mariadb-backup or xtrabackup, dumps from mydumper, mariadb-dump or
    /// mysqldump (.gz, .zst, .xz). They are copied once and cloned for every start.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// Database of the load within --data [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub schema: Option<String>,
    /// Memory of the production machine, as in 64G
    ///
    /// No larger sizes are tried.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory: Option<u64>,
    /// CPUs of the production machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub cpus: Option<u32>,
}

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Two machines")]
pub struct ClientArgs {
    /// Drive the load from this host, over ssh (docs/two-machines.md)
    ///
    /// The servers listen on the address that it reaches.
    #[arg(long, value_name = "HOST")]
    pub client_host: Option<String>,
    /// Address of this host that the client host reaches [default: that of the ssh connection]
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    pub server_address: Option<IpAddr>,
    /// Command that runs LINE on HOST, called as COMMAND HOST LINE [default: $NIAGARA_SSH, or ssh]
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    pub ssh: Option<RemoteShell>,
}

/// Where duels are run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Where {
    /// Here.
    #[default]
    Local,
    /// On nodes that Slurm hands out, of this partition.
    Slurm(Option<String>),
    /// By workers that somebody starts.
    Folder,
}

impl std::fmt::Display for Where {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Slurm(None) => f.write_str("slurm"),
            Self::Slurm(Some(partition)) => write!(f, "slurm:{partition}"),
            Self::Folder => f.write_str("folder"),
        }
    }
}

impl std::str::FromStr for Where {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            None if text == "slurm" => Ok(Self::Slurm(None)),
            None if text == "folder" => Ok(Self::Folder),
            Some(("slurm", partition)) if !partition.is_empty() => {
                Ok(Self::Slurm(Some(partition.to_owned())))
            }
            _ => Err("expected local, slurm, slurm:PARTITION or folder".to_owned()),
        }
    }
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Many machines")]
pub struct FleetArgs {
    /// Where to run: local, slurm[:PARTITION] or folder (docs/fleet.md)
    ///
    /// With folder you start the workers yourself.
    #[arg(long, value_name = "WHERE", default_value_t = Where::Local)]
    pub on: Where,
    /// Nodes that run duels at the same time [default: 4]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub nodes: Option<u32>,
    /// With --on slurm: features that a node must have, as for sbatch
    #[arg(long, value_name = "FEATURES", hide_short_help = true)]
    pub constraint: Option<String>,
    /// With --on slurm: a further option of sbatch, such as --sbatch=--account=db; may be repeated
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub sbatch: Vec<String>,
    /// With --on slurm: time limit of a job; workers that reach it are replaced [default: 2h]
    #[arg(long, value_parser = duration, value_name = "TIME", hide_short_help = true)]
    pub job_time: Option<Duration>,
    /// A folder that this host and all nodes see under the same path [default: niagara-fleet in the current folder]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub shared: Option<PathBuf>,
    /// A folder on each machine's own disk, this host's too, for servers and data [default: $NIAGARA_CACHE, or /var/tmp/niagara-UID]
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub node_dir: Option<PathBuf>,
    /// Compare A with itself before a node's first duel, and leave noisy nodes out
    ///
    /// It costs a duel's time of each node (docs/fleet.md).
    #[arg(long, hide_short_help = true)]
    pub try_nodes: bool,
    /// Further arguments of each worker
    #[arg(long, hide = true, allow_hyphen_values = true)]
    pub worker_argument: Vec<String>,
    /// Time after which a silent worker is given up [default: 60s]
    #[arg(long, hide = true, value_parser = duration)]
    pub silence: Option<Duration>,
}

impl FleetArgs {
    /// Nodes that run duels at the same time.
    pub fn nodes(&self) -> u32 {
        self.nodes.unwrap_or(4)
    }

    /// Time limit of a job.
    pub fn job_time(&self) -> Duration {
        self.job_time.unwrap_or(Duration::from_secs(2 * 3600))
    }

    /// Time after which a silent worker is given up.
    pub fn silence(&self) -> Duration {
        self.silence.unwrap_or(Duration::from_secs(60))
    }

    /// Whether everything that was said of nodes and jobs has some to speak of: an option without effect was meant to have one.
    ///
    /// # Errors
    /// Options for nodes or for Slurm's jobs where duels are run elsewhere, as a mistake on the command line.
    pub fn check(&self) -> Result<(), clap::Error> {
        let of_nodes = [
            ("--nodes", self.nodes.is_some()),
            ("--shared", self.shared.is_some()),
            ("--node-dir", self.node_dir.is_some()),
            ("--try-nodes", self.try_nodes),
            ("--silence", self.silence.is_some()),
        ];
        let of_jobs = [
            ("--constraint", self.constraint.is_some()),
            ("--sbatch", !self.sbatch.is_empty()),
            ("--job-time", self.job_time.is_some()),
            ("--worker-argument", !self.worker_argument.is_empty()),
        ];
        let given = |options: &[(&'static str, bool)]| -> Vec<&str> {
            let given = options.iter().filter(|(_, given)| *given);
            given.map(|(option, _)| *option).collect()
        };
        let (for_nodes, for_jobs) = (given(&of_nodes), given(&of_jobs));
        let (useless, cause, remedy) = match self.on {
            Where::Slurm(_) => return Ok(()),
            Where::Folder => (
                for_jobs,
                "with --on folder you start the workers yourself, and nobody asks Slurm for jobs",
                "say --on slurm",
            ),
            Where::Local if for_jobs.is_empty() => (
                for_nodes,
                "without --on slurm or --on folder there are no nodes, and everything is run on this machine",
                "add --on slurm or --on folder (docs/fleet.md)",
            ),
            Where::Local => (
                [for_nodes, for_jobs].concat(),
                "without --on slurm nobody asks Slurm for nodes, and everything is run on this machine",
                "add --on slurm (docs/fleet.md)",
            ),
        };
        if useless.is_empty() {
            return Ok(());
        }
        let useless = useless.join(", ");
        let told = Explanation::new(format!("{useless}: {cause}"))
            .remedy(format!("{remedy}, or leave out {useless}"));
        Err(clap::Error::raw(
            ErrorKind::ArgumentConflict,
            format!("{told}\n"),
        ))
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Decision")]
pub struct JudgeArgs {
    /// Error probability: how often identical servers may get a verdict
    #[arg(long, default_value_t = 0.05, value_parser = probability, hide_short_help = true)]
    pub alpha: f64,
    /// The figure that decides: throughput, cpu, p95, p99
    ///
    /// cpu is the server's CPU time per transaction. p95 and p99 are latencies at a fixed rate of arrivals. The other
    /// figures are shown, too.
    #[arg(long, default_value_t = Goal::Throughput)]
    pub goal: Goal,
    /// With --goal p95 or p99: arrivals per second on either side [default: 70%]
    ///
    /// A share is of the start's throughput under closed load.
    #[arg(long, value_name = "RATE", hide_short_help = true)]
    pub rate: Option<RateChoice>,
    /// Smallest worthwhile gain
    #[arg(long, default_value = "0.5%", value_parser = percent, value_name = "SHARE")]
    pub min_effect: f64,
}

impl JudgeArgs {
    /// Whether the goal is one that the load can have.
    ///
    /// # Errors
    /// A latency of a batch job, a rate of a capture.
    pub fn check_job(&self, load: &Load) -> anyhow::Result<()> {
        if load.workload.capture().is_some() && (self.rate.is_some() || self.goal.is_latency()) {
            bail!(
                "{} is a capture: its transactions arrive when they had, not at a rate", load.workload.name();
                remedy: "--goal throughput or --goal cpu; latencies stand beside it, with --speed from when each was due"
            );
        }
        if load.workload.is_job() && self.goal.is_latency() {
            bail!(
                "{} is a job: its time is its throughput, and nothing arrives at a rate", load.workload.name();
                remedy: "--goal throughput, or --goal cpu"
            );
        }
        Ok(())
    }

    /// The rate at which latencies are compared; none for other goals.
    ///
    /// # Errors
    /// A rate for a goal that has none.
    pub fn rate(&self) -> anyhow::Result<Option<RateChoice>> {
        match (self.goal.is_latency(), self.rate) {
            (true, rate) => Ok(Some(rate.unwrap_or(RateChoice::USUAL))),
            (false, None) => Ok(None),
            (false, Some(_)) => bail!(
                "--rate is for latencies, which are compared at equal rates; the goal is {}", self.goal;
                remedy: "--goal p99, or leave out --rate"
            ),
        }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Study")]
pub struct StudyArgs {
    /// Folder for the results [default: niagara-results/…]
    ///
    /// An unfinished study there is continued.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of every random choice [default: random]
    ///
    /// A resumed study keeps its own.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Further folders with levers (`*.toml`)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub levers: Vec<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub servers: Vec<PathBuf>,
    /// Print the summary as JSON on standard output
    #[arg(long)]
    pub json: bool,
    /// Print everything, and why levers were not tried
    #[arg(long)]
    pub verbose: bool,
}

/// What is made of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// A text in this format, printed.
    Printed(Format),
    /// The files in the study's folder.
    Files,
}

/// Reads a format that can be printed.
pub fn printed_format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.iter().copied().map(possible_value))
        .map(|name| format_called(&name).unwrap_or(Format::Text))
}

/// Reads a format, or `files`.
pub fn output() -> impl TypedValueParser<Value = Output> {
    let formats = Format::ALL.iter().copied().map(possible_value);
    PossibleValuesParser::new(formats.chain([PossibleValue::new("files")]))
        .map(|name| format_called(&name).map_or(Output::Files, Output::Printed))
}

fn possible_value(format: Format) -> PossibleValue {
    let value = PossibleValue::new(format.name());
    match format.help() {
        Some(help) => value.help(help),
        None => value,
    }
}

fn format_called(name: &str) -> Option<Format> {
    let mut formats = Format::ALL.iter().copied();
    formats.find(|format| format.name() == name)
}

/// A duration with its unit: ten seconds is no time for a study, and whoever writes 10 meant minutes.
pub fn budget(text: &str) -> Result<Duration, String> {
    if text.parse::<f64>().is_ok() {
        return Err(format!(
            "a number without its unit: write {text}m for minutes, {text}s for seconds"
        ));
    }
    duration(text)
}

/// The same for building, of which none may be wanted: `0m`.
pub fn build_budget(text: &str) -> Result<Duration, String> {
    match text.trim_end_matches(['s', 'm', 'h']).parse() {
        Ok(0.0) if text.ends_with(['s', 'm', 'h']) => Ok(Duration::ZERO),
        _ => budget(text),
    }
}

pub fn probability(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|value| (0.0001..=0.5).contains(value))
        .ok_or_else(|| "expected a probability between 0.0001 and 0.5, such as 0.05".to_owned())
}

/// `name=value`, the name with underscores.
pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().replace('-', "_"), value.trim().to_owned()))
        }
        _ => Err("expected an option and its value, such as point_selects=5".to_owned()),
    }
}
