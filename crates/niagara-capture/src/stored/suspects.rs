//! Statements of a general log that may be those of triggers and stored functions, where nobody knows these: the same text, to the
//! letter, behind statements of one digest each time.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::sql::Class;

/// Most texts that are remembered, and most sessions.
const MAX_TEXTS: usize = 1 << 16;
const MAX_SESSIONS: usize = 1 << 16;
/// The longest text, in bytes.
const MAX_LENGTH: usize = 4096;

/// A text that changes something.
#[derive(Debug)]
struct Text {
    /// What stood before it.
    after: u64,
    /// It was the same digest each time.
    always: bool,
    count: u64,
}

/// Collects them.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// Each session's last statement, without its literals, if that may call something.
    before: HashMap<u64, u64>,
    texts: HashMap<u64, Text>,
}

/// Words behind which parentheses are no call of a stored function, a line each: keywords and functions of the servers' own.
///
/// Source: MariaDB 11.8.9 and MySQL 9.7.4, asked `SELECT word()` of their KEYWORDS and SQL_FUNCTIONS. Words are here for which MariaDB does
/// not say that there is no such function (error 1305), or that are functions of MySQL; and types, for `CAST(a AS DATETIME(6))`.
const BUILT_IN: &str = include_str!("built_in.txt");

fn is_built_in(word: &[u8]) -> bool {
    static WORDS: LazyLock<HashSet<&[u8]>> =
        LazyLock::new(|| BUILT_IN.lines().map(str::as_bytes).collect());
    WORDS.contains(word)
}

impl Suspects {
    /// A statement that was taken for a client's, with a number of it without its literals; and whether it may call a function.
    pub fn see(&mut self, thread: u64, class: Class, skeleton: u64, calls: bool, text: &[u8]) {
        let after = self.before.remove(&thread);
        let is_write = class == Class::Write;
        if is_write && text.len() <= MAX_LENGTH {
            let hash = xxhash_rust::xxh3::xxh3_64(text);
            let is_full = self.texts.len() >= MAX_TEXTS;
            if let Some(known) = self.texts.get_mut(&hash) {
                known.always &= after == Some(known.after);
                known.count += 1;
            } else if !is_full {
                self.texts.insert(
                    hash,
                    Text {
                        after: after.unwrap_or_default(),
                        always: after.is_some(),
                        count: 1,
                    },
                );
            }
        }
        if is_write || calls {
            if self.before.len() >= MAX_SESSIONS {
                self.before.clear();
            }
            self.before.insert(thread, skeleton);
        }
    }

    /// How many statements may be those of triggers and functions.
    pub fn count(&self) -> u64 {
        let may_be = |text: &&Text| text.always && text.count > 1;
        self.texts
            .values()
            .filter(may_be)
            .map(|text| text.count)
            .sum()
    }
}

/// Whether a digest's text names a function that is none of the usual ones.
pub(crate) fn may_call(digest: &[u8]) -> bool {
    memchr::memchr_iter(b'(', digest).any(|at| {
        let head = &digest[..at];
        let length = head
            .iter()
            .rev()
            .take_while(|&&b| crate::sql::is_word(b))
            .count();
        let word = &head[at - length..];
        !word.is_empty() && !is_built_in(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_server_call_nothing_stored() {
        for usual in [
            "select rank() over (partition by a order by b) from t",
            "select sum(a) over() from t",
            "select json_extract(a, ?), substring_index(b, ?, ?) from t where (a = ?)",
            "insert into t values(...)",
        ] {
            assert!(!may_call(usual.as_bytes()), "{usual}");
        }
        for own in ["tax_of", "distance", "labels", "owner"] {
            assert!(
                may_call(format!("select {own}(price) from t").as_bytes()),
                "{own}"
            );
        }
    }
}
