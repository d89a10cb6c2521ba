//! From entries of a log to events of sessions.

use std::collections::VecDeque;
use std::io::Read;

use super::clients::Clients;
use super::routines::{Fate, Held, NO_SESSION, Routines};
use super::statements::{Known as KnownStatement, Statements};
use crate::client::{ClientFlags, ClientSettings};
use crate::dropped::{Cause, Dropped, Place as LogPlace};
use crate::error::CaptureError;
use crate::file::{
    CaptureWriter, Event, EventKind, Measured, NameId, Parts, Place, Summary, TemplateId,
    Transaction,
};
use crate::filter::is_dump;
use crate::log::{Command, Entry, LogKind, LogReader};
use crate::pcap::PcapReader;
use crate::session::{Clock, Known, Login, Sessions};
use crate::sql::{Class, Effect, RoutineMark, SqlMode, effect_of, guess};
use crate::stored::{FollowOutcome, Follower, Seen, StoredCode, Suspects};
use crate::way::{Way, Ways};

/// What the reader has to know before it reads on.
#[derive(Debug, Default)]
pub(super) enum Change {
    #[default]
    Nothing,
    Mode(u64, SqlMode),
    Forget(u64),
}

impl Change {
    /// As [`apply`](Change::apply), to recorded traffic.
    pub(super) fn apply_to_traffic(self, reader: &mut PcapReader) {
        match self {
            Change::Nothing => {}
            Change::Mode(thread, mode) => reader.set_mode(thread, mode),
            Change::Forget(thread) => reader.forget_mode(thread),
        }
    }

    pub fn apply<R: Read>(self, reader: &mut LogReader<R>) {
        match self {
            Change::Nothing => {}
            Change::Mode(thread, mode) => reader.set_mode(thread, mode),
            Change::Forget(thread) => reader.forget(thread),
        }
    }
}

/// Follows the sessions of a log and writes what they do.
pub(super) struct Tracker {
    writer: CaptureWriter,
    kind: LogKind,
    sessions: Sessions,
    statements: Statements,
    clock: Clock,
    /// The database of the last entry that said one: slow logs say it again only when it differs.
    said: NameId,
    /// The server has just opened the log.
    is_opened: bool,
    routines: Routines,
    /// Of a general log, where its server's functions, triggers and views are known.
    inner: Option<Follower<Held>>,
    /// Of a general log, where they are not.
    suspects: Suspects,
    clients: Clients,
    without_session: u64,
    sampled: u64,
    sampled_sessions: u64,
    inexact: bool,
    has_connects: bool,
    has_prepared: bool,
    has_durations: bool,
    ways: Ways,
}

/// An entry and what belongs to it.
struct Current<'a> {
    entry: &'a Entry<'a>,
    thread: u64,
    mode: SqlMode,
}

impl Tracker {
    pub fn new(writer: CaptureWriter, kind: LogKind, stored: Option<&StoredCode>) -> Tracker {
        let known = stored.filter(|_| kind == LogKind::General);
        Tracker {
            writer,
            kind,
            sessions: Sessions::default(),
            statements: Statements::default(),
            clock: Clock::default(),
            said: NameId(0),
            is_opened: false,
            routines: Routines::default(),
            inner: known.map(|stored| Follower::new(stored.clone())),
            suspects: Suspects::default(),
            clients: Clients::default(),
            without_session: 0,
            sampled: 1,
            sampled_sessions: 1,
            inexact: false,
            has_connects: false,
            has_prepared: kind != LogKind::Slow,
            has_durations: false,
            ways: Ways::default(),
        }
    }

