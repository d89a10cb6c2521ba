//! From a capture to a trace.

use std::collections::HashMap;
use std::path::Path;

use super::draft::Draft;
use super::leave_out::{LeftOut, LeftOutCause};
use super::limits::{MAX_STATEMENTS, MAX_TEXT};
use super::order::{CommitOrder, put_in_order};
use super::part::TracePart;
use super::segments::{in_flight, most};
use super::times::{Known, Seconds, spread};
use super::types::{Action, Facts, NONE, Step, Texts, Trace, TraceDigest, UNKNOWN, Unit};
use super::units::{Kept, Units};
use crate::client::{ClientFlags, ClientSettings, ClientsOfUser, settings_of};
use crate::error::CaptureError;
use crate::file::{CaptureReader, Dictionary, DigestId, Event, EventKind, NameId, Order, Summary};
use crate::log::Meaning;
use crate::sql::{Class, restore};

/// How a capture is compiled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CompileOptions {
    /// Which order between sessions is kept.
    pub order: CommitOrder,
    /// Which of its transactions; none is all of them.
    pub part: Option<TracePart>,
}

/// The server's number of a deadlock.
const DEADLOCK: u32 = 1213;

/// Reads the capture at `path` and makes it ready to be replayed.
///
/// # Errors
/// The file cannot be read or is damaged, has more than fits into memory, or nothing that can be replayed.
pub fn compile(path: &Path, options: CompileOptions) -> Result<Trace, CaptureError> {
    let mut reader = CaptureReader::open(path)?;
    let mut reading = Reading {
        clients: reader.summary().clients.clone(),
        ..Reading::default()
    };
    reader.for_each(|event, dictionary| reading.see(event, dictionary, path))?;
    let seconds = seconds_of(reader.summary());
    let names = reader.dictionary().names();
    let first_us = reading.set_times(seconds);
    let mut units = Units::default();
    for event in &reading.kept {
        units.see(event, &mut reading.texts, names);
    }
    let mut drafts = units.end(&reading.texts);
    let mut left_out = std::mem::take(&mut reading.left_out);
    for (cause, amount) in units.left_out.by_cause() {
        left_out.add_amount(cause, amount);
    }
    if let Some(part) = options.part {
        let all = statements(&drafts);
        drafts = part.take(drafts, &mut reading.digests);
        // Where in the capture they stood was not kept: they count for the part by its share.
        left_out = left_out.scaled(statements(&drafts) as f64 / all.max(1) as f64);
    }
    let databases = units
        .databases
        .iter()
        .map(|id| match id {
            None => UNKNOWN,
            Some(NameId(0)) => NONE,
            Some(id) => reading
                .texts
                .add(names.get(id.0 as usize).map_or(&b""[..], Vec::as_slice)),
        })
        .collect();
    let mut clients: Vec<ClientSettings> = Vec::new();
    let client_of = units
        .clients
        .iter()
        .map(|&(user, client)| {
            let settings = reading.settings(user, client, reader.dictionary());
            place_of(settings, &mut clients)
        })
        .collect();
    reading.texts.close();
    let mut trace = Trace {
        units: Vec::new(),
        steps: Vec::new(),
        digests: reading.digests,
        sessions: 0,
        databases,
        client_of,
        clients,
        facts: Facts {
            exact_times: reader.summary().exact_times,
            has_durations: reader.summary().has_durations,
            sampled: reader.summary().sampled,
            suspects: reader.summary().suspects,
            lost: reader.summary().dropped.lost_statements(),
            executed_as_text: reading.executed,
            captured_deadlocks: (reading.known_errors > 0).then_some(reading.deadlocks),
            first_us,
            counted: reader.summary().counted,
            ..Facts::default()
        },
        left_out,
        texts: reading.texts,
    };
    trace.lay_out(drafts);
    put_in_order(&mut trace.units, options.order);
    trace.count();
    if trace.facts.statements == 0 {
        return Err(CaptureError::NothingToReplay(path.to_owned()));
    }
    Ok(trace)
}

/// The place of settings, which are added where they are new.
fn place_of(settings: ClientSettings, clients: &mut Vec<ClientSettings>) -> u32 {
    let place = clients.iter().position(|known| *known == settings);
    place.unwrap_or_else(|| {
        clients.push(settings);
        clients.len() - 1
    }) as u32
}

/// Statements of so many transactions.
fn statements(drafts: &[Draft]) -> usize {
    let steps = drafts.iter().flat_map(|draft| &draft.steps);
    steps.filter(|step| step.digest != NONE).count()
}

