//! What lies around a log that came through other hands: a mark of its encoding, line ends of Windows, a prefix that a log collector
//! puts before lines or before entries, events as JSON. All of it is taken away while the log is read.

use std::io::{self, Read};

use jiff::tz::TimeZone;

use super::general;
use super::json::{JsonText, give};
use super::line::{Seen, begins_banner};
use super::slow_entry;

/// As much of a log as tells what is around it, in bytes.
const SAMPLE: usize = 1 << 16;

/// How much is read at a time, in bytes.
const STEP: usize = 1 << 16;

/// The longest beginning of a line in which a prefix is looked for, in bytes.
const MAX_PREFIX: usize = 200;

/// The longest line that is held back until its end is known, in bytes: no prefix or header is longer.
const MAX_LINE: usize = 1 << 16;

/// Lines of a header that a prefix is told by.
const MARKS: [&[u8]; 3] = [b"# Time: ", b"# User@Host: ", b"# Query_time: "];

/// What AWS's command line begins an event with, as text.
const EVENT: &[u8] = b"EVENTS\t";

/// A mark that a text is UTF-8.
const BOM: &[u8] = b"\xef\xbb\xbf";

/// What is around a log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Around {
    /// Lines end as on Windows.
    returns: bool,
    prefix: Option<Prefix>,
    /// It is what `aws logs … --output text` prints: each event between its columns, [`EVENT`] before it and its time behind it.
    events: bool,
}

/// What stands before the lines of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Prefix {
    /// How many words it has.
    words: usize,
    /// The first of them, with runs of digits and letters as one each.
    shape: Vec<u8>,
    /// What separates it from the line.
    separator: Vec<u8>,
    /// It stands before every line; else before the first one of each entry.
    every_line: bool,
}

/// Reads a log without what is around it.
///
/// # Errors
/// It cannot be read; it is UTF-16 ([`is_utf16`]).
pub(super) fn clean(mut reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut sample = sample(&mut reader)?;
    if is_utf16(&sample) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, Utf16));
    }
    if sample.starts_with(BOM) {
        sample.drain(..BOM.len());
    }
    if JsonText::is_json(&sample) {
        reader = Box::new(JsonText::new(io::Cursor::new(sample).chain(reader)));
        sample = self::sample(&mut reader)?;
    }
    let around = Around::of(&sample);
    let whole = io::Cursor::new(sample).chain(reader);
    Ok(match around == Around::default() {
        true => Box::new(Thin::new(whole)),
        false => Box::new(Lines::new(Thin::new(whole), around)),
    })
}

/// The file is UTF-16, which no server writes.
#[derive(Debug, thiserror::Error)]
#[error("the file is UTF-16, which no server writes: somebody has saved it so")]
pub(super) struct Utf16;

fn is_utf16(sample: &[u8]) -> bool {
    sample.starts_with(b"\xff\xfe") || sample.starts_with(b"\xfe\xff") || {
        // Without its mark: every second byte of an ASCII text is zero.
        let head = &sample[..sample.len().min(64)];
        let every_other = |first: usize| head.iter().skip(first).step_by(2);
        let is_side = |zeroes: usize| {
            every_other(zeroes).all(|&b| b == 0) && every_other(1 - zeroes).all(|&b| b != 0)
        };
        head.len() >= 8 && (is_side(0) || is_side(1))
    }
}

fn sample(reader: &mut Box<dyn Read + Send>) -> io::Result<Vec<u8>> {
    let mut sample = Vec::new();
    match reader.take(SAMPLE as u64).read_to_end(&mut sample) {
        Ok(_) => Ok(sample),
        // A compressed file that ends early: what there is of it is read, and the end found again.
        Err(_) if !sample.is_empty() => Ok(sample),
        Err(error) => Err(error),
    }
}

