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

/// A word that is no mode of the server's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown sql_mode {0:?}: expected modes as @@sql_mode shows them, joined by commas")]
pub struct UnknownMode(String);

impl SqlMode {
    /// The mode after `sql_mode` was set to this list; the character set stays. Unknown words are passed over.
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
                _ => {}
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
