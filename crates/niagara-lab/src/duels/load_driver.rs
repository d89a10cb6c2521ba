//! The load generator, wherever it runs: in this process, or on the client host.

use std::time::Duration;

use niagara_load::remote::RemoteDriver;
use niagara_load::{
    Driver, DriverOptions, Endpoint, LoadError, ReplayTally, RunOptions, SliceOptions, SliceStats,
};

use crate::duels::spec::Load;
use crate::duels::workbench::Workbench;

/// How a capture is cut into slices; means nothing to other workloads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentLengths {
    /// About how long a segment takes at the captured pace.
    pub each: Duration,
    /// How many there are at least, where the capture has as many transactions.
    pub at_least: usize,
}

/// Connections to one or two servers, driven from here or from there.
#[derive(Debug)]
pub(crate) enum LoadDriver {
    /// By threads of this process.
    Local(Driver),
    /// By the agent on the client host.
    Remote(RemoteDriver),
}

impl LoadDriver {
    /// Connects from where the workbench's load comes from.
    pub(crate) fn connect(
        bench: &Workbench,
        endpoints: &[Endpoint],
        load: &Load,
        seed: u64,
        segments: SegmentLengths,
    ) -> Result<Self, LoadError> {
        let options = DriverOptions {
            threads: load.threads,
            seed,
            segment: segments.each,
            segments_at_least: segments.at_least,
            cancel: bench.cancel().flag(),
            ..DriverOptions::default()
        };
        match bench.client() {
            None => Driver::connect(endpoints, &load.workload, &options).map(Self::Local),
            Some(_) if load.workload.capture().is_some() => Err(LoadError::Invalid(
                "a capture is replayed from the machine that it lies on\nremedy: leave out --client-host".into(),
            )),
            Some(client) => {
                let agent = client.agent();
                agent
                    .connect(endpoints, &load.workload, &options)
                    .map(Self::Remote)
            }
        }
    }

    /// One slice of load on a side.
    pub(crate) fn slice(
        &mut self,
        side: usize,
        options: &SliceOptions,
    ) -> Result<SliceStats, LoadError> {
        match self {
            Self::Local(driver) => driver.slice(side, options),
            Self::Remote(driver) => driver.slice(side, options),
        }
    }

    /// A run of load on a side, with what every interval of it did.
    pub(crate) fn run(
        &mut self,
        side: usize,
        options: &RunOptions,
        on_interval: &mut dyn FnMut(&SliceStats),
    ) -> Result<SliceStats, LoadError> {
        match self {
            Self::Local(driver) => driver.run(side, options, &mut |interval| {
                on_interval(interval);
                true
            }),
            Self::Remote(driver) => driver.run(side, options, on_interval),
        }
    }

    /// Of a capture: how many of its segments a side has not been given yet; none: it is no capture.
    pub(crate) fn segments_left(&self, side: usize) -> Option<usize> {
        match self {
            Self::Local(driver) => driver.segments_left(side),
            Self::Remote(_) => None,
        }
    }

    /// Of a capture: what was replayed on a side so far.
    pub(crate) fn replayed(&self, side: usize) -> Option<ReplayTally> {
        match self {
            Self::Local(driver) => driver.replayed(side),
            Self::Remote(_) => None,
        }
    }

    /// Of the CPU time that the load took, what this host's CPUs gave.
    pub(crate) fn cpu_seconds_here(&self, stats: &SliceStats) -> f64 {
        match self {
            Self::Local(_) => stats.client_cpu_seconds,
            Self::Remote(_) => 0.0,
        }
    }

    /// Says goodbye to the servers.
    pub(crate) fn disconnect(self) {
        match self {
            Self::Local(driver) => driver.disconnect(),
            Self::Remote(driver) => driver.disconnect(),
        }
    }
}
