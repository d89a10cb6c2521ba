//! What a client negotiates at its login, as far as it changes what its statements mean: flags, and a character set.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Client flags of the protocol that change what statements mean, or what is answered to them. The others (compression, TLS,
/// `DEPRECATE_EOF`, `CONNECT_ATTRS`, …) change how it is said.
/// Source: include/mysql_com.h of the servers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClientFlags(u32);

/// The flags by the names of the protocol, without `CLIENT_`.
const FLAGS: [(&str, u32); 7] = [
    // UPDATE and the like tell the rows that they found, not those that they changed.
    ("found_rows", 1 << 1),
    ("no_schema", 1 << 4),
    ("local_files", 1 << 7),
    ("ignore_space", 1 << 8),
    ("interactive", 1 << 10),
    ("multi_statements", 1 << 16),
    ("session_track", 1 << 23),
];

impl ClientFlags {
    /// A command may be several statements.
    pub const MULTI_STATEMENTS: ClientFlags = ClientFlags(1 << 16);
    /// Those that change what is executed. `local_files` lets the server ask for files of the client's, which no replay gives, and
    /// `session_track` adds to answers.
    const REPLAYED: u32 = (1 << 1) | (1 << 4) | (1 << 8) | (1 << 10) | (1 << 16);

    /// Of the capabilities that a login says.
    pub fn of(capabilities: u64) -> ClientFlags {
        let known = FLAGS.iter().fold(0, |known, (_, bit)| known | bit);
        ClientFlags((capabilities & u64::from(known)) as u32)
    }

    /// Whether all of `other` are among these.
    pub fn has(self, other: ClientFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and the others.
    pub fn with(self, other: ClientFlags) -> ClientFlags {
        ClientFlags(self.0 | other.0)
    }

    /// Capabilities that a replay asks for.
    pub fn replayed(self) -> u32 {
        self.0 & ClientFlags::REPLAYED
    }
}

impl fmt::Display for ClientFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = FLAGS
            .iter()
            .filter(|(_, bit)| self.0 & bit != 0)
            .map(|(name, _)| *name)
            .collect();
        match names.is_empty() {
            true => f.write_str("none"),
            false => f.write_str(&names.join(",")),
        }
    }
}

/// A text that names no client flag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown client flag {0:?}: expected none, or some of {names}, joined by commas", names = FLAGS.map(|(name, _)| name).join(", "))]
pub struct UnknownFlag(String);

impl FromStr for ClientFlags {
    type Err = UnknownFlag;

    /// Takes capitals, dashes and `CLIENT_` too.
    fn from_str(text: &str) -> Result<ClientFlags, UnknownFlag> {
        let mut flags = 0;
        for word in text
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            let name = word.to_ascii_lowercase().replace('-', "_");
            let name = name.strip_prefix("client_").unwrap_or(&name);
            match FLAGS.iter().find(|(known, _)| *known == name) {
                Some((_, bit)) => flags |= bit,
                None if name == "none" => {}
                None => return Err(UnknownFlag(word.to_owned())),
            }
        }
        Ok(ClientFlags(flags))
    }
}

/// The character set that a login says: by the number of a collation, as in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LoginCharset(u16);

/// Character sets that clients may have, with their collations' numbers: the default first. The numbers are the same in all servers
/// of the family.
/// Source: information_schema.collations of MariaDB 10.11 and MySQL 9.7.
const CHARSETS: [(&str, &[u16]); 37] = [
    ("utf8mb4", &[45, 46]),
    ("latin1", &[8, 5, 15, 31, 47, 48, 49, 94]),
    ("utf8mb3", &[33, 83, 223]),
    ("big5", &[1, 84]),
    ("dec8", &[3, 69]),
    ("cp850", &[4, 80]),
    ("hp8", &[6, 72]),
    ("koi8r", &[7, 74]),
    ("latin2", &[9, 2, 21, 27, 77]),
    ("swe7", &[10, 82]),
    ("ascii", &[11, 65]),
    ("ujis", &[12, 91]),
    ("sjis", &[13, 88]),
    ("hebrew", &[16, 71]),
    ("tis620", &[18, 89]),
    ("euckr", &[19, 85]),
    ("koi8u", &[22, 75]),
    ("gb2312", &[24, 86]),
    ("greek", &[25, 70]),
    ("cp1250", &[26, 34, 44, 66, 99]),
    ("gbk", &[28, 87]),
    ("latin5", &[30, 78]),
    ("armscii8", &[32, 64]),
    ("cp866", &[36, 68]),
    ("keybcs2", &[37, 73]),
    ("macce", &[38, 43]),
    ("macroman", &[39, 53]),
    ("cp852", &[40, 81]),
    ("latin7", &[41, 20, 42, 79]),
    ("cp1251", &[51, 14, 23, 50, 52]),
    ("cp1256", &[57, 67]),
    ("cp1257", &[59, 29, 58]),
    ("binary", &[63]),
    ("geostd8", &[92, 93]),
    ("cp932", &[95, 96]),
    ("eucjpms", &[97, 98]),
    ("gb18030", &[248, 249, 250]),
];

