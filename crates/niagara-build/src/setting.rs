//! A part of a build as people write it, `build.KEY=VALUE`, checked before anything is fetched, built or measured.

use std::path::Path;

use niagara_load::WorkloadKind;
use niagara_server::did_you_mean;

use crate::recipe::Recipe;
use crate::shipped_patches::patch_names;

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
        write!(f, "{}\nremedy: {}", self.cause, self.remedy)
    }
}

impl std::error::Error for BuildMistake {}

/// Whether a build has such a key and the key such a value, and what the value names exists: workloads to train on, patches,
/// a source tree. A path begins at `folder`. Compilers and linkers are the machine's that builds: they are not looked for.
pub fn check_build_setting(key: &str, value: &str, folder: &Path) -> Result<(), BuildMistake> {
    let mut recipe = Recipe::default();
    recipe.set(key, value).map_err(|error| BuildMistake {
        cause: error.to_string(),
        remedy: "write as in build.lto=thin; docs/builds.md shows every key".to_owned(),
    })?;
    // A path has slashes, which part workloads here: what it comes apart into would be told instead.
    let is_training = key == "pgo" || key == "bolt" || key.ends_with(".workloads");
    if is_training && (value.contains(".toml") || value.contains("./")) {
        return Err(BuildMistake {
            cause: format!("{key} = {value}: a build is not trained on a workload of a file"),
            remedy: format!(
                "name workloads that Niagara knows: {}",
                workloads().join(", ")
            ),
        });
    }
    check_names(&recipe)?;
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

/// Whether the workloads that a recipe trains on and the patches that it names exist.
pub fn check_names(recipe: &Recipe) -> Result<(), BuildMistake> {
    let workloads = workloads();
    if let Some(unknown) = recipe
        .trained_on()
        .into_iter()
        .find(|name| !workloads.contains(name))
    {
        return Err(BuildMistake {
            cause: format!("there is no workload `{unknown}` to train on"),
            remedy: format!(
                "{}known: {}",
                did_you_mean(unknown, workloads.iter().copied()),
                workloads.join(", ")
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

fn workloads() -> Vec<&'static str> {
    WorkloadKind::names()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_build_names_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("tree")).expect("room");
        let checked = |key: &str, value: &str| {
            check_build_setting(key, value, folder.path())
                .map_err(|mistake| format!("{}; {}", mistake.cause, mistake.remedy))
        };
        for (key, value) in [
            ("pgo", "oltp_read_only:2/tpcc"),
            ("pgo", "off"),
            ("bolt.threads", "8"),
            ("patches", "socket-reads-buffered/metadata-tickets-kept"),
            ("source", "tree"),
            ("compiler", "clang-99"),
        ] {
            assert_eq!(checked(key, value), Ok(()), "{key}={value}");
        }
        for (key, value, words) in [
            ("pgo", "oltp_reed_only", "did you mean `oltp_read_only`?"),
            ("bolt", "./shop.toml", "workload of a file"),
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
