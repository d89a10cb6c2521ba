//! Sessions by the server's numbers, which it uses again after a restart.

use std::collections::HashMap;

use super::transaction::TransactionState;
use crate::file::NameId;

/// Most sessions that are followed at a time: slow logs do not say when one ends.
const MAX_OPEN: usize = 1 << 16;

/// A session that is followed.
#[derive(Debug, Clone)]
pub struct Session {
    /// Its number in the capture.
    pub number: u64,
    /// The user's name.
    pub user: NameId,
    /// The database in use.
    pub database: NameId,
    /// What its client has said at its login.
    pub client: NameId,
    /// It has said its character set by a statement.
    pub charset_said: bool,
    /// Its transaction.
    pub transaction: TransactionState,
    /// When it was done with what it did last, in microseconds since 1970.
    pub free_us: Option<i64>,
    /// A statement of SQL has just prepared one: the log says it again.
    pub prepares: bool,
    /// A statement of SQL has just executed one: the log says it again, with its values.
    pub executes: bool,
    seen: u64,
}

/// The sessions that are open, for all that is known.
#[derive(Debug, Default)]
pub struct Sessions {
    open: HashMap<u64, Session>,
    next: u64,
    highest: u64,
    reopened: bool,
    seen: u64,
}

impl Sessions {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.next
    }

    /// The server opened its log: it was started, or told to flush its logs.
    pub(crate) fn log_opened(&mut self) {
        self.reopened = true;
    }

    /// The server was started: all sessions of before have ended.
    pub(crate) fn end_all(&mut self) {
        self.open.clear();
        self.highest = 0;
    }

    /// The user of the session of this number.
    pub(crate) fn user(&self, thread: u64) -> Option<NameId> {
        self.open.get(&thread).map(|session| session.user)
    }

    /// The session of this number, a new one if there is none.
    pub fn get(&mut self, thread: u64) -> &mut Session {
        if std::mem::take(&mut self.reopened)
            && thread < self.highest
            && !self.open.contains_key(&thread)
        {
            // Numbers begin again with a restart, which ends all sessions.
            self.end_all();
        }
        self.highest = self.highest.max(thread);
        self.seen += 1;
        if !self.open.contains_key(&thread) {
            self.make_room();
        }
        let session = self.open.entry(thread).or_insert_with(|| {
            self.next += 1;
            Session {
                number: self.next - 1,
                user: NameId(0),
                database: NameId(0),
                client: NameId(0),
                charset_said: false,
                transaction: TransactionState::default(),
                free_us: None,
                prepares: false,
                executes: false,
                seen: 0,
            }
        });
        session.seen = self.seen;
        session
    }

    /// The session has ended, if there is one.
    pub fn close(&mut self, thread: u64) -> Option<Session> {
        self.open.remove(&thread)
    }

    /// Forgets the half that was seen longest ago when there are too many.
    fn make_room(&mut self) {
        if self.open.len() < MAX_OPEN {
            return;
        }
        let mut seen: Vec<u64> = self.open.values().map(|session| session.seen).collect();
        let middle = seen.len() / 2;
        let (_, &mut median, _) = seen.select_nth_unstable(middle);
        self.open.retain(|_, session| session.seen > median);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_after_a_restart() {
        let mut sessions = Sessions::default();
        let number = |sessions: &mut Sessions, thread| sessions.get(thread).number;
        assert_eq!(number(&mut sessions, 7), 0);
        assert_eq!(number(&mut sessions, 9), 1);
        // Told to flush its logs: 9 continues.
        sessions.log_opened();
        assert_eq!(number(&mut sessions, 9), 1);
        sessions.log_opened();
        assert_eq!(number(&mut sessions, 4), 2);
        assert_eq!(number(&mut sessions, 9), 3);
        assert!(sessions.close(9).is_some());
        assert_eq!(number(&mut sessions, 9), 4);
        assert_eq!(sessions.count(), 5);
    }

    #[test]
    fn sessions_that_never_end_are_forgotten() {
        let mut sessions = Sessions::default();
        for thread in 0..MAX_OPEN as u64 * 3 {
            sessions.get(thread);
            assert!(sessions.open.len() <= MAX_OPEN);
        }
        assert_eq!(sessions.count(), MAX_OPEN as u64 * 3);
    }
}
