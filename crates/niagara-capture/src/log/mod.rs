//! Logs of a server, read entry by entry.
//!
//! Three dialects of the slow log (MariaDB, MySQL, Percona Server) differ in their headers only, two of the general log in
//! their times. What is common is the question where a statement ends: lines that look like headers may be part of a
//! string, so it is the lexer of [`crate::sql`] that answers it.

mod clean;
mod client_clock;
mod entry;
mod general;
mod input;
mod json;
mod line;
mod meaning;
mod piece;
mod probe;
mod reader;
mod slow_entry;
mod slow_header;
mod text_end;
mod time;
mod window;

/// A log without what is around it, for the fuzzer.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn cleaned(text: Vec<u8>) -> std::io::Result<Box<dyn std::io::Read + Send>> {
    clean::clean(Box::new(std::io::Cursor::new(text)))
}

pub use entry::{Command, Entry, Stamp, Standing};
pub use input::{Compression, Input};
pub use meaning::Meaning;
pub use probe::{Dialect, LogKind, Probe};
pub use reader::{Item, LogReader, ReadOptions};
