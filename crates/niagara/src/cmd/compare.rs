//! `niagara compare A B`: is B faster than A?

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use niagara_error::{Remedy as _, bail};
use niagara_lab::lever::Lever;
use niagara_lab::{
    Found, Protocol, Question, StudyDescription, VariantRecipe, answer, server_name,
};
use niagara_origin::pack::PackFolder;
use niagara_report::Format;

use crate::cmd::before_after;
use crate::cmd::report::Shown;
use crate::cmd::session::{OpenSession, known};
use crate::fail_if::FailIf;
use crate::load_args::LoadArgs;
use crate::origin::origin;
use crate::pack;
use crate::progress::Terminal;
use crate::shared_args::{
    ClientArgs, DuelArgs, EXIT_CODES, FleetArgs, HelpArgs, JudgeArgs, OriginArgs, StudyArgs,
    budget, printed_format,
};

/// Is B faster than A?
///
/// A and B are variants: a server's name (`mysql-9.7`), the path of a server's binary, `base`
/// (the server named by --server as packaged), or changes to it: levers (`malloc=jemalloc`,
/// `transport=unix`, see `niagara levers`), variables (`cfg.innodb_buffer_pool_size=1G`) and
/// statements that change the data (`sql=./add-index.sql`), joined by commas; `SERVER+CHANGES` puts both together. The answer is the throughput of B over
/// A with an interval that holds over restarts of both servers.
#[derive(Debug, Args)]
#[command(after_help = format!("{EXIT_CODES} 3 if a condition of --fail-if holds."), disable_help_flag = true)]
#[command(before_help = "Examples:
  niagara compare mariadb-10.11 mysql-9.7 --workload oltp_read_write --threads 64
  niagara compare base malloc=jemalloc,transport=unix
  niagara compare base cfg.innodb_flush_neighbors=0 --workload oltp_write_only --min-effect 1%
  niagara compare base sql=./add-index.sql --workload oltp_read_only
  niagara compare base base --max-duels 12            (what noise looks like)
  niagara compare mariadb-10.11 ./build/sql/mariadbd --fail-if 'slower>2%' --format github")]
pub struct CompareArgs {
    /// The baseline: `base`, a server, or changes: malloc=jemalloc,cfg.NAME=VALUE (see `niagara levers`)
    #[arg(value_name = "A", required_unless_present = "before")]
    pub a: Option<String>,
    /// The candidate, written in the same way
    #[arg(value_name = "B", required_unless_present = "before")]
    pub b: Option<String>,
    /// Instead of A and B: production's traffic before a change, a capture
    ///
    /// Mean durations are compared by digest. That is observed, no experiment: nothing is started.
    #[arg(long, value_name = "CAPTURE", requires = "after", conflicts_with_all = ["a", "b"], hide_short_help = true)]
    pub before: Option<PathBuf>,
    /// Production's traffic after it
    #[arg(
        long,
        value_name = "CAPTURE",
        requires = "before",
        hide_short_help = true
    )]
    pub after: Option<PathBuf>,
    /// The server meant by `base` and by changes without a server [default: that of --pack, else mariadb-10.11]
    #[arg(long)]
    pub server: Option<String>,
    /// Time for all measurements, excluding set-up
    #[arg(long, default_value = "10m", value_parser = budget)]
    pub budget: Duration,
    /// Stop after at most this many duels
    #[arg(long, default_value_t = 44, value_parser = max_duels)]
    pub max_duels: usize,
    /// Continue after a verdict, for a narrower interval
    #[arg(long)]
    pub to_the_end: bool,
    /// How A and B meet: duel, pair or trimmed
    ///
    /// duel: both alive, load alternating. pair: one after the other, order by coin. trimmed (2008): five runs each, best and
    /// worst dropped, no interval, no verdict.
    #[arg(long, value_enum, default_value_t = ProtocolArg::Duel, hide_short_help = true)]
    pub protocol: ProtocolArg,
    /// Exit with 3 if the condition holds: slower>2% (proven), maybe-slower>2% (not excluded)
    ///
    /// slower: the whole interval lies below, so that noise fails a pipeline as seldom as --alpha says. maybe-slower: the interval
    /// does not exclude it; an undecided comparison fails, too. A server B that fails again and again is slower. Duels continue after a
    /// verdict, so that the interval is as narrow as --budget allows. May be repeated.
    #[arg(long, value_name = "CONDITION", conflicts_with = "before")]
    pub fail_if: Vec<FailIf>,
    /// How the result is printed
    #[arg(long, value_parser = printed_format(), default_value = Format::Text.name(), conflicts_with_all = ["json", "before"])]
    pub format: Format,
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
pub enum ProtocolArg {
    Duel,
    Pair,
    Trimmed,
}

impl From<ProtocolArg> for Protocol {
    fn from(arg: ProtocolArg) -> Self {
        match arg {
            ProtocolArg::Duel => Self::Duel,
            ProtocolArg::Pair => Self::Pair,
            ProtocolArg::Trimmed => Self::Trimmed,
        }
    }
}

