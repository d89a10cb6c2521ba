//! Servers under one load generator, all but the one under load frozen: the arena's kind, for looking rather than judging.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use niagara_load::{
    CoalescingChoice, LoadError, LoadGenerator, RunOptions, SliceOptions, SliceStats,
};
use niagara_server::{RunningServer, WorkFolder};

use super::growth::Growth;
use super::{ProfileOptions, seconds};
use crate::duels::arena::{SegmentLengths, connect_load};
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
    growth: Growth,
    /// How many views are still to be observed here.
    views: usize,
}

/// About how long a segment of a capture takes at the captured pace, at most.
const SEGMENT: Duration = Duration::from_secs(1);
/// One in this many segments that are left of a capture that writes is for load that nobody measures, at most.
const UNMEASURED_SHARE: usize = 5;

/// How many couples fit into the time for a view.
pub(super) fn couples(options: &ProfileOptions) -> usize {
    let couple = 2.0 * options.slice_seconds;
    ((options.seconds / couple).round() as usize).clamp(3, 10_000)
}

/// How a capture is cut. A slice of a profile is one of its segments. What a capture has written cannot be written twice, so
/// that one that writes needs as many as there will be slices on a server, and some for what comes before them.
fn segments(
    options: &ProfileOptions,
    views: usize,
    servers: usize,
    writes: bool,
) -> SegmentLengths {
    let slices = 2 * couples(options) * views / servers.max(1);
    SegmentLengths {
        each: SEGMENT,
        at_least: match writes {
            // The warm-up and the look at the threads may take a fifth each.
            true => slices * 5 / 3 + 4,
            false => 1,
        },
    }
}

/// How many couples a view gets that wants so many, where there are segments for so many `left` and as many `views` to come.
fn share(wanted: usize, left: Option<usize>, views: usize) -> usize {
    left.map_or(wanted, |left| wanted.min(left / views.max(1)))
}

impl<'b> Stage<'b> {
    /// Starts each variant on a fresh clone with everything in memory that fits, connects to all, freezes them where there
    /// are several. So many views will be observed on them.
    pub(super) fn open(
        bench: &'b Workbench,
        variants: &[Variant],
        options: &ProfileOptions,
        views: usize,
    ) -> Result<Stage<'b>> {
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
        let generator = connect_load(
            bench,
            (&endpoints, &variants.iter().collect::<Vec<_>>()),
            bench.load(),
            options.seed,
            segments(
                options,
                views,
                variants.len(),
                bench.load().workload.writes(),
            ),
            CoalescingChoice::Auto,
        )
        .map_err(|error| explain(error, &servers))?;
        let growth = Growth::from(counters(&servers[0])?);
        let stage = Stage {
            bench,
            variants: variants.to_vec(),
            generator,
            servers,
            _clones: clones,
            growth,
            views,
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

    /// Of a capture that writes: how many segments are left for a side. Other loads have no end.
    fn left(&self, side: usize) -> Option<usize> {
        match self.bench.load().workload.writes() {
            true => self.generator.segments_left(side),
            false => None,
        }
    }

    /// How many couples of slices the next view gets of those that it wants: of a capture that writes its share of what is left.
    pub(super) fn couples_of_next_view(&mut self, wanted: usize) -> usize {
        let sides = 0..self.servers.len();
        // Side 0 has both slices of a couple where it is alone, else each side has one.
        let left = match self.servers.len() {
            1 => self.left(0).map(|left| left / 2),
            _ => sides.filter_map(|side| self.left(side)).min(),
        };
        let couples = share(wanted, left, self.views);
        self.views = self.views.saturating_sub(1);
        couples
    }

    /// Load that nobody measures, on a server that is not frozen; how long it took, in seconds. Of a capture that writes it is
    /// some segments, so that most are left.
    pub(super) fn run(&mut self, side: usize, length: f64) -> Result<f64> {
        if length <= 0.0 {
            return Ok(0.0);
        }
        let began = Instant::now();
        match self.left(side) {
            None => self.run_by_time(side, length)?,
            Some(left) => {
                for _ in 0..left.div_ceil(UNMEASURED_SHARE) {
                    self.slice(side, length)?;
                    if began.elapsed() >= seconds(length) {
                        break;
                    }
                }
            }
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn run_by_time(&mut self, side: usize, length: f64) -> Result<()> {
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

    /// One slice of load on a server that is not frozen, and the CPU time that the server took for it. Of a capture it is the
    /// next segment, however long that takes.
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
            self.growth.count(stats.queries_whole);
        }
    }

    /// From here on the first server's status counters count: what a connection does once, at its beginning, is behind it.
    pub(super) fn count_from_here(&mut self) -> Result<()> {
        self.growth = Growth::from(counters(&self.servers[0])?);
        Ok(())
    }

    /// How much each status counter of the first server grew per query since [`count_from_here`](Self::count_from_here).
    pub(super) fn status_per_query(&self) -> Result<BTreeMap<String, f64>> {
        Ok(self.growth.per_query(counters(&self.servers[0])?))
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
    let ended = |server: &RunningServer| Some((server.how_it_ended()?, server.log_tail(20)));
    match servers.iter().find_map(ended) {
        Some((how, log)) => {
            anyhow!("{error}\nthe server has ended ({how}); last lines of its log:\n{log}")
        }
        None => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use niagara_profile::symbols::DebugFolders;

    fn options() -> ProfileOptions {
        ProfileOptions {
            views: Vec::new(),
            seconds: 10.0,
            slice_seconds: 0.5,
            warm_up_seconds: 3.0,
            symbols: DebugFolders::default(),
            missing: Vec::new(),
            seed: 1,
        }
    }

    #[test]
    fn a_capture_that_writes_has_a_segment_for_every_slice() {
        // Ten couples for each of three views on one server; the unmeasured load takes a part twice.
        let cut = |views, servers, writes| segments(&options(), views, servers, writes).at_least;
        for (views, servers, slices) in [(3, 1, 60), (1, 2, 10)] {
            let mut left = cut(views, servers, true);
            for _ in 0..2 {
                left -= left.div_ceil(UNMEASURED_SHARE);
            }
            assert!(left >= slices, "{left} of {slices}");
        }
        // One that only reads begins anew.
        assert_eq!(cut(3, 1, false), 1);
    }

    #[test]
    fn views_share_what_is_left_of_a_capture() {
        assert_eq!(share(12, None, 3), 12);
        assert_eq!(share(12, Some(100), 3), 12);
        assert_eq!(share(12, Some(24), 3), 8);
        assert_eq!(share(12, Some(16), 2), 8);
        assert_eq!(share(12, Some(8), 1), 8);
        assert_eq!(share(12, Some(0), 1), 0);
    }
}
