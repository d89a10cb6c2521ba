//! From the greeting to the OK: what to do about each packet of the server. No I/O here.

use super::auth::{Channel, Plugin};
use super::handshake::{self, Greeting};
use super::packet::{Fields, ServerError};
use super::text::shown;
use super::{ExchangeError, ProtocolError, capability};
use niagara_capture::client::{ClientSettings, LoginCharset};

/// Packets of the server in one login. Every plugin is done with fewer.
const MAX_PACKETS: u32 = 16;

/// Who logs in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Account<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub database: Option<&'a str>,
}

/// Whether TLS is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    Never,
    IfOffered,
    Always,
}

/// What to do next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Send this payload and read the next packet.
    Send(Vec<u8>),
    /// Read the next packet.
    Wait,
    /// Send this payload, shake hands, and continue [`Login::encrypted`].
    Encrypt(Vec<u8>),
    Done,
}

#[derive(Debug)]
enum State {
    Greeting,
    Encrypting(Greeting),
    Authenticating { plugin: Plugin, nonce: Vec<u8> },
}

/// All that is asked for where a text may be several statements.
const SEVERAL_STATEMENTS: u32 =
    capability::MULTI_STATEMENTS | capability::MULTI_RESULTS | capability::PS_MULTI_RESULTS;

/// A login under way.
#[derive(Debug)]
pub(crate) struct Login<'a> {
    account: Account<'a>,
    channel: Channel,
    encryption: Encryption,
    wants_bulk: bool,
    /// Capabilities that are asked for beside the usual ones.
    wanted: u32,
    /// What the client negotiates whose statements are sent; its character set is Niagara's own where nobody knows it.
    charset: Option<LoginCharset>,
    collation: u8,
    capabilities: u32,
    state: State,
    packets: u32,
}

impl<'a> Login<'a> {
    pub(crate) fn new(account: Account<'a>, channel: Channel, encryption: Encryption) -> Self {
        Login {
            account,
            channel,
            encryption,
            wants_bulk: false,
            wanted: 0,
            charset: None,
            collation: handshake::COLLATION,
            capabilities: 0,
            state: State::Greeting,
            packets: 0,
        }
    }

    /// Asks for [many rows in one execution](capability::MARIADB_BULK), where the server knows that: the capabilities
    /// are then without `LONG_PASSWORD`.
    pub(crate) fn wanting_bulk(mut self) -> Self {
        self.wants_bulk = true;
        self
    }

    /// Asks for answers of [several results](capability::MULTI_RESULTS), to statements in text form. Without it a server refuses to
    /// call a procedure that returns rows.
    pub(crate) fn wanting_several_results(mut self) -> Self {
        self.wanted |= capability::MULTI_RESULTS;
        self
    }

    /// Asks for texts of [several statements](capability::MULTI_STATEMENTS), and for answers of several results to whatever is sent.
    pub(crate) fn wanting_several_statements(mut self) -> Self {
        self.wanted |= SEVERAL_STATEMENTS;
        self
    }

    /// Asks for what the client of a capture has negotiated, as far as that is known.
    pub(crate) fn for_client(mut self, client: ClientSettings) -> Self {
        self.wanted |= client.flags.unwrap_or_default().replayed();
        self.charset = client.charset;
        self
    }

    /// What both ends have agreed on, known after the greeting.
    pub(crate) fn capabilities(&self) -> u32 {
        self.capabilities
    }

    /// Takes the next packet.
    pub(crate) fn packet(&mut self, payload: &[u8]) -> Result<Step, ExchangeError> {
        self.packets += 1;
        if self.packets > MAX_PACKETS {
            return Err(ProtocolError::new("the login goes in circles").into());
        }
        let first = *payload
            .first()
            .ok_or_else(|| ProtocolError::new("an empty packet during the login"))?;
        if first == 0xff {
            return Err(ServerError::parse(payload)?.into());
        }
        match &self.state {
            State::Greeting => Ok(self.greeted(handshake::parse_greeting(payload)?)?),
            State::Encrypting(_) => Err(ProtocolError::new("a packet instead of TLS").into()),
            State::Authenticating { plugin, nonce } => match first {
                0x00 => Ok(Step::Done),
                0x01 => {
                    let password = self.account.password;
                    let answer =
                        plugin.next_answer(password, nonce, self.channel, &payload[1..])?;
                    Ok(answer.map_or(Step::Wait, Step::Send))
                }
                0xfe if payload.len() == 1 => Err(ProtocolError::new(
                    "the account has a password from before MySQL 4.1: set it again",
                )
                .into()),
                0xfe => {
                    let mut fields = Fields::new(&payload[1..]);
                    let name = shown(fields.until_nul());
                    let plugin = Plugin::named(&name)?;
                    Ok(Step::Send(
                        self.authenticate(plugin, fields.rest().to_vec())?,
                    ))
                }
                _ => Err(ProtocolError::new("an unknown answer to the login").into()),
            },
        }
    }

