//! Profiles for the compiler: a server that counts what it runs is built, and trained; or the counts come with the program.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::builder::{Builder, fresh};
use crate::compiler_profile::{self, ProfileSummary};
use crate::flags::Stage;
use crate::in_use::InUse;
use crate::lock::lock;
use crate::order::Order;
use crate::shipped_profiles::{ShippedProfile, of_another_training};
use crate::stopwatch::Stopwatch;
use crate::store::{self, BuildKind, BuildRecord, BuildStore, StoredBuild};
use crate::trainer::TrainingJob;
use crate::training::Training;

/// What clang reads.
pub(crate) const MERGED: &str = "merged.profdata";

impl Builder<'_> {
    /// The profile that the recipe's training leaves.
    pub(crate) fn profile(
        &mut self,
        order: &Order,
        training: &Training,
    ) -> Result<(StoredBuild, InUse)> {
        if training.contexts {
            return self.profile_with_contexts(order, training);
        }
        // Builds that differ in how they are linked share a profile.
        let order = order.counted()?;
        let key = order.key(BuildKind::Profile)?;
        self.kept_or_made(&key, &mut |builder| {
            if let Some(shipped) = order.shipped_profile()? {
                return builder.unpack(&order, &shipped, &key);
            }
            if let Some(other) = of_another_training(&order.server, &order.recipe)? {
                (builder.progress)(&format!(
                    "the profile that comes with the program is of {other}: training here on {}",
                    training.words()
                ));
            }
            builder.count(&order, training, &key, &Stage::Instrumented)
        })
    }

    /// The profile of two rounds: the second counts in a server that was inlined by the first, so that a function has counts
    /// for each place that it was inlined at. Inlining goes across files, so that the second round is one of LTO and linker.
    fn profile_with_contexts(
        &mut self,
        order: &Order,
        training: &Training,
    ) -> Result<(StoredBuild, InUse)> {
        let first = order.with(|recipe| *recipe = recipe.first_round())?;
        let once = Training {
            contexts: false,
            ..training.clone()
        };
        let order = order.counted()?;
        let key = order.key(BuildKind::Profile)?;
        self.kept_or_made(&key, &mut |builder| {
            let (first, _in_use) = builder.profile(&first, &once)?;
            let merged = first.folder.join(MERGED);
            let mut counted = builder.count(&order, training, &key, &Stage::Contexts(&merged))?;
            counted.record.shipped = first.record.shipped;
            store::finish(&counted.folder, &counted.record)
        })
    }

    /// The server that counts for the profiles of `order`, whatever they are trained on.
    fn instrumented(&mut self, order: &Order) -> Result<(StoredBuild, InUse)> {
        let order = order.instrumented()?;
        let key = order.key(BuildKind::Instrumented)?;
        self.kept_or_made(&key, &mut |builder| {
            let folder = BuildStore::new(builder.cache).folder(&key);
            let mut record = order.record(&key, BuildKind::Instrumented, &Stage::Instrumented);
            builder.compile_counting(&order, &folder, &mut record, "instrumented, ")?;
            let build = store::finish(&folder, &record)?;
            builder.tidy(&folder.join("ninja"));
            Ok(build)
        })
    }

    /// Compiles a server that counts, in the prefix of `folder`.
    fn compile_counting(
        &mut self,
        order: &Order,
        folder: &Path,
        record: &mut BuildRecord,
        what: &str,
    ) -> Result<()> {
        let ninja = folder.join("ninja");
        if !store::begin(folder, record)? {
            fresh(&ninja)?;
        }
        let key = record.key.clone();
        match order.recipe.compiler.is_gcc() {
            true => self.in_place(&key, &ninja, &mut |builder, place| {
                builder.compile(order, folder, place, record, what)
            })?,
            false => self.compile(order, folder, &ninja, record, what)?,
        }
        self.put_together(order, folder)?;
        record.version = order.install(self.cache, folder)?.version_string;
        Ok(())
    }

    /// What the store has under this key, made where it is not there yet.
    fn kept_or_made(
        &mut self,
        key: &str,
        make: &mut dyn FnMut(&mut Self) -> Result<StoredBuild>,
    ) -> Result<(StoredBuild, InUse)> {
        let store = BuildStore::new(self.cache);
        let in_use = store.hold(key)?;
        if let Some(build) = store.find(key) {
            build.touch();
            return Ok((build, in_use));
        }
        let _lock = lock(
            self.cache,
            &store::lock_name(key),
            self.cancelled,
            &mut || {
                (self.progress)("waiting: somebody else makes this profile, or what counts for it");
            },
        )?;
        if let Some(build) = store.find(key) {
            return Ok((build, in_use));
        }
        Ok((make(self)?, in_use))
    }

    /// Trains the server that counts, which is built where it is not there, and keeps its counts.
    fn count(
        &mut self,
        order: &Order,
        training: &Training,
        key: &str,
        stage: &Stage<'_>,
    ) -> Result<StoredBuild> {
        let folder = BuildStore::new(self.cache).folder(key);
        let mut record = order.record(key, BuildKind::Profile, stage);
        // A second round counts by a profile, which has a say in what it is: its server serves this profile alone.
        let (install, counting, first, _in_use) = match stage {
            Stage::Contexts(first) => {
                self.compile_counting(order, &folder, &mut record, "instrumented once more, ")?;
                let install = order.install(self.cache, &folder)?;
                (install, folder.clone(), Some(*first), None)
            }
            _ => {
                let (server, in_use) = self.instrumented(order)?;
                let install = self.install(order, &server)?;
                store::begin(&folder, &mut record)?;
                record.version.clone_from(&server.record.version);
                record.instrumented = Some(server.record.key);
                (install, server.folder, None, Some(in_use))
            }
        };
        let raw = folder.join("raw");
        fresh(&raw)?;
        let gcc = order.recipe.compiler.is_gcc();
        let environment = profile_environment(gcc, &raw, &counting.join("ninja"));
        let watch = Stopwatch::start();
        let job = TrainingJob {
            install: &install,
            loader: None,
            training,
            environment,
            sampling: None,
        };
        self.trainer
            .train(&job, self.progress)
            .context("the training of the instrumented server failed")?;
        record.seconds.insert("train".to_owned(), watch.seconds());
        let summary = collect(order, &raw, &folder, first)?.check("the instrumented server")?;
        (self.progress)(&format!("profile: {summary}"));
        record.profile = Some(summary);
        let profile = store::finish(&folder, &record)?;
        for done in ["raw", "ninja", "prefix"] {
            self.tidy(&folder.join(done));
        }
        Ok(profile)
    }

    /// A profile that comes with the program, put into the store.
    fn unpack(
        &mut self,
        order: &Order,
        shipped: &ShippedProfile,
        key: &str,
    ) -> Result<StoredBuild> {
        (self.progress)(&format!(
            "profile: the one that comes with the program, counted on {} ({}) by {}",
            shipped.source, shipped.profile, shipped.made_by
        ));
        let folder = BuildStore::new(self.cache).folder(key);
        let mut record = order.record(key, BuildKind::Profile, &Stage::Instrumented);
        store::note_down(&folder, &record)?;
        let path = folder.join(MERGED);
        fs::write(&path, shipped.content()?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        record.profile = Some(shipped.profile.clone());
        record.shipped = Some(shipped.source.clone());
        store::finish(&folder, &record)
    }
}

