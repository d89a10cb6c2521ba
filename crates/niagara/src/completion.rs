//! What a shell completes beyond the names of options: servers, workloads, levers, goals and captures.

use std::ffi::OsStr;

use clap::{Command, CommandFactory};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use niagara_load::{WORKLOAD_FILES, WorkloadKind};
use niagara_model::Goal;
use niagara_origin::pack::PACK_ENDING;
use niagara_server::Catalog;

use crate::args::Cli;
use crate::json::Document;

/// The environment variable by which a shell asks for completions.
const VARIABLE: &str = "NIAGARA_COMPLETE";

/// Answers a shell that asks for completions and ends the process then.
pub fn answer_shell() {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// What a shell reads to ask for completions.
pub fn registration(shell: clap_complete::Shell) -> String {
    let shells = Shells::builtins();
    let completer = shells.completer(&shell.to_string());
    let mut script = Vec::new();
    completer
        .expect("every shell that clap names has a completer")
        .write_registration(VARIABLE, "niagara", "niagara", "niagara", &mut script)
        .expect("memory takes it");
    String::from_utf8_lossy(&script).into_owned()
}

/// The command line, with completers by the names of its values.
fn command() -> Command {
    with_completers(Cli::command())
}

fn with_completers(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let names = arg.get_value_names().unwrap_or_default();
            match names.first().and_then(|name| completer(name)) {
                Some(completer) => arg.add(completer),
                None => arg,
            }
        })
        .mut_subcommands(with_completers)
}

/// How a value of this name is completed.
fn completer(value: &str) -> Option<ArgValueCompleter> {
    Some(match value {
        "SERVER" => ArgValueCompleter::new(|typed: &OsStr| or_file(servers(), typed, &[])),
        "PACK" => ArgValueCompleter::new(|typed: &OsStr| files(typed, &[PACK_ENDING])),
        "WORKLOAD" => {
            ArgValueCompleter::new(|typed: &OsStr| or_file(workloads(), typed, &WORKLOAD_FILES))
        }
        "LEVER" => ArgValueCompleter::new(|typed: &OsStr| in_list(&levers(), typed)),
        "A" | "B" | "VARIANT" => ArgValueCompleter::new(|typed: &OsStr| {
            let mut known = levers();
            known.push("base".to_owned());
            known.extend(servers());
            in_list(&known, typed)
        }),
        "GOAL" => ArgValueCompleter::new(|typed: &OsStr| {
            in_list(&Goal::ALL.map(|goal| goal.to_string()), typed)
        }),
        "FORMAT" => ArgValueCompleter::new(|typed: &OsStr| {
            in_list(&Document::ALL.map(|it| it.format().to_owned()), typed)
        }),
        "CAPTURE" => ArgValueCompleter::new(|typed: &OsStr| files(typed, &[".capture"])),
        _ => return None,
    })
}

fn servers() -> Vec<String> {
    Catalog::load(&[]).map_or(Vec::new(), |catalog| {
        catalog.iter().map(|server| server.name.clone()).collect()
    })
}

fn workloads() -> Vec<String> {
    let names = WorkloadKind::names();
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Levers as they are written: `malloc=jemalloc`.
fn levers() -> Vec<String> {
    let levers = niagara_lab::lever::load(&[]).unwrap_or_default();
    levers.iter().map(|lever| lever.spelling()).collect()
}

/// Those of `known` that begin with the last part of a list between commas, behind the parts before.
fn in_list(known: &[String], typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let (before, last) = match typed.rfind(',') {
        Some(comma) => typed.split_at(comma + 1),
        None => ("", typed.as_ref()),
    };
    let fitting = known.iter().filter(|name| name.starts_with(last));
    fitting
        .map(|name| CompletionCandidate::new(format!("{before}{name}")))
        .collect()
}

/// The names that fit, and files.
fn or_file(
    names: Vec<String>,
    typed: &OsStr,
    endings: &'static [&'static str],
) -> Vec<CompletionCandidate> {
    let mut candidates = in_list(&names, typed);
    candidates.extend(files(typed, endings));
    candidates
}

/// Folders, and files with one of these endings; all files where there is none.
fn files(typed: &OsStr, endings: &'static [&'static str]) -> Vec<CompletionCandidate> {
    let fits = move |path: &std::path::Path| {
        let name = path.as_os_str().to_string_lossy();
        endings.is_empty() || endings.iter().any(|ending| name.ends_with(ending))
    };
    PathCompleter::any()
        .filter(move |path| path.is_dir() || fits(path))
        .complete(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(words: &[&str]) -> Vec<String> {
        let words = words.iter().map(Into::into).collect::<Vec<_>>();
        let last = words.len() - 1;
        let found = clap_complete::engine::complete(&mut command(), words, last, None);
        let found = found.expect("completions");
        found
            .iter()
            .map(|candidate| candidate.get_value().to_string_lossy().into_owned())
            .collect()
    }

    #[test]
    fn values_are_completed_by_their_names() {
        assert_eq!(completed(&["niagara", "tune", "mysql-9"]), ["mysql-9.7"]);
        let workloads = completed(&["niagara", "tune", "--workload", "oltp_read_"]);
        assert_eq!(workloads, ["oltp_read_only", "oltp_read_write"]);
        let levers = completed(&[
            "niagara",
            "tune",
            "--only",
            "transport=unix,malloc=jemalloc-h",
        ]);
        assert_eq!(levers, ["transport=unix,malloc=jemalloc-huge"]);
        let variants = completed(&["niagara", "compare", "base", "huge-text,transport=un"]);
        assert_eq!(variants, ["huge-text,transport=unix"]);
        assert_eq!(
            completed(&["niagara", "tune", "--goal", "p9"]),
            ["p95", "p99"]
        );
        assert_eq!(
            completed(&["niagara", "schema", "niagara.si"]),
            ["niagara.side-by-side/1"]
        );
    }

    #[test]
    fn internal_commands_are_not_offered() {
        let commands = completed(&["niagara", ""]);
        assert!(commands.iter().any(|name| name == "tune"), "{commands:?}");
        assert!(
            !commands.iter().any(|name| name.contains("agent")),
            "{commands:?}"
        );
    }

    #[test]
    fn every_shell_has_a_registration() {
        for shell in <clap_complete::Shell as clap::ValueEnum>::value_variants() {
            assert!(registration(*shell).contains(VARIABLE), "{shell}");
        }
    }
}
