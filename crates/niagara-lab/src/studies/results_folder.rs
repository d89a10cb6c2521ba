//! Which folder a study writes to, and whether it continues one that is there.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Error, Result};
use niagara_error::{Explain as _, bail};
use niagara_model::Summary;
use niagara_store::{Store, StoreError};

/// Where results go unless told otherwise, in the current folder.
pub const RESULTS: &str = "niagara-results";
/// The results file within a study's folder.
pub const RESULTS_FILE: &str = "results.db";

/// A folder to begin a study in, or one to continue it in.
#[derive(Debug)]
pub(crate) struct ResultsFolder {
    /// The folder.
    pub path: PathBuf,
    /// Seed of the study that is there already.
    pub seed: Option<u64>,
    /// What a reader must know: an unfinished study of the same name, with other options, is passed over, or results that cannot be read.
    pub passed_over: Option<String>,
}

/// What becomes of a study that is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AskedAgain {
    /// One that was stopped is continued, one that is finished is made again, in another folder.
    Anew,
    /// It goes on where it is: it is measured in parts.
    GoesOn,
}

/// The folder for the study `key` of `kind` on `name`: the one asked for, or the first under
/// `niagara-results` that is free or holds this study, unfinished unless it goes on.
///
/// # Errors
/// The folder asked for holds something else, or this study finished.
pub(crate) fn choose(
    asked: Option<&Path>,
    kind: &str,
    name: &str,
    key: &str,
    again: AskedAgain,
) -> Result<ResultsFolder> {
    let continued = |path: &Path, seed: u64| ResultsFolder {
        path: path.to_owned(),
        seed: Some(seed),
        passed_over: None,
    };
    let goes_on = again == AskedAgain::GoesOn;
    if let Some(path) = asked {
        return match look(path, key)? {
            Held::Nothing | Held::Other { is_bare: true, .. } => Ok(begin(path)),
            Held::Unfinished(seed) => Ok(continued(path, seed)),
            Held::Finished(seed) if goes_on => Ok(continued(path, seed)),
            Held::Finished(_) => bail!(
                "{} holds this study, finished: `niagara report {}` shows it; to measure again, name another folder with --out",
                path.display(),
                path.display()
            ),
            Held::Other { command, .. } => bail!(
                "{} holds another study ({command}): name another folder with --out",
                path.display()
            ),
        };
    }
    let stem = format!("{kind}-{}", file_name(name));
    let mut passed_over = None;
    for number in 1..10_000 {
        let folder = match number {
            1 => stem.clone(),
            n => format!("{stem}-{n}"),
        };
        let path = Path::new(RESULTS).join(folder);
        let held = match look(&path, key) {
            Err(error) if cannot_be_continued(&error) => {
                passed_over = Some(format!("{} is passed over: {error}", path.display()));
                continue;
            }
            held => held?,
        };
        match held {
            Held::Nothing => {
                return Ok(ResultsFolder {
                    passed_over,
                    ..begin(&path)
                });
            }
            Held::Unfinished(seed) => return Ok(continued(&path, seed)),
            Held::Finished(seed) if goes_on => return Ok(continued(&path, seed)),
            Held::Other {
                command,
                finished: false,
                version,
                ..
            } => {
                // The options that nobody gave may be others in another version.
                passed_over = Some(format!(
                    "{} holds an unfinished study with other options, which this one does not continue; to continue that one: \
                     {command} (begun by niagara {version})",
                    path.display()
                ));
            }
            Held::Finished(_) | Held::Other { .. } => {}
        }
    }
    bail!("{RESULTS} is full of studies"; remedy: "name a folder with --out")
}

/// That results can be written to `folder`. Folders made to find out are removed again: what fails later leaves none behind.
///
/// # Errors
/// It cannot be made, or takes no file.
pub(crate) fn can_be_written(folder: &Path) -> Result<()> {
    let missing: Vec<&Path> = folder
        .ancestors()
        .take_while(|it| !it.as_os_str().is_empty() && !it.exists())
        .collect();
    let tried = fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder));
    for made in missing {
        // Another command may have put something there meanwhile: then it stays.
        let _ = fs::remove_dir(made);
    }
    match tried {
        Ok(_) => Ok(()),
        Err(error) => bail!(
            "no results can be written to {}: {error}", folder.display();
            remedy: "name a folder that you may write to with --out"
        ),
    }
}