    /// The server opened its log.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub(crate) fn log_opened(&mut self, dropped: &mut Dropped) -> Result<(), CaptureError> {
        self.end_routines(dropped)?;
        match self.kind {
            LogKind::Slow => self.is_opened = true,
            // It has the logins.
            LogKind::General | LogKind::Traffic => self.sessions.log_opened(),
        }
        // It says the next database in any case.
        self.said = NameId(0);
        Ok(())
    }

    /// An entry that cannot be kept has said that this database is in use.
    pub(crate) fn database_said(&mut self, name: &[u8]) {
        self.said = self.writer.name(name);
    }

    /// No caller of a routine comes any more.
    ///
    /// # Errors
    /// The capture cannot be written.
    pub(crate) fn end_routines(&mut self, dropped: &mut Dropped) -> Result<(), CaptureError> {
        let threads = self.inner.as_ref().map(Follower::threads);
        for thread in threads.unwrap_or_default() {
            self.end_inner(thread, dropped)?;
        }
        let fates = self.routines.end_all();
        self.settle(fates, dropped)
    }

    /// Ends the capture.
    pub fn finish(self, summary: Summary) -> Result<Summary, CaptureError> {
        let (clients, unknown_charsets) =
            (self.clients).end(summary.clients, self.writer.dictionary());
        self.writer.finish(Summary {
            sessions: self.sessions.count(),
            has_durations: self.has_durations,
            has_connects: self.has_connects,
            has_prepared: self.has_prepared,
            exact_times: !self.inexact,
            without_session: self.without_session,
            sampled: self.sampled,
            sampled_sessions: self.sampled_sessions,
            clients,
            unknown_charsets,
            suspects: self.suspects.count(),
            ways: self.ways,
            ..summary
        })
    }

    /// The next entry, of this file, read in `mode`.
    pub fn entry(
        &mut self,
        entry: &Entry<'_>,
        mode: SqlMode,
        file: &str,
        dropped: &mut Dropped,
    ) -> Result<Change, CaptureError> {
        let thread = entry.thread.unwrap_or(NO_SESSION);
        if std::mem::take(&mut self.is_opened) && !reopens(entry) {
            // No slow log says that the server was restarted, and numbers of sessions begin again.
            self.sessions.end_all();
        }
        let is_other = self.is_of_other_client(entry, thread);
        let mode = match is_other {
            true => SqlMode::default(),
            false => mode,
        };
        if is_other {
            self.sessions.close(thread);
        }
        let current = Current {
            entry,
            thread,
            mode,
        };
        if let Some(way) = way_of(entry) {
            self.ways.add(way);
        }
        match entry.whole_sessions {
            true => self.sampled_sessions = self.sampled_sessions.max(entry.sampled),
            false => self.sampled = self.sampled.max(entry.sampled),
        }
        // Also of entries that are not kept: the log does not say the same database twice in a row.
        self.said(entry);
        if entry.routine.is_some() && is_statement(entry.command) {
            let database = self.writer.dictionary().name(self.said);
            let held = Held::new(entry, mode, file, database);
            let fates = self.routines.hold(held);
            self.settle(fates, dropped)?;
            return Ok(Change::Nothing);
        }
        if self.routines.waits(thread) {
            let caller = is_statement(entry.command).then(|| {
                let known = self.statements.look(entry.text, mode);
                (entry, known.class())
            });
            let fates = self.routines.end(thread, caller);
            self.settle(fates, dropped)?;
        }
        if self
            .inner
            .as_ref()
            .is_some_and(|inner| inner.follows(thread))
        {
            if entry.command != Command::Query {
                self.end_inner(thread, dropped)?;
            } else if self.follow(Held::new(entry, mode, file, &[]), dropped)? {
                return Ok(Change::Nothing);
            }
        }
        let done = self.done(&current)?;
        let change = done.unwrap_or_else(|(cause, count)| {
            drop_entry((cause, count), entry, file, dropped);
            Change::Nothing
        });
        Ok(match change {
            Change::Nothing if is_other => Change::Forget(thread),
            change => change,
        })
    }

    /// Whether a slow log's number of a session is another client's by now: it has no ends of sessions.
    fn is_of_other_client(&self, entry: &Entry<'_>, thread: u64) -> bool {
        let user = self.sessions.user(thread).unwrap_or_default();
        self.kind == LogKind::Slow
            && entry.command != Command::ChangeUser
            && user != NameId(0)
            && !entry.user.is_empty()
            && self.writer.dictionary().name(user) != entry.user
    }

    /// Keeps the statements of routines that nobody does again, as statements of their clients.
    fn settle(&mut self, fates: Vec<Fate>, dropped: &mut Dropped) -> Result<(), CaptureError> {
        for fate in fates {
            let (held, done) = match fate {
                Fate::DoneAgain(held) => (held, Err((Cause::Routine, 1))),
                Fate::Kept(held) => {
                    let entry = held.entry();
                    let (mode, thread) = (held.mode, entry.thread.unwrap_or(NO_SESSION));
                    let known = self.statements.look(entry.text, mode);
                    let done = match known.routine {
                        RoutineMark::Variables => Err((Cause::RoutineVariables, 1)),
                        _ => self.statement(&Current {
                            entry: &entry,
                            thread,
                            mode,
                        })?,
                    };
                    (held, done)
                }
            };
            if let Err(why) = done {
                drop_entry(why, &held.entry(), &held.file, dropped);
            }
        }
        Ok(())
    }

    /// A statement of a session whose client may have called stored code: whether it is that code's, or waits until that is known.
    /// What waited is written where it is a client's.
    fn follow(&mut self, held: Held, dropped: &mut Dropped) -> Result<bool, CaptureError> {
        let mut open = VecDeque::from([held]);
        while let Some(held) = open.pop_front() {
            let is_last = open.is_empty();
            let mut clients = self.see(held, dropped)?;
            match (clients.is_empty(), clients.len() == 1 && is_last) {
                (true, _) if is_last => return Ok(true),
                (true, _) => {}
                (_, true) => return Ok(false),
                _ => {
                    // It may have called what follows.
                    let first = clients.remove(0);
                    self.write(&first, dropped)?;
                    for held in clients.into_iter().rev() {
                        open.push_front(held);
                    }
                }
            }
        }
        Ok(true)
    }

    /// A statement of a session whose client may have called stored code. Drops that code's; what is left is a client's, the first of
    /// it for sure.
    fn see(&mut self, held: Held, dropped: &mut Dropped) -> Result<Vec<Held>, CaptureError> {
        let marked = {
            let entry = held.entry();
            self.statements.look(entry.text, held.mode).routine != RoutineMark::None
        };
        let seen = Seen::of(held.entry().text, held.mode, marked);
        let thread = held.entry().thread.unwrap_or(NO_SESSION);
        let Some(inner) = &mut self.inner else {
            return Ok(vec![held]);
        };
        let (inner, clients) = match inner.see(thread, held, &seen, marked) {
            FollowOutcome::Inner(inner) => (inner, Vec::new()),
            FollowOutcome::Clients(clients) => (Vec::new(), clients),
            FollowOutcome::Failed(inner, held) => (inner, vec![held]),
        };
        drop_inner(&inner, dropped);
        Ok(clients)
    }

    /// A session does something else than what stored code does.
    fn end_inner(&mut self, thread: u64, dropped: &mut Dropped) -> Result<(), CaptureError> {
        let mut open: VecDeque<Held> = VecDeque::new();
        loop {
            let ended = self.inner.as_mut().map(|inner| inner.end(thread));
            let (waiting, failed) = ended.unwrap_or_default();
            match failed {
                true => drop_inner(&waiting, dropped),
                false => open.extend(waiting),
            }
            let Some(first) = open.pop_front() else {
                return Ok(());
            };
            self.write(&first, dropped)?;
            // It is a client's, and may have called what follows.
            while let Some(held) = open.pop_front() {
                let mut clients = self.see(held, dropped)?;
                if !clients.is_empty() {
                    let first = clients.remove(0);
                    self.write(&first, dropped)?;
                    for held in clients.into_iter().rev() {
                        open.push_front(held);
                    }
                }
            }
        }
    }

    /// Writes a statement that has waited and is a client's.
    fn write(&mut self, held: &Held, dropped: &mut Dropped) -> Result<(), CaptureError> {
        let entry = held.entry();
        let current = Current {
            thread: entry.thread.unwrap_or(NO_SESSION),
            entry: &entry,
            mode: held.mode,
        };
        if let Err(why) = self.done(&current)? {
            drop_entry(why, &entry, &held.file, dropped);
        }
        Ok(())
    }

    /// Writes what an entry says.
    fn done(&mut self, current: &Current<'_>) -> Result<Done, CaptureError> {
        Ok(match current.entry.command {
            Command::Internal => Err((Cause::Internal, 1)),
            Command::Throttled(count) => Err((Cause::Throttled, count)),
            Command::Other => Err((Cause::Command, 1)),
            Command::Connect => self.connect(current)?,
            Command::Quit => self.quit(current)?,
            Command::InitDb => self.init_db(current)?,
            Command::ResetConnection => self.reset(current)?,
            Command::ChangeUser => self.change_user(current)?,
            Command::CloseStatement => Err((Cause::UnnamedPrepared, 1)),
            Command::Prepare if current.entry.text.is_empty() => Err((Cause::UnnamedPrepared, 1)),
            Command::Prepare | Command::Query | Command::Execute => self.statement(current)?,
        })
    }

    /// A client's statement was written: what stands behind it may be of the stored code that it calls.
    fn sent(&mut self, known: KnownStatement, current: &Current<'_>) {
        if self.kind != LogKind::General {
            return;
        }
        let (text, mode, thread) = (current.entry.text, current.mode, current.thread);
        let skeleton = self.statements.skeleton();
        if let Some(inner) = &mut self.inner {
            let database = self.sessions.get(thread).database;
            let database = self.writer.dictionary().name(database);
            inner.begin(thread, skeleton, text, mode, database);
        } else {
            let class = known.class();
            (self.suspects).see(thread, class, skeleton, known.may_call, text);
        }
    }

    /// What the entry says of the database in use.
    fn said(&mut self, entry: &Entry<'_>) {
        if let Some(database) = entry.database {
            self.said = self.writer.name(database);
        }
    }

    /// Brings what is known of the session up to what the entry says, and says where the event is.
    fn place(&mut self, current: &Current<'_>) -> Place {
        let entry = current.entry;
        self.without_session += u64::from(entry.thread.is_none());
        let user = self.writer.name(entry.user);
        let session = self.sessions.get(current.thread);
        if user != NameId(0) {
            session.user = user;
        }
        // A slow log without a schema in its headers says a database where it is another one than the log said last, whoever was in
        // that. Where it says none, the session is in that one, or in none.
        if entry.database.is_some() || self.kind == LogKind::Slow {
            session.database = self.said;
        }
        let duration = entry.measured.duration_us.unwrap_or(0);
        let (start_us, exact) = self.clock.start(entry.stamp, duration, session.free_us);
        let end = start_us.saturating_add(i64::try_from(duration).unwrap_or(i64::MAX));
        session.free_us = Some(end);
        self.inexact |= !exact;
        self.has_durations |= entry.measured.duration_us.is_some();
        Place {
            session: session.number,
            start_us,
            exact,
        }
    }

    /// Writes an event that is no statement.
    fn plain(
        &mut self,
        kind: EventKind,
        current: &Current<'_>,
        place: Place,
    ) -> Result<(), CaptureError> {
        let session = self.sessions.get(current.thread);
        let transaction = match kind {
            EventKind::Database => session.transaction.around(),
            _ => Transaction::default(),
        };
        let event = Event {
            kind,
            class: Class::Empty,
            place,
            transaction,
            measured: Measured {
                duration_us: current.entry.measured.duration_us,
                ..Measured::default()
            },
            user: session.user,
            database: session.database,
            client: session.client,
            template: None,
            parts: Parts::default(),
        };
        self.writer.event(&event, std::iter::empty())
    }

    fn connect(&mut self, current: &Current<'_>) -> Result<Done, CaptureError> {
        let Some(login) = Login::parse(current.entry.text) else {
            // The server says the login first and its refusal then.
            self.sessions.close(current.thread);
            return Ok(Err((Cause::RefusedLogin, 1)));
        };
        // A client that was lost leaves no Quit.
        self.sessions.close(current.thread);
        self.has_connects = true;
        let place = self.place(current);
        self.log_in(current, login);
        if let Some(client) = current.entry.client {
            let client = self.writer.name(client.to_string().as_bytes());
            self.sessions.get(current.thread).client = client;
        }
        self.plain(EventKind::Connect, current, place)?;
        Ok(Ok(Change::Forget(current.thread)))
    }

    fn log_in(&mut self, current: &Current<'_>, login: Login<'_>) {
        let user = self.writer.name(login.user);
        let database = self.writer.name(login.database);
        let session = self.sessions.get(current.thread);
        session.user = user;
        session.database = database;
    }

    fn quit(&mut self, current: &Current<'_>) -> Result<Done, CaptureError> {
        let place = self.place(current);
        self.plain(EventKind::Disconnect, current, place)?;
        self.sessions.close(current.thread);
        Ok(Ok(Change::Forget(current.thread)))
    }

    fn init_db(&mut self, current: &Current<'_>) -> Result<Done, CaptureError> {
        if has_failed(current.entry) && self.kind != LogKind::Slow {
            return Ok(Err((Cause::Command, 1)));
        }
        let place = self.place(current);
        if !current.entry.text.is_empty() {
            let database = self.writer.name(current.entry.text);
            self.sessions.get(current.thread).database = database;
        }
        self.plain(EventKind::Database, current, place)?;
        Ok(Ok(Change::Nothing))
    }

    fn reset(&mut self, current: &Current<'_>) -> Result<Done, CaptureError> {
        let place = self.place(current);
        self.sessions.get(current.thread).transaction = Default::default();
        self.plain(EventKind::Reset, current, place)?;
        Ok(Ok(Change::Forget(current.thread)))
    }

    fn change_user(&mut self, current: &Current<'_>) -> Result<Done, CaptureError> {
        let place = self.place(current);
        if let Some(login) = Login::parse(current.entry.text).filter(|login| !login.user.is_empty())
        {
            self.log_in(current, login);
        }
        self.sessions.get(current.thread).transaction = Default::default();
        self.plain(EventKind::ChangeUser, current, place)?;
        Ok(Ok(Change::Forget(current.thread)))
    }

    fn statement(&mut self, current: &Current<'_>) -> Result<Done, CaptureError> {
        let text = current.entry.text;
        let known = self.statements.look(text, current.mode);
        if self.kind == LogKind::General && known.routine != RoutineMark::None {
            // The log does not say so otherwise. Its caller stands before it.
            return Ok(Err((Cause::Routine, 1)));
        }
        let place = self.place(current);
        let session = self.sessions.get(current.thread);
        let kind = match current.entry.command {
            Command::Prepare if std::mem::take(&mut session.prepares) => {
                return Ok(Err((Cause::SqlPrepared, 1)));
            }
            Command::Prepare => EventKind::Prepare,
            // Executed by a statement of SQL, which has no parameters of the protocol's.
            Command::Execute if std::mem::take(&mut session.executes) => EventKind::Query,
            Command::Execute => EventKind::Execute,
            _ => EventKind::Query,
        };
        let class = known.class();
        if kind == EventKind::Query && current.entry.command == Command::Query {
            session.prepares = false;
            session.executes = false;
        }
        if class == Class::Prepared && self.kind == LogKind::Traffic {
            session.transaction.stands(current.entry.standing);
            return Ok(Err((Cause::SqlExecuted, 1)));
        }
        if class == Class::Prepared {
            let immediate = starts_with_words(text, b"execute", b"immediate");
            session.prepares = immediate || !starts_with_words(text, b"execute", b"");
            session.executes = !session.prepares || immediate;
            return Ok(Err((Cause::SqlPrepared, 1)));
        }
        let (user, database) = (session.user, session.database);
        let (client, charset_said) = (session.client, session.charset_said);
        // What failed has changed nothing.
        let effects = match has_failed(current.entry) {
            true => Vec::new(),
            false => effect_of(class, text),
        };
        // Of several the last one counts.
        let autocommit = effects.iter().rev().find_map(|effect| match effect {
            Effect::Autocommit(on) => Some(*on),
            _ => None,
        });
        let transaction = match kind {
            EventKind::Prepare => Transaction {
                inside: false,
                ..Transaction::default()
            },
            _ => session.transaction.statement(&Known {
                class,
                boundary: known.boundary,
                autocommit,
                standing: current.entry.standing,
            }),
        };
        if class == Class::Empty {
            return Ok(Err((Cause::Empty, 1)));
        }
        if known
            .concern
            .holds(text, self.writer.dictionary().name(database))
        {
            return Ok(Err((Cause::Account, 1)));
        }
        let is_known = charset_said || client != NameId(0);
        if !is_known && !text.is_ascii() {
            let guesses = self.statements.literals(text).map(guess);
            self.clients.literals(user, guesses);
        }
        let client = match known.several && kind == EventKind::Query && !has_failed(current.entry) {
            true => self.sends_several(current.thread, user, client),
            false => client,
        };
        self.has_prepared |= kind == EventKind::Execute;
        let template = self.statements.template(known, &mut self.writer);
        let mut event = event(
            kind,
            class,
            place,
            transaction,
            current.entry,
            (user, database, client),
            template,
        );
        if self.kind == LogKind::Slow && known.may_call {
            // Rows of statements within a stored function count as sent, on MariaDB again for each row.
            event.measured.rows_sent = None;
        }
        self.writer
            .event(&event, self.statements.parts(text, template))?;
        if kind != EventKind::Prepare {
            self.sent(known, current);
        }
        Ok(Ok(self.effects(effects, current)))
    }

    /// A command that is several statements: its client has the flag, from its login or since then (COM_SET_OPTION). What the session's
    /// client has said, from now on.
    fn sends_several(&mut self, thread: u64, user: NameId, client: NameId) -> NameId {
        if client == NameId(0) {
            // A slow log has each of several statements by itself.
            if self.kind != LogKind::Slow {
                self.clients.several(user);
            }
            return client;
        }
        let said = String::from_utf8_lossy(self.writer.dictionary().name(client));
        let Ok(said) = said.parse::<ClientSettings>() else {
            return client;
        };
        let flags = said.flags.unwrap_or_default();
        let flags = Some(flags.with(ClientFlags::MULTI_STATEMENTS));
        let client = ClientSettings { flags, ..said }.to_string();
        let client = self.writer.name(client.as_bytes());
        self.sessions.get(thread).client = client;
        client
    }

    /// What a statement changes for those after it.
    fn effects(&mut self, effects: Vec<Effect>, current: &Current<'_>) -> Change {
        let mut mode = current.mode;
        for effect in effects {
            match effect {
                Effect::Database(name) => {
                    let database = self.writer.name(&name);
                    self.sessions.get(current.thread).database = database;
                }
                Effect::SqlMode(list) => mode = mode.with_list(&list),
                Effect::CharacterSet(name) => {
                    self.sessions.get(current.thread).charset_said = true;
                    mode = mode.with_character_set(&name);
                }
                Effect::Autocommit(_) => {}
            }
        }
        if mode == current.mode {
            Change::Nothing
        } else {
            Change::Mode(current.thread, mode)
        }
    }
}

