//! `niagara profile A [B]`: where the time goes, lock by lock and call by call.

pub mod kept;
mod live;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use clap::{ArgGroup, Args};
use niagara_error::{Explain as _, bail};
use niagara_lab::{
    Inventory, ProfileOptions, RESULTS, RESULTS_FILE, Variant, View, debug_symbols, file_name,
    profile, study_key, variant_of,
};
use niagara_model::StudyRecord;
use niagara_profile::symbols::DebugFolders;
use niagara_report::Format;
use niagara_server::machine::Fingerprint;
use niagara_store::Store;
use serde::Serialize;

use self::live::LiveArgs;
use crate::command_line::{VERSION, command_line};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::load_args::{LoadArgs, check_data};
use crate::origin::origin;
use crate::pack;
use crate::progress::Terminal;
use crate::shared_args::{HelpArgs, OriginArgs, Output, duration};

/// Where does the time go? CPU, waiting, system calls, locks, allocations
///
/// Starts a private server as `compare` does, drives load on it and takes one view of it after another; each view is
/// on in every other slice of load, so that its cost is known. With B, the two are set side by side, and the report says
/// what explains the change. The folder then holds report.html with flame graphs, report.md, profile.json and the stacks.
///
/// With --socket or --pid it observes a server that runs already, under its own load, and changes nothing of it.
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara profile mariadb-10.11 --workload oltp_point_select
  niagara profile base transport=unix --workload oltp_point_select
  niagara profile malloc=jemalloc --views cpu,allocations --seconds 30s
  sudo niagara profile --socket /run/mysqld/mysqld.sock")]
#[command(disable_help_flag = true)]
#[command(group(ArgGroup::new("live").conflicts_with_all(PRIVATE)))]
#[command(after_help = "Views:
  cpu          what runs: flame graph, functions, share by layer (perf events; as root with the kernel's part)
  off-cpu      what threads wait for: flame graph, reasons, locks by call site (perf events with the kernel)
  syscalls     system calls per query, with time (tracepoints: root)
  locks        named locks of the server, rows and tables waited for (SQL: any user)
  allocations  calls and bytes per query by call site, pairs within a query (any user)")]
pub struct ProfileArgs {
    /// What to profile: a server, or changes to one, as in `niagara compare`
    #[arg(value_name = "A", default_value = "base")]
    pub a: String,
    /// The variant to compare it with
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// The server meant by `base` and by changes without a server [default: that of --pack, else mariadb-10.11]
    #[arg(long)]
    pub server: Option<String>,
    /// Views, comma-separated [default: all]
    ///
    /// The exit code is 1 if a named view is impossible here.
    #[arg(long, value_delimiter = ',', value_name = "VIEW")]
    pub views: Vec<View>,
    /// Load for each view, half of it with the view on
    #[arg(long, visible_alias = "time", default_value = "12s", value_parser = duration)]
    pub seconds: Duration,
    /// Length of a slice of load
    #[arg(long, default_value = "500ms", value_parser = duration)]
    pub slice: Duration,
    /// Load before anything is observed
    #[arg(long, default_value = "3s", value_parser = duration)]
    pub warm_up: Duration,
    /// Do not fetch symbols from the distribution's debug packages
    #[arg(long)]
    pub no_symbols: bool,
    /// Folder for the report [default: niagara-results/profile-…]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Further folders with levers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub levers: Vec<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub servers: Vec<PathBuf>,
    /// Print the profile as JSON on standard output
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub live: LiveArgs,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub origin: OriginArgs,
    #[command(flatten)]
    pub help: HelpArgs,
}

/// Options of a private server and of the load on it.
const PRIVATE: [&str; 25] = [
    "a",
    "b",
    "server",
    "warm_up",
    "no_symbols",
    "levers",
    "servers",
    "workload",
    "threads",
    "tables",
    "table_size",
    "warehouses",
    "engine",
    "set",
    "commit_order",
    "speed",
    "tables_of",
    "pack",
    "config",
    "config_from",
    "config_user",
    "data",
    "schema",
    "memory",
    "cpus",
];

/// What decides what a profile observes.
#[derive(Serialize)]
struct Plan<'a> {
    variants: &'a [Variant],
    load: &'a niagara_lab::Load,
    views: Vec<&'static str>,
    seconds: f64,
    slice_seconds: f64,
    warm_up_seconds: f64,
}

