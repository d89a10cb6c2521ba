//! The header of an entry of a slow log.

use std::ops::Range;

use jiff::tz::TimeZone;

use super::entry::{Parsed, Stamp};
use super::line::first_line;
use super::meaning::Meaning;
use super::time::{parse_count, parse_iso, parse_local, parse_seconds};
use crate::way::Way;

/// What the lines before a statement say.
#[derive(Debug, Clone, Default)]
pub(super) struct Header {
    /// The values of the entry so far.
    pub parsed: Parsed,
    /// When it was logged, in microseconds, of MySQL.
    pub logged_us: Option<i64>,
    /// The end in microseconds, of `log_slow_extra`. Both this and the start are by the session's clock.
    pub end_us: Option<i64>,
    /// The start in microseconds, of `log_slow_extra`.
    pub start_us: Option<i64>,
    /// `SET timestamp`, in seconds.
    pub timestamp: Option<i64>,
    /// `# User@Host` was there.
    pub has_user: bool,
    /// `# Query_time` was there.
    pub has_times: bool,
    /// Of replication.
    pub internal: bool,
    /// The lines at hand are warnings that the statement caused.
    in_warnings: bool,
    /// Full scans are known by a counter of rows, as MySQL has it.
    pub counts_rows_read: bool,
    /// Where the statement begins.
    pub length: usize,
}

/// Most lines of a header that are not known: what has more is no header.
const MAX_UNKNOWN: u64 = 64;

/// How far a start may be from what the logged time says, in microseconds, for it to be of the same clock.
const APART_US: u64 = 60_000_000;

/// Fields that servers write, by how their names begin: those of MariaDB, MySQL and Percona Server. They only tell known lines from
/// others. What is kept of one is decided in [`Header::field`]: a new field needs both.
const FIELDS: [&[u8]; 36] = [
    b"Query_time",
    b"Lock_time",
    b"Rows_",
    b"Bytes_",
    b"Thread_id",
    b"Schema",
    b"QC_",
    b"Tmp_",
    b"Full_",
    b"Filesort",
    b"Merge_passes",
    b"Priority_queue",
    b"Stored_routine",
    b"InnoDB_",
    b"Log_slow_rate_",
    b"Last_errno",
    b"Errno",
    b"Killed",
    b"Pages_",
    b"Engine_",
    b"Read_",
    b"Sort_",
    b"Created_",
    b"Start",
    b"End",
    b"Last_",
    b"Profile_",
    b"Warning_count",
    b"Parse_",
    b"Opt_",
    b"Hit_",
    b"Optimizer",
    b"Exec_",
    b"Conn",
    b"Client",
    b"Server",
];

/// What a header came to.
#[derive(Debug)]
pub(super) enum Headed {
    Whole(Box<Header>),
    /// It is not whole; the next one may begin at `next`. `database`: where it says the one in use.
    Broken {
        next: usize,
        database: Option<Range<usize>>,
    },
    /// More of the log is needed.
    Need,
}

/// Reads the header that `text` begins with.
pub(super) fn read(text: &[u8], meaning: Meaning) -> Headed {
    let mut header = Header::default();
    header.parsed.sampled = 1;
    let mut at = 0;
    loop {
        let Some((line, length)) = first_line(&text[at..]) else {
            return Headed::Need;
        };
        if at > 0 && begins_entry(line) && (header.has_user || line.starts_with(b"# Time: ")) {
            return header.broken(at);
        }
        // Zeroes where a file was cut while it was written: the next entry begins behind them.
        if let Some(zeroes) = memchr::memrchr(0, line)
            && begins_entry(&line[zeroes + 1..])
        {
            return header.broken(at + zeroes + 1);
        }
        match line {
            [b'#', ..] => {
                let had_times = header.has_times;
                header.comment(line, at);
                // One that was cut within a line, in which the next one begins.
                let begins = line.starts_with(b"# Query_time: ") && had_times || begins_entry(line);
                if begins && let Some(next) = begins_within(&text[..at + line.len()]) {
                    return header.broken(next);
                }
            }
            // What a server wrote by mistake: a line without its `#`, a warning of several lines.
            _ if at > 0
                && !line.starts_with(b"use ")
                && !line.starts_with(b"SET ")
                && header.has_times
                && header.parsed.unknown_lines < MAX_UNKNOWN =>
            {
                header.unknown(at);
                if line.starts_with(b"  ") {
                    header.fields(line, at);
                }
            }
            _ if line.starts_with(b"use ") && line.ends_with(b";") => {
                header.parsed.database = Some(at + 4..at + line.len() - 1);
                strip_quotes(text, &mut header.parsed.database);
            }
            _ if line.starts_with(b"SET ") => match timestamp(line) {
                Some(seconds) => {
                    header.timestamp = Some(seconds);
                    header.length = at + length;
                    return header.close(meaning);
                }
                None => return header.broken(at),
            },
            _ => return header.broken(at + usize::from(at == 0) * length),
        }
        at += length;
    }
}

