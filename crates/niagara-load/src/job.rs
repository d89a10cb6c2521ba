//! A job: the statements of a workload one after the other on one connection, timed one by one.

use crate::endpoint::Endpoint;
use crate::error::LoadError;
use crate::session::{self, SessionError};
use crate::workload::WorkloadSpec;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bound on one statement: those of the study took hours.
const LONGEST_STEP: Duration = Duration::from_secs(24 * 3600);

/// A statement of a job and how long it took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTime {
    /// Its name.
    pub name: String,
    /// From sending it to its last row, in seconds.
    pub seconds: f64,
}

/// Does the job of a workload of kind [`Report`](crate::WorkloadKind::Report): every statement that has a name is timed.
/// `on_step` is told the name of each of them before it begins, its number (from 1) and how many there are.
///
/// # Errors
/// The server is lost or refuses a statement; `cancel` was set, which is looked at between statements.
pub fn run_job(
    endpoint: &Endpoint,
    spec: &WorkloadSpec,
    cancel: &AtomicBool,
    on_step: &mut dyn FnMut(&str, usize, usize),
) -> Result<Vec<StepTime>, LoadError> {
    let definition = spec.definition()?;
    let steps: Vec<_> = definition
        .transactions
        .iter()
        .flat_map(|transaction| &transaction.steps)
        .collect();
    if steps.iter().any(|step| !step.parameters.is_empty()) {
        return Err(LoadError::Invalid(
            "the statements of a job have no drawn values".into(),
        ));
    }
    let lost = |error: SessionError| LoadError::ServerLost {
        side: 0,
        cause: error.to_string(),
    };
    let mut session = session::connect(endpoint, Some(&endpoint.database), LONGEST_STEP)?;
    let timed = steps.iter().filter(|step| step.name.is_some()).count();
    let mut times = Vec::with_capacity(timed);
    for step in steps {
        if cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        if let Some(name) = &step.name {
            on_step(name, times.len() + 1, timed);
        }
        let began = Instant::now();
        session
            .execute(step.sql.as_bytes())
            .map_err(|error| match error {
                SessionError::Server(error) => LoadError::Statement {
                    side: 0,
                    code: error.code,
                    message: error.message,
                    statement: step.sql.clone(),
                },
                error => lost(error),
            })?;
        if let Some(name) = &step.name {
            times.push(StepTime {
                name: name.clone(),
                seconds: began.elapsed().as_secs_f64(),
            });
        }
    }
    session.quit();
    Ok(times)
}
