//! Builds on disk: each in a folder named by the digest of everything that went into it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use niagara_error::bail;
use nix::fcntl::Flock;
use nix::unistd::syncfs;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::compiler_profile::ProfileSummary;
use crate::freed_space::Disk;
use crate::in_use::{InUse, use_name};
use crate::recipe::Recipe;
use crate::source::{SOURCES_LOCK, sources, tree_of, unneeded};
use crate::toolchain::Toolchain;
use niagara_server::{Cache, Cancel, create_private, write_private};

/// The record of a finished build; a folder without it is half-finished.
const RECORD: &str = "recipe.json";
/// The record as far as it is known while the build is made.
const ASKED: &str = "asked.json";
/// Touched whenever the build is used.
const USED: &str = "used";
/// There where the folders that a build was compiled in were asked to be kept.
const KEPT: &str = "kept";
/// The folders of a finished build that it does not need any more; a profile does not need its server either.
const SPENT: [&str; 2] = ["ninja", "raw"];
/// A build takes less, so that a copy of its profile that is older is not in use.
const COPY_IN_USE: Duration = Duration::from_secs(24 * 60 * 60);
/// Bytes of a key; two letters each.
const KEY_BYTES: usize = 8;

/// What a folder of the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BuildKind {
    /// A server.
    Server,
    /// A server that counts what it runs: it is trained for profiles.
    Instrumented,
    /// A profile: what an instrumented server counted.
    Profile,
}

/// A build as recorded with it: all that is needed to make it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BuildRecord {
    /// Digest of everything that goes in; the folder's name.
    pub key: String,
    /// What it is.
    pub kind: BuildKind,
    /// The server of the catalogue that it stands beside.
    pub server: String,
    /// The source: package and version, or a tree's path.
    pub source: String,
    /// What was asked for.
    pub recipe: Recipe,
    /// What it was carried out with.
    pub toolchain: Toolchain,
    /// The options that cmake got.
    pub cmake: BTreeMap<String, String>,
    /// The version as the server prints it; empty until it was built.
    #[serde(default)]
    pub version: String,
    /// Seconds by part: configure, compile, train, bolt.
    #[serde(default)]
    pub seconds: BTreeMap<String, f64>,
    /// CPU seconds of the programs run for a part (cmake, ninja and its compilers), where they are measured: what the part
    /// takes whatever else the machine does.
    #[serde(default)]
    pub cpu_seconds: BTreeMap<String, f64>,
    /// What the training ran, for profiles and what was made by them.
    #[serde(default)]
    pub profile: Option<ProfileSummary>,
    /// The source that a profile which comes with the program was counted on; `None` where it was counted here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shipped: Option<String>,
    /// Of a profile: the key of the instrumented server that counted; `None` where it was built in the profile's own folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrumented: Option<String>,
    /// When it was begun.
    pub begun: jiff::Timestamp,
}

impl BuildRecord {
    /// Seconds in all.
    pub fn all_seconds(&self) -> f64 {
        self.seconds.values().sum()
    }
}

/// A folder of the store.
#[derive(Debug, Clone)]
pub struct StoredBuild {
    /// Where it is.
    pub folder: PathBuf,
    /// What it is.
    pub record: BuildRecord,
    /// Whether it came to its end.
    pub finished: bool,
}

impl StoredBuild {
    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        Disk::of(&self.folder).taken()
    }

    /// When it was last asked for.
    pub(crate) fn last_used(&self) -> SystemTime {
        let time = |path: PathBuf| {
            fs::metadata(path)
                .and_then(|metadata| metadata.modified())
                .ok()
        };
        time(self.folder.join(USED))
            .or_else(|| time(self.folder.join(ASKED)))
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// It was asked for now.
    pub fn touch(&self) {
        // Only gc reads it: a cache that cannot be written to is still a cache.
        let _ = fs::write(self.folder.join(USED), "");
    }
}

/// A folder of the store whose record cannot be read: no build, and on disk all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its name, a key.
    pub key: String,
    /// Where it is.
    pub folder: PathBuf,
    /// Why it cannot be read.
    pub cause: String,
}

impl Unreadable {
    /// Bytes on disk.
    pub fn bytes(&self) -> u64 {
        Disk::of(&self.folder).taken()
    }
}

