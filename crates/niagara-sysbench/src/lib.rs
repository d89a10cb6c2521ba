//! sysbench's face: sysbench's own command line and report, for scripts and parsers that exist.
//!
//! What sysbench 1.0.20 does was taken from running it: options, output, exit codes. `command_line`, `values`,
//! `settings`, `report` and `buckets` are pure; `load` and `tables` talk to servers.

#![cfg_attr(test, allow(clippy::unwrap_used))]
// They panic when the reader has gone.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod buckets;
mod command_line;
mod config_file;
mod failure;
mod help;
mod job;
mod load;
mod log;
mod option;
mod progress;
mod report;
mod script;
mod servers;
mod settings;
mod successor;
mod tables;
mod tally;
mod values;
#[cfg(test)]
mod without_server;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use niagara_error::{Explanation, problem, remedy_line};
use niagara_load::{SysbenchTest, WorkloadBuilder, WorkloadSpec};
use niagara_script::{SHIPPED_FOLDERS, find_module, is_shipped};

use command_line::CommandLine;
pub use job::OnInterrupt;

use failure::Failure;
use job::Job;
use log::{Log, print, remark};
use settings::Settings;
use successor::{OLD_TEST, successor};

/// What `--version` says: the sysbench whose command line this is. Programs compare it.
const VERSION_LINE: &str = "sysbench 1.0.20";

/// What a run says first.
const VERSION: &str = concat!(
    "sysbench 1.0.20 (command line of; this is niagara ",
    env!("CARGO_PKG_VERSION"),
    ")"
);

/// Runs what the words say, which are those of a call of sysbench behind its name, and prints what sysbench would.
/// `on_interrupt` is called once the load is about to begin.
pub fn run(words: &[OsString], on_interrupt: OnInterrupt<'_>) -> ExitCode {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match dispatch(&words, on_interrupt) {
        Ok(code) => code,
        Err(failure) => {
            // Whatever the verbosity is.
            failure.say(Log {
                verbosity: log::Level::Fatal as i32,
            });
            ExitCode::FAILURE
        }
    }
}

fn dispatch(words: &[String], on_interrupt: OnInterrupt<'_>) -> Result<ExitCode, Failure> {
    let mut line = command_line::parse(words, &|path| std::fs::read_to_string(path))?;
    if line.old_test_option {
        remark(
            "WARNING: the --test option is deprecated. You can pass a script name or path on the command line without \
             any options.",
        );
    }
    if line.values.flag("help") {
        print(&help::general());
        return Ok(ExitCode::SUCCESS);
    }
    if line.values.flag("version") {
        print(&format!("{VERSION_LINE}\n"));
        return Ok(ExitCode::SUCCESS);
    }
    let settings = Settings::read(&line.values)?;
    let log = Log {
        verbosity: settings.verbosity,
    };
    // Whatever the verbosity is: as with sysbench, the log begins after them.
    let before = Log {
        verbosity: settings.verbosity.max(log::Level::Warning as i32),
    };
    for (level, remark) in &settings.remarks {
        before.say(*level, remark);
    }
    log.notice(&format!("{VERSION}\n"));
    if line.test.as_deref() == Some(OLD_TEST) {
        return Err(refusal_of_old_test(words));
    }
    let kind = match test(line.test.as_deref(), log)? {
        Test::Own(kind) => kind,
        Test::Script(path) => {
            return script::dispatch(&path, words, line, settings, log, on_interrupt);
        }
    };
    let Some(command) = line.command.clone() else {
        return Err(Failure::fatal(format!(
            "Command is required. Supported commands: {}",
            commands(kind)
        )));
    };
    let mut options = option::of_test(kind);
    if kind != SysbenchTest::BulkInsert {
        options.extend_from_slice(option::OLTP_FOREIGN);
    }
    line.read_test_options(&[&options])?;
    if command == "help" {
        if options.is_empty() {
            return Err(Failure::usage(format!(
                "'{kind}' test does not implement the 'help' command."
            )));
        }
        print(&help::test(kind));
        return Ok(ExitCode::SUCCESS);
    }
    servers::refuse(&line.values)?;
    servers::refuse_dry_run(&line.values)?;
    let endpoints = servers::endpoints(&line.values)?;
    let job = Job {
        spec: workload(kind, &line)?,
        endpoints,
        ignored_errors: servers::ignored_errors(&line.values)?,
        settings,
        log,
    };
    match command.as_str() {
        "prepare" => tables::prepare(&job),
        "cleanup" => tables::clean_up(&job),
        "prewarm" | "warmup" if kind != SysbenchTest::BulkInsert => tables::prewarm(&job),
        "run" => load::run(&job, on_interrupt, None),
        _ => Err(Failure::usage(format!("Unknown command: {command}"))),
    }
}

fn commands(kind: SysbenchTest) -> &'static str {
    match kind {
        SysbenchTest::BulkInsert => "prepare, run, cleanup, help",
        _ => "prepare, prewarm, run, cleanup, help",
    }
}

/// Tests of sysbench that ask nothing of a database server.
const MACHINE_TESTS: [&str; 5] = ["cpu", "fileio", "memory", "mutex", "threads"];

