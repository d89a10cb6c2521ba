//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::styling::{Ansi256Color, Color, Style, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand, ValueEnum};
use niagara_error::Explanation;
use niagara_lab::WantedLevel;
use niagara_lab::quantity::share as percent;
use niagara_report::ink;

use crate::command_line::VERSION;
pub use crate::load_args::{DataArgs, LoadArgs, WorkloadArg};
pub use crate::shared_args::{
    ClientArgs, DuelArgs, FleetArgs, HelpArgs, OriginArgs, StudyArgs, budget, duration,
};
use crate::shared_args::{EXIT_CODES, assignment, build_budget, probability};

use crate::cmd::advise::AdviseArgs;
use crate::cmd::bench::BenchArgs;
use crate::cmd::capture::CaptureArgs;
use crate::cmd::checkup::CheckupArgs;
use crate::cmd::compare::CompareArgs;
use crate::cmd::fleet::FleetCommandArgs;
use crate::cmd::pack::PackArgs;
use crate::cmd::profile::ProfileArgs;
use crate::cmd::report::ReportArgs;
use crate::cmd::study::StudyFileArgs;
use crate::cmd::tune::TuneArgs;

/// How clap paints its messages: bold, and of the two colours that can be read on every terminal the one for mistakes.
const STYLES: Styles = Styles::styled()
    .error(
        Style::new()
            .bold()
            .fg_color(Some(Color::Ansi256(Ansi256Color(ink::BAD)))),
    )
    .valid(Style::new().bold())
    .invalid(Style::new().bold());

/// Finds what makes a MySQL-family server faster on your machine, and proves it.
///
/// Niagara starts private servers and drives load on them. It tries known changes (levers), and decides by statistics that
/// hold on noisy machines. Your installed servers, configuration and data stay unchanged.
#[derive(Debug, Parser)]
#[command(version = VERSION, propagate_version = true, styles = STYLES)]
#[command(before_help = "Examples:
  sudo niagara checkup             on your server: ten seconds, read only
  sudo niagara pack --schema shop  on your server: traffic, data and settings in one file
  niagara advise shop.niagara      elsewhere: indexes that your statements need
  niagara tune shop.niagara        elsewhere: settings that make it faster, proven")]
pub struct Cli {
    /// Without one, what to do first on this machine.
    #[command(subcommand)]
    pub command: Option<Command>,
}

impl Cli {
    /// The command line, read; a mistake in it is told, and ends the process with code 2.
    pub fn read() -> Self {
        let cli = Self::try_parse().unwrap_or_else(|mistake| {
            let words: Vec<String> = std::env::args().collect();
            about_address(mistake, &words).exit()
        });
        let fleet = cli.command.as_ref().and_then(Command::fleet);
        if let Some(Err(mistake)) = fleet.map(FleetArgs::check) {
            mistake.exit();
        }
        cli
    }
}

/// Options by which clients name a running server, which some commands do not take.
const ADDRESS: [&str; 3] = ["--socket", "--host", "--port"];

/// A mistake as it is, or, of an address given to a command that starts servers of its own, what to do with that server.
fn about_address(mistake: clap::Error, words: &[String]) -> clap::Error {
    let named = match mistake.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(named)) => named.clone(),
        _ => return mistake,
    };
    let option = named.split('=').next().unwrap_or(&named);
    if mistake.kind() != ErrorKind::UnknownArgument || !ADDRESS.contains(&option) {
        return mistake;
    }
    let value = |name: &str| {
        let at = words
            .iter()
            .position(|word| word.split('=').next() == Some(name))?;
        match words[at].split_once('=') {
            Some((_, value)) => Some(value.to_owned()),
            None => words.get(at + 1).cloned(),
        }
    };
    let address = match (value("--socket"), value("--host"), value("--port")) {
        (Some(socket), _, _) => socket,
        (None, host, port) => format!(
            "{}:{}",
            host.as_deref().unwrap_or("localhost"),
            port.as_deref().unwrap_or("3306")
        ),
    };
    let text = Explanation::from(niagara_server::running_server(&address));
    clap::Error::raw(ErrorKind::UnknownArgument, format!("{option}: {text}\n"))
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Checkup(Box<CheckupArgs>),
    Tune(TuneArgs),
    Compare(CompareArgs),
    Advise(Box<AdviseArgs>),
    Bench(Box<BenchArgs>),
    Profile(Box<ProfileArgs>),
    Capture(Box<CaptureArgs>),
    Pack(Box<PackArgs>),
    Server(ServerArgs),
    Levers(LeversArgs),
    Doctor(DoctorArgs),
    Report(ReportArgs),
    Run(RunArgs),
    Sweep(SweepArgs),
    Study(StudyFileArgs),
    Sysbench(SysbenchArgs),
    Schema(SchemaArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// Drive the load of a study that another host runs (started by Niagara there, over ssh)
    #[command(hide = true)]
    LoadAgent,
    Fleet(FleetCommandArgs),
}