/// Whether the entry has told the server to open its log: its sessions go on.
fn reopens(entry: &Entry<'_>) -> bool {
    let is_first = |word: &[u8]| starts_with_words(entry.text, word, b"");
    match entry.command {
        // COM_REFRESH has no name of its own.
        Command::Other => true,
        Command::Query => {
            is_first(b"flush")
                || is_first(b"set")
                    && entry
                        .text
                        .windows(SLOW_LOG.len())
                        .any(|word| word.eq_ignore_ascii_case(SLOW_LOG))
        }
        _ => false,
    }
}

/// How the variables of the slow log begin.
const SLOW_LOG: &[u8] = b"slow_query_log";

/// How the client of an entry came; none where it does not say, and of a dump program, which is no part of the application.
fn way_of(entry: &Entry<'_>) -> Option<Way> {
    match entry.command {
        // A general log says it of logins alone.
        Command::Connect if entry.way.is_none() => Login::way(entry.text),
        command if is_statement(command) && !is_dump(entry.text) => entry.way,
        _ => None,
    }
}

/// Whether a statement is executed by it.
fn is_statement(command: Command) -> bool {
    matches!(command, Command::Query | Command::Execute)
}

/// Counts statements of stored code.
fn drop_inner(inner: &[Held], dropped: &mut Dropped) {
    for held in inner {
        drop_entry((Cause::Routine, 1), &held.entry(), &held.file, dropped);
    }
}

