//! Entries of slow logs.

use super::entry::{Command, Parsed};
use super::header::{self, Headed, begins_entry};
use super::line::{Seen, begins_banner, begins_with, first_line};
use super::meaning::Meaning;
use super::piece::Piece;
use super::text_end::{self, Ending, TextEnd};
use super::time::parse_count;
use crate::dropped::Cause;
use crate::sql::SqlMode;

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

impl Ending for SlowEnding {
    fn length(&self, text: &[u8], line_feed: usize) -> Option<usize> {
        line_feed.checked_sub(1).filter(|&at| text[at] == b';')
    }

    fn follows(&self, text: &[u8], eof: bool) -> Seen {
        match begins(text, eof) {
            Seen::No => begins_banner(text, eof),
            seen => seen,
        }
    }

    fn is_believable(&self, text: &[u8]) -> bool {
        match header::read(text, Meaning::Start) {
            Headed::Whole(header) => {
                header.has_user
                    && header
                        .timestamp
                        .is_some_and(|second| (second - self.second).abs() <= CLOSE)
            }
            _ => false,
        }
    }
}

/// Reads the entry that `text` begins with; `mode` gives the settings of a session.
pub(super) fn read(
    text: &[u8],
    eof: bool,
    meaning: Meaning,
    mode: impl Fn(Option<u64>) -> SqlMode,
) -> Piece {
    let header = match header::read(text, meaning) {
        Headed::Whole(header) => header,
        Headed::Broken(next) => {
            return Piece::Drop {
                cause: Cause::BrokenHeader,
                next,
            };
        }
        Headed::Need if eof => {
            return Piece::Drop {
                cause: Cause::CutTail,
                next: text.len(),
            };
        }
        Headed::Need => return Piece::Need,
    };
    let start = header.length;
    let mut parsed = header.parsed;
    let body = &text[start..];
    if let Some(piece) = administrator(body, eof, start, &mut parsed) {
        return piece;
    }
    let may_have_failed = parsed.rows_affected == Some(0)
        && parsed.rows_sent == Some(0)
        && parsed.rows_examined == Some(0)
        && parsed.bytes_sent.is_some_and(|bytes| bytes > 11)
        && parsed.error.is_none();
    let ending = SlowEnding {
        second: header.timestamp.unwrap_or(0),
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
        TextEnd::Unterminated(next) => Piece::Drop {
            cause: Cause::UnterminatedLiteral,
            next: start + next,
        },
        TextEnd::Cut => Piece::Drop {
            cause: Cause::CutTail,
            next: text.len(),
        },
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
    if parsed.bytes_sent == Some(0) && parsed.rows_affected.is_some() && parsed.error.is_none() {
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
            Piece::Drop {
                cause: Cause::CutTail,
                next: start + body.len(),
            }
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

/// Where the next line is that may begin an entry or a banner; the end of `text` when there is none.
pub(super) fn resynchronise(text: &[u8]) -> usize {
    for line_feed in memchr::memchr_iter(b'\n', text) {
        let rest = &text[line_feed + 1..];
        if begins_entry(rest) || begins_banner(rest, true) == Seen::Yes {
            return line_feed + 1;
        }
    }
    text.len()
}
