//! `run`: the load, the lines while it runs, the report.

use crate::failure::Failure;
use crate::job::{Job, OnInterrupt};
use crate::log::{Level, print};
use crate::progress::Progress;
use crate::report;
use crate::servers;
use crate::settings::Settings;
use crate::tally::Tally;
use niagara_load::{
    Driver, DriverOptions, IgnoredErrors, LoadError, Pacing, Retry, RunOptions, Schedule,
};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Exit code of a run whose transactions had to be given up, as sysbench's.
const FORCED: u8 = 2;
/// Exit code of a run that was interrupted: 128 + SIGINT, as shells expect it.
const INTERRUPTED: u8 = 130;
/// Intervals are put together from ticks of this length, and Ctrl-C is seen at their ends.
const TICK: Duration = Duration::from_secs(1);
/// Transactions in flight may take this long where nothing else is said: sysbench waits for ever.
const NO_TIMEOUT: Duration = Duration::from_secs(86_400);
/// Transactions in flight may take this long after Ctrl-C.
const INTERRUPT_TIMEOUT: Duration = Duration::from_secs(2);
/// The client library's numbers for a connection that is gone.
const CONNECTION_ERRORS: [u16; 4] = [2006, 2011, 2013, 2055];
/// A connection is to be there after this long, as with sysbench.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the load and prints its report.
pub fn run(job: &Job, on_interrupt: OnInterrupt<'_>) -> Result<ExitCode, Failure> {
    let settings = &job.settings;
    let log = job.log;
    log.notice(&mode(settings));
    log.notice("Initializing worker threads...\n");
    let give_up = Arc::new(AtomicBool::new(false));
    let options = DriverOptions {
        threads: settings.threads,
        seed: settings.seed.unwrap_or_else(fresh_seed),
        connect_timeout: CONNECT_TIMEOUT,
        stall_timeout: NO_TIMEOUT,
        cancel: Arc::clone(&give_up),
        ignored_errors: job.ignored_errors.clone(),
        retry: retry(&job.ignored_errors),
        reconnect_after: Some(u64::from(job.spec.common.reconnect)).filter(|&after| after > 0),
        ..DriverOptions::default()
    };
    let mut driver =
        Driver::connect_spread(std::slice::from_ref(&job.endpoints), &job.spec, &options)
            .map_err(|error| servers::not_started(&error, &job.endpoints))?;
    let interrupt = on_interrupt().map_err(Failure::fatal)?;
    give_up_after(&interrupt, give_up);
    if !settings.checkpoints.is_empty() {
        log.say(Level::Debug, "Checkpoints report thread started");
    }
    for state in ["started", "initialized"] {
        for number in 0..settings.threads {
            log.say(Level::Debug, &format!("Worker thread (#{number}) {state}"));
        }
    }
    log.notice("Threads started!\n");

    let started = Instant::now();
    let mut progress = Progress::new(settings);
    let result = driver.run(0, &run_options(settings), &mut |stats| {
        for line in progress.advance(stats) {
            log.notice(&line);
        }
        !interrupt.load(Ordering::Relaxed)
    });
    let interrupted = interrupt.load(Ordering::Relaxed);
    let (rest, elapsed, code) = match result {
        Ok(stats) => {
            if !interrupted {
                let events = settings
                    .events
                    .is_some_and(|most| stats.transactions >= most);
                let limit = if events { "Event" } else { "Time" };
                log.say(Level::Info, &format!("{limit} limit exceeded, exiting..."));
            }
            let elapsed = stats.seconds;
            let code = if interrupted {
                ExitCode::from(INTERRUPTED)
            } else {
                ExitCode::SUCCESS
            };
            (progress.rest(&stats), elapsed, code)
        }
        Err(_) if interrupted => {
            // Something hangs; the report is of what was measured until then.
            let (rest, elapsed) = progress.rest_of_ticks();
            (rest, elapsed, ExitCode::from(INTERRUPTED))
        }
        Err(error) if is_forced(settings, started, &error) => {
            log.say(
                Level::Fatal,
                "The --max-time limit has expired, forcing shutdown...",
            );
            log.notice(&error.to_string());
            let (rest, elapsed) = progress.rest_of_ticks();
            (rest, elapsed, ExitCode::from(FORCED))
        }
        Err(error) => return Err(failed(&error)),
    };
    log.say(Level::Info, "Done.\n");
    finish(job, &rest, elapsed);
    Ok(code)
}

