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

use niagara_store::NotTried;

use crate::cancel::{Cancel, Cancelled};
use crate::candidate::{Candidate, factors, with_all};
use crate::check::{Standing, standing};
use crate::observer::{Event, Observer};
use crate::patches::patch_text;
use crate::variant::Variant;
use crate::workbench::Workbench;

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

/// Most builds that a ladder's levers may come to together.
const MOST_BUILDS: usize = 16;

/// Builds the servers of all levers among `candidates` that change the build, and of all their combinations that a
/// duel can have. Levers whose server cannot be built, or has not passed `niagara server check`, are taken out and
/// returned with the reason: the rest goes on without them.
///
/// # Errors
/// [`Cancelled`] when stopped; more combinations than can be built in reason.
pub fn prepare_builds(
    bench: &mut Workbench,
    base: &Variant,
    candidates: &mut Vec<Candidate>,
    observer: &mut dyn Observer,
) -> Result<Vec<NotTried>> {
    let mut left_out = Vec::new();
    let mut index = 0;
    while let Some(candidate) = candidates.get(index) {
        if candidate.change.build.is_empty() {
            index += 1;
            continue;
        }
        let variant = base.with(candidate.lever.id(), &candidate.change);
        match build_and_check(bench, &variant, observer)? {
            None => index += 1,
            Some(reason) => {
                let candidate = candidates.remove(index);
                observer.see(Event::Note(&format!(
                    "{} is left out: {}",
                    candidate.lever.title(),
                    reason.lines().next().unwrap_or_default()
                )));
                left_out.push(NotTried {
                    lever: candidate.lever.id().to_owned(),
                    title: candidate.lever.title().to_owned(),
                    reason,
                });
            }
        }
    }
    let builds: Vec<Vec<usize>> = factors(candidates)
        .into_iter()
        .map(|factor| factor.levels)
        .filter(|levels| {
            levels
                .iter()
                .any(|&level| !candidates[level].change.build.is_empty())
        })
        .collect();
    let count: usize = builds.iter().map(|levels| levels.len() + 1).product();
    if count > MOST_BUILDS + 1 {
        bail!(
            "the levers that build come to {} different servers, and {MOST_BUILDS} are the most\n\
             remedy: leave some out (--without), or name those to try (--only)",
            count - 1
        );
    }
    for number in 1..count {
        // The number read in the mixed base of the factors' levels.
        let mut rest = number;
        let mut chosen = Vec::new();
        for levels in &builds {
            let level = rest % (levels.len() + 1);
            rest /= levels.len() + 1;
            chosen.extend(level.checked_sub(1).map(|level| levels[level]));
        }
        bench.set_up_variant(&with_all(base, candidates, &chosen), observer)?;
    }
    Ok(left_out)
}

/// Builds a variant's server; why it cannot be tried, where it cannot.
fn build_and_check(
    bench: &mut Workbench,
    variant: &Variant,
    observer: &mut dyn Observer,
) -> Result<Option<String>> {
    if let Err(error) = bench.set_up_variant(variant, observer) {
        bench.cancel().check()?;
        bench.check_disk()?;
        return Ok(Some(format!("{error:#}")));
    }
    let server = &bench.install_of(variant)?.server;
    Ok(match standing(bench.cache(), server)? {
        Standing::Passed(_) => None,
        Standing::Failed(_) => Some(format!(
            "the built server failed the check of its correctness: niagara server check {}",
            server.display()
        )),
        Standing::Unknown(_) => Some(format!(
            "the built server has not been checked yet: niagara server check {}, then the same command again",
            server.display()
        )),
    })
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
                    cancel: self.cancel.flag(),
                    ..TableOptions::default()
                };
                niagara_load::prepare_tables(&endpoint(server), workload, &options, &mut |_| {})
                    .map_err(stopped)?;
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