/// Where an instrumented server's profile goes. gcc's would go beside the objects it was compiled from: the folder of
/// the build is cut off and another put before.
fn profile_environment(gcc: bool, raw: &Path, ninja: &Path) -> BTreeMap<String, String> {
    if gcc {
        let strip = ninja.components().count() - 1;
        BTreeMap::from([
            ("GCOV_PREFIX".to_owned(), raw.display().to_string()),
            ("GCOV_PREFIX_STRIP".to_owned(), strip.to_string()),
            // As by default, where other programs are told to keep it to themselves.
            ("GCOV_ERROR_FILE".to_owned(), "/dev/stderr".to_owned()),
        ])
    } else {
        let pattern = raw.join("%m-%p.profraw");
        BTreeMap::from([(
            "LLVM_PROFILE_FILE".to_owned(),
            pattern.display().to_string(),
        )])
    }
}

/// Takes the raw profile into the folder in the form that the compiler reads; `first` is the profile of the round before.
fn collect(
    order: &Order,
    raw: &Path,
    folder: &Path,
    first: Option<&Path>,
) -> Result<ProfileSummary> {
    match &order.tools.profdata {
        Some(profdata) => compiler_profile::merge_raw(profdata, raw, first, &folder.join(MERGED)),
        None => {
            let counts = folder.join("counts");
            fresh(&counts)?;
            compiler_profile::lay_beside_objects(raw, &counts)?;
            compiler_profile::summary_of_gcda(&counts)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_goes_where_it_is_told() {
        let gcc = profile_environment(true, Path::new("/raw"), Path::new("/a/b/ninja"));
        assert_eq!(gcc["GCOV_PREFIX_STRIP"], "3");
        let clang = profile_environment(false, Path::new("/raw"), Path::new("/a/b/ninja"));
        assert!(clang["LLVM_PROFILE_FILE"].starts_with("/raw/"));
    }
}
