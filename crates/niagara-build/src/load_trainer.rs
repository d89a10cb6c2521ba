//! The training of instrumented servers: our own load, the job, or the user's own traffic, on clones of loaded data
//! directories.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_load::{
    Driver, DriverOptions, Endpoint, LoadError, RunOptions, SliceStats, TableOptions, WorkloadSpec,
    is_workload_file, run_job,
};
use niagara_origin::data::{DataSource, image_of};
use niagara_server::{
    Cache, Cancel, Cancelled, Config, Image, ImageStore, Install, LOAD_DATABASE, LaunchSpec,
    ProcessSettings, RunningServer, WorkFolder, launch,
};

use crate::named_training::ANSWERS;
use crate::sampling::Sampler;
use crate::trainer::{Trainer, TrainingJob};

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

/// Has a server execute the statements that a check compares servers by, for about so many seconds, and returns how many
/// there were. Who knows them is another crate's.
pub type Exercise<'a> =
    &'a dyn Fn(&RunningServer, &Install, f64, &mut dyn FnMut(&str)) -> Result<u64>;

/// Trains instrumented servers with the load generator.
pub struct LoadTrainer<'a> {
    cache: &'a Cache,
    cancel: &'a Cancel,
    exercise: Option<Exercise<'a>>,
}

impl<'a> LoadTrainer<'a> {
    /// A trainer whose servers and data live in `cache`.
    pub fn new(cache: &'a Cache, cancel: &'a Cancel) -> LoadTrainer<'a> {
        LoadTrainer {
            cache,
            cancel,
            exercise: None,
        }
    }

    /// The same, able to train on `answers`.
    #[must_use]
    pub fn with_answers(self, exercise: Exercise<'a>) -> LoadTrainer<'a> {
        LoadTrainer {
            exercise: Some(exercise),
            ..self
        }
    }
}

impl Trainer for LoadTrainer<'_> {
    fn train(&mut self, job: &TrainingJob<'_>, progress: &mut dyn FnMut(&str)) -> Result<()> {
        for (name, seconds) in job.training.shares() {
            self.one(job, &name, seconds, progress)
                .with_context(|| format!("training on {name}"))?;
            self.cancel.check()?;
        }
        Ok(())
    }
}

/// The data that a workload is trained on, and the database that it finds them in.
struct Trained {
    image: Image,
    database: String,
}

