//! The distribution's sysbench: started for every slice, measured while it runs steadily.
//!
//! It reports once a second. What counts goes from its first report to a later one: queries from the reports, CPU time
//! from its process' clock at the moments the reports come. Start-up, connecting and preparing stay outside.

use crate::sample::Sample;
use anyhow::{Context, Result, bail};
use niagara_error::Remedy as _;
use niagara_load::{Endpoint, Transport, Workload, WorkloadSpec};
use niagara_server::RunningServer;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// How sysbench is called.
pub struct Sysbench {
    /// Its options; a file of its own, because others could read a password on the command line.
    options: NamedTempFile,
    /// One that it brings, or the path of a script.
    workload: String,
    /// What the workload is told. On the command line: sysbench puts a test's defaults over what a file says.
    arguments: Vec<String>,
}

/// Ended when dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Sysbench {
    /// Writes the options down.
    pub fn new(endpoint: &Endpoint, spec: &WorkloadSpec, threads: u32) -> Result<Sysbench> {
        let Transport::Unix(socket) = &endpoint.transport else {
            bail!("sysbench is measured over a Unix socket");
        };
        let mut options = NamedTempFile::new().context("a file for sysbench's options")?;
        for (name, value) in [
            ("db-driver", "mysql".to_owned()),
            ("mysql-socket", socket.display().to_string()),
            ("mysql-user", endpoint.user.clone()),
            ("mysql-password", endpoint.password.clone()),
            ("mysql-db", endpoint.database.clone()),
            ("threads", threads.to_string()),
            ("report-interval", "1".to_owned()),
        ] {
            writeln!(options, "{name}={value}")?;
        }
        options.flush()?;
        Ok(Sysbench {
            options,
            workload: spec.name().into(),
            arguments: arguments(&spec.workload),
        })
    }

    /// The script at `path`, which knows the options of the workload.
    pub fn script(
        endpoint: &Endpoint,
        spec: &WorkloadSpec,
        threads: u32,
        path: &Path,
    ) -> Result<Sysbench> {
        let mut sysbench = Sysbench::new(endpoint, spec, threads)?;
        sysbench.workload = path.display().to_string();
        Ok(sysbench)
    }

    /// The same with statements as text rather than prepared.
    #[must_use]
    pub fn sending_text(mut self) -> Sysbench {
        self.arguments.push("--db-ps-mode=disable".into());
        self
    }

    /// Runs the script's `prepare`; how long it took and the CPU time it used.
    pub fn prepare(&mut self) -> Result<(Duration, Duration)> {
        let options = format!("--config-file={}", self.options.path().display());
        let began = Instant::now();
        let before = cpu_time(UsageWho::RUSAGE_CHILDREN)?;
        let output = Command::new("sysbench")
            .args([&options, &self.workload])
            .args(&self.arguments)
            .arg("prepare")
            .output()
            .context("cannot start sysbench")
            .remedy("scripts/setup bench installs it")?;
        if !output.status.success() {
            bail!(
                "sysbench prepare ended with {}\n{}{}",
                output.status,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let used = cpu_time(UsageWho::RUSAGE_CHILDREN)?.saturating_sub(before);
        Ok((began.elapsed(), used))
    }

    /// Runs it for a second and then for `duration`, rounded to whole seconds, which is what counts.
    pub fn slice(
        &mut self,
        duration: Duration,
        cpus: Option<&[usize]>,
        server: &RunningServer,
    ) -> Result<Sample> {
        let seconds = (duration.as_secs_f64().round() as u64).max(1);
        let mut command = match cpus {
            Some(cpus) => {
                let list: Vec<String> = cpus.iter().map(usize::to_string).collect();
                let mut command = Command::new("taskset");
                command.args(["-c", &list.join(","), "sysbench"]);
                command
            }
            None => Command::new("sysbench"),
        };
        let options = format!("--config-file={}", self.options.path().display());
        // More time than is counted: it is ended when enough has been reported.
        let time = format!("--time={}", seconds + 10);
        command
            .args([&options, &time, &self.workload])
            .args(&self.arguments)
            .arg("run")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let started = command
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))
            .remedy("scripts/setup bench installs sysbench");
        let mut process = Process(started?);
        let output = process.0.stdout.take().context("sysbench's output")?;
        let clock = clock_getcpuclockid(Pid::from_raw(process.0.id() as i32))
            .context("sysbench's CPU clock")?;
        let cpu = || clock_gettime(clock).map(Duration::from);

        let mut said = String::new();
        let mut begin: Option<(Instant, Duration, Duration)> = None;
        let mut last = Instant::now();
        let mut queries = 0.0;
        let mut transactions = 0.0;
        let mut latency = 0.0;
        let mut reports = 0;
        for line in BufReader::new(output).lines() {
            let line = line.context("reading sysbench's output")?;
            let now = Instant::now();
            let Some(report) = report(&line) else {
                said += &line;
                said.push('\n');
                continue;
            };
            match begin {
                None => begin = Some((now, cpu()?, server.cpu_time()?)),
                Some((began, cpu_before, server_before)) => {
                    let passed = (now - last).as_secs_f64();
                    queries += report.queries * passed;
                    transactions += report.transactions * passed;
                    latency += report.latency;
                    reports += 1;
                    if reports == seconds {
                        let used = cpu()?.saturating_sub(cpu_before);
                        let of_server = server.cpu_time()?.saturating_sub(server_before);
                        return Ok(Sample {
                            queries_per_second: queries / (now - began).as_secs_f64(),
                            cpu_microseconds: used.as_secs_f64() * 1e6 / queries,
                            server_cpu_microseconds: of_server.as_secs_f64() * 1e6 / queries,
                            transactions_per_second: transactions / (now - began).as_secs_f64(),
                            cpu_per_transaction: used.as_secs_f64() * 1e6 / transactions,
                            latency_milliseconds: latency / reports as f64,
                            unevenness: 0.0,
                        });
                    }
                }
            }
            last = now;
        }
        let mut errors = String::new();
        if let Some(mut stderr) = process.0.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut errors);
        }
        bail!("sysbench ended early\ncommand: {command:?}\n{said}{errors}")
    }
}

