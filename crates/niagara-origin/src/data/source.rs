//! The user's data as a study names them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use niagara_server::{Config, Install, Version};
use serde::{Deserialize, Serialize};

use super::dump_head::{DumpHead, DumpTool};
use super::made_by::MadeBy;
use super::mydumper::{DumperFolder, is_mydumper};
use super::{backup, digest, directory, dump_files, nearest};
use crate::configuration::Persisted;
use crate::statistics;

/// What the data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataKind {
    /// A data directory, or a snapshot of one.
    Directory,
    /// A prepared physical backup.
    Backup,
    /// One file of statements.
    Dump,
    /// A folder of mydumper's.
    Mydumper,
}

impl DataKind {
    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Directory => "data directory",
            Self::Backup => "prepared backup",
            Self::Dump => "dump",
            Self::Mydumper => "dump of mydumper",
        }
    }
}

/// The user's data, found but not yet read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSource {
    /// Where they are.
    pub path: PathBuf,
    /// What they are.
    pub kind: DataKind,
    /// What stands for their content: other content, another image.
    pub digest: String,
    /// The server that they are of; not every dump says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<MadeBy>,
    /// The tool that wrote a dump, where it is of another branch than the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_by: Option<DumpTool>,
    /// How their files are laid out.
    #[serde(default, skip_serializing_if = "Config::is_empty")]
    pub layout: Config,
    /// What MySQL keeps of SET PERSIST with them; a copy is made without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persisted: Option<Persisted>,
}

impl DataSource {
    /// Looks at what is at `path`.
    ///
    /// # Errors
    /// It cannot be used, with what to do instead: a server runs on it, a backup is not prepared, it is encrypted.
    pub fn open(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        let metadata = std::fs::metadata(&path)
            .with_context(|| format!("there are no data at {}", path.display()))
            .remedy("name a data directory, a prepared backup, a dump or a folder of mydumper")?;
        if !metadata.is_file() && !metadata.is_dir() {
            bail!(
                "{} is a pipe, a socket or a device, and data are read more than once", path.display();
                remedy: "write the dump to a file, and name that"
            );
        }
        let mut written_by = None;
        let (kind, made_by, layout) = if metadata.is_file() {
            let head = DumpHead::of(&dump_files::head(&path)?);
            written_by = head.foreign_tool();
            (DataKind::Dump, head.made_by, Config::new())
        } else if backup::is_backup(&path) {
            backup::check(&path)?;
            directory::check(&path)?;
            let made_by = match backup::made_by(&path) {
                Some(made_by) => made_by,
                None => directory::made_by(&path)?,
            };
            let mut layout = directory::layout(&path)?;
            layout.extend(backup::layout(&path));
            (DataKind::Backup, Some(made_by), layout)
        } else if is_mydumper(&path) {
            DumperFolder::open(&path)?;
            (DataKind::Mydumper, None, Config::new())
        } else if directory::is_directory(&path) {
            directory::check(&path)?;
            directory::check_whole(&path)?;
            let made_by = directory::made_by(&path)?;
            (
                DataKind::Directory,
                Some(made_by),
                directory::layout(&path)?,
            )
        } else {
            dump_files::refuse_other_folders(&path)?;
            bail!(
                "{} is neither a data directory (no ibdata1, no mysql/), nor a backup (no xtrabackup_checkpoints), nor a dump of mydumper (no metadata)",
                path.display();
                remedy: "name one of these, or the file of a dump"
            );
        };
        let persisted = match kind {
            DataKind::Directory | DataKind::Backup => Persisted::of(&path)?,
            DataKind::Dump | DataKind::Mydumper => None,
        };
        Ok(Self {
            digest: content_digest(&path)?,
            persisted,
            path,
            kind,
            made_by,
            written_by,
            layout,
        })
    }

    /// For people: `prepared backup /backup/shop of MariaDB 10.11.19`.
    pub fn title(&self) -> String {
        let of = self
            .made_by
            .map(|made_by| format!(" of {made_by}"))
            .unwrap_or_default();
        let by = self
            .written_by
            .map(|tool| format!(", written by {tool}"))
            .unwrap_or_default();
        format!("{} {}{of}{by}", self.kind.words(), self.path.display())
    }

    /// Whether it is files that a server starts on, rather than statements.
    pub(crate) fn is_physical(&self) -> bool {
        matches!(self.kind, DataKind::Directory | DataKind::Backup)
    }

    /// Refuses data that are not those that were looked at: a server runs on them by now, or something has written to them.
    ///
    /// # Errors
    /// As said, with what to do.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        if self.is_physical() {
            directory::check(&self.path)?;
        }
        if content_digest(&self.path)? != self.digest {
            bail!(
                "the {} has changed since it was looked at: what was read of it may not fit together",
                self.title();
                remedy: "stop what writes to it (a server, a backup, a dump that is not finished), then the same command again"
            );
        }
        Ok(())
    }

    /// Whether they are of an older series of MariaDB than `install`: MySQL upgrades its system tables itself.
    pub(super) fn is_older_mariadb(&self, install: &Install) -> bool {
        let series = |version: Version| (version.major, version.minor);
        self.made_by.is_some_and(|made_by| {
            made_by.family.is_mariadb() && series(made_by.version) < series(install.version)
        })
    }

    /// Whether `install` takes these data.
    ///
    /// # Errors
    /// Why not, and what would.
    pub(super) fn check_fits(&self, install: &Install) -> Result<()> {
        match self.made_by {
            Some(made_by) if self.is_physical() => nearest::check(made_by, install),
            _ => Ok(()),
        }
    }
}

/// A digest of the data, and of the file with statistics where a dump has one.
fn content_digest(path: &Path) -> Result<String> {
    let data = digest::content_digest(path)?;
    let statistics = statistics::place(path);
    Ok(match statistics.is_file() {
        true => format!("{data} {}", digest::content_digest(&statistics)?),
        false => data,
    })
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn data_that_change_after_they_were_looked_at_are_refused() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("shop.sql");
        std::fs::write(&path, "-- MariaDB dump 10.19\nCREATE TABLE t (a INT);\n")?;
        let source = DataSource::open(&path)?;
        source.check_unchanged()?;
        std::fs::write(
            &path,
            "-- MariaDB dump 10.19\nCREATE TABLE t (a INT);\nINSERT INTO t VALUES (1);\n",
        )?;
        let told = source
            .check_unchanged()
            .expect_err("changed")
            .explain()
            .to_string();
        assert!(
            told.contains("shop.sql has changed since") && told.contains("remedy:"),
            "{told}"
        );
        Ok(())
    }
}
