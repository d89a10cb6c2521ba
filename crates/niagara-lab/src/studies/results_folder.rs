//! Which folder a study writes to, and whether it continues one that is there.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use niagara_store::Store;

use crate::studies::study::RESULTS_FILE;

/// Where results go unless told otherwise, in the current folder.
pub const RESULTS: &str = "niagara-results";

/// A folder to begin a study in, or one to continue it in.
#[derive(Debug)]
pub(crate) struct ResultsFolder {
    /// The folder.
    pub path: PathBuf,
    /// Seed of the study that is there already.
    pub seed: Option<u64>,
}

/// The folder for the study `key` of `kind` on `name`: the one asked for, or the first under
/// `niagara-results` that is free or holds this study unfinished.
///
/// # Errors
/// The folder asked for holds something else, or this study finished.
pub(crate) fn choose(
    asked: Option<&Path>,
    kind: &str,
    name: &str,
    key: &str,
) -> Result<ResultsFolder> {
    if let Some(path) = asked {
        return match look(path, key)? {
            Held::Nothing => Ok(begin(path)),
            Held::Unfinished(seed) => Ok(ResultsFolder {
                path: path.to_owned(),
                seed: Some(seed),
            }),
            Held::Finished => bail!(
                "{} holds this study, finished: `niagara report {}` shows it; to measure again, name another folder with --out",
                path.display(),
                path.display()
            ),
            Held::Other(command) => bail!(
                "{} holds another study ({command}): name another folder with --out",
                path.display()
            ),
        };
    }
    let stem = format!("{kind}-{}", file_name(name));
    for number in 1..10_000 {
        let folder = match number {
            1 => stem.clone(),
            n => format!("{stem}-{n}"),
        };
        let path = Path::new(RESULTS).join(folder);
        match look(&path, key)? {
            Held::Nothing => return Ok(begin(&path)),
            Held::Unfinished(seed) => {
                return Ok(ResultsFolder {
                    path,
                    seed: Some(seed),
                });
            }
            Held::Finished | Held::Other(_) => {}
        }
    }
    bail!("{RESULTS} is full of studies: name a folder with --out")
}

fn begin(path: &Path) -> ResultsFolder {
    ResultsFolder {
        path: path.to_owned(),
        seed: None,
    }
}

enum Held {
    Nothing,
    Unfinished(u64),
    Finished,
    Other(String),
}

fn look(path: &Path, key: &str) -> Result<Held> {
    let file = path.join(RESULTS_FILE);
    if !file.exists() {
        return Ok(Held::Nothing);
    }
    let store = Store::open_read_only(&file)?;
    let study = store.study()?;
    if study.key != key {
        return Ok(Held::Other(study.command));
    }
    let finished = store
        .summary()?
        .is_some_and(|summary| summary.is_complete());
    Ok(if finished {
        Held::Finished
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
    fn a_folder_that_is_free_is_taken() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let free = choose(Some(&folder.path().join("new")), "tune", "x", "key")?;
        assert_eq!(free.seed, None);
        Ok(())
    }
}
