//! `niagara capture start`: a running server logs every statement for a time.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_capture::server::{
    CARRIED_OUT, Limits, Outlasting, Product, State, Status, clients, general_log_elsewhere,
    identity, restore, wanted,
};
use niagara_error::{anyhow, bail};

use super::args::StartArgs;
use super::connection::{AdminConnection, refused};
use super::guardian::{Guardian, GuardianFailure, Task};
use super::server::{
    LOG_NAME, SEE_LOG, finish, log_file_here, reach, say_notes, say_outcomes, say_what_is_left,
    settle, state_folder,
};
use super::stop_flag::{interrupted, stop_flag};
use crate::clock::clock;
use crate::cmd::bench::target::Target;
use crate::progress::living_line;

/// How long the server may take to make the log's file.
const LOG_APPEARS: Duration = Duration::from_secs(5);
/// How often the state of the capture is checked.
const STEP: Duration = Duration::from_millis(100);

pub fn run(args: &StartArgs) -> Result<ExitCode> {
    on(args, reach(&args.connect)?)
}

/// Captures on this server.
///
/// # Errors
/// The server refuses it, or the capture cannot be made; everything is set back.
pub fn on(args: &StartArgs, target: Target) -> Result<ExitCode> {
    if !args.output.force && args.length.is_some() && args.output.output.exists() {
        bail!(
            "{} is there already", args.output.output.display();
            remedy: "name another file with -o, or --force to replace it"
        );
    }
    let (task, mut connection) = plan(args, target)?;
    let stop = stop_flag("stopping: setting everything back")?;
    let mut guardian = match Guardian::start(&task) {
        Ok(guardian) => guardian,
        Err(GuardianFailure::Told(error)) => return Err(error),
        Err(GuardianFailure::Ended { process, status }) => {
            return Err(without_guardian(task, process, status, &mut connection));
        }
    };
    if let Err(error) = see_log(&task.state.log, &stop) {
        return Err(match nothing_left(task, guardian, &mut connection)? {
            None => error,
            Some(left) => error.context(left),
        });
    }
    let Some(length) = args.length else {
        if stop.load(Ordering::Relaxed) {
            if let Some(left) = nothing_left(task, guardian, &mut connection)? {
                say!("{left}");
            }
            return Ok(interrupted());
        }
        guardian.detach()?;
        say!(
            "The server logs every statement of new sessions to {} for at most {}, {} MB",
            task.state.log.display(),
            clock(Duration::from_secs(task.limits.seconds)),
            task.limits.log_bytes >> 20
        );
        say!("`niagara capture stop` with the same address ends it and makes the capture");
        return Ok(ExitCode::SUCCESS);
    };
    let took = wait(&mut guardian, &task, length, &stop);
    guardian.stop();
    // The server may have ended a connection on which nothing was asked for that long.
    if let Ok(fresh) = AdminConnection::to(&task.endpoint) {
        connection = fresh;
    }
    let state = settled(task.state, &task.state_file, &mut connection)?;
    if let Status::Ended { end, .. } = &state.status {
        say!("The capture ended: {}", end.text());
    }
    say_cost(&state.log, took);
    let was_stopped = stop.load(Ordering::Relaxed);
    let code = finish(
        &state,
        &task.state_file,
        &args.output,
        &args.reading,
        args.keep_log,
        &AtomicBool::new(false),
    )?;
    Ok(if was_stopped { interrupted() } else { code })
}

