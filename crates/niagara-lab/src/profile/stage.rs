//! Servers under one load generator, all but the one under load frozen: the arena's kind, for looking rather than judging.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Result, anyhow};
use niagara_load::{
    CoalescingChoice, LoadError, LoadGenerator, RunOptions, SliceOptions, SliceStats,
};
use niagara_server::{RunningServer, WorkFolder};

use super::seconds;
use crate::duels::arena::{SegmentLengths, connect};
use crate::duels::workbench::Workbench;
use crate::variants::variant::Variant;
use niagara_server::Cancelled;

/// Longest wait for the transactions in flight at the end of a slice.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);
/// Load before a slice counts, as a share of it.
const RAMP: f64 = 0.1;

/// Servers, their clones and the connections to them.
pub(super) struct Stage<'b> {
    bench: &'b Workbench,
    variants: Vec<Variant>,
    generator: Box<dyn LoadGenerator>,
    servers: Vec<RunningServer>,
    // Dropped after the servers: a folder goes when nothing uses it any more.
    _clones: Vec<WorkFolder>,
    before: BTreeMap<String, f64>,
    queries: u64,
}

/// A profile replays a capture by time, in one piece.
const SEGMENTS: SegmentLengths = SegmentLengths {
    each: Duration::from_secs(1),
    at_least: 1,
};

impl<'b> Stage<'b> {
    /// Starts each variant on a fresh clone with everything in memory that fits, connects to all, freezes them where there
    /// are several.
    pub(super) fn open(bench: &'b Workbench, variants: &[Variant], seed: u64) -> Result<Stage<'b>> {
        let mut clones = Vec::new();
        let mut servers = Vec::new();
        for variant in variants {
            bench.cancel().check()?;
            let clone = bench.clone_for(variant)?;
            let server = bench.spawn(variant, &clone)?.wait_ready()?;
            bench.read_tables(&server, variant, bench.load())?;
            clones.push(clone);
            servers.push(server);
        }
        let endpoints: Vec<_> = servers
            .iter()
            .zip(variants)
            .map(|(server, variant)| bench.endpoint(server, variant))
            .collect();
        let generator = connect(
            bench,
            &endpoints,
            bench.load(),
            seed,
            SEGMENTS,
            CoalescingChoice::Auto,
        )
        .map_err(|error| explain(error, &servers))?;
        let before = counters(&servers[0])?;
        let stage = Stage {
            bench,
            variants: variants.to_vec(),
            generator,
            servers,
            _clones: clones,
            before,
            queries: 0,
        };
        if stage.servers.len() > 1 {
            for server in &stage.servers {
                server.freeze()?;
            }
        }
        Ok(stage)
    }

    /// A server of the stage.
    pub(super) fn server(&self, side: usize) -> &RunningServer {
        &self.servers[side]
    }

    /// A server's process.
    pub(super) fn pid(&self, side: usize) -> i32 {
        self.servers[side].pid()
    }

    /// What a server calls itself.
    pub(super) fn version(&self, side: usize) -> Result<String> {
        let rows = self.servers[side].query("SELECT VERSION()")?;
        Ok(rows.into_iter().flatten().next().unwrap_or_default())
    }

    /// Stops a server where it is not the only one.
    pub(super) fn freeze(&self, side: usize) -> Result<()> {
        if self.servers.len() > 1 {
            self.servers[side].freeze()?;
        }
        Ok(())
    }

    /// Lets it run on.
    pub(super) fn thaw(&self, side: usize) -> Result<()> {
        if self.servers.len() > 1 {
            self.servers[side].thaw()?;
        }
        Ok(())
    }

    /// Load that nobody measures, on a server that is not frozen.
    pub(super) fn run(&mut self, side: usize, length: f64) -> Result<()> {
        if length <= 0.0 {
            return Ok(());
        }
        let options = RunOptions {
            duration: Some(seconds(length)),
            cpus: self.variants[side].runtime.client_cpus.clone(),
            drain_timeout: DRAIN_TIMEOUT,
            ..RunOptions::default()
        };
        let stats = self.generator.run(side, &options, &mut |_| {});
        let stats = stats.map_err(|error| explain(error, &self.servers))?;
        self.count(side, &stats);
        Ok(self.bench.cancel().check()?)
    }

    /// One slice of load on a server that is not frozen, and the CPU time that the server took for it.
    pub(super) fn slice(&mut self, side: usize, length: f64) -> Result<(SliceStats, f64)> {
        let options = SliceOptions {
            duration: seconds(length),
            ramp: seconds(length * RAMP),
            cpus: self.variants[side].runtime.client_cpus.clone(),
            drain_timeout: DRAIN_TIMEOUT,
            // As in a duel.
            count_drain: true,
        };
        let before = self.servers[side].cpu_time()?;
        let stats = self.generator.slice(side, &options);
        let stats = stats.map_err(|error| explain(error, &self.servers))?;
        let cpu = self.servers[side].cpu_time()?.saturating_sub(before);
        self.count(side, &stats);
        self.bench.cancel().check()?;
        Ok((stats, cpu.as_secs_f64()))
    }

    fn count(&mut self, side: usize, stats: &SliceStats) {
        if side == 0 {
            self.queries += stats.queries_whole;
        }
    }

    /// How much each status counter of the first server grew per query since its connections were there.
    pub(super) fn status_per_query(&self) -> Result<BTreeMap<String, f64>> {
        let queries = self.queries.max(1) as f64;
        let now = counters(&self.servers[0])?;
        let grown = now.into_iter().filter_map(|(name, value)| {
            let grown = value - self.before.get(&name).copied().unwrap_or(0.0);
            (grown > 0.0).then_some((name, grown / queries))
        });
        Ok(grown.collect())
    }

    /// Ends the connections and the servers; their clones are thrown away, so nothing is shut down.
    pub(super) fn close(self) {
        drop(self.generator);
        for server in self.servers {
            server.kill();
        }
    }
}

fn counters(server: &RunningServer) -> Result<BTreeMap<String, f64>> {
    let status = server.status()?.into_iter();
    Ok(status
        .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
        .collect())
}

fn explain(error: LoadError, servers: &[RunningServer]) -> anyhow::Error {
    if matches!(error, LoadError::Cancelled) {
        return Cancelled.into();
    }
    match servers.iter().find(|server| !server.is_alive()) {
        Some(server) => anyhow!(
            "{error}\nthe server has ended; last lines of its log:\n{}",
            server.log_tail(20)
        ),
        None => error.into(),
    }
}
