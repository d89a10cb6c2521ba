//! What a trace consists of.

use std::ops::Range;

use super::leave_out::LeftOut;
use crate::client::ClientSettings;
use crate::file::ServerCounts;
use crate::sql::{Class, Digest};

/// No such number, in fields of 32 bits.
pub const NONE: u32 = u32::MAX;
/// A database that the capture does not know.
pub(super) const UNKNOWN: u32 = u32::MAX - 1;

/// What a step sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Action {
    /// A statement as text.
    Query,
    /// The choice of a database; the step's text is its name.
    Database,
    /// The wish for a session like a fresh one.
    Reset,
}

/// One command of a client.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// When it was sent, in microseconds since the trace's beginning.
    pub start_us: u64,
    /// What is sent: a place in the texts.
    pub text: u32,
    /// Its digest, a place in [`Trace::digests`]; [`NONE`] for what is no statement.
    pub digest: u32,
    /// How long it took in the capture, in microseconds; [`NONE`]: not known.
    pub duration_us: u32,
    /// Rows it sent or changed in the capture; [`NONE`]: not known.
    pub rows: u32,
    /// The error of the capture; 0: none, [`NONE`]: not known.
    pub error: u32,
    /// What is sent.
    pub action: Action,
}

/// Statements of one session that belong together: a transaction, or a statement by itself.
#[derive(Debug, Clone, Copy)]
pub struct Unit {
    /// When it began, in microseconds since the trace's beginning.
    pub start_us: u64,
    /// When it ended; the beginning of its last statement where durations are not known.
    pub end_us: u64,
    /// Who did it: sessions are numbered from 0 by their first units.
    pub session: u32,
    /// Its first step.
    pub first_step: u32,
    /// How many steps it has; 0 for a login or a goodbye by itself.
    pub steps: u32,
    /// The session's next unit; [`NONE`]: it says goodbye after this one.
    pub next: u32,
    /// So many of those that are waited for have to be over before it may begin: the first ones in the order of their ends.
    pub gate: u32,
    /// Its own place in that order; [`NONE`]: nobody waits for it.
    pub rank: u32,
    /// The session begins with it.
    pub is_first: bool,
    /// It changes data or the schema, or locks.
    pub writes: bool,
}

impl Unit {
    /// The places of its steps.
    pub fn range(&self) -> Range<usize> {
        let first = self.first_step as usize;
        first..first + self.steps as usize
    }
}

/// A digest of the statements in a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceDigest {
    /// Its number, the same in every capture.
    pub digest: Digest,
    /// Its text, without literals.
    pub text: String,
    /// The kind of statement.
    pub class: Class,
    /// Whether its answer varies from run to run (NOW, UUID, RAND).
    pub volatile: bool,
    /// Statements of it in the trace.
    pub statements: u64,
    /// Their time in the capture, in microseconds.
    pub captured_us: u64,
}

/// What is known of a trace as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Facts {
    /// Statements to be replayed.
    pub statements: u64,
    /// Their time in the capture, in microseconds.
    pub captured_us: u64,
    /// Rows they sent or changed in the capture, as far as that is known.
    pub captured_rows: u64,
    /// Statements that failed in the capture, as far as that is known.
    pub captured_errors: u64,
    /// Statements of the capture that met a deadlock, those of transactions that were repeated among them; none where the
    /// source has no errors.
    pub captured_deadlocks: Option<u64>,
    /// When the trace begins, in microseconds since 1970 UTC.
    pub first_us: i64,
    /// The time from the first start to the last end, in microseconds.
    pub span_us: u64,
    /// Most statements in flight at a time.
    pub max_in_flight: u32,
    /// Most sessions at a time, from their first unit to their last.
    pub max_sessions: u32,
    /// Whether durations are known.
    pub has_durations: bool,
    /// Whether all starts are known to the microsecond; else those that are not were spread over their second.
    pub exact_times: bool,
    /// Executions of prepared statements, which are replayed as text.
    pub executed_as_text: u64,
    /// Whether anything changes data, the schema, or locks.
    pub writes: bool,
    /// The source has one in this many statements; 1 for all.
    pub sampled: u64,
    /// Statements that triggers and stored functions may have executed, which the source does not say.
    pub suspects: u64,
    /// Statements of clients that the source had and the capture has not.
    pub lost: u64,
    /// What the server counted while it was captured; none where nobody asked it.
    pub counted: Option<ServerCounts>,
}

