//! Entries of slow logs.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::entry::{Command, Parsed};
use super::line::{
    Seen, banner_length, before_banner, begins_banner, begins_with, closes_comment, first_line,
    is_whole_banner,
};
use super::meaning::Meaning;
use super::piece::Piece;
use super::slow_header::{self, Headed, begins_entry};
use super::text_end::{self, Ending, TextEnd, may_be_all};
use super::time::parse_count;
use crate::dropped::Cause;
use crate::sql::{Inside, Scanner, SqlMode, has_body};

/// A header inside of a literal is believable when its second is this close to that of the entry, in seconds.
const CLOSE: i64 = 3600;

const ADMINISTRATOR: &[u8] = b"# administrator command: ";

/// Whether `text` begins with an entry of a slow log.
pub(super) fn begins(text: &[u8], eof: bool) -> Seen {
    match (
        begins_with(text, b"# Time: ", eof),
        begins_with(text, b"# User@Host: ", eof),
    ) {
        (Seen::Yes, _) | (_, Seen::Yes) => Seen::Yes,
        (Seen::No, Seen::No) => Seen::No,
        _ => Seen::Unknown,
    }
}

struct SlowEnding {
    second: i64,
}

/// How much earlier than the entry before it a real one may have begun, in seconds, for all that a doubtful case allows.
const BACK: i64 = 5;

/// Bytes of an answer's shortest row: the head of a packet, and a value.
const LEAST_ROW: u64 = 5;
/// How much later than its entry a header inside of a literal may say to be, in seconds.
const LATER: i64 = 86_400;

/// Beginnings of headers that are tried within one statement.
const MAX_TRIED: usize = 64;

const MARK: &[u8] = b"# Query_time: ";
const SET: &[u8] = b"\nSET timestamp=";

impl Ending for SlowEnding {
    const MARKED: bool = true;

    fn length(&self, text: &[u8], line_feed: usize) -> Option<usize> {
        let line = &text[..line_feed];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        line.strip_suffix(b";").map(<[u8]>::len)
    }

    fn follows(&self, text: &[u8], eof: bool) -> Seen {
        match begins(text, eof) {
            Seen::No => begins_banner(text, eof),
            seen => seen,
        }
    }

    fn is_whole(&self, text: &[u8]) -> bool {
        matches!(slow_header::read(text, Meaning::Start), Headed::Whole(_))
            || begins_banner(text, true) == Seen::Yes
    }

    fn is_believable(&self, text: &[u8]) -> bool {
        match slow_header::read(text, Meaning::Start) {
            Headed::Whole(header) => {
                header.has_user
                    && header
                        .timestamp
                        .is_some_and(|second| (-CLOSE..=LATER).contains(&(second - self.second)))
            }
            _ => is_whole_banner(text),
        }
    }

    fn is_noise(&self, _: &[u8]) -> bool {
        false
    }

    fn is_partial_header(&self, _: &[u8]) -> bool {
        // What is behind the mark of an end belongs to no statement anyway.
        false
    }

    fn swallowed(&self, text: &[u8], length: usize, next: usize, mode: SqlMode) -> Option<usize> {
        let body = &text[..length];
        let has_mark = MARK_FINDER.find(body).is_some();
        if !has_mark && SET_FINDER.find(body).is_none() {
            return None;
        }
        if has_mark {
            // A server that opens its log does so between entries.
            let banner = Some(before_banner(body)).filter(|&at| at < body.len());
            let found = banner.or_else(|| whole_headers(body, (text, next), self.second, mode));
            if found.is_some() {
                return found;
            }
        }
        // What is left of a header whose beginning was lost.
        if has_body(body) {
            return None;
        }
        let mut scanner = Scanner::new(mode);
        let mut line = 0;
        for line_feed in memchr::memchr_iter(b'\n', body) {
            let begins = &body[line..];
            if line > 0
                && (begins.starts_with(MARK) || begins.starts_with(&SET[1..]))
                && scanner.run(body, line).may_end()
            {
                return Some(line);
            }
            line = line_feed + 1;
        }
        None
    }