/// All builds of a cache.
#[derive(Debug, Clone)]
pub struct BuildStore {
    cache: Cache,
}

/// What a [`BuildStore::gc`] removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Collected {
    /// Builds and profiles.
    pub builds: usize,
    /// Source trees.
    pub sources: usize,
    /// Bytes that are free again.
    pub bytes: u64,
    /// Builds that stay because a command makes or uses them right now.
    pub in_use: usize,
}

impl BuildStore {
    /// The builds of this cache.
    pub fn new(cache: &Cache) -> BuildStore {
        BuildStore {
            cache: cache.clone(),
        }
    }

    /// Where it is kept.
    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The folder with all of it.
    pub fn root(&self) -> PathBuf {
        self.cache.root().join("builds")
    }

    /// ccache's folder.
    pub fn ccache(&self) -> PathBuf {
        self.cache.root().join("ccache")
    }

    /// The folder of what links by ThinLTO keep: machine code by the content of what it was made from. It is one of ccache's, and goes with it.
    pub fn linked(&self) -> PathBuf {
        self.ccache().join("linked")
    }

    /// The folder of what cmake found out for builds. It goes with ccache's, too.
    pub(crate) fn answers(&self) -> PathBuf {
        self.ccache().join("answers")
    }

    /// The folder below which [places](BuildStore::place) are.
    pub(crate) fn places(&self) -> PathBuf {
        self.cache.root().join("places")
    }

    /// The path by which gcc knows the objects of the instrumented server of this key. It has as many parts as that of a build's
    /// objects, of which gcc's counts take either.
    pub(crate) fn place(&self, key: &str) -> PathBuf {
        self.places().join(key).join("ninja")
    }

    /// The folder of clang's profiles by their content.
    fn profiles(&self) -> PathBuf {
        self.cache.root().join("profiles")
    }

    /// `profile` at a path that its content decides. ccache knows an object by the words of its compilation and by what it was made from:
    /// builds by the same profile, of a patched tree too, find each other's.
    ///
    /// # Errors
    /// It cannot be read; the cache cannot be written.
    pub(crate) fn placed_by_content(&self, profile: &Path) -> Result<PathBuf> {
        let content =
            fs::read(profile).with_context(|| format!("cannot read {}", profile.display()))?;
        let digest = hex::encode(&Sha256::digest(&content)[..KEY_BYTES]);
        let place = self.profiles().join(format!("{digest}.profdata"));
        if place.exists() {
            // The build that it comes from may be gone: a copy without another name is kept by its age.
            let file = fs::File::options().append(true).open(&place);
            file.and_then(|file| file.set_modified(SystemTime::now()))
                .with_context(|| format!("cannot write {}", place.display()))?;
            return Ok(place);
        }
        create_private(&self.profiles())?;
        match fs::hard_link(profile, &place) {
            Ok(()) => Ok(place),
            // Another build was quicker.
            Err(_) if place.exists() => Ok(place),
            // A file system without hard links.
            Err(_) => {
                write_private(&place, &content)?;
                Ok(place)
            }
        }
    }

    /// The build of this key for oneself, held until dropped: whoever makes it is waited for, which `waiting` is told, and nobody
    /// begins it.
    ///
    /// # Errors
    /// [`Cancelled`](niagara_server::Cancelled) once `cancel` says so meanwhile; the lock cannot be made.
    pub fn hold_alone(
        &self,
        key: &str,
        cancel: &Cancel,
        waiting: &mut dyn FnMut(),
    ) -> Result<Flock<File>> {
        self.cache
            .lock_or_cancelled(&lock_name(key), cancel, waiting)
    }

    /// The folder of a build.
    pub fn folder(&self, key: &str) -> PathBuf {
        self.root().join(key)
    }

    /// The finished build of this key.
    pub fn find(&self, key: &str) -> Option<StoredBuild> {
        let build = read(&self.folder(key))?;
        build.finished.then_some(build)
    }

    /// The source that the server at this path was built from, where it is a finished build of this store and its source is
    /// still here.
    pub fn source_of(&self, server: &Path) -> Option<PathBuf> {
        let server = server.canonicalize().ok()?;
        let builds = self.list().ok()?;
        let build = builds.into_iter().find(|build| {
            let folder = build.folder.canonicalize();
            build.finished && folder.is_ok_and(|folder| server.starts_with(folder))
        })?;
        let tree = match build.record.recipe.source {
            Some(tree) => Some(tree),
            None => tree_of(&self.cache, &build.record.source),
        };
        tree.filter(|tree| tree.is_dir())
    }

