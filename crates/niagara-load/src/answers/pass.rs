//! A trace sent to one server, one transaction at a time.

use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::session::{Session, SessionError};
use crate::protocol::answer_digest::AnswerDigest;
use crate::workload::CaptureWorkload;
use niagara_capture::rewrite::RewrittenTexts;
use niagara_capture::trace::{Action, NONE, Trace};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A statement may take this long, and ten times as long as in the capture.
const LEAST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a login may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Nothing else runs: what waits longer for a lock waits for one that outlasts its transaction, in seconds.
const LOCK_WAIT: u32 = 5;
/// Where there is no number of the server: its connection was lost.
pub(super) const LOST: u16 = u16::MAX;
/// A capture with more losses of connections is not compared to its end.
const MAX_LOST: u32 = 20;
/// How often whoever waits hears of it.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// What the server answered to one statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StepAnswer {
    pub digest: AnswerDigest,
    /// The server's error; 0: none.
    pub error: u16,
}

/// What a server answered to the beginning of a trace, one transaction at a time.
#[derive(Debug, Clone)]
pub struct Answers {
    /// By statement, in the order in which they were sent.
    pub(super) steps: Vec<StepAnswer>,
    /// Transactions that were sent, of which this is a whole number.
    units: usize,
    /// By digest: the first error of one of its statements.
    pub(super) errors: HashMap<u32, AnswerError>,
}

/// An error that a server answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnswerError {
    /// The server's number; [`u16::MAX`] where the connection was lost.
    pub code: u16,
    /// What the server said.
    pub message: String,
}

impl Answers {
    /// How many transactions of the trace were sent.
    pub fn units(&self) -> usize {
        self.units
    }
}

/// The places of a trace's units in the order of their ends, that of each session kept.
pub(super) fn order(trace: &Trace) -> Vec<u32> {
    let mut ends = vec![0; trace.sessions as usize];
    let of_unit = |unit: &niagara_capture::trace::Unit| {
        let end = &mut ends[unit.session as usize];
        *end = unit.end_us.max(*end);
        *end
    };
    let ends_of_units: Vec<u64> = trace.units.iter().map(of_unit).collect();
    let mut order: Vec<u32> = (0..trace.units.len() as u32).collect();
    order.sort_by_key(|&place| (ends_of_units[place as usize], place));
    order
}

/// Sends the transactions of a capture to `endpoint` one after the other, in the order of their ends, each by a connection
/// of its session, with what is `rewritten` in place of captured statements: the first `units` of them, or as many as take no longer than `within`. The server's data are changed as the capture
/// says. `on_progress` hears how many transactions are over, and of how many.
///
/// # Errors
/// The capture cannot be read; the server cannot be reached; cancelled.
pub fn collect_answers(
    endpoint: &Endpoint,
    (capture, rewritten): (&CaptureWorkload, Option<&RewrittenTexts>),
    units: Option<usize>,
    within: Duration,
    cancel: &AtomicBool,
    on_progress: &mut dyn FnMut(usize, usize),
) -> Result<Answers, LoadError> {
    let trace = capture.trace()?;
    let order = order(&trace);
    let wanted = units.unwrap_or(order.len()).min(order.len());
    let began = Instant::now();
    let mut told = began;
    let mut passing = Passing {
        endpoint,
        trace: &trace,
        rewritten,
        sessions: (0..trace.sessions).map(|_| None).collect(),
        answers: Answers {
            steps: Vec::new(),
            units: 0,
            errors: HashMap::new(),
        },
        lost: 0,
    };
    for &place in &order[..wanted] {
        if cancel.load(Ordering::Relaxed) {
            return Err(LoadError::Cancelled);
        }
        if began.elapsed() >= within || passing.lost > MAX_LOST {
            break;
        }
        passing.unit(place)?;
        if told.elapsed() >= TELL_EVERY {
            told = Instant::now();
            on_progress(passing.answers.units, wanted);
        }
    }
    Ok(passing.answers)
}

/// A pass under way.
struct Passing<'p> {
    endpoint: &'p Endpoint,
    trace: &'p Trace,
    rewritten: Option<&'p RewrittenTexts>,
    /// By session: its connection, while it has one.
    sessions: Vec<Option<Session>>,
    answers: Answers,
    /// Connections that were lost.
    lost: u32,
}

