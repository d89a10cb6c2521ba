//! The beginning of a connection: the server's greeting, the client's login, the server's verdict; and a change of the user.

use super::{Conversation, MAX_PRELUDE, Pending, State, Then};
use crate::client::{ClientFlags, ClientSettings, LoginCharset};
use crate::dropped::Cause;
use crate::log::Command;
use crate::pcap::answer::{Answer, Expected};
use crate::pcap::field::Fields;
use crate::pcap::framing::Packet;
use crate::sql::SqlMode;

/// Whoever does not say this may be MariaDB, and says more then.
const LONG_PASSWORD: u64 = 1;
const CONNECT_WITH_DB: u64 = 1 << 3;
pub(super) const COMPRESS: u64 = 1 << 5;
const PROTOCOL_41: u64 = 1 << 9;
const SSL: u64 = 1 << 11;
const SECURE_CONNECTION: u64 = 1 << 15;
const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
const DEPRECATE_EOF: u64 = 1 << 24;
const OPTIONAL_METADATA: u64 = 1 << 25;
pub(super) const ZSTD: u64 = 1 << 26;
pub(super) const QUERY_ATTRIBUTES: u64 = 1 << 27;
/// MariaDB's own, above the 32 bits of old.
const CACHE_METADATA: u64 = 1 << 36;

/// What a proxy says first (the PROXY protocol of HAProxy, versions 1 and 2).
const PROXY_1: &[u8] = b"PROXY ";
const PROXY_2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// The longest line of version 1, in bytes.
const MAX_PROXY_1: usize = 107;

/// Who logs in, and how.
struct Login {
    user: Vec<u8>,
    database: Vec<u8>,
    charset: u64,
}

impl Conversation {
    /// Whether what the server said first begins a greeting, as far as it can be seen.
    pub(super) fn may_be_a_greeting(&self) -> bool {
        if self.to_server.bytes().len() > MAX_PRELUDE {
            return false;
        }
        match self.to_client.bytes() {
            [_, second, third, number, kind, ..] => {
                *second < 4 && *third == 0 && *number == 0 && matches!(kind, 10 | 0xff)
            }
            _ => true,
        }
    }

    pub(super) fn greeting(&mut self, packet: Packet, now_us: i64) {
        let bytes = self.take_packet(1, packet);
        self.state = match bytes.first() {
            Some(10) => {
                let mut fields = Fields(&bytes[1..]);
                let version = fields.zero_ended().unwrap_or_default();
                // MariaDB up to 10.11 says this first, for replicas of old.
                let version = version.strip_prefix(b"5.5.5-").unwrap_or(version);
                self.version = Some(String::from_utf8_lossy(version).into_owned());
                self.offered = offered(fields);
                self.greeting = Some(xxhash_rust::xxh3::xxh3_64(&bytes));
                State::Login { start_us: now_us }
            }
            // The server refuses at once: too many connections.
            Some(0xff) => {
                self.dropped.push((Cause::RefusedLogin, bytes.len()));
                State::Unreadable
            }
            _ => {
                self.dropped.push((Cause::NoProtocol, bytes.len()));
                State::Unreadable
            }
        };
    }

    /// Passes over what a proxy says before the client's login; false: there is not enough to tell.
    pub(super) fn pass_over_prelude(&mut self) -> bool {
        let bytes = self.to_server.bytes();
        let begins = |mark: &[u8]| {
            let length = bytes.len().min(mark.len());
            bytes[..length] == mark[..length]
        };
        if bytes.is_empty() || !(begins(PROXY_1) || begins(PROXY_2)) {
            return true;
        }
        let length = if begins(PROXY_2) {
            // The mark, two bytes of what it is, two of a length.
            let length = bytes.get(14..16).map(|two| [two[0], two[1]]);
            length.map(|length| 16 + usize::from(u16::from_be_bytes(length)))
        } else {
            let line = &bytes[..bytes.len().min(MAX_PROXY_1)];
            memchr::memchr(b'\n', line).map(|end| end + 1)
        };
        match length.filter(|&length| length <= bytes.len()) {
            Some(length) => {
                self.to_server.consume(length);
                true
            }
            // A login of such a length is none either.
            None => bytes.len() > MAX_PRELUDE + 16,
        }
    }

