//! Builds, as studies and commands ask for them: the builder of `niagara-server` with our own load as its training.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use niagara_load::{
    Driver, DriverOptions, Endpoint, LoadError, RunOptions, SliceStats, TableOptions, TlsOptions,
    Transport, WorkloadKind, WorkloadSpec,
};
use niagara_server::build::{BuildStopped, Builder, Built, Patch, Recipe, Trainer, TrainingJob};
use niagara_server::{
    Cache, Catalog, Config, ImageStore, LaunchSpec, RunningServer, Runtime, launch,
};

use crate::cancel::{Cancel, Cancelled};
use crate::patches::patch_text;

/// How often the training says how far it is.
const INTERVAL: Duration = Duration::from_secs(1);
/// Seed of the training's load: the same recipe is trained with the same statements.
const SEED: u64 = 20_080_214;

/// How a build is to be made.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuildOptions {
    /// Compilers at the same time; 0 is one per CPU.
    pub jobs: usize,
    /// Keep the folder that the compiler worked in.
    pub keep: bool,
}

/// The server that `recipe` makes beside `server` of the catalogue; built, trained and kept where it is not there yet.
///
/// # Errors
/// [`Cancelled`] when stopped; else why it cannot be built.
pub fn build(
    cache: &Cache,
    catalog: &Catalog,
    server: &str,
    recipe: &Recipe,
    options: BuildOptions,
    cancel: &Cancel,
    progress: &mut dyn FnMut(&str),
) -> Result<Built> {
    check_workloads(recipe)?;
    let mut trainer = LoadTrainer { cache, cancel };
    let built = Builder {
        cache,
        catalog,
        trainer: &mut trainer,
        patches: &patch,
        cancelled: &|| cancel.is_cancelled(),
        progress,
        jobs: options.jobs,
        keep: options.keep,
    }
    .ensure(server, recipe);
    built.map_err(
        |error| match error.is::<BuildStopped>() || error.is::<Cancelled>() {
            true => Cancelled.into(),
            false => error,
        },
    )
}

/// That every workload a recipe trains on exists: better said now than after the first build.
///
/// # Errors
/// The first that does not.
pub fn check_workloads(recipe: &Recipe) -> Result<()> {
    for name in recipe.trained_on() {
        kind(name)?;
    }
    Ok(())
}

fn kind(name: &str) -> Result<WorkloadKind> {
    name.parse::<WorkloadKind>()
        .map_err(|error| anyhow!("no build can be trained on `{name}`: {error}"))
}

/// The source change of this name.
fn patch(name: &str) -> Result<Patch> {
    Ok(Patch {
        name: name.to_owned(),
        text: patch_text(name)?.to_owned(),
    })
}

/// Trains instrumented servers with the load generator.
struct LoadTrainer<'a> {
    cache: &'a Cache,
    cancel: &'a Cancel,
}

impl Trainer for LoadTrainer<'_> {
    fn train(&mut self, job: &TrainingJob<'_>, progress: &mut dyn FnMut(&str)) -> Result<()> {
        for (name, seconds) in job.training.shares() {
            let workload = WorkloadSpec {
                kind: kind(name)?,
                tables: job.training.tables,
                table_size: job.training.table_size,
                ..WorkloadSpec::default()
            };
            self.one(job, &workload, seconds, progress)
                .with_context(|| format!("training on {name}"))?;
            self.cancel.check()?;
        }
        Ok(())
    }
}

impl LoadTrainer<'_> {
    /// One workload on a server of its own, which is shut down cleanly: that is when it writes its profile.
    fn one(
        &self,
        job: &TrainingJob<'_>,
        workload: &WorkloadSpec,
        seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let threads = job.training.threads;
        let shown = RefCell::new(progress);
        let image = ImageStore::new(self.cache).ensure(
            job.loader.unwrap_or(job.install),
            &workload.data_key(threads),
            "InnoDB",
            &mut |server| {
                let options = TableOptions {
                    threads,
                    ..TableOptions::default()
                };
                niagara_load::prepare_tables(&endpoint(server), workload, &options, &mut |_| {})?;
                Ok(self.cancel.check()?)
            },
            &mut |text| shown.borrow_mut()(&format!("training: {text}")),
        )?;
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
        let server = launch(self.cache, &spec)?;
        let mut driver = Driver::connect(
            &[endpoint(&server)],
            workload,
            &DriverOptions {
                threads,
                seed: SEED,
                cancel: self.cancel.flag(),
                ..DriverOptions::default()
            },
        )
        .map_err(stopped)?;
        let began = Instant::now();
        let options = RunOptions {
            duration: Some(Duration::from_secs_f64(seconds)),
            interval: Some(INTERVAL),
            ..RunOptions::default()
        };
        let mut transactions = 0;
        let ran = driver.run(0, &options, &mut |interval: &SliceStats| {
            transactions += interval.transactions;
            let left = (seconds - began.elapsed().as_secs_f64()).max(0.0);
            shown.borrow_mut()(&format!(
                "training on {}: {transactions} transactions, {left:.0} s left",
                workload.kind
            ));
            true
        });
        driver.disconnect();
        ran.map_err(stopped)?;
        if transactions == 0 {
            bail!(
                "the instrumented server finished no transaction in {seconds:.0} s: train longer"
            );
        }
        server
            .stop()
            .context("the instrumented server did not shut down cleanly")
    }
}

/// A load that was told to stop is a stop, not a failure.
fn stopped(error: LoadError) -> anyhow::Error {
    match error {
        LoadError::Cancelled => Cancelled.into(),
        error => error.into(),
    }
}

/// Over loopback, as the load of a study comes unless it says otherwise.
fn endpoint(server: &RunningServer) -> Endpoint {
    Endpoint {
        transport: Transport::Tcp(server.tcp()),
        user: server.user().to_owned(),
        password: server.password().to_owned(),
        database: "sbtest".to_owned(),
        tls: TlsOptions::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_workload_is_told_before_anything_is_built() {
        let mut recipe = Recipe::default();
        recipe
            .set("pgo", "oltp_read_only/oltp_reed_write")
            .expect("a name");
        let error = check_workloads(&recipe).expect_err("unknown").to_string();
        assert!(error.contains("oltp_reed_write"), "{error}");
        recipe
            .set("pgo", "oltp_read_only/oltp_read_write")
            .expect("a name");
        check_workloads(&recipe).expect("known");
    }
}
