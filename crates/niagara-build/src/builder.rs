//! What builds are made with, and what comes of one.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use niagara_server::{Cache, Catalog, Install, NO_PROFILE};
use std::path::{Path, PathBuf};

use crate::in_use::InUse;
use crate::patch::Patch;
use crate::source::Source;
use crate::store::{self, BuildStore, StoredBuild};
use crate::trainer::Trainer;

/// What a build takes beside the recipe.
pub struct Builder<'a> {
    /// Where everything is kept.
    pub cache: &'a Cache,
    /// The servers that can be built.
    pub catalog: &'a Catalog,
    /// Runs what is to be trained.
    pub trainer: &'a mut dyn Trainer,
    /// The patches that recipes name; an error where one is not written for the source.
    pub patches: &'a dyn Fn(&str, &Source) -> Result<Patch>,
    /// Whether to stop.
    pub cancelled: &'a dyn Fn() -> bool,
    /// What to show meanwhile.
    pub progress: &'a mut dyn FnMut(&str),
    /// Compilers at the same time; 0 is one per CPU.
    pub jobs: usize,
    /// Keep the build folders of finished builds.
    pub keep: bool,
    /// Ask the archive for the newest source, though one of the server's series is here.
    pub refresh_source: bool,
}

/// A finished build that can be launched.
#[derive(Debug, Clone)]
pub struct Built {
    /// The server.
    pub install: Install,
    /// Its place in the store.
    pub build: StoredBuild,
    /// Whether it was there already.
    pub was_there: bool,
    /// Keeps it from being removed.
    pub in_use: InUse,
}

/// A build that was looked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Its key: the digest of everything that goes into it on this machine.
    pub key: String,
    /// Whether it is in the store.
    pub is_there: bool,
    /// The source tree that it is made from.
    pub source: PathBuf,
    /// Keeps that tree from being removed; none where it is the user's own.
    pub source_in_use: Option<InUse>,
}

impl Builder<'_> {
    /// A build's command with an environment of its own: what this process was started with must not decide a build.
    pub(crate) fn command(&self, program: &str) -> Command {
        let store = BuildStore::new(self.cache);
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("LC_ALL", "C")
            // Programs that run while an instrumented server is built are instrumented, too.
            .envs(NO_PROFILE)
            .env("CCACHE_DIR", store.ccache());
        for name in ["PATH", "HOME", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // Paths below the store are made relative, and a build's source is found at the same relative path in all of them
        // (`SOURCE`), so that builds in different folders, of patched trees too, find each other's objects. What a file
        // includes is taken from what the compiler writes (-MD): otherwise ccache runs the preprocessor before each
        // compilation, which cost a fifth of the time of MariaDB's files. Sums of files are kept by inode and time of change:
        // without that each compilation reads all of its headers and the profile again (MySQL's has 24 MB) to find its object.
        command
            .env("CCACHE_BASEDIR", store.root())
            .env("CCACHE_NOHASHDIR", "1")
            .env("CCACHE_DEPEND", "1")
            .env("CCACHE_INODECACHE", "1")
            .env("CCACHE_COMPILERCHECK", "content")
            .env("CCACHE_MAXSIZE", "4G");
        command
    }

    /// Removes a `folder` of a finished build that it does not need any more, unless that is to be kept.
    pub(crate) fn tidy(&self, folder: &Path) {
        // What stays behind is found by gc; without the note so is what was to be kept.
        if !self.keep {
            let _ = fs::remove_dir_all(folder);
        } else if let Some(build) = folder.parent() {
            let _ = store::note_kept(build);
        }
    }

    pub(crate) fn jobs(&self) -> usize {
        match self.jobs {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            jobs => jobs,
        }
    }
}

/// An empty folder.
pub(crate) fn fresh(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}