impl Command {
    /// What is said of nodes, where a command takes them.
    fn fleet(&self) -> Option<&FleetArgs> {
        match self {
            Self::Tune(args) => Some(&args.fleet),
            Self::Compare(args) => Some(&args.fleet),
            Self::Run(args) => Some(&args.fleet),
            Self::Sweep(args) => Some(&args.fleet),
            Self::Server(args) => match &args.verb {
                ServerVerb::Build(build) => Some(&build.fleet),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Private servers: fetch, build, list, check, remove; nothing of the system is touched
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara server get mariadb-10.11 mysql-9.7
  niagara server list")]
pub struct ServerArgs {
    #[command(subcommand)]
    pub verb: ServerVerb,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR", global = true)]
    pub servers: Vec<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum ServerVerb {
    /// Fetch servers from the distribution's archive, without root
    #[command(before_help = "Examples:
  niagara server get mariadb-10.11
  niagara server get mariadb-11.8 mysql-9.7")]
    Get {
        /// Names as in `niagara server list`
        #[arg(required = true, value_name = "SERVER")]
        names: Vec<String>,
    },
    Build(Box<BuildArgs>),
    /// Servers that can be had and those that are here, with their dataset images and what they take on disk
    #[command(before_help = "Examples:
  niagara server list
  niagara server list --json")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    Check(CheckArgs),
    /// Remove fetched servers and their dataset images; a server named by its path loses its images only
    #[command(before_help = "Examples:
  niagara server remove mysql-9.7
  niagara server remove /usr/sbin/mariadbd")]
    Remove {
        /// Names as in `niagara server list`, or paths
        #[arg(required = true, value_name = "SERVER")]
        names: Vec<String>,
    },
}

/// Is a server still a correct one? Crash recovery, the same answers, its own regression tests
///
/// Checks a server that was built or patched.
///
/// crash: it is killed repeatedly under write load. Every acknowledged commit must be there afterwards, and no half
/// transaction.
///
/// answers: queries, changes and errors on generated data must be those of another server.
///
/// suite: a listed part of its own regression tests, against this very binary. Failures of the other server do not count.
///
/// The result is kept for exactly this binary, by its SHA-256. A later pass does not refute a failure of crash or answers: it
/// stands until --forget. Exit code: 0 nothing wrong found, 1 something wrong or the check
/// could not be done, 130 stopped by Ctrl-C (parts that ended are kept).
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara server check /opt/mariadb/bin/mariadbd
  niagara server check 259c8f64                    (a build, by its key)
  niagara server check ./build/sql/mariadbd --against mariadb-10.11 --part crash,answers
  niagara server check mariadb-11.8 --against mariadb-10.11 --part answers")]
pub struct CheckArgs {
    /// A server of the catalogue, the path of a binary, or the key of a build
    #[arg(value_name = "SERVER")]
    pub server: String,
    /// The server that it is compared with [default: the catalogue's server of its family and series]
    #[arg(long, value_name = "SERVER")]
    pub against: Option<String>,
    /// Only these parts, comma-separated
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    pub part: Vec<PartArg>,
    /// How often it is killed
    #[arg(long, default_value_t = 10, value_parser = kills)]
    pub kills: usize,
    /// Seed of data, statements and moments
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Only these tests of the suite, comma-separated
    #[arg(long, value_name = "TEST", value_delimiter = ',')]
    pub test: Vec<String>,
    /// Forget what earlier checks found wrong in these parts, once they are checked again
    #[arg(long)]
    pub forget: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PartArg {
    /// Killed under write load: every acknowledged commit, no half transaction
    Crash,
    /// The same answers and tables as another server on the same data
    Answers,
    /// Its own regression tests
    Suite,
}

/// What `--on` says of a build.
const BUILT_ON: &str = "Where it is built: local, slurm or slurm:PARTITION, or folder (workers that you start yourself) (docs/fleet.md)";
/// What `--nodes` says of a build.
const BUILDING_NODES: &str = "Nodes that build at the same time [default: 4]";

/// Build a server from source, or look after the builds that are here
///
/// The source is the distribution's source package (or a tree by path), the default flags are the package's own. A
/// build is kept under the digest of everything that went into it: nothing is built twice, and one that was stopped
/// continues. With --pgo and --bolt the server is trained by Niagara's own load. docs/builds.md tells more.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(mut_arg("on", |arg| arg.help(BUILT_ON)), mut_arg("nodes", |arg| arg.help(BUILDING_NODES)), mut_arg("try_nodes", |arg| arg.hide(true)))]
#[command(group = clap::ArgGroup::new("trained").multiple(true))]
#[command(before_help = "Examples:
  niagara server build mariadb-10.11
  niagara server build mariadb-10.11 --flags='-O3 -march=native' --lto thin
  niagara server build --compiler clang --lto thin --pgo oltp_read_only:2/oltp_read_write
  niagara server build --pgo oltp_read_only --bolt oltp_read_only
  niagara server build --pgo ./shop.capture --tables-of oltp_read_write
  niagara server build --source ~/src/server --cmake WITH_WSREP=OFF
  niagara server build --lto thin --on slurm --nodes 1
  niagara server build list")]
pub struct BuildArgs {
    #[command(subcommand)]
    pub verb: Option<BuildVerb>,
    /// A server of the catalogue (see `niagara server list`)
    #[arg(value_name = "SERVER", default_value = "mariadb-10.11")]
    pub server: String,
    /// Build this source tree rather than the source package
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
    /// Ask the archive for the newest source package
    ///
    /// Otherwise the newest one that was fetched before is used.
    #[arg(long, conflicts_with = "source")]
    pub refresh_source: bool,
    /// gcc, clang, or one of a version: clang-19
    #[arg(long, value_name = "NAME")]
    pub compiler: Option<String>,
    /// Flags for C and C++, behind the package's own
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub flags: Vec<String>,
    /// Flags for C alone
    #[arg(
        long,
        value_name = "FLAGS",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub c_flags: Vec<String>,
    /// Flags for C++ alone
    #[arg(
        long,
        value_name = "FLAGS",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub cxx_flags: Vec<String>,
    /// Flags for linking
    #[arg(long, value_name = "FLAGS", allow_hyphen_values = true)]
    pub link_flags: Vec<String>,
    /// bfd, gold, lld or mold
    #[arg(long, value_name = "NAME")]
    pub linker: Option<String>,
    /// An option for cmake; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    pub cmake: Vec<(String, String)>,
    /// Optimisation while linking: thin or full
    #[arg(long, value_name = "KIND")]
    pub lto: Option<String>,
    /// Profile feedback: workloads with weights, oltp_read_only:2,./shop.toml, or mixed
    ///
    /// A workload is a name, a file of your own, a script .lua or a .capture. May be repeated.
    #[arg(long, value_name = "WORKLOADS", group = "trained")]
    pub pgo: Vec<String>,
    /// Context-sensitive profile feedback (clang; one more build and training)
    #[arg(long, requires = "pgo")]
    pub pgo_contexts: bool,
    /// Rearrange the binary by BOLT, trained like --pgo
    #[arg(long, value_name = "WORKLOADS", group = "trained")]
    pub bolt: Vec<String>,
    /// Source of BOLT's profile: counters, branches or samples
    ///
    /// branches: the processor's branch records (LBR), by perf; the default where the machine has them, untested by us. samples: perf
    /// without them. counters: the default elsewhere.
    #[arg(long, value_name = "WAY", requires = "bolt", hide_short_help = true)]
    pub bolt_profile: Option<String>,
    /// Connections while training [default: 16]
    #[arg(long, value_name = "N", requires = "trained", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub train_threads: Option<u32>,
    /// Seconds of training for all workloads [default: 30, or those of a named training]
    #[arg(long, value_name = "N", requires = "trained", value_parser = clap::value_parser!(u32).range(1..))]
    pub train_seconds: Option<u32>,
    /// Train here, even if a shipped profile fits
    #[arg(long, requires = "trained")]
    pub train_here: bool,
    /// An option of the training workloads; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment, requires = "trained")]
    pub train_set: Vec<(String, String)>,
    /// The part of a capture that trains [default: first:50%]
    ///
    /// first:50% or after:50% of its transactions, sessions:50% or other-sessions:50% of its sessions.
    #[arg(long, value_name = "PART", requires = "trained")]
    pub train_part: Option<String>,
    /// The workload whose tables a capture needs
    #[arg(long, value_name = "WORKLOAD", requires = "trained")]
    pub tables_of: Option<String>,
    /// Tables of the training [default: 1]
    #[arg(long, value_name = "N", requires = "trained", hide_short_help = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub train_tables: Option<u32>,
    /// Rows of each table of the training [default: 50000]
    #[arg(long, value_name = "N", requires = "trained", hide_short_help = true, value_parser = clap::value_parser!(u64).range(1..=4_294_967_295))]
    pub train_table_size: Option<u64>,
    /// Data of the training: a data directory, a prepared backup, a dump
    #[arg(long, value_name = "PATH", requires = "trained")]
    pub data: Option<String>,
    /// Database within --data [default: the only one]
    #[arg(long, value_name = "NAME", requires = "data")]
    pub schema: Option<String>,
    /// Patches, by name
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub patch: Vec<String>,
    /// Libraries to link in: cxx, ssl, zlib, jemalloc
    #[arg(long = "static", value_name = "LIBRARY", value_delimiter = ',')]
    pub static_libraries: Vec<String>,
    /// Compilers at the same time [default: one per CPU]
    #[arg(
        long,
        short,
        default_value_t = 0,
        hide_default_value = true,
        value_name = "N"
    )]
    pub jobs: usize,
    /// Keep the folder that the compiler worked in
    #[arg(long)]
    pub keep: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub fleet: FleetArgs,
}

#[derive(Debug, Subcommand)]
pub enum BuildVerb {
    /// Builds that are here, what they are made from, and what they take on disk
    #[command(before_help = "Examples:
  niagara server build list
  niagara server build list --json")]
    List {
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove builds by the beginning of their keys
    #[command(before_help = "Examples:
  niagara server build remove 259c8f64
  niagara server build remove 259c 1f03")]
    Remove {
        /// Keys as in `niagara server build list`
        #[arg(required = true, value_name = "KEY")]
        keys: Vec<String>,
    },
    /// Write flags, profile and patches of a build as files for its distribution's package
    #[command(before_help = "Examples:
  niagara server build package 259c8f64 --to flags
  niagara server build package 259c --to ~/mariadb-10.11.18/debian/niagara")]
    Package {
        /// Key as in `niagara server build list`
        #[arg(value_name = "KEY")]
        key: String,
        /// New folder for the files
        #[arg(long, value_name = "FOLDER")]
        to: PathBuf,
    },
    /// Remove half-finished builds, builds unused for long, and their sources; builds in use stay
    #[command(before_help = "Examples:
  niagara server build gc
  niagara server build gc --unused-for 48h")]
    Gc {
        /// Finished builds not used for this long go too
        #[arg(long, default_value = "720h", value_parser = duration, value_name = "TIME")]
        unused_for: Duration,
        /// Everything, and what ccache keeps
        #[arg(long)]
        all: bool,
    },
}

/// The levers: known changes, their values on this machine, and why others do not apply
///
/// The first call for a server fetches it (80 to 280 MB on disk) and starts it once with 1,000 rows. Do not run it during a
/// measurement. A tuning decides again, for its data and its workload.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara levers mariadb-10.11
  niagara levers mysql-9.7 --show binlog=off")]
pub struct LeversArgs {
    /// The server to apply them to
    #[arg(value_name = "SERVER", default_value = "mariadb-10.11")]
    pub server: String,
    /// Show one lever whole: as the list has it (malloc=jemalloc), or by its id (malloc-jemalloc)
    #[arg(long, value_name = "LEVER")]
    pub show: Option<String>,
    /// Further folders with levers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub levers: Vec<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub servers: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Is this machine fit to measure on, and what can be seen in 10 minutes?
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara doctor
  niagara doctor --noise --budget 2m")]
pub struct DoctorArgs {
    /// Measure identical servers against each other for a minute, and say what 10 minutes and an hour can detect here
    #[arg(long)]
    pub noise: bool,
    /// The server to measure the noise with
    #[arg(long, default_value = "mariadb-10.11")]
    pub server: String,
    /// Time for the noise
    #[arg(long, default_value = "1m", value_parser = budget)]
    pub budget: Duration,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub load: LoadArgs,
}

/// Any study: compare, ladder, matrix or sweep, as a file describes it
///
/// The published studies are in `studies/`; docs/studies.md shows how to write one. The small size is for a
/// laptop, the original size is true to the study. Ctrl-C keeps what was measured; the same command continues from there.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, disable_help_flag = true)]
#[command(before_help = r#"Examples:
  niagara run studies/run-time-environment.toml --plan
  niagara run studies/t2000-ladder.toml --size small --budget 30m
  niagara run studies/compiler-matrix.toml --level "options=PGO + LTO" --plan
  niagara study check studies/*.toml"#)]
pub struct RunArgs {
    /// The study file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Which of its sizes
    #[arg(long, value_enum, default_value_t = SizeArg::Small)]
    pub size: SizeArg,
    /// A server in place of the file's: a name of `niagara server list`, or a path
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Part of a matrix: this level and the baseline of its axis; may be repeated
    ///
    /// Parts that are measured one after the other share one report, which lists the combinations that are left.
    #[arg(long = "level", value_name = "AXIS=LEVEL")]
    pub levels: Vec<WantedLevel>,
    /// Say what would be done and what it can show, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// Time for all measurements, excluding set-up [default: what the file says]
    #[arg(long, value_parser = budget)]
    pub budget: Option<Duration>,
    /// Time for building servers of a ladder, without the start's [default: no limit]
    ///
    /// A rung whose build takes longer than the rest is left out and reported. Builds that are here take none: 0m builds nothing.
    #[arg(long, value_parser = build_budget)]
    pub build_budget: Option<Duration>,
    /// Do not profile what limits each variant of a sweep at its knee (a short profile at the end, within the budget)
    #[arg(long)]
    pub no_profile: bool,
    /// Share of the CPUs, taken by other processes or the hypervisor, at which a matched pair of slices weighs half [default: what the file says]
    #[arg(long, value_parser = percent, value_name = "SHARE")]
    pub disturbance: Option<f64>,
    #[command(flatten)]
    pub origin: OriginArgs,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub fleet: FleetArgs,
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub help: HelpArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SizeArg {
    /// A laptop finishes it
    Small,
    /// True to the original
    Original,
}

/// Where does it stop scaling, and why?
///
/// Measures throughput and latency at each thread count from fresh starts, in random order, round after round; fits the
/// Universal Scalability Law; names the knee and what holds it back there, from the resource counters of kernel and server.
/// Two variants are interleaved in duels, more (or one) are measured each alone, in random order.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, disable_help_flag = true)]
#[command(before_help = "Examples:
  niagara sweep mariadb-10.11 --threads 1..256
  niagara sweep base transport=unix --workload oltp_point_select --threads 1,2,4,8,16
  niagara sweep mariadb-10.11 mariadb-11.8 mysql-9.7 --threads 1..64 --budget 1h")]
pub struct SweepArgs {
    /// Variants, as in `niagara compare`: servers, `base`, levers, variables
    #[arg(value_name = "VARIANT", default_value = "base")]
    pub variants: Vec<String>,
    /// The server meant by `base` and by changes without a server
    #[arg(long, default_value = "mariadb-10.11")]
    pub server: String,
    /// Thread counts: 1..64 doubles from the first to the last, 1,2,4,8 is a list
    #[arg(long, default_value = "1..64", help_heading = "Load")]
    pub threads: String,
    /// One of the workloads (`niagara bench --help` lists them), or the path of a file of your own
    #[arg(
        long,
        default_value = "oltp_read_only",
        value_name = "WORKLOAD",
        help_heading = "Load"
    )]
    pub workload: WorkloadArg,
    #[command(flatten)]
    pub data: DataArgs,
    /// Time for all measurements, excluding set-up
    #[arg(long, default_value = "10m", value_parser = budget)]
    pub budget: Duration,
    /// Do not profile what limits each variant at its knee (a short profile at the end, within the budget)
    #[arg(long)]
    pub no_profile: bool,
    /// Fresh starts of each point at the most
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub starts: u32,
    /// Intervals cover at 1 − alpha
    #[arg(long, default_value_t = 0.05, value_parser = probability)]
    pub alpha: f64,
    #[command(flatten)]
    pub duel_settings: DuelArgs,
    #[command(flatten)]
    pub origin: OriginArgs,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub fleet: FleetArgs,
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub help: HelpArgs,
}

/// sysbench's own command line and report, for existing scripts
// Everything after the name is sysbench's, its --help and --version too.
#[derive(Debug, Args)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub struct SysbenchArgs {
    /// As for sysbench 1.0: options, a test, a command (`niagara sysbench --help` lists them)
    #[arg(
        value_name = "WORD",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub words: Vec<OsString>,
}

/// JSON Schemas of what commands print with --json
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara schema
  niagara schema niagara.report/1 > report.schema.json")]
pub struct SchemaArgs {
    /// The document, as its field `format` names it; without one, all are listed with the commands that print them
    #[arg(value_name = "FORMAT")]
    pub format: Option<String>,
}

/// Completions for a shell, on standard output
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara completions bash > ~/.local/share/bash-completion/completions/niagara
  niagara completions zsh > ~/.zfunc/_niagara")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

/// Man pages, one for each command
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara man ~/.local/share/man/man1
  niagara man --markdown docs")]
pub struct ManArgs {
    /// Write one page of Markdown with every command's help, commands.md, instead
    #[arg(long)]
    pub markdown: bool,
    /// The folder to write to
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

fn kills(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(kills) if (1..=1000).contains(&kills) => Ok(kills),
        _ => Err("expected 1 to 1000".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn addresses_are_answered_with_the_commands_that_fit() {
        let told = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let mistake = Cli::try_parse_from(&words).expect_err("a mistake");
            about_address(mistake, &words).to_string()
        };
        let text = told("niagara tune --socket /run/mysqld/mysqld.sock");
        assert!(
            text.contains("--config-from /run/mysqld/mysqld.sock"),
            "{text}"
        );
        let text = told("niagara compare a b --host=db1 --port 3307");
        assert!(
            text.contains("capture start --host db1 --port 3307"),
            "{text}"
        );
        assert!(!told("niagara tune --sockets x").contains("capture start"));
    }

    /// Every command of the program by its words, from the top; what is hidden is for machines.
    fn every_command(command: &clap::Command, words: &str, all: &mut Vec<(String, clap::Command)>) {
        all.push((words.to_owned(), command.clone()));
        let shown = command
            .get_subcommands()
            .filter(|inner| !inner.is_hide_set());
        for inner in shown.filter(|inner| inner.get_name() != "help") {
            every_command(inner, &format!("{words} {}", inner.get_name()), all);
        }
    }

    #[test]
    fn every_help_begins_with_two_examples_that_can_be_typed() {
        let mut all = Vec::new();
        every_command(&Cli::command(), "niagara", &mut all);
        for (words, mut command) in all {
            // Its help is sysbench's, made by the program itself.
            if words == "niagara sysbench" {
                continue;
            }
            let help = command.render_long_help().to_string();
            let mut lines = help.lines();
            assert_eq!(lines.next(), Some("Examples:"), "{words} --help");
            let examples: Vec<&str> = lines
                .take_while(|line| line.starts_with("  "))
                .map(str::trim)
                .collect();
            assert!(examples.len() >= 2, "{words}: two examples");
            for example in examples {
                // What explains an example stands behind two spaces, what the shell does behind a > or a |.
                let typed = example.split("  ").next().unwrap_or_default();
                let ends = [" > ", " | "].map(|end| typed.find(end).unwrap_or(typed.len()));
                let typed = &typed[..ends[0].min(ends[1])];
                let words = shlex::split(typed).expect("quotes are closed");
                let words = words.iter().skip_while(|word| *word == "sudo");
                Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{example}: {error}"));
            }
        }
    }

    #[test]
    fn short_help_fits_seventy_lines() {
        let mut all = Vec::new();
        every_command(&Cli::command().term_width(100), "niagara", &mut all);
        for (words, command) in all {
            let lines = command
                .term_width(100)
                .render_help()
                .to_string()
                .lines()
                .count();
            assert!(lines <= 70, "{words} --help: {lines} lines");
        }
    }

    #[test]
    fn sysbench_gets_its_words_as_they_are() {
        for words in [
            &["--help"][..],
            &["--version"],
            &["oltp_read_only", "--threads=4", "help"],
            &["--threads=4", "oltp_read_only", "--mysql-socket=/s", "run"],
            &["-", "--", "x"],
        ] {
            let cli = Cli::try_parse_from(["niagara", "sysbench"].iter().chain(words)).unwrap();
            let Some(Command::Sysbench(args)) = cli.command else {
                panic!("{words:?}");
            };
            assert_eq!(args.words, words);
        }
    }

    #[test]
    fn an_option_of_the_workload_is_a_name_and_a_value() {
        let set = ("range_size".to_owned(), "7".to_owned());
        assert_eq!(assignment("range-size=7"), Ok(set));
        assert!(assignment("range_size").is_err());
    }
}