    /// All builds, finished or not, the oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list(&self) -> Result<Vec<StoredBuild>> {
        let Ok(entries) = fs::read_dir(self.root()) else {
            return Ok(Vec::new());
        };
        let mut found: Vec<StoredBuild> = entries
            .flatten()
            .filter_map(|entry| read(&entry.path()))
            .collect();
        found.sort_by_key(|build| build.record.begun);
        Ok(found)
    }

    /// The records of all finished builds; none of a store that cannot be read.
    pub(crate) fn finished(&self) -> Vec<BuildRecord> {
        let builds = self.list().unwrap_or_default().into_iter();
        let finished = builds.filter(|build| build.finished);
        finished.map(|build| build.record).collect()
    }

    /// Bytes of all source trees.
    pub fn source_bytes(&self) -> u64 {
        Disk::of(&sources(&self.cache)).taken()
    }

    /// Bytes of what ccache and links keep.
    pub fn ccache_bytes(&self) -> u64 {
        Disk::of(&self.ccache()).taken()
    }

    /// Removes what ccache and links keep, unless something is being built; the bytes it took.
    ///
    /// # Errors
    /// The folder cannot be removed.
    pub fn clear_ccache(&self) -> Result<Option<u64>> {
        for build in self.list()?.iter().filter(|build| !build.finished) {
            if self
                .cache
                .try_lock(&lock_name(&build.record.key))?
                .is_none()
            {
                return Ok(None);
            }
        }
        let folder = self.ccache();
        if !folder.exists() {
            return Ok(Some(0));
        }
        let bytes = self.ccache_bytes();
        fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
        Ok(Some(bytes))
    }

    /// Says that the build of this key is used.
    ///
    /// # Errors
    /// The lock that says so cannot be had.
    pub fn hold(&self, key: &str) -> Result<InUse> {
        InUse::of(&self.cache, key)
    }

    /// The folders named by a key whose record cannot be read.
    pub fn unreadable(&self) -> Vec<Unreadable> {
        let entries = fs::read_dir(self.root()).into_iter().flatten().flatten();
        let mut found: Vec<Unreadable> = entries
            .filter_map(|entry| {
                let folder = entry.path();
                let key = entry.file_name().into_string().ok()?;
                let broken = is_key(&key) && folder.is_dir() && read(&folder).is_none();
                broken.then(|| Unreadable {
                    cause: why_unreadable(&folder),
                    key,
                    folder,
                })
            })
            .collect();
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found
    }

    /// Removes the build whose key begins with `key`; the bytes it took.
    ///
    /// # Errors
    /// No such build, several, or one that is being made or used.
    pub fn remove(&self, key: &str) -> Result<u64> {
        let (key, folder) = self.beginning_with(key)?;
        match self.discard(&key, &folder)? {
            Some(disk) => Ok(disk.freed()),
            None => bail!(
                "the build {key} is being made or used right now";
                remedy: "remove it once the command that does so has ended"
            ),
        }
    }

    /// Key and folder of the one build whose key begins like this, finished or not.
    pub(crate) fn beginning_with(&self, key: &str) -> Result<(String, PathBuf)> {
        if key.is_empty() {
            bail!(
                "an empty key is the beginning of every build's";
                remedy: "give the beginning of one, as `niagara server build list` shows it"
            );
        }
        let mut folders: Vec<(String, PathBuf)> = self
            .list()?
            .into_iter()
            .map(|build| (build.record.key, build.folder))
            .chain(self.unreadable().into_iter().map(|it| (it.key, it.folder)))
            .collect();
        folders.retain(|(known, _)| known.starts_with(key));
        match (folders.pop(), folders.len()) {
            (Some(one), 0) => Ok(one),
            (found, others) => bail!(
                "{} builds have a key that begins with `{key}`; `niagara server build list` shows them",
                usize::from(found.is_some()) + others
            ),
        }
    }

    /// Removes half-finished builds and folders that cannot be read, and finished builds and profiles that were not used
    /// for this long; of those that stay, what they were compiled in, where an end at the wrong moment has left it. A source tree goes when no build is left that was made from it. What is being made or used right now
    /// stays.
    ///
    /// # Errors
    /// A folder that cannot be removed.
    pub fn gc(&self, unused_for: Duration) -> Result<Collected> {
        let mut collected = Collected::default();
        let mut freed = Disk::default();
        let idle = |build: &StoredBuild| {
            let idle = build.last_used().elapsed().unwrap_or_default();
            !build.finished || idle >= unused_for
        };
        let (builds, stay): (Vec<_>, Vec<_>) = self.list()?.into_iter().partition(idle);
        for build in stay {
            self.tidy(&build, &mut freed)?;
        }
        let builds = builds.into_iter();
        let builds = builds.map(|build| (build.record.key, build.folder));
        let broken = self.unreadable().into_iter().map(|it| (it.key, it.folder));
        for (key, folder) in builds.chain(broken) {
            match self.discard(&key, &folder)? {
                Some(disk) => {
                    collected.builds += 1;
                    freed.merge(disk);
                }
                None => collected.in_use += 1,
            }
        }
        // A source that is being fetched or patched right now has no build yet.
        if let Some(_lock) = self.cache.try_lock(SOURCES_LOCK)? {
            let left: Vec<BuildRecord> = self.list()?.into_iter().map(|it| it.record).collect();
            let is_made_from = |source: &str, patches: Option<&BTreeSet<String>>| {
                let mut left = left.iter().filter(|build| build.source == source);
                left.any(|build| patches.is_none_or(|patches| build.recipe.patches == *patches))
            };
            for (folder, _alone) in unneeded(&self.cache, &is_made_from)? {
                freed.add(&folder);
                fs::remove_dir_all(&folder)
                    .with_context(|| format!("cannot remove {}", folder.display()))?;
                collected.sources += 1;
            }
        }
        collected.bytes = freed.freed() + self.clear_profiles();
        Ok(collected)
    }

    /// Removes what a build that was ended right behind its last step has left in its folder, unless that is to be kept.
    fn tidy(&self, build: &StoredBuild, freed: &mut Disk) -> Result<()> {
        let Some(_making) = self.cache.try_lock(&lock_name(&build.record.key))? else {
            return Ok(());
        };
        if build.folder.join(KEPT).exists() {
            return Ok(());
        }
        let server = (build.record.kind == BuildKind::Profile).then_some("prefix");
        let spent = SPENT.into_iter().chain(server);
        let spent = spent.map(|part| build.folder.join(part));
        for folder in spent.filter(|folder| folder.exists()) {
            freed.add(&folder);
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
        }
        Ok(())
    }

    /// Removes the profiles by content that none of the store is any more; the bytes that they took. A build that is being made has
    /// its own, which is younger where it is a copy.
    fn clear_profiles(&self) -> u64 {
        let places = fs::read_dir(self.profiles())
            .into_iter()
            .flatten()
            .flatten();
        let removed = places.filter_map(|place| {
            let file = place.metadata().ok()?;
            let age = file.modified().ok()?.elapsed().unwrap_or_default();
            let is_needed = file.nlink() > 1 || age < COPY_IN_USE;
            let gone = !is_needed && fs::remove_file(place.path()).is_ok();
            gone.then_some(file.blocks() * 512)
        });
        removed.sum()
    }

    /// Removes a build's folder; none when somebody makes or uses it right now.
    fn discard(&self, key: &str, folder: &Path) -> Result<Option<Disk>> {
        let Some(_making) = self.cache.try_lock(&lock_name(key))? else {
            return Ok(None);
        };
        let Some(_using) = self.cache.try_lock(&use_name(key))? else {
            return Ok(None);
        };
        let disk = Disk::of(folder);
        // Without its record it is no build, should the rest take long or fail.
        let _ = fs::remove_file(folder.join(RECORD));
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
        Ok(Some(disk))
    }
}

