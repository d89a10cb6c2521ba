//! What a command says: its result on standard output (`say!`, `say_text!`), all else on standard error (`tell!`).
//!
//! A terminal whose locale has no Unicode (LANG=C) gets ASCII; a file or a pipe gets what it is, in UTF-8.
//!
//! A reader that goes (`niagara levers | head -3`) is no fault and stops nothing: a study continues and its results are kept,
//! only what would still be said is not. `println!` would panic there, so the crate does not use it.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex};

use crate::live::{is_utf8, plain};

/// Exit code of a process whose reader has gone: 128 + SIGPIPE, as of one that does not catch it.
pub const READER_GONE: u8 = 141;

/// Why nothing more can be written on standard output.
static OUTPUT_ENDED: Mutex<Option<io::Error>> = Mutex::new(None);

/// A line on standard output, as `println!`.
macro_rules! say {
    () => { $crate::say::output(format_args!("\n")) };
    ($($words:tt)*) => { $crate::say::output(format_args!("{}\n", format_args!($($words)*))) };
}

/// Text on standard output, as `print!`.
macro_rules! say_text {
    ($($words:tt)*) => { $crate::say::output(format_args!($($words)*)) };
}

/// A line on standard error, as `eprintln!`.
macro_rules! tell {
    () => { $crate::say::remark(format_args!("\n")) };
    ($($words:tt)*) => { $crate::say::remark(format_args!("{}\n", format_args!($($words)*))) };
}

/// Writes on standard output; the first error is kept for [`ending`], after it nothing is written.
pub fn output(words: Arguments<'_>) {
    let Ok(mut ended) = OUTPUT_ENDED.lock() else {
        return;
    };
    if ended.is_none() {
        let mut out = io::stdout().lock();
        let words = harmless(words.to_string());
        let written = match !unicode() && out.is_terminal() {
            true => out.write_all(plain(&words).as_bytes()),
            false => out.write_all(words.as_bytes()),
        };
        *ended = written.and_then(|()| out.flush()).err();
    }
}

/// Writes on standard error. Where that cannot be written, there is nowhere to say so.
pub fn remark(words: Arguments<'_>) {
    let mut err = io::stderr().lock();
    let words = harmless(words.to_string());
    let _ = match !unicode() && err.is_terminal() {
        true => err.write_all(plain(&words).as_bytes()),
        false => err.write_all(words.as_bytes()),
    };
}

/// Whether terminals show more than ASCII, by the locale.
pub fn unicode() -> bool {
    static UNICODE: LazyLock<bool> = LazyLock::new(|| is_utf8(|name| std::env::var(name).ok()));
    *UNICODE
}

/// The words without what commands a terminal, colours apart: names and values are of servers and files that may be hostile.
fn harmless(words: String) -> String {
    let commands = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !words.contains(commands) {
        return words;
    }
    let mut shown = String::with_capacity(words.len());
    let mut rest = words.as_str();
    while let Some(at) = rest.find(commands) {
        shown.push_str(&rest[..at]);
        let found = &rest[at..];
        rest = match colour(found) {
            Some(length) => {
                shown.push_str(&found[..length]);
                &found[length..]
            }
            None => {
                shown.push(char::REPLACEMENT_CHARACTER);
                &found[found.chars().next().map_or(0, char::len_utf8)..]
            }
        };
    }
    shown.push_str(rest);
    shown
}

/// The length of a sequence that sets a colour, where `text` begins with one.
fn colour(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let length = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes[length..].starts_with('m').then_some(length + 3)
}

/// How a command ends that would end with `code`: a failure too where its result could not be written.
pub fn ending(code: ExitCode) -> ExitCode {
    let ended = OUTPUT_ENDED.lock().ok().and_then(|mut ended| ended.take());
    match ended {
        None => code,
        // What the command found out about itself says more than that nobody read it.
        Some(_) if code != ExitCode::SUCCESS => code,
        Some(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::from(READER_GONE),
        Some(error) => {
            tell!("niagara: cannot write the result on standard output: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_alone_command_a_terminal() {
        for (words, shown) in [
            ("a\tb\n", "a\tb\n"),
            ("\u{1b}[1;32mfaster\u{1b}[0m", "\u{1b}[1;32mfaster\u{1b}[0m"),
            ("\u{1b}]0;x\u{7}", "\u{fffd}]0;x\u{fffd}"),
            (
                "\u{1b}[2J\u{9b}31m\u{1b}[",
                "\u{fffd}[2J\u{fffd}31m\u{fffd}[",
            ),
        ] {
            assert_eq!(harmless(words.to_owned()), shown);
        }
    }
}