    fn first_within(&self, text: &[u8]) -> Option<usize> {
        memchr::memchr_iter(b'#', text)
            .filter(|&at| begins_entry(&text[at..]))
            .take(MAX_TRIED)
            .find(|&at| self.is_believable(&text[at..]))
    }
}

static MARK_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(MARK));
static SET_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(SET));

/// Where the first header begins from which on all entries are whole, up to `next`: of one that is part of a literal the literal's
/// end is too much.
fn whole_headers(
    body: &[u8],
    (text, next): (&[u8], usize),
    second: i64,
    mode: SqlMode,
) -> Option<usize> {
    let begins = || memchr::memchr_iter(b'#', body).filter(|&at| begins_entry(&body[at..]));
    let found =
        begins()
            .take(MAX_TRIED)
            .find(|&at| match whole_entries(&text[at..next], mode) {
                (_, true) => true,
                // One that was cut as well ends what looked like a literal.
                (1.., false) => match slow_header::read(&text[at..], Meaning::Start) {
                    Headed::Whole(header) => {
                        header.timestamp.is_some_and(|time| time >= second - BACK)
                    }
                    _ => false,
                },
                _ => false,
            })?;
    // One before it that was cut itself.
    let mut scanner = Scanner::new(mode);
    begins()
        .take_while(|&at| at < found)
        .find(|&at| scanner.run(body, at) == Inside::Code)
        .or(Some(found))
}

/// How many entries `text` begins with that are whole, and whether it is nothing else.
fn whole_entries(text: &[u8], mode: SqlMode) -> (usize, bool) {
    let (mut at, mut count) = (0, 0);
    while at < text.len() {
        if begins_banner(&text[at..], true) == Seen::Yes {
            at += banner_length(&text[at..], true).unwrap_or(text.len());
            continue;
        }
        let Headed::Whole(header) = slow_header::read(&text[at..], Meaning::Start) else {
            return (count, false);
        };
        at += header.length;
        let body = &text[at..];
        if body.starts_with(ADMINISTRATOR) {
            at += first_line(body).map_or(body.len(), |(_, length)| length);
            continue;
        }
        let mut scanner = Scanner::new(mode);
        let ending = SlowEnding { second: 0 };
        let mut end = None;
        for line_feed in memchr::memchr_iter(b'\n', body) {
            let Some(length) = ending.length(body, line_feed) else {
                continue;
            };
            if !scanner.run(body, length).may_end() {
                continue;
            }
            let next = line_feed + 1;
            if next == body.len() || ending.follows(&body[next..], true) == Seen::Yes {
                end = Some(next);
                break;
            }
            // More behind the mark of the end: lines that belong to no entry have another one behind them.
            if may_be_all(&body[..length]) {
                let rest = &body[next..];
                let header = resynchronise(rest);
                if header == rest.len() || !ending.is_whole(&rest[header..]) {
                    return (count, false);
                }
                end = Some(next + header);
                break;
            }
        }
        let Some(end) = end else {
            return (count, false);
        };
        if closes_comment(&body[..end]) {
            return (count, false);
        }
        at += end;
        count += 1;
    }
    (count, true)
}

