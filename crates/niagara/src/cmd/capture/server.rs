//! `niagara capture advise` and `stop`, and what they share with `start`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_capture::CaptureError;
use niagara_capture::server::{Advice, End, Left, Outcome, Process, State, Status, identity, left};
use niagara_error::{Explain as _, Explanation, Remedy as _, bail};
use niagara_load::{Admin, counted};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::args::{AdviseArgs, NewFile, ReadingArgs, StopArgs};
use super::connection::{AdminConnection, refused};
use super::stop_flag::{interrupted, stop_flag};
use super::{import, summary};
use crate::cmd::bench::args::ConnectArgs;
use crate::cmd::bench::naming::Naming;
use crate::cmd::bench::target::Target;
use crate::json::{self, Document, Printed};
use crate::ordinary_user::hand_to_caller;

/// What the names of logs begin with that nobody has named.
pub const LOG_NAME: &str = "niagara-capture-";

/// What to do where a server's log cannot be read.
pub const SEE_LOG: &str = "run this on the server's machine as root or as the server's user, or name a file with --log-file in a folder that \
    both may use; or set what `niagara capture advise` prints and import the log";

/// How long `stop` waits for the guardian, which needs a statement for each variable.
const GUARDIAN: Duration = Duration::from_secs(30);

/// A server that is named by its address.
///
/// # Errors
/// No address was given, or the server cannot be reached.
pub fn reach(args: &ConnectArgs) -> Result<Target> {
    if !args.is_foreign() {
        bail!("no server is named"; remedy: "--socket /run/mysqld/mysqld.sock, or --host NAME");
    }
    Target::running(args, Naming::Options)
}

/// The folder of what was changed on servers.
///
/// # Errors
/// There is no home folder.
pub fn state_folder() -> Result<PathBuf> {
    // A relative one means nothing (the base directory specification), and another folder to each process.
    let absolute = |name| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let folder = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .context("no home folder: set HOME or XDG_STATE_HOME to an absolute path")?;
    Ok(folder.join("niagara/captures"))
}

/// The log of a capture when none is named: in the server's data directory, where it may write.
///
/// # Errors
/// The server does not say its data directory.
pub fn log_file(given: Option<&Path>, connection: &mut AdminConnection) -> Result<PathBuf> {
    if let Some(path) = given {
        return std::path::absolute(path).context("the path of the log");
    }
    let folder = connection
        .0
        .value("SELECT @@GLOBAL.datadir")?
        .context("the server does not say its data directory")
        .remedy("name a file by --log-file that both may use")?;
    let now = jiff::Timestamp::now().as_second();
    Ok(Path::new(&folder).join(format!("{LOG_NAME}{now}-{}.log", std::process::id())))
}

/// The log of a capture that is read here.
///
/// # Errors
/// As [`log_file`]; this machine has no such folder: the server would write statements in clear where nobody here can remove them.
pub fn log_file_here(given: Option<&Path>, connection: &mut AdminConnection) -> Result<PathBuf> {
    let log = log_file(given, connection)?;
    let folder = log.parent().unwrap_or(Path::new("/"));
    if let Err(error) = std::fs::metadata(folder) {
        bail!(
            "the server would write the log {}, whose folder cannot be seen here ({error}); nothing was changed", log.display();
            remedy: "{SEE_LOG}"
        );
    }
    Ok(log)
}

/// What a capture with this log does to the user's own logs, which somebody has to agree to.
///
/// # Errors
/// As [`log_file_here`]; what the server says.
pub fn to_agree(given: Option<&Path>, admin: Admin) -> Result<(Vec<String>, Admin)> {
    let mut connection = AdminConnection(admin);
    let file = log_file_here(given, &mut connection)?;
    let advice = niagara_capture::server::advise(&mut connection, &file.display().to_string())
        .map_err(refused)?;
    let told = advice.needs_yes.iter().map(ToString::to_string).collect();
    Ok((told, connection.0))
}

impl Printed for Advice {
    const DOCUMENT: Document = Document::CaptureAdvice;
}

