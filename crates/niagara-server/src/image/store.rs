//! Dataset images: a loaded, cleanly shut down data directory, made once and cloned for every start.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::{Context, Result};
use nix::fcntl::Flock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::clone::{CloneWay, clone_tree, clone_until};
use super::layout::layout_of;
use super::making::{DATA, Making, settle};
use crate::cache::{Cache, WorkFolder, write_private};
use crate::cancel::Cancel;
use crate::config::Config;
use crate::disk_full::FULL_BELOW;
use crate::disk_use::{folder_bytes, table_bytes};
use crate::file_name::file_name;
use crate::install::Install;
use crate::launch::running::RunningServer;

/// The record of a finished image; a folder without it is never used.
const MANIFEST: &str = "image.json";
/// How images are made: one made otherwise is not taken for one of these.
const FORM: &str = "2: zeros are holes";

/// Makes a data directory; returns what it has of the user's.
pub type Make<'m> = dyn FnMut(&Making<'_>, &mut dyn FnMut(&str)) -> Result<ImageContent> + 'm;

/// What an image has of the user's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageContent {
    /// The databases.
    pub databases: Vec<String>,
    /// What it is without, in words.
    pub without: Vec<String>,
}

/// All images of a cache.
#[derive(Debug, Clone)]
pub struct ImageStore {
    cache: Cache,
    layout: Config,
}

/// A dataset image. One that [`ImageStore::ensure`] gave is not removed as long as a clone of it lives.
#[derive(Debug, Clone)]
pub struct Image {
    path: PathBuf,
    is_new: bool,
    _in_use: Option<Arc<Flock<File>>>,
}

/// What an image is of, as recorded with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageRecord {
    /// Name and version of the server, fit for a file name.
    pub server: String,
    /// The server's name in the catalogue, or its path; not known of images that an older Niagara made.
    #[serde(default)]
    pub name: Option<String>,
    /// Names the data: tables and rows.
    pub key: String,
    /// Storage engine of the tables.
    pub engine: String,
    /// When it was made.
    pub made: jiff::Timestamp,
    /// The databases in it that are nobody's own but the user's, of images of the user's data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub databases: Vec<String>,
    /// What of the user's data it is without, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

impl ImageRecord {
    /// Whether it was made by the server of this name (or path), in whatever version.
    pub fn is_of(&self, name: &str) -> bool {
        match &self.name {
            Some(known) => known == name,
            // NAME-VERSION, and a version is three numbers.
            None => self
                .server
                .strip_prefix(&file_name(name))
                .and_then(|rest| rest.strip_prefix('-'))
                .and_then(|version| version.split('-').next())
                .is_some_and(|numbers| {
                    let mut numbers = numbers.split('.');
                    numbers.clone().count() == 3 && numbers.all(|n| n.parse::<u32>().is_ok())
                }),
        }
    }
}

impl ImageStore {
    /// The images of this cache.
    pub fn new(cache: &Cache) -> ImageStore {
        ImageStore {
            cache: cache.clone(),
            layout: Config::new(),
        }
    }

    /// The images that are laid out as servers with `config` want them.
    #[must_use]
    pub fn laid_out(self, config: &Config) -> ImageStore {
        ImageStore {
            layout: layout_of(config),
            ..self
        }
    }

