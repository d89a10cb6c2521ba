//! From the events of sessions to units: which statements are sent and begun again together.

use std::collections::HashMap;

use super::draft::Draft;
use super::leave_out::{LeftOut, LeftOutCause};
use super::retries::is_repeated;
use super::types::{Action, NONE, Step, Texts};
use crate::file::{EventKind, NameId, Transaction};
use crate::sql::Class;

/// An event as the compiler keeps it until all are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    pub session: u64,
    pub kind: EventKind,
    pub class: Class,
    pub transaction: Transaction,
    pub database: NameId,
    pub user: NameId,
    /// What its client has said at its login.
    pub client: NameId,
    /// As a step; its `start_us` is set when all times are known.
    pub step: Step,
}

/// A session that is followed.
#[derive(Debug)]
struct Session {
    number: u32,
    /// The database in use as the replay will have it; none: not known.
    database: Option<NameId>,
    /// The transaction under way.
    open: Option<Draft>,
    /// The last unit, which the next one may turn out to repeat.
    last: Option<Draft>,
}

/// Follows sessions.
#[derive(Debug, Default)]
pub(super) struct Units {
    sessions: HashMap<u64, Session>,
    pub done: Vec<Draft>,
    /// By session, in the order of their first events: the database of the login, by name; `None` where the session began before
    /// the capture, or its source has no logins, and nothing says its database.
    pub databases: Vec<Option<NameId>>,
    /// As `databases`: the user, and what the client has said at its login.
    pub clients: Vec<(NameId, NameId)>,
    pub left_out: LeftOut,
}

impl Units {
    /// The next event of its session. `names` gives the text of a database's name.
    pub fn see(&mut self, event: &Kept, texts: &mut Texts, names: &[Vec<u8>]) {
        let next = self.sessions.len() as u32;
        let (databases, clients) = (&mut self.databases, &mut self.clients);
        let session = self.sessions.entry(event.session).or_insert_with(|| {
            let is_known = event.kind == EventKind::Connect || event.database != NameId(0);
            databases.push(is_known.then_some(event.database));
            clients.push((event.user, event.client));
            Session {
                number: next,
                database: Some(event.database),
                open: None,
                last: None,
            }
        });
        if event.client != NameId(0) {
            // What was said later is more.
            self.clients[session.number as usize].1 = event.client;
        }
        let step = match event.kind {
            EventKind::Prepare => return,
            EventKind::Connect | EventKind::Disconnect => {
                // By itself it has no step: it only says when the session is there.
                let mut draft = Draft {
                    session: session.number,
                    start_us: event.step.start_us,
                    end_us: event.step.start_us,
                    ..Draft::default()
                };
                if event.kind == EventKind::Disconnect
                    && let Some(mut open) = session.open.take()
                {
                    // The server undoes it, and lets go of its locks. In a unit of its own that could wait behind those who wait for
                    // them.
                    open.push(Step {
                        text: texts.add(b"ROLLBACK"),
                        ..nothing_captured(event.step)
                    });
                    draft.start_us = draft.start_us.max(open.end_us);
                    Self::finish(session, open, &mut self.done, &mut self.left_out, texts);
                }
                Self::finish(session, draft, &mut self.done, &mut self.left_out, texts);
                return;
            }
            // A replay logs in as one user: the session starts afresh, in the database that it was in.
            EventKind::Reset | EventKind::ChangeUser => Step {
                action: Action::Reset,
                digest: NONE,
                ..event.step
            },
            EventKind::Database => {
                session.database = Some(event.database);
                choice(event, texts, names)
            }
            EventKind::Query | EventKind::Execute => event.step,
        };
        let mut draft = match session.open.take() {
            Some(open) if event.transaction.inside && !event.transaction.first => open,
            // It is undone with its session, as by a disconnect.
            Some(open) if matches!(event.kind, EventKind::Reset | EventKind::ChangeUser) => open,
            Some(open) => {
                // It was left open: a new one, or a statement outside of any, ends it.
                Self::finish(session, open, &mut self.done, &mut self.left_out, texts);
                Draft::default()
            }
            None => Draft::default(),
        };
        draft.session = session.number;
        let is_statement = event.kind.is_statement();
        if is_statement && event.database != NameId(0) && session.database != Some(event.database) {
            // After USE it is what the next statement says; anything else has to be chosen.
            if session.database.is_some() {
                draft.push(choice(event, texts, names));
            }
            session.database = Some(event.database);
        }
        if event.class == Class::Use {
            session.database = None;
        }
        draft.writes |= is_statement && !is_harmless(event.class);
        draft.push(step);
        if event.kind == EventKind::ChangeUser && event.database != NameId(0) {
            draft.push(choice(event, texts, names));
            session.database = Some(event.database);
        }
        if event.transaction.inside && !event.transaction.last {
            session.open = Some(draft);
        } else {
            Self::finish(session, draft, &mut self.done, &mut self.left_out, texts);
        }
    }

    /// A unit is complete: the one before it can go, unless this one repeats it.
    fn finish(
        session: &mut Session,
        draft: Draft,
        done: &mut Vec<Draft>,
        left_out: &mut LeftOut,
        texts: &Texts,
    ) {
        if let Some(last) = session.last.replace(draft)
            && let Some(now) = &session.last
        {
            if is_repeated(&last, now, texts) {
                for step in last.steps.iter().filter(|step| step.digest != NONE) {
                    let duration =
                        (step.duration_us != NONE).then_some(u64::from(step.duration_us));
                    left_out.add(LeftOutCause::Retried, duration);
                }
            } else {
                done.push(last);
            }
        }
    }

    /// Ends all sessions; their units in no order.
    pub fn end(&mut self, texts: &Texts) -> Vec<Draft> {
        for session in self.sessions.values_mut() {
            if let Some(open) = session.open.take() {
                Self::finish(session, open, &mut self.done, &mut self.left_out, texts);
            }
            self.done.extend(session.last.take());
        }
        std::mem::take(&mut self.done)
    }
}

/// Whether nobody has to wait for a statement: it changes nothing that others see.
fn is_harmless(class: Class) -> bool {
    matches!(
        class,
        Class::Read
            | Class::Show
            | Class::Set
            | Class::Use
            | Class::Begin
            | Class::Commit
            | Class::Rollback
            | Class::Empty
            | Class::Other
    )
}

/// The step that chooses the database of an event.
fn choice(event: &Kept, texts: &mut Texts, names: &[Vec<u8>]) -> Step {
    let name = names
        .get(event.database.0 as usize)
        .map_or(&b""[..], Vec::as_slice);
    Step {
        action: Action::Database,
        text: texts.add(name),
        ..nothing_captured(event.step)
    }
}

/// A step with the time of `step`, and without figures of the capture.
fn nothing_captured(step: Step) -> Step {
    Step {
        action: Action::Query,
        digest: NONE,
        duration_us: NONE,
        rows: NONE,
        error: NONE,
        ..step
    }
}