    pub(super) fn login(&mut self, packet: &[u8], start_us: i64) {
        let Some(login) = self.read_login(packet) else {
            self.give_up(Cause::NoProtocol);
            return;
        };
        let Some(login) = login else {
            self.give_up(Cause::Encrypted);
            return;
        };
        let text = self.as_text(&login);
        self.fresh = with_charset(self.fresh, login.charset);
        self.mode = self.fresh;
        self.user.clone_from(&login.user);
        self.manner.ends_definitions = self.agreed(DEPRECATE_EOF).map(|agreed| !agreed);
        self.manner.may_leave_out = self.agreed(CACHE_METADATA);
        self.manner.says_first = self.agreed(OPTIONAL_METADATA).unwrap_or(false);
        let mut heard = self.heard_of(Command::Connect, text, start_us, packet.len());
        heard.client = Some(ClientSettings {
            flags: self
                .capabilities
                .map(|client| ClientFlags::of(client & self.offered.unwrap_or(u64::MAX))),
            charset: LoginCharset::of_collation(login.charset),
        });
        self.state = State::Verdict {
            login: Box::new(Pending {
                heard,
                answer: Answer::new(Expected::Login, 0, self.manner),
                last_us: start_us,
                then: Then::Tell,
            }),
        };
    }

    /// As a general log has it.
    fn as_text(&self, login: &Login) -> Vec<u8> {
        let mut text = login.user.clone();
        text.extend_from_slice(format!("@{} on ", self.host).as_bytes());
        text.extend_from_slice(&login.database);
        text.extend_from_slice(b" using TCP/IP");
        text
    }

    /// The client's answer to the greeting; an inner none: TLS follows.
    #[allow(
        clippy::option_option,
        reason = "the outer one: it is not the protocol"
    )]
    fn read_login(&mut self, packet: &[u8]) -> Option<Option<Login>> {
        let mut fields = Fields(packet);
        let mut capabilities = fields.number(2)?;
        if capabilities & PROTOCOL_41 == 0 {
            return None;
        }
        capabilities |= fields.number(2)? << 16;
        // Greatest packet, character set, nothing; MariaDB's own at the end of that.
        fields.bytes(4)?;
        let charset = fields.number(1)?;
        fields.bytes(19)?;
        let more = fields.number(4)?;
        if capabilities & LONG_PASSWORD == 0 {
            capabilities |= more << 32;
        }
        self.capabilities = Some(capabilities);
        if capabilities & SSL != 0 && fields.0.is_empty() {
            return Some(None);
        }
        let user = fields.zero_ended()?.to_vec();
        if capabilities & PLUGIN_AUTH_LENENC != 0 {
            fields.string()?;
        } else if capabilities & SECURE_CONNECTION != 0 {
            let length = fields.u8()?;
            fields.bytes(length.into())?;
        } else {
            fields.zero_ended()?;
        }
        let database = match capabilities & CONNECT_WITH_DB {
            0 => Vec::new(),
            // Some clients leave the 0 out at the end.
            _ => fields.zero_ended().unwrap_or(fields.0).to_vec(),
        };
        Some(Some(Login {
            user,
            database,
            charset,
        }))
    }

    /// Reads what the server says to a login; false: it has not said it yet.
    pub(super) fn verdict(&mut self, now_us: i64) -> bool {
        let Some(packet) = self.framing[1].next(&mut self.to_client) else {
            return false;
        };
        let bytes = self.take_packet(1, packet);
        match bytes.first() {
            Some(0) => self.let_in(Some(&bytes), now_us),
            Some(0xff) => {
                self.dropped.push((Cause::RefusedLogin, bytes.len()));
                self.state = State::Unreadable;
            }
            // Another way to log in is wanted, or more data for it.
            _ => {}
        }
        true
    }

    /// The login was successful; none: what the server said of it was not recorded.
    pub(super) fn let_in(&mut self, verdict: Option<&[u8]>, now_us: i64) {
        let State::Verdict { mut login } = std::mem::replace(&mut self.state, State::Commands)
        else {
            return;
        };
        login.last_us = now_us;
        if let Some(verdict) = verdict {
            login.answer.packet((0, 0), verdict, verdict.len());
        }
        self.pending = Some(*login);
        self.finish(verdict.is_some());
        if self.is_compressed() {
            self.give_up(Cause::Compressed);
        }
    }

    /// Who the client wants to be from now on (COM_CHANGE_USER): the login as a general log has it, and what becomes of it.
    pub(super) fn change_user(&self, body: &[u8]) -> Option<(Vec<u8>, Then)> {
        let mut fields = Fields(body);
        let user = fields.zero_ended()?.to_vec();
        if self.agreed(SECURE_CONNECTION).unwrap_or(true) {
            let length = fields.u8()?;
            fields.bytes(length.into())?;
        } else {
            fields.zero_ended()?;
        }
        let database = fields.zero_ended().unwrap_or_default().to_vec();
        let charset = fields.number(2).unwrap_or_default();
        let login = Login {
            user,
            database,
            charset,
        };
        let text = self.as_text(&login);
        let fresh = with_charset(self.fresh, charset);
        let user = login.user;
        Some((text, Then::ChangeUser { user, fresh }))
    }
}

