//! Commands that were sent before those in front of them were answered: a client need not wait.

use std::collections::VecDeque;

use super::hole::Hole;

/// Bytes of commands that may wait: the longest one, and some more.
const MAX_WAITING: usize = 96 << 20;
/// What is kept beside each, in bytes.
const BESIDE: usize = 96;

/// A command as it was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub body: Vec<u8>,
    /// Its length; that of `body` unless it was too long to be kept.
    pub length: usize,
    /// The number of its last packet.
    pub number: u8,
    /// What the client had received when it sent it: the answer to a client that waits begins here.
    pub acknowledged: Option<u32>,
    /// When it was whole, in microseconds since 1970.
    pub at_us: i64,
    /// How many segments its connection had then.
    pub segment: u64,
    /// The number behind its last byte.
    pub end: Option<u32>,
    /// It is the first one that has an answer behind this hole in what the client sent.
    pub hole_before: Option<Hole>,
}

impl Sent {
    /// Whether the server answers it: not what is sent ahead for an execution, nor the end of a statement, nor a goodbye.
    pub(super) fn has_answer(&self) -> bool {
        !matches!(self.body.first(), None | Some(0x01 | 0x18 | 0x19))
    }
}

/// Commands in the order in which they were sent.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    commands: VecDeque<Sent>,
    bytes: usize,
}

impl Waiting {
    pub(super) fn push(&mut self, sent: Sent) {
        self.bytes += sent.body.len() + BESIDE;
        self.commands.push_back(sent);
    }

    pub(super) fn pop(&mut self) -> Option<Sent> {
        let sent = self.commands.pop_front()?;
        self.bytes -= sent.body.len() + BESIDE;
        Some(sent)
    }

    pub(super) fn first(&self) -> Option<&Sent> {
        self.commands.front()
    }

    /// The first one that was sent by who had received more than this.
    pub(super) fn first_with_more(&self, has_all: impl Fn(u32) -> bool) -> Option<&Sent> {
        // Clients receive more and more.
        let place = self
            .commands
            .partition_point(|sent| sent.acknowledged.is_none_or(&has_all));
        self.commands.get(place)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// More wait than may wait.
    pub(super) fn overflows(&self) -> bool {
        self.bytes > MAX_WAITING
    }

    /// Bytes of memory that they take.
    pub(super) fn held(&self) -> usize {
        self.bytes
    }
}
