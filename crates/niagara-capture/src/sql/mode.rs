//! What of a session's settings moves the ends of literals.

use std::str::FromStr;

/// The settings under which a session's statements are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SqlMode {
    /// `"x"` is an identifier, not a string.
    pub ansi_quotes: bool,
    /// A backslash in a string is an ordinary character.
    pub no_backslash_escapes: bool,
    /// The character set of the connection has characters of two bytes whose second may be a backslash (GBK, Big5, SJIS).
    pub double_byte: bool,
}

/// A word that is no mode of the server's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown sql_mode {0:?}: expected modes as @@sql_mode shows them, joined by commas")]
pub struct UnknownMode(String);

impl SqlMode {
    /// The mode after `sql_mode` was set to this list; the character set stays. Unknown words are passed over.
    pub(crate) fn with_list(self, list: &[u8]) -> SqlMode {
        let mut mode = SqlMode {
            double_byte: self.double_byte,
            ..SqlMode::default()
        };
        for word in list.split(|&byte| byte == b',') {
            match word.trim_ascii().to_ascii_uppercase().as_slice() {
                b"ANSI" | b"ANSI_QUOTES" | b"DB2" | b"MAXDB" | b"MSSQL" | b"ORACLE"
                | b"POSTGRESQL" => mode.ansi_quotes = true,
                b"NO_BACKSLASH_ESCAPES" => mode.no_backslash_escapes = true,
                _ => {}
            }
        }
        mode
    }

    /// The mode after the connection's character set became this one.
    pub fn with_character_set(self, name: &[u8]) -> SqlMode {
        let name = name.to_ascii_lowercase();
        SqlMode {
            double_byte: matches!(
                name.as_slice(),
                b"gbk" | b"gb18030" | b"big5" | b"sjis" | b"cp932"
            ),
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
