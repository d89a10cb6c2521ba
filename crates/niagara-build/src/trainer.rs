//! How a server under training gets its load: the builder asks, whoever has a load generator does it.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_server::Install;

use crate::sampling::{Sampler, Sampling};
use crate::training::Training;

/// Runs an instrumented server under load. The load generator is another crate's, so this is how it comes in.
pub trait Trainer {
    /// Starts `job.install` on data of its own with `job.environment`, puts `job.training`'s load on it, and shuts it down
    /// cleanly (that is when it writes its profile).
    ///
    /// # Errors
    /// A server that does not start, a load that fails, a stop on request.
    fn train(&mut self, job: &TrainingJob<'_>, progress: &mut dyn FnMut(&str)) -> Result<()>;
}

/// What a [`Trainer`] is asked to do.
#[derive(Debug)]
pub struct TrainingJob<'a> {
    /// The instrumented server.
    pub install: &'a Install,
    /// A server that makes the same data directories and is not instrumented, where there is one.
    pub loader: Option<&'a Install>,
    /// The load.
    pub training: &'a Training,
    /// Tells the server where its profile goes.
    pub environment: BTreeMap<String, String>,
    /// Samples the server while the load is on it, where its profile is to be taken so.
    pub sampling: Option<&'a Sampling>,
}

impl TrainingJob<'_> {
    /// Begins to sample the server of process `pid`, where that is asked for: for as long as the load is on it.
    ///
    /// # Errors
    /// perf cannot be started.
    pub fn sample(&self, pid: i32) -> Result<Option<Sampler>> {
        self.sampling
            .map(|sampling| sampling.begin(pid))
            .transpose()
    }
}