    /// The image of this server, key and engine; made by `load` on a fresh server when it is not there yet.
    ///
    /// `key` stands for everything that decides the data: tables, rows, character set, seed.
    pub fn ensure(
        &self,
        install: &Install,
        key: &str,
        engine: &str,
        load: &mut dyn FnMut(&RunningServer) -> Result<()>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Image> {
        self.ensure_made(install, key, engine, progress, &mut |making, progress| {
            progress("making an empty data directory");
            making.initialise()?;
            let server = making.launch(&Config::new())?;
            progress("loading data");
            load(&server)?;
            progress("private copy: statistics, purge, clean shutdown");
            settle(&server)?;
            server.stop()?;
            making.dig_holes()?;
            Ok(ImageContent::default())
        })
    }

    /// The image of this server, key and engine; made by `make` when it is not there yet. `make` leaves a data directory
    /// of a server that was shut down cleanly, with the account in it, and returns what it has of the user's.
    ///
    /// # Errors
    /// Those of `make`; a disk that is full.
    pub fn ensure_made(
        &self,
        install: &Install,
        key: &str,
        engine: &str,
        progress: &mut dyn FnMut(&str),
        make: &mut Make<'_>,
    ) -> Result<Image> {
        let image = self.image(install, key, engine);
        let in_use = self.cache.share_lock(&image.use_name())?;
        // Only whoever removes images reads it: a cache that cannot be written to is still a cache.
        let _ = in_use.set_modified(SystemTime::now());
        let image = Image {
            _in_use: Some(Arc::new(in_use)),
            ..image
        };
        if image.is_finished() {
            return Ok(image);
        }
        let _lock = self.cache.lock(&image.lock_name(), &mut || {
            progress("waiting: somebody else makes this image");
        })?;
        if image.is_finished() {
            return Ok(image);
        }
        let work = WorkFolder::beside(&self.cache.images(), "image")?;
        let making = Making {
            cache: &self.cache,
            layout: &self.layout,
            install,
            engine,
            work: work.path(),
        };
        let made = make(&making, progress);
        if made.is_err() {
            // On a full disk what failed says nothing of the server.
            self.cache.kept_disk_has(FULL_BELOW)?;
        }
        let ImageContent { databases, without } = made
            .with_context(|| format!("cannot make the dataset image {key} of {}", install.name))?;
        let manifest = ImageRecord {
            server: install.identity(),
            name: Some(install.name.clone()),
            key: key.to_owned(),
            engine: engine.to_owned(),
            made: jiff::Timestamp::now(),
            databases,
            without,
        };
        write_private(
            &work.path().join(MANIFEST),
            &serde_json::to_vec_pretty(&manifest)?,
        )?;
        if image.path.exists() {
            fs::remove_dir_all(&image.path)?;
        }
        work.rename(&image.path)?;
        Ok(Image {
            is_new: true,
            ..image
        })
    }

    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// All finished images.
    pub fn images(&self) -> Result<Vec<Image>> {
        let Ok(entries) = fs::read_dir(self.cache.images()) else {
            return Ok(Vec::new());
        };
        let images = entries.flatten().map(|entry| Image {
            path: entry.path(),
            is_new: false,
            _in_use: None,
        });
        Ok(images.filter(Image::is_finished).collect())
    }

    /// Removes all images that the server of this name (or path) made; how many there were and the bytes they took.
    ///
    /// # Errors
    /// A folder that cannot be removed.
    pub(crate) fn remove_of(&self, name: &str) -> Result<(usize, u64)> {
        let mut removed = (0, 0);
        for image in self.images()? {
            if !image.record().is_ok_and(|record| record.is_of(name)) {
                continue;
            }
            let _lock = self.cache.lock(&image.lock_name(), &mut || {})?;
            removed = (removed.0 + 1, removed.1 + folder_bytes(&image.path));
            image.remove()?;
        }
        Ok(removed)
    }

    fn image(&self, install: &Install, key: &str, engine: &str) -> Image {
        let packages: Vec<String> = install
            .packages
            .iter()
            .map(|(name, version)| format!("{name}={version}"))
            .collect();
        // The packages decide what a fresh data directory holds; for a server of the host, its path does.
        let origin = if packages.is_empty() {
            install.server.display().to_string()
        } else {
            packages.join(",")
        };
        let layout: String = self
            .layout
            .iter()
            .map(|(name, value)| format!("\n{name}={value}"))
            .collect();
        let text = format!(
            "{FORM}\n{}\n{origin}\n{key}\n{engine}{layout}",
            install.identity()
        );
        let hash = hex::encode(&Sha256::digest(text)[..8]);
        Image {
            path: self
                .cache
                .images()
                .join(format!("{}-{hash}", install.identity())),
            is_new: false,
            _in_use: None,
        }
    }
}

impl Image {
    /// The folder of the data itself.
    pub fn data(&self) -> PathBuf {
        self.path.join(DATA)
    }

    /// Where the image is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The lock that is held while it is made.
    pub(super) fn lock_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        format!("image-{}", name.to_string_lossy())
    }

    /// The lock that is shared by those who use it.
    pub(super) fn use_name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default();
        format!("use-image-{}", name.to_string_lossy())
    }

    /// Whether it was made by the call that gave it.
    pub fn is_new(&self) -> bool {
        self.is_new
    }

    /// Bytes on disk.
    pub fn bytes(&self) -> Result<u64> {
        Ok(folder_bytes(&self.data()))
    }

    /// Those of its folder, the record among them.
    pub(super) fn folder_bytes(&self) -> u64 {
        folder_bytes(&self.path)
    }

    /// Bytes of the users' tables and indexes, without logs and the server's own.
    pub fn table_bytes(&self) -> u64 {
        table_bytes(&self.data())
    }

    /// Clones the data directory to `datadir`, which must not exist.
    pub fn clone_to(&self, datadir: &Path) -> Result<CloneWay> {
        clone_tree(&self.data(), datadir)
    }

    /// The same until `cancel` says that it is to end: large data take minutes. Nothing of the clone is left then.
    ///
    /// # Errors
    /// [`Cancelled`](crate::Cancelled); disk full, a file that is gone.
    pub fn clone_until(&self, datadir: &Path, cancel: &Cancel) -> Result<CloneWay> {
        clone_until(&self.data(), datadir, cancel)
    }

    /// Removes the image.
    pub fn remove(self) -> Result<()> {
        let _ = fs::remove_file(self.path.join(MANIFEST));
        fs::remove_dir_all(&self.path)
            .with_context(|| format!("cannot remove {}", self.path.display()))
    }

    /// What it is of.
    ///
    /// # Errors
    /// The image is gone.
    pub fn record(&self) -> Result<ImageRecord> {
        let path = self.path.join(MANIFEST);
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&bytes)
            .with_context(|| format!("cannot understand {}", path.display()))
    }

    fn is_finished(&self) -> bool {
        self.record().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_knows_whose_it_is() {
        let record = |server: &str, name: Option<&str>| ImageRecord {
            server: server.into(),
            name: name.map(str::to_owned),
            key: "oltp-1x1000".into(),
            engine: "InnoDB".into(),
            made: jiff::Timestamp::UNIX_EPOCH,
            databases: Vec::new(),
            without: Vec::new(),
        };
        let new = record("path-11.8.1-MariaDB", Some("/opt/mariadb/bin/mariadbd"));
        assert!(new.is_of("/opt/mariadb/bin/mariadbd"));
        assert!(!new.is_of("path"));
        // As recorded before images had names.
        let old = record("mysql-8.4-8.4.6", None);
        assert!(old.is_of("mysql-8.4"));
        assert!(!old.is_of("mysql-8") && !old.is_of("mysql") && !old.is_of("mysql-8.4-debug"));
    }
}