/// Whether a line of fields begins with one that servers write.
fn is_known(fields: &[u8]) -> bool {
    let name = fields.trim_ascii_start();
    name.is_empty() || FIELDS.iter().any(|known| name.starts_with(known))
}

/// `Yes` and `No`, as MariaDB and Percona Server write them.
fn parse_flag(value: &[u8]) -> Option<bool> {
    match value.trim_ascii() {
        b"Yes" => Some(true),
        b"No" => Some(false),
        _ => None,
    }
}

/// Whether a counter counted. MySQL's wrap after a ping: what is no believable number says nothing.
fn parse_any(value: &[u8]) -> Option<bool> {
    parse_count(value.trim_ascii())
        .filter(|&count| count < 1 << 62)
        .map(|count| count > 0)
}

/// Whether a line begins an entry.
pub(super) fn begins_entry(line: &[u8]) -> bool {
    line.starts_with(b"# Time: ") || line.starts_with(b"# User@Host: ")
}

/// How many entries a piece of a log has headers of, whole or not, as far as they can be told.
pub(super) fn count(piece: &[u8]) -> u64 {
    let times = memchr::memmem::find_iter(piece, b"# Query_time: ").count();
    // One that was cut within a line, and another one behind it.
    let begins = |mark: &[u8]| {
        memchr::memmem::find_iter(piece, mark)
            .filter(|&at| at > 0 && piece[at - 1] != b'\n')
            .count()
    };
    let cut = begins(b"# User@Host: ") + begins(b"# Time: ");
    times.max(usize::from(cut > 0) + cut) as u64
}

/// Where the last header begins that does not begin its line.
fn begins_within(text: &[u8]) -> Option<usize> {
    let last = |mark: &[u8]| memchr::memmem::rfind(text, mark);
    let at = last(b"# User@Host: ").max(last(b"# Time: "))?;
    (at > 0 && text[at - 1] != b'\n').then_some(at)
}

fn strip_quotes(text: &[u8], range: &mut Option<Range<usize>>) {
    if let Some(range) = range
        && range.len() >= 2
        && text[range.start] == b'`'
        && text[range.end - 1] == b'`'
    {
        *range = range.start + 1..range.end - 1;
    }
}

/// `SET timestamp=1795379601;`, perhaps with `last_insert_id` and `insert_id` before it.
fn timestamp(line: &[u8]) -> Option<i64> {
    let rest = line.strip_suffix(b";")?;
    let at = memchr::memmem::rfind(rest, b"timestamp=")?;
    let digits = &rest[at + 10..];
    let digits = digits.split(|&b| b == b'.').next()?;
    parse_count(digits).and_then(|n| i64::try_from(n).ok())
}

impl Header {
    fn comment(&mut self, line: &[u8], at: usize) {
        if let Some(time) = line.strip_prefix(b"# Time: ") {
            self.logged_us = parse_iso(time);
            if self.logged_us.is_none() {
                self.parsed.said_second = parse_local(time, &TimeZone::UTC, None);
            }
        } else if let Some(user) = line.strip_prefix(b"# User@Host: ") {
            self.has_user = true;
            self.user(user, at + 13);
        } else if line.starts_with(b"# Warnings") {
            self.in_warnings = true;
        } else if line.starts_with(b"# explain: ") || line.starts_with(b"# No InnoDB") {
        } else if let Some(fields) = line.strip_prefix(b"# ") {
            if is_known(fields) {
                self.in_warnings = false;
                self.fields(fields, at + 2);
            } else if !self.in_warnings {
                self.unknown(at);
                self.fields(fields, at + 2);
            }
        } else if !self.in_warnings && line.len() > 1 {
            self.unknown(at);
        }
    }

    /// The line that begins at `at` is not known.
    fn unknown(&mut self, at: usize) {
        if self.parsed.unknown_lines == 0 {
            self.parsed.first_unknown = at;
        }
        self.parsed.unknown_lines += 1;
    }

    /// `priv[user] @ host [address]  Id:    7`.
    fn user(&mut self, text: &[u8], at: usize) {
        if let Some(found) = memchr::memmem::rfind(text, b"  Id:") {
            self.parsed.thread = parse_count(text[found + 5..].trim_ascii());
        }
        let Some(end) = memchr::memmem::rfind(text, b" @ ") else {
            return;
        };
        let host = &text[end + 3..];
        let host = memchr::memmem::rfind(host, b"  Id:").map_or(host, |end| &host[..end]);
        self.parsed.way = Some(Way::of_host(host));
        let name = &text[..end];
        self.internal = name.starts_with(b"[SQL_SLAVE]") || name.starts_with(b"[SQL_THREAD]");
        let (start, end) = match (memchr::memchr(b'[', name), name.last()) {
            (Some(open), Some(b']')) if open + 2 < name.len() => (open + 1, name.len() - 1),
            (Some(open), _) => (0, open),
            (None, _) => (0, name.len()),
        };
        self.parsed.user = at + start..at + end;
    }

