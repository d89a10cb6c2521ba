//! What a server's log says about why it stopped.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The last lines of a file.
pub(crate) fn tail(path: &Path, lines: usize) -> String {
    const FAR_ENOUGH: i64 = 256 << 10;
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len() as i64;
        file.seek(SeekFrom::End(-length.min(FAR_ENOUGH)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

/// The lines of a log that are errors.
pub(crate) fn errors(log: &str) -> impl Iterator<Item = &str> {
    log.lines()
        .filter(|line| line.contains("[ERROR]") || line.contains("ERROR:"))
}

/// The line that tells why a server did not start: the first error, preferring those that name a cause.
pub(crate) fn cause(log: &str) -> Option<String> {
    let errors: Vec<&str> = errors(log).collect();
    let telling = [
        "unknown variable",
        "unknown option",
        "ambiguous option",
        "Address already in use",
        "Cannot allocate",
        "No space left",
    ];
    let line = errors
        .iter()
        .find(|line| telling.iter().any(|phrase| line.contains(phrase)))
        .or(errors.first())?;
    Some(words(line))
}

/// What a line of a log says, without its time and rank.
pub(crate) fn words(line: &str) -> String {
    let text = line.split_once("[ERROR]").map_or(line, |(_, text)| text);
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_is_the_error_that_names_it() {
        let log = "2026-01-01 0:00:00 0 [Note] Starting\n\
                   2026-01-01 0:00:00 0 [ERROR] Aborting soon\n\
                   2026-01-01 0:00:00 0 [ERROR] /x/mariadbd: unknown variable 'colour=red'\n";
        assert_eq!(
            cause(log).as_deref(),
            Some("/x/mariadbd: unknown variable 'colour=red'")
        );
        assert_eq!(cause("nothing of note"), None);
    }
}
