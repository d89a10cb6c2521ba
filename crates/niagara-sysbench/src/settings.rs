//! What the general options say, checked in sysbench's order and refused in its words.

use crate::failure::Failure;
use crate::log::Level;
use crate::values::Values;
use niagara_load::{OptionValue, WorkloadOption};
use std::time::Duration;

/// Checkpoints that sysbench takes at most.
const MAX_CHECKPOINTS: usize = 256;
/// The most that a connection's number goes to; the load generator's own bound.
const MAX_THREADS: i32 = 100_000;

/// The general options.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub threads: u32,
    /// `None`: no limit.
    pub events: Option<u64>,
    /// `None`: no limit.
    pub time: Option<Duration>,
    pub warm_up: Duration,
    /// How long a connection may take until it is there; zero: as long as it likes.
    pub init_timeout: Duration,
    /// Threads of the system that drive the load; `None`: as many as there usually are.
    pub loops: Option<usize>,
    /// How long after `time` the transactions in flight are given up; `None`: never.
    pub forced_shutdown: Option<Duration>,
    /// Transactions per second; `None`: as fast as possible.
    pub rate: Option<u32>,
    /// Seconds; `None`: no intermediate lines.
    pub report_interval: Option<u32>,
    /// Seconds since the start, rising, each once, none 0.
    pub checkpoints: Vec<u32>,
    pub validate: bool,
    /// `None`: a fresh one.
    pub seed: Option<u64>,
    pub verbosity: i32,
    /// What each connection did is said too.
    pub debug: bool,
    /// `None`: no percentiles.
    pub percentile: Option<u32>,
    pub histogram: bool,
    /// What is to be said before anything else.
    pub remarks: Vec<(Level, String)>,
}

impl Settings {
    /// Reads and checks them.
    pub fn read(values: &Values) -> Result<Settings, Failure> {
        let mut remarks = Vec::new();
        let mut renamed = |old: &str, new: &str, unset: i32| -> Result<i32, Failure> {
            let value = values.integer(old)?;
            if value <= unset {
                return values.integer(new);
            }
            remarks.push((
                Level::Warning,
                format!("--{old} is deprecated, use --{new} instead"),
            ));
            Ok(value)
        };
        let threads = renamed("num-threads", "threads", 1)?;
        if !(1..=MAX_THREADS).contains(&threads) {
            return Err(Failure::fatal(format!(
                "Invalid value for --threads: {threads}.\n"
            )));
        }
        let events = renamed("max-requests", "events", 0)?;
        let events = not_negative("events", events)?;
        let time = renamed("max-time", "time", 0)?;
        let time = not_negative("time", time)?;
        let warm_up = not_negative("warmup-time", values.integer("warmup-time")?)?;
        let init_timeout = not_negative(
            "thread-init-timeout",
            values.integer("thread-init-timeout")?,
        )?;
        let loops = not_negative("niagara-loops", values.integer("niagara-loops")?)?;
        let forced_shutdown = forced_shutdown(values, time)?;
        let stack = values.size("thread-stack-size")?;
        let rate = renamed("tx-rate", "rate", 0)?;
        let rate = not_negative("rate", rate)?;
        remarks.extend(what_changes_nothing(
            values,
            stack,
            events == 0 && time == 0,
        ));
        let seed = values.integer("rand-seed")?;
        distribution(values)?;
        let report_interval = not_negative("report-interval", values.integer("report-interval")?)?;
        let checkpoints = checkpoints(values.list("report-checkpoints"))?;
        let debug = values.flag("debug");
        let verbosity = verbosity(values, debug)?;
        let histogram = values.flag("histogram");
        let percentile = percentile(values, histogram)?;
        Ok(Settings {
            threads: threads.unsigned_abs(),
            events: Some(u64::from(events)).filter(|&events| events > 0),
            time: Some(time).filter(|&time| time > 0).map(seconds),
            warm_up: seconds(warm_up),
            init_timeout: seconds(init_timeout),
            loops: Some(loops as usize).filter(|&loops| loops > 0),
            forced_shutdown,
            rate: Some(rate).filter(|&rate| rate > 0),
            report_interval: Some(report_interval).filter(|&interval| interval > 0),
            checkpoints,
            validate: values.flag("validate"),
            // A negative seed is as good as any.
            seed: Some(i64::from(seed) as u64).filter(|&seed| seed != 0),
            verbosity,
            debug,
            percentile: Some(percentile).filter(|&percentile| percentile > 0),
            histogram,
            remarks,
        })
    }
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(u64::from(count))
}

