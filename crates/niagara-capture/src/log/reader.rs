//! A log, entry by entry.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;

use jiff::tz::TimeZone;

use super::client_clock::ClientClock;
use super::entry::{Command, Entry, Parsed, Stamp};
use super::general::General;
use super::line::{Seen, banner_length, begins_banner, first_line, version};
use super::piece::Piece;
use super::probe::{LogKind, Probe};
use super::window::Window;
use super::{Meaning, general, slow_entry, slow_header};
use crate::dropped::{Cause, Dropped, Place};
use crate::error::CaptureError;
use crate::sql::SqlMode;

/// Longest entry that is read unless told otherwise, in bytes: as long as a packet of MySQL's default.
const MAX_ENTRY: usize = 64 << 20;

/// How many sessions' settings are remembered that differ from those of new sessions.
const MAX_MODES: usize = 1 << 16;

/// How a log is read.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The server's time zone, for logs that are in local time.
    pub zone: TimeZone,
    /// The server's `sql_mode` and character set for new sessions.
    pub mode: SqlMode,
    /// Longest entry, in bytes.
    pub max_entry: usize,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions {
            zone: TimeZone::system(),
            mode: SqlMode::default(),
            max_entry: MAX_ENTRY,
        }
    }
}

/// What the reader is at.
enum Next {
    /// Something that is not kept has said the database in use.
    Said(Range<usize>),
    Entry {
        parsed: Box<Parsed>,
        range: Range<usize>,
        line: u64,
        mode: SqlMode,
    },
    Banner,
    End,
}

