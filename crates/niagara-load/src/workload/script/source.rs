//! A script's text, and what is known of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A script's text, and that of what it requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptSource {
    /// As the user names it.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What it has read while it was loaded, by path.
    pub modules: BTreeMap<String, String>,
}

/// An option that a script says it has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptOption {
    /// Its name, with underscores.
    pub name: String,
    /// What it is, in the script's words.
    pub help: String,
    /// Its value unless another is given; `None`: it has none.
    pub default: Option<String>,
    /// What its value may be.
    pub kind: ScriptOptionKind,
}

/// What the value of an option of a script may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScriptOptionKind {
    /// On or off.
    Flag,
    /// A whole number.
    Integer,
    /// A number with an optional K, M, G or T.
    Size,
    /// A number.
    Number,
    /// Anything.
    Text,
    /// Values separated by commas.
    List,
    /// A file of options.
    File,
}

/// What is known of a script once it has been loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScriptInfo {
    /// Its options; `None`: it does not say, and takes any.
    pub options: Option<Vec<ScriptOption>>,
    /// Commands of its own; `true`: its threads share the work.
    pub commands: BTreeMap<String, bool>,
    /// Functions that it has, of those that stand for commands: `prepare`, `cleanup`, `help`, `event`.
    pub functions: Vec<String>,
    /// It calls what the load generator cannot wait for on its behalf: every thread of it needs one of the system's.
    pub blocks: bool,
    /// It opens files, or does other things that are not to be done just to try it.
    #[serde(default)]
    pub reaches_out: bool,
}

impl ScriptInfo {
    /// Whether it can do a command.
    pub fn has(&self, command: &str) -> bool {
        self.commands.contains_key(command) || self.functions.iter().any(|one| one == command)
    }
}