/// Notes down what is about to be built, with what earlier attempts at this build spent, which `record` takes over. Returns
/// whether what they left can be gone on with: an attempt may have got other options of cmake, by another profile.
pub(crate) fn begin(folder: &Path, record: &mut BuildRecord) -> Result<bool> {
    let before = fs::read(folder.join(ASKED))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<BuildRecord>(&bytes).ok());
    let mut goes_on = true;
    if let Some(before) = before {
        record.seconds = before.seconds;
        record.cpu_seconds = before.cpu_seconds;
        goes_on = before.cmake == record.cmake;
    }
    note_down(folder, record)?;
    Ok(goes_on)
}

/// Notes down that nothing of this folder is to be tidied away.
pub(crate) fn note_kept(folder: &Path) -> Result<()> {
    write_private(&folder.join(KEPT), b"")
}

/// Notes down how far a build has come.
pub(crate) fn note_down(folder: &Path, record: &BuildRecord) -> Result<()> {
    create_private(folder)?;
    write_private(&folder.join(ASKED), &serde_json::to_vec_pretty(record)?)
}

/// Makes it a finished build, once all of it is on the disk: after a loss of power none is finished of which a part is missing.
pub(crate) fn finish(folder: &Path, record: &BuildRecord) -> Result<StoredBuild> {
    File::open(folder)
        .map_err(anyhow::Error::from)
        .and_then(|folder| Ok(syncfs(folder)?))
        .with_context(|| format!("cannot write {} to the disk", folder.display()))?;
    write_private(&folder.join(RECORD), &serde_json::to_vec_pretty(record)?)?;
    let build = StoredBuild {
        folder: folder.to_path_buf(),
        record: record.clone(),
        finished: true,
    };
    build.touch();
    Ok(build)
}

