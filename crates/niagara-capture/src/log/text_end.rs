//! Where a statement of a log ends.
//!
//! A header at the beginning of a line ends the statement before it, whatever stands between the two: lines that belong to no
//! entry, zeroes of a file that was cut while it was written. Only where the lexer says that the place is inside of quotes or of
//! a comment, the header may be a part of the statement; then what is around it decides.

use super::line::Seen;
use crate::sql::{Inside, Scanner, SqlMode, has_body};

/// This many believable headers inside of one literal are headers, and the literal is one that does not end.
const BELIEVABLE_HEADERS: usize = 3;

/// How a log ends its statements.
pub(super) trait Ending {
    /// The server ends every statement with a mark of its own: what follows the mark belongs to no statement.
    const MARKED: bool;
    /// Whether a statement may end at this line feed of `text`: its length without what the server added.
    fn length(&self, text: &[u8], line_feed: usize) -> Option<usize>;
    /// Whether `text` begins with what follows a statement.
    fn follows(&self, text: &[u8], eof: bool) -> Seen;
    /// Whether what follows is a whole header, or the line of a server that opens its log.
    fn is_whole(&self, text: &[u8]) -> bool;
    /// Whether what follows is a header of this log, for all that can be told from its values.
    fn is_believable(&self, text: &[u8]) -> bool;
    /// Whether `text` begins with a line that no client has sent.
    fn is_noise(&self, text: &[u8]) -> bool;
    /// Whether `text` is the beginning of a header, with nothing but zeroes behind it.
    fn is_partial_header(&self, text: &[u8]) -> bool;
    /// Where another entry begins within a statement of this length that seems to be whole; what follows it begins at `next`.
    fn swallowed(&self, text: &[u8], length: usize, next: usize, mode: SqlMode) -> Option<usize>;
    /// Where the first believable header begins within `text`, be it in the middle of a line.
    fn first_within(&self, text: &[u8]) -> Option<usize>;
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
    /// It was cut in the middle; what follows it begins here.
    Cut(usize),
    /// The log ends first.
    LogEnds,
    /// More of the log is needed.
    Need,
}

/// Finds the end of the statement that `text` begins with. `may_have_failed`: nothing in its header speaks against a statement
/// that the server could not read.
pub(super) fn find<E: Ending>(
    text: &[u8],
    eof: bool,
    mode: SqlMode,
    may_have_failed: bool,
    ending: &E,
) -> TextEnd {
    let mut search = Search {
        text,
        mode,
        scanner: Scanner::new(mode),
        whole: None,
        suspect: None,
        hidden: None,
        believable: 0,
    };
    for at in memchr::memchr2_iter(b'\n', 0, text) {
        if text[at] == 0 && text.get(at + 1) == Some(&0) {
            // The last zero of several.
            continue;
        }
        if let Some(found) = search.line_ends(at, eof, may_have_failed, ending) {
            return found;
        }
    }
    search.log_ends(eof, may_have_failed, ending)
}

/// Whether a statement that has such a beginning, up to a mark, may have ended there: the marks within a body are no ends of its
/// statement.
pub(super) fn may_be_all(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let last = &text[text.len().saturating_sub(3)..];
    last.eq_ignore_ascii_case(b"end") || !has_body(text)
}

/// A header that is believed needs to be seen whole.
const MIN_PROBED_BYTES: usize = 4096;

struct Search<'a> {
    text: &'a [u8],
    mode: SqlMode,
    scanner: Scanner,
    /// The last place at which the statement may be whole: its length, and where the next line begins.
    whole: Option<(usize, usize)>,
    /// The first line since then that looks like the beginning of a header.
    suspect: Option<usize>,
    /// The first believable header that is inside of something.
    hidden: Option<usize>,
    believable: usize,
}

