//! Where everything stands in the shared folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use serde::{Deserialize, Serialize};

use crate::line::{FORMAT, publish};
use crate::message::Attempt;

/// What study a folder is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyFile {
    /// Version of the folder's format.
    pub format: u32,
    /// The study's key: a hash of everything that decides what is measured.
    pub key: String,
    /// The study's seed.
    pub seed: u64,
}

/// A shared folder.
#[derive(Debug, Clone)]
pub struct Folder(PathBuf);

impl Folder {
    /// The folder of this path; nothing is made.
    pub fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The head's log.
    pub fn head_log(&self) -> PathBuf {
        self.0.join("head.jsonl")
    }

    /// What is kept of one worker.
    pub fn worker(&self, worker: &str) -> PathBuf {
        self.0.join("workers").join(worker)
    }

    /// A worker's log.
    pub fn worker_log(&self, worker: &str) -> PathBuf {
        self.worker(worker).join("log.jsonl")
    }

    /// A result.
    pub fn result(&self, worker: &str, attempt: &Attempt) -> PathBuf {
        self.worker(worker).join(format!("{attempt}.json"))
    }

    /// A duel's description.
    pub fn order(&self, duel: &str) -> PathBuf {
        self.0.join("orders").join(format!("{duel}.json"))
    }

    fn study_file(&self) -> PathBuf {
        self.0.join("study.json")
    }

    /// What study it is of.
    ///
    /// # Errors
    /// It is of none, of another version, or not seen from here.
    pub fn study(&self) -> Result<StudyFile> {
        let path = self.study_file();
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display())).remedy("name a folder that the head and every node see under the same path (--shared), such as one \
                 below your home on a cluster")?;
        let study: StudyFile = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is not a description of a study", path.display()))?;
        if study.format != FORMAT {
            bail!(
                "{} was written by another version of Niagara (format {}, this one has {FORMAT})",
                path.display(),
                study.format;
                remedy: "use the same program everywhere"
            );
        }
        Ok(study)
    }

    /// Makes it the folder of `study`, or continues with it.
    ///
    /// # Errors
    /// It is of another study, or cannot be written.
    pub fn open(&self, study: &StudyFile) -> Result<()> {
        for below in ["workers", "orders", "content"] {
            let path = self.0.join(below);
            std::fs::create_dir_all(&path)
                .with_context(|| format!("cannot make the folder {}", path.display()))
                .remedy("name one that can be written with --shared")?;
        }
        if !self.study_file().exists() {
            return publish(&self.study_file(), &serde_json::to_vec(study)?);
        }
        let there = self.study()?;
        if there != *study {
            bail!(
                "{} is the shared folder of another study", self.0.display();
                remedy: "name another folder with --shared, or remove it"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn a_folder_belongs_to_one_study() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let folder = Folder::at(&place.path().join("shared"));
        let error = folder.study().expect_err("nothing there");
        assert!(
            error.explain().to_string().contains("--shared"),
            "{error:#}"
        );
        let study = StudyFile {
            format: FORMAT,
            key: "k".into(),
            seed: 7,
        };
        folder.open(&study).expect("made");
        folder.open(&study).expect("gone on with");
        assert_eq!(folder.study().expect("there"), study);
        let other = StudyFile {
            key: "other".into(),
            ..study
        };
        assert!(folder.open(&other).is_err());
    }
}
