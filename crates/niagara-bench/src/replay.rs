//! What a replayed capture costs, beside sysbench sending the same statements; and how much memory a large one takes.
//!
//! The statements are sysbench's own: it runs as text while the server logs everything, the log is imported, and the capture is
//! replayed on one side, sysbench runs on the other, by turns.

use crate::ground::{Ground, Placement, Stand, TABLE_SIZE, endpoint, spec};
use crate::memory::field;
use crate::ratio::{ratio, with_interval};
use crate::sample::Sample;
use crate::sysbench::Sysbench;
use anyhow::{Context, Result, bail};
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, import};
use niagara_load::{
    CaptureWorkload, Driver, DriverOptions, Endpoint, LoadGenerator, RunOptions, SysbenchTest,
    WorkloadSpec,
};
use niagara_stats::{Estimate, median};
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use std::io::{BufWriter, Write, stdin};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Connections of sysbench, and so sessions of the capture.
const THREADS: u32 = 32;
/// What the replay's CPU time per statement is to stay below, as a multiple of sysbench's.
const TARGET: f64 = 1.0;
/// Rounds below which an interval cannot be had.
const FEWEST_ROUNDS: usize = 6;
/// Load before counted time.
const RAMP: Duration = Duration::from_millis(200);
/// How long sysbench is captured.
const CAPTURED: Duration = Duration::from_secs(3);

/// The large capture.
const SESSIONS: u64 = 500;
const STATEMENTS: u64 = 1_000_000;

/// The argument that makes this program the process whose memory is measured.
pub const REPLAY: &str = "--replay-large";