/// What is to be said of options without an effect, and of a run without an end.
fn what_changes_nothing(values: &Values, stack: u64, endless: bool) -> Vec<(Level, String)> {
    let mut remarks = Vec::new();
    if endless {
        remarks.push((
            Level::Warning,
            "Both event and time limits are disabled, running an endless test".into(),
        ));
    }
    if values.given("thread-stack-size") {
        remarks.push((
            Level::Warning,
            format!("--thread-stack-size={stack} changes nothing: connections have no threads of their own"),
        ));
    }
    remarks
}

fn verbosity(values: &Values, debug: bool) -> Result<i32, Failure> {
    let verbosity = match values.integer("verbosity")? {
        lower if debug => lower.max(Level::Debug as i32),
        asked => asked,
    };
    if verbosity > Level::Debug as i32 {
        return Err(Failure::fatal(format!(
            "Invalid value for verbosity: {verbosity}"
        )));
    }
    Ok(verbosity)
}

fn percentile(values: &Values, histogram: bool) -> Result<u32, Failure> {
    let percentile = values.integer("percentile")?;
    let Some(percentile) = u32::try_from(percentile).ok().filter(|value| *value <= 100) else {
        return Err(Failure::fatal(format!(
            "Invalid value for --percentile: {percentile}"
        )));
    };
    if histogram && percentile == 0 {
        return Err(Failure::fatal(
            "--histogram cannot be used with --percentile=0",
        ));
    }
    Ok(percentile)
}

fn not_negative(name: &str, value: i32) -> Result<u32, Failure> {
    u32::try_from(value)
        .map_err(|_| Failure::fatal(format!("Invalid value for --{name}: {value}.\n")))
}

/// Without a value it is a twentieth of the time; `N%` is a share of it.
fn forced_shutdown(values: &Values, time: u32) -> Result<Option<Duration>, Failure> {
    if time == 0 {
        return Ok(None);
    }
    let Some(text) = values.text("forced-shutdown") else {
        return Ok(Some(seconds(time / 20)));
    };
    if text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let (number, percent) = match text.strip_suffix('%') {
        Some(number) => (number, true),
        None => (text, false),
    };
    let number: u32 = number
        .parse()
        .map_err(|_| Failure::fatal(format!("Invalid value for --forced-shutdown: '{text}'")))?;
    Ok(Some(if percent {
        Duration::from_secs(u64::from(number) * u64::from(time) / 100)
    } else {
        seconds(number)
    }))
}

/// Whether `--rand-type` is known; its own numbers are the workload's to check.
fn distribution(values: &Values) -> Result<(), Failure> {
    let name = values.text("rand-type").unwrap_or_default();
    match WorkloadOption::find("rand_type").map(|option| option.value) {
        Some(OptionValue::Choice(known)) if !known.contains(&name) => Err(Failure::fatal(format!(
            "Invalid random numbers distribution: {name}."
        ))),
        _ => Ok(()),
    }
}

