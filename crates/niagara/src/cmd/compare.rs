//! `niagara compare A B`: is B faster than A?

use std::process::ExitCode;

use anyhow::{Result, bail};
use niagara_lab::lever::Lever;
use niagara_lab::{Protocol, Question, StudyDescription, VariantRecipe, server_name};

use crate::args::CompareArgs;
use crate::cmd::ask::{Asking, ask, known};
use crate::origin::origin;
use crate::setting::load;

pub fn run(args: CompareArgs) -> Result<ExitCode> {
    let (levers, servers) = known(&args.study)?;
    let question = question(&args, &levers, &servers)?;
    let asking = Asking {
        name: &format!("{}-vs-{}", args.a, args.b),
        study: &args.study,
        client: args.client.clone(),
        fleet: &args.fleet,
    };
    ask(&question, &asking, |_| None)
}

/// What the arguments ask.
///
/// # Errors
/// A variant or a load that means nothing; a protocol that the load cannot have.
fn question(args: &CompareArgs, levers: &[Lever], servers: &[String]) -> Result<StudyDescription> {
    let load = load(&args.load)?;
    let is_job = load.workload.is_job();
    // A single long job cannot be sliced: its runs meet in pairs.
    let protocol = match Protocol::from(args.protocol) {
        Protocol::Duel if is_job => Protocol::Pair,
        Protocol::Trimmed if is_job => bail!(
            "{} is a job, and jobs are compared by pairs\nremedy: leave out --protocol",
            load.workload.name()
        ),
        protocol => protocol,
    };
    args.judge.check_job(&load)?;
    let sides = [
        VariantRecipe::of_text(&args.a, levers, servers)?,
        VariantRecipe::of_text(&args.b, levers, servers)?,
    ];
    let asked = Question::Compare {
        sides: Box::new(sides),
        to_the_end: args.to_the_end,
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
        ..StudyDescription::of(server_name(&args.server)?, load, asked)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;
    use niagara_lab::study_file::{Known, read_study};
    use niagara_lab::{StudySize, compare_plan, couples_of};
    use niagara_store::About;

    use super::*;
    use crate::args::{Cli, Command};

    /// What this command line asks.
    fn asked(arguments: &[&str]) -> StudyDescription {
        let line = ["niagara", "compare"].iter().chain(arguments);
        let Some(Command::Compare(args)) = Cli::try_parse_from(line).expect("valid").command else {
            panic!("a comparison");
        };
        let (levers, servers) = known(&args.study).expect("shipped");
        question(&args, &levers, &servers).expect("a question")
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
}
