//! Lines that are no part of a statement.

/// Whether `text` begins with something, as far as it can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    Yes,
    No,
    /// More of the log is needed to tell.
    Unknown,
}

/// Longest line that may be a banner.
const MAX_BANNER: usize = 4096;

/// The line at the beginning of `text` without its end, and where the next one begins; none when it does not end.
pub(super) fn first_line(text: &[u8]) -> Option<(&[u8], usize)> {
    let end = memchr::memchr(b'\n', text)?;
    let line = &text[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1))
}

/// Whether `text` begins with `prefix`.
pub(super) fn begins_with(text: &[u8], prefix: &[u8], eof: bool) -> Seen {
    if text.starts_with(prefix) {
        Seen::Yes
    } else if !eof && prefix.starts_with(text) {
        Seen::Unknown
    } else {
        Seen::No
    }
}

/// Whether `text` begins with the line that a server writes when it opens a log:
/// `/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (source). started with:`.
pub(super) fn begins_banner(text: &[u8], eof: bool) -> Seen {
    // Every statement and header begins otherwise: a path, absolute or of Windows.
    let path = match text {
        [] => return if eof { Seen::No } else { Seen::Unknown },
        [b'/', b'*', ..] => false,
        [b'/', ..] => true,
        [b'.', ..] => is_relative_path(text),
        [letter, rest @ ..] => {
            letter.is_ascii_alphabetic()
                && (rest.is_empty()
                    || rest[0] == b':'
                    || is_plain_name(text)
                    || is_relative_path(text))
        }
    };
    if !path {
        return Seen::No;
    }
    match first_line(&text[..text.len().min(MAX_BANNER)]) {
        Some((line, _)) if is_banner(line) => Seen::Yes,
        Some(_) => Seen::No,
        None if eof || text.len() >= MAX_BANNER => Seen::No,
        None => Seen::Unknown,
    }
}

/// A server that was started by its name alone.
fn is_plain_name(text: &[u8]) -> bool {
    [&b"mysqld"[..], b"mariadbd", b"my", b"ma"]
        .iter()
        .any(|name| text.starts_with(name))
}

/// A server that was started by a path from where its folder was: `bin/mysqld`, `./mariadbd`.
fn is_relative_path(text: &[u8]) -> bool {
    let is_of_path = |b: &u8| b.is_ascii_alphanumeric() || b"/_.-".contains(b);
    let word = text.iter().take_while(|b| is_of_path(b));
    !text.starts_with(b"/") && word.take(MAX_BANNER).any(|&b| b == b'/')
}

fn is_banner(line: &[u8]) -> bool {
    line.trim_ascii_end().ends_with(b"started with:") && version(line).is_some()
}

/// The version that a banner says: what follows `Version: `.
pub(super) fn version(line: &[u8]) -> Option<&[u8]> {
    let at = memchr::memmem::find(line, b"Version: ")?;
    let rest = line[at + 9..].trim_ascii_end();
    Some(rest.strip_suffix(b". started with:").unwrap_or(rest))
}

/// The length of the banner that `text` begins with: its line, and the two that belong to it. None when more is needed.
pub(super) fn banner_length(text: &[u8], eof: bool) -> Option<usize> {
    let (_, mut at) = first_line(text)?;
    for prefix in [&b"Tcp port: "[..], b"TCP Port: ", b"Time"] {
        match begins_with(&text[at..], prefix, eof) {
            Seen::Yes => match first_line(&text[at..]) {
                Some((_, length)) => at += length,
                None if eof => return Some(text.len()),
                None => return None,
            },
            Seen::No => {}
            Seen::Unknown => return None,
        }
    }
    Some(at)
}

/// Whether `text` begins with all three lines of a server that opens a log.
pub(super) fn is_whole_banner(text: &[u8]) -> bool {
    begins_banner(text, true) == Seen::Yes
        && first_line(text).is_some_and(|(_, length)| {
            let rest = &text[length..];
            rest.starts_with(b"Tcp port: ") || rest.starts_with(b"TCP Port: ")
        })
}

/// Whether a statement ends a comment that it has not begun.
pub(super) fn closes_comment(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"*/")
        .is_some_and(|close| memchr::memmem::find(&text[..close], b"/*").is_none())
}

/// What ends the first line of a banner.
const STARTED: &[u8] = b"started with:";

/// Where a banner begins within `text`, be it in the middle of a line that was cut; else the end of `text`.
pub(super) fn before_banner(text: &[u8]) -> usize {
    memchr::memmem::find_iter(text, STARTED)
        .find_map(|end| {
            let line = memchr::memrchr(b'\n', &text[..end]).map_or(0, |at| at + 1);
            let version = memchr::memmem::find(&text[line..end], b", Version: ")? + line;
            // Back to where the path of the program begins.
            let is_path = |b: &u8| b.is_ascii_alphanumeric() || b"/_.-:\\".contains(b);
            let length = text[line..version]
                .iter()
                .rev()
                .take_while(|b| is_path(b))
                .count();
            let path = version - length;
            // What stands before an absolute path on its line is what was cut, not a folder.
            let is_whole = |at: &usize| is_whole_banner(&text[*at..]);
            let is_absolute = |at: &usize| !is_relative_path(&text[*at..]);
            match path == line && is_whole(&path) {
                true => Some(path),
                false => (path..version).find(|at| is_absolute(at) && is_whole(at)),
            }
        })
        .unwrap_or(text.len())
}
