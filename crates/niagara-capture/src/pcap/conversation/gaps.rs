//! What was not recorded, or not understood: how it is noticed, and where reading goes on.
//!
//! TCP sends what is missing again, and a recording may have it in disorder: so it is waited for. Once the receiver says that
//! it has it, it will not be sent again. A client that sends a command says how much it has received: the answer to that
//! command begins behind it, whatever was lost before. A client that does not wait may have sent something before it that is
//! lost, and whose answer comes first: then what is answered is not known, until it has received more.

use super::seek::Seeking;
use super::waiting::Sent;
use super::{Conversation, LATE_EOF, State};
use crate::dropped::Cause;
use crate::pcap::framing::Packet;
use crate::pcap::stream::is_behind;

/// What is missing is awaited for so many segments of its connection, or for so long, in microseconds: recordings of
/// several queues or interfaces are out of order by far less.
const PATIENCE_SEGMENTS: u64 = 64;
const PATIENCE_US: i64 = 500_000;

/// What is known of what is missing.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Segments of the connection so far.
    pub segments: u64,
    /// When something of the client's was found to be missing: the time, and the segment.
    hole: Option<(i64, u64)>,
    /// The gap before the next command is counted.
    is_counted: bool,
    /// The next command that is read is the first one behind a hole.
    pub is_behind_hole: bool,
    /// The client does not wait for answers, as far as was seen.
    is_impatient: bool,
    /// What an impatient one sends before it has received more than this may be behind something that is lost, whose answer
    /// comes first.
    unsure: Option<u32>,
}

impl Conversation {
    /// Goes on behind what will not come; `all`: nothing will.
    pub(super) fn settle(&mut self, now_us: i64, all: bool) {
        while !self.is_over()
            && (self.settle_client(now_us, all) || self.settle_server(now_us, all))
        {
            self.read(now_us);
        }
    }

    fn is_late(&self, since_us: i64, since: u64, now_us: i64) -> bool {
        self.gaps.segments.saturating_sub(since) >= PATIENCE_SEGMENTS
            || now_us.saturating_sub(since_us) >= PATIENCE_US
    }

    /// Looks for the next command behind a hole in what the client sends.
    fn settle_client(&mut self, now_us: i64, all: bool) -> bool {
        if self.waiting.overflows() {
            // Nobody answers, for all that was recorded.
            self.count_gap();
            self.finish(false);
            self.to_client.forget();
            self.framing[1].forget();
            return true;
        }
        if !self.to_server.has_hole() {
            self.gaps.hole = None;
            return false;
        }
        let now = (now_us, self.gaps.segments);
        let (since_us, since) = *self.gaps.hole.get_or_insert(now);
        let will_not_come = self.to_server.was_received() && self.is_late(since_us, since, now_us);
        if !all && !will_not_come && !self.to_server.overflows() {
            return false;
        }
        self.gaps.hole = None;
        if matches!(self.state, State::Greeting) {
            self.leave();
            return false;
        }
        self.count_gap();
        let behind = self.to_server.next_number();
        let ahead = self.to_server.give_up();
        self.seek(Seeking::behind(behind));
        self.gaps.is_behind_hole = true;
        for one in ahead {
            self.client_sends(one.sequence, one.acknowledged, &one.bytes, one.at_us);
            self.read(one.at_us);
        }
        true
    }

    /// Leaves an answer behind of which something is missing, once the client has gone on.
    fn settle_server(&mut self, now_us: i64, all: bool) -> bool {
        if self.to_client.overflows() {
            self.count_gap();
            self.finish(false);
            self.to_client.forget();
            self.framing[1].forget();
            return true;
        }
        match &self.state {
            State::Greeting if !all && self.gaps.segments >= PATIENCE_SEGMENTS => {
                let has_spoken = !self.to_server.bytes().is_empty();
                let is_missing = self.to_client.has_hole()
                    || self.to_client.was_received()
                    || !self.to_client.has_begun();
                if has_spoken && is_missing {
                    self.leave();
                }
                false
            }
            State::Verdict { .. } if self.is_answer_missing(now_us, all) => {
                // Who sends commands was let in.
                self.count_gap();
                self.let_in(None, now_us);
                true
            }
            State::Commands if self.pending.is_some() && self.is_answer_missing(now_us, all) => {
                self.count_gap();
                self.finish(false);
                true
            }
            _ => false,
        }
    }

    /// Whether something is missing of the answers to what was sent before the first command that waits.
    fn is_answer_missing(&self, now_us: i64, all: bool) -> bool {
        let has_all = |number| !self.to_client.lacks(number);
        self.waiting
            .first_with_more(has_all)
            .is_some_and(|sent| all || self.is_late(sent.at_us, sent.segment, now_us))
    }

    /// Goes on where the answer to this command begins, the first one that has none; false: nobody knows where that is.
    pub(super) fn find_answer(&mut self, sent: &Sent) -> bool {
        // Behind a hole, what was received before tells who has waited.
        let has_waited = match (self.gaps.unsure, sent.acknowledged) {
            _ if sent.is_behind_hole => !self.gaps.is_impatient,
            (None, _) => true,
            (Some(before), Some(number)) => is_behind(before, number),
            (Some(_), None) => false,
        };
        if !has_waited {
            if sent.is_behind_hole {
                self.gaps.unsure = sent.acknowledged;
            }
            self.last_number = None;
            return false;
        }
        self.gaps.unsure = None;
        let skipped = sent
            .acknowledged
            .and_then(|number| self.to_client.skip_to(number));
        // It was sent before the answer to the one before was received.
        self.gaps.is_impatient |= skipped.is_none() && sent.acknowledged.is_some();
        if let Some(skipped @ 1..) = skipped {
            self.framing[1].forget();
            // Something was said that no command is known for.
            if skipped > LATE_EOF as u64 && !self.gaps.is_counted {
                self.count_gap();
            }
        }
        self.gaps.is_counted = false;
        true
    }

    /// A packet is none of the answer that is awaited: it may be the first of the next one.
    pub(super) fn misread(&mut self, packet: Packet) {
        self.count_gap();
        self.finish(false);
        let next = self.waiting.first().map(|sent| sent.number.wrapping_add(1));
        if next != Some(packet.numbers.0) || !packet.is_in_stream() {
            self.to_client.forget();
            self.framing[1].forget();
        }
    }

    fn count_gap(&mut self) {
        self.gaps.is_counted = true;
        self.dropped.push((Cause::Gap, 0));
    }
}