fn checkpoints(list: &[String]) -> Result<Vec<u32>, Failure> {
    if list.len() > MAX_CHECKPOINTS {
        return Err(Failure::fatal(format!(
            "Too many checkpoints in --report-checkpoints (up to {MAX_CHECKPOINTS} can be defined)"
        )));
    }
    let mut checkpoints = Vec::new();
    for text in list {
        let checkpoint = text
            .trim_start()
            .parse::<i32>()
            .ok()
            .and_then(|value| u32::try_from(value).ok())
            .ok_or_else(|| {
                Failure::fatal(format!("Invalid value for --report-checkpoints: '{text}'"))
            })?;
        checkpoints.push(checkpoint);
    }
    checkpoints.sort_unstable();
    checkpoints.dedup();
    // Nothing has happened by then.
    checkpoints.retain(|&checkpoint| checkpoint > 0);
    Ok(checkpoints)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line;

    fn read(words: &str) -> Result<Settings, Failure> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let line = command_line::parse(&words, &|_| Err(std::io::ErrorKind::NotFound.into()))?;
        Settings::read(&line.values)
    }

    #[test]
    fn defaults() {
        let settings = read("").unwrap();
        assert_eq!(settings.threads, 1);
        assert_eq!(settings.time, Some(Duration::from_secs(10)));
        assert_eq!(
            (settings.events, settings.rate, settings.seed),
            (None, None, None)
        );
        assert_eq!(settings.percentile, Some(95));
        assert_eq!(
            (settings.init_timeout, settings.loops),
            (Duration::from_secs(30), None)
        );
        assert!(settings.remarks.is_empty());
        let settings = read("--thread-init-timeout=90 --niagara-loops=3").unwrap();
        assert_eq!(
            (settings.init_timeout, settings.loops),
            (Duration::from_secs(90), Some(3))
        );
    }

    #[test]
    fn old_names() {
        let settings = read("--num-threads=4 --max-time=7 --max-requests=9 --tx-rate=3").unwrap();
        assert_eq!((settings.threads, settings.events), (4, Some(9)));
        assert_eq!(
            (settings.time, settings.rate),
            (Some(Duration::from_secs(7)), Some(3))
        );
        assert_eq!(settings.remarks.len(), 4);
        let settings = read("--threads=4 --num-threads=1").unwrap();
        assert_eq!((settings.threads, settings.remarks.len()), (4, 0));
    }

    #[test]
    fn forced_shutdown_in_seconds_and_per_cent() {
        for (words, after) in [
            ("--time=100", None),
            ("--time=100 --forced-shutdown=off", None),
            ("--time=100 --forced-shutdown", Some(5)),
            ("--time=100 --forced-shutdown=7", Some(7)),
            ("--time=200 --forced-shutdown=7%", Some(14)),
            ("--time=0 --forced-shutdown=7", None),
        ] {
            assert_eq!(
                read(words).unwrap().forced_shutdown,
                after.map(Duration::from_secs),
                "{words}"
            );
        }
    }

    #[test]
    fn checkpoints_rise() {
        let settings = read("--report-checkpoints=30,0,10,30").unwrap();
        assert_eq!(settings.checkpoints, [10, 30]);
    }

    #[test]
    fn impossible_values_are_refused_by_name() {
        for (words, message) in [
            ("--threads=0", "Invalid value for --threads: 0.\n"),
            ("--threads", "Invalid value for --threads: 0.\n"),
            ("--threads=-3", "Invalid value for --threads: -3.\n"),
            ("--threads=x", "Invalid value for the 'threads' option: 'x'"),
            ("--percentile=101", "Invalid value for --percentile: 101"),
            ("--percentile=-1", "Invalid value for --percentile: -1"),
            (
                "--percentile=0 --histogram",
                "--histogram cannot be used with --percentile=0",
            ),
            (
                "--rand-type=normal",
                "Invalid random numbers distribution: normal.",
            ),
            ("--verbosity=6", "Invalid value for verbosity: 6"),
            (
                "--forced-shutdown=x",
                "Invalid value for --forced-shutdown: 'x'",
            ),
            (
                "--report-checkpoints=1,x",
                "Invalid value for --report-checkpoints: 'x'",
            ),
            (
                "--report-checkpoints=-1",
                "Invalid value for --report-checkpoints: '-1'",
            ),
            (
                "--report-interval=-1",
                "Invalid value for --report-interval: -1.\n",
            ),
        ] {
            assert_eq!(read(words).unwrap_err().to_string(), message, "{words}");
        }
        let settings = read("--debug").unwrap();
        assert_eq!((settings.debug, settings.verbosity), (true, 5));
        assert!(!read("--verbosity=5").unwrap().debug);
    }
}
