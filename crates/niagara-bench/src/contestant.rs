//! Who is measured: the driver, with a workload of its own or a script, the bare loop, sysbench.

use crate::ground::{Stand, endpoint, spec};
use crate::sample::Sample;
use crate::script::Script;
use crate::sysbench::Sysbench;
use anyhow::{Context, Result};
use niagara_load::floor::Floor;
use niagara_load::{
    CoalescingChoice, Driver, DriverOptions, IoChoice, SliceOptions, SysbenchTest, WorkloadSpec,
};
use niagara_server::RunningServer;
use serde::Serialize;
use std::time::Duration;

/// Load before counted time, for contestants that keep their connections.
const RAMP: Duration = Duration::from_millis(200);

/// Who is measured, on how many connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Niagara's load generator, as it is by default.
    Niagara(u32),
    /// The same with epoll.
    NiagaraEpoll(u32),
    /// A bare loop that replays packets and drains replies, with epoll.
    Floor(u32),
    /// The same with io_uring; wake-ups coalesced where they are by default.
    FloorUring(u32),
    /// The distribution's sysbench.
    Sysbench(u32),
    /// Niagara's load generator with a script.
    Script(u32),
    /// The distribution's sysbench with the same script.
    SysbenchScript(u32),
}

impl Kind {
    /// How many connections.
    pub fn connections(self) -> u32 {
        match self {
            Kind::Niagara(count)
            | Kind::NiagaraEpoll(count)
            | Kind::Floor(count)
            | Kind::FloorUring(count)
            | Kind::Sysbench(count)
            | Kind::Script(count)
            | Kind::SysbenchScript(count) => count,
        }
    }

    /// As in tables.
    pub fn name(self) -> String {
        let name = match self {
            Kind::Niagara(_) => "niagara",
            Kind::NiagaraEpoll(_) => "niagara, epoll",
            Kind::Floor(_) => "floor, epoll",
            Kind::FloorUring(_) => "floor, io_uring",
            Kind::Sysbench(_) => "sysbench",
            Kind::Script(_) => "niagara, script",
            Kind::SysbenchScript(_) => "sysbench, script",
        };
        format!("{name} × {}", self.connections())
    }
}

/// A contestant with its connections.
pub enum Contestant {
    Niagara(Box<Driver>),
    Floor(Floor),
    Sysbench(Sysbench),
}

impl Contestant {
    /// Connects to the server. `script`: for the kinds that run one.
    pub fn new(
        kind: Kind,
        workload: SysbenchTest,
        script: Option<&Script>,
        stand: &Stand,
        loops: Option<usize>,
    ) -> Result<Contestant> {
        let endpoint = endpoint(&stand.server);
        let spec = spec(workload);
        let script = || script.context("the case has no script");
        let driver = |threads, io, spec: &WorkloadSpec| -> Result<Contestant> {
            let options = DriverOptions {
                connections: threads,
                loops,
                io,
                ..DriverOptions::default()
            };
            let driver = Driver::connect(std::slice::from_ref(&endpoint), spec, &options)?;
            Ok(Contestant::Niagara(Box::new(driver)))
        };
        let floor = |connections, io| -> Result<Contestant> {
            let coalesces = stand.client_cpus.is_some();
            Ok(Contestant::Floor(Floor::connect(
                &endpoint,
                &spec,
                connections,
                Duration::from_secs(10),
                io,
                if coalesces {
                    CoalescingChoice::among(connections as usize)
                } else {
                    Duration::ZERO
                },
            )?))
        };
        match kind {
            Kind::Niagara(threads) => driver(threads, IoChoice::Auto, &spec),
            Kind::NiagaraEpoll(threads) => driver(threads, IoChoice::Epoll, &spec),
            Kind::Script(threads) => driver(threads, IoChoice::Auto, &script()?.spec),
            Kind::Floor(connections) => floor(connections, IoChoice::Epoll),
            Kind::FloorUring(connections) => floor(connections, IoChoice::Uring),
            Kind::Sysbench(threads) => Ok(Contestant::Sysbench(Sysbench::new(
                &endpoint, &spec, threads,
            )?)),
            Kind::SysbenchScript(threads) => {
                let script = script()?;
                Ok(Contestant::Sysbench(Sysbench::script(
                    &endpoint,
                    &script.spec,
                    threads,
                    script.path(),
                )?))
            }
        }
    }

    /// Loads `server` for a slice, held to `cpus` where there are some.
    pub fn slice(
        &mut self,
        duration: Duration,
        running: &RunningServer,
        cpus: Option<&Vec<usize>>,
    ) -> Result<Sample> {
        let before = running.cpu_time()?;
        let server = |queries: u64| -> Result<f64> {
            let used = running.cpu_time()?.saturating_sub(before);
            Ok(used.as_secs_f64() * 1e6 / queries as f64)
        };
        match self {
            Contestant::Niagara(driver) => {
                let options = SliceOptions {
                    duration,
                    ramp: RAMP,
                    cpus: cpus.cloned(),
                    ..SliceOptions::default()
                };
                let stats = driver.slice(0, &options)?;
                let most = stats.per_connection_transactions.iter().max();
                let mean = stats.fairness().transactions_mean;
                Ok(Sample {
                    queries_per_second: stats.queries as f64 / stats.seconds,
                    // whole time for both: the loops' CPU time is that of the whole slice
                    cpu_microseconds: stats.client_cpu_seconds * 1e6 / stats.queries_whole as f64,
                    server_cpu_microseconds: server(stats.queries_whole)?,
                    transactions_per_second: stats.transactions as f64 / stats.seconds,
                    cpu_per_transaction: stats.client_cpu_seconds * 1e6
                        / stats.transactions_whole as f64,
                    latency_milliseconds: stats.latency.value_at_quantile(0.95) as f64 / 1e6,
                    unevenness: most.map_or(0.0, |&most| most as f64 / mean),
                })
            }
            Contestant::Floor(floor) => {
                let stats = floor.slice(RAMP + duration, cpus.map(Vec::as_slice))?;
                Ok(Sample {
                    queries_per_second: stats.queries as f64 / stats.seconds,
                    cpu_microseconds: stats.cpu_seconds * 1e6 / stats.queries as f64,
                    server_cpu_microseconds: server(stats.queries)?,
                    // It knows of packets only.
                    transactions_per_second: 0.0,
                    cpu_per_transaction: 0.0,
                    latency_milliseconds: 0.0,
                    unevenness: 0.0,
                })
            }
            Contestant::Sysbench(sysbench) => {
                sysbench.slice(duration, cpus.map(Vec::as_slice), running)
            }
        }
    }
}
