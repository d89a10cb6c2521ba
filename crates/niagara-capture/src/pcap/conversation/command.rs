//! A client's command: what it asks for, and what answer is to be expected.

use super::login::QUERY_ATTRIBUTES;
use super::{Conversation, Pending, Then};
use crate::dropped::Cause;
use crate::log::Command;
use crate::pcap::answer::{Answer, Expected};
use crate::pcap::conversation::waiting::Sent;
use crate::pcap::field::Fields;
use crate::pcap::parameters::{Type, value};
use crate::sql::SqlMode;

/// What a command comes to: what it is in a log, its text, its answer, what becomes of it.
type Asked = (Command, Vec<u8>, Expected, Then);

impl Conversation {
    /// A command has its turn: what was asked before is answered.
    pub(super) fn command(&mut self, sent: Sent) {
        let Some((&code, body)) = sent.body.split_first() else {
            return;
        };
        let length = sent.length + 4;
        if code != 0x1c {
            self.leave_cursor();
        }
        let is_whole = sent.body.len() == sent.length;
        let counted = |cause, expected| (Command::Other, Vec::new(), expected, Then::Count(cause));
        let (command, text, expected, then) = match code {
            1 => {
                let goodbye = self.heard_of(Command::Quit, Vec::new(), sent.at_us, length);
                self.heard.push(goodbye);
                self.end_here();
                return;
            }
            // Replication, copies of the server: all that follows is the servers' own.
            0x12 | 0x13 | 0x15 | 0x1e | 0x20 | 0x21 => {
                self.give_up(Cause::Internal);
                return;
            }
            // Neither has an answer.
            0x18 => {
                self.statements.long_data(body);
                return;
            }
            0x19 => {
                self.statements.close(body);
                return;
            }
            0x16 if !is_whole => counted(Cause::TooLong, Expected::Prepare),
            3 | 0x17 | 0xfa if !is_whole => counted(Cause::TooLong, Expected::Result),
            2 => (Command::InitDb, body.to_vec(), Expected::One, Then::Tell),
            3 => {
                let text = self.query_text(body).to_vec();
                (Command::Query, text, Expected::Result, Then::Tell)
            }
            0x11 => self.another_user(body),
            0x16 => {
                let text = body.to_vec();
                (Command::Prepare, text, Expected::Prepare, Then::Prepare)
            }
            0x17 => self.execution(body, length),
            0xfa => {
                let values = body.to_vec();
                (Command::Execute, values, Expected::Result, Then::Bulk)
            }
            0x1f => (
                Command::ResetConnection,
                Vec::new(),
                Expected::One,
                Then::Reset,
            ),
            0x1c => match Fields(body).number(4) {
                Some(statement) => {
                    let statement = self.statements.number(statement as u32);
                    let then = Then::Fetch(statement);
                    (Command::Other, Vec::new(), Expected::Rows, then)
                }
                None => counted(Cause::Command, Expected::Rows),
            },
            // A statement without what was sent ahead.
            0x1a => {
                self.statements.reset(body);
                (Command::Other, Vec::new(), Expected::One, Then::Pass)
            }
            0x04 => counted(Cause::Command, Expected::Fields),
            // A ping, statistics, a debug dump, an option; what only the server itself has.
            0x00 | 0x09 | 0x0b | 0x0d..=0x10 | 0x14 | 0x1b | 0x1d => {
                counted(Cause::Command, Expected::One)
            }
            _ => counted(Cause::Command, Expected::Result),
        };
        // Who does not wait has the server begin once it is done with what came before.
        let start_us = sent.at_us.max(self.free_us);
        let first = sent.number.wrapping_add(1);
        self.pending = Some(Pending {
            heard: self.heard_of(command, text, start_us, length),
            answer: Answer::new(expected, first, self.manner),
            last_us: start_us,
            then,
        });
    }

    fn another_user(&mut self, body: &[u8]) -> Asked {
        match self.change_user(body) {
            Some((text, then)) => (Command::ChangeUser, text, Expected::Login, then),
            None => {
                let then = Then::Count(Cause::NoProtocol);
                (Command::Other, Vec::new(), Expected::Login, then)
            }
        }
    }

    fn execution(&mut self, body: &[u8], length: usize) -> Asked {
        let attributes = self.agreed(QUERY_ATTRIBUTES);
        match self.statements.execute(body, attributes, self.mode) {
            Ok((statement, text)) => {
                let then = Then::Execute(statement);
                (Command::Execute, text, Expected::Result, then)
            }
            Err(cause) => {
                self.dropped.push((cause, length));
                (Command::Other, Vec::new(), Expected::Result, Then::Pass)
            }
        }
    }

    /// The text of a COM_QUERY, behind its attributes where the client sends some.
    fn query_text<'b>(&self, body: &'b [u8]) -> &'b [u8] {
        let has_attributes = match self.agreed(QUERY_ATTRIBUTES) {
            Some(agreed) => agreed,
            // How many there are, and of how many sets of them these are: always one. No statement begins so.
            None => matches!(body, [0..=31, 1, ..]),
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
