//! From an order to a server in its prefix: configured, compiled, trained where its profile is asked for.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::bail;

use crate::builder::{Builder, fresh};
use crate::cmake_answers;
use crate::compiler_profile::{self, ProfileSummary};
use crate::counting::MERGED;
use crate::experience::Experience;
use crate::flags::{LAUNCHERS, Stage, keep_links};
use crate::ninja_progress::{STATUS, seconds_left, share_done, steps};
use crate::order::Order;
use crate::prefix;
use crate::recipe::Lto;
use crate::shipped_profiles::MAX_STALE_SHARE;
use crate::step::{run, since_configured};
use crate::stopwatch::Stopwatch;
use crate::store::{self, BuildKind, BuildRecord, BuildStore, StoredBuild};

/// Where a build's folder has its source when ccache serves it: a link to the tree, the same beside every build's `ninja`.
const SOURCE: &str = "source";
/// The parts of a build that an unfit profile spoils.
const SPOILED: [&str; 2] = ["configure", "compile"];
/// The part under which their time stands then.
const IN_VAIN: &str = "in vain";

impl Builder<'_> {
    /// The server of `order`, compiled, in the store under `key`.
    pub(crate) fn compile_server(&mut self, order: &Order, key: &str) -> Result<StoredBuild> {
        let folder = BuildStore::new(self.cache).folder(key);
        let (trained, _in_use) = match &order.recipe.pgo {
            Some(training) => {
                let (profile, in_use) = self.profile(order, training)?;
                (Some(profile), Some(in_use))
            }
            None => (None, None),
        };
        let gcc = order.recipe.compiler.is_gcc();
        let merged = match &trained {
            Some(profile) if !gcc => {
                let store = BuildStore::new(self.cache);
                Some(store.placed_by_content(&profile.folder.join(MERGED))?)
            }
            _ => None,
        };
        let stage = match &trained {
            None => Stage::Plain,
            Some(_) => Stage::Optimised(merged.as_deref()),
        };
        let mut record = order.record(key, BuildKind::Server, &stage);
        let goes_on = store::begin(&folder, &mut record)?;
        let ninja = folder.join("ninja");
        if !goes_on {
            // ninja would find nothing to do for the other options.
            fresh(&ninja)?;
        }
        let to_remove = match &trained {
            Some(profile) => self.made_for(profile, key),
            None => Vec::new(),
        };
        match trained.as_ref().filter(|_| gcc) {
            Some(profile) => {
                let counts = profile.folder.join("counts");
                let counting = profile.record.instrumented.as_ref();
                let counting = counting.unwrap_or(&profile.record.key);
                let compiled = self.in_place(counting, &ninja, &mut |builder, place| {
                    compiler_profile::lay_beside_objects(&counts, &ninja)?;
                    builder.compile(order, &folder, place, &mut record, "")
                });
                compiled.map_err(|error| compiler_profile::told_stale(error, &to_remove))?;
                compiler_profile::check_objects(&counts, &ninja, &to_remove)?;
            }
            None => self.compile(order, &folder, &ninja, &mut record, "")?,
        }
        if let Some(profile) = trained.as_ref().filter(|_| !gcc) {
            let log = since_configured(&folder.join("log"))?;
            let shipped = profile.record.shipped.is_some();
            let stale = shipped && !still_fits(&log, profile.record.profile.as_ref());
            if stale && let Some(shipped) = order.first_shipped_profile()? {
                (self.progress)(
                    "the profile that comes with the program no longer fits this source: training here",
                );
                // Every build after this one begins with the training.
                shipped.note_stale_for(&order.source, &order.recipe)?;
                // What was compiled in vain tells nobody how long compiling takes.
                for spent in [&mut record.seconds, &mut record.cpu_seconds] {
                    let in_vain: f64 = SPOILED.iter().filter_map(|part| spent.remove(*part)).sum();
                    *spent.entry(IN_VAIN.to_owned()).or_default() += in_vain;
                }
                store::note_down(&folder, &record)?;
                return self.compile_server(order, key);
            }
            if !shipped || stale {
                compiler_profile::check_warnings(&log, &to_remove)?;
            }
        }
        self.put_together(order, &folder)?;
        record.version = order.install(self.cache, &folder)?.version_string;
        if let Some(profile) = trained {
            record.profile = profile.record.profile;
            record.shipped = profile.record.shipped;
        }
        let build = store::finish(&folder, &record)?;
        self.tidy(&ninja);
        Ok(build)
    }

    /// The keys of all that a build by a profile was made of and is, to be removed where they do not fit each other.
    fn made_for(&self, profile: &StoredBuild, key: &str) -> Vec<String> {
        let store = BuildStore::new(self.cache);
        let instrumented = profile.record.instrumented.clone();
        let instrumented = instrumented.filter(|key| store.find(key).is_some());
        let keys = [Some(profile.record.key.clone()), instrumented];
        keys.into_iter().flatten().chain([key.to_owned()]).collect()
    }

    /// cmake, then ninja, each as far as it has not come yet; seconds are added to the record. `ninja` is the path by which
    /// they know the folder of the objects.
    pub(crate) fn compile(
        &mut self,
        order: &Order,
        folder: &Path,
        ninja: &Path,
        record: &mut BuildRecord,
        what: &str,
    ) -> Result<()> {
        let tree = order
            .source
            .patched(self.cache, &order.patches, self.cancelled)?;
        fs::create_dir_all(folder.join("ninja"))?;
        let log = folder.join("log");
        let title = format!("{} ({what}{})", order.server, order.recipe.one_line());
        let store = BuildStore::new(self.cache);
        if !ninja.join("build.ninja").is_file() {
            self.has_room(order)?;
            let source = match record.cmake.contains_key(LAUNCHERS[0]) {
                true => linked(&tree, folder)?,
                // gcc's profile knows functions by the path of their source, so that must be the same in both of its builds.
                false => tree,
            };
            let watch = Stopwatch::start();
            let experience = Experience::of(&store, &order.server, self.jobs());
            let typical = experience.typical(record.kind, &order.recipe, "configure");
            // Not in the record, and in no key: where a link keeps what it makes does not change what it makes.
            let mut options = record.cmake.clone();
            keep_links(&mut options, &order.recipe, &order.tools, &store.linked());
            let answers = cmake_answers::place(&store, order, &record.cmake);
            let mut cmake = self.command("cmake");
            if let Some(known) = answers.as_ref().filter(|place| place.is_file()) {
                cmake.arg("-C").arg(known);
            }
            cmake
                .arg("-G")
                .arg("Ninja")
                .arg("-S")
                .arg(&source)
                .arg("-B")
                .arg(ninja)
                .arg("-Wno-dev");
            cmake.args(
                options
                    .iter()
                    .map(|(name, value)| format!("-D{name}={value}")),
            );
            let progress = &mut *self.progress;
            let ran = run(cmake, "cmake", &log, self.cancelled, &mut |_| {
                let left = typical.map(|all| (all - watch.seconds()).max(1.0));
                progress(&format!("{title}: configuring{}", about(left)));
            });
            self.spent(folder, record, "configure", &watch)?;
            ran?;
            if let Some(place) = answers {
                cmake_answers::keep(&place, ninja)?;
            }
        }
        let watch = Stopwatch::start();
        let before = record.seconds.get("compile").copied().unwrap_or(0.0);
        let asked = (record.kind, &order.recipe);
        let typical = store.compile_seconds(self.catalog, &order.server, asked, self.jobs());
        let mut command = self.command("ninja");
        command.env("NINJA_STATUS", STATUS).arg("-C").arg(ninja);
        command
            .arg("-j")
            .arg(self.jobs().to_string())
            .args(&order.description.targets);
        let mut at = (0, 0);
        let lto = order.recipe.lto != Lto::None;
        let progress = &mut *self.progress;
        let ran = run(command, "the build", &log, self.cancelled, &mut |line| {
            if let Some(found) = line.and_then(steps) {
                at = found;
            }
            let (done, all) = at;
            if all > 0 {
                let share = share_done(done, all, lto);
                // A build that is continued counts from where it was: what is left of it takes its share.
                let typical = typical.map(|seconds| (seconds - before).max(seconds * 0.05));
                let left = seconds_left(share, watch.seconds(), typical);
                progress(&format!("{title}: {done} of {all} steps{}", about(left)));
            }
        });
        self.spent(folder, record, "compile", &watch)?;
        ran.map(drop)
    }

    /// That the disk has room for what compiling leaves on it, as far as that is known: a compiler that fails for it after an hour says
    /// so in its own words, or not at all.
    fn has_room(&self, order: &Order) -> Result<()> {
        let takes = order.description.disk_mb;
        let free = self.cache.kept_free_bytes()? >> 20;
        if free >= takes {
            return Ok(());
        }
        bail!(
            "compiling {} takes {takes} MB of disk in {}, where {free} MB are free",
            order.server,
            self.cache.root().display();
            remedy: "make room (niagara server build gc), or name a folder on another disk in NIAGARA_CACHE"
        );
    }

    /// Adds what a part took to the record, on disk too: an interrupted build's time counts.
    fn spent(
        &self,
        folder: &Path,
        record: &mut BuildRecord,
        part: &str,
        watch: &Stopwatch,
    ) -> Result<()> {
        *record.seconds.entry(part.to_owned()).or_default() += watch.seconds();
        if let Some(cpu) = watch.cpu_seconds() {
            *record.cpu_seconds.entry(part.to_owned()).or_default() += cpu;
        }
        store::note_down(folder, record)
    }

    pub(crate) fn put_together(&self, order: &Order, folder: &Path) -> Result<()> {
        let tree = order
            .source
            .patched(self.cache, &order.patches, self.cancelled)?;
        let binary = folder.join("ninja").join(&order.description.binary);
        if !binary.is_file() {
            bail!(
                "the build left no {}\nlog: {}", binary.display(), folder.join("log").display();
                remedy: "the source is one of {} {}; name the server of the catalogue that is built as it is, or say in \
                 [build] of a file in servers/ what its targets are and where they put the server",
                order.source.family,
                order.source.version
            );
        }
        prefix::assemble(
            &tree,
            &folder.join("ninja"),
            &order.description.binary,
            &folder.join("prefix/usr"),
        )
    }
}

/// Whether a shipped profile counted the functions that were compiled, but for a few that another release of the series
/// has changed.
fn still_fits(log: &str, profile: Option<&ProfileSummary>) -> bool {
    let known = profile.map_or(0, |profile| profile.known);
    compiler_profile::stale_functions(log) as f64 <= MAX_STALE_SHARE * known as f64
}

/// A link in `folder` to the tree, at the same place in every build's.
fn linked(tree: &Path, folder: &Path) -> Result<PathBuf> {
    let link = folder.join(SOURCE);
    if fs::read_link(&link).is_ok_and(|target| target != tree) {
        fs::remove_file(&link)?;
    }
    if fs::symlink_metadata(&link).is_err() {
        symlink(tree, &link).with_context(|| format!("cannot make {}", link.display()))?;
    }
    Ok(link)
}

/// `, about 4:07 left`
fn about(left: Option<f64>) -> String {
    match left {
        Some(seconds) => {
            let seconds = seconds.round() as u64;
            format!(", about {}:{:02} left", seconds / 60, seconds % 60)
        }
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_told_in_minutes() {
        assert_eq!(about(Some(247.4)), ", about 4:07 left");
    }
}
