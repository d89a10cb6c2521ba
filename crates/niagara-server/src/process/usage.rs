//! What a process has used so far, by the kernel's counters: CPU, context switches, page faults, disk.
//!
//! Everything is read from `/proc/PID` and the process's CPU clock, so it works for servers that Niagara did not
//! start too; what this user may not see there is absent.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::process::id::ProcessId;

/// A process whose counters are read.
#[derive(Debug, Clone)]
pub struct UsageMeter {
    process: ProcessId,
}

/// A process's counters at one moment.
#[derive(Debug, Clone)]
pub struct UsageSample {
    at: Instant,
    cpu: Duration,
    stat: Stat,
    /// Thread number to voluntary and involuntary switches.
    switches: HashMap<i32, [u64; 2]>,
    io: Option<Io>,
}

/// What a process used between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Time between the two moments, in seconds.
    pub seconds: f64,
    /// CPU time of all threads, ended ones included, in seconds, to the nanosecond.
    pub cpu_seconds: f64,
    /// The part of it outside of the kernel; the kernel keeps the split in ticks of 10 ms.
    pub user_seconds: f64,
    /// The part of it in the kernel.
    pub system_seconds: f64,
    /// Context switches of a thread that had to wait for something. Those of threads that ended between the two
    /// moments are not known.
    pub voluntary_switches: u64,
    /// Context switches of a thread that was made to give way.
    pub involuntary_switches: u64,
    /// Page faults without a read from disk.
    pub minor_faults: u64,
    /// Page faults that had to read from disk.
    pub major_faults: u64,
    /// Reads and writes; none where the kernel does not show them to this user.
    pub io: Option<IoUsage>,
}

/// Reads and writes of a process between two moments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoUsage {
    /// Bytes that had to be fetched from the disk.
    pub disk_read_bytes: u64,
    /// Bytes that were made to be written to the disk, now or later.
    pub disk_write_bytes: u64,
    /// System calls of the read family, on sockets too.
    pub read_calls: u64,
    /// System calls of the write family, on sockets too. `send` and `recv` count in neither.
    pub write_calls: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Stat {
    minor_faults: u64,
    major_faults: u64,
    user_ticks: u64,
    system_ticks: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Io {
    disk_read_bytes: u64,
    disk_write_bytes: u64,
    read_calls: u64,
    write_calls: u64,
}

impl UsageMeter {
    /// A meter for the process that has this number now.
    ///
    /// # Errors
    /// There is none, or its counters cannot be read.
    pub fn new(pid: i32) -> Result<UsageMeter> {
        let Some(process) = ProcessId::of(pid) else {
            bail!("there is no process {pid}");
        };
        let meter = UsageMeter { process };
        meter.sample()?;
        Ok(meter)
    }

    /// The process's number.
    pub fn pid(&self) -> i32 {
        self.process.pid
    }

    /// Reads the counters. Takes some 10 µs per thread of the process.
    ///
    /// # Errors
    /// The process has ended, or its counters cannot be read.
    pub fn sample(&self) -> Result<UsageSample> {
        let pid = self.process.pid;
        if !self.process.is_alive() {
            bail!("process {pid} has ended");
        }
        let switches = context_switches(pid)?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))
            .with_context(|| format!("process {pid} has ended"))?;
        let stat = parse_stat(&stat)
            .with_context(|| format!("/proc/{pid}/stat is not as this kernel should write it"))?;
        // Only the owner and root may read it.
        let io = fs::read_to_string(format!("/proc/{pid}/io"))
            .ok()
            .and_then(|text| parse_io(&text));
        let cpu = clock_getcpuclockid(Pid::from_raw(pid))
            .and_then(clock_gettime)
            .with_context(|| format!("cannot read the CPU clock of process {pid}"))?;
        Ok(UsageSample {
            at: Instant::now(),
            cpu: Duration::from(cpu),
            stat,
            switches,
            io,
        })
    }
}

impl UsageSample {
    /// When it was taken.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// What was used since `before`.
    pub fn since(&self, before: &UsageSample) -> Usage {
        let cpu_seconds = self.cpu.saturating_sub(before.cpu).as_secs_f64();
        let less = u64::saturating_sub;
        let user = less(self.stat.user_ticks, before.stat.user_ticks) as f64;
        let system = less(self.stat.system_ticks, before.stat.system_ticks) as f64;
        let user_share = if user + system > 0.0 {
            user / (user + system)
        } else {
            1.0
        };
        let switches = |kind: usize| {
            self.switches
                .iter()
                .map(|(thread, now)| {
                    let then = before.switches.get(thread).map_or(0, |then| then[kind]);
                    // A smaller number is a new thread with the number of an ended one.
                    now[kind].checked_sub(then).unwrap_or(now[kind])
                })
                .sum()
        };
        Usage {
            seconds: self.at.saturating_duration_since(before.at).as_secs_f64(),
            cpu_seconds,
            user_seconds: cpu_seconds * user_share,
            system_seconds: cpu_seconds * (1.0 - user_share),
            voluntary_switches: switches(0),
            involuntary_switches: switches(1),
            minor_faults: less(self.stat.minor_faults, before.stat.minor_faults),
            major_faults: less(self.stat.major_faults, before.stat.major_faults),
            io: self.io.zip(before.io).map(|(now, then)| IoUsage {
                disk_read_bytes: less(now.disk_read_bytes, then.disk_read_bytes),
                disk_write_bytes: less(now.disk_write_bytes, then.disk_write_bytes),
                read_calls: less(now.read_calls, then.read_calls),
                write_calls: less(now.write_calls, then.write_calls),
            }),
        }
    }
}