/// What a test's name means.
enum Test {
    /// A workload of Niagara's own.
    Own(SysbenchTest),
    /// A script, by its path.
    Script(String),
}

fn test(name: Option<&str>, log: Log) -> Result<Test, Failure> {
    let Some(name) = name.filter(|name| *name != "-") else {
        return Ok(Test::Script("-".into()));
    };
    if MACHINE_TESTS.contains(&name) {
        let told = Explanation::from(problem!(
            "'{name}' measures the machine, not a database server: niagara has no such test.";
            remedy: "run the test of sysbench itself (package sysbench); for files fio is another choice"
        ));
        return Err(Failure::usage(told.to_string()));
    }
    let sysbench = |name: &str| name.parse::<SysbenchTest>().ok();
    if let Some(kind) = sysbench(name) {
        let Some(script) = changed_script(name, &find_module, &is_shipped) else {
            return Ok(Test::Own(kind));
        };
        log.notice(&format!(
            "{} is run, as sysbench would, rather than Niagara's own {kind}.\n",
            script.display()
        ));
        return Ok(Test::Script(name.to_owned()));
    }
    let path = Path::new(name);
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let is_script = path.extension().is_some_and(|extension| extension == "lua");
    // Their names mean the workloads.
    let shipped = SHIPPED_FOLDERS
        .iter()
        .any(|folder| path.parent() == Some(Path::new(folder)));
    if shipped
        && is_script
        && let Some(kind) = stem.and_then(sysbench)
    {
        log.notice(&format!(
            "Niagara's own {kind} runs; the script {name} is not read.\n"
        ));
        return Ok(Test::Own(kind));
    }
    Ok(Test::Script(name.to_owned()))
}

/// The test of sysbench 0.4 is refused rather than translated: the tables that its `prepare` left do not serve its successors.
fn refusal_of_old_test(words: &[String]) -> Failure {
    let failure =
        Failure::usage("Cannot find benchmark 'oltp': no such built-in test, file or module");
    let Some(new) = successor(words) else {
        return failure
            .and("'oltp' is a test of sysbench 0.4, and this mode of it has no successor")
            .and(remedy_line("a script with the statements, as oltp_common.lua has them: niagara sysbench ./SCRIPT.lua run"));
    };
    let failure = failure.and(format!(
        "'oltp' is a test of sysbench 0.4: its successor is {}, whose tables are other ones (prepare them first)",
        new.test
    ));
    let failure = match new.without.is_empty() {
        true => failure,
        false => failure.and(format!("without a successor: {}", new.without.join(" "))),
    };
    failure.and(remedy_line(new.command))
}

/// What sysbench's scripts have in common, which they require.
const COMMON: &str = "oltp_common";

/// The script that sysbench would run for the name of one of its own, where that is somebody else's: in the current folder, say, or on
/// `LUA_PATH`. `find` finds modules, `is_shipped` says whether a file is sysbench's own.
fn changed_script(
    name: &str,
    find: &dyn Fn(&str) -> Option<PathBuf>,
    is_shipped: &dyn Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let script = find(name)?;
    let is_changed = |file: &PathBuf| !is_shipped(file);
    if is_changed(&script) {
        return Some(script);
    }
    // Theirs, with what it requires changed.
    find(COMMON).filter(is_changed)
}

/// The workload with the numbers that were asked for.
fn workload(kind: SysbenchTest, line: &CommandLine) -> Result<WorkloadSpec, Failure> {
    let refused = |error: niagara_load::LoadError| Failure::usage(failure::load_words(&error));
    let mut builder = WorkloadBuilder::new(kind);
    for name in line.values.given_names() {
        let text = match line.values.kind(name) {
            Some(option::Kind::Flag) => {
                let on = line.values.flag(name);
                if on { "on" } else { "off" }.to_owned()
            }
            Some(option::Kind::Number) => {
                let number = line.values.number(name)?;
                // sysbench takes 1e6 for a number of rows.
                format!("{number}")
            }
            _ => line.values.text(name).unwrap_or_default().to_owned(),
        };
        builder.set(name, &text).map_err(refused)?;
    }
    builder.build().map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_of_the_users_goes_before_the_workload_of_its_name() {
        let theirs = "/usr/share/sysbench/";
        let is_theirs = |file: &Path| file.starts_with(theirs);
        let changed = |files: &[&str]| {
            let find = |module: &str| {
                let file = files.iter().find(|file| file.ends_with(module));
                file.map(PathBuf::from)
            };
            changed_script("oltp_read_only", &find, &is_theirs)
        };
        let installed = [theirs, "oltp_read_only"].concat();
        let common = [theirs, COMMON].concat();
        assert_eq!(changed(&[]), None);
        assert_eq!(changed(&[&installed, &common]), None);
        let own = Some(PathBuf::from("./oltp_read_only"));
        assert_eq!(changed(&["./oltp_read_only", &common]), own);
        // Without sysbench there is nothing that would require it.
        assert_eq!(changed(&["./oltp_common"]), None);
        let own = Some(PathBuf::from("./oltp_common"));
        assert_eq!(changed(&[&installed, "./oltp_common"]), own);
    }
}