/// What stands before the first header of `sample`, where a header does not begin its line.
pub(super) fn before_header(sample: &[u8]) -> Option<String> {
    let sample = &sample[..sample.len().min(SAMPLE)];
    sample.split(|&b| b == b'\n').find_map(|line| {
        let at = header_in(line).filter(|&at| at > 0)?;
        Some(String::from_utf8_lossy(&line[..at]).into_owned())
    })
}

/// Where a header begins in a line.
fn header_in(line: &[u8]) -> Option<usize> {
    let marks = MARKS.iter().filter_map(|mark| mark_in(line, mark));
    marks.min().or_else(|| head_in(line))
}

/// Where a line of a slow log's header stands in a line.
fn mark_in(line: &[u8], mark: &[u8]) -> Option<usize> {
    memchr::memmem::find(&line[..line.len().min(MAX_PREFIX + mark.len())], mark)
}

/// Where an entry of a general log begins in a line, at the beginning of a word.
fn head_in(line: &[u8]) -> Option<usize> {
    (0..line.len().min(MAX_PREFIX)).find(|&at| {
        (at == 0 || matches!(line[at - 1], b' ' | b'\t' | b'|'))
            && (line[at].is_ascii_digit() || line[at] == b'\t')
            && general::begins(&line[at..], true, &TimeZone::UTC) == Seen::Yes
    })
}

/// Whether an entry or the line of a server that opens its log begins here.
fn begins_entry(text: &[u8]) -> bool {
    slow_entry::begins(text, true) == Seen::Yes
        || begins_banner(text, true) == Seen::Yes
        || general::begins(text, true, &TimeZone::UTC) == Seen::Yes
}

impl Around {
    fn of(sample: &[u8]) -> Around {
        // The last one may be cut.
        let end = memchr::memrchr(b'\n', sample).unwrap_or(sample.len());
        let lines = || sample[..end].split(|&b| b == b'\n');
        let (all, returns) = lines().fold((0, 0), |(all, returns), line| {
            (all + 1, returns + usize::from(line.ends_with(b"\r")))
        });
        Around {
            returns: end < sample.len() && 2 * returns > all,
            prefix: prefix(lines),
            events: lines().any(|line| line.starts_with(EVENT) && header_in(line).is_some()),
        }
    }
}

/// What stands before the lines, or before the entries, of a log; none where a header begins its line.
fn prefix<'a, I: Iterator<Item = &'a [u8]>>(lines: impl Fn() -> I) -> Option<Prefix> {
    // Of a mark that does not begin its line anywhere.
    let first = |find: &dyn Fn(&[u8]) -> Option<usize>| {
        let mut found = lines().filter_map(|line| Some((line, find(line)?)));
        let first = found.next()?;
        (first.1 > 0 && found.all(|(_, at)| at > 0)).then_some(first)
    };
    let (line, at) = MARKS
        .iter()
        .find_map(|mark| first(&|line| mark_in(line, mark)))
        .or_else(|| match lines().any(begins_entry) {
            true => None,
            false => first(&head_in),
        })?;
    let mut prefix = Prefix::of(&line[..at])?;
    let is_blank = |line: &&[u8]| line.trim_ascii().is_empty();
    prefix.every_line = lines()
        .filter(|line| !is_blank(line))
        .all(|line| prefix.length(line).is_some());
    Some(prefix)
}

/// The words of a text: where each begins and ends.
fn words(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let start = at + rest.iter().position(|b| !b.is_ascii_whitespace())?;
        let length = text[start..].iter().position(u8::is_ascii_whitespace);
        at = length.map_or(text.len(), |length| start + length);
        Some((start, at))
    })
}

/// A word with runs of digits and of letters as one each.
fn shape(word: &[u8]) -> Vec<u8> {
    let mut shape: Vec<u8> = Vec::new();
    for &byte in word {
        let kind = match byte {
            b'0'..=b'9' => b'0',
            b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => b'a',
            other => other,
        };
        if shape.last() != Some(&kind) {
            shape.push(kind);
        }
    }
    // A fraction that ends with zeroes may be left out, and so may be its seconds' offset.
    if let Some(at) = memchr::memmem::find(&shape, b"0:0:0") {
        shape.truncate(at + 5);
    }
    shape
}