    /// `Query_time: 0.000231  Lock_time: 0.000000 Rows_sent: 1 …`.
    fn fields(&mut self, text: &[u8], at: usize) {
        let mut from = 0;
        while let Some(colon) = memchr::memchr(b':', &text[from..]) {
            let key = text[from..from + colon].trim_ascii_start();
            let mut start = from + colon + 1;
            if text.get(start) == Some(&b' ') {
                start += 1;
            }
            // A schema may have any name: it ends where the next field does begin.
            let end = if key == b"Schema" {
                [&b"  QC_hit: "[..], b"  Last_errno: "]
                    .iter()
                    .find_map(|next| memchr::memmem::rfind(&text[start..], next))
                    .map_or(text.len(), |length| start + length)
            } else {
                let skip = text[start..].iter().take_while(|&&b| b == b' ').count();
                start += skip;
                memchr::memchr(b' ', &text[start..]).map_or(text.len(), |length| start + length)
            };
            let value = &text[start..end];
            self.field(key, value, at + start);
            from = end;
        }
    }

    fn field(&mut self, key: &[u8], value: &[u8], at: usize) {
        let parsed = &mut self.parsed;
        match key {
            b"Query_time" => {
                parsed.measured.duration_us = parse_seconds(value);
                self.has_times = parsed.measured.duration_us.is_some();
            }
            b"Lock_time" => parsed.measured.lock_us = parse_seconds(value),
            b"Rows_sent" => parsed.measured.rows_sent = parse_count(value),
            b"Rows_examined" => parsed.measured.rows_examined = parse_count(value),
            b"Rows_affected" => parsed.measured.rows_affected = parse_count(value),
            b"Bytes_sent" => parsed.bytes_sent = parse_count(value),
            b"Thread_id" => parsed.thread = parse_count(value),
            b"Schema" => parsed.database = Some(at..at + value.trim_ascii_end().len()),
            b"Errno" | b"Last_errno" => {
                parsed.measured.error = parse_count(value).and_then(|n| u32::try_from(n).ok())
            }
            b"Full_scan" => parsed.measured.plan.full_scan = parse_flag(value),
            b"Full_join" => parsed.measured.plan.full_join = parse_flag(value),
            b"Filesort" => parsed.measured.plan.filesort = parse_flag(value),
            b"Tmp_table" => parsed.measured.plan.temporary_table = parse_flag(value),
            b"Tmp_table_on_disk" => {
                parsed.measured.plan.temporary_table_on_disk = parse_flag(value)
            }
            b"Created_tmp_tables" => parsed.measured.plan.temporary_table = parse_any(value),
            b"Created_tmp_disk_tables" => {
                parsed.measured.plan.temporary_table_on_disk = parse_any(value)
            }
            b"Sort_range_count" | b"Sort_scan_count" => {
                // One of the two is 0 where the other is not.
                parsed.measured.plan.filesort =
                    match (parsed.measured.plan.filesort, parse_any(value)) {
                        (Some(true), Some(_)) => Some(true),
                        (_, any) => any,
                    };
            }
            // Temporary tables are read in the same way: what counts them comes later, and decides.
            b"Read_rnd_next" => {
                parsed.measured.plan.full_scan = parse_any(value);
                self.counts_rows_read = true;
            }
            b"Start" => self.start_us = parse_iso(value),
            b"End" => self.end_us = parse_iso(value),
            b"Stored_routine" => parsed.routine = Some(at..at + value.len()),
            b"Log_slow_rate_type" => parsed.whole_sessions = value == b"session",
            b"Log_slow_rate_limit" => parsed.sampled = parse_count(value).unwrap_or(1).max(1),
            _ => {}
        }
    }

    /// It is not whole, and what follows it begins at `next`.
    fn broken(self, next: usize) -> Headed {
        Headed::Broken {
            next,
            database: self.parsed.database,
        }
    }

    /// MySQL counts rows of temporary tables among those of full scans: with one of them nothing is known of a full scan.
    fn settle_full_scan(&mut self) {
        let plan = &mut self.parsed.measured.plan;
        if self.counts_rows_read
            && plan.full_scan == Some(true)
            && plan.temporary_table != Some(false)
        {
            plan.full_scan = None;
        }
    }

    fn close(mut self, meaning: Meaning) -> Headed {
        self.settle_full_scan();
        let (Some(timestamp), true) = (self.timestamp, self.has_times) else {
            let next = self.length;
            return self.broken(next);
        };
        let duration = i64::try_from(self.parsed.measured.duration_us.unwrap_or(0)).unwrap_or(0);
        let before = |end: i64| end.saturating_sub(duration);
        let logged = self.logged_us.map(before);
        let said = self.start_us.or(self.end_us.map(before));
        // By a session's own clock (`SET timestamp`) it was another time.
        let said =
            said.filter(|said| logged.is_none_or(|logged| said.abs_diff(logged) <= APART_US));
        self.parsed.stamp = Some(match (said.or(logged), meaning) {
            (Some(start), _) => Stamp::Exact(start),
            (None, Meaning::Start) => Stamp::Second(timestamp),
            (None, Meaning::End) => Stamp::EndSecond(timestamp),
        });
        Headed::Whole(Box::new(self))
    }
}
