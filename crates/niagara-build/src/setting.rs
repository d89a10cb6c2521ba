//! A part of a build as people write it, `build.KEY=VALUE`, checked before anything is fetched, built or measured.

use std::path::Path;

use niagara_error::Explanation;
use niagara_load::{WorkloadKind, is_workload_file, workload_of_file};
use niagara_server::did_you_mean;

use crate::named_training::training_names;
use crate::recipe::Recipe;
use crate::shipped_patches::patch_names;
use crate::training::Training;

/// What is wrong with it, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildMistake {
    /// What is wrong.
    pub cause: String,
    /// What to do about it.
    pub remedy: String,
}

impl std::fmt::Display for BuildMistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.cause)
    }
}

impl std::error::Error for BuildMistake {}

niagara_error::remedied!(BuildMistake, |mistake| Explanation::new(&mistake.cause)
    .remedy(&mistake.remedy));

/// Whether a build has such a key and the key such a value, and what the value names exists: workloads to train on, patches,
/// a source tree. A path begins at `folder`. Compilers and linkers are the machine's that builds: they are not looked for.
pub fn check_build_setting(key: &str, value: &str, folder: &Path) -> Result<(), BuildMistake> {
    let mut recipe = Recipe::default();
    recipe.set(key, value).map_err(|error| BuildMistake {
        cause: error.to_string(),
        remedy: "write as in build.lto=thin; docs/builds.md shows every key".to_owned(),
    })?;
    check_names(&recipe)?;
    for training in recipe.trainings() {
        check_files(training, folder)?;
    }
    if let Some(source) = &recipe.source {
        let tree = folder.join(source);
        if !tree.is_dir() {
            return Err(BuildMistake {
                cause: format!("there is no source tree {}", tree.display()),
                remedy: "name the folder that holds the server's CMakeLists.txt".to_owned(),
            });
        }
    }
    Ok(())
}

/// A part of a build as it is from `folder`, where the paths in it begin; nothing else is changed.
pub fn setting_in_folder(key: &str, value: String, folder: &Path) -> String {
    let part = match key {
        "source" => return folder.join(value).display().to_string(),
        "pgo" | "bolt" => "workloads",
        _ => match key.split_once('.') {
            Some(("pgo" | "bolt", part)) => part,
            _ => return value,
        },
    };
    let mut training = Training::default();
    if training.set(part, &value).is_err() {
        // Off, or a mistake that is told elsewhere.
        return value;
    }
    let training = training.in_folder(folder);
    match part {
        "workloads" => training.names(),
        "data" => training
            .data
            .map_or(value, |data| data.display().to_string()),
        "tables_of" => training.tables_of.unwrap_or(value),
        _ => value,
    }
}

/// Whether the files that a training names are there, and are workloads as far as that can be told in no time: captures are
/// read when they are trained on, scripts are run then.
fn check_files(training: &Training, folder: &Path) -> Result<(), BuildMistake> {
    let tables_of = training.tables_of.as_deref();
    let files = tables_of.filter(|name| is_workload_file(name));
    for name in training.files().chain(files) {
        let path = folder.join(name.strip_prefix("./").unwrap_or(name));
        if !path.is_file() {
            return Err(BuildMistake {
                cause: format!("there is no file {} to train on", path.display()),
                remedy: format!(
                    "name the path of a workload's file, a script or a capture, or one of: {}",
                    known().join(", ")
                ),
            });
        }
        if path.extension().is_some_and(|ending| ending == "toml")
            && let Err(error) = workload_of_file(&path)
        {
            let told = error.explanation();
            return Err(BuildMistake {
                cause: told.cause,
                remedy: match told.remedies.is_empty() {
                    true => "docs/custom-workload.md describes the format".to_owned(),
                    false => told.remedies.join("; or "),
                },
            });
        }
    }
    if let Some(data) = training.data.as_ref().map(|data| folder.join(data))
        && !data.exists()
    {
        return Err(BuildMistake {
            cause: format!("there are no data at {}", data.display()),
            remedy: "name a data directory, a prepared backup, a dump or a folder of mydumper"
                .to_owned(),
        });
    }
    Ok(())
}

/// Whether the workloads that a recipe trains on and the patches that it names exist.
pub fn check_names(recipe: &Recipe) -> Result<(), BuildMistake> {
    let known = known();
    let mut names = recipe
        .trainings()
        .flat_map(|training| training.workloads.keys().chain(&training.tables_of));
    if let Some(unknown) =
        names.find(|name| !is_workload_file(name) && !known.contains(&name.as_str()))
    {
        return Err(BuildMistake {
            cause: format!("there is no workload `{unknown}` to train on"),
            remedy: format!(
                "{}known: {}; one of your own is named by its path: ./{unknown}.toml, ./{unknown}.lua or ./{unknown}.capture",
                did_you_mean(unknown, known.iter().copied()),
                known.join(", ")
            ),
        });
    }
    let patches = patch_names();
    if let Some(unknown) = recipe.patches.iter().find(|name| !patches.contains(name)) {
        return Err(BuildMistake {
            cause: format!("there is no patch `{unknown}`"),
            remedy: format!(
                "{}known: {}",
                did_you_mean(unknown, patches.iter().map(String::as_str)),
                patches.join(", ")
            ),
        });
    }
    Ok(())
}

/// What can be trained on by a name.
fn known() -> Vec<&'static str> {
    [WorkloadKind::names(), training_names()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_names_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("tree")).expect("room");
        std::fs::write(folder.path().join("shop.capture"), "not read yet").expect("room");
        std::fs::write(folder.path().join("wrong.toml"), "tittle = 1\n").expect("room");
        let checked = |key: &str, value: &str| {
            check_build_setting(key, value, folder.path())
                .map_err(|mistake| format!("{}; {}", mistake.cause, mistake.remedy))
        };
        for (key, value) in [
            ("pgo", "oltp_read_only:2/tpcc"),
            ("pgo", "off"),
            ("pgo", "mixed:2/answers"),
            ("pgo", "./shop.capture,report"),
            ("pgo.set.rows", "500"),
            ("pgo.part", "sessions:30%"),
            ("pgo.data", "tree"),
            ("bolt.threads", "8"),
            ("patches", "socket-reads-buffered/metadata-tickets-kept"),
            ("source", "tree"),
            ("compiler", "clang-99"),
        ] {
            assert_eq!(checked(key, value), Ok(()), "{key}={value}");
        }
        for (key, value, words) in [
            ("pgo", "oltp_reed_only", "did you mean `oltp_read_only`?"),
            (
                "bolt",
                "./absent.toml",
                "name the path of a workload's file",
            ),
            ("pgo", "./wrong.toml", "wrong.toml:1:"),
            ("pgo", "./shop", "ends in .toml, .lua, .capture"),
            ("pgo.part", "half", "first:50%"),
            ("pgo.data", "absent", "there are no data at"),
            (
                "pgo.tables_of",
                "oltp_red_only",
                "did you mean `oltp_read_only`?",
            ),
            (
                "patches",
                "socket-read-buffered",
                "did you mean `socket-reads-buffered`?",
            ),
            ("source", "absent", "CMakeLists.txt"),
            ("lto", "fat", "none, thin, full"),
            ("colour", "red", "it has: compiler"),
        ] {
            let told = checked(key, value).expect_err("a mistake");
            assert!(told.contains(words), "{key}={value}: {told}");
        }
    }
}