pub fn run(mut args: ProfileArgs) -> Result<ExitCode> {
    if let Some(process) = args.live.process() {
        return live::run(&args, process?);
    }
    let pack = pack::adopt(&mut args.load, &mut args.origin)?;
    let server = pack::server(args.server.as_deref(), pack.as_ref())?;
    let cancel = on_ctrl_c()?;
    let inventory = Inventory::open(&args.servers, &args.levers)?;
    let load = args.load.load()?;
    let origin = origin(&args.origin)?;
    check_data(&load.workload, &origin)?;
    let name = match &args.b {
        Some(b) => format!("profile-{}-vs-{b}", args.a),
        None => format!("profile-{}", args.a),
    };
    let folder = folder(args.out.as_deref(), &name)?;
    let views = chosen_views(&args);
    let texts: Vec<&String> = std::iter::once(&args.a).chain(&args.b).collect();
    let budget = args.warm_up + args.seconds * views.len() as u32;
    let mut terminal = Terminal::new(budget * texts.len() as u32);
    let mut bench = inventory
        .workbench(load.clone(), cancel.clone())
        .starting_from(&origin);
    let mut variants = Vec::new();
    for text in texts {
        variants.push(variant_of(
            text,
            &server,
            &inventory,
            &mut bench,
            &mut terminal,
        )?);
    }
    let mut options = options(&args, views);
    if !args.no_symbols {
        let found = debug_symbols(&inventory, &bench, &variants, &mut terminal)?;
        (options.symbols, options.missing) = (found.symbols, found.missing);
    }
    let plan = serde_json::to_value(Plan {
        variants: &variants,
        load: &load,
        views: options.views.iter().map(|view| view.name()).collect(),
        seconds: options.seconds,
        slice_seconds: options.slice_seconds,
        warm_up_seconds: options.warm_up_seconds,
    })?;
    let store = results(&folder, plan, &inventory.fingerprint()?, options.seed)?;
    let (mut taken, mut whole) = (0, true);
    for variant in &variants {
        let load = load.on(variant);
        terminal.line(&format!("{}; {}", variant.label(), load.one_line()));
        match profile(&bench, variant, &options, &mut terminal) {
            Ok(found) => {
                taken += 1;
                whole &= args.views.iter().all(|view| view.is_in(&found));
                store.set_profile(&kept::record(taken, &found)?)?;
                if cancel.is_cancelled() {
                    break;
                }
            }
            Err(error) if cancel.is_cancelled() && taken > 0 => {
                terminal.line(&error.explain().to_string());
                break;
            }
            Err(error) => {
                terminal.finish();
                match taken {
                    // Without anything in it, it would be taken for the newest study.
                    0 => discard(store, &folder),
                    _ => kept::report(&store, &folder, Output::Files)?,
                }
                return Err(error.context(format!("cannot profile {}", variant.label())));
            }
        }
    }
    terminal.finish();
    show(&store, &folder, args.json)?;
    Ok(exit_code(
        cancel.is_cancelled(),
        whole && taken == variants.len(),
    ))
}

/// The views that were named, or all.
fn chosen_views(args: &ProfileArgs) -> Vec<View> {
    match args.views.is_empty() {
        true => View::ALL.to_vec(),
        false => args.views.clone(),
    }
}

/// How these views are taken, with the symbols that the host has.
fn options(args: &ProfileArgs, views: Vec<View>) -> ProfileOptions {
    ProfileOptions {
        views,
        seconds: args.seconds.as_secs_f64(),
        slice_seconds: args.slice.as_secs_f64(),
        warm_up_seconds: args.warm_up.as_secs_f64(),
        symbols: DebugFolders::default(),
        missing: Vec::new(),
        seed: args.seed,
    }
}

/// Writes the files of what was kept, and prints it.
fn show(store: &Store, folder: &Path, as_json: bool) -> Result<()> {
    let format = if as_json { Format::Json } else { Format::Text };
    // Pages that cannot be written, as on a full disk, keep no result from whoever waited for it.
    let written = kept::report(store, folder, Output::Files);
    kept::report(store, folder, Output::Printed(format))?;
    written
}

