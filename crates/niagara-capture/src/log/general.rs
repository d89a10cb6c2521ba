//! Entries of general logs.

use std::sync::LazyLock;

use jiff::tz::TimeZone;
use memchr::memmem::Finder;

use super::entry::{Command, Parsed, Stamp};
use super::line::{Seen, before_banner, begins_banner, closes_comment, is_whole_banner};
use super::piece::Piece;
use super::text_end::{self, Ending, TextEnd};
use super::time::{parse_count, parse_iso, parse_local};
use crate::dropped::Cause;
use crate::sql::{Inside, Scanner, SqlMode};

/// Longest beginning of a line up to a statement: a time, a number, a command.
const MAX_HEAD: usize = 96;

/// A session's number is believable up to this far above the highest so far.
const AHEAD: u64 = 1000;

/// Commands by the names that servers write.
const COMMANDS: [(&[u8], Command); 36] = [
    (b"Query", Command::Query),
    (b"Execute", Command::Execute),
    (b"Bulk_execute", Command::Execute),
    (b"Prepare", Command::Prepare),
    (b"Close stmt", Command::CloseStatement),
    (b"Connect", Command::Connect),
    (b"Quit", Command::Quit),
    (b"Init DB", Command::InitDb),
    (b"Change user", Command::ChangeUser),
    (b"Reset Connection", Command::ResetConnection),
    (b"Reset connection", Command::ResetConnection),
    (b"Reset stmt", Command::Other),
    (b"Long Data", Command::Other),
    (b"Field List", Command::Other),
    (b"Ping", Command::Other),
    (b"Statistics", Command::Other),
    (b"Processlist", Command::Other),
    (b"Kill", Command::Other),
    (b"Debug", Command::Other),
    (b"Fetch", Command::Other),
    (b"Set option", Command::Other),
    (b"Refresh", Command::Other),
    (b"Shutdown", Command::Other),
    (b"Create DB", Command::Other),
    (b"Drop DB", Command::Other),
    (b"Sleep", Command::Other),
    (b"Time", Command::Other),
    (b"Error", Command::Other),
    (b"Delayed insert", Command::Internal),
    (b"Connect Out", Command::Internal),
    (b"Table Dump", Command::Internal),
    (b"Daemon", Command::Internal),
    (b"Binlog Dump", Command::Internal),
    (b"Binlog Dump GTID", Command::Internal),
    (b"Register Slave", Command::Internal),
    (b"Register Replica", Command::Internal),
];

/// The beginning of a line.
#[derive(Debug, Clone, Copy)]
struct Head {
    /// The time, where the line says it.
    stamp: Option<Stamp>,
    thread: u64,
    command: Command,
    /// Where the argument begins.
    length: usize,
}

/// Lengths of times with microseconds, in UTC and with an offset.
const ISO_LENGTHS: [usize; 2] = [27, 32];

/// The time that `text` begins with, and where what follows it begins. The first releases of MySQL 5.7 write no tab between the
/// time and the session's number.
pub(super) fn time_at(text: &[u8]) -> Option<(&[u8], usize)> {
    let is_without_tab = |length: &usize| {
        let next = text.get(*length);
        next.is_some_and(|&b| b == b' ' || b.is_ascii_digit())
            && parse_iso(&text[..*length]).is_some()
    };
    match ISO_LENGTHS.into_iter().find(is_without_tab) {
        Some(length) => Some((&text[..length], length)),
        None => memchr::memchr(b'\t', text).map(|tab| (&text[..tab], tab + 1)),
    }
}

