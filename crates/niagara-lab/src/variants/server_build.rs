//! A server built as studies and commands ask for it: with the patches of the lever library, trained by our own load.

use anyhow::Result;
use niagara_build::{BuildStopped, Builder, Built, LoadTrainer, Recipe, Wanted, check_names};
use niagara_check::exercise;
use niagara_error::Explain as _;
use niagara_server::{Cache, Cancel, Cancelled, Catalog, Install, RunningServer};
use serde::Serialize;

use crate::variants::patches::patch;

/// A server that is to be built.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServerRecipe {
    /// The server that it stands beside.
    pub server: String,
    /// How it is made.
    pub recipe: Recipe,
}

/// How a build is to be made.
#[derive(Debug, Clone, Copy, Default)]
pub struct BuildOptions {
    /// Compilers at the same time; 0 is one per CPU.
    pub jobs: usize,
    /// Keep the folder that the compiler worked in.
    pub keep: bool,
    /// Ask the archive for the newest source, though one of the server's series is here.
    pub refresh_source: bool,
}

/// The server that `recipe` makes beside `server` of the catalogue; built, trained and kept where it is not there yet.
///
/// # Errors
/// [`Cancelled`] when stopped, with the builder's words; else why it cannot be built.
pub fn build(
    cache: &Cache,
    catalog: &Catalog,
    server: &str,
    recipe: &Recipe,
    options: BuildOptions,
    cancel: &Cancel,
    progress: &mut dyn FnMut(&str),
) -> Result<Built> {
    // Better said now than after a source was fetched, or the first of two builds made.
    check_names(recipe)?;
    with_builder(cache, catalog, options, cancel, progress, |builder| {
        builder.ensure(server, recipe)
    })
}

/// What that build is known by and made from, and whether it is there; nothing is built.
///
/// # Errors
/// As with [`build`]; a source that cannot be had.
pub(crate) fn look(
    cache: &Cache,
    catalog: &Catalog,
    server: &str,
    recipe: &Recipe,
    options: BuildOptions,
    cancel: &Cancel,
    progress: &mut dyn FnMut(&str),
) -> Result<Wanted> {
    check_names(recipe)?;
    with_builder(cache, catalog, options, cancel, progress, |builder| {
        builder.look(server, recipe)
    })
}

fn with_builder<T>(
    cache: &Cache,
    catalog: &Catalog,
    options: BuildOptions,
    cancel: &Cancel,
    progress: &mut dyn FnMut(&str),
    work: impl FnOnce(&mut Builder<'_>) -> Result<T>,
) -> Result<T> {
    let answers =
        |server: &RunningServer, install: &Install, seconds: f64, tell: &mut dyn FnMut(&str)| {
            exercise(server, install, seconds, cancel, tell)
        };
    let mut trainer = LoadTrainer::new(cache, cancel).with_answers(&answers);
    work(&mut Builder {
        cache,
        catalog,
        trainer: &mut trainer,
        patches: &patch,
        cancelled: &|| cancel.is_cancelled(),
        progress,
        jobs: options.jobs,
        keep: options.keep,
        refresh_source: options.refresh_source,
    })
    .map_err(stopped)
}

/// A builder's error; where it was told to stop one of [`Cancelled`], that says what becomes of the build.
fn stopped(error: anyhow::Error) -> anyhow::Error {
    match error.has::<BuildStopped>() || error.has::<Cancelled>() {
        true => anyhow::Error::new(Cancelled).context(BuildStopped),
        false => error,
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
        let error = check_names(&recipe).expect_err("unknown").to_string();
        assert!(error.contains("oltp_reed_write"), "{error}");
        recipe
            .set("pgo", "oltp_read_only/oltp_read_write")
            .expect("a name");
        check_names(&recipe).expect("known");
    }

    #[test]
    fn a_stopped_build_says_that_it_can_be_continued() {
        let error = stopped(anyhow::Error::new(BuildStopped).context("cannot build it"));
        assert!(error.has::<Cancelled>());
        assert!(
            error.to_string().contains("continues with the build"),
            "{error}"
        );
        let other = stopped(anyhow::anyhow!("disk full"));
        assert!(!other.has::<Cancelled>() && other.to_string() == "disk full");
    }
}
