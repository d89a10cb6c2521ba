//! `niagara advise`: what the queries of a capture need.

mod prove;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use niagara_capture::file::CaptureReader;
use niagara_error::{Explain as _, Explanation, Remedy as _, anyhow, bail};
use niagara_lab::quantity::bytes;
use niagara_lab::{Data, Origin};
use niagara_queries::{Advice, Limits, report, schema};
use niagara_report::Source;
use niagara_server::{Cache, Cancel, Cancelled, sweep_stale};

use self::prove::{ProofRun, SHORTEST, alpha, in_database};
use crate::counting::{QueryCount, QueryFindings};
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::json::{self, Document, Printed};
use crate::load_args::is_pack;
use crate::origin::origin;
use crate::pack;
use crate::progress::Terminal;
use crate::report_output::write_pages;
use crate::shared_args::{EXIT_CODES, OriginArgs, budget};
use crate::whole_file;

impl Printed for Advice {
    const DOCUMENT: Document = Document::Advice;
}

/// Share of the time for duels that a setting of the optimizer takes, where there are indexes, too.
const FOR_SETTING: f64 = 0.3;
/// Share of the time for duels that fresh statistics take, where there are indexes or a setting, too.
const FOR_STATISTICS: f64 = 0.3;
/// Share of the budget that is for counting, where duels follow.
const COUNTING: f64 = 0.4;
/// The same while no index is found that pays: duels mostly need one.
const NONE_PAYS: f64 = 0.7;

/// What the queries need: indexes, statistics, other plans, other statements; counted and proven on a private copy of your data
///
/// Statements that make up 95 % of the captured time are executed on a private server with a copy of the data. Rows and pages that
/// they read are counted: figures that are the same on a busy machine. Candidates for indexes are built there and judged by what
/// they save and what they cost to write, settings of the optimizer by the work that other plans save. Duels on the capture prove the set; schema.sql has its indexes,
/// and says whether they are proven. Nothing is applied. docs/slow.md has a walk from a slow log to an index.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
#[command(before_help = "Examples:
  niagara advise shop.niagara                         (your server, by `niagara pack`)
  niagara advise --capture shop.capture --data /backup/shop.sql.gz
  niagara advise --capture shop.capture --data /backup/shop --config /etc/mysql/my.cnf --budget 30m
  niagara advise --capture shop.capture --data shop.sql --max-indexes 3 --json")]
pub struct AdviseArgs {
    /// A pack (`niagara pack`), or captured traffic whose data --data names
    #[arg(value_name = "PACK", conflicts_with_all = ["capture", "pack"], required_unless_present_any = ["capture", "pack"])]
    pub traffic: Option<PathBuf>,
    /// Captured traffic (`niagara capture`), or a pack
    #[arg(long, value_name = "CAPTURE")]
    pub capture: Option<PathBuf>,
    /// The server that the copy runs on: a name of `niagara server list`, or a path [default: that of the data, else mariadb-10.11]
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Time for looking at statements, judging indexes and duels, excluding set-up
    #[arg(long, default_value = "10m", value_parser = budget)]
    pub budget: Duration,
    /// Count only: the set is not proven by duels
    #[arg(long)]
    pub no_duels: bool,
    /// Indexes at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub max_indexes: usize,
    /// Space of all new indexes at most, as in 2G [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub max_index_space: Option<u64>,
    /// Folder for schema.sql and the other files [default: niagara-advice/CAPTURE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR")]
    pub servers: Vec<PathBuf>,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub origin: OriginArgs,
}

pub fn run(mut args: AdviseArgs) -> Result<ExitCode> {
    match args.traffic.take() {
        Some(pack) if is_pack(&pack.to_string_lossy()) => args.origin.pack = Some(pack),
        Some(capture) => args.capture = Some(capture),
        None => {}
    }
    if let Some(pack) = pack::adopt_capture(&mut args.capture, &mut args.origin)? {
        args.server = Some(pack::server(args.server.as_deref(), Some(&pack))?);
    }
    let origin = origin(&args.origin)?;
    let Some(data) = &origin.data else {
        bail!(
            "statements are counted on a copy of the data, and none are named";
            remedy: "--data with a dump, a prepared backup or a cold data directory"
        );
    };
    CaptureReader::open(capture(&args)?)?;
    let cancel = on_ctrl_c()?;
    let cache = Cache::open()?.stopping_with(cancel.clone());
    sweep_stale(&cache)?;
    let mut terminal = Terminal::new(Duration::ZERO);
    let advice = counted_and_proven(&args, &origin, data, (&cache, &cancel), &mut terminal);
    terminal.finish();
    let advice = advice.map_err(|error| match cancel.is_cancelled() {
        true => Cancelled.into(),
        false => error,
    })?;
    let folder = write(&args, &advice)?;
    match args.json {
        true => json::print(&advice)?,
        false => say_text!("{}", report::text(&advice, Some(&folder))),
    }
    Ok(exit_code(cancel.is_cancelled(), true))
}

