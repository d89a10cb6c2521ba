//! Where a start's configuration comes from, as a study keeps it: before any server of its own is there to read it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::option_file::OptionFiles;
use super::place::Place;

/// A configuration that a study starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfigSource {
    /// An option file with what it includes.
    File {
        /// The file.
        path: PathBuf,
        /// Of the content of all files: a study of other content is another study.
        digest: String,
    },
    /// What a running server was told, asked of the server itself.
    Running(RunningConfig),
}

/// The settings of a running server that are not its compiled-in defaults.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningConfig {
    /// How it was reached.
    pub address: String,
    /// As it prints its version.
    pub version: String,
    /// Its settings, by name.
    pub settings: Vec<RunningSetting>,
    /// Libraries of plugins that were installed by a statement: they are in the data, and in no configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub installed: Vec<String>,
    /// Its variables, where it does not say which of them somebody set and no server of its release was at hand: those of them are
    /// settings that differ from that release's defaults.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// The binary whose defaults they were compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<String>,
    /// The malloc that it runs with, `glibc` where it is the system's; none where that cannot be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malloc: Option<String>,
}

/// A setting of a running server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningSetting {
    /// Name with underscores.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// The file that it is from, where the server says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
    /// What set it: [`SET_GLOBAL`], [`SET_PERSIST`], [`COMMAND_LINE`], [`DIFFERS`], else an option file.
    pub origin: String,
}

/// The origin of what a restart forgets.
pub const SET_GLOBAL: &str = "SET GLOBAL";
/// Of what is read after all option files, from the data folder.
pub const SET_PERSIST: &str = "SET PERSIST";
/// Of what has the last word over option files.
pub const COMMAND_LINE: &str = "its command line";
/// Of what is not as its release has it by itself, on a server that does not say who set it.
pub const DIFFERS: &str = "it differs from its release's default";

impl ConfigSource {
    /// The option file at `path` with what it includes.
    ///
    /// # Errors
    /// A file that cannot be read, or a line that is no option, each with its place.
    pub fn file(path: &Path) -> Result<Self> {
        let path = std::path::absolute(path)?;
        let read = OptionFiles::read(&path)?;
        let mut digest = Sha256::new();
        for file in &read.files {
            digest.update(
                std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?,
            );
            digest.update([0]);
        }
        Ok(Self::File {
            path,
            digest: hex::encode(&digest.finalize()[..16]),
        })
    }

    /// What people call it.
    pub fn name(&self) -> String {
        match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Running(running) => format!("the server at {}", running.address),
        }
    }
}