/// What a log gives.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "one at a time, on the stack: a box would be an allocation for every entry"
)]
pub enum Item<'a> {
    /// An entry, and the settings its statement was read in.
    Entry(Entry<'a>, SqlMode),
    /// An entry that cannot be kept has said that this database is in use.
    Database(&'a [u8]),
    /// The server opened the log: it was started, or told to flush its logs.
    Opened,
}

/// Reads a log entry by entry, with as much memory as the longest of them.
pub struct LogReader<R> {
    window: Window<R>,
    path: PathBuf,
    kind: LogKind,
    meaning: Meaning,
    general: General,
    default_mode: SqlMode,
    modes: HashMap<u64, SqlMode>,
    clock: ClientClock,
    version: Option<String>,
    began: bool,
    skipping: bool,
    /// What was dropped last has not shown its header yet.
    headless: bool,
    /// The end that was cut is counted.
    cut: bool,
}

impl<R: Read> LogReader<R> {
    /// At the beginning of `reader`, which `probe` was made from; `path` names it in what is dropped.
    pub fn new(reader: R, path: PathBuf, probe: &Probe, options: &ReadOptions) -> LogReader<R> {
        LogReader {
            window: Window::new(reader, options.max_entry),
            path,
            kind: probe.kind,
            meaning: probe.meaning,
            general: General::new(options.zone.clone(), probe.first_second.or(probe.changed)),
            default_mode: options.mode,
            modes: HashMap::new(),
            clock: ClientClock::default(),
            version: None,
            began: false,
            skipping: false,
            headless: false,
            cut: false,
        }
    }

    /// What it reads from.
    pub fn source(&self) -> &R {
        self.window.reader()
    }

    /// The settings of a session from now on.
    pub fn set_mode(&mut self, thread: u64, mode: SqlMode) {
        if mode == self.default_mode {
            self.modes.remove(&thread);
        } else if self.modes.len() < MAX_MODES || self.modes.contains_key(&thread) {
            self.modes.insert(thread, mode);
        }
    }

    /// A session has ended, or is as a fresh one.
    pub fn forget(&mut self, thread: u64) {
        self.modes.remove(&thread);
    }

    /// The settings of a session.
    pub fn mode(&self, thread: Option<u64>) -> SqlMode {
        mode_of(&self.modes, self.default_mode, thread)
    }

    /// The last version that the log said.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// The place at which the reader is.
    pub fn place(&self) -> Place {
        self.place_at(self.window.line())
    }

    /// A line of this log.
    pub(crate) fn place_at(&self, line: u64) -> Place {
        Place {
            file: self.path.display().to_string(),
            line,
        }
    }

    /// The next entry; what is not kept is counted in `dropped`. None at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next(&mut self, dropped: &mut Dropped) -> Result<Option<Item<'_>>, CaptureError> {
        match self.advance(dropped)? {
            Next::End => Ok(None),
            Next::Banner => Ok(Some(Item::Opened)),
            Next::Said(range) => Ok(Some(Item::Database(&self.window.buffer()[range]))),
            Next::Entry {
                parsed,
                range,
                line,
                mode,
            } => {
                let entry = entry(&self.window.buffer()[range], &parsed, line);
                Ok(Some(Item::Entry(entry, mode)))
            }
        }
    }

    fn advance(&mut self, dropped: &mut Dropped) -> Result<Next, CaptureError> {
        loop {
            let text = self.window.bytes();
            let eof = self.window.is_last();
            if text.is_empty() {
                if eof {
                    return Ok(self.end(dropped));
                }
                self.fill(dropped)?;
                continue;
            }
            match begins_banner(text, eof) {
                Seen::Yes => match banner_length(text, eof) {
                    Some(length) => {
                        self.version = first_line(text)
                            .and_then(|(line, _)| version(line))
                            .map(|version| String::from_utf8_lossy(version).into_owned());
                        self.window.consume(length);
                        self.began = true;
                        self.skipping = false;
                        if self.kind == LogKind::Slow {
                            // After a restart their numbers are those of others: what has quotes is hidden rather.
                            self.modes.clear();
                        }
                        return Ok(Next::Banner);
                    }
                    None if eof => {
                        self.window.consume(text.len());
                        continue;
                    }
                    None => {
                        self.fill(dropped)?;
                        continue;
                    }
                },
                Seen::Unknown => {
                    self.fill(dropped)?;
                    continue;
                }
                Seen::No => {}
            }
            match self.piece(eof) {
                Piece::Entry {
                    mut parsed,
                    next,
                    mode,
                } => {
                    if let Some(stamp) = parsed.stamp {
                        let duration = parsed.measured.duration_us.unwrap_or(0);
                        let (began, _) = self.clock.began(stamp, parsed.said_second, duration);
                        parsed.stamp = Some(began);
                    }
                    let start = self.window.start();
                    let line = self.window.line();
                    self.count_unknown(&parsed, dropped);
                    self.window.consume(next);
                    self.began = true;
                    self.skipping = false;
                    return Ok(Next::Entry {
                        parsed,
                        range: start..start + next,
                        line,
                        mode,
                    });
                }
                Piece::Drop {
                    cause,
                    next,
                    database,
                } => {
                    let start = self.window.start();
                    self.drop_piece(cause, next, dropped);
                    if let Some(range) = database {
                        return Ok(Next::Said(start + range.start..start + range.end));
                    }
                }
                Piece::Need => self.fill(dropped)?,
            }
        }
    }

    /// Counts the lines of a header that are not known.
    fn count_unknown(&self, parsed: &Parsed, dropped: &mut Dropped) {
        if parsed.unknown_lines == 0 {
            return;
        }
        let before = &self.window.bytes()[..parsed.first_unknown];
        let lines = memchr::memchr_iter(b'\n', before).count() as u64;
        let line = self.window.line() + lines;
        dropped.add(Cause::UnknownHeaderLine, parsed.unknown_lines, 0, || {
            self.place_at(line)
        });
    }

    /// What the window begins with.
    fn piece(&mut self, eof: bool) -> Piece {
        let text = self.window.bytes();
        let begins = match self.kind {
            LogKind::Slow => slow_entry::begins(text, eof),
            LogKind::General | LogKind::Traffic => general::begins(text, eof, &self.general.zone),
        };
        match begins {
            Seen::Unknown => return Piece::Need,
            Seen::No => {
                let next = match self.kind {
                    LogKind::Slow => slow_entry::resynchronise(text),
                    LogKind::General | LogKind::Traffic => self.general.resynchronise(text),
                };
                // Up to the last line feed: what follows it may become a header when there is more of it.
                let next = if next == text.len() && !eof {
                    match memchr::memrchr2(b'\n', 0, text) {
                        Some(at) if at > 0 => at,
                        _ => return Piece::Need,
                    }
                } else {
                    next
                };
                return Piece::drop(Cause::StrayLines, next);
            }
            Seen::Yes => {}
        }
        let (modes, default) = (&self.modes, self.default_mode);
        let mode = |thread| mode_of(modes, default, thread);
        match self.kind {
            LogKind::Slow => slow_entry::read(text, eof, self.meaning, mode),
            LogKind::General | LogKind::Traffic => {
                // The window is borrowed apart from what is remembered.
                let text = self.window.bytes();
                self.general.read(text, eof, mode)
            }
        }
    }

    fn drop_piece(&mut self, cause: Cause, next: usize, dropped: &mut Dropped) {
        let place = self.place();
        let eof = self.window.is_last() && next >= self.window.bytes().len();
        let piece = &self.window.bytes()[..next.min(self.window.bytes().len())];
        let is_blank = |b: &u8| *b == 0 || b.is_ascii_whitespace();
        let continues =
            self.skipping && matches!(cause, Cause::StrayLines | Cause::TooLong | Cause::CutTail);
        let cause = match cause {
            Cause::StrayLines if piece.iter().all(is_blank) => Cause::Blank,
            Cause::BrokenHeader | Cause::StrayLines if !self.began => Cause::CutHead,
            Cause::BrokenHeader | Cause::StrayLines if eof => Cause::CutTail,
            Cause::StrayLines if is_comment(piece) => Cause::CommentLines,
            cause => cause,
        };
        // What continues a piece that was counted is the same piece. Blank lines are nothing, zeroes are told.
        let is_space = cause == Cause::Blank && !piece.contains(&0);
        let first = u64::from(!continues && !is_space);
        let headers = match (cause, self.kind) {
            (Cause::BrokenHeader | Cause::StrayLines | Cause::CutHead, LogKind::Slow) => {
                slow_header::count(piece)
            }
            (Cause::StrayLines, _) => general::count_heads(piece),
            _ => 0,
        };
        // The header of a piece may follow in the next one.
        let owed = u64::from(continues && self.headless);
        let count = first.max(headers.saturating_sub(owed));
        self.headless = headers == 0 && (first > 0 || self.headless);
        if count > 0 {
            dropped.add(cause, count, next, || place);
        }
        self.cut |= cause == Cause::CutTail && count > 0;
        self.skipping = matches!(
            cause,
            Cause::BrokenHeader
                | Cause::CutHead
                | Cause::TooLong
                | Cause::StrayLines
                | Cause::CommentLines
        );
        self.window.consume(next);
    }

    fn fill(&mut self, dropped: &mut Dropped) -> Result<(), CaptureError> {
        let full = !self
            .window
            .fill()
            .map_err(CaptureError::file("read", &self.path))?;
        if full {
            let length = self.window.bytes().len();
            self.began = true;
            // A line feed stays, so that a header after it is seen.
            self.drop_piece(Cause::TooLong, length - 1, dropped);
        }
        Ok(())
    }

    fn end(&mut self, dropped: &mut Dropped) -> Next {
        // A compressed file that ends early, after a whole entry: what was cut is not known, that something was is.
        if self.window.broken.take().is_some() && !self.cut {
            let place = self.place();
            dropped.add(Cause::CutTail, 1, 0, || place);
        }
        Next::End
    }
}