impl Passing<'_> {
    /// Sends one transaction.
    fn unit(&mut self, place: u32) -> Result<(), LoadError> {
        let unit = &self.trace.units[place as usize];
        let mut session = match self.sessions[unit.session as usize].take() {
            Some(session) => Some(session),
            None => Some(self.connect(unit.session)?),
        };
        let clock = self.clock(place, unit.end_us);
        if let Some(there) = &mut session {
            there.set_timeout(LEAST_TIMEOUT);
            match there.execute(clock.as_bytes()) {
                Ok(()) | Err(SessionError::Server(_)) => {}
                Err(_) => {
                    self.lost += 1;
                    session = None;
                }
            }
        }
        for step in unit.range() {
            let answer = match &mut session {
                Some(there) => self.step(there, step),
                None => None,
            };
            match &answer {
                Some(Ok(_)) => {}
                Some(Err(error)) => self.note_error(step, error.clone()),
                None => self.note_error(
                    step,
                    AnswerError {
                        code: LOST,
                        message: "the connection was lost".to_owned(),
                    },
                ),
            }
            if answer.is_none() {
                self.lost += u32::from(session.is_some());
                session = None;
            }
            let failed = |code| StepAnswer {
                digest: AnswerDigest::default(),
                error: code,
            };
            self.answers.steps.push(match answer {
                Some(Ok(digest)) => StepAnswer { digest, error: 0 },
                Some(Err(error)) => failed(error.code),
                None => failed(LOST),
            });
        }
        match session {
            Some(session) if unit.next == NONE => session.quit(),
            other => self.sessions[unit.session as usize] = other,
        }
        self.answers.units += 1;
        Ok(())
    }

    fn connect(&self, session: u32) -> Result<Session, LoadError> {
        let database = self.trace.database(session, &self.endpoint.database);
        let client = self.trace.client(session);
        Session::connect_as_client(self.endpoint, database, client, CONNECT_TIMEOUT)
            .map_err(|error| error.at(self.endpoint))
    }

    /// The statement that sets the clock, what RAND() begins with, and how long locks are waited for.
    fn clock(&self, place: u32, end_us: u64) -> String {
        let now_us = u64::try_from(self.trace.facts.first_us).unwrap_or(0) + end_us;
        // Any two numbers that differ from unit to unit, below what the server takes.
        let seed = (u64::from(place) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(
            "SET timestamp = {}.{:06}, rand_seed1 = {}, rand_seed2 = {}, lock_wait_timeout = {LOCK_WAIT}, \
             innodb_lock_wait_timeout = {LOCK_WAIT}",
            now_us / 1_000_000,
            now_us % 1_000_000,
            seed & 0x3fff_ffff,
            seed >> 34
        )
    }

    /// Keeps the first error of each digest.
    fn note_error(&mut self, step: usize, error: AnswerError) {
        let digest = self.trace.steps[step].digest;
        if digest != NONE {
            self.answers.errors.entry(digest).or_insert(error);
        }
    }

    /// Sends one command; none: its connection was lost.
    fn step(
        &self,
        session: &mut Session,
        place: usize,
    ) -> Option<Result<AnswerDigest, AnswerError>> {
        let step = &self.trace.steps[place];
        let captured = match step.duration_us {
            NONE => Duration::ZERO,
            duration => Duration::from_micros(duration.into()) * 10,
        };
        session.set_timeout(captured.max(LEAST_TIMEOUT));
        let answer = match step.action {
            Action::Query => {
                let other = self.rewritten.and_then(|texts| texts.get(step.text));
                session.answer(other.unwrap_or_else(|| self.trace.text(step.text)))
            }
            Action::Database => session.choose_database(self.trace.text(step.text)),
            Action::Reset => session.reset(),
        };
        match answer {
            Ok(digest) => Some(Ok(digest)),
            Err(SessionError::Server(error)) => Some(Err(AnswerError {
                code: error.code,
                message: error.message,
            })),
            Err(_) => None,
        }
    }
}
