//! A load generator, wherever it runs.

use crate::engine::options::{RunOptions, SliceOptions};
use crate::engine::replay::tally::Tally;
use crate::engine::stats::SliceStats;
use crate::error::LoadError;

/// Connections to one or two servers ("sides"), and the load on them: driven by the loops of this process
/// ([`Driver`](crate::Driver)) or by an agent on another host ([`RemoteDriver`](crate::remote::RemoteDriver)). Dropping it
/// disconnects.
pub trait LoadGenerator: std::fmt::Debug {
    /// Loads a side for one slice.
    ///
    /// # Errors
    /// The side cannot be loaded; a stop was asked for.
    fn slice(&mut self, side: usize, options: &SliceOptions) -> Result<SliceStats, LoadError> {
        self.run(side, &options.into(), &mut |_| {})
    }

    /// Loads a side as the options say, and hands out what every full interval of counted time did.
    ///
    /// # Errors
    /// As with [`slice`](Self::slice).
    fn run(
        &mut self,
        side: usize,
        options: &RunOptions,
        on_interval: &mut dyn FnMut(&SliceStats),
    ) -> Result<SliceStats, LoadError>;

    /// Of a capture: how many of its segments a side has not been given yet; none: it is no capture.
    fn segments_left(&self, side: usize) -> Option<usize>;

    /// Of a capture: what was replayed on a side so far.
    fn replayed(&self, side: usize) -> Option<Tally>;

    /// Of the CPU time that the load took, what this host's CPUs gave, seconds.
    fn cpu_seconds_here(&self, stats: &SliceStats) -> f64;
}
