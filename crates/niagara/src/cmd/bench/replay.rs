//! A capture on one server: what has to be said before it is sent, how long it takes, what it came to.

use std::time::Duration;

use anyhow::Result;
use niagara_capture::fidelity::Fidelity;
use niagara_capture::file::ServerCounts;
use niagara_capture::trace::Trace;
use niagara_error::bail;
use niagara_lab::Load;
use niagara_load::{CaptureWorkload, Driver, LoadGenerator};

use super::args::{Action, BenchArgs, RunArgs};
use super::result::RunResult;
use super::status::Delta;
use super::target::Target;

/// A replay that takes so much longer than the capture is given up.
const MAX_SLOWER: f64 = 20.0;
/// And this besides.
const MAX_BESIDE: Duration = Duration::from_secs(60);

/// Refuses what means nothing to a capture, and a server that Niagara did not start unless somebody said yes.
///
/// # Errors
/// As said.
pub fn check(args: &BenchArgs, load: &Load) -> Result<()> {
    let Some(capture) = load.workload.capture() else {
        return Ok(());
    };
    if args.run.rate.is_some() || !args.run.rate_steps.is_empty() {
        bail!(
            "{} is a capture: its statements come when they had come, not at a rate", load.workload.spelling();
            remedy: "--speed 1 keeps the captured pace, --speed 2 is twice as fast"
        );
    }
    // Tables that are made or dropped have a question of their own.
    if args.action != Action::Run || !args.connect.is_foreign() || args.connect.yes {
        return Ok(());
    }
    let trace = capture.trace()?;
    let does = match (trace.facts.writes, dropping(&trace)) {
        (false, _) => "It only reads".to_owned(),
        (true, 0) => "It CHANGES DATA there, for good, as the application did when it was captured"
            .to_owned(),
        (true, drops) => format!(
            "It CHANGES DATA there, for good, as the application did when it was captured, and {drops} of its statements DROP OR \
             EMPTY TABLES or databases"
        ),
    };
    bail!(
        "the replay sends {} captured statements of {} sessions to a server that Niagara did not start, in the databases {}. \
         {does}. Never take the server that the capture came from, nor one whose data anybody needs.",
        trace.facts.statements,
        trace.sessions,
        trace.database_names().join(", ");
        remedy: "--yes, if that is what you want; without --socket or --host a private server is used"
    )
}

/// Statements that drop or empty tables or databases.
fn dropping(trace: &Trace) -> u64 {
    let drops = |text: &str| {
        [
            "drop table ",
            "drop tables ",
            "drop database ",
            "drop schema ",
            "truncate ",
        ]
        .iter()
        .any(|words| text.starts_with(words))
    };
    let digests = trace.digests.iter();
    digests
        .filter(|digest| drops(&digest.text))
        .map(|digest| digest.statements)
        .sum()
}

/// How the capture is run where nobody said how long: one that writes to its end and without a warm-up, which would be
/// its beginning; one that reads as any load.
///
/// # Errors
/// The capture cannot be read.
pub fn run_args(given: &RunArgs, capture: &CaptureWorkload) -> Result<RunArgs> {
    let mut args = given.clone();
    let trace = capture.trace()?;
    if trace.facts.writes {
        args.warm_up = Duration::ZERO;
        if args.time.is_none() {
            let span = Duration::from_micros(trace.facts.span_us);
            let slower = MAX_SLOWER.max(1.0 / capture.speed().unwrap_or(1.0) * 2.0);
            args.time = Some(span.mul_f64(slower) + MAX_BESIDE);
        }
    }
    Ok(args)
}

/// What was replayed beside what was captured; none of other workloads.
///
/// # Errors
/// The capture cannot be read.
pub fn fidelity(load: &Load, driver: &Driver, runs: &[RunResult]) -> Result<Option<Fidelity>> {
    let (Some(capture), Some(tally)) = (load.workload.capture(), driver.replayed(0)) else {
        return Ok(None);
    };
    let counted = match runs {
        [run] => run.cost.status.as_ref().and_then(counts),
        _ => None,
    };
    Ok(Some(niagara_load::fidelity(
        &*capture.trace()?,
        &tally,
        counted.as_ref(),
    )))
}

/// What the server counted during a run, as captures keep it.
fn counts(status: &Delta) -> Option<ServerCounts> {
    let unchanged = |name: &str| (name != "Innodb_deadlocks").then_some(0);
    ServerCounts::of(|name| match status.changed.get(name) {
        Some(&grown) => u64::try_from(grown).ok(),
        None => unchanged(name),
    })
}

/// Of a server without the capture's data: words that help.
pub fn missing_data(target: &Target, fidelity: &Fidelity) -> Option<String> {
    let missing: u64 = [1146, 1049]
        .iter()
        .filter_map(|code| fidelity.errors.get(code))
        .sum();
    (missing * 2 > fidelity.replayed).then(|| {
        format!(
            "most statements found no table or database on {}: the capture's data are not there (--data, or --tables-of)",
            target.endpoint.transport
        )
    })
}
