//! The load generator, wherever it runs: in this process, or on the client host.

use niagara_load::remote::RemoteDriver;
use niagara_load::{
    Driver, DriverOptions, Endpoint, LoadError, RunOptions, SliceOptions, SliceStats,
};

use crate::duels::spec::Load;
use crate::duels::workbench::Workbench;

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
    ) -> Result<Self, LoadError> {
        let options = DriverOptions {
            threads: load.threads,
            seed,
            cancel: bench.cancel().flag(),
            ..DriverOptions::default()
        };
        match bench.client() {
            None => Driver::connect(endpoints, &load.workload, &options).map(Self::Local),
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