impl Prefix {
    /// From what stands before a header; none of too little.
    fn of(text: &[u8]) -> Option<Prefix> {
        let is_quoted = text.iter().any(|b| matches!(b, b'\'' | b'"' | b'`'));
        let (first, end) = words(text).next().filter(|_| !is_quoted)?;
        let (_, last) = words(text).last()?;
        Some(Prefix {
            words: words(text).count(),
            shape: shape(&text[first..end]),
            separator: text[last..].to_vec(),
            every_line: false,
        })
    }

    /// How long the prefix of a line is, if it has one.
    fn length(&self, line: &[u8]) -> Option<usize> {
        let head = &line[..line.len().min(MAX_PREFIX)];
        let mut words = words(head);
        let (start, end) = words.next()?;
        if start > 0 || shape(&head[..end]) != self.shape {
            return None;
        }
        let (_, end) = match self.words {
            1 => (start, end),
            count => words.nth(count - 2)?,
        };
        let rest = &line[end..];
        match rest.strip_prefix(&self.separator[..]) {
            Some(_) => Some(end + self.separator.len()),
            // An empty line, whose white space somebody has taken away.
            None if rest.trim_ascii().is_empty() => Some(end),
            None => None,
        }
    }
}

/// Long runs of zeroes as short ones: a log that was cut while the server wrote on has as many as it was long.
struct Thin<R> {
    inner: R,
    /// The last bytes were zeroes, and nothing else.
    zeroes: bool,
}

/// So many zeroes in a row are no part of a statement, in bytes.
const MANY_ZEROES: usize = 4096;

impl<R: Read> Thin<R> {
    fn new(inner: R) -> Thin<R> {
        Thin {
            inner,
            zeroes: false,
        }
    }
}

impl<R: Read> Read for Thin<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.inner.read(buffer)?;
            let is_zero = count >= MANY_ZEROES && buffer[..count].iter().all(|&b| b == 0);
            if !(is_zero && self.zeroes) {
                self.zeroes = is_zero;
                return Ok(count);
            }
        }
    }
}

/// Lines without their prefix, and ended as the server ends them.
struct Lines<R> {
    inner: R,
    around: Around,
    /// What was read, from `at` on.
    read: Vec<u8>,
    at: usize,
    /// What is handed out next, from `given` on.
    out: Vec<u8>,
    given: usize,
    /// The next line continues one whose beginning was handed out.
    inside: bool,
    /// The time behind an event was read: what follows is no part of the log until the next one begins.
    past_event: bool,
    eof: bool,
}

impl<R: Read> Lines<R> {
    fn new(inner: R, around: Around) -> Lines<R> {
        Lines {
            past_event: around.events,
            inner,
            around,
            read: Vec::new(),
            at: 0,
            out: Vec::new(),
            given: 0,
            inside: false,
            eof: false,
        }
    }

    /// Reads more and hands out the lines that are whole.
    fn fill(&mut self) -> io::Result<()> {
        self.read.drain(..self.at);
        self.at = 0;
        let before = self.read.len();
        self.read.resize(before + STEP, 0);
        let count = self.inner.read(&mut self.read[before..]);
        self.read
            .truncate(before + count.as_ref().map_or(0, |count| *count));
        self.eof = count? == 0;
        self.out.clear();
        self.given = 0;
        while let Some(length) = memchr::memchr(b'\n', &self.read[self.at..]) {
            self.line(self.at, self.at + length, true);
            self.at += length + 1;
        }
        let rest = self.read.len() - self.at;
        if self.eof || rest > MAX_LINE {
            let end = self.read.len();
            // A return at the end may belong to a line feed.
            let end = match self.read.last() {
                Some(b'\r') if !self.eof => end - 1,
                _ => end,
            };
            self.line(self.at, end, false);
            self.at = end;
        }
        Ok(())
    }

