//! Where a statement of a log ends.

use super::line::Seen;
use crate::sql::{Inside, Scanner, SqlMode};

/// This many believable headers inside of one literal are headers, and the literal is one that does not end.
const BELIEVABLE_HEADERS: usize = 3;

/// How a log ends its statements.
pub(super) trait Ending {
    /// Whether a statement may end at this line feed of `text`: its length without what the server added.
    fn length(&self, text: &[u8], line_feed: usize) -> Option<usize>;
    /// Whether `text` begins with what follows a statement.
    fn follows(&self, text: &[u8], eof: bool) -> Seen;
    /// Whether what follows is a header of this log, for all that can be told from its values.
    fn is_believable(&self, text: &[u8]) -> bool;
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEnd {
    /// The statement has this length; what follows it begins at `next`. Read in `mode`.
    Whole {
        length: usize,
        next: usize,
        mode: SqlMode,
    },
    /// Its quotes do not end; what follows it begins here.
    Unterminated(usize),
    /// The log ends first.
    Cut,
    /// More of the log is needed.
    Need,
}

/// Finds the end of the statement that `text` begins with. `may_have_failed`: nothing in its header speaks against a statement
/// that the server could not read.
pub(super) fn find(
    text: &[u8],
    eof: bool,
    mode: SqlMode,
    may_have_failed: bool,
    ending: &impl Ending,
) -> TextEnd {
    let mut scanner = Scanner::new(mode);
    let mut hidden: Option<(usize, usize)> = None;
    let mut believable = 0;
    for line_feed in memchr::memchr_iter(b'\n', text) {
        let next = line_feed + 1;
        let Some(length) = ending.length(text, line_feed) else {
            continue;
        };
        let last = eof && next == text.len();
        if !last {
            match ending.follows(&text[next..], eof) {
                Seen::Yes => {}
                Seen::No => continue,
                Seen::Unknown => return TextEnd::Need,
            }
        }
        if scanner.run(text, length).may_end() {
            return TextEnd::Whole { length, next, mode };
        }
        if last {
            continue;
        }
        if !eof && text.len() - next < MIN_PROBED_BYTES {
            return TextEnd::Need;
        }
        if !ending.is_believable(&text[next..]) {
            continue;
        }
        hidden.get_or_insert((length, next));
        believable += 1;
        if may_have_failed || believable >= BELIEVABLE_HEADERS {
            break;
        }
    }
    match hidden {
        Some(found) if eof || may_have_failed || believable >= BELIEVABLE_HEADERS => {
            resolve(text, found, mode)
        }
        _ if eof => TextEnd::Cut,
        _ => TextEnd::Need,
    }
}

/// A header that is believed needs to be seen whole.
const MIN_PROBED_BYTES: usize = 4096;

/// What `text` up to `found` is, once what follows is known to be a header: whole in the other reading of backslashes, or
/// a statement that does not end.
fn resolve(text: &[u8], found: (usize, usize), mode: SqlMode) -> TextEnd {
    let (length, next) = found;
    let other = SqlMode {
        no_backslash_escapes: !mode.no_backslash_escapes,
        ..mode
    };
    let inside: Inside = Scanner::new(other).run(text, length);
    if inside.may_end() {
        TextEnd::Whole {
            length,
            next,
            mode: other,
        }
    } else {
        TextEnd::Unterminated(next)
    }
}
