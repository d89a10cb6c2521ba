//! A capture with the options of its replay.

use crate::counted;
use crate::error::LoadError;
use crate::workload::WorkloadSpec;
use crate::workload::common::CommonOptions;
use crate::workload::family::{Each, Family};
use crate::workload::kind::WorkloadKind;
use crate::workload::option::WorkloadOption;
use niagara_capture::trace::{CommitOrder, CompileOptions, Trace, TracePart, compile};
use niagara_error::{Explanation, problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Names of the options that only captures have.
pub const REPLAY_OPTIONS: [&str; 4] = ["commit_order", "speed", "part", "tables_of"];

/// The slowest and the fastest pace, as a multiple of the captured one.
const SPEEDS: std::ops::RangeInclusive<f64> = 0.001..=1000.0;

/// A capture that is replayed. A document has its path and what it is known by, not what is in it: that may be large, and
/// is private.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureWorkload {
    /// Which capture.
    capture: Replayed,
    /// What the file says; the same for all clones, so that a study reads it once.
    #[serde(skip)]
    trace: Arc<OnceLock<Arc<Trace>>>,
    /// The key that tells documents of workloads apart.
    #[serde(default)]
    kind: Option<String>,
}

/// Which capture, and how it is replayed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Replayed {
    /// The file as the user named it.
    path: String,
    /// xxh3 (128 bits) of the file: it must be the same one when a study is continued.
    content: String,
    /// Which order between sessions is kept.
    #[serde(default)]
    commit_order: CommitOrder,
    /// The pace as a multiple of the captured one; none: as fast as the order allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    speed: Option<f64>,
    /// Which of its transactions; none: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<TracePart>,
    /// The workload whose tables it runs on; none: its data come from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tables_of: Option<Box<WorkloadSpec>>,
    /// Its statements. This and what follows is known without reading the trace.
    statements: u64,
    /// Its sessions.
    sessions: u32,
    /// The most statements at once.
    in_flight: u32,
    /// Whether a statement changes anything.
    writes: bool,
}

impl PartialEq for CaptureWorkload {
    fn eq(&self, other: &Self) -> bool {
        // The trace follows from the rest.
        self.capture == other.capture
    }
}

/// The kind of a capture in documents.
pub(crate) const CAPTURE: &str = "capture";

impl CaptureWorkload {
    /// Reads the capture at `path` and makes it ready.
    ///
    /// # Errors
    /// The file is no capture, is damaged, or has nothing that can be replayed.
    pub fn open(path: &Path) -> Result<CaptureWorkload, LoadError> {
        let mut workload = CaptureWorkload {
            capture: Replayed {
                path: path.display().to_string(),
                content: content_of(path)?,
                commit_order: CommitOrder::default(),
                speed: None,
                part: None,
                tables_of: None,
                statements: 0,
                sessions: 0,
                in_flight: 0,
                writes: false,
            },
            trace: Arc::default(),
            kind: Some(CAPTURE.to_owned()),
        };
        workload.count()?;
        Ok(workload)
    }

    /// Notes what the trace says of itself.
    fn count(&mut self) -> Result<(), LoadError> {
        let trace = self.trace()?;
        self.capture.statements = trace.facts.statements;
        self.capture.sessions = trace.sessions;
        self.capture.in_flight = trace.facts.max_in_flight;
        self.capture.writes = trace.facts.writes;
        Ok(())
    }

    /// What the capture says, made ready to be replayed: read once for this workload and all its clones.
    ///
    /// # Errors
    /// The file cannot be read, or is another one than it was.
    pub fn trace(&self) -> Result<Arc<Trace>, LoadError> {
        if let Some(trace) = self.trace.get() {
            return Ok(Arc::clone(trace));
        }
        let path = Path::new(&self.capture.path);
        if content_of(path)? != self.capture.content {
            return Err(LoadError::invalid(problem!(
                "{} is not the capture that it was when this was planned", path.display();
                remedy: "put the file back, or start over in another folder of results"
            )));
        }
        let options = CompileOptions {
            order: self.capture.commit_order,
            part: self.capture.part,
        };
        let trace =
            compile(path, options).map_err(|error| LoadError::invalid(Explanation::of(&error)))?;
        // Whoever was faster has the same.
        Ok(Arc::clone(self.trace.get_or_init(|| Arc::new(trace))))
    }

