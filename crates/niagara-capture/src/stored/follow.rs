//! Follows sessions of a general log: which statements behind a client's are those of the code that it called.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::body::Seen;
use super::code::StoredCode;
use super::program::{Places, Program};
use crate::sql::SqlMode;

/// Most callers that are remembered.
const MAX_KNOWN: usize = 20_000;
/// Most statements without literals that are known to call nothing.
const MAX_IDLE: usize = 400_000;
/// Most statements of one caller that wait until it is known whose they are.
const MAX_WAITING: usize = 4096;

/// A session whose last statement has called something.
#[derive(Debug)]
struct Session<H> {
    program: Arc<Program>,
    at: Places,
    /// The program may have been over once, here or before.
    has_ended: bool,
    /// Statements since then: whether they are the program's shows behind them.
    waiting: Vec<H>,
}

/// What is known of statements.
#[derive(Debug)]
pub(crate) enum FollowOutcome<H> {
    /// These are those of stored code.
    Inner(Vec<H>),
    /// These are a client's, and the last one may be.
    Clients(Vec<H>),
    /// The first ones are those of stored code that failed, the last one is none.
    Failed(Vec<H>, H),
}

/// All sessions.
#[derive(Debug)]
pub(crate) struct Follower<H> {
    code: StoredCode,
    programs: HashMap<(u64, u64), Option<Arc<Program>>>,
    /// Statements without their literals that call nothing, each in a database.
    idle: HashSet<(u64, u64)>,
    sessions: HashMap<u64, Session<H>>,
}

impl<H> Follower<H> {
    /// With the code of the server's databases.
    pub fn new(code: StoredCode) -> Follower<H> {
        Follower {
            code,
            programs: HashMap::new(),
            idle: HashSet::new(),
            sessions: HashMap::new(),
        }
    }

    /// A client's statement, in this database; `skeleton` is a number of it without its literals.
    pub fn begin(
        &mut self,
        thread: u64,
        skeleton: u64,
        text: &[u8],
        mode: SqlMode,
        database: &[u8],
    ) {
        let hash = xxhash_rust::xxh3::xxh3_64;
        let of = hash(database);
        if self.idle.contains(&(skeleton, of)) {
            return;
        }
        if self.programs.len() >= MAX_KNOWN {
            self.programs.clear();
        }
        let code = &self.code;
        let made = || Program::of(code, text, mode, database).map(Arc::new);
        let Some(program) = self.programs.entry((hash(text), of)).or_insert_with(made) else {
            if self.idle.len() < MAX_IDLE {
                self.idle.insert((skeleton, of));
            }
            return;
        };
        let at = program.start();
        self.sessions.insert(
            thread,
            Session {
                has_ended: program.may_end(&at),
                program: Arc::clone(program),
                at,
                waiting: Vec::new(),
            },
        );
    }

    /// Whether statements of this session may be those of stored code.
    pub fn follows(&self, thread: u64) -> bool {
        self.sessions.contains_key(&thread)
    }

    /// The session's next statement. `marked`: it shows that stored code has executed it.
    pub fn see(
        &mut self,
        thread: u64,
        statement: H,
        seen: &Seen,
        marked: bool,
    ) -> FollowOutcome<H> {
        let Some(session) = self.sessions.get_mut(&thread) else {
            return FollowOutcome::Clients(vec![statement]);
        };
        let at = session.program.step(&session.at, seen);
        if !at.is_empty() && session.waiting.len() < MAX_WAITING {
            session.at = at;
            session.waiting.push(statement);
            if !session.program.may_end(&session.at) {
                return FollowOutcome::Inner(Vec::new());
            }
            session.has_ended = true;
            let inner = std::mem::take(&mut session.waiting);
            if !session.program.may_go_on(&session.at) {
                self.sessions.remove(&thread);
            }
            return FollowOutcome::Inner(inner);
        }
        if marked {
            // Of code that is not known.
            return FollowOutcome::Inner(vec![statement]);
        }
        let (mut waiting, failed) = self.end(thread);
        match failed {
            true => FollowOutcome::Failed(waiting, statement),
            false => {
                waiting.push(statement);
                FollowOutcome::Clients(waiting)
            }
        }
    }

    /// The session does something else: what waits, and whether it is that of code which failed. It is a client's otherwise.
    pub fn end(&mut self, thread: u64) -> (Vec<H>, bool) {
        match self.sessions.remove(&thread) {
            Some(session) => (session.waiting, !session.has_ended),
            None => (Vec::new(), false),
        }
    }

    /// The sessions in which statements may wait.
    pub fn threads(&self) -> Vec<u64> {
        let mut threads: Vec<u64> = self.sessions.keys().copied().collect();
        threads.sort_unstable();
        threads
    }
}
