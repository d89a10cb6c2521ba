//! Trainings with a name: `data/trainings/NAME.toml` says which workloads they are made of. One of these may be `answers`, the
//! statements that a check compares servers by.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data/trainings");

/// The statements of `niagara server check --part answers`, as a workload of a training: every kind of query, changes, what
/// has to be refused, and the structure of tables, in every engine that the server has.
pub(crate) const ANSWERS: &str = "answers";
/// What these statements are.
static ANSWERS_FILE: &[u8] = include_bytes!("../../../data/checks/answers.sql");

/// What `data/trainings/NAME.toml` says.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedTraining {
    /// What it is for, in a few words.
    #[expect(dead_code, reason = "for whoever reads the file")]
    title: String,
    /// Why it is made so.
    #[expect(dead_code, reason = "for whoever reads the file")]
    why: String,
    /// Seconds of load, where nobody says how many.
    pub seconds: u32,
    /// Its workloads with their weights.
    pub workloads: BTreeMap<String, u32>,
    /// Options of those workloads that have them.
    #[serde(default)]
    pub options: BTreeMap<String, u64>,
    /// Stands for the file.
    #[serde(skip)]
    digest: String,
}

static TRAININGS: LazyLock<BTreeMap<String, NamedTraining>> = LazyLock::new(|| {
    let files = BUILT_IN.files().filter_map(|file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(".toml")?;
        let text = file.contents_utf8()?;
        // A file with a mistake is not among them, which a test would see.
        let training: NamedTraining = toml::from_str(text).ok()?;
        let digest = digest(text.as_bytes());
        Some((name.to_owned(), NamedTraining { digest, ..training }))
    });
    files.collect()
});

/// The training of this name.
pub(crate) fn named_training(name: &str) -> Option<&'static NamedTraining> {
    TRAININGS.get(name)
}

/// Whether a training has this name.
pub(crate) fn is_named_training(name: &str) -> bool {
    TRAININGS.contains_key(name)
}

/// The names of all that are not workloads and can be trained on.
pub(crate) fn training_names() -> Vec<&'static str> {
    TRAININGS
        .keys()
        .map(String::as_str)
        .chain([ANSWERS])
        .collect()
}

/// What stands for the content behind such a name; none where it is a workload's.
pub(crate) fn content_of_name(name: &str) -> Option<String> {
    match named_training(name) {
        Some(training) => Some(training.digest.clone()),
        None => (name == ANSWERS).then(|| digest(ANSWERS_FILE)),
    }
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes)[..16])
}

#[cfg(test)]
mod tests {
    use niagara_load::WorkloadKind;

    use super::*;

    #[test]
    fn every_named_training_is_whole_and_names_no_workload() {
        let files = BUILT_IN.files().filter(|file| {
            let ending = file.path().extension();
            ending.is_some_and(|ending| ending == "toml")
        });
        assert_eq!(files.count(), TRAININGS.len(), "a file has a mistake");
        assert!(is_named_training("mixed"));
        for (name, training) in TRAININGS.iter() {
            assert!(!WorkloadKind::names().contains(&name.as_str()), "{name}");
            assert!(training.seconds >= 30 && training.workloads.len() > 1);
            for workload in training.workloads.keys() {
                let known = WorkloadKind::names().contains(&workload.as_str());
                assert!(known || workload == ANSWERS, "{name}: {workload}");
            }
        }
    }
}