/// Why duels show nothing that were stopped.
fn stopped() -> Explanation {
    anyhow!("the duels were stopped on request"; remedy: "the same command continues them")
        .explain()
}

/// What counting finds, and what duels show of it.
fn counted_and_proven(
    args: &AdviseArgs,
    origin: &Origin,
    data: &Data,
    (cache, cancel): (&Cache, &Cancel),
    terminal: &mut Terminal,
) -> Result<Advice> {
    let share = |share: f64| match args.no_duels {
        true => args.budget,
        false => args.budget.mul_f64(share),
    };
    let counting = QueryCount {
        capture: capture(args)?,
        server: args.server.as_deref(),
        servers: &args.servers,
        origin,
        data,
        budget: share(COUNTING),
        none_pays: share(NONE_PAYS),
        limits: Limits {
            indexes: args.max_indexes,
            bytes: args.max_index_space,
        },
        levers: &[],
        settings_with_set: true,
    };
    let QueryFindings {
        mut advice,
        server,
        database,
    } = counting.count((cache, cancel), terminal)?;
    let has_set = advice.screened.chosen().next().is_some();
    let setting = advice.setting().map(|one| one.setting.clone());
    let has_stale = !advice.statistics.is_empty();
    if args.no_duels || !(has_set || has_stale || setting.is_some()) {
        return Ok(advice);
    }
    let proving = ProofRun {
        server: &server,
        origin: &in_database(origin, &database),
        capture: capture(args)?,
        folder: folder(args).join("duels"),
        servers: &args.servers,
        cancel,
        alpha: alpha(&advice),
    };
    let begun = Instant::now();
    let for_duels = args
        .budget
        .saturating_sub(Duration::from_secs_f64(advice.seconds));
    let left = || for_duels.saturating_sub(begun.elapsed());
    // What was counted took its time, and is handed over as what it is.
    let why = |error: anyhow::Error| match error.has::<Cancelled>() || cancel.is_cancelled() {
        true => stopped(),
        false => error.explain(),
    };
    if has_stale {
        let of_statistics = match has_set || setting.is_some() {
            true => left().mul_f64(FOR_STATISTICS).max(SHORTEST),
            false => left(),
        };
        match proving.prove_statistics(&advice, of_statistics, terminal) {
            Ok(trial) => advice.take_statistics_trial(trial),
            Err(error) => advice.without_statistics_trial(why(error)),
        }
        if cancel.is_cancelled() {
            return Ok(advice);
        }
    }
    if has_set {
        let time = left();
        let of_setting = time.mul_f64(FOR_SETTING);
        let of_set = match setting.is_some() && of_setting >= SHORTEST {
            true => time - of_setting,
            false => time,
        };
        match proving.prove(&advice, of_set, terminal) {
            Ok(proof) => advice.take_proof(proof),
            Err(error) => {
                // What stood in the way of the one stands in the way of the other.
                advice.without_proof(why(error));
                return Ok(advice);
            }
        }
    }
    let left = left();
    if let Some(setting) = setting.filter(|_| left >= SHORTEST) {
        match proving.prove_setting(&advice, &setting, left, terminal) {
            Ok(trial) => advice.take_setting_trial(trial),
            Err(error) => advice.without_setting_trial(why(error)),
        }
    }
    Ok(advice)
}

/// The capture.
///
/// # Errors
/// None is named.
fn capture(args: &AdviseArgs) -> Result<&Path> {
    args.capture
        .as_deref()
        .context("no capture is named")
        .remedy("name one by --capture, or a pack by --pack")
}

/// Where the files are.
fn folder(args: &AdviseArgs) -> PathBuf {
    let named = args.origin.pack.as_ref().or(args.capture.as_ref());
    let name = named.and_then(|path| path.file_stem()).unwrap_or_default();
    let default = || Path::new("niagara-advice").join(name);
    args.out.clone().unwrap_or_else(default)
}

/// Writes the files; their folder.
fn write(args: &AdviseArgs, advice: &Advice) -> Result<String> {
    let folder = folder(args);
    let deploy = folder.join("deploy");
    std::fs::create_dir_all(&deploy)
        .with_context(|| format!("cannot make {}", deploy.display()))?;
    let json = json::text(advice)?;
    whole_file::write(&folder.join("advice.json"), &json)?;
    write_pages(&folder, &Source::from(advice))?;
    let has_schema = schema::has_schema(advice);
    let files = schema::files(advice).into_iter();
    let files = files.map(|(file, text)| (file, has_schema.then_some(text)));
    let optimizer = ("optimizer.cnf", schema::optimizer(advice));
    for (file, text) in files.chain([optimizer]) {
        let path = deploy.join(file);
        match text {
            Some(text) => whole_file::write(&path, &text)?,
            // Of an earlier run: nothing is handed over now.
            None if path.exists() => std::fs::remove_file(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?,
            None => {}
        }
    }
    Ok(folder.display().to_string())
}
