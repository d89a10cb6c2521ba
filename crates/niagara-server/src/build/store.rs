//! Builds on disk: each in a folder named by the digest of everything that went into it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::profile::ProfileSummary;
use super::recipe::Recipe;
use super::source::{SOURCES_LOCK, sources};
use super::toolchain::Toolchain;
use crate::cache::{Cache, create_private, write_private};
use crate::launch::folder_bytes;

/// The record of a finished build; a folder without it is half-finished.
const RECORD: &str = "recipe.json";
/// The record as far as it is known while the build is made.
const ASKED: &str = "asked.json";
/// Touched whenever the build is used.
const USED: &str = "used";

/// What a folder of the store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildKind {
    /// A server.
    Server,
    /// A profile, made by an instrumented server that is gone.
    Profile,
}

/// A build as recorded with it: all that is needed to make it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
        folder_bytes(&self.folder)
    }

    /// When it was last asked for.
    pub fn last_used(&self) -> SystemTime {
        let time = |path: PathBuf| {
            fs::metadata(path)
                .and_then(|metadata| metadata.modified())
                .ok()
        };
        time(self.folder.join(USED))
            .or_else(|| time(self.folder.join(ASKED)))
            .unwrap_or(SystemTime::UNIX_EPOCH)
    }

    pub(super) fn touch(&self) {
        // Only gc looks at it: a cache that cannot be written to is still a cache.
        let _ = fs::write(self.folder.join(USED), "");
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
}

impl BuildStore {
    /// The builds of this cache.
    pub fn new(cache: &Cache) -> BuildStore {
        BuildStore {
            cache: cache.clone(),
        }
    }

    /// The folder with all of it.
    pub fn root(&self) -> PathBuf {
        self.cache.root().join("builds")
    }

    /// ccache's folder.
    pub fn ccache(&self) -> PathBuf {
        self.cache.root().join("ccache")
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

    /// Bytes of all source trees.
    pub fn source_bytes(&self) -> u64 {
        folder_bytes(&sources(&self.cache))
    }

    /// Removes the build whose key begins with `key`; the bytes it took.
    ///
    /// # Errors
    /// No such build, several, or one that is being made.
    pub fn remove(&self, key: &str) -> Result<u64> {
        let mut builds = self.list()?;
        builds.retain(|build| build.record.key.starts_with(key));
        let [build] = &builds[..] else {
            bail!(
                "{} builds have a key that begins with `{key}`; `niagara server build list` shows them",
                builds.len()
            );
        };
        let bytes = build.bytes();
        if !self.discard(build)? {
            bail!("the build {} is being made right now", build.record.key);
        }
        Ok(bytes)
    }

    /// Removes half-finished builds, and finished ones and profiles that were not used for so long; source trees go
    /// when no build is left of them. What is being made right now stays.
    ///
    /// # Errors
    /// A folder that cannot be removed.
    pub fn gc(&self, unused_for: Duration) -> Result<Collected> {
        let mut collected = Collected::default();
        for build in self.list()? {
            let idle = build.last_used().elapsed().unwrap_or_default();
            if build.finished && idle < unused_for {
                continue;
            }
            let bytes = build.bytes();
            if self.discard(&build)? {
                collected.builds += 1;
                collected.bytes += bytes;
            }
        }
        // A source that is being fetched or patched right now has no build yet.
        if self.list()?.is_empty()
            && let Some(_lock) = self.cache.try_lock(SOURCES_LOCK)?
        {
            for entry in fs::read_dir(sources(&self.cache))
                .into_iter()
                .flatten()
                .flatten()
            {
                let bytes = folder_bytes(&entry.path());
                fs::remove_dir_all(entry.path())?;
                collected.sources += 1;
                collected.bytes += bytes;
            }
        }
        Ok(collected)
    }

    /// Removes a build unless somebody makes it right now.
    fn discard(&self, build: &StoredBuild) -> Result<bool> {
        let Some(_lock) = self.cache.try_lock(&lock_name(&build.record.key))? else {
            return Ok(false);
        };
        // Without its record it is no build, should the rest take long or fail.
        let _ = fs::remove_file(build.folder.join(RECORD));
        fs::remove_dir_all(&build.folder)
            .with_context(|| format!("cannot remove {}", build.folder.display()))?;
        Ok(true)
    }
}

/// Notes down what is about to be built.
pub(super) fn begin(folder: &Path, record: &BuildRecord) -> Result<()> {
    create_private(folder)?;
    write_private(&folder.join(ASKED), &serde_json::to_vec_pretty(record)?)
}

/// Takes over what earlier attempts at this build spent.
pub(super) fn go_on(folder: &Path, record: &mut BuildRecord) {
    let before = fs::read(folder.join(ASKED))
        .ok()
        .and_then(|bytes| serde_json::from_slice::<BuildRecord>(&bytes).ok());
    if let Some(before) = before {
        record.seconds = before.seconds;
        record.cpu_seconds = before.cpu_seconds;
    }
}

/// Makes it a finished build.
pub(super) fn finish(folder: &Path, record: &BuildRecord) -> Result<StoredBuild> {
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
pub(super) fn lock_name(key: &str) -> String {
    format!("build-{key}")
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
pub(super) fn digest(content: &impl Serialize) -> Result<String> {
    Ok(hex(&Sha256::digest(serde_json::to_vec(content)?), 8))
}

/// The first `bytes` of a digest as text.
pub(super) fn hex(digest: &[u8], bytes: usize) -> String {
    digest
        .iter()
        .take(bytes)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