impl Search<'_> {
    /// A line, or zeroes, end at this place.
    fn line_ends<E: Ending>(
        &mut self,
        at: usize,
        eof: bool,
        may_have_failed: bool,
        ending: &E,
    ) -> Option<TextEnd> {
        let (text, next) = (self.text, at + 1);
        if text[at] == b'\n'
            && let Some(length) = ending.length(text, at)
            && self.scanner.run(text, length).may_end()
        {
            self.whole = Some((length, next));
            self.suspect = None;
        }
        let last = eof && next == text.len();
        if !last {
            match ending.follows(&text[next..], eof) {
                Seen::Yes => {}
                Seen::No if self.is_at_end(next) && ending.is_noise(&text[next..]) => {}
                Seen::No => return None,
                Seen::Unknown => return Some(TextEnd::Need),
            }
        }
        if self.is_at_end(next) {
            return Some(self.end(next, ending));
        }
        if last {
            return None;
        }
        let inside = self.scanner.run(text, next);
        if !eof && text.len() - next < MIN_PROBED_BYTES {
            return Some(TextEnd::Need);
        }
        if inside.may_end() {
            let begins = *self.suspect.get_or_insert(next);
            if !ending.is_whole(&text[next..]) {
                return None;
            }
            return Some(match self.marked::<E>() {
                true => self.end(next, ending),
                // A header that was cut stands behind a statement that is whole.
                false if self.is_before_partial(begins, ending) => self.end(next, ending),
                false => TextEnd::Cut(ending.first_within(&text[..begins]).unwrap_or(begins)),
            });
        }
        if !ending.is_believable(&text[next..]) {
            return None;
        }
        if self.marked::<E>() {
            // A line with an apostrophe, behind the statement's end.
            return Some(self.end(next, ending));
        }
        self.hidden.get_or_insert(next);
        // One header has two lines that may begin one.
        let line = memchr::memrchr(b'\n', &text[..at]).map_or(0, |before| before + 1);
        self.believable += usize::from(!text[line..].starts_with(b"# Time: "));
        let enough = may_have_failed || self.believable >= BELIEVABLE_HEADERS;
        let first = self.hidden.unwrap_or(next);
        enough.then(|| self.resolve(first, may_have_failed, ending))
    }

    /// The text ends here, and perhaps the log.
    fn log_ends<E: Ending>(&mut self, eof: bool, may_have_failed: bool, ending: &E) -> TextEnd {
        if !eof {
            return TextEnd::Need;
        }
        let text = self.text;
        // The last line feed may be missing.
        if E::MARKED
            && text.last() == Some(&b';')
            && self.scanner.run(text, text.len() - 1).may_end()
        {
            self.whole = Some((text.len() - 1, text.len()));
        }
        if let Some(hidden) = self.hidden {
            return self.resolve(hidden, may_have_failed, ending);
        }
        match self.marked::<E>() {
            true => self.end(text.len(), ending),
            false => TextEnd::LogEnds,
        }
    }

    /// Whether the statement may be whole at its last line before `next`, or has nothing but white space and zeroes behind it.
    fn is_at_end(&self, next: usize) -> bool {
        self.whole.is_some_and(|(_, end)| {
            let between = &self.text[end..next];
            between.iter().all(|b| *b == 0 || b.is_ascii_whitespace())
        })
    }

    /// Whether there is nothing but the beginning of a header between the statement's last whole line and this place.
    fn is_before_partial<E: Ending>(&self, begins: usize, ending: &E) -> bool {
        self.whole.is_some_and(|(_, end)| {
            end < begins && ending.is_partial_header(&self.text[end..begins])
        })
    }

    /// Whether the server has marked the statement's end before: a body of several statements has such marks of its own.
    fn marked<E: Ending>(&self) -> bool {
        E::MARKED && (self.whole).is_some_and(|(length, _)| may_be_all(&self.text[..length]))
    }

    /// The statement ends where it was whole last, unless it has swallowed another entry.
    fn end<E: Ending>(&self, next: usize, ending: &E) -> TextEnd {
        let Some((length, end)) = self.whole else {
            return TextEnd::Cut(next);
        };
        let mode = self.mode;
        match ending.swallowed(self.text, length, end, mode) {
            None => TextEnd::Whole {
                length,
                next: end,
                mode,
            },
            Some(begins) => self.end_before(begins, ending),
        }
    }

    /// Another entry begins at this place: the statement ends before it, or was cut there.
    fn end_before<E: Ending>(&self, begins: usize, ending: &E) -> TextEnd {
        let text = &self.text[..begins];
        let mut scanner = Scanner::new(self.mode);
        let mut whole = None;
        for at in memchr::memchr_iter(b'\n', text) {
            if let Some(length) = ending.length(text, at)
                && scanner.run(text, length).may_end()
            {
                whole = Some((length, at + 1));
            }
        }
        match whole {
            Some((length, next)) if next == begins || E::MARKED && may_be_all(&text[..length]) => {
                let mode = self.mode;
                match ending.swallowed(self.text, length, next, mode) {
                    Some(earlier) if earlier < begins => self.end_before(earlier, ending),
                    _ => TextEnd::Whole { length, next, mode },
                }
            }
            _ if text.ends_with(b"\n") => self.resolve(begins, false, ending),
            _ => TextEnd::Cut(begins),
        }
    }

    /// What the statement is, once what follows at `next` is known to be a header: whole in the other reading of backslashes, or one that
    /// does not end: because the server could not read it, or because it was cut.
    fn resolve<E: Ending>(&self, next: usize, may_have_failed: bool, ending: &E) -> TextEnd {
        let end = &self.text[..next];
        let end = end.strip_suffix(b"\n").unwrap_or(end);
        let is_marked = !E::MARKED || end.ends_with(b";");
        let length = end.len() - usize::from(E::MARKED && is_marked);
        let other = SqlMode {
            no_backslash_escapes: !self.mode.no_backslash_escapes,
            ..self.mode
        };
        let inside: Inside = Scanner::new(other).run(self.text, length);
        if inside.may_end() && is_marked {
            if let Some(begins) = ending.swallowed(self.text, length, next, other) {
                return TextEnd::Cut(begins);
            }
            TextEnd::Whole {
                length,
                next,
                mode: other,
            }
        } else if let Some(begins) = ending.first_within(&self.text[..next]) {
            TextEnd::Cut(begins)
        } else if is_marked || may_have_failed {
            TextEnd::Unterminated(next)
        } else {
            TextEnd::Cut(next)
        }
    }
}