/// The lock that is held while a build is made.
pub(crate) fn lock_name(key: &str) -> String {
    format!("build-{key}")
}

/// Whether a folder's name is a key: nothing else in the store is a build.
fn is_key(name: &str) -> bool {
    name.len() == 2 * KEY_BYTES && name.chars().all(|c| c.is_ascii_hexdigit())
}

/// Why a folder has no record that can be read.
fn why_unreadable(folder: &Path) -> String {
    let cause = |name: &str| match fs::read(folder.join(name)) {
        Ok(bytes) => match serde_json::from_slice::<BuildRecord>(&bytes) {
            Ok(_) => None,
            Err(error) => Some(format!("{name}: {error}")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => Some(format!("{name}: {error}")),
    };
    cause(RECORD)
        .or_else(|| cause(ASKED))
        .unwrap_or_else(|| format!("neither {RECORD} nor {ASKED}"))
}

fn read(folder: &Path) -> Option<StoredBuild> {
    let record = |name: &str| -> Option<BuildRecord> {
        serde_json::from_slice(&fs::read(folder.join(name)).ok()?).ok()
    };
    let finished = record(RECORD);
    let is_finished = finished.is_some();
    Some(StoredBuild {
        folder: folder.to_path_buf(),
        record: finished.or_else(|| record(ASKED))?,
        finished: is_finished,
    })
}

/// The digest of `content`, which serialises in one way.
///
/// # Errors
/// Content that has no JSON form.
pub(crate) fn digest(content: &impl Serialize) -> Result<String> {
    let digest = Sha256::digest(serde_json::to_vec(content)?);
    Ok(hex::encode(&digest[..KEY_BYTES]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_earlier_attempts_took_is_kept_however_often_it_is_begun() {
        let folder = tempfile::tempdir().expect("a folder");
        let record = || -> BuildRecord {
            serde_json::from_value(json!({
                "key": "0", "kind": "server", "server": "s", "source": "s", "recipe": {}, "cmake": {},
                "begun": "2026-01-01T00:00:00Z",
                "toolchain": {"cc": "/cc", "cxx": "/c++", "compiler": "gcc", "ar": "/ar", "ranlib": "/ranlib",
                    "linker": null, "profdata": null, "bolt": null, "ccache": null},
            }))
            .expect("a record")
        };
        let mut first = record();
        begin(folder.path(), &mut first).expect("noted down");
        first.seconds.insert("bolt".into(), 90.0);
        note_down(folder.path(), &first).expect("noted down");
        for _ in 0..2 {
            let mut next = record();
            begin(folder.path(), &mut next).expect("noted down");
            assert_eq!(next.seconds["bolt"], 90.0);
        }
        let mut other = record();
        other
            .cmake
            .insert("CMAKE_C_FLAGS".into(), "-fprofile-use=/p".into());
        assert!(!begin(folder.path(), &mut other).expect("noted down"));
        assert!(begin(folder.path(), &mut other).expect("noted down"));
    }
}