/// Measures both for about `time` and prints what came of it.
pub fn compare(server: &str, time: Duration, slice: Duration, json: Option<&Path>) -> Result<()> {
    let ground = Ground::prepare(server)?;
    let folder = tempfile::tempdir().context("a folder for the capture")?;
    let beside = beside_sysbench(&ground, folder.path(), time, slice)?;
    print!("{}", beside.table());
    let large = large(&ground, folder.path())?;
    println!(
        "{} statements of {} sessions, at most {} at a time, replayed in {:.1} s: {:.0} MiB at most in the process, {:.0} of it the trace; \
         {} errors",
        large.statements,
        SESSIONS,
        large.in_flight,
        large.seconds,
        large.peak_mib,
        large.trace_mib,
        large.errors
    );
    if let Some(path) = json {
        let all = serde_json::json!({ "beside_sysbench": beside, "large": large });
        std::fs::write(path, serde_json::to_vec_pretty(&all)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Captures oltp_read_write of Niagara's own on a private server for about `time` into `output`: a captured workload that
/// writes, whose data `--tables-of oltp_read_write` makes again.
pub fn capture_writes(server: &str, time: Duration, output: &Path) -> Result<()> {
    let ground = Ground::prepare(server)?;
    let folder = tempfile::tempdir().context("a folder for the log")?;
    let stand = ground.start(Placement::Shared)?;
    let log = folder.path().join("slow.log");
    let sides = [endpoint(&stand.server)];
    let writes = spec(SysbenchTest::OltpReadWrite);
    logged(&stand, &log, || {
        let options = DriverOptions {
            connections: THREADS,
            ..DriverOptions::default()
        };
        let mut driver = Driver::connect(&sides, &writes, &options)?;
        let options = RunOptions {
            duration: Some(time),
            ..RunOptions::default()
        };
        let stats = driver.run(0, &options, &mut |_| true)?;
        driver.disconnect();
        Ok(stats)
    })?;
    std::fs::copy(imported(&log)?, output)
        .with_context(|| format!("cannot write {}", output.display()))?;
    stand.server.kill();
    println!(
        "{}: its data are --tables-of oltp_read_write --table-size {TABLE_SIZE}",
        output.display()
    );
    Ok(())
}

/// The rounds of both.
#[derive(Debug, Serialize)]
struct Beside {
    replay: Vec<Sample>,
    sysbench: Vec<Sample>,
    /// CPU time per statement of the replay over sysbench's.
    cpu: Estimate,
    /// Statements per second.
    throughput: Estimate,
}

impl Beside {
    fn table(&self) -> String {
        let row = |name: &str, samples: &[Sample]| {
            let of = |value: fn(&Sample) -> f64| {
                let values: Vec<f64> = samples.iter().map(value).collect();
                median(&values).unwrap_or(f64::NAN)
            };
            format!(
                "{name:<24} {:>12.0} {:>20.3} {:>20.3}\n",
                of(|sample| sample.queries_per_second),
                of(|sample| sample.cpu_microseconds),
                of(|sample| sample.server_cpu_microseconds)
            )
        };
        let met = match self.cpu.ratio <= TARGET {
            true => "met",
            false => "missed",
        };
        format!(
            "replay of oltp_read_only as text, {THREADS} sessions ({} rounds; medians, ratios with 95 % intervals)\n\
             {:<24} {:>12} {:>20} {:>20}\n{}{}\
             replay / sysbench: CPU {} (≤ {TARGET}: {met}), throughput {}\n",
            self.replay.len(),
            "",
            "statements/s",
            "client µs/statement",
            "server µs/statement",
            row("niagara, replay", &self.replay),
            row("sysbench, text", &self.sysbench),
            with_interval(&self.cpu),
            with_interval(&self.throughput)
        )
    }
}

fn beside_sysbench(
    ground: &Ground,
    folder: &Path,
    time: Duration,
    slice: Duration,
) -> Result<Beside> {
    let stand = ground.start(Placement::Shared)?;
    let mut sysbench = Sysbench::new(
        &endpoint(&stand.server),
        &spec(SysbenchTest::OltpReadOnly),
        THREADS,
    )?
    .sending_text();
    let log = folder.join("slow.log");
    logged(&stand, &log, || {
        sysbench.slice(CAPTURED, None, &stand.server)
    })?;
    let capture = CaptureWorkload::open(&imported(&log)?)?;
    let replayed = WorkloadSpec::of(capture);
    let sides = [endpoint(&stand.server)];
    let mut driver = Driver::connect(&sides, &replayed, &DriverOptions::default())?;
    // A first round warms the server and the buffers, and does not count.
    replay_slice(&mut driver, &stand, slice)?;
    sysbench.slice(slice, None, &stand.server)?;
    let deadline = Instant::now() + time;
    let mut samples = [Vec::new(), Vec::new()];
    let mut round = Duration::ZERO;
    while samples[0].len() < FEWEST_ROUNDS || Instant::now() + round <= deadline {
        let began = Instant::now();
        let mut order = [0, 1];
        order.shuffle(&mut rand::rng());
        for who in order {
            samples[who].push(match who {
                0 => replay_slice(&mut driver, &stand, slice)?,
                _ => sysbench.slice(slice, None, &stand.server)?,
            });
        }
        round = began.elapsed();
    }
    driver.disconnect();
    stand.server.kill();
    let [replay, sysbench] = samples;
    let compare = |value: fn(&Sample) -> f64| {
        let all = |samples: &[Sample]| -> Vec<f64> { samples.iter().map(value).collect() };
        ratio(&all(&replay), &all(&sysbench))
    };
    Ok(Beside {
        cpu: compare(|sample| sample.cpu_microseconds),
        throughput: compare(|sample| sample.queries_per_second),
        replay,
        sysbench,
    })
}

/// Has the server log every statement of new sessions while `work` is done.
fn logged<T>(stand: &Stand, log: &Path, work: impl FnOnce() -> Result<T>) -> Result<()> {
    stand.server.query(&format!(
        "SET GLOBAL slow_query_log_file = '{}'",
        log.display()
    ))?;
    stand.server.query("SET GLOBAL long_query_time = 0")?;
    stand.server.query("SET GLOBAL slow_query_log = 1")?;
    let worked = work();
    stand.server.query("SET GLOBAL slow_query_log = 0")?;
    stand.server.query("SET GLOBAL long_query_time = 10")?;
    worked.map(|_| ())
}

fn imported(log: &Path) -> Result<PathBuf> {
    let output = log.with_extension("capture");
    let job = Import {
        files: vec![log.to_owned()],
        read: ReadOptions::default(),
        output: output.clone(),
        replace: true,
        clients: Vec::new(),
        counted: None,
        stored: None,
    };
    import(&job, &AtomicBool::new(false), |_| {})?;
    Ok(output)
}

fn replay_slice(driver: &mut Driver, stand: &Stand, duration: Duration) -> Result<Sample> {
    let before = stand.server.cpu_time()?;
    let options = RunOptions {
        warm_up: RAMP,
        duration: Some(duration),
        ..RunOptions::default()
    };
    let stats = driver.run(0, &options, &mut |_| true)?;
    let server = stand.server.cpu_time()?.saturating_sub(before);
    let whole = stats.queries_whole as f64;
    Ok(Sample {
        queries_per_second: stats.queries as f64 / stats.seconds,
        cpu_microseconds: stats.client_cpu_seconds * 1e6 / whole,
        server_cpu_microseconds: server.as_secs_f64() * 1e6 / whole,
        transactions_per_second: stats.transactions as f64 / stats.seconds,
        cpu_per_transaction: stats.client_cpu_seconds * 1e6 / stats.transactions_whole as f64,
        latency_milliseconds: stats.latency.value_at_quantile(0.95) as f64 / 1e6,
        unevenness: 0.0,
    })
}

/// What the other process is told.
#[derive(Debug, Serialize, Deserialize)]
struct Task {
    endpoint: Endpoint,
    capture: PathBuf,
}

/// What it did.
#[derive(Debug, Serialize, Deserialize)]
struct Large {
    statements: u64,
    errors: u64,
    /// Most statements in flight that the capture has.
    in_flight: u32,
    seconds: f64,
    /// Peak of the process' resident memory.
    peak_mib: f64,
    /// The part that the trace takes, by its own account.
    trace_mib: f64,
}

/// Makes a large capture from a made-up log and replays it in a process of its own.
fn large(ground: &Ground, folder: &Path) -> Result<Large> {
    let log = folder.join("large.log");
    let mut out = BufWriter::new(std::fs::File::create(&log)?);
    for number in 0..STATEMENTS {
        entry(number, &mut out)?;
    }
    out.flush()?;
    drop(out);
    let capture = imported(&log)?;
    std::fs::remove_file(&log)?;
    let stand = ground.start(Placement::Shared)?;
    let task = Task {
        endpoint: endpoint(&stand.server),
        capture,
    };
    let program = std::env::current_exe().context("this program's own path")?;
    let mut child = Command::new(program)
        .arg(REPLAY)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the process that replays")?;
    if let Some(mut to) = child.stdin.take() {
        to.write_all(&serde_json::to_vec(&task)?)?;
    }
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!("the process that replays ended with {}", output.status);
    }
    stand.server.kill();
    serde_json::from_slice(&output.stdout).context("what the process that replays said")
}

/// An entry of a slow log of MySQL: sessions in turn, 20 000 statements a second, each of 500 µs.
fn entry(number: u64, out: &mut impl Write) -> std::io::Result<()> {
    let end_us = number * 50 + 500;
    let (second, micros) = (end_us / 1_000_000, end_us % 1_000_000);
    write!(
        out,
        "# Time: 2026-01-01T00:{:02}:{:02}.{micros:06}Z\n# User@Host: app[app] @ web1 [10.0.0.7]  Id: {:>5}\n\
         # Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1\n\
         use sbtest;\nSET timestamp={};\nSELECT c FROM sbtest1 WHERE id = {};\n",
        second / 60,
        second % 60,
        number % SESSIONS + 10,
        1_767_225_600 + second,
        number * 7919 % 100_000 + 1
    )
}

/// What the other process does.
pub fn replay() -> Result<()> {
    let task: Task = serde_json::from_reader(stdin())?;
    let capture = CaptureWorkload::open(&task.capture)?;
    let trace = capture.trace()?;
    let sides = [task.endpoint];
    let spec = WorkloadSpec::of(capture);
    let mut driver = Driver::connect(&sides, &spec, &DriverOptions::default())?;
    let began = Instant::now();
    while driver.segments_left(0).is_some_and(|left| left > 0) {
        let options = RunOptions {
            segment: true,
            ..RunOptions::default()
        };
        driver.run(0, &options, &mut |_| true)?;
    }
    let seconds = began.elapsed().as_secs_f64();
    let tally = driver.replayed(0).context("it is a capture")?;
    let large = Large {
        statements: tally.statements,
        errors: tally.errors.values().sum(),
        in_flight: trace.facts.max_in_flight,
        seconds,
        peak_mib: field("/proc/self/status", "VmHWM:")? / 1024.0,
        trace_mib: trace.memory() as f64 / f64::from(1 << 20),
    };
    driver.disconnect();
    println!("{}", serde_json::to_string(&large)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_log_is_imported_whole() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("large.log");
        let mut text = Vec::new();
        for number in 0..2000 {
            entry(number, &mut text).unwrap();
        }
        std::fs::write(&log, text).unwrap();
        let capture = CaptureWorkload::open(&imported(&log).unwrap()).unwrap();
        let trace = capture.trace().unwrap();
        assert_eq!(trace.facts.statements, 2000);
        assert_eq!(u64::from(trace.sessions), SESSIONS);
        assert_eq!(trace.facts.max_in_flight, 10);
    }
}