impl LoginCharset {
    /// latin1, which is Windows-1252 to these servers.
    pub(crate) const LATIN1: LoginCharset = LoginCharset(8);

    /// By a collation's number; none for 0, which says nothing.
    pub(crate) fn of_collation(number: u64) -> Option<LoginCharset> {
        u16::try_from(number)
            .ok()
            .filter(|&number| number != 0)
            .map(LoginCharset)
    }

    /// Its name; none where the number is not known.
    pub fn name(self) -> Option<&'static str> {
        let of = |(_, numbers): &&(&str, &[u16])| numbers.contains(&self.0);
        match CHARSETS.iter().find(of) {
            Some((name, _)) => Some(name),
            None => match self.0 {
                // Those of Unicode's collation algorithm.
                224..=247 | 255..=323 => Some("utf8mb4"),
                192..=215 => Some("utf8mb3"),
                _ => None,
            },
        }
    }

    /// The number of a collation that a login sends to a server of MariaDB, or of MySQL: one that both have.
    pub fn collation(self, is_mariadb: bool) -> u8 {
        let default = CHARSETS[0].1[0];
        let number = match self.0 {
            // MySQL's own since 8.0.
            255.. if is_mariadb => default,
            number => number,
        };
        u8::try_from(number).unwrap_or(default as u8)
    }
}

impl fmt::Display for LoginCharset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        let is_default = CHARSETS
            .iter()
            .any(|(known, numbers)| Some(*known) == name && numbers[0] == self.0);
        match name {
            Some(name) if is_default => f.write_str(name),
            Some(name) => write!(f, "{name}/{}", self.0),
            None => write!(f, "collation/{}", self.0),
        }
    }
}

/// A text that names no character set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown character set {0:?}: expected one that SHOW CHARACTER SET lists, such as latin1, utf8mb4 or gbk"
)]
pub struct UnknownCharset(String);

impl FromStr for LoginCharset {
    type Err = UnknownCharset;

    fn from_str(text: &str) -> Result<LoginCharset, UnknownCharset> {
        let unknown = || UnknownCharset(text.to_owned());
        if let Some((_, number)) = text.split_once('/') {
            let number: u64 = number.parse().map_err(|_| unknown())?;
            return LoginCharset::of_collation(number).ok_or_else(unknown);
        }
        let name = text.trim().to_ascii_lowercase();
        let name = match name.as_str() {
            "utf8" => "utf8mb3",
            name => name,
        };
        CHARSETS
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, numbers)| LoginCharset(numbers[0]))
            .ok_or_else(unknown)
    }
}

/// What a session's client has negotiated. None where nobody knows it.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
pub struct ClientSettings {
    /// Its flags.
    pub flags: Option<ClientFlags>,
    /// Its character set.
    pub charset: Option<LoginCharset>,
}

impl ClientSettings {
    /// These, and what they leave open from `others`.
    pub fn or(self, others: ClientSettings) -> ClientSettings {
        ClientSettings {
            flags: self.flags.or(others.flags),
            charset: self.charset.or(others.charset),
        }
    }

    /// Nothing of it is known.
    pub fn is_unknown(self) -> bool {
        self == ClientSettings::default()
    }
}

/// `flags=found_rows charset=latin1`; empty where nothing is known.
impl fmt::Display for ClientSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.flags.map(|flags| format!("flags={flags}"));
        let charset = self.charset.map(|charset| format!("charset={charset}"));
        let parts: Vec<String> = flags.into_iter().chain(charset).collect();
        f.write_str(&parts.join(" "))
    }
}

impl FromStr for ClientSettings {
    type Err = String;