/// Whether lines are nothing but comments, and nothing of a header that was cut.
fn is_comment(lines: &[u8]) -> bool {
    let is_comment = |line: &[u8]| {
        let is_field = line.starts_with(b"# ") && memchr::memmem::find(line, b": ").is_some();
        line.starts_with(b"-- ") || line.starts_with(b"#") && !is_field || line.is_empty()
    };
    let mut lines = lines.split(|&b| b == b'\n').map(<[u8]>::trim_ascii);
    lines.all(is_comment)
}

fn mode_of(modes: &HashMap<u64, SqlMode>, default: SqlMode, thread: Option<u64>) -> SqlMode {
    if modes.is_empty() {
        return default;
    }
    thread
        .and_then(|thread| modes.get(&thread))
        .copied()
        .unwrap_or(default)
}

fn entry<'a>(bytes: &'a [u8], parsed: &Parsed, line: u64) -> Entry<'a> {
    Entry {
        command: parsed.command.unwrap_or(Command::Other),
        thread: parsed.thread,
        user: &bytes[parsed.user.clone()],
        way: parsed.way,
        database: parsed.database.clone().map(|range| &bytes[range]),
        stamp: parsed.stamp.unwrap_or(Stamp::Second(0)),
        measured: parsed.measured,
        standing: None,
        sampled: parsed.sampled.max(1),
        whole_sessions: parsed.whole_sessions,
        client: None,
        routine: parsed.routine.clone().map(|range| &bytes[range]),
        text: &bytes[parsed.text.clone()],
        length: bytes.len(),
        line,
    }
}