/// Whether results are damaged, of another version or not Niagara's: they stay as they are, in nobody's way.
fn cannot_be_continued(error: &Error) -> bool {
    matches!(
        error.find(),
        Some(
            StoreError::Version { .. }
                | StoreError::Foreign { .. }
                | StoreError::Corrupt { .. }
                | StoreError::Nonsense { .. }
        )
    )
}

fn begin(path: &Path) -> ResultsFolder {
    ResultsFolder {
        path: path.to_owned(),
        seed: None,
        passed_over: None,
    }
}

/// Whether a store holds no measurement. Such a study could not begin, and another may take its folder.
///
/// # Errors
/// It cannot be read.
pub(crate) fn is_bare(store: &Store) -> Result<bool> {
    Ok(store.duels()?.is_empty()
        && matches!(store.summary(), Ok(None))
        && store.profiles()?.is_empty())
}

enum Held {
    Nothing,
    Unfinished(u64),
    Finished(u64),
    Other {
        /// Nothing was measured for it.
        is_bare: bool,
        command: String,
        finished: bool,
        version: String,
    },
}

fn look(path: &Path, key: &str) -> Result<Held> {
    let file = path.join(RESULTS_FILE);
    if !file.exists() {
        return Ok(Held::Nothing);
    }
    let store = match Store::open_read_only(&file) {
        // The disk was full when it was made, or its making was stopped.
        Err(StoreError::Empty { .. }) => return Ok(Held::Nothing),
        store => store?,
    };
    let study = store.study()?;
    let is_complete = |summary: Option<Summary>| summary.is_some_and(|found| found.is_complete());
    if study.key != key {
        return Ok(Held::Other {
            is_bare: is_bare(&store)?,
            command: study.command,
            // One of an older version, which cannot be read any more, stands in nobody's way.
            finished: store.summary().map_or(true, is_complete),
            version: study.niagara_version,
        });
    }
    let finished = is_complete(store.summary()?);
    Ok(if finished {
        Held::Finished(study.seed)
    } else {
        Held::Unfinished(study.seed)
    })
}

/// `name` as the name of a folder.
pub fn file_name(name: &str) -> String {
    let mut safe: String = name
        .chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '.' | '-' | '_' | '=' | '+' => c,
            _ => '-',
        })
        .collect();
    safe.truncate(80);
    safe.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_folders() {
        assert_eq!(file_name("/usr/sbin/mariadbd"), "usr-sbin-mariadbd");
        assert_eq!(
            file_name("base vs malloc=jemalloc"),
            "base-vs-malloc=jemalloc"
        );
    }

    #[test]
    fn another_study_is_told_from_one_that_can_be_continued() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let record = niagara_model::StudyRecord {
            kind: "tune".to_owned(),
            command: "niagara tune x --budget 10m".to_owned(),
            key: "ten minutes".to_owned(),
            seed: 7,
            started_unix_ms: 0,
            plan: serde_json::Value::Null,
            machine: serde_json::Value::Null,
            niagara_version: "0".to_owned(),
        };
        Store::create(&folder.path().join(RESULTS_FILE), &record)?;
        assert!(matches!(
            look(folder.path(), "ten minutes")?,
            Held::Unfinished(7)
        ));
        let Held::Other {
            command, finished, ..
        } = look(folder.path(), "twenty minutes")?
        else {
            panic!("it has another key");
        };
        assert_eq!(command, record.command);
        assert!(!finished);
        // Nothing was measured, so that a folder that was asked for is free.
        let taken = choose(
            Some(folder.path()),
            "tune",
            "x",
            "twenty minutes",
            AskedAgain::Anew,
        )?;
        assert_eq!(taken.seed, None);
        Ok(())
    }

    #[test]
    fn a_folder_that_is_free_is_taken() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("new");
        let free = choose(Some(&path), "tune", "x", "key", AskedAgain::Anew)?;
        assert_eq!(free.seed, None);
        // As a full disk leaves it.
        std::fs::create_dir(&path)?;
        std::fs::write(path.join(RESULTS_FILE), "")?;
        let still = choose(Some(&path), "tune", "x", "key", AskedAgain::Anew)?;
        assert_eq!(still.seed, None);
        Ok(())
    }
}
