//! The training of instrumented servers: our own load, or the job, on clones of a loaded data directory.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use niagara_load::{
    Driver, DriverOptions, LoadError, RunOptions, SliceStats, TableOptions, WorkloadBuilder,
    WorkloadKind, WorkloadSpec, run_job,
};
use niagara_server::{
    Cache, Cancel, Cancelled, Config, Image, ImageStore, LOAD_DATABASE, LaunchSpec, RunningServer,
    Runtime, WorkFolder, launch,
};

use crate::sampling::Sampler;
use crate::trainer::{Trainer, TrainingJob};
use crate::training::Training;

/// How often the training says how far it is.
const INTERVAL: Duration = Duration::from_secs(1);
/// Statements of a workload below which its share of the training is prolonged: a busy machine, or an instrumented server
/// that is slow to start, would leave a profile that says little about the paths that matter.
const ENOUGH_STATEMENTS: u64 = 20_000;
/// Statements of which a profile can be made at all.
const MIN_STATEMENTS: u64 = 200;
/// How many times its share of the seconds a workload may be trained for.
const MAX_PROLONGED: f64 = 8.0;
/// Seed of the training's load: the same recipe is trained with the same statements.
const SEED: u64 = 20_080_214;

/// The workload of this name, for a training.
///
/// # Errors
/// There is none.
pub(crate) fn trained_kind(name: &str) -> Result<WorkloadKind> {
    name.parse::<WorkloadKind>()
        .map_err(|error| anyhow!("no build can be trained on `{name}`: {error}"))
}

/// Trains instrumented servers with the load generator.
pub struct LoadTrainer<'a> {
    cache: &'a Cache,
    cancel: &'a Cancel,
}

impl<'a> LoadTrainer<'a> {
    /// A trainer whose servers and data live in `cache`.
    pub fn new(cache: &'a Cache, cancel: &'a Cancel) -> LoadTrainer<'a> {
        LoadTrainer { cache, cancel }
    }
}

impl Trainer for LoadTrainer<'_> {
    fn train(&mut self, job: &TrainingJob<'_>, progress: &mut dyn FnMut(&str)) -> Result<()> {
        for (name, seconds) in job.training.shares() {
            let workload = workload(trained_kind(name)?, job.training)?;
            self.one(job, &workload, seconds, progress)
                .with_context(|| format!("training on {name}"))?;
            self.cancel.check()?;
        }
        Ok(())
    }
}

/// What is trained on: the workload with the training's tables.
fn workload(kind: WorkloadKind, training: &Training) -> Result<WorkloadSpec> {
    let mut builder = WorkloadBuilder::new(kind);
    let rows = training.table_size.to_string();
    // Not every workload has tables of a size and number that can be chosen.
    builder.set("tables", &training.tables.to_string())?;
    builder.set("table_size", &rows)?;
    if WorkloadSpec::of(kind).is_job() {
        // Its own size is made to exceed memory: a training that waits for the disk counts little.
        builder.set_scale("rows", &rows)?;
    }
    Ok(builder.build()?)
}

