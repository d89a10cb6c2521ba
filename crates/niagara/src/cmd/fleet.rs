//! Studies on many machines: where their duels are run, and `niagara fleet worker`, which runs them.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use niagara_error::bail;
use niagara_fleet::{Cluster, Plan, Program, SlurmOptions, WorkerOptions};
use niagara_lab::{
    FleetOptions, NodeOptions, Question, RateChoice, StudyDescription, duel_seconds, own_hash,
    work_on_node,
};
use niagara_report::number;

use crate::shared_args::{FleetArgs, StudyArgs, Where, duration};

/// Seconds from a job's start to its first duel: a worker comes up, copies servers and data.
pub const START_SECONDS: f64 = 10.0;

/// Duels on many machines: the worker of a node (docs/fleet.md)
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara compare base malloc=jemalloc --on slurm --nodes 4
  niagara fleet worker /shared/study-0123456789ab --name w1")]
pub struct FleetCommandArgs {
    #[command(subcommand)]
    pub verb: FleetVerb,
}

#[derive(Debug, Subcommand)]
pub enum FleetVerb {
    /// Run duels of a study that another host heads, until it ends; Slurm's jobs are this, and with --on folder you start it
    #[command(before_help = "Examples:
  niagara fleet worker /shared/study-0123456789ab --name w1
  niagara fleet worker /shared/study-0123456789ab --name w2 --node-dir /scratch/niagara")]
    Worker(Box<WorkerArgs>),
}

#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The study's folder, as the head names it
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// Its name: w1, w2, … as the head expects them; one that is started again keeps its name
    #[arg(long)]
    pub name: String,
    /// A folder on this machine's own disk, under the same path as on the head's [default: $NIAGARA_CACHE, or /var/tmp/niagara-UID]
    #[arg(long, value_name = "DIR")]
    pub node_dir: Option<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub servers: Vec<PathBuf>,
    /// The machine's name [default: what Slurm or the kernel calls it]
    #[arg(long)]
    pub node: Option<String>,
    /// How long to wait for a sign of a head, and for room in the shared folder
    #[arg(long, default_value = "10m", value_parser = duration, value_name = "TIME")]
    pub patience: Duration,
    /// How often to say that it is there
    #[arg(long, hide = true, default_value = "5s", value_parser = duration)]
    pub beat: Duration,
    /// Seconds that must be left of the job beyond those that a duel takes
    #[arg(long, hide = true, default_value_t = 60.0)]
    pub margin: f64,
    /// Play back the duels of these results instead of running any
    #[arg(long, hide = true, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// So many times faster
    #[arg(long, hide = true, default_value_t = 1.0)]
    pub replay_speed: f64,
    /// Take turns with the other workers of this machine that have this option and the same --node-dir: one duel at a time
    #[arg(long, hide = true)]
    pub one_at_a_time: bool,
}

pub fn run(args: FleetCommandArgs) -> Result<ExitCode> {
    let FleetVerb::Worker(args) = args.verb;
    let options = NodeOptions {
        worker: WorkerOptions {
            folder: std::path::absolute(&args.folder)?,
            node: args.node.unwrap_or_else(node_name),
            name: args.name,
            patience: args.patience,
            beat: args.beat,
            margin: args.margin,
            program: own_hash()?,
        },
        cache: node_dir(args.node_dir)?,
        servers: args.servers,
        replay: args.replay.map(|file| (file, args.replay_speed)),
        one_at_a_time: args.one_at_a_time,
    };
    let why = work_on_node(&options).context("the worker")?;
    tell!("the worker has ended: {why}");
    Ok(ExitCode::SUCCESS)
}

/// What Slurm calls this node, else what the kernel does.
fn node_name() -> String {
    let kernels = || {
        std::fs::read_to_string("/proc/sys/kernel/hostname")
            .map_or_else(|_| "node".to_owned(), |name| name.trim().to_owned())
    };
    std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| kernels())
}

/// The folder on each machine's own disk, where nothing else was said.
fn node_dir(named: Option<PathBuf>) -> Result<PathBuf> {
    let set = || std::env::var_os("NIAGARA_CACHE").filter(|value| !value.is_empty());
    let default = || PathBuf::from(format!("/var/tmp/niagara-{}", nix::unistd::getuid()));
    let folder = named.or_else(|| set().map(PathBuf::from));
    Ok(std::path::absolute(folder.unwrap_or_else(default))?)
}

/// Where the duels of `question` are run, if not here.
///
/// # Errors
/// A study that cannot be run elsewhere.
pub fn fleet_options(
    fleet: &FleetArgs,
    question: &StudyDescription,
    args: &StudyArgs,
) -> Result<Option<FleetOptions>> {
    if fleet.on == Where::Local {
        return Ok(None);
    }
    if question.client_host.is_some() {
        bail!(
            "--on {} and --client-host exclude each other: on a node the load comes from the node itself",
            fleet.on;
            remedy: "leave one of them out"
        );
    }
    if matches!(question.rate, Some(RateChoice::Share(_))) {
        bail!(
            "on nodes latencies are compared at a given rate: what the start does under closed load would be measured on this host";
            remedy: "say --rate as transactions per second, such as --rate 2000"
        );
    }
    nodes_of(fleet, &args.servers)
}

/// The nodes that `fleet` speaks of, which know the servers of these folders, too; `None` where it speaks of this machine.
///
/// # Errors
/// The current folder is gone.
pub fn nodes_of(fleet: &FleetArgs, servers: &[PathBuf]) -> Result<Option<FleetOptions>> {
    let cluster = match &fleet.on {
        Where::Local => return Ok(None),
        Where::Folder => Cluster::Others(fleet.nodes()),
        Where::Slurm(partition) => Cluster::Slurm(SlurmOptions {
            partition: partition.clone(),
            nodes: fleet.nodes(),
            constraint: fleet.constraint.clone(),
            minutes: (fleet.job_time().as_secs_f64() / 60.0).ceil().max(1.0) as u32,
            options: fleet.sbatch.clone(),
            program: Program::default(),
        }),
    };
    let mut arguments = fleet.worker_argument.clone();
    for servers in servers {
        arguments.push("--servers".to_owned());
        arguments.push(std::path::absolute(servers)?.display().to_string());
    }
    let shared = fleet.shared.clone();
    Ok(Some(FleetOptions {
        shared: std::path::absolute(shared.unwrap_or_else(|| "niagara-fleet".into()))?,
        node_dir: node_dir(fleet.node_dir.clone())?,
        arguments,
        cluster,
        silence: fleet.silence(),
        try_nodes: fleet.try_nodes,
    }))
}

/// How many nodes a comparison can keep busy, where more were asked for.
pub fn too_many_nodes(fleet: &FleetOptions, question: &StudyDescription) -> Option<String> {
    let Question::Compare { .. } = question.question else {
        return None;
    };
    let settings = question.duel_settings();
    let seconds = duel_seconds(&settings, settings.couples);
    let worth = Plan {
        questions: 1,
        duels: question.duels,
        seconds,
        start: START_SECONDS,
    }
    .nodes_worth_having();
    (worth < fleet.nodes() as usize).then(|| {
        format!(
            "{} of about {seconds:.0} s keep {} busy for nine tenths of the time; {} were asked for",
            number::count(question.duels, "duel"),
            number::count(worth, "node"),
            fleet.nodes()
        )
    })
}
