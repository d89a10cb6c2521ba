//! A server that is only pretended: whatever a program asks of it succeeds at once, and no statement has rows.

use super::program::{CommandKind, Counts, Interrupter, Program, Reply, Server, Want};
use crate::protocol::answer::Answer;
use crate::workload::file::only_reads;

/// Bytes before a command's text: the packet's header, and the command's number.
const HEAD: usize = 5;

/// What answers in place of a server.
#[derive(Debug, Default)]
pub(crate) struct Pretender {
    /// Statements are read.
    watches: bool,
    links: usize,
    /// By number, from 1: whether a statement that was prepared only reads.
    prepared: Vec<bool>,
    /// Statements so far.
    statements: u64,
    /// Some of them may have changed data or locked rows.
    wrote: bool,
}

impl Pretender {
    /// One that reads the statements.
    pub(crate) fn watching() -> Self {
        Pretender {
            watches: true,
            ..Pretender::default()
        }
    }

    /// Whether a statement, as far as it is read, only reads itself.
    fn only_reads(&self, sql: &[u8]) -> bool {
        self.watches && only_reads(&String::from_utf8_lossy(sql))
    }

    /// Statements so far.
    pub(crate) fn statements(&self) -> u64 {
        self.statements
    }

    /// Whether some of them may have changed data or locked rows; of one that [reads them](Self::watching).
    pub(crate) fn wrote(&self) -> bool {
        self.wrote
    }

    /// The answer to what is wanted; `None`: no server is asked for it.
    fn answer(&mut self, want: Want, command: &[u8]) -> Option<Reply> {
        let Want::Answer { kind, .. } = want else {
            return matches!(want, Want::Connect).then(|| {
                self.links += 1;
                Reply::Linked(self.links - 1)
            });
        };
        let command = last_packet(command);
        let text = command.get(HEAD..).unwrap_or_default();
        match kind {
            CommandKind::Prepare => {
                let only_reads = self.only_reads(text);
                self.prepared.push(only_reads);
                Some(Reply::Prepared {
                    statement: self.prepared.len() as u32,
                    parameters: parameters(text),
                    columns: 0,
                })
            }
            CommandKind::Text => {
                self.statements += 1;
                self.wrote |= !self.only_reads(text);
                Some(Reply::Done(0))
            }
            CommandKind::Execute => {
                self.statements += 1;
                let number = text.get(..4).and_then(|four| four.try_into().ok());
                let place = number.map_or(0, u32::from_le_bytes).wrapping_sub(1);
                self.wrote |= self.prepared.get(place as usize) != Some(&true);
                Some(Reply::Done(0))
            }
        }
    }

    /// Runs a program until it wants what is none of a server's business; returns also how many statements it has sent.
    ///
    /// # Errors
    /// The program fails.
    pub(crate) fn run(
        &mut self,
        program: &mut dyn Program,
        mut reply: Reply,
    ) -> Result<(Want, u32), String> {
        let before = self.statements;
        loop {
            let want = program.resume(reply, self)?;
            // Links are given up without anybody to be told.
            program.take_closed();
            match self.answer(want, program.command()) {
                Some(answer) => reply = answer,
                None => return Ok((want, (self.statements - before) as u32)),
            }
        }
    }
}

/// Commands that are not answered may stand before the last one, each in a packet of its own.
fn last_packet(mut command: &[u8]) -> &[u8] {
    loop {
        let [low, middle, high, ..] = *command else {
            return command;
        };
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        match command.get(4 + length..) {
            // What is longer than a packet takes continues in the next: the beginning is what counts.
            Some(rest) if !rest.is_empty() && length < 0xff_ffff => command = rest,
            _ => return command,
        }
    }
}

/// The question marks outside quotation marks.
fn parameters(sql: &[u8]) -> u16 {
    let mut within = None;
    let mut count = 0;
    for &byte in sql {
        match within {
            Some(mark) if byte == mark => within = None,
            Some(_) => {}
            None if matches!(byte, b'\'' | b'"' | b'`') => within = Some(byte),
            None => count += u16::from(byte == b'?'),
        }
    }
    count
}

/// What is asked from within a call of C.
impl Server for Pretender {
    fn ask(&mut self, want: Want, command: &[u8], _answer: &mut Answer) -> Reply {
        match (self.answer(want, command), want) {
            (Some(reply), _) => reply,
            (None, Want::Sleep(time)) => {
                std::thread::sleep(time);
                Reply::Go
            }
            (None, Want::Event { .. }) => Reply::Event(false),
            (None, _) => Reply::Goodbye,
        }
    }
}

/// A program whose server is pretended: the load generator sees its events and rests.
pub struct DryRun {
    inner: Box<dyn Program>,
    pretender: Pretender,
    statements: u32,
}

impl DryRun {
    /// The program `inner`, without a server.
    pub fn new(inner: Box<dyn Program>) -> Self {
        DryRun {
            inner,
            pretender: Pretender::default(),
            statements: 0,
        }
    }
}

impl Program for DryRun {
    fn resume(&mut self, reply: Reply, _server: &mut dyn Server) -> Result<Want, String> {
        let (want, statements) = self.pretender.run(self.inner.as_mut(), reply)?;
        self.statements += statements;
        Ok(want)
    }

    fn command(&self) -> &[u8] {
        self.inner.command()
    }

    fn answer(&mut self, link: usize) -> &mut Answer {
        self.inner.answer(link)
    }

    fn take_counts(&mut self) -> Counts {
        let mut counts = self.inner.take_counts();
        // Those from within a call of C were counted by the program, as others too.
        counts.other = std::mem::take(&mut self.statements);
        counts
    }

    fn take_closed(&mut self) -> Vec<usize> {
        Vec::new()
    }

    fn interrupter(&self) -> Interrupter {
        self.inner.interrupter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_several_packets_counts() {
        let mut command = vec![5, 0, 0, 0, 0x19, 1, 0, 0, 0];
        command.extend([9, 0, 0, 0, 3]);
        command.extend(b"SELECT 1");
        assert_eq!(&last_packet(&command)[HEAD..], b"SELECT 1");
        assert_eq!(last_packet(&[1]), [1]);
    }

    #[test]
    fn parameters_are_question_marks_outside_texts() {
        assert_eq!(parameters(b"SELECT '?', a FROM t WHERE b = ? AND c = ?"), 2);
    }

    #[test]
    fn writes_are_seen_prepared_or_not() {
        let ask = |pretender: &mut Pretender, kind, text: &[u8]| {
            let mut command = vec![0, 0, 0, 0, 3];
            command.extend(text);
            let length = (command.len() - 4) as u8;
            command[0] = length;
            pretender.answer(Want::Answer { link: 0, kind }, &command)
        };
        let mut pretender = Pretender::watching();
        ask(&mut pretender, CommandKind::Text, b"SELECT 1");
        ask(&mut pretender, CommandKind::Prepare, b"SELECT ?");
        ask(&mut pretender, CommandKind::Prepare, b"DELETE FROM t");
        ask(&mut pretender, CommandKind::Execute, &[1, 0, 0, 0, 0]);
        assert!(!pretender.wrote() && pretender.statements() == 2);
        ask(&mut pretender, CommandKind::Execute, &[2, 0, 0, 0, 0]);
        assert!(pretender.wrote());
    }
}