    fn from_str(text: &str) -> Result<ClientSettings, String> {
        let mut settings = ClientSettings::default();
        for part in text.split_whitespace() {
            match part.split_once('=') {
                Some(("flags", flags)) => {
                    settings.flags = Some(
                        flags
                            .parse()
                            .map_err(|error: UnknownFlag| error.to_string())?,
                    );
                }
                Some(("charset", name)) => {
                    settings.charset = Some(
                        name.parse()
                            .map_err(|error: UnknownCharset| error.to_string())?,
                    );
                }
                _ => return Err(format!("{part:?} is no setting of a client")),
            }
        }
        Ok(settings)
    }
}

impl From<ClientSettings> for String {
    fn from(settings: ClientSettings) -> String {
        settings.to_string()
    }
}

impl TryFrom<String> for ClientSettings {
    type Error = String;

    fn try_from(text: String) -> Result<ClientSettings, String> {
        text.parse()
    }
}

/// How it is known what clients have negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Knowledge {
    /// Whoever made the capture has said it.
    Given,
    /// The server had such sessions when it was asked.
    Asked,
    /// By what the source has of their statements.
    Inferred,
}

/// What the clients of a user have negotiated, as far as a session's login does not say it itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClientsOfUser {
    /// The user; none: all that are not named.
    pub user: Option<String>,
    /// What they have negotiated.
    pub settings: ClientSettings,
    /// How that is known.
    pub known: Knowledge,
    /// By how many statements, where it is inferred.
    pub statements: u64,
}

/// What is known of a user's clients: what was said of it first, then what was asked, then what was inferred.
pub(crate) fn settings_of(clients: &[ClientsOfUser], user: &[u8]) -> ClientSettings {
    let order = [Knowledge::Given, Knowledge::Asked, Knowledge::Inferred];
    let mut settings = ClientSettings::default();
    for known in order {
        for named in [true, false] {
            let of_user = |one: &&ClientsOfUser| {
                one.known == known
                    && match &one.user {
                        Some(name) => named && name.as_bytes() == user,
                        None => !named,
                    }
            };
            for one in clients.iter().filter(of_user) {
                settings = settings.or(one.settings);
            }
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_and_read() {
        for text in [
            "",
            "flags=none",
            "flags=found_rows,multi_statements",
            "flags=interactive charset=latin1",
            "charset=utf8mb4/255",
            "charset=collation/2000",
            "charset=latin1/15",
        ] {
            let settings: ClientSettings = text.parse().unwrap();
            assert_eq!(settings.to_string(), text);
        }
        let flags: ClientFlags = "CLIENT_FOUND_ROWS, ignore-space".parse().unwrap();
        assert_eq!(flags.to_string(), "found_rows,ignore_space");
        assert_eq!(flags.replayed(), 0x102);
        assert!(
            "found"
                .parse::<ClientFlags>()
                .unwrap_err()
                .to_string()
                .contains("found_rows")
        );
        assert!("klingon".parse::<LoginCharset>().is_err());
        assert_eq!(
            "utf8".parse::<LoginCharset>().unwrap().name(),
            Some("utf8mb3")
        );
    }

    #[test]
    fn collations_are_those_that_the_server_has() {
        let of = |number| LoginCharset::of_collation(number).unwrap();
        assert_eq!((of(8).collation(true), of(8).collation(false)), (8, 8));
        assert_eq!(
            (of(255).collation(true), of(255).collation(false)),
            (45, 255)
        );
        assert_eq!(of(309).collation(false), 45);
        assert_eq!(LoginCharset::of_collation(0), None);
    }

    #[test]
    fn what_was_said_counts_before_what_was_inferred() {
        let of = |user: Option<&str>, settings: &str, known| ClientsOfUser {
            user: user.map(str::to_owned),
            settings: settings.parse().unwrap(),
            known,
            statements: 0,
        };
        let clients = [
            of(Some("web"), "charset=latin1", Knowledge::Inferred),
            of(None, "flags=found_rows charset=utf8mb4", Knowledge::Given),
            of(Some("batch"), "flags=none", Knowledge::Given),
        ];
        let told = |user: &str| settings_of(&clients, user.as_bytes()).to_string();
        assert_eq!(told("web"), "flags=found_rows charset=utf8mb4");
        assert_eq!(told("batch"), "flags=none charset=utf8mb4");
        assert_eq!(
            settings_of(&clients[..1], b"web").to_string(),
            "charset=latin1"
        );
    }
}