    /// The channel is encrypted now: the payload to send next.
    pub(crate) fn encrypted(&mut self) -> Result<Vec<u8>, ExchangeError> {
        self.channel = Channel::Encrypted;
        match std::mem::replace(&mut self.state, State::Greeting) {
            State::Encrypting(greeting) => Ok(self.respond(greeting)?),
            _ => Err(ProtocolError::new("nobody asked for TLS").into()),
        }
    }

    fn greeted(&mut self, greeting: Greeting) -> Result<Step, ProtocolError> {
        let offered = greeting.capabilities & capability::SSL != 0;
        if self.encryption == Encryption::Always && !offered {
            return Err(ProtocolError::new(format!(
                "server {} offers no TLS: configure its certificate and key (ssl_cert, ssl_key), or do not require it",
                greeting.version
            )));
        }
        let encrypts = offered && self.encryption != Encryption::Never;
        self.capabilities = handshake::agree(
            greeting.capabilities,
            self.account.database.is_some(),
            encrypts,
        );
        if self.wants_bulk && greeting.takes_bulk {
            self.capabilities &= !capability::LONG_PASSWORD;
        }
        self.capabilities |= greeting.capabilities & self.wanted;
        if let Some(charset) = self.charset {
            self.collation = charset.collation(greeting.version.contains("MariaDB"));
        }
        if encrypts {
            self.state = State::Encrypting(greeting);
            Ok(Step::Encrypt(handshake::tls_request(
                self.capabilities,
                self.collation,
            )))
        } else {
            Ok(Step::Send(self.respond(greeting)?))
        }
    }

    fn respond(&mut self, greeting: Greeting) -> Result<Vec<u8>, ProtocolError> {
        // Where the server proposes a plugin that is not known, the account may still have another: the server then
        // asks to switch.
        let (plugin, name) = match Plugin::named(&greeting.plugin) {
            Ok(plugin) => (plugin, greeting.plugin.as_str()),
            Err(_) => (Plugin::NativePassword, "mysql_native_password"),
        };
        let answer = self.authenticate(plugin, greeting.nonce)?;
        handshake::response(
            (self.capabilities, self.collation),
            self.account.user,
            &answer,
            self.account.database,
            name,
        )
    }

    fn authenticate(&mut self, plugin: Plugin, nonce: Vec<u8>) -> Result<Vec<u8>, ProtocolError> {
        let answer = plugin.first_answer(self.account.password, &nonce, self.channel)?;
        self.state = State::Authenticating { plugin, nonce };
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    const ACCOUNT: Account = Account {
        user: "u",
        password: "secret",
        database: Some("d"),
    };

    fn greeting(plugin: &str, capabilities: u32) -> Vec<u8> {
        let mut bytes = b"\x0a9.7.0\0\x07\0\0\0abcdefgh\0".to_vec();
        bytes.extend_from_slice(&(capabilities as u16).to_le_bytes());
        bytes.extend_from_slice(&[45, 2, 0]);
        bytes.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
        bytes.push(21);
        bytes.extend_from_slice(&[0; 10]);
        bytes.extend_from_slice(b"ijklmnopqrst\0");
        bytes.extend_from_slice(plugin.as_bytes());
        bytes.push(0);
        bytes
    }

    fn switch(plugin: &str, nonce: &[u8]) -> Vec<u8> {
        [b"\xfe", plugin.as_bytes(), b"\0", nonce].concat()
    }

    fn sent(step: Step) -> Vec<u8> {
        match step {
            Step::Send(payload) => payload,
            other => panic!("{other:?}"),
        }
    }

    fn greeted(plugin: &str, channel: Channel) -> Login<'static> {
        let mut login = Login::new(ACCOUNT, channel, Encryption::Never);
        sent(login.packet(&greeting(plugin, u32::MAX)).unwrap());
        login
    }

