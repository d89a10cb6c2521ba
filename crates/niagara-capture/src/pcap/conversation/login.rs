//! A client's login: who it is, which database it wants, and how it will speak from then on.

use super::{Conversation, Pending, State};
use crate::dropped::Cause;
use crate::log::Command;
use crate::pcap::answer::{Answer, Expected};
use crate::pcap::field::Fields;

const CONNECT_WITH_DB: u64 = 1 << 3;
pub(super) const COMPRESS: u64 = 1 << 5;
const PROTOCOL_41: u64 = 1 << 9;
const SSL: u64 = 1 << 11;
const SECURE_CONNECTION: u64 = 1 << 15;
const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
pub(super) const ZSTD: u64 = 1 << 26;
pub(super) const QUERY_ATTRIBUTES: u64 = 1 << 27;

impl Conversation {
    pub(super) fn login(&mut self, packet: &[u8], start_us: i64) {
        let Some(login) = self.read_login(packet) else {
            self.give_up(Cause::NoProtocol);
            return;
        };
        let Some((user, database)) = login else {
            self.give_up(Cause::Encrypted);
            return;
        };
        let mut text = user.clone();
        text.extend_from_slice(format!("@{} on ", self.host).as_bytes());
        text.extend_from_slice(&database);
        text.extend_from_slice(b" using TCP/IP");
        self.user = user;
        let heard = self.heard_of(Command::Connect, text, start_us, packet.len());
        self.state = State::Verdict {
            login: Box::new(Pending {
                heard,
                answer: Answer::new(Expected::One),
                last_us: start_us,
                prepares: None,
                is_silent: None,
            }),
        };
    }

    /// User and database of the client's answer to the greeting; an inner none: TLS follows.
    #[allow(
        clippy::option_option,
        reason = "the outer one: it is not the protocol"
    )]
    fn read_login(&mut self, packet: &[u8]) -> Option<Option<(Vec<u8>, Vec<u8>)>> {
        let mut fields = Fields(packet);
        let mut capabilities = fields.number(2)?;
        if capabilities & PROTOCOL_41 == 0 {
            return None;
        }
        capabilities |= fields.number(2)? << 16;
        self.capabilities = Some(capabilities);
        // Greatest packet, character set, nothing.
        fields.bytes(4 + 1 + 23)?;
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
            _ => fields.zero_ended()?.to_vec(),
        };
        Some(Some((user, database)))
    }
}
