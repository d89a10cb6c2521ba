//! Who runs scripts.

use super::program::Program;
use crate::engine::options::IgnoredErrors;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::workload::script::{ScriptInfo, ScriptSource};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::OnceLock;

/// Whoever knows the language.
pub trait ScriptRuntime: Debug + Send + Sync {
    /// Reads a script from its path, with what it requires.
    ///
    /// # Errors
    /// It cannot be read, or has a mistake.
    fn read(&self, path: &str) -> Result<(ScriptSource, ScriptInfo), LoadError>;

    /// A script that runs for a load or a command.
    ///
    /// # Errors
    /// An option that it does not take.
    fn run(&self, run: &ScriptRun) -> Result<Arc<dyn ScriptThreads>, LoadError>;
}

/// What a script is run for.
#[derive(Debug, Clone)]
pub struct ScriptRun {
    /// The script.
    pub source: ScriptSource,
    /// All options, its own and those of every test, by name with underscores.
    pub options: BTreeMap<String, ScriptValue>,
    /// It says no options of its own, so that all are global variables too.
    pub global_options: bool,
    /// The words of the command line, the program's name first.
    pub words: Vec<String>,
    /// Errors that are put up with.
    pub ignored: IgnoredErrors,
    /// Where what it prints goes.
    pub output: ScriptOutput,
    /// There is no server: whatever is asked of it succeeds at once, and nothing has rows.
    pub dry_run: bool,
    /// The command: `prepare`, `run`, `cleanup`, or one of its own.
    pub command: String,
    /// How many threads there are.
    pub threads: u32,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Seed of the numbers of which none comes twice.
    pub unique_seed: u64,
    /// Where it connects to, for what it can ask about that.
    pub endpoint: Endpoint,
}

/// Where what a script prints goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScriptOutput {
    /// To standard output.
    Standard,
    /// To standard error: standard output is for a report.
    Error,
    /// Nowhere: it is only tried.
    Nowhere,
}

/// The value of an option, as scripts see it.
#[derive(Debug, Clone, PartialEq)]
pub enum ScriptValue {
    /// On or off.
    Flag(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

/// A script that runs: makes the threads. Shared by all sides of a load.
pub trait ScriptThreads: Send + Sync {
    /// Thread `number` (from 0) of the command `run`.
    ///
    /// # Errors
    /// There is no memory for it.
    fn thread(&self, number: u32) -> Result<Box<dyn Program>, LoadError>;

    /// A thread that does the command and then ends.
    ///
    /// # Errors
    /// There is no memory for it.
    fn command(&self, number: u32, info: &ScriptInfo) -> Result<Box<dyn Program>, LoadError>;

    /// How many threads do the command, each its part; 1 where it is done once.
    fn workers(&self, info: &ScriptInfo) -> u32;

    /// What runs `init`, once, before the threads are there, and `done` when it is told goodbye.
    ///
    /// # Errors
    /// There is no memory for it.
    fn beginning(&self) -> Result<Box<dyn Program>, LoadError>;
}

static RUNTIME: OnceLock<Box<dyn ScriptRuntime>> = OnceLock::new();

/// Says who runs scripts, once for the whole process; a second one is not taken.
pub fn install(runtime: Box<dyn ScriptRuntime>) {
    let _ = RUNTIME.set(runtime);
}

/// Who runs scripts.
///
/// # Errors
/// Nobody does.
pub(crate) fn runtime() -> Result<&'static dyn ScriptRuntime, LoadError> {
    match RUNTIME.get() {
        Some(runtime) => Ok(runtime.as_ref()),
        None => Err(LoadError::invalid(
            "scripts cannot be run here: this program was built without them",
        )),
    }
}