/// Reads the beginning of a line; `zone` is that of the server, for logs in local time, `after` the second of the line before.
fn head(text: &[u8], zone: &TimeZone, after: Option<i64>) -> Option<Head> {
    let text = &text[..text.len().min(MAX_HEAD)];
    let (stamp, mut at) = match *text.first()? {
        b'\t' if text.get(1) == Some(&b'\t') => (None, 2),
        b'0'..=b'9' => {
            let (time, next) = time_at(text)?;
            let stamp = match parse_iso(time) {
                Some(micros) => Stamp::Exact(micros),
                None => Stamp::Second(parse_local(time, zone, after)?),
            };
            (Some(stamp), next)
        }
        _ => return None,
    };
    at += text[at..].iter().take_while(|&&b| b == b' ').count();
    let digits = text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let thread = parse_count(&text[at..at + digits])?;
    at += digits;
    let rest = text[at..].strip_prefix(b" ")?;
    let tab = memchr::memchr(b'\t', rest)?;
    let name = rest[..tab].trim_ascii_end();
    let (_, command) = COMMANDS.iter().find(|(known, _)| *known == name)?;
    Some(Head {
        stamp,
        thread,
        command: *command,
        length: at + 1 + tab + 1,
    })
}

/// Whether a line is the head of an entry in which blanks stand for tabs.
pub(super) fn is_head_without_tabs(line: &[u8]) -> bool {
    let length = line
        .iter()
        .take_while(|b| is_of_time(b) || **b == b'\t')
        .count();
    let (head, rest) = line.split_at(length);
    let name = COMMANDS.iter().find(|(name, _)| rest.starts_with(name));
    let is_followed = name.is_some_and(|(name, _)| rest[name.len()..].starts_with(b"  "));
    // A session's number stands there.
    let before = head.trim_ascii_end();
    is_followed && before.len() < head.len() && before.last().is_some_and(u8::is_ascii_digit)
}

/// How many lines are heads in which blanks stand for tabs.
pub(super) fn count_heads(lines: &[u8]) -> u64 {
    let lines = lines.split(|&b| b == b'\n');
    lines.filter(|line| is_head_without_tabs(line)).count() as u64
}

/// Whether `text` begins with an entry of a general log.
pub(super) fn begins(text: &[u8], eof: bool, zone: &TimeZone) -> Seen {
    if head(text, zone, None).is_some() {
        return Seen::Yes;
    }
    let may = match text.first() {
        None => true,
        Some(b'\t') => text.get(1).is_none_or(|&b| b == b'\t'),
        Some(byte) => byte.is_ascii_digit(),
    };
    if may && !eof && text.len() < MAX_HEAD && memchr::memchr(b'\n', text).is_none() {
        Seen::Unknown
    } else {
        Seen::No
    }
}

/// What is known from the entries before.
#[derive(Debug, Clone)]
pub(super) struct General {
    pub zone: TimeZone,
    last: Option<Stamp>,
    /// The time of what stands before the first time in the log.
    fallback: Option<Stamp>,
    highest: u64,
}

/// The second of a time.
fn second_of(stamp: Stamp) -> i64 {
    match stamp {
        Stamp::Exact(micros) => micros.div_euclid(1_000_000),
        Stamp::Second(second) | Stamp::EndSecond(second) => second,
    }
}

/// Marks of what servers write into their error logs, which container hosts put between the lines of others.
const LEVELS: [&[u8]; 5] = [b"[Note]", b"[Warning]", b"[ERROR]", b"[System]", b"[Error]"];

/// Whether a byte may be one of a time.
fn is_of_time(byte: &u8) -> bool {
    byte.is_ascii_digit() || b" :.-+TZ".contains(byte)
}

/// Longest beginning of a line in which such a mark stands.
const MAX_LEVEL: usize = 64;

struct GeneralEnding<'a> {
    general: &'a General,
}

