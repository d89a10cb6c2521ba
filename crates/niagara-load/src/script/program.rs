//! One thread of a script, as the load generator sees it: it runs until it wants something, is answered, and runs on.

use crate::protocol::answer::Answer;
use std::time::Duration;

/// What a thread of a script wants before it can continue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Want {
    /// A connection to its server: [`Reply::Linked`], or [`Reply::Refused`].
    Connect,
    /// The answer to [`Program::command`], sent on this link.
    Answer {
        /// As [`Reply::Linked`] called it.
        link: usize,
        /// What the command is.
        kind: CommandKind,
    },
    /// To rest.
    Sleep(Duration),
    /// To know whether another event begins. `completed`: the one before has ended.
    Event {
        /// An event has ended.
        completed: bool,
    },
    /// Nothing until the end of the load: it has left its loop of events. `completed` as with [`Want::Event`].
    Rest {
        /// An event has ended.
        completed: bool,
    },
    /// Nothing any more.
    End,
}

/// What a command is, which says how its answer is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandKind {
    /// A statement in text.
    Text,
    /// A statement to be prepared.
    Prepare,
    /// A statement that was prepared.
    Execute,
}

/// What a thread of a script is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Nothing was asked yet, or a rest is over.
    Go,
    /// A connection, and what it is called.
    Linked(usize),
    /// No connection.
    Refused(Refusal),
    /// The statement is done; this many rows were changed.
    Done(u64),
    /// The statement has rows, which are in the link's [`Answer`].
    Rows,
    /// The statement is prepared.
    Prepared {
        /// Its number.
        statement: u32,
        /// How many parameters it has.
        parameters: u16,
        /// How many columns its rows have; 0: it has none.
        columns: u16,
    },
    /// The server refuses the statement.
    Failed(Refusal),
    /// The connection is lost, why.
    Lost(String),
    /// Whether another event begins.
    Event(bool),
    /// The load is over: leave.
    Goodbye,
}

/// What a server, or the way to it, says against something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The error's number; of the client library where no server has answered.
    pub code: u16,
    /// Its SQL state.
    pub state: String,
    /// Its message.
    pub message: String,
    /// It is one of those that are put up with.
    pub ignorable: bool,
}

/// What a thread has counted by itself since it was last asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Statements without rows and changes.
    pub other: u32,
    /// Statements with rows.
    pub reads: u32,
    /// Statements that changed rows.
    pub writes: u32,
    /// Errors that were put up with, by whatever number.
    pub errors: u32,
    /// The last of them.
    pub error: u16,
    /// Reconnects.
    pub reconnects: u32,
}

impl Counts {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        *self == Counts::default()
    }

    /// Adds what was counted later.
    pub fn add(&mut self, more: Counts) {
        self.other += more.other;
        self.reads += more.reads;
        self.writes += more.writes;
        self.errors += more.errors;
        if more.errors > 0 {
            self.error = more.error;
        }
        self.reconnects += more.reconnects;
    }

    /// Counts a statement by its answer, as sysbench does.
    pub(crate) fn answered(&mut self, reply: &Reply) {
        match reply {
            Reply::Rows => self.reads += 1,
            Reply::Done(0) => self.other += 1,
            Reply::Done(_) => self.writes += 1,
            _ => {}
        }
    }
}

/// The server, for a thread that has to wait where it stands: it is within a call of C, out of which it cannot be taken.
pub trait Server {
    /// Does what is wanted, blocking. `command` and `answer` are the link's.
    fn ask(&mut self, want: Want, command: &[u8], answer: &mut Answer) -> Reply;
}

/// A thread of a script. It stays on the thread of the system that made it.
pub trait Program {
    /// Runs on until it wants something.
    ///
    /// # Errors
    /// The script fails: the line that says so, as its log has it.
    fn resume(&mut self, reply: Reply, server: &mut dyn Server) -> Result<Want, String>;

    /// The command of [`Want::Answer`], with its packets' headers.
    fn command(&self) -> &[u8];

    /// Where the rows of a link's answer belong.
    fn answer(&mut self, link: usize) -> &mut Answer;

    /// What it has counted since the last time.
    fn take_counts(&mut self) -> Counts;

    /// Links that it has given up since the last time.
    fn take_closed(&mut self) -> Vec<usize>;

    /// What interrupts it from another thread while it runs.
    fn interrupter(&self) -> Interrupter;
}

/// Interrupts a program that does not come back.
pub type Interrupter = std::sync::Arc<dyn Fn() + Send + Sync>;
