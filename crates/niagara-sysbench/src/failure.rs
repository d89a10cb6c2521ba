//! Why the command ends before its end: what to say, where, and the exit code.

use crate::log::{Level, Log, remark};
use niagara_load::LoadError;
use std::fmt;

/// Where sysbench says a thing. It writes what its logger says to standard output, fatal errors too; mistakes on
/// the command line go to standard error. Scripts grep for both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// A line of its own on standard error.
    CommandLine,
    /// `FATAL: ` lines on standard output.
    Log,
}

/// An error of the load generator with the remedy of whoever made it; sysbench tells none of the usual ones.
pub fn load_words(error: &LoadError) -> String {
    match error {
        LoadError::Invalid(_) | LoadError::Prepare(_) => error.explanation().to_string(),
        _ => error.to_string(),
    }
}

/// An end with a reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub channel: Channel,
    /// One line each.
    pub lines: Vec<String>,
}

impl Failure {
    /// A mistake on the command line.
    pub fn usage(line: impl Into<String>) -> Self {
        Failure {
            channel: Channel::CommandLine,
            lines: vec![line.into()],
        }
    }

    /// Something the log calls fatal.
    pub fn fatal(line: impl Into<String>) -> Self {
        Failure {
            channel: Channel::Log,
            lines: vec![line.into()],
        }
    }

    /// An error of the load generator that the log calls fatal.
    pub fn of_load(error: &LoadError) -> Self {
        Failure::fatal(load_words(error))
    }

    /// An option or a test that sysbench has and Niagara has not.
    pub fn refused(what: &str, why: &str) -> Self {
        Failure::usage(format!("niagara sysbench: {what} is not supported: {why}"))
    }

    /// The log has said it already.
    pub fn said() -> Self {
        Failure {
            channel: Channel::Log,
            lines: Vec::new(),
        }
    }

    /// Says it, where it belongs.
    pub(crate) fn say(&self, log: Log) {
        for line in &self.lines {
            match self.channel {
                Channel::CommandLine => remark(line),
                Channel::Log => log.say(Level::Fatal, line),
            }
        }
    }

    /// Adds a line.
    pub fn and(mut self, line: impl Into<String>) -> Self {
        self.lines.push(line.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines.join("\n"))
    }
}

impl std::error::Error for Failure {}