/// The results that the profiles of a plan go into.
fn results(
    folder: &Path,
    plan: serde_json::Value,
    machine: &Fingerprint,
    seed: u64,
) -> Result<Store> {
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let record = StudyRecord {
        kind: kept::KIND.to_owned(),
        command: command_line(),
        key: study_key(&(kept::KIND, &plan, seed))?,
        seed,
        started_unix_ms: unix_ms(),
        plan,
        machine: serde_json::to_value(machine)?,
        niagara_version: VERSION.to_owned(),
    };
    Ok(Store::create(&folder.join(RESULTS_FILE), &record)?)
}

/// Removes results that hold nothing, and their folder where nothing else is in it.
fn discard(store: Store, folder: &Path) {
    drop(store);
    let mine = |name: &str| name.starts_with(RESULTS_FILE);
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files.filter(|file| file.file_name().to_str().is_some_and(mine)) {
        // What cannot be removed is an empty file: reports say that it holds nothing.
        let _ = std::fs::remove_file(file.path());
    }
    let _ = std::fs::remove_dir(folder);
}

/// This moment, milliseconds since the Unix epoch.
fn unix_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_millis() as i64
}

/// The folder that was asked for, or a free one of this name.
fn folder(asked: Option<&Path>, name: &str) -> Result<PathBuf> {
    if let Some(path) = asked {
        if path.join(RESULTS_FILE).exists() {
            bail!(
                "{} holds results already", path.display();
                remedy: "name another folder with --out"
            );
        }
        return Ok(path.to_owned());
    }
    let stem = file_name(name);
    let free = (1..10_000)
        .map(|number| match number {
            1 => Path::new(RESULTS).join(&stem),
            n => Path::new(RESULTS).join(format!("{stem}-{n}")),
        })
        .find(|path| !path.exists());
    free.with_context(|| format!("{RESULTS} is full of profiles: name a folder with --out"))
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use crate::args::{Cli, Command};
    use clap::{CommandFactory, Parser};

    use super::PRIVATE;

    fn read(words: &[&str]) -> Result<Cli, ErrorKind> {
        let words = ["niagara", "profile"].iter().chain(words);
        Cli::try_parse_from(words).map_err(|error| error.kind())
    }

    #[test]
    fn a_live_server_is_named_once_and_has_no_load_of_ours() {
        let socket = [
            "--socket",
            "/s",
            "--user",
            "root",
            "--seconds",
            "5s",
            "--views",
            "cpu",
        ];
        let Ok(Cli {
            command: Some(Command::Profile(args)),
        }) = read(&socket)
        else {
            panic!("{socket:?}");
        };
        assert!(args.live.process().is_some());
        let conflict = Some(ErrorKind::ArgumentConflict);
        for words in [
            &["--pid", "7", "--socket", "/s"][..],
            &["mariadb-10.11", "--pid", "7"],
            &["--pid", "7", "--threads", "8"],
            &["--socket", "/s", "--workload", "tpcc"],
            &["--socket", "/s", "--config", "my.cnf"],
            &["--pid", "7", "--no-symbols"],
        ] {
            assert_eq!(read(words).err(), conflict, "{words:?}");
        }
        let missing = Some(ErrorKind::MissingRequiredArgument);
        assert_eq!(read(&["--user", "root"]).err(), missing);
        assert_eq!(
            read(&["--pid", "0"]).err(),
            Some(ErrorKind::ValueValidation)
        );
        assert!(read(&["base", "--threads", "8"]).is_ok());
    }

    /// Whoever adds an option decides whether it is one for live servers.
    #[test]
    fn every_option_is_for_private_servers_or_for_live_ones() {
        let both = ["views", "seconds", "slice", "out", "seed", "json"];
        let live = ["pid", "socket", "user", "password_file"];
        let help = ["help", "help_all", "version"];
        let command = Cli::command();
        let profile = command.find_subcommand("profile").expect("a command");
        for argument in profile.get_arguments() {
            let name = argument.get_id().as_str();
            let lists = [&PRIVATE[..], &both, &live, &help];
            assert!(
                lists.iter().any(|list| list.contains(&name)),
                "{name} is in no list"
            );
        }
    }
}
