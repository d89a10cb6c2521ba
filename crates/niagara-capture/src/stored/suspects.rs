//! Statements of a general log that may be those of triggers and stored functions, where nobody knows these: the same text, to the
//! letter, behind statements of one digest each time.

use std::collections::HashMap;

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

/// Words behind which parentheses are no call of a stored function: the most usual ones.
const BUILT_IN: [&[u8]; 48] = [
    b"in",
    b"values",
    b"count",
    b"sum",
    b"min",
    b"max",
    b"avg",
    b"exists",
    b"and",
    b"or",
    b"not",
    b"where",
    b"on",
    b"select",
    b"from",
    b"join",
    b"using",
    b"if",
    b"ifnull",
    b"nullif",
    b"coalesce",
    b"concat",
    b"concat_ws",
    b"group_concat",
    b"now",
    b"curdate",
    b"date",
    b"year",
    b"month",
    b"day",
    b"date_add",
    b"date_sub",
    b"date_format",
    b"from_unixtime",
    b"unix_timestamp",
    b"lower",
    b"upper",
    b"length",
    b"char_length",
    b"substring",
    b"left",
    b"round",
    b"abs",
    b"cast",
    b"distinct",
    b"as",
    b"interval",
    b"any",
];

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
        !word.is_empty() && !BUILT_IN.contains(&word)
    })
}
