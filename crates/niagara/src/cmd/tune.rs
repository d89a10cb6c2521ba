//! `niagara tune`: try every lever that applies, keep what is proven, report.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use niagara_capture::file::CaptureReader;
use niagara_error::{Explain as _, Problem, bail, problem};
use niagara_lab::lever::{self, Lever, Risk};
use niagara_lab::{
    Application, CountedLever, Keep, Question, StudyDescription, TuneQuestion, answer,
    holdout_load, server_name, trains_builds,
};

use niagara_model::{ChosenIndex, Finding, QueriesFirst, TailGuard};
use niagara_queries::words::{headline_of_indexes, tried_first};
use niagara_queries::{Advice, Limits, SettingEffect, schema};
use niagara_server::{Cache, Cancelled, WorkFolder};

use crate::cmd::session::OpenSession;
use crate::counting::QueryCount;
use crate::interrupt::on_ctrl_c;
use crate::load_args::{LoadArgs, WorkloadArg, is_pack};
use crate::ordinary_user::what_root_would_add;
use crate::origin::origin;
use crate::pack;
use crate::progress::Terminal;
use crate::shared_args::{
    ClientArgs, DuelArgs, EXIT_CODES, FleetArgs, HelpArgs, JudgeArgs, OriginArgs, StudyArgs, budget,
};
use crate::shared_host::{SharedHost, SharedHostArgs};

/// The least share of the time from which on statements come before levers. What takes less than a tenth cannot bring more than
/// × 1.11, were it gone; levers bring as much.
const FIRST_SHARE: f64 = 0.1;
/// How long the statements of a capture are counted, before levers are screened.
const COUNTING: Duration = Duration::from_secs(60);
/// Indexes that counting chooses, at most.
const MAX_INDEXES: usize = 20;
/// The lever of these indexes.
const INDEXES: &str = "capture-indexes";

/// Try every lever that applies, keep what is proven, report
///
/// The baseline is the packaged server with its compiled-in defaults, over TCP on the loopback. Levers are known changes:
/// settings, memory allocators, CPU placement. All are tried at once, in duels. In a duel both servers start fresh on
/// identical data, and the load alternates between them in short slices. The levers that help are combined, and fresh duels against the
/// start prove the whole.
///
/// The folder holds report.html, report.md and results.db. If a gain was proven and the checks passed, it also holds deploy/:
/// an option file, a systemd drop-in, and a README to apply, check and undo them. Nothing is applied by itself. Set-up and
/// checks take some minutes in addition to --budget.
///
/// Ctrl-C keeps what was measured; the same command continues from there.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES, disable_help_flag = true)]
#[command(before_help = "Examples:
  niagara tune mariadb-10.11
  niagara tune mariadb-11.8 --workload oltp_read_write --threads 64 --budget 1h
  niagara tune /usr/sbin/mariadbd --app remote --allow durability
  niagara tune mariadb-10.11 --config /etc/mysql/my.cnf --memory 64G --cpus 16
  niagara tune shop.niagara --budget 1h               (your server, by `niagara pack`)
  niagara tune shop.niagara --share-host-with /run/mysqld/mysqld.sock")]