/// CPU time that this process, or its children that have ended, used so far.
pub fn cpu_time(who: UsageWho) -> Result<Duration> {
    let usage = getrusage(who)?;
    let time = |value: nix::sys::time::TimeVal| {
        Duration::from_micros((value.tv_sec() * 1_000_000 + value.tv_usec()).max(0) as u64)
    };
    Ok(time(usage.user_time()) + time(usage.system_time()))
}

/// What a line of sysbench's tells of the second before it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Report {
    /// Per second.
    transactions: f64,
    /// Per second.
    queries: f64,
    /// The 95th percentile of the latency, in milliseconds.
    latency: f64,
}

/// Reads `[ 1s ] thds: 32 tps: 100.00 qps: 1600.00 (r/w/o: …) lat (ms,95%): 9.06 err/s: …`.
fn report(line: &str) -> Option<Report> {
    line.strip_prefix('[')?;
    let mut words = line.split_whitespace();
    let mut number = |name: &str| -> Option<f64> {
        words.find(|&word| word == name)?;
        words.next()?.parse().ok()
    };
    Some(Report {
        transactions: number("tps:")?,
        queries: number("qps:")?,
        latency: number("(ms,95%):")?,
    })
}

/// What sysbench calls the options of a workload.
fn arguments(workload: &Workload) -> Vec<String> {
    match workload {
        Workload::Sysbench(sizes) => vec![
            format!("--tables={}", sizes.tables),
            format!("--table-size={}", sizes.table_size),
        ],
        Workload::Tpcc(tpcc) => vec![format!("--warehouses={}", tpcc.warehouses)],
        Workload::Script(script) => {
            let given = script.options().iter();
            given
                .map(|(name, value)| format!("--{name}={value}"))
                .collect()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_in_a_report() {
        let line = "[ 1s ] thds: 4 tps: 571.43 qps: 9188.82 (r/w/o: 8041.96/0.00/1146.86) lat (ms,95%): 9.06 err/s: 0.00 reconn/s: 0.00";
        let expected = Report {
            transactions: 571.43,
            queries: 9188.82,
            latency: 9.06,
        };
        assert_eq!(report(line), Some(expected));
        assert_eq!(report("Threads started!"), None);
        assert_eq!(report("qps: 5"), None);
        assert_eq!(report("[ 1s ] qps:"), None);
    }
}