/// Voluntary and involuntary context switches of every living thread.
pub(crate) fn context_switches(pid: i32) -> Result<HashMap<i32, [u64; 2]>> {
    let folder = format!("/proc/{pid}/task");
    let tasks = fs::read_dir(&folder).with_context(|| format!("process {pid} has ended"))?;
    let mut switches = HashMap::new();
    for task in tasks {
        // A thread may end between being listed and being read.
        let Ok(task) = task else { continue };
        let Some(thread) = task.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(status) = fs::read_to_string(task.path().join("status")) else {
            continue;
        };
        switches.insert(thread, parse_switches(&status));
    }
    Ok(switches)
}

fn parse_switches(status: &str) -> [u64; 2] {
    ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"].map(|name| value(status, name))
}

/// The number behind `name:`; 0 without such a line.
fn value(text: &str, name: &str) -> u64 {
    text.lines()
        .find_map(|line| line.split_once(':').filter(|(key, _)| *key == name))
        .and_then(|(_, number)| number.trim().parse().ok())
        .unwrap_or(0)
}

/// Fields 10, 12, 14 and 15 of `/proc/PID/stat` (proc_pid_stat(5)); they sum over all threads.
fn parse_stat(stat: &str) -> Option<Stat> {
    // The name in parentheses may hold anything, so fields are counted from its end, where field 3 is.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    Some(Stat {
        minor_faults: field(10)?,
        major_faults: field(12)?,
        user_ticks: field(14)?,
        system_ticks: field(15)?,
    })
}

/// `/proc/PID/io` (proc_pid_io(5)).
fn parse_io(text: &str) -> Option<Io> {
    text.contains("read_bytes").then(|| Io {
        disk_read_bytes: value(text, "read_bytes"),
        disk_write_bytes: value(text, "write_bytes")
            .saturating_sub(value(text, "cancelled_write_bytes")),
        read_calls: value(text, "syscr"),
        write_calls: value(text, "syscw"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_kernel_are_read_whatever_the_process_is_called() {
        let stat = "4711 (my (sql) d) S 1 4711 4711 0 -1 1077936384 20144 7 31 2 1530 420 0 0 20 0 44 0 8862 1 2";
        assert_eq!(
            parse_stat(stat),
            Some(Stat {
                minor_faults: 20144,
                major_faults: 31,
                user_ticks: 1530,
                system_ticks: 420,
            })
        );
        assert_eq!(parse_stat("4711 (x) S 1"), None);
        let status = "Name:\tx\nThreads:\t3\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n";
        assert_eq!(parse_switches(status), [150, 545]);
        let io = "rchar: 9\nwchar: 8\nsyscr: 7\nsyscw: 6\nread_bytes: 4096\nwrite_bytes: 12288\ncancelled_write_bytes: 8192\n";
        assert_eq!(
            parse_io(io),
            Some(Io {
                disk_read_bytes: 4096,
                disk_write_bytes: 4096,
                read_calls: 7,
                write_calls: 6,
            })
        );
        assert_eq!(parse_io(""), None);
    }

    #[test]
    fn what_this_process_uses_is_seen() {
        let meter = UsageMeter::new(std::process::id() as i32).expect("this process");
        let before = meter.sample().expect("this process");
        // Fresh pages fault, a sleep gives the CPU away, and CPU time passes until 50 ms are used.
        let pages = std::hint::black_box(vec![1_u8; 8 << 20]);
        std::thread::sleep(Duration::from_millis(2));
        let mut used = meter.sample().expect("this process").since(&before);
        let began = Instant::now();
        while used.cpu_seconds < 0.05 && began.elapsed() < Duration::from_secs(60) {
            used = meter.sample().expect("this process").since(&before);
        }
        assert!(used.cpu_seconds >= 0.05, "{used:?}");
        assert!((used.user_seconds + used.system_seconds - used.cpu_seconds).abs() < 1e-9);
        assert!(used.minor_faults >= 100, "{used:?}");
        assert!(used.voluntary_switches >= 1, "{used:?}");
        assert!(used.io.is_some(), "{used:?}");
        drop(pages);
    }

    #[test]
    fn threads_that_come_and_go_are_counted_for_what_is_known() {
        let sample = |switches: &[(i32, [u64; 2])]| UsageSample {
            at: Instant::now(),
            cpu: Duration::ZERO,
            stat: parse_stat("1 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0").expect("a line"),
            switches: switches.iter().copied().collect(),
            io: None,
        };
        let before = sample(&[(1, [100, 10]), (2, [50, 5])]);
        let after = sample(&[(1, [130, 11]), (2, [3, 1]), (7, [4, 0])]);
        let used = after.since(&before);
        assert_eq!(
            (used.voluntary_switches, used.involuntary_switches),
            (37, 2)
        );
    }

    #[test]
    fn a_process_that_has_ended_is_an_error() {
        let mut child = std::process::Command::new("true").spawn().expect("a child");
        let pid = child.id() as i32;
        child.wait().expect("it ends");
        assert!(UsageMeter::new(pid).is_err());
    }
}
