//! `niagara tune`: try every lever that applies, keep what is proven, report.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use niagara_lab::lever::{self, Risk};
use niagara_lab::{
    Question, StudyDescription, TuneQuestion, answer, judged_apart, server_name, trains_builds,
};

use crate::cmd::session::OpenSession;
use crate::load_args::LoadArgs;
use crate::ordinary_user::what_root_would_add;
use crate::origin::origin;
use crate::progress::Terminal;
use crate::shared_args::{
    ClientArgs, DuelArgs, EXIT_CODES, FleetArgs, HelpArgs, JudgeArgs, OriginArgs, StudyArgs, budget,
};

/// Try every lever that applies, keep what is proven, report
///
/// The baseline is the packaged server with its compiled-in defaults, over TCP on the loopback. Levers are known changes:
/// settings, mallocs, CPU placement. All are tried at once, in duels. In a duel both servers start fresh on identical data,
/// and the load alternates between them in short slices. The levers that help are combined, and fresh duels against the
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
  niagara tune mariadb-10.11 --config /etc/mysql/my.cnf --memory 64G --cpus 16")]
pub struct TuneArgs {
    /// A server of `niagara server list`, or the path of an installed one
    #[arg(value_name = "SERVER", default_value = "mariadb-10.11")]
    pub server: String,
    /// Time for all measurements, excluding set-up
    #[arg(long, default_value = "10m", value_name = "TIME", value_parser = budget)]
    pub budget: Duration,
    /// Try levers of these risks, too: durability, security, system
    ///
    /// durability: a crash may lose or damage data, or there is no binary log. system: the host has to be prepared, or the
    /// server is tied to it. Levers without a risk, and those that take memory, are always tried.
    #[arg(long, value_name = "RISK", value_delimiter = ',')]
    pub allow: Vec<Risk>,
    /// Where the application runs: remote leaves out the Unix socket
    #[arg(long, value_enum, default_value_t = App::Local, hide_possible_values = true)]
    pub app: App,
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
    /// These levers, too, which are only tried by name
    #[arg(long, value_delimiter = ',', value_name = "LEVER")]
    pub also: Vec<String>,
    /// All but these levers
    #[arg(long, value_delimiter = ',', value_name = "LEVER")]
    pub without: Vec<String>,
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
    /// On the same machine: a Unix socket can be used
    Local,
    /// Elsewhere: transport stays TCP, the machine is the server's
    Remote,
}

pub fn run(args: TuneArgs) -> Result<ExitCode> {
    let question = question(&args)?;
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
    let machine = opened.inventory.fingerprint().ok();
    if let Some(text) = machine.and_then(|machine| what_root_would_add(&machine)) {
        terminal.line(&text);
    }
    let answered = answer(&question, &opened.session(), &mut terminal)?;
    drop(terminal);
    opened.show(&question, &answered, &args.study)
}

/// What the arguments ask.
///
/// # Errors
/// A lever that does not exist; a load that means nothing.
fn question(args: &TuneArgs) -> Result<StudyDescription> {
    let levers = lever::load(&args.study.levers)?;
    let tune = TuneQuestion {
        allow: args.allow.clone(),
        app_local: args.app == App::Local,
        only: args.only.clone(),
        also: args.also.clone(),
        without: args.without.clone(),
        with_builds: args.with_builds,
        build_seconds: args.build_budget.as_secs_f64(),
        screen_couples: args.screen_couples,
    }
    .with_ids(&levers)?;
    let mut load = args.load.load()?;
    if trains_builds(&tune, &levers) {
        load = judged_apart(load)?;
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
        ..StudyDescription::of(server_name(&args.server)?, load, Question::Tune(tune))
    })
}