    fn line(&mut self, start: usize, end: usize, ends: bool) {
        let mut line = &self.read[start..end];
        if self.around.events {
            self.past_event &= self.inside || !line.starts_with(EVENT);
            if self.past_event {
                self.inside = !ends;
                return;
            }
            let message = without_time(line).filter(|_| ends);
            self.past_event = message.is_some();
            line = message.unwrap_or(line);
        }
        if !self.inside
            && let Some(prefix) = &self.around.prefix
            && let Some(length) = prefix.length(line)
            && (prefix.every_line || begins_entry(&line[length..]))
        {
            line = &line[length..];
        }
        if ends && self.around.returns {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        self.out.extend_from_slice(line);
        if ends {
            self.out.push(b'\n');
        }
        self.inside = !ends;
    }
}

/// A line without a tab and a time in milliseconds at its end; none where it does not end so.
fn without_time(line: &[u8]) -> Option<&[u8]> {
    let (message, time) = line.split_at_checked(line.len().checked_sub(14)?)?;
    let is_time = time[0] == b'\t' && time[1..].iter().all(u8::is_ascii_digit);
    is_time.then_some(message)
}

impl<R: Read> Read for Lines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.out.len() && !self.eof {
            self.fill()?;
        }
        Ok(give(&self.out, &mut self.given, buffer))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &[u8]) -> String {
        let mut out = Vec::new();
        let reader: Box<dyn Read + Send> = Box::new(io::Cursor::new(text.to_vec()));
        clean(reader)
            .expect("no UTF-16")
            .read_to_end(&mut out)
            .expect("readable");
        String::from_utf8_lossy(&out).into_owned()
    }

    const LOG: &str = "# Time: 2026-11-20T08:00:01.000000Z\n\
        # User@Host: app[app] @  [10.0.3.4]  Id: 40\n\
        # Query_time: 0.100000  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 40\n\
        SET timestamp=1795161601;\nSELECT a,\n b FROM t;\n\
        # Time: 2026-11-20T08:00:02.000000Z\n\
        # User@Host: app[app] @  [10.0.3.4]  Id: 40\n\
        # Query_time: 0.100000  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 40\n\
        SET timestamp=1795161602;\nSELECT 2\n\n, 3;\n";

    fn each_line(prefix: &str) -> String {
        LOG.lines()
            .map(|line| format!("{prefix}{line}\n"))
            .collect()
    }

    #[test]
    fn prefixes_of_every_line_are_taken_away() {
        for prefix in [
            "2026-11-20T08:00:01.000000000Z ",
            "db-1  | ",
            "Nov 20 08:00:01 db1 mysqld[77]: ",
            "2026-11-20T08:00:01.5Z stdout F ",
            "[mysql] ",
        ] {
            assert_eq!(cleaned(each_line(prefix).as_bytes()), LOG, "{prefix}");
        }
        let general = "2026-11-20T08:00:01.000000Z\t    7 Query\tselect 1\n\
            2026-11-20T08:00:02.000000Z\t    7 Query\tselect\n2\n";
        let told: String = general
            .lines()
            .map(|line| format!("2026-11-20T08:00:01+00:00 db {line}\n"))
            .collect();
        assert_eq!(cleaned(told.as_bytes()), general);
    }

    #[test]
    fn columns_around_events_are_taken_away() {
        let entries = LOG
            .split_inclusive(";\n# ")
            .map(|entry| entry.trim_end_matches("# "));
        let mut told = "b/397\tf/398\n".to_owned();
        for (place, entry) in entries.enumerate() {
            let head = match place {
                0 => "EVENTS\t1795161609999\t",
                _ => "b/399\tf/400\nEVENTS\t1795161609999\t# ",
            };
            told += &format!("{head}{}\t179516160{place}000\n", entry.trim_end());
        }
        assert_eq!(cleaned(told.as_bytes()), LOG);
    }

    #[test]
    fn prefixes_of_entries_are_taken_away() {
        for prefix in [
            "2026-11-20T08:00:01+00:00 prod-1 ",
            "2026-11-20T08:00:01.000Z ",
        ] {
            let text = LOG.replace("# Time", &format!("{prefix}# Time"));
            assert_eq!(cleaned(text.as_bytes()), LOG);
            // A line of a statement may look like one.
            let text = text.replace(" b FROM", &format!("{prefix}b FROM"));
            assert!(cleaned(text.as_bytes()).contains(&format!("{prefix}b FROM")));
        }
    }

    #[test]
    fn ends_of_lines_and_marks_are_taken_away() {
        let windows = LOG.replace('\n', "\r\n");
        assert_eq!(cleaned(windows.as_bytes()), LOG);
        assert_eq!(cleaned(format!("\u{feff}{windows}").as_bytes()), LOG);
        assert_eq!(cleaned(format!("\u{feff}{LOG}").as_bytes()), LOG);
        // A return of a client's is one.
        let with_return = LOG.replace("SELECT a,\n", "SELECT a,\r\n");
        assert_eq!(cleaned(with_return.as_bytes()), with_return);
    }

    #[test]
    fn events_as_json_are_read() {
        let events: Vec<String> = LOG
            .split_inclusive(";\n# Time")
            .map(str::to_owned)
            .collect();
        assert!(!events.is_empty());
        let entries: Vec<&str> = LOG.split("# Time").skip(1).collect();
        let texts: Vec<String> = entries
            .iter()
            .map(|entry| format!("# Time{}", entry.trim_end_matches('\n')))
            .collect();
        let quoted = |text: &String| serde_json::to_string(text).expect("a string");
        let of_key = |key: &str| -> Vec<String> {
            let event = |text| format!("{{\"timestamp\": 1, \"{key}\": {}}}", quoted(text));
            texts.iter().map(event).collect()
        };
        let insights: Vec<String> = texts
            .iter()
            .map(|text| {
                let value = quoted(text);
                format!("[{{\"field\":\"@message\",\"value\":{value}}},{{\"field\":\"@ptr\",\"value\":\"x\"}}]")
            })
            .collect();
        let strings: Vec<String> = texts.iter().map(quoted).collect();
        for json in [
            format!("{{\"events\": [{}]}}", of_key("message").join(",\n")),
            of_key("@message").join("\n"),
            format!("[{}]", strings.join(",")),
            strings.join("\n"),
            format!("{{\"results\":[{}]}}", insights.join(",")),
        ] {
            assert_eq!(cleaned(json.as_bytes()), LOG, "{json}");
        }
        let docker: String = LOG
            .split_inclusive('\n')
            .map(|line| {
                format!(
                    "{{\"log\":{},\"stream\":\"stderr\"}}\n",
                    quoted(&line.to_owned())
                )
            })
            .collect();
        assert_eq!(cleaned(docker.as_bytes()), LOG);
    }

    #[test]
    fn utf_16_is_refused() {
        for text in [&b"\xff\xfe#\0 \0T\0i\0m\0e\0"[..], b"#\0 \0T\0i\0m\0e\0:\0"] {
            let reader: Box<dyn Read + Send> = Box::new(io::Cursor::new(text.to_vec()));
            let error = clean(reader).err().expect("UTF-16");
            assert!(error.to_string().contains("UTF-16"), "{error}");
        }
        let mut zeroes = vec![0; 63];
        zeroes.extend_from_slice(LOG.as_bytes());
        assert!(cleaned(&zeroes).ends_with(LOG));
    }

    #[test]
    fn many_zeroes_are_read_as_some() {
        let mut text = LOG.as_bytes().to_vec();
        text.extend(vec![0; 10 << 20]);
        text.extend(LOG.as_bytes());
        let left = cleaned(&text);
        assert!(left.len() < 1 << 20, "{}", left.len());
        assert!(left.starts_with(LOG) && left.ends_with(LOG));
    }

    #[test]
    fn a_plain_log_stays_as_it_is() {
        assert_eq!(cleaned(LOG.as_bytes()), LOG);
        assert_eq!(cleaned(b""), "");
    }
}