impl LoadTrainer<'_> {
    /// One workload on servers of its own, which are shut down cleanly: that is when they write their profiles.
    fn one(
        &self,
        job: &TrainingJob<'_>,
        name: &str,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        if name == ANSWERS {
            return self.answers(job, seconds, progress);
        }
        let workload = job.training.workload(name)?;
        let trained = match &job.training.data {
            Some(path) if is_workload_file(name) => {
                let behind = workload.capture().map(|capture| capture.before());
                if behind.transpose()?.flatten().is_some() {
                    bail!(
                        "data of the capture's beginning are not those that {} find",
                        job.training.trained_part().words();
                        remedy: "train on another part: build.pgo.part=first:50% or sessions:50% (--train-part)"
                    );
                }
                self.users_data(job, &DataSource::open(path)?, progress)?
            }
            _ => self.own_data(job, &workload, progress)?,
        };
        if workload.is_job() {
            self.do_jobs(job, &workload, &trained, seconds, progress)
        } else if workload.capture().is_some() {
            self.replay(job, &workload, &trained, seconds, progress)
        } else {
            self.load(job, &workload, &trained, seconds, progress)
                .map(drop)
        }
    }

    /// The workload's own tables.
    fn own_data(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Trained> {
        let threads = job.training.threads;
        let image = ImageStore::new(self.cache).ensure(
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
        )?;
        Ok(Trained {
            image,
            database: LOAD_DATABASE.to_owned(),
        })
    }

    /// The user's data.
    fn users_data(
        &self,
        job: &TrainingJob<'_>,
        source: &DataSource,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Trained> {
        let image = image_of(
            self.cache,
            job.loader.unwrap_or(job.install),
            source,
            &Config::new(),
            self.cancel,
            &mut |text| progress(&format!("training: {text}")),
        )?;
        let there = image.record()?.databases;
        let database = match (&job.training.schema, &there[..]) {
            (Some(asked), _) if there.contains(asked) => asked.clone(),
            (None, [only]) => only.clone(),
            (None, _) if there.iter().any(|name| name == LOAD_DATABASE) => LOAD_DATABASE.to_owned(),
            _ => bail!(
                "the {} has the databases {}", source.title(), there.join(", ");
                remedy: "name the one that the load is in (build.pgo.schema=NAME, --schema NAME)"
            ),
        };
        Ok(Trained { image, database })
    }

    /// The instrumented server on a clone of `image`, which lasts as long as the folder.
    fn start(&self, job: &TrainingJob<'_>, image: &Image) -> Result<(RunningServer, WorkFolder)> {
        let clone = self.cache.work_folder("clone")?;
        let datadir = clone.path().join("data");
        image.clone_to(&datadir)?;
        let runtime = ProcessSettings {
            environment: job.environment.clone(),
            ..ProcessSettings::default()
        };
        let spec = LaunchSpec {
            install: job.install,
            datadir,
            runtime: &runtime,
            config: &Config::new(),
        };
        Ok((launch(self.cache, &spec)?, clone))
    }

    /// The statements of a check, on a server of their own.
    fn answers(
        &self,
        job: &TrainingJob<'_>,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let Some(exercise) = self.exercise else {
            bail!(
                "this program was built without the statements of the check, which `{ANSWERS}` are"
            );
        };
        let loader = job.loader.unwrap_or(job.install);
        let image = ImageStore::new(self.cache).ensure(
            loader,
            "empty",
            "InnoDB",
            &mut |_| Ok(()),
            &mut |text| progress(&format!("training: {text}")),
        )?;
        let (server, _clone) = self.start(job, &image)?;
        let sampler = job.sample(server.pid())?;
        let executed = exercise(&server, job.install, seconds, &mut |text| {
            progress(&format!("training on {ANSWERS}: {text}"));
        })?;
        sampler.map_or(Ok(()), Sampler::end)?;
        enough(executed, seconds)?;
        end(server)
    }

    /// The part of a capture that trains. One that writes is replayed to its end, on a fresh clone each time, until its
    /// share of the seconds is over; one that only reads begins again by itself.
    fn replay(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        trained: &Trained,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let most = MAX_PROLONGED * seconds;
        let (mut spent, mut executed) = (0.0, 0);
        while spent == 0.0 || (spent < seconds || executed < ENOUGH_STATEMENTS) && spent < most {
            let began = Instant::now();
            let statements = self.load(job, workload, trained, seconds - spent, progress)?;
            executed += statements;
            spent += began.elapsed().as_secs_f64().max(f64::EPSILON);
            if statements == 0 {
                bail!(
                    "no statement of {} was replayed", workload.name();
                    remedy: "`niagara capture info {}` shows what is in it", workload.spelling()
                );
            }
        }
        enough(executed, spent)
    }

    /// Load for so many seconds, and on to a number of statements that a profile can be made of; how many there were. A
    /// capture that writes may come to its end before.
    fn load(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        trained: &Trained,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<u64> {
        let (server, _clone) = self.start(job, &trained.image)?;
        let mut driver = Driver::connect(
            &[server.over_tcp(&trained.database)],
            workload,
            &DriverOptions {
                connections: job.training.threads,
                seed: SEED,
                cancel: self.cancel.flag(),
                ..DriverOptions::default()
            },
        )
        .map_err(stopped)?;
        let began = Instant::now();
        let options = RunOptions {
            duration: Some(Duration::from_secs_f64(MAX_PROLONGED * seconds.max(1.0))),
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
        let whole = ran.map_err(stopped)?;
        sampler.map_or(Ok(()), Sampler::end)?;
        if workload.capture().is_none() {
            enough(statements, began.elapsed().as_secs_f64())?;
        }
        end(server)?;
        // Intervals leave out what is behind the last one.
        Ok(statements.max(whole.queries))
    }

    /// The job, each time on a fresh clone since it changes its data, until this many seconds were spent on it; once at least.
    fn do_jobs(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        trained: &Trained,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let mut spent = 0.0;
        let mut times = 0;
        while times == 0 || spent < seconds {
            let (server, _clone) = self.start(job, &trained.image)?;
            let began = Instant::now();
            times += 1;
            let endpoint: Endpoint = server.over_tcp(&trained.database);
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

/// Refuses a profile of so few statements.
fn enough(statements: u64, seconds: f64) -> Result<()> {
    if statements < MIN_STATEMENTS {
        bail!(
            "the server under training executed {statements} statements in {seconds:.0} s, and a profile of fewer than \
             {MIN_STATEMENTS} misleads";
            remedy: "the same command again when the machine is less busy, or train longer (--train-seconds)"
        );
    }
    Ok(())
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