impl Ending for GeneralEnding<'_> {
    const MARKED: bool = false;

    fn length(&self, text: &[u8], line_feed: usize) -> Option<usize> {
        let line = &text[..line_feed];
        Some(line.strip_suffix(b"\r").unwrap_or(line).len())
    }

    fn follows(&self, text: &[u8], eof: bool) -> Seen {
        match begins(text, eof, &self.general.zone) {
            Seen::No => begins_banner(text, eof),
            seen => seen,
        }
    }

    fn is_whole(&self, _: &[u8]) -> bool {
        // It follows, and has one line only.
        true
    }

    fn is_believable(&self, text: &[u8]) -> bool {
        self.general.is_believable(text) || is_whole_banner(text)
    }

    fn is_noise(&self, text: &[u8]) -> bool {
        if !text.first().is_some_and(u8::is_ascii_digit) {
            return false;
        }
        let line = text.split(|&b| b == b'\n').next().unwrap_or_default();
        let line = &line[..line.len().min(MAX_LEVEL)];
        LEVELS
            .iter()
            .any(|level| memchr::memmem::find(line, level).is_some())
    }

    fn is_partial_header(&self, text: &[u8]) -> bool {
        let head = text.split(|&b| b == 0).next().unwrap_or_default();
        let rest = head.strip_prefix(b"\t\t").unwrap_or_else(|| {
            // A time, which may be all there is.
            let length = head.iter().take_while(|b| is_of_time(b)).count();
            let rest = &head[length..];
            rest.strip_prefix(b"\t").unwrap_or(rest)
        });
        let rest = rest.trim_ascii_start();
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let command = rest[digits..].trim_ascii_start();
        let is_name = |(name, _): &(&[u8], Command)| name.starts_with(command);
        !head.is_empty() && head.len() <= MAX_HEAD && COMMANDS.iter().any(is_name)
    }

    fn swallowed(&self, text: &[u8], length: usize, next: usize, mode: SqlMode) -> Option<usize> {
        let body = &text[..length];
        if let Some(started) = STARTED_FINDER.find(body)
            && let banner = before_banner(body)
            && banner < started
        {
            // What stands before it on its line may be the beginning of an entry.
            let line = memchr::memrchr(b'\n', &body[..banner]).map_or(0, |at| at + 1);
            let is_head = line > 0 && self.is_partial_header(&body[line..banner]);
            return Some(if is_head { line } else { banner });
        }
        let mut scanner = Scanner::new(mode);
        self.heads_within(body).find(|&at| {
            scanner.run(text, at) == Inside::Code || self.entries_are_whole(&text[at..next], mode)
        })
    }

    fn first_within(&self, text: &[u8]) -> Option<usize> {
        self.heads_within(text).next()
    }
}

/// Where the last time before the end of `text` begins, without a tab behind it.
fn time_before(text: &[u8]) -> Option<usize> {
    let nearest = text.len().saturating_sub(MAX_HEAD)..text.len();
    nearest.rev().find(|&at| {
        let shape = [text.get(at + 4), text.get(at + 7), text.get(at + 10)];
        shape == [Some(&b'-'), Some(&b'-'), Some(&b'T')]
    })
}

static STARTED_FINDER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"started with:"));

impl GeneralEnding<'_> {
    /// Whether `text` is nothing but whole entries.
    fn entries_are_whole(&self, text: &[u8], mode: SqlMode) -> bool {
        let mut at = 0;
        while at < text.len() {
            let Some(head) = head(&text[at..], &self.general.zone, None) else {
                return false;
            };
            at += head.length;
            let body = &text[at..];
            let mut scanner = Scanner::new(mode);
            let mut noise = 0;
            let end = memchr::memchr_iter(b'\n', body).find_map(|line_feed| {
                let next = line_feed + 1;
                let rest = &body[next..];
                noise = match self.is_noise(rest) {
                    true => self.general.resynchronise(rest),
                    false => 0,
                };
                let follows = rest.is_empty() || noise > 0 || self.follows(rest, true) == Seen::Yes;
                (follows && scanner.run(body, line_feed).may_end()).then_some(next)
            });
            match end {
                Some(end) if !closes_comment(&body[..end]) => at += end + noise,
                _ => return false,
            }
        }
        true
    }

    /// Where entries begin in the middle of lines, for all that can be told.
    fn heads_within<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        memchr::memchr_iter(b'\t', text).filter_map(|tab| {
            let lengths = match text.get(tab + 1) {
                Some(b'\t') => &[0][..],
                // A time in UTC or with an offset, one in seconds.
                _ => &[27, 32, 15],
            };
            let starts = lengths.iter().filter_map(|length| tab.checked_sub(*length));
            let mut heads = starts
                .chain(time_before(&text[..tab]))
                .filter(|&at| self.general.is_believable(&text[at..]));
            heads.next()
        })
    }
}

impl General {
    /// Before the first entry; `fallback` is the second of what stands before the first time.
    pub fn new(zone: TimeZone, fallback: Option<i64>) -> General {
        General {
            zone,
            last: None,
            fallback: fallback.map(Stamp::Second),
            highest: 0,
        }
    }