/// Undoes what a guardian has set that ended before it said so. Why nothing is captured.
fn without_guardian(
    task: Task,
    process: u32,
    status: ExitStatus,
    connection: &mut AdminConnection,
) -> anyhow::Error {
    let ended = format!("the guardian of the settings ended before the capture began ({status})");
    let is_ours = |state: &State| {
        let guardian = state.guardian.map(|guardian| guardian.pid);
        guardian.and_then(|pid| u32::try_from(pid).ok()) == Some(process)
    };
    // One that is there may be another capture's.
    if let Ok(state) = State::read(&task.state_file)
        && !state.as_ref().is_some_and(is_ours)
    {
        return anyhow!("{ended}; nothing was changed"; remedy: "the same command again");
    }
    // At once, and again: the server may still carry out what the guardian had sent.
    let _ = restore(connection, &task.state.changes);
    std::thread::sleep(CARRIED_OUT);
    match set_back(task, connection) {
        Err(error) => error.context(ended),
        Ok(LeftLog::Stays(log, error)) => {
            anyhow!("{ended}; everything is set back").context(left_in_words(&log, &error))
        }
        Ok(LeftLog::Removed | LeftLog::NotSeen(_)) => {
            anyhow!("{ended}; everything is set back"; remedy: "the same command again")
        }
    }
}

/// Ends a capture of which nothing is made. What is to be removed by somebody else, in words.
fn nothing_left(
    task: Task,
    guardian: Guardian,
    connection: &mut AdminConnection,
) -> Result<Option<String>> {
    guardian.stop();
    Ok(match set_back(task, connection)? {
        LeftLog::Removed => None,
        // The log was on.
        LeftLog::NotSeen(log) => Some(format!(
            "the server has made {}, with the statements of some seconds, where this machine does not see it: remove it there",
            log.display()
        )),
        LeftLog::Stays(log, error) => Some(left_in_words(&log, &error)),
    })
}

/// What became of the log of a capture of which nothing is made.
enum LeftLog {
    Removed,
    /// This machine has no such file.
    NotSeen(PathBuf),
    Stays(PathBuf, io::Error),
}

fn left_in_words(log: &Path, error: &io::Error) -> String {
    format!(
        "the server may have made {}, with the statements of some seconds: remove it as root ({error})",
        log.display()
    )
}

/// Sees to it that everything is set back, and removes what is on disk: the log, too, for it holds statements in clear.
fn set_back(task: Task, connection: &mut AdminConnection) -> Result<LeftLog> {
    let state = settled(task.state, &task.state_file, connection)?;
    let gone = fs::remove_file(&state.log);
    fs::remove_file(&task.state_file)
        .with_context(|| format!("cannot remove {}", task.state_file.display()))?;
    Ok(match gone {
        Ok(()) => LeftLog::Removed,
        Err(error) if error.kind() == ErrorKind::NotFound => LeftLog::NotSeen(state.log),
        Err(error) => LeftLog::Stays(state.log, error),
    })
}

