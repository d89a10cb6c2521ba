//! What was not recorded, or not understood: how it is noticed, and where reading goes on.
//!
//! TCP sends what is missing again, and a recording may have it in disorder: so it is waited for. Once the receiver says that
//! it has it, it will not be sent again.
//!
//! Up to the first gap commands and answers are counted, whether a client waits or not. Behind it nobody knows how many of them
//! are missing. A client that waits for answers says how much it has received when it sends a command: the answer begins there.
//! One that sends commands ahead says nothing of the kind, nor does TCP, which tells what a server has received and not what it has
//! answered. So behind a gap no command of a client that was seen to send ahead, before the gap or since, is given an answer, up
//! to the end of its connection: its answers are not read any more ([`Gaps::is_blind`]).
//!
//! That a client sends ahead shows
//! * when it sends a command having received no more than when it sent the one before, which has an answer;
//! * when it has received less than the whole answer to that one;
//! * when it goes on behind a hole without having received anything that can be the answer to what is in the hole, unless that
//!   may be something that has none;
//! * when the server says something where an answer should begin, and had not received the command.

use super::hole::Hole;
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

/// The end of a statement, which has no answer, with its head, in bytes.
const CLOSE: u32 = 9;

/// What is known of what is missing.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    /// Segments of the connection so far.
    pub segments: u64,
    /// When something of the client's was found to be missing: the time, and the segment.
    hole: Option<(i64, u64)>,
    /// The gap before the next command is counted.
    is_counted: bool,
    /// Something was lost, or the beginning was not recorded: which answer is whose follows from what clients had received, not from
    /// counting.
    has_lost: bool,
    /// The client was seen to send a command before it had the answer to the one before.
    sends_ahead: bool,
    /// It was seen to send pieces of values, which have no answer, and to end statements.
    sends_pieces: bool,
    closes: bool,
    /// What it had received when it sent the last command that has an answer.
    last_asked: Option<u32>,
    /// A hole in what the client sends, up to the next command that has an answer.
    hole_before: Option<Hole>,
    /// The number behind the command whose answer has not begun.
    asked_until: Option<u32>,
}

impl Gaps {
    /// Counting is of no use from here on.
    pub(super) fn lose(&mut self) {
        self.has_lost = true;
    }

    /// What the client sends goes on behind this.
    pub(super) fn goes_on_behind(&mut self, hole: Hole) {
        self.hole_before = Some(hole);
    }

    /// Which answer is whose is not known any more.
    pub(super) fn is_blind(&self) -> bool {
        self.has_lost && self.sends_ahead
    }

    /// Takes note of a command as it was sent.
    pub(super) fn asks(&mut self, sent: &mut Sent) {
        if !sent.has_answer() {
            self.sends_pieces |= sent.body.first() == Some(&0x18);
            self.closes |= sent.body.first() == Some(&0x19);
            return;
        }
        sent.hole_before = self.hole_before.take();
        if let (Some(before), Some(now)) = (self.last_asked, sent.acknowledged) {
            self.sends_ahead |= !is_behind(before, now);
        }
        self.last_asked = sent.acknowledged;
    }

    /// Whether the server, which had received so much, could not know the command yet whose answer seems to begin.
    pub(super) fn is_too_early(&mut self, had: Option<u32>) -> bool {
        let (Some(had), Some(end)) = (had, self.asked_until.take()) else {
            return false;
        };
        let is_too_early = self.has_lost && is_behind(had, end);
        self.sends_ahead |= is_too_early;
        is_too_early
    }

    /// Whether all in a hole may be without an answer, by what the client has sent so far.
    fn may_have_no_answer(&self, hole: Hole) -> bool {
        (hole.length)
            .is_none_or(|length| self.sends_pieces || self.closes && length.is_multiple_of(CLOSE))
    }
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
        if !sent.has_answer() {
            return true;
        }
        if self.gaps.is_blind() {
            return false;
        }
        let mut skipped = None;
        if let Some(number) = sent.acknowledged {
            skipped = self.to_client.skip_to(number);
            // It was sent before the answer to the one before was received.
            self.gaps.sends_ahead |= skipped.is_none();
        }
        if let Some(said @ 1..) = skipped {
            self.framing[1].forget();
            // Something was said that no command is known for.
            if said > LATE_EOF as u64 && !self.gaps.is_counted {
                self.count_gap();
            }
        }
        let has_waited = match (skipped, sent.hole_before) {
            (Some(said), Some(hole)) => self.has_waited(hole, said),
            (Some(_), None) => true,
            (None, _) => !self.gaps.has_lost,
        };
        // What is said to one that has not is no gap of its own.
        self.gaps.is_counted = !has_waited;
        self.gaps.asked_until = sent.end;
        has_waited && !self.gaps.is_blind()
    }

    /// Whether what is in a hole was answered before the client went on: so much was `said` meanwhile, in bytes, and the last of it
    /// when the server had received all of the hole.
    fn has_waited(&mut self, hole: Hole, said: u64) -> bool {
        let Some(had) = self.to_client.acknowledged_before() else {
            return false;
        };
        let is_silent = hole.length.is_some() && said <= LATE_EOF as u64;
        if !is_silent && !is_behind(had, hole.end) {
            return true;
        }
        self.gaps.sends_ahead |= !self.gaps.may_have_no_answer(hole);
        false
    }

    /// Whether the client sent the next command before it had the end of the answer that was just read.
    pub(super) fn is_interrupted(&mut self) -> bool {
        let next = self.waiting.first().filter(|sent| sent.has_answer());
        let received = next.and_then(|sent| sent.acknowledged);
        if let (Some(received), Some(end)) = (received, self.to_client.number()) {
            self.gaps.sends_ahead |= is_behind(received, end);
        }
        self.gaps.is_blind()
    }

    /// The answer to the command under way cannot be told from others; false: there is none under way.
    pub(super) fn leave_answer(&mut self) -> bool {
        let is_awaited = self.pending.is_some();
        if is_awaited {
            self.dropped.push((Cause::UncertainAnswer, 0));
            self.finish(false);
        }
        is_awaited
    }

    /// Nor can any that follows.
    pub(super) fn leave_answers(&mut self) -> bool {
        if self.to_client.has_begun() {
            self.to_client.forget();
            self.framing[1].forget();
        }
        self.leave_answer()
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
        self.gaps.lose();
        self.dropped.push((Cause::Gap, 0));
    }
}