/// What the server offers, from behind its version.
fn offered(mut fields: Fields<'_>) -> Option<u64> {
    // Its number of the connection, a part of a secret, nothing.
    fields.bytes(4 + 8 + 1)?;
    let mut offered = fields.number(2)?;
    // Character set, status.
    fields.bytes(3)?;
    offered |= fields.number(2)? << 16;
    // A length, nothing, MariaDB's own.
    fields.bytes(1 + 6)?;
    let more = fields.number(4)?;
    if offered & LONG_PASSWORD == 0 {
        offered |= more << 32;
    }
    Some(offered)
}

/// The settings of a session whose client speaks in this character set, by the number of a collation (0: not said).
fn with_charset(mode: SqlMode, collation: u64) -> SqlMode {
    let name: &[u8] = match collation {
        0 => return mode,
        1 | 84 => b"big5",
        13 | 88 => b"sjis",
        28 | 87 => b"gbk",
        95 | 96 => b"cp932",
        248..=250 => b"gb18030",
        _ => b"utf8mb4",
    };
    mode.with_character_set(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Charset;

    #[test]
    fn what_a_server_offers_is_behind_its_version() {
        let mut greeting = Vec::new();
        // Number, secret, nothing, capabilities, character set, status, capabilities, length, nothing.
        greeting.extend_from_slice(&[1, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
        greeting.extend_from_slice(&[0xfe, 0xf7, 33, 2, 0, 0xff, 0x81, 21, 0, 0, 0, 0, 0, 0]);
        greeting.extend_from_slice(&[0x1d, 0, 0, 0]);
        let mariadb = offered(Fields(&greeting)).expect("whole");
        assert_eq!(mariadb, 0x1d_81ff_f7fe);
        assert_ne!(mariadb & CACHE_METADATA, 0);
        greeting[13] = 0xff;
        assert_eq!(offered(Fields(&greeting)), Some(0x81ff_f7ff));
        assert_eq!(offered(Fields(&greeting[..20])), None);
    }

    #[test]
    fn character_sets_of_two_bytes_are_known_by_their_collations() {
        let mode = SqlMode::default();
        for (collation, charset) in [
            (28, Charset::Gbk),
            (249, Charset::Gbk),
            (84, Charset::Big5),
            (95, Charset::Sjis),
            (33, Charset::Plain),
            (255, Charset::Plain),
            (0, Charset::Plain),
        ] {
            assert_eq!(with_charset(mode, collation).charset, charset);
        }
    }
}