impl LoadTrainer<'_> {
    /// One workload on servers of its own, which are shut down cleanly: that is when they write their profiles.
    fn one(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let image = self.image(job, workload, progress)?;
        if workload.is_job() {
            self.do_jobs(job, workload, &image, seconds, progress)
        } else {
            self.load(job, workload, &image, seconds, progress)
        }
    }

    fn image(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Image> {
        let threads = job.training.threads;
        ImageStore::new(self.cache).ensure(
            job.loader.unwrap_or(job.install),
            &workload.data_key(threads),
            "InnoDB",
            &mut |server| {
                let options = TableOptions {
                    threads,
                    cancel: self.cancel.flag(),
                    ..TableOptions::default()
                };
                niagara_load::prepare_tables(
                    &server.over_tcp(LOAD_DATABASE),
                    workload,
                    &options,
                    &mut |_| {},
                )
                .map_err(stopped)?;
                Ok(self.cancel.check()?)
            },
            &mut |text| progress(&format!("training: {text}")),
        )
    }

    /// The instrumented server on a clone of `image`, which lasts as long as the folder.
    fn start(&self, job: &TrainingJob<'_>, image: &Image) -> Result<(RunningServer, WorkFolder)> {
        let clone = self.cache.work_folder("clone")?;
        let datadir = clone.path().join("data");
        image.clone_to(&datadir)?;
        let runtime = Runtime {
            environment: job.environment.clone(),
            ..Runtime::default()
        };
        let spec = LaunchSpec {
            install: job.install,
            datadir,
            runtime: &runtime,
            config: &Config::new(),
        };
        Ok((launch(self.cache, &spec)?, clone))
    }

    /// Load for this many seconds, and on to a number of statements that a profile can be made of.
    fn load(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        image: &Image,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let (server, _clone) = self.start(job, image)?;
        let mut driver = Driver::connect(
            &[server.over_tcp(LOAD_DATABASE)],
            workload,
            &DriverOptions {
                threads: job.training.threads,
                seed: SEED,
                cancel: self.cancel.flag(),
                ..DriverOptions::default()
            },
        )
        .map_err(stopped)?;
        let began = Instant::now();
        let options = RunOptions {
            duration: Some(Duration::from_secs_f64(MAX_PROLONGED * seconds)),
            interval: Some(INTERVAL),
            ..RunOptions::default()
        };
        let sampler = job.sample(server.pid())?;
        let (mut transactions, mut statements) = (0, 0);
        let ran = driver.run(0, &options, &mut |interval: &SliceStats| {
            transactions += interval.transactions;
            statements += interval.queries;
            let left = seconds - began.elapsed().as_secs_f64();
            let what = workload.name();
            progress(&if left > 0.0 {
                format!("training on {what}: {transactions} transactions, {left:.0} s left")
            } else {
                format!(
                    "training on {what}: {transactions} transactions, continuing to {ENOUGH_STATEMENTS} statements: \
                     {statements} so far"
                )
            });
            left > 0.0 || statements < ENOUGH_STATEMENTS
        });
        driver.disconnect();
        ran.map_err(stopped)?;
        sampler.map_or(Ok(()), Sampler::end)?;
        if statements < MIN_STATEMENTS {
            bail!(
                "the server under training executed {statements} statements in {:.0} s, and a profile of fewer than \
                 {MIN_STATEMENTS} misleads\n\
                 remedy: the same command again when the machine is less busy, or train longer (--train-seconds)",
                began.elapsed().as_secs_f64()
            );
        }
        end(server)
    }

    /// The job, each time on a fresh clone since it changes its data, until this many seconds were spent on it; once at least.
    fn do_jobs(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        image: &Image,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let mut spent = 0.0;
        let mut times = 0;
        while times == 0 || spent < seconds {
            let (server, _clone) = self.start(job, image)?;
            let began = Instant::now();
            times += 1;
            let endpoint = server.over_tcp(LOAD_DATABASE);
            let sampler = job.sample(server.pid())?;
            let mut on_step = |step: &str, _: usize, _: usize| {
                let left = (seconds - spent - began.elapsed().as_secs_f64()).max(0.0);
                progress(&format!(
                    "training on {}, time {times}: {step}, {left:.0} s left",
                    workload.name()
                ));
            };
            run_job(&endpoint, workload, &self.cancel.flag(), &mut on_step).map_err(stopped)?;
            self.cancel.check()?;
            sampler.map_or(Ok(()), Sampler::end)?;
            spent += began.elapsed().as_secs_f64();
            end(server)?;
        }
        Ok(())
    }
}

fn end(server: RunningServer) -> Result<()> {
    server
        .stop()
        .context("the server under training did not shut down cleanly")
}

/// A load that was told to stop is a stop, not a failure.
pub fn stopped(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Cancelled => Cancelled.into(),
        error => error.into(),
    }
}
