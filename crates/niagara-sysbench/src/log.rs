//! sysbench's log: lines on standard output up to a verbosity, each with its severity in front.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

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

/// The message that was said last: where it comes again, it is counted rather than said.
struct Said {
    last: String,
    again: u32,
}

static SAID: Mutex<Said> = Mutex::new(Said {
    last: String::new(),
    again: 0,
});

impl Said {
    /// Hears another message. How often the one before has come again is told before it; `None`: it is the same.
    fn hear(&mut self, text: &str) -> Option<u32> {
        if text == self.last {
            self.again += 1;
            return None;
        }
        text.clone_into(&mut self.last);
        Some(std::mem::take(&mut self.again))
    }
}

impl Log {
    /// A line, or several. As with sysbench, what was said just before is not said again.
    pub fn say(self, level: Level, text: &str) {
        if level as i32 > self.verbosity {
            return;
        }
        let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(again) = said.hear(text) else {
            return;
        };
        if again > 0 {
            print(&format!("(last message repeated {again} times)\n"));
        }
        print(&format!("{}{text}\n", level.prefix()));
    }

    /// A report: each of its lines is a message of its own.
    pub(crate) fn report(self, text: &str) {
        for line in text.split('\n') {
            self.notice(line);
        }
    }

    /// What belongs to a moment of the run, at the usual level: said however often it comes.
    pub(crate) fn moment(self, text: &str) {
        if Level::Notice as i32 <= self.verbosity {
            print(&format!("{text}\n"));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_comes_again_is_counted() {
        let mut said = Said {
            last: String::new(),
            again: 0,
        };
        let heard = ["lost", "lost", "lost", "found", "lost"].map(|text| said.hear(text));
        assert_eq!(heard, [Some(0), None, None, Some(2), Some(0)]);
    }
}