    fn last_second(&self) -> Option<i64> {
        self.last.map(second_of)
    }

    /// Whether `text` begins with a head that may be the next one of this log.
    fn is_believable(&self, text: &[u8]) -> bool {
        let Some(head) = head(text, &self.zone, self.last_second()) else {
            return false;
        };
        let close = match (head.stamp, self.last) {
            (Some(stamp), Some(last)) => {
                (0..=86_400).contains(&(second_of(stamp) - second_of(last)))
            }
            _ => true,
        };
        close && head.thread <= self.highest.saturating_add(AHEAD)
    }

    /// Reads the entry that `text` begins with.
    pub fn read(&mut self, text: &[u8], eof: bool, mode: impl Fn(Option<u64>) -> SqlMode) -> Piece {
        let Some(head) = head(text, &self.zone, self.last_second()) else {
            return if begins(text, eof, &self.zone) == Seen::Unknown {
                Piece::Need
            } else if eof && memchr::memchr(b'\n', text).is_none() {
                Piece::drop(Cause::CutTail, text.len())
            } else {
                Piece::drop(Cause::BrokenHeader, self.resynchronise(text))
            };
        };
        let Some(stamp) = head.stamp.or(self.last).or(self.fallback) else {
            return match memchr::memchr(b'\n', text) {
                Some(at) => Piece::drop(Cause::NoTime, at + 1),
                None if eof => Piece::drop(Cause::CutTail, text.len()),
                None => Piece::Need,
            };
        };
        let body = &text[head.length..];
        // Cut before the tab that ends it: the next entry begins with that.
        if body.starts_with(b"\t") && self.is_believable(&text[head.length - 1..]) {
            return Piece::drop(Cause::CutEntry, head.length - 1);
        }
        let lost =
            |cause, next: usize| Piece::drop(cause, head.length + before_banner(&body[..next]));
        let (length, next, mode) = match self.text_end(&head, body, eof, mode) {
            TextEnd::Whole { length, next, mode } => (length, next, mode),
            TextEnd::Unterminated(next) => return lost(Cause::UnterminatedLiteral, next),
            TextEnd::Cut(next) => return lost(Cause::CutEntry, next),
            TextEnd::LogEnds => return Piece::drop(Cause::CutTail, text.len()),
            TextEnd::Need => return Piece::Need,
        };
        self.last = Some(stamp);
        self.highest = self.highest.max(head.thread);
        Piece::Entry {
            parsed: Box::new(Parsed {
                // What the server does by itself has no session.
                command: Some(if head.thread == 0 {
                    Command::Internal
                } else {
                    head.command
                }),
                thread: Some(head.thread),
                stamp: Some(stamp),
                sampled: 1,
                text: head.length..head.length + length,
                ..Parsed::default()
            }),
            next: head.length + next,
            mode,
        }
    }

    /// Where the text of an entry ends: that of a statement may have several lines, that of a command has one.
    fn text_end(
        &self,
        head: &Head,
        body: &[u8],
        eof: bool,
        mode: impl Fn(Option<u64>) -> SqlMode,
    ) -> TextEnd {
        if matches!(
            head.command,
            Command::Query | Command::Execute | Command::Prepare
        ) {
            let ending = GeneralEnding { general: self };
            return text_end::find(body, eof, mode(Some(head.thread)), false, &ending);
        }
        match memchr::memchr(b'\n', body) {
            Some(length) => TextEnd::Whole {
                length,
                next: length + 1,
                mode: SqlMode::default(),
            },
            None if eof => TextEnd::LogEnds,
            None => TextEnd::Need,
        }
    }

    /// Where the next line is, or where zeroes end, that may begin an entry or a banner; the end of `text` when there is none.
    pub(crate) fn resynchronise(&self, text: &[u8]) -> usize {
        for end in memchr::memchr2_iter(b'\n', 0, text) {
            let rest = &text[end + 1..];
            if begins(rest, true, &self.zone) == Seen::Yes || begins_banner(rest, true) == Seen::Yes
            {
                return end + 1;
            }
        }
        text.len()
    }
}