/// Reads the entry that `text` begins with; `mode` gives the settings of a session.
pub(super) fn read(
    text: &[u8],
    eof: bool,
    meaning: Meaning,
    mode: impl Fn(Option<u64>) -> SqlMode,
) -> Piece {
    let header = match slow_header::read(text, meaning) {
        Headed::Whole(header) => header,
        Headed::Broken { next, database } => {
            return Piece::Drop {
                cause: Cause::BrokenHeader,
                next,
                database,
            };
        }
        Headed::Need if eof => return Piece::drop(Cause::CutTail, text.len()),
        Headed::Need => return Piece::Need,
    };
    let start = header.length;
    let mut parsed = header.parsed;
    let body = &text[start..];
    if let Some(piece) = administrator(body, eof, start, &mut parsed) {
        return piece;
    }
    if let (Some(rows), Some(bytes)) = (parsed.measured.rows_sent, parsed.bytes_sent)
        && bytes > 0
        && bytes / LEAST_ROW < rows
    {
        // MariaDB adds rows of stored functions and views on them, again for each row.
        parsed.measured.rows_sent = None;
    }
    let may_have_failed = parsed.measured.rows_affected == Some(0)
        && parsed.measured.rows_sent == Some(0)
        && parsed.measured.rows_examined == Some(0)
        && parsed.bytes_sent.is_some_and(|bytes| bytes > 11)
        && parsed.measured.error.is_none();
    let ending = SlowEnding {
        second: header.timestamp.unwrap_or(0),
    };
    let database = parsed.database.clone();
    let lost = |cause, next: usize| Piece::Drop {
        cause,
        next: start + before_banner(&body[..next]),
        database: database.clone(),
    };
    match text_end::find(body, eof, mode(parsed.thread), may_have_failed, &ending) {
        TextEnd::Whole { length, next, mode } => {
            parsed.command = Some(if header.internal {
                Command::Internal
            } else {
                command_of(&body[..length], &parsed)
            });
            parsed.text = start..start + length;
            Piece::Entry {
                parsed: Box::new(parsed),
                next: start + next,
                mode,
            }
        }
        TextEnd::Unterminated(next) => lost(Cause::UnterminatedLiteral, next),
        TextEnd::Cut(next) => lost(Cause::CutEntry, next),
        TextEnd::LogEnds => Piece::drop(Cause::CutTail, text.len()),
        TextEnd::Need => Piece::Need,
    }
}

fn command_of(text: &[u8], parsed: &Parsed) -> Command {
    if let Some(rest) = text.strip_prefix(b"throttle:")
        && let Some(at) = memchr::memmem::find(rest, b" 'index not used' warning(s) suppressed")
        && let Some(count) = parse_count(rest[..at].trim_ascii())
    {
        return Command::Throttled(count);
    }
    // The mark of MariaDB: what a prepared statement sends is not counted.
    if parsed.bytes_sent == Some(0)
        && parsed.measured.rows_affected.is_some()
        && parsed.measured.error.is_none()
    {
        Command::Execute
    } else {
        Command::Query
    }
}

/// `# administrator command: Quit;`: what was asked for otherwise than by a statement.
fn administrator(body: &[u8], eof: bool, start: usize, parsed: &mut Parsed) -> Option<Piece> {
    match begins_with(body, ADMINISTRATOR, eof) {
        Seen::No => return None,
        Seen::Unknown => return Some(Piece::Need),
        Seen::Yes => {}
    }
    let Some((line, length)) = first_line(body) else {
        return Some(if eof {
            Piece::drop(Cause::CutTail, start + body.len())
        } else {
            Piece::Need
        });
    };
    let name = &line[ADMINISTRATOR.len()..];
    parsed.command = Some(match name.strip_suffix(b";").unwrap_or(name) {
        b"Quit" => Command::Quit,
        b"Prepare" => Command::Prepare,
        b"Close stmt" => Command::CloseStatement,
        b"Init DB" => Command::InitDb,
        b"Reset Connection" | b"Reset connection" => Command::ResetConnection,
        b"Change user" => Command::ChangeUser,
        b"Connect" => Command::Connect,
        b"Daemon" | b"Binlog Dump" | b"Binlog Dump GTID" | b"Register Slave"
        | b"Register Replica" => Command::Internal,
        _ => Command::Other,
    });
    parsed.text = start..start;
    Some(Piece::Entry {
        parsed: Box::new(std::mem::take(parsed)),
        next: start + length,
        mode: SqlMode::default(),
    })
}

/// Where the next line is, or where zeroes end, that may begin an entry or a banner; the end of `text` when there is none.
pub(super) fn resynchronise(text: &[u8]) -> usize {
    for end in memchr::memchr2_iter(b'\n', 0, text) {
        let rest = &text[end + 1..];
        if begins_entry(rest) || begins_banner(rest, true) == Seen::Yes {
            return end + 1;
        }
    }
    text.len()
}
