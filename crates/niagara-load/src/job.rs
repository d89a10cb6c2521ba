//! A job: the statements of a workload one after the other on one connection, timed one by one.

use crate::error::LoadError;
use crate::net::admin::Admin;
use crate::net::endpoint::Endpoint;
use crate::net::session::{self, Session, SessionError};
use crate::net::stream::Hangup;
use crate::workload::family::Family;
use crate::workload::file::{Definition, Step};
use crate::workload::{Workload, WorkloadSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Bound on one statement: those of the study took hours.
const MAX_STEP: Duration = Duration::from_secs(24 * 3600);
/// How often is looked whether the job was cancelled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// A statement that the server was told to end and that continues for this long is no longer waited for.
const GIVE_UP: Duration = Duration::from_millis(800);

/// A statement of a job and how long it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepTime {
    /// Its name.
    pub name: String,
    /// From sending it to its last row, in seconds; of all its executions, where it has several.
    pub seconds: f64,
}

/// What became of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobTimes {
    /// The steps that came to their end.
    pub steps: Vec<StepTime>,
    /// Whether these are all.
    pub complete: bool,
}

/// Does a batch job, such as `report`: every statement that has a name is timed.
/// `on_step` is told the name of each of them before it begins, its number (from 1) and how many there are.
///
/// When `cancel` is set, the server is told to end the statement in flight, and what was timed before is returned within a
/// second.
///
/// # Errors
/// The server is lost or refuses a statement.
pub fn run_job(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    cancel: &AtomicBool,
    on_step: &mut dyn FnMut(&str, usize, usize),
) -> Result<JobTimes, LoadError> {
    let Some(definition) = job_of(spec) else {
        return Err(LoadError::invalid(format!(
            "{} is a load and not a batch job: `niagara bench` drives it (a file's workload is a job if it says \
             job = true)",
            spec.spelling()
        )));
    };
    let steps: Vec<_> = definition
        .transactions
        .iter()
        .flat_map(|transaction| &transaction.steps)
        .collect();
    let mut session = session::connect(endpoint, Some(&endpoint.database), MAX_STEP)?;
    let id = connection_id(&mut session)?;
    let hangup = session
        .hangup()
        .map_err(|error| lost(SessionError::Io(error)))?;
    std::thread::scope(|scope| {
        // Closed when the steps are over, however they end.
        let (_at_work, over) = mpsc::channel();
        scope.spawn(move || end_when_cancelled(endpoint, id, &hangup, cancel, &over));
        do_steps(session, &steps, cancel, on_step)
    })
}

/// What the file of a batch job says.
fn job_of(spec: &WorkloadSpec) -> Option<&Definition> {
    match &spec.workload {
        Workload::File(file) if file.is_job() => Some(file.definition()),
        _ => None,
    }
}

fn lost(error: SessionError) -> LoadError {
    LoadError::ServerLost {
        side: 0,
        cause: error.to_string(),
    }
}

/// What the server calls this connection.
fn connection_id(session: &mut Session) -> Result<u64, LoadError> {
    let rows = session.rows("SELECT CONNECTION_ID()").map_err(lost)?;
    let id = rows.into_iter().flatten().flatten().next();
    id.and_then(|id| id.parse().ok())
        .ok_or_else(|| LoadError::ServerLost {
            side: 0,
            cause: "it does not say the number of a connection".into(),
        })
}

/// Waits until the job is over; when it is cancelled before, ends the statement that is in flight on connection `id`.
fn end_when_cancelled(
    endpoint: &Endpoint,
    id: u64,
    hangup: &Hangup,
    cancel: &AtomicBool,
    over: &Receiver<()>,
) {
    let is_under_way = |time| over.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
    let mut asked: Option<Instant> = None;
    while is_under_way(POLL_INTERVAL) {
        if !cancel.load(Ordering::Relaxed) {
            continue;
        }
        if asked.get_or_insert_with(Instant::now).elapsed() >= GIVE_UP {
            return hangup.hang_up();
        }
        // Again at every glance: the first may come before the statement. What fails here ends by hanging up.
        if let Ok(mut admin) = Admin::connect(endpoint, GIVE_UP / 2) {
            let _ = admin.rows(&format!("KILL QUERY {id}"));
        }
    }
}

fn do_steps(
    mut session: Session,
    steps: &[&Step],
    cancel: &AtomicBool,
    on_step: &mut dyn FnMut(&str, usize, usize),
) -> Result<JobTimes, LoadError> {
    let timed = steps.iter().filter(|step| step.name.is_some()).count();
    let mut times = Vec::with_capacity(timed);
    for step in steps {
        if cancel.load(Ordering::Relaxed) {
            return Ok(JobTimes {
                steps: times,
                complete: false,
            });
        }
        if let Some(name) = &step.name {
            on_step(name, times.len() + 1, timed);
        }
        let began = Instant::now();
        let done = (0..step.times).try_for_each(|_| session.execute(step.sql.as_bytes()));
        match done {
            Ok(()) => {}
            Err(_) if cancel.load(Ordering::Relaxed) => {
                return Ok(JobTimes {
                    steps: times,
                    complete: false,
                });
            }
            Err(SessionError::Server(error)) => {
                return Err(LoadError::Statement {
                    side: 0,
                    code: error.code,
                    message: error.message,
                    statement: step.sql.clone(),
                });
            }
            Err(error) => return Err(lost(error)),
        }
        if let Some(name) = &step.name {
            times.push(StepTime {
                name: name.clone(),
                seconds: began.elapsed().as_secs_f64(),
            });
        }
    }
    session.quit();
    Ok(JobTimes {
        complete: times.len() == timed,
        steps: times,
    })
}