pub struct TuneArgs {
    /// A server of `niagara server list`, the path of an installed one, or a pack [default: that of the pack, else mariadb-10.11]
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Time for all measurements, excluding set-up
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = budget)]
    pub budget: Duration,
    /// Try levers of these risks, too: durability, security, system, schema
    ///
    /// durability: a crash may lose or damage data, or there is no binary log. system: the host has to be prepared, or the
    /// server is tied to it. schema: with a capture and its data, the indexes that its statements need. Levers without a risk, and those that take memory, are always tried.
    #[arg(long, value_name = "RISK", value_delimiter = ',')]
    pub allow: Vec<Risk>,
    /// How the application connects: local (TCP; the socket is tried), socket, remote [default: as captured, else local]
    #[arg(long, value_enum, hide_possible_values = true)]
    pub app: Option<App>,
    /// Try servers built from source, too (minutes to an hour each, once)
    ///
    /// They are the levels of the choice `build` in `niagara levers`. The promoted one has to pass `niagara server check`
    /// before the proof; that takes some minutes in addition to the budget. If it fails, the next one takes its place.
    #[arg(long)]
    pub with_builds: bool,
    /// Time for building servers, before anything is measured
    ///
    /// The best build comes first, then those that add most to it for their time. Builds that are here take none.
    /// Missing compilers are named, with the command that installs them.
    #[arg(long, default_value = "1h", value_name = "TIME", value_parser = budget)]
    pub build_budget: Duration,
    /// Only these levers, comma-separated, such as malloc=jemalloc
    ///
    /// Spellings and ids are those of `niagara levers`.
    #[arg(long, value_delimiter = ',', value_name = "LEVER")]
    pub only: Vec<String>,
    /// Also these levers, which are tried only when named
    #[arg(long, value_delimiter = ',', value_name = "LEVER")]
    pub also: Vec<String>,
    /// All but these levers
    #[arg(long, value_delimiter = ',', value_name = "LEVER")]
    pub without: Vec<String>,
    /// Which promising levers to hand over: proven, screened
    ///
    /// proven: those that fresh duels of their own showed to help. screened: all of them, once they are proven together.
    #[arg(long, value_enum, default_value_t = KeepArg::Proven, hide_possible_values = true, hide_short_help = true)]
    pub keep: KeepArg,
    /// How much worse a tail of latency may become: none, p99, p99=5%, p95=2% [default: p95 and p99 not at all]
    ///
    /// A variant whose percentile is worse than that, beyond its interval, is not recommended.
    #[arg(long, value_name = "GUARD", hide_short_help = true)]
    pub guard: Option<TailGuard>,
    /// Leave out the short profile of the final variant
    #[arg(long, hide_short_help = true)]
    pub no_profile: bool,
    /// Couples of slices in a screening duel [default: by the budget and this machine's noise]
    ///
    /// Usually 10, with slices above 250ms 4.
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=60), hide_short_help = true)]
    pub screen_couples: Option<u32>,
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    pub duel_settings: DuelArgs,
    #[command(flatten)]
    pub origin: OriginArgs,
    #[command(flatten)]
    pub shared_host: SharedHostArgs,
    #[command(flatten)]
    pub client: ClientArgs,
    #[command(flatten)]
    pub fleet: FleetArgs,
    #[command(flatten)]
    pub judge: JudgeArgs,
    #[command(flatten)]
    pub study: StudyArgs,
    #[command(flatten)]
    pub help: HelpArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum App {
    /// On the same machine, over TCP: the Unix socket is tried
    Local,
    /// On the same machine, through the Unix socket already: both sides use it
    Socket,
    /// Elsewhere: transport stays TCP, the machine is the server's
    Remote,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KeepArg {
    /// Levers that fresh duels of their own showed to help
    Proven,
    /// All promising levers, once they are proven together
    Screened,
}

/// What is known of the queries before anything is measured.
#[derive(Default)]
struct Queries {
    finding: Option<Finding>,
    /// The folder of a lever of the indexes that counting has chosen.
    lever: Option<WorkFolder>,
    /// Settings of the optimizer that counting shows to save work.
    settings: Vec<CountedLever>,
}

pub fn run(args: TuneArgs) -> Result<ExitCode> {
    let shared_host = SharedHost::begin(&args.shared_host, &args.fleet.on)?;
    let ended = tune(args, shared_host.as_ref());
    match shared_host {
        Some(shared_host) => shared_host.end(ended),
        None => ended,
    }
}

fn tune(mut args: TuneArgs, shared_host: Option<&SharedHost>) -> Result<ExitCode> {
    if let Some(named) = args.server.as_ref().filter(|named| is_pack(named)) {
        args.origin.pack.get_or_insert(named.into());
    }
    let pack = pack::adopt(&mut args.load, &mut args.origin)?;
    if let Some(shared_host) = shared_host {
        shared_host.adopt(&mut args.origin);
    }
    args.server = Some(pack::server(args.server.as_deref(), pack.as_ref())?);
    if args.app.is_none() && is_on_socket(&args) {
        tell!("the captured clients use the Unix socket: --app socket");
        args.app = Some(App::Socket);
    }
    // The lever of the counted indexes is not there before they are counted.
    let mut question = question(&args, &levers_but_indexes)?;
    let queries = queries(&args, &question, shared_host)?;
    if let Some(folder) = &queries.lever {
        args.study.levers.push(folder.path().to_owned());
        question = self::question(&args, &<[String]>::to_vec)?;
    } else if [&args.only, &args.also]
        .iter()
        .any(|ids| ids.iter().any(|id| id == INDEXES))
    {
        bail!(no_indexes(&args));
    }
    if let Question::Tune(tune) = &mut question.question {
        tune.counted = queries.settings;
    }
    question.findings.extend(queries.finding);
    question
        .findings
        .extend(shared_host.map(SharedHost::finding));
    let workload = question.workloads[0].load.workload.name();
    let name = format!("{}-{workload}", question.server);
    let mut terminal = Terminal::new(question.budget);
    let opened = OpenSession::open(
        &question,
        &name,
        &args.study,
        &args.client,
        &args.fleet,
        &mut terminal,
    )?;
    if let Some(shared_host) = shared_host {
        shared_host.ends(opened.cancel());
    }
    let machine = opened.inventory.fingerprint().ok();
    if let Some(text) = machine.and_then(|machine| what_root_would_add(&machine)) {
        terminal.line(&text);
    }
    let answered = answer(&question, &opened.session(), &mut terminal)?;
    drop(terminal);
    opened.show(&question, &answered, &args.study)
}

/// Whether the load is a capture whose clients came by the server's socket.
fn is_on_socket(args: &TuneArgs) -> bool {
    let WorkloadArg::File(path) = args.load.workload() else {
        return false;
    };
    // What is no capture is told where the load is read.
    let capture = CaptureReader::open(&path);
    args.client.client_host.is_none()
        && capture.is_ok_and(|capture| capture.summary().ways.is_socket())
}

/// Names of levers without that of the counted indexes.
fn levers_but_indexes(names: &[String]) -> Vec<String> {
    let names = names.iter().filter(|name| *name != INDEXES);
    names.cloned().collect()
}

/// Why there is no lever of indexes, though it was named, and what to do.
fn no_indexes(args: &TuneArgs) -> Problem {
    match args.allow.contains(&Risk::Schema) {
        true => problem!(
            "counting has chosen no index for this capture, so there is no capture-indexes to try";
            remedy: "niagara advise tells what the statements do; leave capture-indexes out"
        ),
        false => problem!(
            "capture-indexes are the indexes that counting chooses, and nothing was counted";
            remedy: "give --allow schema, with --capture and --data"
        ),
    }
}

/// Counts the work of a capture's statements before any lever is tried, where there is a capture with its data.
///
/// # Errors
/// Stopped; a folder that cannot be written.
fn queries(
    args: &TuneArgs,
    question: &StudyDescription,
    shared_host: Option<&SharedHost>,
) -> Result<Queries> {
    let capture = question.workloads[0].load.workload.capture();
    let (Some(_), Some(data)) = (capture, &question.origin.data) else {
        return Ok(Queries::default());
    };
    let WorkloadArg::File(path) = &args.load.workload() else {
        return Ok(Queries::default());
    };
    let cancel = on_ctrl_c()?;
    if let Some(shared_host) = shared_host {
        shared_host.ends(&cancel);
    }
    let cache = Cache::open()?.stopping_with(cancel.clone());
    let counting = QueryCount {
        capture: path,
        server: Some(&question.server),
        servers: &args.study.servers,
        origin: &question.origin,
        data,
        budget: COUNTING,
        none_pays: COUNTING,
        limits: Limits {
            indexes: MAX_INDEXES,
            bytes: None,
        },
        levers: &args.study.levers,
        // Where no index is tried, a setting has to do without.
        settings_with_set: args.allow.contains(&Risk::Schema),
    };
    let mut terminal = Terminal::new(COUNTING);
    let counted = counting.count((&cache, &cancel), &mut terminal);
    terminal.finish();
    let advice = match counted {
        Ok(counted) => counted.advice,
        Err(_) if cancel.is_cancelled() => return Err(Cancelled.into()),
        // Levers are tried all the same.
        Err(error) => {
            let told = error.explain();
            terminal.line(&format!("the capture's statements are not counted: {told}"));
            return Ok(Queries::default());
        }
    };
    let finding = finding(&advice);
    terminal.line(&match &finding {
        Some(finding) => finding.to_string(),
        None => format!("  statements: {}", headline_of_indexes(&advice)),
    });
    let is_tried = |one: &&SettingEffect| {
        let id = &one.setting.lever;
        args.only.is_empty() && !args.without.contains(id)
    };
    for one in advice.screened.settings.iter().filter(is_tried) {
        terminal.line(&format!("  statements: {}", tried_first(one)));
    }
    let lever = match args.allow.contains(&Risk::Schema) {
        true => lever_of(&advice, &cache)?,
        false => None,
    };
    let settings = advice.screened.settings.into_iter();
    let settings = settings.map(|one| CountedLever {
        lever: one.setting.lever,
        saves: one.saves,
    });
    Ok(Queries {
        finding,
        lever,
        settings: settings.collect(),
    })
}

/// That queries come first, where they do.
fn finding(advice: &Advice) -> Option<Finding> {
    let leading = advice
        .leading()
        .filter(|_| advice.finding.share >= FIRST_SHARE)?;
    let rows = leading.work.map_or(0.0, |work| work.rows);
    let indexes = schema::set_columns(advice).into_iter();
    let indexes = indexes.map(|(table, columns)| ChosenIndex { table, columns });
    Some(Finding::QueriesFirst(QueriesFirst {
        share: advice.finding.share,
        of_time: advice.finding.of_time,
        digests: advice.finding.digests,
        digest: leading.digest.clone(),
        rows_examined: rows,
        rows_returned: leading.rows_returned.unwrap_or(0.0),
        indexes: indexes.collect(),
        saved: advice.saved(),
    }))
}

/// A lever of the indexes that counting has chosen, as a file in a folder of its own.
fn lever_of(advice: &Advice, cache: &Cache) -> Result<Option<WorkFolder>> {
    let set = schema::set_statements(advice);
    if set.is_empty() {
        return Ok(None);
    }
    // A text of JSON is one of TOML.
    let statements = set
        .iter()
        .map(|(_, _, statement)| serde_json::to_string(statement));
    let statements: Vec<String> = statements.collect::<Result<_, _>>()?;
    let undo = schema::set_undo(advice);
    let undo = undo.iter().map(serde_json::to_string);
    let undo: Vec<String> = undo.collect::<Result<_, _>>()?;
    let text = format!(
        "title = \"indexes for the captured statements\"\ntheme = \"tables and indexes\"\nrisk = \"schema\"\n\
         promise = \"high\"\nwhy = {}\n\
         source = \"niagara advise\"\n[change]\nsql = [\n  {}\n]\n[deploy]\nundo = [\n  {}\n]\n",
        serde_json::to_string(&schema::set_in_words(advice))?,
        statements.join(",\n  "),
        undo.join(",\n  ")
    );
    let folder = cache.work_folder("levers")?;
    let path = folder.path().join(format!("{INDEXES}.toml"));
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(Some(folder))
}

/// Refuses levers that take from the live server of the same host: who names one is told before anything is measured.
///
/// # Errors
/// One of them is named.
fn refuse_greedy(tune: &TuneQuestion, levers: &[Lever]) -> Result<()> {
    let is_named = |lever: &&Lever| {
        let mut named = tune.only.iter().chain(&tune.also);
        named.any(|id| id == lever.id())
    };
    let mut greedy = levers.iter().filter(|lever| lever.takes_from_others());
    if let Some(lever) = greedy.find(is_named) {
        bail!(
            "{} takes priority or memory from the live server of this host", lever.spelling();
            remedy: "leave it out, or tune on another machine"
        );
    }
    Ok(())
}

/// What the arguments ask. `named` keeps those of the levers they name that are known by now.
///
/// # Errors
/// A lever that does not exist; a load that means nothing.
fn question(args: &TuneArgs, named: &dyn Fn(&[String]) -> Vec<String>) -> Result<StudyDescription> {
    let levers = lever::load(&args.study.levers)?;
    if matches!(args.keep, KeepArg::Screened) && args.guard.is_some_and(|of| of != TailGuard::Off) {
        bail!(
            "--guard leaves out the lever that makes a tail worse, and --keep screened leaves none out";
            remedy: "give one of them"
        );
    }
    let tune = TuneQuestion {
        allow: args.allow.clone(),
        app: match args.app.unwrap_or(App::Local) {
            App::Local => Application::Local,
            App::Socket => Application::Socket,
            App::Remote => Application::Remote,
        },
        only: named(&args.only),
        also: named(&args.also),
        without: named(&args.without),
        counted: Vec::new(),
        shares_host: args.shared_host.share_host_with.is_some(),
        with_builds: args.with_builds,
        build_seconds: args.build_budget.as_secs_f64(),
        screen_couples: args.screen_couples,
        keep: match args.keep {
            KeepArg::Proven => Keep::Proven,
            KeepArg::Screened => Keep::Screened,
        },
        guard: args.guard.unwrap_or_default(),
    }
    .with_ids(&levers)?;
    if args.app == Some(App::Socket) && args.client.client_host.is_some() {
        bail!(
            "--app socket: with --client-host the load comes from another machine, where the server's socket is not";
            remedy: "leave out one of them"
        );
    }
    if tune.shares_host {
        refuse_greedy(&tune, &levers)?;
    }
    let mut load = args.load.load()?;
    if trains_builds(&tune, &levers) {
        load = holdout_load(load)?;
    }
    args.judge.check_job(&load)?;
    Ok(StudyDescription {
        goal: args.judge.goal,
        rate: args.judge.rate()?,
        alpha: args.judge.alpha,
        min_effect: args.judge.min_effect,
        seed: args.study.seed,
        budget: args.budget,
        couples: args.duel_settings.couples,
        slice: args.duel_settings.slice,
        warm_up: args.duel_settings.warm_up,
        disturbance: args.duel_settings.disturbance,
        origin: origin(&args.origin)?,
        client_host: args.client.client_host.clone(),
        profile: !args.no_profile,
        ..StudyDescription::of(
            server_name(args.server.as_deref().unwrap_or(pack::DEFAULT_SERVER))?,
            load,
            Question::Tune(tune),
        )
    })
}
