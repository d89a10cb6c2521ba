//! What a log is, told from its beginning.

use std::io::Read;

use jiff::tz::TimeZone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client_clock::ClientClock;
use super::entry::Stamp;
use super::line::{Seen, begins_banner, first_line, version};
use super::meaning::{Meaning, Votes};
use super::slow_header::{self, Headed};
use super::{clean, general, slow_entry};
use crate::error::{CaptureError, Likeness};
use crate::log::Input;

/// How much of a log is read to tell what it is, in bytes.
const PROBED_BYTES: u64 = 8 << 20;

/// The kind of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogKind {
    /// Statements with their durations, in the order of completion.
    Slow,
    /// Commands in the order of arrival, without durations.
    General,
    /// Recorded traffic: commands in the order in which they were answered.
    Traffic,
}

/// Who wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
    /// Percona Server.
    Percona,
}

/// What a log is.
#[derive(Debug, Clone)]
pub struct Probe {
    /// Its kind; of a log without an entry, nobody knows.
    pub kind: LogKind,
    /// It has no entry in what was read of it: the server has only just opened it.
    pub is_empty: bool,
    /// Who wrote it.
    pub dialect: Dialect,
    /// The server's version, where the log says it.
    pub version: Option<String>,
    /// The first time in it, in seconds since 1970: rotated files are read in this order.
    pub first_second: Option<i64>,
    /// When the file was changed last, in seconds since 1970, where that is known: the time of a log that says none.
    pub changed: Option<i64>,
    /// What its seconds mean.
    pub meaning: Meaning,
}

#[derive(Default)]
struct Findings {
    kind: Option<LogKind>,
    dialect: Option<Dialect>,
    version: Option<String>,
    first_second: Option<i64>,
    /// The same of the first entry by a client's own clock, as nearly as that is known.
    clients_second: Option<i64>,
    clock: ClientClock,
    votes: Votes,
}

impl Probe {
    /// Reads the beginning of a log.
    ///
    /// # Errors
    /// The file cannot be read; no log is in it.
    pub fn read(input: Input, zone: &TimeZone) -> Result<Probe, CaptureError> {
        let path = input.path.clone();
        let changed = input.changed;
        let mut bytes = Vec::new();
        if let Err(error) = input.take(PROBED_BYTES).read_to_end(&mut bytes)
            && bytes.is_empty()
        {
            return Err(CaptureError::file("read", &path)(error));
        }
        let probe = Probe::of(&bytes, zone).ok_or_else(|| CaptureError::NoLog {
            path,
            bytes: bytes.len(),
            stands_before: clean::before_header(&bytes),
            likeness: likeness(&bytes),
        })?;
        Ok(Probe { changed, ..probe })
    }

    /// What a log is that begins with these bytes; none for what is no log.
    pub fn of(bytes: &[u8], zone: &TimeZone) -> Option<Probe> {
        let mut found = Findings::default();
        let mut at = 0;
        while at < bytes.len() {
            at += found.line(&bytes[at..], zone);
        }
        let dialect = found.dialect.unwrap_or(Dialect::Mysql);
        // A log that nothing was written to since it was opened is a log too.
        if found.kind.is_none() && found.version.is_none() && !bytes.is_empty() {
            return None;
        }
        Some(Probe {
            kind: found.kind.unwrap_or(LogKind::Slow),
            is_empty: found.kind.is_none(),
            dialect,
            version: found.version,
            first_second: found.first_second.or(found.clients_second),
            changed: None,
            meaning: found.votes.verdict(),
        })
    }
}

impl Findings {
    /// Reads the line at the beginning of `text`; its length.
    fn line(&mut self, text: &[u8], zone: &TimeZone) -> usize {
        let (line, length) = first_line(text).unwrap_or((text, text.len()));
        if self.version.is_none() && begins_banner(text, true) == Seen::Yes {
            let version = version(line).unwrap_or_default();
            self.version = Some(String::from_utf8_lossy(version).into_owned());
            self.dialect = dialect_of(version).or(self.dialect);
        } else if self.kind != Some(LogKind::General) && slow_entry::begins(text, true) == Seen::Yes
        {
            return self.slow(text).unwrap_or(length);
        } else if self.kind.is_none() && general::begins(text, true, zone) == Seen::Yes {
            self.kind = Some(LogKind::General);
            self.general(line, zone);
        } else if self.kind == Some(LogKind::General) && self.first_second.is_none() {
            self.general(line, zone);
        } else if self.kind == Some(LogKind::General) {
            // All that can be told is known.
            return text.len();
        }
        length
    }

    fn general(&mut self, line: &[u8], zone: &TimeZone) {
        let time = general::time_at(line).map_or(line, |(time, _)| time);
        let micros = super::time::parse_iso(time);
        self.first_second = micros
            .map(|micros| micros.div_euclid(1_000_000))
            .or_else(|| super::time::parse_local(time, zone, None));
        if self.first_second.is_some() && self.dialect.is_none() {
            self.dialect = Some(if micros.is_some() {
                Dialect::Mysql
            } else {
                Dialect::Mariadb
            });
        }
    }

    fn slow(&mut self, text: &[u8]) -> Option<usize> {
        let Headed::Whole(header) = slow_header::read(text, Meaning::Start) else {
            return None;
        };
        self.kind = Some(LogKind::Slow);
        let lines = &text[..header.length];
        let has = |word: &[u8]| memchr::memmem::find(lines, word).is_some();
        if self.dialect.is_none() {
            self.dialect = if has(b"  QC_hit: ") {
                Some(Dialect::Mariadb)
            } else if has(b"  Last_errno: ") {
                Some(Dialect::Percona)
            } else if header.logged_us.is_some() {
                Some(Dialect::Mysql)
            } else {
                None
            };
        }
        if let Some(stamp) = header.parsed.stamp {
            let duration = header.parsed.measured.duration_us.unwrap_or(0);
            let said = header.parsed.said_second;
            let (stamp, is_servers) = self.clock.began(stamp, said, duration);
            let second = match stamp {
                Stamp::Exact(micros) => micros.div_euclid(1_000_000),
                Stamp::Second(second) | Stamp::EndSecond(second) => second,
            };
            match is_servers {
                true => self.first_second.get_or_insert(second),
                false => self.clients_second.get_or_insert(second),
            };
            if is_servers && matches!(stamp, Stamp::Second(_)) {
                self.votes.see(second, duration);
            }
        }
        Some(header.length)
    }
}

/// What text resembles that is no log.
fn likeness(text: &[u8]) -> Option<Likeness> {
    let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
    if has(b"# Query_time: ") && !has(b"SET timestamp=") {
        return Some(Likeness::SlowWithoutTimes);
    }
    let mut lines = text.split(|&b| b == b'\n');
    lines
        .any(general::is_head_without_tabs)
        .then_some(Likeness::GeneralWithoutTabs)
}

fn dialect_of(version: &[u8]) -> Option<Dialect> {
    let has = |word: &[u8]| memchr::memmem::find(version, word).is_some();
    if has(b"MariaDB") {
        Some(Dialect::Mariadb)
    } else if has(b"Percona") {
        Some(Dialect::Percona)
    } else {
        // Percona's headers tell where its banner does not.
        None
    }
}