fn max_duels(text: &str) -> Result<usize, String> {
    text.parse::<usize>()
        .ok()
        .filter(|value| (1..=128).contains(value))
        .ok_or_else(|| "expected a number of duels from 1 to 128".to_owned())
}

pub fn run(mut args: CompareArgs) -> Result<ExitCode> {
    if let (Some(before), Some(after)) = (&args.before, &args.after) {
        return before_after::run(before, after, args.judge.alpha, args.study.json);
    }
    let pack = pack::adopt(&mut args.load, &mut args.origin)?;
    let (levers, servers) = known(&args.study)?;
    let question = question(&args, pack.as_ref(), &levers, &servers)?;
    let name = format!("{}-vs-{}", side(&args.a)?, side(&args.b)?);
    let mut terminal = Terminal::new(question.budget);
    let opened = OpenSession::open(
        &question,
        &name,
        &args.study,
        &args.client,
        &args.fleet,
        &mut terminal,
    )?;
    let answered = answer(&question, &opened.session(), &mut terminal)?;
    drop(terminal);
    let comparison = match &answered.found {
        Found::Summary(summary) => summary.comparison(),
        _ => None,
    };
    let failed = comparison.and_then(|comparison| {
        let mut conditions = args.fail_if.iter();
        conditions.find(|condition| condition.holds(comparison))
    });
    let mut shown = Shown {
        failed: failed.copied(),
        ..Shown::asked(&args.study)
    };
    if !args.study.json {
        shown.format = args.format;
    }
    let code = opened.show_as(&question, &answered, &args.study, shown)?;
    match failed {
        // A comparison that B ended by failing is not complete, and it holds.
        Some(condition) if !opened.cancel().is_cancelled() => {
            tell!("niagara: --fail-if {condition} holds");
            Ok(FailIf::exit_code())
        }
        _ => Ok(code),
    }
}

/// A side of the comparison.
///
/// # Errors
/// It is not given.
fn side(given: &Option<String>) -> Result<&str> {
    given
        .as_deref()
        .context("A and B are wanted")
        .remedy("niagara compare A B")
}

