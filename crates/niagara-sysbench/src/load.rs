//! `run`: the load, the lines while it runs, the report.

use crate::failure::Failure;
use crate::job::{Job, OnInterrupt};
use crate::log::{Level, Log, print, remark};
use crate::progress::{Progress, Report};
use crate::report::{self, Cumulative, Interval};
use crate::servers;
use crate::settings::Settings;
use crate::tally::Tally;
use niagara_load::{
    CoalescingChoice, Driver, DriverOptions, GENERATOR_BUSY, GeneratorLimit, IgnoredErrors,
    LoadError, Pacing, Retry, RunOptions, Schedule, ScriptThreads, SliceStats, give_up_after,
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
/// Events that may wait for a thread where there is a rate: beyond it, sysbench's queue is full.
const QUEUE: u64 = 100_000;
/// The most events per second that can be asked for: their queue is full at once.
const HIGHEST_RATE: u32 = 10_000_000;
/// The client library's numbers for a connection that is gone.
const CONNECTION_ERRORS: [u16; 4] = [2006, 2011, 2013, 2055];

/// A load that is no workload of Niagara's own: it makes its threads, and may report in words of its own.
pub trait Guest {
    /// Who makes the threads of the run.
    ///
    /// # Errors
    /// An option has a value that it does not take.
    fn threads(&mut self) -> Result<Arc<dyn ScriptThreads>, Failure>;

    /// All its threads are there.
    fn started(&mut self) {}

    /// Whether its reports are about statements, as far as is known by now.
    fn asks_a_server(&self) -> bool {
        false
    }

    /// Reports an interval; false: it does not.
    fn interval(&mut self, interval: &Interval, log: Log) -> bool;

    /// Reports the whole, or what is `so_far`; false: the usual report is to follow.
    fn cumulative(&mut self, report: &Cumulative, so_far: bool, log: Log) -> bool;
}

/// Runs the load and prints its report; a guest is told what is due.
pub fn run(
    job: &Job,
    on_interrupt: OnInterrupt<'_>,
    mut script: Option<&mut dyn Guest>,
) -> Result<ExitCode, Failure> {
    let settings = &job.settings;
    let log = job.log;
    log.notice(&mode(settings));
    log.notice("Initializing worker threads...\n");
    let give_up = Arc::new(AtomicBool::new(false));
    let threads = script.as_mut().map(|guest| guest.threads()).transpose()?;
    let mut driver = connect(job, threads, Arc::clone(&give_up))?;
    let interrupt = on_interrupt().map_err(Failure::fatal)?;
    // After Ctrl-C, transactions in flight get a moment.
    let patience = || TICK + INTERRUPT_TIMEOUT;
    give_up_after(Arc::clone(&interrupt), patience, give_up);
    tell_started(settings, log);
    if let Some(guest) = &mut script {
        guest.started();
    }

    let started = Instant::now();
    let mut progress = Progress::new(settings);
    let mut queue_is_full = false;
    let result = driver.run(0, &run_options(settings), &mut |stats| {
        for report in progress.advance(stats) {
            match &mut script {
                Some(guest) => say(log, report, Some(&mut **guest)),
                None => say(log, report, None),
            }
        }
        queue_is_full = settings.rate.is_some() && stats.backlog > QUEUE;
        !queue_is_full && !interrupt.load(Ordering::Relaxed)
    });
    if queue_is_full {
        return Err(Failure::fatal(
            "The event queue is full. This means the worker threads are unable to keep up with the specified event \
             generation rate",
        ));
    }
    let interrupted = interrupt.load(Ordering::Relaxed);
    let (mut rest, mut elapsed, mut code) = match result {
        Ok(stats) => {
            let code = if interrupted {
                ExitCode::from(INTERRUPTED)
            } else {
                tell_limit(settings, &stats, log);
                ExitCode::SUCCESS
            };
            // Beside the report, which programs read.
            if let Some(warning) = generator_warning(stats.generator_limit(), settings)
                && log.verbosity >= Level::Warning as i32
            {
                remark(&warning);
            }
            (progress.rest(&stats), stats.seconds, code)
        }
        Err(_) if interrupted => {
            // Something hangs; the report is of what was measured until then.
            let (rest, elapsed) = progress.rest_of_ticks();
            (rest, elapsed, ExitCode::from(INTERRUPTED))
        }
        Err(error) if is_forced(settings, started, &error, driver.is_stuck()) => {
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
    // Threads of a script take leave before the report, which counts their statements too. So it does with files: what is
    // under way is waited for, and what was written is synced.
    let leaving = Instant::now();
    match driver.leave() {
        Ok(counts) => rest.add_outside(counts),
        // What was measured stays true.
        Err(error) => {
            for line in failed(&error).lines {
                log.say(Level::Fatal, &line);
            }
            code = ExitCode::FAILURE;
        }
    }
    if script.is_some() {
        let seconds = leaving.elapsed().as_secs_f64();
        elapsed += seconds;
        rest.seconds += seconds;
    }
    log.say(Level::Info, "Done.\n");
    finish(job, &rest, elapsed, script);
    Ok(code)
}

/// Tells that all threads are there, one by one where that is asked for.
fn tell_started(settings: &Settings, log: Log) {
    if !settings.checkpoints.is_empty() {
        log.say(Level::Debug, "Checkpoints report thread started");
    }
    for state in ["started", "initialized"] {
        for number in 0..settings.threads {
            log.say(Level::Debug, &format!("Worker thread (#{number}) {state}"));
        }
    }
    log.notice("Threads started!\n");
}

/// Tells which limit ended the load, if it was one: threads may also be done by themselves.
fn tell_limit(settings: &Settings, stats: &SliceStats, log: Log) {
    let events = settings
        .events
        .is_some_and(|most| stats.transactions >= most);
    let time = settings
        .time
        .is_some_and(|most| stats.seconds >= most.as_secs_f64());
    let limit = match (events, time) {
        (true, _) => "Event",
        (false, true) => "Time",
        (false, false) => return,
    };
    log.say(Level::Info, &format!("{limit} limit exceeded, exiting..."));
}

/// What is to be said where the load generator may have held up the server. A thread that has a loop for itself is as fast as sysbench's,
/// and what it does may be all there is to be measured.
fn generator_warning(limit: Option<GeneratorLimit>, settings: &Settings) -> Option<String> {
    let limit = limit.filter(|limit| limit.loops < settings.threads as usize)?;
    let remedy = match limit.busiest_loop >= GENERATOR_BUSY {
        true => "; --niagara-loops=N says how many loops there are",
        false => "",
    };
    Some(format!("WARNING: {limit}{remedy}"))
}

/// Connects all threads; `give_up` ends what takes too long.
fn connect(
    job: &Job,
    script: Option<Arc<dyn ScriptThreads>>,
    give_up: Arc<AtomicBool>,
) -> Result<Driver, Failure> {
    let settings = &job.settings;
    let options = DriverOptions {
        connections: settings.threads,
        seed: settings.seed.unwrap_or_else(fresh_seed),
        connect_timeout: match settings.init_timeout.is_zero() {
            true => NO_TIMEOUT,
            false => settings.init_timeout,
        },
        loops: settings.loops,
        stall_timeout: NO_TIMEOUT,
        cancel: give_up,
        ignored_errors: job.ignored_errors.clone(),
        retry: retry(&job.ignored_errors),
        reconnect_after: Some(u64::from(job.spec.common.reconnect)).filter(|&after| after > 0),
        // Whether a script writes is found out by trying it: not where sysbench would not.
        coalescing: match &script {
            Some(_) => CoalescingChoice::For(Duration::ZERO),
            None => CoalescingChoice::Auto,
        },
        ..DriverOptions::default()
    };
    let sides = std::slice::from_ref(&job.endpoints);
    let connected = match script {
        Some(threads) => Driver::connect_script(sides, &job.spec, &options, Some(threads)),
        None => Driver::connect_spread(sides, &job.spec, &options),
    };
    connected.map_err(|error| {
        servers::not_started(&error, &job.endpoints).and("Thread initialization failed!")
    })
}

/// Says what is due, or has the script say it.
fn say(log: Log, report: Report, script: Option<&mut dyn Guest>) {
    let asks_a_server = script.as_ref().is_none_or(|script| script.asks_a_server());
    match report {
        Report::Interval(interval) => {
            if script.is_some_and(|script| script.interval(&interval, log)) {
                return;
            }
            log.moment(&match asks_a_server {
                true => report::interval(&interval),
                false => report::events_interval(&interval),
            });
        }
        Report::Checkpoint(mut cumulative) => {
            let time = report::timestamp(cumulative.elapsed);
            log.moment(&format!("{time}Checkpoint report:"));
            cumulative.asks_a_server = asks_a_server;
            if !script.is_some_and(|script| script.cumulative(&cumulative, true, log)) {
                log.report(&report::cumulative(&cumulative));
            }
        }
    }
}

/// The histogram, if it is asked for, and the report.
fn finish(job: &Job, tally: &Tally, elapsed: f64, script: Option<&mut dyn Guest>) {
    if job.settings.histogram {
        job.log
            .notice("Latency histogram (values are in milliseconds)");
        for line in tally.buckets().lines() {
            print(&format!("{line}\n"));
        }
        job.log.notice(" ");
    }
    let mut report = tally.report(elapsed, job.settings.percentile);
    report.asks_a_server = script.as_ref().is_none_or(|script| script.asks_a_server());
    if !script.is_some_and(|script| script.cumulative(&report, false, job.log)) {
        job.log.report(&report::cumulative(&report));
    }
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
            Some(rate) => Pacing::Open(Schedule::constant(f64::from(rate.min(HIGHEST_RATE)))),
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

/// Whether a run has failed because time was over and something had not come to its end: a transaction, or (`is_stuck`) an
/// event that asks nobody.
fn is_forced(settings: &Settings, started: Instant, error: &LoadError, is_stuck: bool) -> bool {
    let (Some(time), Some(after)) = (settings.time, settings.forced_shutdown) else {
        return false;
    };
    (is_stuck || matches!(error, LoadError::ServerLost { .. }))
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
        _ => Failure::of_load(error),
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

pub fn fresh_seed() -> u64 {
    // A clock before 1970 is as good a seed as any.
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |since| since.as_nanos() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::without_server::{Thread, Threads, WithoutServer};
    use crate::{command_line, servers};
    use niagara_load::{
        Endpoint, Reply, ScriptInfo, ScriptSource, ScriptWorkload, TlsOptions, Transport, Want,
        WorkloadSpec,
    };

    type Deed = Arc<dyn Fn() + Send + Sync>;

    /// A test without a server whose threads do this.
    struct Deeds {
        event: Deed,
        parting: Deed,
        /// Of the final report: its seconds since the start, and those that its counts are of.
        reported: Option<(f64, f64)>,
    }

    impl Deeds {
        fn new(event: impl Fn() + Send + Sync + 'static) -> Self {
            Deeds {
                event: Arc::new(event),
                parting: Arc::new(|| {}),
                reported: None,
            }
        }

        /// A run of one event.
        fn run(&mut self, change: impl FnOnce(&mut Settings)) {
            let words = ["--events=1", "--time=0", "--verbosity=0"].map(str::to_owned);
            let line = command_line::parse(&words, &|_| Err(std::io::ErrorKind::NotFound.into()));
            let line = line.unwrap();
            let mut settings = Settings::read(&line.values).unwrap();
            change(&mut settings);
            let log = Log { verbosity: 0 };
            let never = || -> Result<Arc<AtomicBool>, String> { Ok(Arc::default()) };
            let source = ScriptSource {
                path: "deeds".into(),
                text: String::new(),
                modules: std::collections::BTreeMap::new(),
            };
            // A thread of the system for each of its own.
            let info = ScriptInfo {
                blocks: true,
                ..ScriptInfo::default()
            };
            let job = Job {
                spec: WorkloadSpec::of(ScriptWorkload::new(source, info)),
                endpoints: vec![Endpoint {
                    transport: Transport::Unix("/nonexistent".into()),
                    user: String::new(),
                    password: String::new(),
                    database: String::new(),
                    tls: TlsOptions::default(),
                }],
                ignored_errors: servers::ignored_errors(&line.values).unwrap(),
                settings,
                log,
            };
            let result = super::run(&job, &never, Some(self));
            assert!(result.is_ok(), "{result:?}");
        }
    }

    impl Guest for Deeds {
        fn threads(&mut self) -> Result<Arc<dyn ScriptThreads>, Failure> {
            let threads = DeedThreads(Arc::clone(&self.event), Arc::clone(&self.parting));
            Ok(Arc::new(WithoutServer(threads)))
        }

        fn interval(&mut self, _interval: &Interval, _log: Log) -> bool {
            true
        }

        fn cumulative(&mut self, report: &Cumulative, _so_far: bool, _log: Log) -> bool {
            self.reported = Some((report.elapsed, report.seconds));
            true
        }
    }

    struct DeedThreads(Deed, Deed);

    impl Threads for DeedThreads {
        type Thread = DeedThread;

        fn thread(&self, _number: u32) -> Result<DeedThread, LoadError> {
            Ok(DeedThread(Arc::clone(&self.0), Arc::clone(&self.1)))
        }
    }

    struct DeedThread(Deed, Deed);

    impl Thread for DeedThread {
        fn resume(&mut self, reply: Reply) -> Result<Want, String> {
            let completed = reply == Reply::Event(true);
            if completed {
                (self.0)();
            }
            Ok(match reply {
                Reply::Goodbye => {
                    (self.1)();
                    Want::End
                }
                _ => Want::Event { completed },
            })
        }
    }

    #[test]
    fn a_generator_that_holds_up_the_server_is_told_of_with_the_remedy() {
        let words = ["--threads=4".to_owned()];
        let line = command_line::parse(&words, &|_| Err(std::io::ErrorKind::NotFound.into()));
        let settings = Settings::read(&line.unwrap().values).unwrap();
        let limit = |loops| GeneratorLimit {
            busiest_loop: 0.98,
            loops,
            start_delay_seconds: 0.0,
        };
        let warning = generator_warning(Some(limit(1)), &settings).unwrap();
        for words in ["98 % of a CPU", "--niagara-loops=N"] {
            assert!(warning.contains(words), "{warning}");
        }
        // As many as there may be.
        assert_eq!(generator_warning(Some(limit(4)), &settings), None);
        assert_eq!(generator_warning(None, &settings), None);
    }

    #[test]
    fn what_threads_do_when_they_leave_is_part_of_the_run() {
        let mut guest = Deeds::new(|| {});
        guest.parting = Arc::new(|| std::thread::sleep(Duration::from_millis(300)));
        guest.run(|_| {});
        let (elapsed, seconds) = guest.reported.unwrap();
        assert!(elapsed >= 0.3 && seconds >= 0.3, "{elapsed} {seconds}");
    }
}