/// The histogram, if it is asked for, and the report.
fn finish(job: &Job, tally: &Tally, elapsed: f64) {
    if job.settings.histogram {
        job.log
            .notice("Latency histogram (values are in milliseconds)");
        for line in tally.buckets().lines() {
            print(&format!("{line}\n"));
        }
        job.log.notice(" ");
    }
    let report = tally.report(elapsed, job.settings.percentile);
    job.log.notice(&report::cumulative(&report));
    if job.settings.debug {
        for line in report::verbose(&report.shares) {
            job.log.say(Level::Debug, &line);
        }
        job.log.notice("");
    }
}

fn run_options(settings: &Settings) -> RunOptions {
    RunOptions {
        warm_up: settings.warm_up,
        duration: settings.time,
        events: settings.events,
        pacing: match settings.rate {
            Some(rate) => Pacing::Open(Schedule::constant(f64::from(rate))),
            None => Pacing::Closed,
        },
        interval: Some(TICK),
        drain_timeout: settings.forced_shutdown.unwrap_or(NO_TIMEOUT),
        count_drain: true,
        connections_by_interval: true,
        ..RunOptions::default()
    }
}

/// Lost connections are re-established where their errors are to be ignored, and for as long as it takes.
fn retry(ignored: &IgnoredErrors) -> Option<Retry> {
    let ignores = match ignored {
        IgnoredErrors::All => true,
        IgnoredErrors::These(errors) => {
            errors.iter().any(|error| CONNECTION_ERRORS.contains(error))
        }
    };
    ignores.then(|| Retry {
        first: Duration::from_millis(1),
        longest: TICK,
        give_up_after: NO_TIMEOUT,
    })
}

/// After Ctrl-C, transactions in flight get a moment, and then the load ends without them.
fn give_up_after(interrupt: &Arc<AtomicBool>, give_up: Arc<AtomicBool>) {
    let interrupt = Arc::clone(interrupt);
    std::thread::spawn(move || {
        while !interrupt.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
        }
        std::thread::sleep(TICK + INTERRUPT_TIMEOUT);
        give_up.store(true, Ordering::Relaxed);
    });
}

fn is_forced(settings: &Settings, started: Instant, error: &LoadError) -> bool {
    let (Some(time), Some(after)) = (settings.time, settings.forced_shutdown) else {
        return false;
    };
    matches!(error, LoadError::ServerLost { .. })
        && started.elapsed() >= settings.warm_up + time + after
}

/// What ends a run, in the words sysbench has for it where it has some.
fn failed(error: &LoadError) -> Failure {
    match error {
        LoadError::Statement {
            code,
            message,
            statement,
            ..
        } => Failure::fatal(format!(
            "mysql_stmt_execute() returned error {code} ({message}) for query '{statement}'"
        )),
        _ => Failure::fatal(error.to_string()),
    }
}

/// What is said before the load begins.
fn mode(settings: &Settings) -> String {
    let mut text = format!(
        "Running the test with following options:\nNumber of threads: {}\n",
        settings.threads
    );
    if let Some(rate) = settings.rate {
        text += &format!("Target transaction rate: {rate}/sec\n");
    }
    if let Some(interval) = settings.report_interval {
        text += &format!("Report intermediate results every {interval} second(s)\n");
    }
    if !settings.checkpoints.is_empty() {
        let points: Vec<String> = settings.checkpoints.iter().map(u32::to_string).collect();
        text += &format!("Report checkpoint(s) at {} seconds\n", points.join(", "));
    }
    if settings.debug {
        text += "Debug mode enabled.\n\n";
    }
    if settings.validate {
        text += "Validation checks: on.\n\n";
    }
    text += &match settings.seed {
        Some(seed) => {
            format!("Initializing random number generator from seed ({seed}).\n\n")
        }
        None => "Initializing random number generator from current time\n\n".to_owned(),
    };
    if let (Some(time), Some(after)) = (settings.time, settings.forced_shutdown) {
        text += &format!("Forcing shutdown in {} seconds\n", (time + after).as_secs());
    }
    if !settings.warm_up.is_zero() {
        text += &format!("Warming up for {} seconds...\n", settings.warm_up.as_secs());
    }
    text
}

fn fresh_seed() -> u64 {
    // A clock before 1970 is as good a seed as any.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |since| since.as_nanos() as u64)
}
