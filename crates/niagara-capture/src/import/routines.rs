//! Statements of stored routines and triggers, as slow logs have them: before the statement that has called the routine, if that is
//! in the log at all.

use std::collections::HashMap;

use crate::log::{Command, Entry, Stamp};
use crate::sql::{Class, SqlMode, words};

/// The session of entries that name none.
pub(super) const NO_SESSION: u64 = u64::MAX;

/// Most statements that wait for their caller, and most bytes of theirs.
const MAX_HELD: usize = 1 << 16;
const MAX_BYTES: usize = 64 << 20;

/// How far what a server measures of a statement and of its caller may be apart, in microseconds.
const SLACK_US: i64 = 1000;

/// A statement of a routine.
#[derive(Debug)]
pub(super) struct Held {
    pub mode: SqlMode,
    pub file: String,
    user: Vec<u8>,
    database: Option<Vec<u8>>,
    routine: Vec<u8>,
    text: Vec<u8>,
    /// All that is not text.
    numbers: Entry<'static>,
}

impl Held {
    /// Keeps `entry`, which was sent in `database`, from this file.
    pub fn new(entry: &Entry<'_>, mode: SqlMode, file: &str, database: &[u8]) -> Held {
        Held {
            mode,
            file: file.to_owned(),
            user: entry.user.to_vec(),
            database: (!database.is_empty()).then(|| database.to_vec()),
            routine: entry.routine.unwrap_or_default().to_ascii_lowercase(),
            text: entry.text.to_vec(),
            numbers: Entry {
                user: &[],
                database: None,
                routine: None,
                text: &[],
                // A routine prepares nothing, whatever else says so.
                command: Command::Query,
                ..*entry
            },
        }
    }

    /// The entry, as the client would have sent it.
    pub fn entry(&self) -> Entry<'_> {
        Entry {
            user: &self.user,
            database: self.database.as_deref(),
            text: &self.text,
            ..self.numbers
        }
    }

    /// Whether `caller` began no later and ended no earlier, as far as the log says.
    fn is_within(&self, caller: &Entry<'_>) -> bool {
        let duration = |entry: &Entry<'_>| {
            i64::try_from(entry.measured.duration_us.unwrap_or(0)).unwrap_or(i64::MAX / 4)
        };
        let (own, other) = (duration(&self.numbers), duration(caller));
        match (self.numbers.stamp, caller.stamp) {
            (Stamp::Exact(start), Stamp::Exact(begins)) => {
                begins <= start + SLACK_US && begins + other + SLACK_US >= start + own
            }
            (Stamp::Second(second), Stamp::Second(begins)) => begins <= second && other >= own,
            (Stamp::EndSecond(second), Stamp::EndSecond(ends)) => ends >= second && other >= own,
            _ => false,
        }
    }

    /// Whether a text, in lower case, has the routine's name.
    fn is_named(&self, text: &[u8]) -> bool {
        let name = self.routine.rsplit(|&b| b == b'.').next();
        let name = name.unwrap_or_default();
        let name: Vec<u8> = name.iter().copied().filter(|&b| b != b'`').collect();
        !name.is_empty() && words(text).any(|word| word == name)
    }
}

/// Statements of routines whose callers have not been seen yet.
#[derive(Debug, Default)]
pub(super) struct Routines {
    held: HashMap<u64, Vec<Held>>,
    count: usize,
    bytes: usize,
}

/// What becomes of a routine's statement.
#[derive(Debug)]
pub(super) enum Fate {
    /// It is done again by its caller, which is in the log.
    DoneAgain(Held),
    /// Nobody else does it.
    Kept(Held),
}

impl Routines {
    /// Holds a statement back until its caller is known; what has to go first where there are too many.
    pub fn hold(&mut self, held: Held) -> Vec<Fate> {
        self.count += 1;
        self.bytes += held.text.len();
        let thread = held.numbers.thread.unwrap_or(NO_SESSION);
        self.held.entry(thread).or_default().push(held);
        match self.count > MAX_HELD || self.bytes > MAX_BYTES {
            true => self.end_all(),
            false => Vec::new(),
        }
    }

    /// Whether statements of this session wait.
    pub fn waits(&self, thread: u64) -> bool {
        self.count > 0 && self.held.contains_key(&thread)
    }

    /// The session's next statement that is none of a routine: `caller`, of this class; none where the session does something else.
    pub fn end(&mut self, thread: u64, caller: Option<(&Entry<'_>, Class)>) -> Vec<Fate> {
        let Some(held) = self.held.remove(&thread) else {
            return Vec::new();
        };
        self.count -= held.len();
        self.bytes -= held.iter().map(|one| one.text.len()).sum::<usize>();
        let Some((caller, class)) = caller else {
            return kept(held);
        };
        let text = caller.text.to_ascii_lowercase();
        let is_named = held.iter().any(|one| one.is_named(&text));
        // A statement that only reads calls what it names; one that writes may have triggers, which it does not name.
        let may_call = is_named || matches!(class, Class::Call | Class::Write | Class::Other);
        let again = |one: &Held| may_call && one.is_within(caller);
        let first = held.iter().position(again).unwrap_or(held.len());
        let (before, within): (Vec<_>, Vec<_>) = held
            .into_iter()
            .enumerate()
            .partition(|(place, _)| *place < first);
        let of = |list: Vec<(usize, Held)>| list.into_iter().map(|(_, one)| one).collect();
        let mut fates = kept(of(before));
        let within: Vec<Held> = of(within);
        fates.extend(within.into_iter().map(|one| match again(&one) {
            true => Fate::DoneAgain(one),
            false => Fate::Kept(one),
        }));
        fates
    }

    /// The log ends, or its server does: nobody's caller comes.
    pub fn end_all(&mut self) -> Vec<Fate> {
        self.count = 0;
        self.bytes = 0;
        let mut held: Vec<_> = std::mem::take(&mut self.held).into_iter().collect();
        held.sort_unstable_by_key(|(thread, _)| *thread);
        held.into_iter().flat_map(|(_, held)| kept(held)).collect()
    }
}

/// Keeps statements, each with its own time: MariaDB counts them from the beginning of their routine.
fn kept(mut held: Vec<Held>) -> Vec<Fate> {
    let mut before: Option<(Stamp, u64)> = None;
    for one in &mut held {
        let (stamp, duration) = (one.numbers.stamp, one.numbers.measured.duration_us);
        let since = duration.map(|duration| (stamp, duration));
        if let (Some((last, passed)), Some(duration), Stamp::Second(_)) = (before, duration, stamp)
            && last == stamp
            && duration >= passed
        {
            one.numbers.measured.duration_us = Some(duration - passed);
        }
        before = since;
    }
    held.into_iter().map(Fate::Kept).collect()
}