/// What the seconds of inexact times are those of.
fn seconds_of(summary: &Summary) -> Seconds {
    let ends = summary
        .sources
        .iter()
        .any(|source| source.seconds_mean == Meaning::End);
    match summary.order {
        Order::Arrival => Seconds::StartsByArrival,
        Order::Completion if ends => Seconds::Ends,
        Order::Completion => Seconds::Starts,
    }
}

/// What is kept while a capture is read.
#[derive(Default)]
struct Reading {
    kept: Vec<Kept>,
    /// Beside each kept event: what is known of its time.
    known: Vec<Known>,
    texts: Texts,
    digests: Vec<TraceDigest>,
    places: HashMap<DigestId, u32>,
    left_out: LeftOut,
    executed: u64,
    /// Statements of which is known whether they failed; those that met a deadlock.
    known_errors: u64,
    deadlocks: u64,
    text: Vec<u8>,
    /// What is known of clients by their users.
    clients: Vec<ClientsOfUser>,
    /// The same of a user, and of what one has said at its login.
    settings: HashMap<(NameId, NameId), ClientSettings>,
}

impl Reading {
    /// What a client has negotiated.
    fn settings(
        &mut self,
        user: NameId,
        client: NameId,
        dictionary: &Dictionary,
    ) -> ClientSettings {
        let clients = &self.clients;
        *self.settings.entry((user, client)).or_insert_with(|| {
            let said = String::from_utf8_lossy(dictionary.name(client));
            let said: ClientSettings = said.parse().unwrap_or_default();
            said.or(settings_of(clients, dictionary.name(user)))
        })
    }

    fn see(
        &mut self,
        event: &Event<'_>,
        dictionary: &Dictionary,
        path: &Path,
    ) -> Result<(), CaptureError> {
        let measured = event.measured;
        let mut step = Step {
            start_us: 0,
            text: NONE,
            digest: NONE,
            duration_us: number(measured.duration_us),
            rows: rows_of(event.class, measured.rows_sent, measured.rows_affected),
            error: measured.error.unwrap_or(NONE),
            action: Action::Query,
        };
        if event.kind.is_statement() {
            let Some(template) = event.template else {
                return Ok(());
            };
            let template = dictionary.template(template);
            let digest = dictionary.digest(template.digest);
            self.text.clear();
            if restore(&template.skeleton, event.parts(), &mut self.text).is_none() {
                return Err(CaptureError::Damaged {
                    path: path.to_owned(),
                    at: 0,
                    what: "a statement has fewer literals than its template".into(),
                });
            }
            let flags = self.settings(event.user, event.client, dictionary).flags;
            let several = flags.is_some_and(|flags| flags.has(ClientFlags::MULTI_STATEMENTS));
            let cause = LeftOutCause::of(digest.traits, &digest.text, self.text.len(), several);
            if let Some(cause) = cause {
                self.left_out.add(cause, measured.duration_us);
                return Ok(());
            }
            step.digest = self.digest(template.digest, dictionary);
            step.text = self.texts.add(&self.text);
            self.executed += u64::from(event.kind == EventKind::Execute);
            self.known_errors += u64::from(step.error != NONE);
            self.deadlocks += u64::from(step.error == DEADLOCK);
            if self.kept.len() >= MAX_STATEMENTS || self.texts.bytes() > MAX_TEXT {
                return Err(CaptureError::TooLarge(path.to_owned()));
            }
        }
        let duration = measured.duration_us.unwrap_or(0);
        self.known.push(Known {
            start_us: event.place.start_us,
            duration_us: i64::try_from(duration).unwrap_or(i64::MAX / 4),
            session: event.place.session,
            exact: event.place.exact,
        });
        self.kept.push(Kept {
            session: event.place.session,
            kind: event.kind,
            class: event.class,
            transaction: event.transaction,
            database: event.database,
            user: event.user,
            client: event.client,
            step,
        });
        Ok(())
    }

    fn digest(&mut self, id: DigestId, dictionary: &Dictionary) -> u32 {
        *self.places.entry(id).or_insert_with(|| {
            let entry = dictionary.digest(id);
            self.digests.push(TraceDigest {
                digest: entry.digest,
                text: String::from_utf8_lossy(&entry.text).into_owned(),
                class: entry.traits.class,
                volatile: entry.traits.volatile,
                statements: 0,
                captured_us: 0,
            });
            (self.digests.len() - 1) as u32
        })
    }

    /// Gives all steps their starts, counted from the first one; when that is, in microseconds since 1970.
    fn set_times(&mut self, seconds: Seconds) -> i64 {
        let starts = spread(&self.known, seconds);
        self.known = Vec::new();
        let first = starts.iter().copied().min().unwrap_or(0);
        for (event, start) in self.kept.iter_mut().zip(starts) {
            event.step.start_us = start.abs_diff(first);
        }
        first
    }
}

