//! What a replay of a capture is made from, worked out once for all sides.

use super::dispatcher::first_units;
use super::settings::Settings;
use super::tally::Tally;
use crate::engine::options::DriverOptions;
use crate::engine::recorder::Kinds;
use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::io_choice::IoChoice;
use crate::workload::{CaptureWorkload, StatementClass};
use niagara_capture::rewrite::RewrittenTexts;
use niagara_capture::sql::Class;
use niagara_capture::trace::{Segment, Trace};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What is needed to replay a capture.
#[derive(Debug)]
pub(crate) struct Setup {
    pub sides: Vec<Vec<Endpoint>>,
    pub trace: Arc<Trace>,
    /// By side: what is sent in place of captured statements.
    pub rewritten: Vec<Option<Arc<RewrittenTexts>>>,
    pub firsts: Arc<Vec<u32>>,
    pub settings: Settings,
    pub segments: Vec<Segment>,
    /// The pace as a multiple of the captured one; none: as fast as the order allows.
    pub speed: Option<f64>,
    pub kinds: Arc<Kinds>,
    /// By the place of the digest in the trace: its place in `kinds`.
    pub kind_of: Vec<u16>,
    pub connect_timeout: Duration,
    pub io: IoChoice,
    pub shared: Arc<Shared>,
}

/// What the driver reads of a replay between its orders.
#[derive(Debug)]
pub(crate) struct Shared {
    /// By side.
    pub tallies: Vec<Mutex<Tally>>,
    /// By side: segments that are left.
    pub left: Vec<AtomicUsize>,
}

/// What the choice of a database and the like are counted as: behind the classes of statements.
const SESSION: &str = "session";

impl Setup {
    pub(crate) fn new(
        sides: &[Vec<Endpoint>],
        capture: &CaptureWorkload,
        options: &DriverOptions,
    ) -> Result<Self, LoadError> {
        let trace = capture.trace()?;
        let segments = trace.segments(options.segment.as_secs_f64(), options.segments_at_least);
        let firsts = Arc::new(first_units(&trace));
        let tokens = trace.facts.max_sessions as usize;
        let servers = sides.iter().flatten();
        let names = Class::ALL.map(|class| (name_of(class).to_owned(), class_of(class)));
        let mut names = names.to_vec();
        names.push((SESSION.to_owned(), StatementClass::Other));
        // A transaction begun again rolls back first.
        names.push(("rollback".to_owned(), StatementClass::Other));
        Ok(Setup {
            io: options.io.settled(servers, sides.len(), tokens),
            sides: sides.to_vec(),
            kind_of: trace
                .digests
                .iter()
                .map(|digest| digest.class as u16)
                .collect(),
            firsts,
            settings: Settings::of(&trace),
            speed: capture.speed(),
            kinds: Arc::new(Kinds {
                names,
                types: Vec::new(),
            }),
            connect_timeout: options.connect_timeout,
            shared: Arc::new(Shared {
                tallies: sides
                    .iter()
                    .map(|_| Mutex::new(Tally::new(&trace)))
                    .collect(),
                left: sides
                    .iter()
                    .map(|_| AtomicUsize::new(segments.len()))
                    .collect(),
            }),
            rewritten: options.rewritten.clone(),
            segments,
            trace,
        })
    }

    /// What steps without a digest are counted as.
    pub(crate) fn session_kind(&self) -> u16 {
        Class::ALL.len() as u16
    }
}

fn name_of(class: Class) -> &'static str {
    match class {
        Class::Read => "read",
        Class::Write => "write",
        Class::Begin => "begin",
        Class::Commit => "commit",
        Class::Rollback => "rolled back",
        Class::Ddl => "ddl",
        Class::Set => "set",
        Class::Use => "use",
        Class::Call => "call",
        Class::Show => "show",
        Class::Lock => "lock",
        Class::Prepared => "prepared",
        Class::Server => "server",
        Class::Other | Class::Empty => "other",
    }
}

fn class_of(class: Class) -> StatementClass {
    match class {
        Class::Read => StatementClass::Read,
        Class::Write => StatementClass::Write,
        _ => StatementClass::Other,
    }
}