/// What the arguments ask.
///
/// # Errors
/// A variant or a load that means nothing; a protocol that the load cannot have; a pack of a server that there is none to fetch of.
fn question(
    args: &CompareArgs,
    pack: Option<&PackFolder>,
    levers: &[Lever],
    servers: &[String],
) -> Result<StudyDescription> {
    let load = args.load.load()?;
    let is_job = load.workload.is_job();
    // A single long job cannot be sliced: its runs meet in pairs.
    let protocol = match Protocol::from(args.protocol) {
        Protocol::Duel if is_job => Protocol::Pair,
        Protocol::Trimmed if is_job => bail!(
            "{} is a job, and jobs are compared by pairs", load.workload.name();
            remedy: "leave out --protocol"
        ),
        Protocol::Trimmed if !args.fail_if.is_empty() => bail!(
            "--fail-if goes by an interval, and --protocol trimmed has none";
            remedy: "leave out one of them"
        ),
        protocol => protocol,
    };
    args.judge.check_job(&load)?;
    let sides = [
        VariantRecipe::of_text(side(&args.a)?, levers, servers)?,
        VariantRecipe::of_text(side(&args.b)?, levers, servers)?,
    ];
    // A server that no side speaks of is not set up, nor is there one to fetch for every pack.
    let named = match &sides {
        [
            VariantRecipe {
                server: Some(a), ..
            },
            VariantRecipe {
                server: Some(_), ..
            },
        ] => a.clone(),
        _ => server_name(&pack::server(args.server.as_deref(), pack)?)?,
    };
    let asked = Question::Compare {
        sides: Box::new(sides),
        // A verdict excludes 1; a condition asks for more of the interval.
        to_the_end: args.to_the_end || !args.fail_if.is_empty(),
    };
    Ok(StudyDescription {
        protocol,
        goal: args.judge.goal,
        rate: args.judge.rate()?,
        alpha: args.judge.alpha,
        min_effect: args.judge.min_effect,
        seed: args.study.seed,
        budget: args.budget,
        duels: args.max_duels,
        couples: args.duel_settings.couples,
        slice: args.duel_settings.slice,
        warm_up: args.duel_settings.warm_up,
        disturbance: args.duel_settings.disturbance,
        origin: origin(&args.origin)?,
        client_host: args.client.client_host.clone(),
        ..StudyDescription::of(named, load, asked)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;
    use niagara_lab::study_file::{Known, read_study};
    use niagara_lab::{StudySize, compare_plan, couples_of};
    use niagara_model::About;

    use super::*;
    use crate::args::{Cli, Command};

    /// What this command line asks.
    fn asked(arguments: &[&str]) -> StudyDescription {
        let line = ["niagara", "compare"].iter().chain(arguments);
        let Some(Command::Compare(args)) = Cli::try_parse_from(line).expect("valid").command else {
            panic!("a comparison");
        };
        let (levers, servers) = known(&args.study).expect("shipped");
        question(&args, None, &levers, &servers).expect("a question")
    }

    /// What a study file with these lines asks, its words left out.
    fn written(lines: &str) -> StudyDescription {
        let (levers, servers) = (
            niagara_lab::lever::load(&[]).expect("shipped"),
            niagara_server::Catalog::load(&[]).expect("shipped"),
        );
        let text = format!(
            "kind = \"compare\"\ntitle = \"t\"\nasked = \"a\"\nchanged = \"c\"\nmeasured = \"m\"\n{lines}"
        );
        let known = Known {
            levers: &levers,
            servers: &crate::cmd::study::server_names(&servers),
            folder: Path::new(""),
        };
        let file = read_study("x.toml", &text, &known).expect("valid");
        StudyDescription {
            about: About::default(),
            profile: false,
            ..file.in_size(StudySize::Small).clone()
        }
    }

    /// All that decides what is measured: the study's key, and with it the looks and seeds, come from the description.
    fn assert_same_plan(one: &StudyDescription, other: &StudyDescription) {
        let of = |question: &StudyDescription| {
            let couples = couples_of(question, None);
            let sides = ["a", "b"].map(str::to_owned);
            (couples, compare_plan(question, sides, couples, None))
        };
        assert_eq!(of(one), of(other));
        assert_eq!(one.duel_settings(), other.duel_settings());
        assert_eq!(
            StudyDescription {
                profile: false,
                ..one.clone()
            },
            *other
        );
    }

    #[test]
    fn condition_of_a_pipeline_has_all_of_the_time() {
        let to_the_end = |arguments: &[&str]| match asked(arguments).question {
            Question::Compare { to_the_end, .. } => to_the_end,
            other => panic!("{other:?}"),
        };
        assert!(!to_the_end(&["base", "base"]));
        assert!(to_the_end(&["base", "base", "--fail-if", "slower>2%"]));
    }

    #[test]
    fn the_same_question_in_a_file_and_on_the_command_line_gives_the_same_plan() {
        let budget = "budget = \"20m\"\nseed = 7\nthreads = 16\n";
        let short = asked(&[
            "base",
            "malloc=jemalloc,cfg.innodb_flush_neighbors=0",
            "--threads",
            "16",
            "--workload",
            "oltp_point_select",
            "--table-size",
            "5000",
            "--budget",
            "20m",
            "--seed",
            "7",
        ]);
        let file = written(&format!(
            "a = \"base\"\nb = \"malloc=jemalloc,cfg.innodb_flush_neighbors=0\"\n{budget}\
             [workload]\nname = \"oltp_point_select\"\noptions = {{ table_size = 5000, tables = 1 }}\n"
        ));
        assert_same_plan(&short, &file);
        // The budget decides, not the number for any budget.
        assert_ne!(couples_of(&short, None), short.duel_settings().couples);

        let asked = asked(&[
            "mariadb-10.11",
            "mysql-9.7",
            "--protocol",
            "pair",
            "--couples",
            "4",
            "--max-duels",
            "12",
            "--min-effect",
            "1%",
            "--threads",
            "8",
            "--workload",
            "oltp_read_only",
            "--table-size",
            "5000",
        ]);
        let file = written(
            "a = \"mariadb-10.11\"\nb = \"mysql-9.7\"\nprotocol = \"pair\"\ncouples = 4\nduels = 12\n\
             min_effect = \"1%\"\nthreads = 8\n[workload]\nname = \"oltp_read_only\"\n\
             options = { table_size = 5000, tables = 1 }\n",
        );
        assert_same_plan(&asked, &file);
        assert_eq!(couples_of(&file, None), 4);
    }

    /// A pair is two whole runs, and longer than a duel of as many couples; how long a job takes nobody knows.
    #[test]
    fn how_long_a_pair_takes_is_not_told_by_what_a_duel_takes() {
        let seconds = |question: &StudyDescription| {
            let sides = ["a", "b"].map(str::to_owned);
            compare_plan(question, sides, 14, None).duel_seconds
        };
        let of = |protocol: &str| {
            let lines = format!(
                "a = \"base\"\nb = \"base\"\nwarm_up = \"3s\"\nprotocol = \"{protocol}\"\n"
            );
            let question = written(&lines);
            let settings = question.duel_settings();
            let planned = niagara_lab::unit_seconds(question.protocol, &settings, 14);
            assert_eq!(seconds(&question), Some(planned), "{protocol}");
            planned
        };
        assert!(of("pair") > of("duel") && of("trimmed") > of("duel"));
        let job = written("a = \"base\"\nb = \"base\"\n[workload]\nname = \"report\"\n");
        assert_eq!(seconds(&job), None);
    }
}