    #[test]
    fn switches_and_further_steps_in_any_order() {
        let mut login = greeted("caching_sha2_password", Channel::Local);
        // a full check, a change of mind, a fast check, a change of mind again
        assert_eq!(sent(login.packet(&[1, 4]).unwrap()), b"secret\0");
        let native = switch("mysql_native_password", b"01234567890123456789\0");
        assert_eq!(sent(login.packet(&native).unwrap()).len(), 20);
        let caching = switch("caching_sha2_password", b"01234567890123456789\0");
        assert_eq!(sent(login.packet(&caching).unwrap()).len(), 32);
        assert_eq!(login.packet(&[1, 3]), Ok(Step::Wait));
        let ed25519 = switch("client_ed25519", &[0; 32]);
        assert_eq!(sent(login.packet(&ed25519).unwrap()).len(), 64);
        assert!(sent(login.packet(&switch("unix_socket", b"")).unwrap()).is_empty());
        assert_eq!(login.packet(OK), Ok(Step::Done));
    }

    #[test]
    fn many_rows_at_once_are_agreed_on_with_a_mariadb_that_knows_them() {
        let mut mariadb = greeting("mysql_native_password", !capability::LONG_PASSWORD);
        let nonce = b"ijklmnopqrst\0mysql_native_password\0".len();
        let end = mariadb.len() - nonce;
        mariadb[end - 4..end].copy_from_slice(&capability::MARIADB_BULK.to_le_bytes());
        let mysql = greeting("mysql_native_password", u32::MAX);
        for (greeting, wants, agreed) in [
            (&mariadb, true, true),
            (&mariadb, false, false),
            (&mysql, true, false),
        ] {
            let login = Login::new(ACCOUNT, Channel::Local, Encryption::Never);
            let mut login = if wants { login.wanting_bulk() } else { login };
            let response = sent(login.packet(greeting).unwrap());
            let is_bulk = login.capabilities() & capability::LONG_PASSWORD == 0;
            assert_eq!(is_bulk, agreed);
            assert_eq!(response[28..32] != [0; 4], agreed);
        }
    }

    #[test]
    fn a_login_that_never_ends_is_an_error() {
        let mut login = greeted("caching_sha2_password", Channel::Open);
        let endless = (0..100).map(|_| login.packet(&[1, 3])).find(Result::is_err);
        let error = endless.unwrap().unwrap_err().to_string();
        assert!(error.contains("circles"), "{error}");
    }

    #[test]
    fn tls_comes_before_name_and_password() {
        let mut login = Login::new(ACCOUNT, Channel::Open, Encryption::IfOffered);
        let greeting = greeting("sha256_password", u32::MAX);
        match login.packet(&greeting).unwrap() {
            Step::Encrypt(payload) => assert_eq!(payload.len(), 32),
            other => panic!("{other:?}"),
        }
        assert!(login.packet(OK).is_err());
        let response = login.encrypted().unwrap();
        assert_ne!(login.capabilities() & capability::SSL, 0);
        assert!(response.windows(7).any(|bytes| bytes == b"secret\0"));
        assert_eq!(login.packet(OK), Ok(Step::Done));
    }

    #[test]
    fn a_server_without_tls() {
        let without = greeting("caching_sha2_password", !capability::SSL);
        let mut login = Login::new(ACCOUNT, Channel::Open, Encryption::IfOffered);
        sent(login.packet(&without).unwrap());
        assert_eq!(login.capabilities() & capability::SSL, 0);
        let mut login = Login::new(ACCOUNT, Channel::Open, Encryption::Always);
        let error = login.packet(&without).unwrap_err().to_string();
        assert!(error.contains("offers no TLS"), "{error}");
    }

    #[test]
    fn errors_at_any_point() {
        let refused = b"\xff\x15\x04#28000Access denied";
        let mut login = Login::new(ACCOUNT, Channel::Open, Encryption::Never);
        let error = login.packet(refused).unwrap_err();
        assert_eq!(error.to_string(), "server error 1045: Access denied");
        for packets in [&[][..], &[&[1, 4][..]], &[&[1, 3]]] {
            let mut login = greeted("caching_sha2_password", Channel::Open);
            for packet in packets {
                login.packet(packet).unwrap();
            }
            let error = login.packet(refused).unwrap_err();
            assert!(matches!(error, ExchangeError::Server(_)), "{error}");
        }
    }

    #[test]
    fn malformed_authentication_steps_are_errors() {
        for absurd in [
            &[][..],
            &[0xfe],
            b"\xfedialog\0",
            b"\xfeclient_ed25519\0short",
            &[1],
            &[1, 9],
            &[1, 5, 5],
            &[7],
        ] {
            let mut login = greeted("caching_sha2_password", Channel::Open);
            assert!(login.packet(absurd).is_err(), "{absurd:?}");
        }
    }
}