/// A capture made ready to be replayed.
#[derive(Debug)]
pub struct Trace {
    /// In the order of their beginnings.
    pub units: Vec<Unit>,
    /// Unit by unit.
    pub steps: Vec<Step>,
    /// By number.
    pub digests: Vec<TraceDigest>,
    /// How many sessions.
    pub sessions: u32,
    /// The database that each session has when it logs in: a place in the texts, [`NONE`] for none, [`UNKNOWN`] where the capture
    /// does not know.
    pub(super) databases: Vec<u32>,
    /// What each session's client negotiates at its login: a place in `clients`.
    pub client_of: Vec<u32>,
    /// What clients negotiate.
    pub clients: Vec<ClientSettings>,
    /// What is known of it as a whole.
    pub facts: Facts,
    /// What of the capture is not in it.
    pub left_out: LeftOut,
    pub(super) texts: Texts,
}

impl Trace {
    /// What the client of a session negotiates at its login, as far as it is known.
    pub fn client(&self, session: u32) -> ClientSettings {
        let place = self.client_of.get(session as usize);
        let settings = place.and_then(|&place| self.clients.get(place as usize));
        settings.copied().unwrap_or_default()
    }

    /// The database of a session's login; `load` is the one that the load is in, which is taken where the capture knows none.
    pub fn database<'s>(&'s self, session: u32, load: &'s str) -> Option<&'s str> {
        match self.databases.get(session as usize).copied() {
            None | Some(NONE) => None,
            Some(UNKNOWN) => (!load.is_empty()).then_some(load),
            Some(place) => std::str::from_utf8(self.text(place)).ok(),
        }
    }

    /// The text of a step, or the name of a database.
    #[inline]
    pub fn text(&self, place: u32) -> &[u8] {
        self.texts.get(place)
    }

    /// Bytes of memory that it takes, but for allocation overhead.
    pub fn memory(&self) -> u64 {
        let digests: usize = self.digests.iter().map(|one| one.text.len() + 64).sum();
        (self.units.len() * size_of::<Unit>()
            + self.steps.len() * size_of::<Step>()
            + self.databases.len() * 8
            + self.texts.memory()
            + digests) as u64
    }

    /// The names of the databases that its sessions use.
    pub fn database_names(&self) -> Vec<String> {
        let chosen = self
            .steps
            .iter()
            .filter(|step| step.action == Action::Database);
        let places = self
            .databases
            .iter()
            .copied()
            .chain(chosen.map(|step| step.text));
        let mut places: Vec<u32> = places
            .filter(|place| ![NONE, UNKNOWN].contains(place))
            .collect();
        places.sort_unstable();
        places.dedup();
        let name = |&place: &u32| String::from_utf8_lossy(self.text(place)).into_owned();
        let mut names: Vec<String> = places.iter().map(name).collect();
        names.sort();
        names
    }
}

/// Texts one behind the other, equal ones once.
#[derive(Debug, Default)]
pub(super) struct Texts {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<u64>,
    /// By hash, the last one with it.
    known: std::collections::HashMap<u64, u32>,
}

impl Texts {
    pub(super) fn get(&self, place: u32) -> &[u8] {
        let place = place as usize;
        let start = match place.checked_sub(1) {
            Some(before) => self.ends[before] as usize,
            None => 0,
        };
        &self.bytes[start..self.ends[place] as usize]
    }

    /// The place of a text, which is added if it is not there.
    pub(super) fn add(&mut self, text: &[u8]) -> u32 {
        let hash = xxhash_rust::xxh3::xxh3_64(text);
        if let Some(&place) = self.known.get(&hash)
            && self.get(place) == text
        {
            return place;
        }
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len() as u64);
        let place = (self.ends.len() - 1) as u32;
        self.known.insert(hash, place);
        place
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// No more will be added.
    pub(super) fn close(&mut self) {
        self.known = std::collections::HashMap::new();
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    fn memory(&self) -> usize {
        self.bytes.len() + self.ends.len() * 8
    }
}
