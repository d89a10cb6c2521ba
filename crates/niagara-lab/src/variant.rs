//! A variant: a server with its runtime and its configuration.

use niagara_server::{Config, Runtime};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::lever::Change;

/// What one side of a duel runs: server + runtime + config, and the levers that made it so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// Name in the catalogue (`mariadb-10.11`) or the path of a server's binary.
    pub server: String,
    /// What surrounds the process.
    pub runtime: Runtime,
    /// The server's variables; what is not named keeps its compiled-in default.
    pub config: Config,
    /// Identifiers of the levers applied, in order: for people, they change nothing here.
    pub levers: Vec<String>,
}

impl Variant {
    /// The packaged server with its compiled-in defaults over TCP loopback.
    pub fn base(server: &str) -> Self {
        Self {
            server: server.to_owned(),
            runtime: Runtime::default(),
            config: Config::new(),
            levers: Vec::new(),
        }
    }

    /// This variant with one more lever; where both say something, the lever has the last word.
    pub fn with(&self, lever: &str, change: &Change) -> Self {
        let mut variant = self.clone();
        change.apply(&mut variant.runtime, &mut variant.config);
        variant.levers.push(lever.to_owned());
        variant
    }

    /// A short stable name for exactly this content: the same variant has the same one in every study.
    pub fn id(&self) -> String {
        let content = serde_json::to_vec(&(&self.server, &self.runtime, &self.config))
            .unwrap_or_else(|_| self.label().into_bytes());
        Sha256::digest(content)
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// How a person would call it: `mariadb-10.11`, `mariadb-10.11 + jemalloc + unix`.
    pub fn label(&self) -> String {
        let mut label = self.server.clone();
        for lever in &self.levers {
            label.push_str(" + ");
            label.push_str(lever);
        }
        label
    }
}