    /// The file, as the user named it.
    pub fn path(&self) -> &Path {
        Path::new(&self.capture.path)
    }

    /// The pace as a multiple of the captured one; none: as fast as the order allows.
    pub fn speed(&self) -> Option<f64> {
        self.capture.speed
    }

    /// Which order between sessions is kept.
    pub fn commit_order(&self) -> CommitOrder {
        self.capture.commit_order
    }

    /// Which of its transactions are replayed; none: all of them.
    pub fn part(&self) -> Option<TracePart> {
        self.capture.part
    }

    /// Replays a part of its transactions only.
    ///
    /// # Errors
    /// The file cannot be read, or the part has nothing that can be replayed.
    pub fn set_part(&mut self, part: TracePart) -> Result<(), LoadError> {
        self.capture.part = Some(part);
        self.trace = Arc::default();
        self.count()
    }

    /// What has to be replayed before, so that its data are those that its first transaction found: none where it begins
    /// with the capture, or where what is before it changes nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn before(&self) -> Result<Option<CaptureWorkload>, LoadError> {
        let Some(part @ TracePart::After(_)) = self.capture.part else {
            return Ok(None);
        };
        let mut before = self.clone();
        before.capture.speed = None;
        match before.set_part(part.complement()) {
            Ok(()) => Ok(before.capture.writes.then_some(before)),
            // Nothing of it can be replayed.
            Err(_) if self.trace().is_ok() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The workload whose tables it runs on.
    pub fn tables_of(&self) -> Option<&WorkloadSpec> {
        self.capture.tables_of.as_deref()
    }

    /// Most statements in flight in the capture.
    pub fn in_flight(&self) -> u32 {
        self.capture.in_flight.max(1)
    }

    /// Whether its data have to be given: it has none, and no other workload's tables were named.
    pub fn needs_data(&self) -> bool {
        self.capture.tables_of.is_none()
    }

    /// Names the workload whose tables the capture ran on.
    ///
    /// # Errors
    /// A capture, which has no tables of its own.
    pub(crate) fn set_tables_of(&mut self, spec: WorkloadSpec) -> Result<(), LoadError> {
        if spec.capture().is_some() {
            return Err(LoadError::invalid(format!(
                "tables_of = {}: a capture has no tables; name a workload of Niagara's or a file that describes one",
                spec.spelling()
            )));
        }
        self.capture.tables_of = Some(Box::new(spec));
        Ok(())
    }

    /// Sets `commit_order`, `speed` or `part`; false for any other name.
    ///
    /// # Errors
    /// A value that the option does not take.
    pub(crate) fn set_replay(&mut self, name: &str, value: &str) -> Result<bool, LoadError> {
        match name {
            "commit_order" => {
                let order = value.parse();
                self.capture.commit_order =
                    order.map_err(|error| LoadError::invalid(format!("{name}: {error}")))?;
                // Gates are part of the trace.
                self.trace = Arc::default();
            }
            "speed" => {
                let speed = value.strip_suffix('x').unwrap_or(value).parse::<f64>().ok();
                let speed = speed.filter(|speed| SPEEDS.contains(speed)).ok_or_else(|| {
                    LoadError::invalid(format!(
                        "speed = {value}: must be a multiple of the captured pace from {} to {}, such as 1 or 2.5",
                        SPEEDS.start(),
                        SPEEDS.end()
                    ))
                })?;
                self.capture.speed = Some(speed);
            }
            "part" => {
                let part = value.parse();
                self.set_part(
                    part.map_err(|error| LoadError::invalid(format!("{name}: {error}")))?,
                )?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tables(&self) -> Option<&dyn Family> {
        let spec = self.capture.tables_of.as_deref()?;
        Some(spec.workload.family())
    }

    fn tables_mut(&mut self) -> Option<&mut WorkloadSpec> {
        self.capture.tables_of.as_deref_mut()
    }
}

/// xxh3 (128 bits) of a file, in hexadecimal digits.
pub(crate) fn content_of(path: &Path) -> Result<String, LoadError> {
    let failed = |error| {
        LoadError::invalid(problem!(
            "cannot read {}: {error}", path.display();
            remedy: "name a file that is there and that you may read"
        ))
    };
    let mut file = File::open(path).map_err(failed)?;
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(format!("{:032x}", hash.digest128())),
            count => hash.update(&buffer[..count]),
        }
    }
}

impl Family for CaptureWorkload {
    fn kind(&self) -> Option<WorkloadKind> {
        None
    }

    fn name(&self) -> &str {
        let path = &self.capture.path;
        let name = path.rsplit('/').next().unwrap_or(path);
        name.strip_suffix(".capture").unwrap_or(name)
    }

    fn spelling(&self) -> &str {
        &self.capture.path
    }

    fn title(&self) -> Option<&str> {
        Some("captured workload")
    }

    fn writes(&self) -> bool {
        self.capture.writes
    }

    fn takes(&self, option: &WorkloadOption) -> bool {
        self.tables().is_some_and(|tables| tables.takes(option))
    }

    fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
        match self.tables_mut() {
            Some(spec) => spec.workload.family_mut().set(option, value),
            None => Ok(false),
        }
    }

    fn validate(&self) -> Result<(), LoadError> {
        match self.tables() {
            Some(tables) => tables.validate(),
            None => Ok(()),
        }
    }

    fn table_names(&self, threads: u32) -> Vec<String> {
        let tables = self.tables();
        tables.map_or_else(Vec::new, |tables| tables.table_names(threads))
    }

    fn data_in_words(&self, threads: u32) -> String {
        let Replayed {
            statements,
            sessions,
            ..
        } = self.capture;
        let data = match &self.capture.tables_of {
            Some(spec) => format!(
                " on the tables of {}: {}",
                spec.name(),
                spec.data_in_words(threads)
            ),
            None => String::new(),
        };
        let part = match self.capture.part {
            Some(part) => format!(" ({})", part.words()),
            None => String::new(),
        };
        let sessions = counted(u64::from(sessions), "session");
        format!(
            "{} of {sessions}{part}{data}",
            counted(statements, "statement")
        )
    }

    fn data_key(&self, common: &CommonOptions, threads: u32) -> String {
        let data = match self.tables() {
            Some(tables) => tables.data_key(common, threads),
            None => "given".into(),
        };
        match self.capture.part {
            Some(part @ TracePart::After(_)) => {
                format!(
                    "{data} after {} of {}",
                    part.complement(),
                    self.capture.content
                )
            }
            _ => data,
        }
    }

    fn content(&self) -> Option<String> {
        Some(self.capture.content.clone())
    }

    fn expected_rows(&self, threads: u32) -> u64 {
        self.tables()
            .map_or(0, |tables| tables.expected_rows(threads))
    }

    fn read_all_statements(&self, database: &str, threads: u32) -> Vec<String> {
        let tables = self.tables();
        tables.map_or_else(Vec::new, |tables| {
            tables.read_all_statements(database, threads)
        })
    }

    fn fill(
        &self,
        common: &CommonOptions,
        threads: u32,
        each: &mut Each<'_>,
    ) -> Result<(), LoadError> {
        match self.tables() {
            Some(tables) => tables.fill(common, threads, each),
            None => Err(LoadError::prepare(problem!(
                "{} is a capture, which has no data of its own", self.capture.path;
                remedy: "say where the data are with --data; where the capture was taken on the tables of one of Niagara's \
                 workloads, name that with --tables-of"
            ))),
        }
    }
}
