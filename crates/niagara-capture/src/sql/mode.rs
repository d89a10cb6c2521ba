//! What of a session's settings moves the ends of literals.

use std::str::FromStr;

/// The settings under which a session's statements are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SqlMode {
    /// `"x"` is an identifier, not a string.
    pub ansi_quotes: bool,
    /// A backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// The character set of the connection.
    pub charset: Charset,
}

/// A character set, as far as the second byte of its characters may look like a backslash.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Charset {
    /// It does not.
    #[default]
    Plain,
    /// GBK and GB18030.
    Gbk,
    /// Big5.
    Big5,
    /// Shift JIS and CP932.
    Sjis,
}

impl Charset {
    /// By its name.
    fn named(name: &[u8]) -> Charset {
        match name.to_ascii_lowercase().as_slice() {
            b"gbk" | b"gb18030" => Charset::Gbk,
            b"big5" => Charset::Big5,
            b"sjis" | b"cp932" => Charset::Sjis,
            _ => Charset::Plain,
        }
    }

    /// How many bytes the character at the beginning of `text` has: two, or one that is not read as the beginning of two.
    /// Source: strings/ctype-gbk, -big5, -sjis of the servers.
    pub(crate) fn length(self, text: &[u8]) -> usize {
        let (Some(&head), Some(&tail)) = (text.first(), text.get(1)) else {
            return 1;
        };
        let is_double = match self {
            Charset::Plain => false,
            Charset::Gbk => {
                matches!(head, 0x81..=0xfe) && matches!(tail, 0x40..=0x7e | 0x80..=0xfe)
            }
            Charset::Big5 => {
                matches!(head, 0xa1..=0xf9) && matches!(tail, 0x40..=0x7e | 0xa1..=0xfe)
            }
            Charset::Sjis => {
                matches!(head, 0x81..=0x9f | 0xe0..=0xfc)
                    && matches!(tail, 0x40..=0x7e | 0x80..=0xfc)
            }
        };
        1 + usize::from(is_double)
    }
}

/// In a list of modes: those that were set before.
pub(super) const WHAT_IT_WAS: &[u8] = b"@@SQL_MODE";
/// In place of a list of modes: nobody knows which.
pub(super) const UNKNOWN: &[u8] = b"?";

/// The bits of modes with ANSI_QUOTES: that, POSTGRESQL, ORACLE, MSSQL, DB2, MAXDB, ANSI. Source: sql/sql_class.h of MariaDB.
const ANSI_BITS: u64 = 1 << 2 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 18;
const NO_BACKSLASH_BIT: u64 = 1 << 20;

/// A word that is no mode of the server's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown sql_mode {0:?}: expected modes as @@sql_mode shows them, joined by commas")]
pub struct UnknownMode(String);

impl SqlMode {
    /// The mode after `sql_mode` was set to this list of an [`Effect`](super::Effect); the character set stays. Unknown words are
    /// passed over.
    pub(crate) fn with_list(self, list: &[u8]) -> SqlMode {
        let mut mode = SqlMode {
            charset: self.charset,
            ..SqlMode::default()
        };
        for word in list.split(|&byte| byte == b',') {
            match word.trim_ascii().to_ascii_uppercase().as_slice() {
                b"ANSI" | b"ANSI_QUOTES" | b"DB2" | b"MAXDB" | b"MSSQL" | b"ORACLE"
                | b"POSTGRESQL" => mode.ansi_quotes = true,
                b"NO_BACKSLASH_ESCAPES" => mode.no_backslash_escapes = true,
                WHAT_IT_WAS => {
                    mode.ansi_quotes |= self.ansi_quotes;
                    mode.no_backslash_escapes |= self.no_backslash_escapes;
                }
                // What is in double quotes may be a literal, and is hidden as one.
                UNKNOWN => mode.no_backslash_escapes |= self.no_backslash_escapes,
                word => {
                    let word = std::str::from_utf8(word).unwrap_or_default();
                    let bits: u64 = word.parse().unwrap_or_default();
                    mode.ansi_quotes |= bits & ANSI_BITS != 0;
                    mode.no_backslash_escapes |= bits & NO_BACKSLASH_BIT != 0;
                }
            }
        }
        mode
    }

    /// The mode after the connection's character set became this one.
    pub fn with_character_set(self, name: &[u8]) -> SqlMode {
        SqlMode {
            charset: Charset::named(name),
            ..self
        }
    }
}

impl FromStr for SqlMode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<SqlMode, UnknownMode> {
        for word in text.split(',').map(str::trim) {
            if !word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                return Err(UnknownMode(word.to_owned()));
            }
        }
        Ok(SqlMode::default().with_list(text.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_the_mode() {
        let plain = SqlMode::default();
        let ansi = plain.with_list(b"ANSI_QUOTES");
        let both = ansi.with_list(b"@@sql_mode,no_backslash_escapes");
        for (before, list, expected) in [
            (plain, "STRICT_ALL_TABLES,ansi", (true, false)),
            (both, "", (false, false)),
            (both, "@@SQL_MODE", (true, true)),
            (both, "?", (false, true)),
            (ansi, "@@sql_mode,STRICT_ALL_TABLES", (true, false)),
            (ansi, "0", (false, false)),
            (plain, "4", (true, false)),
            (plain, "1048576", (false, true)),
            (plain, "2", (false, false)),
        ] {
            let mode = before.with_list(list.as_bytes());
            let read = (mode.ansi_quotes, mode.no_backslash_escapes);
            assert_eq!(read, expected, "{list}");
        }
    }
}