/// Counts what is not kept.
fn drop_entry((cause, count): (Cause, u64), entry: &Entry<'_>, file: &str, dropped: &mut Dropped) {
    dropped.add(cause, count, entry.length, || LogPlace {
        file: file.to_owned(),
        line: entry.line,
    });
}

/// A change, or why and how often the entry is not kept.
type Done = Result<Change, (Cause, u64)>;

/// Whether the source says that a command failed.
fn has_failed(entry: &Entry<'_>) -> bool {
    entry.measured.error.is_some_and(|error| error != 0)
}

fn starts_with_words(text: &[u8], first: &[u8], second: &[u8]) -> bool {
    let mut words = text
        .split(|&b| !b.is_ascii_alphanumeric() && b != b'_')
        .filter(|word| !word.is_empty());
    words
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case(first))
        && (second.is_empty()
            || words
                .next()
                .is_some_and(|word| word.eq_ignore_ascii_case(second)))
}

fn event(
    kind: EventKind,
    class: Class,
    place: Place,
    transaction: Transaction,
    entry: &Entry<'_>,
    (user, database, client): (NameId, NameId, NameId),
    template: TemplateId,
) -> Event<'static> {
    Event {
        kind,
        class,
        place,
        transaction,
        measured: entry.measured,
        user,
        database,
        client,
        template: Some(template),
        parts: Parts::default(),
    }
}
