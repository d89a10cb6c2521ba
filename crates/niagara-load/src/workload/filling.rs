//! A connection that works on tables: makes, fills, reads or drops them, and says what it does.

use crate::error::{CONFLICTS, LoadError};
use crate::net::session::{Session, SessionError};
use crate::protocol::command::ParameterType;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

/// Times that a statement is tried before a conflict is an error. Of those in a deadlock one always continues.
const TRIES: u32 = 10;

/// What happens to the tables, as it happens. Tables are numbered from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableEvent {
    /// A table is made.
    Creating(u32),
    /// It is filled; with its number of rows. Not for tables without rows.
    Inserting(u32, u64),
    /// Rows of all tables that are in, and rows that will be. First with 0, then after every insert.
    Rows(u64, u64),
    /// It gets its secondary index.
    Indexing(u32),
    /// It is read.
    Preloading(u32),
    /// It is dropped.
    Dropping(u32),
    /// Something else begins, of tables that have names rather than numbers.
    Step(&'static str),
}

/// A connection that works on tables.
pub(crate) struct Work<'a> {
    session: Session,
    events: Sender<TableEvent>,
    failed: &'a AtomicBool,
    cancel: &'a AtomicBool,
    /// Room for the text of an insert, kept from one table to the next.
    pub insert: Vec<u8>,
    /// Statements that were prepared, by their text.
    prepared: HashMap<String, u32>,
}

impl<'a> Work<'a> {
    /// `failed` says that another connection has failed, `cancel` that the user wants no more.
    pub(crate) fn new(
        session: Session,
        events: Sender<TableEvent>,
        failed: &'a AtomicBool,
        cancel: &'a AtomicBool,
    ) -> Self {
        Work {
            session,
            events,
            failed,
            cancel,
            insert: Vec::new(),
            prepared: HashMap::new(),
        }
    }

    /// Says goodbye to the server.
    pub(crate) fn quit(self) {
        self.session.quit();
    }

    pub(crate) fn say(&self, event: TableEvent) {
        // The receiver is there as long as this thread is.
        let _ = self.events.send(event);
    }

    pub(crate) fn execute(&mut self, sql: &[u8]) -> Result<(), LoadError> {
        self.try_again(|session| session.execute(sql))
            .map_err(|error| failed(&error, sql))
    }

    /// Does `run` again while it is in the way of another connection: two that begin with the same empty table can have
    /// either conflict, as MariaDB then locks the whole table to fill it in bulk. Nothing is left of a statement that was
    /// refused, since each commits by itself.
    fn try_again(
        &mut self,
        mut run: impl FnMut(&mut Session) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        for _ in 1..TRIES {
            match run(&mut self.session) {
                Err(SessionError::Server(error))
                    if CONFLICTS.contains(&error.code) && !self.stopped() => {}
                result => return result,
            }
        }
        run(&mut self.session)
    }

    /// Whether the server takes rows by [`insert_bulk`](Self::insert_bulk).
    pub(crate) fn takes_bulk(&self) -> bool {
        self.session.takes_bulk()
    }

    /// Inserts rows by one execution of `sql`, whose parameters are those of one row: see [`Session::insert_bulk`].
    pub(crate) fn insert_bulk(
        &mut self,
        sql: String,
        types: &[ParameterType],
        rows: &[u8],
    ) -> Result<(), LoadError> {
        let statement = match self.prepared.get(&sql) {
            Some(&statement) => statement,
            None => match self.session.prepare(&sql) {
                Ok(prepared) => {
                    self.prepared.insert(sql.clone(), prepared.statement);
                    prepared.statement
                }
                Err(error) => return Err(failed(&error, sql.as_bytes())),
            },
        };
        self.try_again(|session| session.insert_bulk(statement, types, rows))
            .map_err(|error| failed(&error, sql.as_bytes()))
    }

    /// Whether there is a reason to do no more.
    pub(crate) fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed)
    }
}

/// What is done for a job, by its number.
pub(crate) type JobWork<'f> = dyn Fn(&mut Work<'_>, u32) -> Result<(), LoadError> + Sync + 'f;

/// The error of a statement, with the statement's beginning.
pub(crate) fn failed(error: &SessionError, sql: &[u8]) -> LoadError {
    let start = String::from_utf8_lossy(&sql[..sql.len().min(80)]);
    LoadError::prepare(format!("{error} in: {start}"))
}
