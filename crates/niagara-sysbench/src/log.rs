//! sysbench's log: lines on standard output up to a verbosity, each with its severity in front.

use std::io::{self, Write};

/// Exit code of a process whose reader has gone: 128 + SIGPIPE, as of one that does not catch it.
const READER_GONE: i32 = 141;

/// How much a line matters; the number is sysbench's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Fatal = 0,
    Alert = 1,
    Warning = 2,
    Notice = 3,
    Info = 4,
    Debug = 5,
}

impl Level {
    fn prefix(self) -> &'static str {
        match self {
            Level::Fatal => "FATAL: ",
            Level::Alert => "ALERT: ",
            Level::Warning => "WARNING: ",
            Level::Notice | Level::Info => "",
            Level::Debug => "DEBUG: ",
        }
    }
}

/// What is said on standard output.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    /// Nothing beyond it is said.
    pub verbosity: i32,
}

impl Log {
    /// A line, or several.
    pub fn say(self, level: Level, text: &str) {
        if level as i32 <= self.verbosity {
            print(&format!("{}{text}\n", level.prefix()));
        }
    }

    /// The usual level.
    pub(crate) fn notice(self, text: &str) {
        self.say(Level::Notice, text);
    }
}

/// A line on standard error. Where that cannot be written, there is nowhere to say so.
pub fn remark(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Prints whatever the verbosity is. Without a reader (`| head -1`) there is nothing left to do.
pub fn print(text: &str) {
    // What a script has printed comes before.
    niagara_script::flush();
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() == io::ErrorKind::BrokenPipe
    {
        std::process::exit(READER_GONE);
    }
}