pub fn advise(args: &AdviseArgs) -> Result<ExitCode> {
    let target = reach(&args.connect)?;
    let mut connection = AdminConnection(target.admin);
    let file = log_file(args.log_file.as_deref(), &mut connection)?;
    let advice = niagara_capture::server::advise(&mut connection, &file.display().to_string())
        .map_err(refused)?;
    if args.json {
        json::print(&advice)?;
    } else {
        say_advice(&advice);
        say!(
            "Then: niagara capture import {}{} -o shop.capture",
            file.display(),
            sql_mode_option(&advice.sql_mode)
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The option that tells an import these modes; nothing where none matters.
fn sql_mode_option(modes: &str) -> String {
    match modes {
        "" => String::new(),
        modes => format!(" --sql-mode {modes}"),
    }
}

fn say_advice(advice: &Advice) {
    say!("{}: nothing was changed", advice.version);
    say!();
    say!("Set for the time of the capture, in this order");
    for change in &advice.changes {
        say!(
            "  {};   -- {} (now {})",
            change.set(),
            change.purpose,
            shown(&change.from)
        );
    }
    if advice.changes.is_empty() {
        say!("  nothing: the log has every statement of new sessions already");
    }
    say!();
    say!("Undo");
    for statement in &advice.undo {
        say!("  {statement};");
    }
    say!();
    say!("A capture misses all the same");
    for miss in &advice.misses {
        say!("  {miss}");
    }
    say!();
    say_notes(advice);
    for reason in &advice.needs_yes {
        say!("Note: {reason} (`capture start` wants --yes for that)");
    }
}

/// What a capture costs, and what else should be known.
pub fn say_notes(advice: &Advice) {
    for note in &advice.notes {
        say!("Note: {note}");
    }
    if advice.may_not_set {
        say!(
            "Note: the account may not set global variables: GRANT SUPER (MySQL from 8.0 on: SYSTEM_VARIABLES_ADMIN) ON *.* TO it"
        );
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { "empty" } else { value }
}

pub fn stop(args: &StopArgs) -> Result<ExitCode> {
    let target = reach(&args.connect)?;
    let server = target.endpoint.transport.to_string();
    let mut connection = AdminConnection(target.admin);
    let identity = identity(&mut connection).map_err(refused)?;
    let path = State::path(&state_folder()?, &identity);
    let read = || State::read(&path).with_context(|| format!("cannot read {}", path.display()));
    let Some(mut state) = read()? else {
        bail!("no capture was started on {server}"; remedy: "`niagara capture start` starts one");
    };
    if state.status == Status::Running
        && let Some(guardian) = state.guardian.filter(|guardian| guardian.is_alive())
    {
        ask_guardian(guardian)?;
        state = read()?.unwrap_or(state);
    }
    let outcomes = settle(&mut state, &path, &mut connection)?;
    say_outcomes(&outcomes);
    say_what_is_left(&state, &mut connection);
    if args.no_import {
        say!("The log is {}", state.log.display());
        std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let stop = stop_flag("stopping: no capture is made, and the log stays")?;
    let made = finish(
        &state,
        &path,
        &args.output,
        &args.reading,
        args.keep_log,
        &stop,
    );
    match made {
        Err(error) if matches!(error.find(), Some(CaptureError::Stopped)) => {
            tell!("niagara: {}", error.explain());
            Ok(interrupted())
        }
        made => made,
    }
}

/// Has a guardian undo everything, and waits for its end.
fn ask_guardian(guardian: Process) -> Result<()> {
    kill(Pid::from_raw(guardian.pid), Signal::SIGTERM).context("cannot signal the guardian")?;
    let began = Instant::now();
    while guardian.is_alive() {
        if began.elapsed() >= GUARDIAN {
            bail!(
                "the guardian (process {}) has not undone everything within {} s: is the server reachable?",
                guardian.pid,
                GUARDIAN.as_secs();
                remedy: "the same command again"
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// What became of the settings: the guardian's word, or undone now where no guardian has.
///
/// # Errors
/// A variable cannot be set back.
pub fn settle(
    state: &mut State,
    path: &Path,
    connection: &mut AdminConnection,
) -> Result<Vec<(String, Outcome)>> {
    if let Status::Ended { outcomes, .. } = &state.status
        && outcomes.iter().all(|(_, outcome)| outcome.is_settled())
    {
        return Ok(outcomes.clone());
    }
    let outcomes = niagara_capture::server::restore(connection, &state.changes);
    let failed: Vec<String> = outcomes
        .iter()
        .filter_map(|(name, outcome)| match outcome {
            Outcome::Failed(error) | Outcome::Refused(error) => Some(format!("{name}: {error}")),
            _ => None,
        })
        .collect();
    if !failed.is_empty() {
        let statements: Vec<String> = state
            .changes
            .iter()
            .rev()
            .map(|change| change.unset() + ";")
            .collect();
        let is_refused = |(_, outcome): &(String, Outcome)| matches!(outcome, Outcome::Refused(_));
        let first = match outcomes.iter().any(is_refused) {
            true => ", once you have set what it refuses to another value",
            false => "",
        };
        bail!(
            "not everything could be set back: {}", failed.join("; ");
            remedy: "`niagara capture stop` with the server's address{first}; or by hand\n{}", statements.join("\n")
        );
    }
    state.status = Status::Ended {
        end: End::Asked,
        outcomes: outcomes.clone(),
    };
    state
        .write(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(outcomes)
}

/// Says what became of the settings.
pub fn say_outcomes(outcomes: &[(String, Outcome)]) {
    let restored = outcomes
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Outcome::Restored | Outcome::WasSo));
    say!(
        "{} settings are as they were before the capture",
        restored.count()
    );
    for (name, outcome) in outcomes {
        match outcome {
            Outcome::ChangedByOthers(value) => {
                say!(
                    "{name} was left alone: somebody has set it to {} meanwhile",
                    shown(value)
                );
            }
            Outcome::Failed(error) | Outcome::Refused(error) => {
                say!("{name} could not be set back: {error}");
            }
            Outcome::Restored | Outcome::WasSo => {}
        }
    }
}

/// Says what of the capture outlasts it: connections that keep its settings, and what went to the general log's file.
pub fn say_what_is_left(state: &State, connection: &mut AdminConnection) {
    match left(connection, state) {
        Ok(Some(left)) => say!("{}", left_in_words(state, left)),
        Ok(None) => {}
        Err(error) => say!(
            "How many connections that were opened during the capture are there still is not known: {error}"
        ),
    }
    if let Some(file) = &state.general_log {
        say!(
            "What the general log had to say meanwhile is in {}",
            file.display()
        );
    }
}

/// How many connections keep the capture's settings, what that does, and how it ends.
fn left_in_words(state: &State, left: Left) -> String {
    let (settings, goes_to) = match &state.outlasting {
        Some(kept) => (&kept.settings[..], kept.goes_to.as_deref()),
        None => ("the capture's settings", None),
    };
    let seen = match left.sees_all {
        true => "",
        false => " of this account (those of others cannot be seen without the privilege PROCESS)",
    };
    if left.connections == 0 {
        return format!("No connection{seen} is left that keeps {settings} from the capture");
    }
    let many = counted(left.connections, "connection");
    let does = match goes_to {
        Some(log) => format!("until they close, every statement of theirs goes to {log}"),
        None => {
            "should the slow log be switched on before they close, it has every statement of theirs"
                .to_owned()
        }
    };
    let below = left
        .below
        .map_or(String::new(), |below| format!(" and below {below}"));
    let remedy = format!(
        "restart the application's pool, or KILL them: SHOW PROCESSLIST has them, with an Id above {}{below}",
        left.above
    );
    Explanation::new(format!(
        "{many}{seen} left from the capture with {settings}: {does}"
    ))
    .remedy(remedy)
    .to_string()
}

/// Makes the capture from the log and removes what the capture left on the server.
///
/// # Errors
/// The log cannot be read, the capture cannot be written: the log stays.
pub fn finish(
    state: &State,
    state_file: &Path,
    output: &NewFile,
    reading: &ReadingArgs,
    keep_log: bool,
    stop: &AtomicBool,
) -> Result<ExitCode> {
    let logs = std::slice::from_ref(&state.log);
    let asked = import::Asked {
        counted: state.counted,
        clients: state.clients.clone(),
        // One that is not known has no modes that matter here.
        mode: state.sql_mode.parse().unwrap_or_default(),
        ..import::Asked::default()
    };
    let made = import::make(logs, output, reading, &asked, stop).with_context(|| {
        format!(
            "the settings are undone; the log stays at {0}\n`niagara capture import {0}{1}` makes a capture from it",
            state.log.display(),
            sql_mode_option(&state.sql_mode)
        )
    })?;
    match output.for_pack {
        true => summary::say_traffic(&made),
        false => {
            hand_to_caller(&output.output)?;
            summary::say_summary(&output.output, &made);
        }
    }
    std::fs::remove_file(state_file)
        .with_context(|| format!("cannot remove {}", state_file.display()))?;
    let code = import::loss_code(&made, reading.max_loss);
    if keep_log || code != ExitCode::SUCCESS {
        say!("The log is {}", state.log.display());
    } else if let Err(error) = std::fs::remove_file(&state.log) {
        say!(
            "The log {} could not be removed: {error}",
            state.log.display()
        );
    }
    Ok(code)
}
