//! A client's command: what it asks for, and what answer is to be expected.

use super::login::QUERY_ATTRIBUTES;
use super::{Conversation, Pending, State};
use crate::dropped::Cause;
use crate::log::Command;
use crate::pcap::answer::{Answer, Expected};
use crate::pcap::field::Fields;
use crate::pcap::parameters::{Type, value};
use crate::sql::SqlMode;

impl Conversation {
    pub(super) fn command(&mut self, packet: &[u8], now_us: i64) {
        // The answer before is over, whatever was understood of it.
        self.finish();
        let Some((&code, body)) = packet.split_first() else {
            return;
        };
        let length = packet.len() + 4;
        let plain = |command, text: &[u8]| (command, text.to_vec(), Expected::One);
        let (command, text, expected) = match code {
            1 => {
                self.heard
                    .push(self.heard_of(Command::Quit, Vec::new(), now_us, length));
                self.state = State::Unreadable;
                return;
            }
            2 => plain(Command::InitDb, body),
            3 => (
                Command::Query,
                self.query_text(body).to_vec(),
                Expected::Result,
            ),
            0x11 => {
                // Its exchange is that of a login, which is of no use without what it says.
                self.give_up(Cause::Command);
                return;
            }
            0x16 => (Command::Prepare, body.to_vec(), Expected::Prepare),
            0x17 => match self.execute(body) {
                Some(text) => (Command::Execute, text, Expected::Result),
                None => {
                    self.dropped.push((Cause::UnknownPrepared, length));
                    (Command::Other, Vec::new(), Expected::Result)
                }
            },
            0x18 => {
                self.long_data(body);
                return;
            }
            0x19 => {
                if let Some(statement) = Fields(body).number(4) {
                    self.statements.remove(&(statement as u32));
                }
                return;
            }
            0x1f => {
                self.statements.clear();
                plain(Command::ResetConnection, &[])
            }
            0x1c => (Command::Other, Vec::new(), Expected::Rows),
            // A ping, statistics, a debug dump, an option, a statement forgotten.
            0x09 | 0x0d | 0x0e | 0x1a | 0x1b => plain(Command::Other, &[]),
            _ => (Command::Other, Vec::new(), Expected::Result),
        };
        let is_silent = match (command, code) {
            (Command::Other, 0x17) => Some(Cause::UnknownPrepared),
            // Rows that were asked for before.
            (Command::Other, 0x1c | 0x1a) => Some(Cause::Empty),
            (Command::Other, _) => Some(Cause::Command),
            _ => None,
        };
        self.pending = Some(Pending {
            prepares: (command == Command::Prepare).then(|| text.clone()),
            heard: self.heard_of(command, text, now_us, length),
            answer: Answer::new(expected),
            last_us: now_us,
            is_silent,
        });
    }

    /// The text of a COM_QUERY, behind its attributes where the client sends some.
    fn query_text<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        let has_attributes = match self.capabilities {
            Some(capabilities) => capabilities & QUERY_ATTRIBUTES != 0,
            // No statement begins so.
            None => body.starts_with(&[0, 1]),
        };
        if !has_attributes {
            return body;
        }
        let skip = |body: &'b [u8]| -> Option<&'b [u8]> {
            let mut fields = Fields(body);
            let count = usize::try_from(fields.lenenc()?)
                .ok()
                .filter(|&count| count < 1 << 16)?;
            fields.lenenc()?;
            if count > 0 {
                let nulls = fields.bytes(count.div_ceil(8))?;
                fields.u8()?;
                let mut types = Vec::with_capacity(count);
                for _ in 0..count {
                    types.push(fields.number(2)? as Type);
                    fields.string()?;
                }
                let mut nothing = Vec::new();
                for (place, &kind) in types.iter().enumerate() {
                    if nulls[place / 8] & (1 << (place % 8)) == 0 {
                        value(&mut fields, kind, SqlMode::default(), &mut nothing)?;
                    }
                }
            }
            Some(fields.0)
        };
        skip(body).unwrap_or(body)
    }
}
