//! Statements that a client sends in a loop: the same digest many times for one page or one transaction ("N+1").

use std::collections::HashMap;

use crate::file::{Event, EventKind};

/// So many executions of a digest in one unit of work, close to each other, are a loop.
const LOOP: u32 = 5;
/// Close is with fewer than this many statements between: a loop may ask several things for each row.
const CLOSE: usize = 3;
/// A session with more statements outside of transactions is one of a pool, where nothing says what belongs together.
const POOLED: u32 = 300;
/// Most sessions that are followed at a time.
const MAX_OPEN: usize = 1 << 16;

/// What one session, or one transaction of it, has executed: digests and how often.
#[derive(Debug, Default)]
struct Unit {
    statements: u32,
    /// Executions that followed the same digest closely, with the first of them.
    digests: Vec<(u32, u32)>,
    /// The last statements.
    last: [Option<u32>; CLOSE],
}

impl Unit {
    fn see(&mut self, digest: u32) {
        self.statements = self.statements.saturating_add(1);
        if self.statements > POOLED && self.digests.len() as u32 > POOLED {
            return;
        }
        let is_close = self.last.contains(&Some(digest));
        self.last.rotate_right(1);
        self.last[0] = Some(digest);
        match self.digests.iter_mut().find(|(seen, _)| *seen == digest) {
            Some((_, count)) if is_close => *count = count.saturating_add(1),
            Some(_) => {}
            None => self.digests.push((digest, 1)),
        }
    }
}

/// Counts executions in loops.
#[derive(Debug, Default)]
pub(super) struct LoopCounter {
    sessions: HashMap<u64, Unit>,
    transactions: HashMap<u64, Unit>,
    /// By digest: executions in loops, and loops.
    counts: Vec<(u64, u64)>,
}

impl LoopCounter {
    /// An event, with the number of its digest where it executes a statement.
    pub(super) fn see(&mut self, event: &Event<'_>, digest: Option<u32>) {
        let session = event.place.session;
        if self.sessions.len().max(self.transactions.len()) >= MAX_OPEN {
            self.close_all();
        }
        if matches!(event.kind, EventKind::Connect | EventKind::Disconnect) {
            if let Some(unit) = self.sessions.remove(&session) {
                self.close_session(unit);
            }
            self.transactions.remove(&session);
            return;
        }
        if event.transaction.first {
            self.transactions.remove(&session);
        }
        if let Some(digest) = digest {
            let units = match event.transaction.inside {
                true => &mut self.transactions,
                false => &mut self.sessions,
            };
            units.entry(session).or_default().see(digest);
        }
        if event.transaction.last
            && let Some(unit) = self.transactions.remove(&session)
        {
            self.close(&unit);
        }
    }

    fn close_session(&mut self, unit: Unit) {
        if unit.statements <= POOLED {
            self.close(&unit);
        }
    }

    fn close(&mut self, unit: &Unit) {
        for &(digest, count) in unit.digests.iter().filter(|(_, count)| *count >= LOOP) {
            let place = digest as usize;
            if self.counts.len() <= place {
                self.counts.resize(place + 1, (0, 0));
            }
            self.counts[place].0 += u64::from(count);
            self.counts[place].1 += 1;
        }
    }

    fn close_all(&mut self) {
        for (_, unit) in std::mem::take(&mut self.sessions) {
            self.close_session(unit);
        }
        for (_, unit) in std::mem::take(&mut self.transactions) {
            self.close(&unit);
        }
    }

    /// By digest: executions in loops, and loops; shorter than there are digests.
    pub(super) fn result(mut self) -> Vec<(u64, u64)> {
        self.close_all();
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(statements: &[u32]) -> Vec<(u64, u64)> {
        let mut unit = Unit::default();
        for &digest in statements {
            unit.see(digest);
        }
        let mut counter = LoopCounter::default();
        counter.close_session(unit);
        counter.result()
    }

    #[test]
    fn repetitions_close_to_each_other_are_loops() {
        assert_eq!(loops(&[0, 1, 1, 1, 1, 1, 1]), [(0, 0), (6, 1)]);
        let page: Vec<u32> = [0].into_iter().chain([1, 2].repeat(6)).collect();
        assert_eq!(loops(&page), [(0, 0), (6, 1), (6, 1)]);
        assert_eq!(loops(&[0, 1, 2, 3, 4, 5].repeat(8)), []);
        assert_eq!(loops(&[0; 301]), [], "a session of a pool");
    }
}