/// In 32 bits; [`NONE`] for what is not known.
fn number(value: Option<u64>) -> u32 {
    value.map_or(NONE, |value| value.min(u64::from(NONE - 1)) as u32)
}

/// Rows that were sent or changed: a statement does one or the other. [`NONE`] where the source does not say those that a statement
/// may have changed.
fn rows_of(class: Class, sent: Option<u64>, affected: Option<u64>) -> u32 {
    let may_change = matches!(
        class,
        Class::Write | Class::Ddl | Class::Call | Class::Prepared | Class::Other
    );
    match (sent, affected) {
        (None, None) => NONE,
        (Some(0), None) if may_change => NONE,
        // What it sent is not known, and it changes nothing.
        (None, Some(_)) if class == Class::Read => NONE,
        // What a function changed that it calls is counted there too, and no answer says it.
        (Some(sent @ 1..), Some(_)) if class == Class::Read => number(Some(sent)),
        (sent, affected) => number(Some(
            sent.unwrap_or(0).saturating_add(affected.unwrap_or(0)),
        )),
    }
}

/// A session does one thing after another, whatever the server's clock, or that of the recording, was set to meanwhile.
fn never_back(drafts: &mut [Draft]) {
    let mut last: HashMap<u32, u64> = HashMap::new();
    for draft in drafts {
        let last = last.entry(draft.session).or_default();
        *last = draft.start_us.max(*last);
        draft.start_us = *last;
        draft.end_us = draft.end_us.max(*last);
    }
}

impl Trace {
    /// Puts units in the order of their beginnings, and sessions in that of their first units.
    fn lay_out(&mut self, mut drafts: Vec<Draft>) {
        never_back(&mut drafts);
        // Within a session they are in their order already, which a stable sort keeps.
        drafts.sort_by_key(|draft| (draft.start_us, draft.session));
        let mut numbers: HashMap<u32, (u32, u32)> = HashMap::new();
        let (mut databases, mut client_of) = (Vec::new(), Vec::new());
        for draft in drafts {
            let place = self.units.len() as u32;
            let sessions = numbers.len() as u32;
            let is_first = !numbers.contains_key(&draft.session);
            let (session, last) = *numbers.entry(draft.session).or_insert((sessions, NONE));
            if is_first {
                databases.push(self.databases[draft.session as usize]);
                client_of.push(self.client_of[draft.session as usize]);
            } else {
                self.units[last as usize].next = place;
            }
            numbers.insert(draft.session, (session, place));
            self.units.push(Unit {
                start_us: draft.start_us,
                end_us: draft.end_us,
                session,
                first_step: self.steps.len() as u32,
                steps: draft.steps.len() as u32,
                next: NONE,
                gate: 0,
                rank: NONE,
                is_first,
                writes: draft.writes,
            });
            self.steps.extend(draft.steps);
        }
        self.sessions = numbers.len() as u32;
        self.databases = databases;
        self.client_of = client_of;
    }

    /// Counts what is in it.
    fn count(&mut self) {
        let facts = &mut self.facts;
        for step in self.steps.iter().filter(|step| step.digest != NONE) {
            let took = match step.duration_us {
                NONE => 0,
                duration => u64::from(duration),
            };
            facts.statements += 1;
            facts.captured_us += took;
            if step.rows != NONE {
                facts.captured_rows += u64::from(step.rows);
            }
            facts.captured_errors += u64::from(step.error != 0 && step.error != NONE);
            let digest = &mut self.digests[step.digest as usize];
            digest.statements += 1;
            digest.captured_us += took;
        }
        facts.span_us = self.units.iter().map(|unit| unit.end_us).max().unwrap_or(0);
        facts.writes = self.units.iter().any(|unit| unit.writes);
        facts.max_sessions = sessions_at_once(&self.units, self.sessions);
        let (has_durations, max_sessions) = (facts.has_durations, facts.max_sessions);
        self.facts.max_in_flight = match has_durations {
            true => in_flight(self.steps_of(&self.units)).max(1),
            false => max_sessions,
        };
    }
}

/// Most sessions at a time.
fn sessions_at_once(units: &[Unit], sessions: u32) -> u32 {
    let mut ends = vec![0; sessions as usize];
    let mut changes = Vec::with_capacity(2 * sessions as usize);
    for unit in units {
        if unit.is_first {
            changes.push((unit.start_us, 1));
        }
        let end = &mut ends[unit.session as usize];
        *end = unit.end_us.max(*end);
    }
    changes.extend(ends.into_iter().map(|end| (end.saturating_add(1), -1)));
    most(&mut changes)
}