/// What is on disk once everything is undone, by the guardian or, where it could not, now.
fn settled(planned: State, path: &Path, connection: &mut AdminConnection) -> Result<State> {
    let mut state = State::read(path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .unwrap_or(planned);
    let outcomes = settle(&mut state, path, connection)?;
    say_outcomes(&outcomes);
    say_what_is_left(&state, connection);
    Ok(state)
}

/// What is to be changed, and where; says what it costs.
fn plan(args: &StartArgs, target: Target) -> Result<(Task, AdminConnection)> {
    let server = target.endpoint.transport.to_string();
    let mut connection = AdminConnection(target.admin);
    let state_file = State::path(
        &state_folder()?,
        &identity(&mut connection).map_err(refused)?,
    );
    let known = State::read(&state_file)
        .with_context(|| format!("cannot read {}", state_file.display()))?;
    if let Some(known) = known {
        bail!(
            "a capture was started on this server ({}) and not ended; its log is {}",
            known.server,
            known.log.display();
            remedy: "`niagara capture stop` with any address of the server"
        );
    }
    let product = Product::ask(&mut connection).map_err(refused)?;
    refuse_second(&product)?;
    let log = log_file_here(args.limits.log_file.as_deref(), &mut connection)?;
    if log.exists() {
        bail!("{} is there already", log.display(); remedy: "name a new file with --log-file");
    }
    let file = log.display().to_string();
    let advice = niagara_capture::server::advise(&mut connection, &file).map_err(refused)?;
    say_notes(&advice);
    for miss in &advice.misses {
        say!("Missed: {miss}");
    }
    if !args.connect.yes && !advice.needs_yes.is_empty() {
        let needs_yes: Vec<String> = advice.needs_yes.iter().map(ToString::to_string).collect();
        bail!(
            "{}; nothing was changed", needs_yes.join("; and ");
            remedy: "--yes, if that may be (the end says how many such connections are left); or a source that needs no setting: \
             recorded traffic, or a general log that is there (`niagara capture import`)"
        );
    }
    let seconds = args.length.unwrap_or(args.limits.max_time).as_secs().max(1);
    let changes = wanted(&product, &file).changes;
    let state = State {
        server,
        user: target.endpoint.user.clone(),
        log,
        outlasting: Outlasting::of(&product, &changes),
        general_log: general_log_elsewhere(&product, &changes),
        first_connection: None,
        last_connection: None,
        sql_mode: advice.sql_mode.clone(),
        clients: clients(&mut connection),
        changes,
        guardian: None,
        began: jiff::Timestamp::now().as_second(),
        counted_before: None,
        counted: None,
        status: Status::Running,
    };
    let task = Task {
        endpoint: target.endpoint,
        state,
        state_file,
        limits: Limits {
            log_bytes: args.limits.max_size,
            free_bytes: args.limits.min_free,
            seconds,
        },
    };
    Ok((task, connection))
}

/// Refuses a server that somebody else captures, whose settings would be taken for the server's own.
fn refuse_second(product: &Product) -> Result<()> {
    let value = |name: &str| product.variables.get(name).map_or("", String::as_str);
    let log = value("slow_query_log_file");
    let name = log.rsplit('/').next().unwrap_or_default();
    let logs_all = value("long_query_time").parse() == Ok(0.0);
    if value("slow_query_log") == "ON" && logs_all && name.starts_with(LOG_NAME) {
        bail!(
            "a capture that was not started from here is under way on this server: its slow log goes to {log}";
            remedy: "`niagara capture stop` as the user and on the machine that started it; where nobody did, SET GLOBAL \
             slow_query_log_file, long_query_time and slow_query_log to what they should be"
        );
    }
    Ok(())
}

/// Waits for the log's file, and whether it can be read; not once it is to stop.
fn see_log(log: &Path, stop: &AtomicBool) -> Result<()> {
    let began = Instant::now();
    loop {
        match File::open(log) {
            _ if stop.load(Ordering::Relaxed) => return Ok(()),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && began.elapsed() < LOG_APPEARS => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) => {
                return Err(anyhow!(
                    "the server's log {} cannot be read here: {error}; everything is set back", log.display();
                    remedy: "{SEE_LOG}"
                ));
            }
        }
    }
}

/// Waits for the end: of the time, by a signal, or of the guardian. How long it took.
fn wait(guardian: &mut Guardian, task: &Task, length: Duration, stop: &AtomicBool) -> Duration {
    let (bar, live) = living_line();
    if !live {
        tell!("capturing for {}", clock(length));
    }
    let began = Instant::now();
    while began.elapsed() < length && !stop.load(Ordering::Relaxed) && !guardian.has_ended() {
        let bytes = fs::metadata(&task.state.log).map_or(0, |metadata| metadata.len());
        bar.set_message(format!(
            "capturing · {} of {} · {:.1} MB of log",
            clock(began.elapsed()),
            clock(length),
            bytes as f64 / 1e6
        ));
        std::thread::sleep(STEP);
    }
    bar.finish_and_clear();
    began.elapsed()
}

/// What the log took.
fn say_cost(log: &Path, took: Duration) {
    if let Ok(metadata) = fs::metadata(log) {
        let bytes = metadata.len() as f64;
        say!(
            "The server wrote {:.1} MB of log, {:.0} kB a second",
            bytes / 1e6,
            bytes / 1e3 / took.as_secs_f64().max(1.0)
        );
    }
}
