//! One study's results: a single SQLite file.
//!
//! The journal is SQLite's rollback journal, synced at every commit: after a kill, a power cut or a
//! full disk the file is what it was before the running duel, it can be read on a full disk, and it
//! is *one* file that can be copied or mailed. Readers may look while a study runs: transactions
//! last milliseconds, and each side waits for the other.

use std::path::{Path, PathBuf};
use std::time::Duration;

use niagara_model::{
    DuelRecord, Ending, Event, EventRecord, NodeAccount, Phase, ProfileRecord, ReplayRecord,
    ResourceCounters, RunTime, SliceRecord, StudyRecord, Summary, VariantRecord,
};
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row, ffi, params};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Result, StoreError};

/// The tables of `results.db`, with what each column holds.
pub const SCHEMA: &str = include_str!("schema.sql");
/// Counted up with every change of what the file holds: results of another format are neither read nor continued.
const FORMAT: i64 = 9;
/// "Niag" in SQLite's header, by which `file` and we recognise our own.
const APPLICATION_ID: i64 = 0x4e69_6167;
const WAIT_FOR_OTHERS: Duration = Duration::from_secs(30);

/// The results of one study.
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// A new file for a new study; an error if there are results at `path` already.
    pub fn create(path: &Path, study: &StudyRecord) -> Result<Store> {
        let made = Store::connect(path, OpenFlags::SQLITE_OPEN_CREATE)
            .and_then(|mut store| store.create_schema(study).map(|()| store));
        match made {
            Err(StoreError::Foreign { path, .. }) => Err(StoreError::Exists { path }),
            other => other,
        }
    }

    /// The results of a study, to be read and continued.
    pub fn open(path: &Path) -> Result<Store> {
        if !path.exists() {
            return Err(StoreError::Missing { path: path.into() });
        }
        let store = Store::connect(path, OpenFlags::empty())?;
        store.check_format()?;
        store.check_integrity()?;
        Ok(store)
    }

    /// The results of a study, to be read; a running study is not disturbed.
    pub fn open_read_only(path: &Path) -> Result<Store> {
        if !path.exists() {
            return Err(StoreError::Missing { path: path.into() });
        }
        let read_only = || {
            let store = Store::connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
            store.check_format()?;
            Ok(store)
        };
        match read_only() {
            // The last writer was killed within a commit: whoever may write undoes that.
            Err(StoreError::NeedsRollback { .. }) => {
                let writer = Store::connect(path, OpenFlags::empty())?;
                // Reading undoes it; what else there is to say of the file, the next look says.
                if let Err(StoreError::NeedsRollback { .. }) = writer.check_format() {
                    return Err(StoreError::NeedsRollback { path: path.into() });
                }
                drop(writer);
                read_only()
            }
            other => other,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn connect(path: &Path, mode: OpenFlags) -> Result<Store> {
        let access = if mode.contains(OpenFlags::SQLITE_OPEN_READ_ONLY) {
            mode
        } else {
            mode | OpenFlags::SQLITE_OPEN_READ_WRITE
        };
        let failed = |e| StoreError::from_sqlite(path, "cannot open", e);
        let connection =
            Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
                .map_err(failed)?;
        connection.busy_timeout(WAIT_FOR_OTHERS).map_err(failed)?;
        connection
            .execute_batch("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
            .map_err(failed)?;
        Ok(Store {
            connection,
            path: path.to_owned(),
        })
    }

    fn create_schema(&mut self, study: &StudyRecord) -> Result<()> {
        let path = self.path.clone();
        let failed = |e| StoreError::from_sqlite(&path, "cannot create", e);
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Exclusive)
            .map_err(failed)?;
        let tables: i64 = transaction
            .query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))
            .map_err(failed)?;
        if tables > 0 {
            return Err(StoreError::Exists { path });
        }
        transaction.execute_batch(SCHEMA).map_err(failed)?;
        transaction
            .execute_batch(&format!(
                "PRAGMA user_version = {FORMAT}; PRAGMA application_id = {APPLICATION_ID};"
            ))
            .map_err(failed)?;
        transaction
            .execute(
                "INSERT INTO study VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                params![
                    study.kind,
                    study.command,
                    study.key,
                    study.seed.to_string(),
                    study.started_unix_ms,
                    study.plan.to_string(),
                    study.machine.to_string(),
                    study.niagara_version,
                ],
            )
            .map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    fn check_format(&self) -> Result<()> {
        let path = self.path.clone();
        let tables: i64 = self.value("SELECT count(*) FROM sqlite_schema")?;
        let application: i64 = self.value("PRAGMA application_id")?;
        let found: i64 = self.value("PRAGMA user_version")?;
        if tables == 0 {
            Err(StoreError::Empty { path })
        } else if application != APPLICATION_ID {
            Err(StoreError::Foreign {
                path,
                found: "an SQLite database of another program".into(),
            })
        } else if found != FORMAT {
            Err(StoreError::Version {
                path,
                found,
                known: FORMAT,
            })
        } else {
            Ok(())
        }
    }

    fn check_integrity(&self) -> Result<()> {
        let detail: String = self.value("PRAGMA quick_check(1)")?;
        if detail == "ok" {
            return Ok(());
        }
        Err(StoreError::Corrupt {
            path: self.path.clone(),
            detail,
        })
    }

    /// What was asked, where, with what seed.
    pub fn study(&self) -> Result<StudyRecord> {
        let mut studies = self.rows(
            "SELECT kind, command, key, seed, started_unix_ms, plan, machine, niagara_version
               FROM study",
            [],
            |row| {
                Ok(StudyRecord {
                    kind: row.get(0)?,
                    command: row.get(1)?,
                    key: row.get(2)?,
                    seed: parsed(row, 3)?,
                    started_unix_ms: row.get(4)?,
                    plan: json(row, 5)?,
                    machine: json(row, 6)?,
                    niagara_version: row.get(7)?,
                })
            },
        )?;
        studies.pop().ok_or_else(|| StoreError::Empty {
            path: self.path.clone(),
        })
    }

    /// Keeps a variant; one that is there already stays as it is.
    pub fn add_variant(&self, variant: &VariantRecord) -> Result<()> {
        self.write(
            "INSERT INTO variant (id, label, content, command, server_version)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO NOTHING",
            params![
                variant.id,
                variant.label,
                variant.content.to_string(),
                variant.command,
                variant.server_version,
            ],
        )
    }

    /// Every variant, in the order of first appearance.
    pub fn variants(&self) -> Result<Vec<VariantRecord>> {
        self.rows(
            "SELECT id, label, content, command, server_version FROM variant ORDER BY position",
            [],
            |row| {
                Ok(VariantRecord {
                    id: row.get(0)?,
                    label: row.get(1)?,
                    content: json(row, 2)?,
                    command: row.get(3)?,
                    server_version: row.get(4)?,
                })
            },
        )
    }

    /// Keeps a duel with its slices: all of it or, on any error, nothing of it. Its variants must
    /// have been added before.
    pub fn add_duel(&mut self, duel: &DuelRecord, slices: &[SliceRecord]) -> Result<()> {
        let path = self.path.clone();
        self.insert_duel(duel, slices).map_err(|e| {
            if e.sqlite_error().map(|e| e.extended_code) == Some(ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
            {
                let seq = duel.seq;
                return StoreError::DuelExists { path, seq };
            }
            StoreError::from_sqlite(&path, "cannot store a duel", e)
        })
    }

    fn insert_duel(&mut self, duel: &DuelRecord, slices: &[SliceRecord]) -> rusqlite::Result<()> {
        let (status, failed_side, reason) = match &duel.ending {
            Ending::Scored => ("scored", None, None),
            Ending::Disturbed => ("disturbed", None, None),
            Ending::Failed { side, reason } => (
                "failed",
                Some(*side),
                Some(serde_json::json!(reason).to_string()),
            ),
        };
        let transaction = self
            .connection
            .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute(
            "INSERT INTO duel VALUES
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
              ?20, ?21)",
            params![
                duel.seq,
                duel.phase.word(),
                duel.subject,
                duel.variants[0],
                duel.variants[1],
                duel.seed.to_string(),
                duel.started_unix_ms,
                duel.wall_seconds,
                duel.load_seconds,
                duel.score,
                duel.cpu_score,
                duel.latency_scores.map(|s| s[0]),
                duel.latency_scores.map(|s| s[1]),
                duel.couples,
                duel.dropped[0],
                duel.dropped[1],
                status,
                failed_side,
                reason,
                duel.raw_score,
                duel.p99_score,
            ],
        )?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO slice VALUES
                 (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                  ?19, ?20, ?21, ?22, ?23, ?24)",
            )?;
            for slice in slices {
                let errors: serde_json::Map<_, _> = slice
                    .errors
                    .iter()
                    .map(|(code, count)| (code.to_string(), (*count).into()))
                    .collect();
                insert.execute(params![
                    duel.seq,
                    slice.couple,
                    slice.side,
                    slice.first,
                    slice.started_unix_ms,
                    slice.seconds,
                    count(slice.transactions),
                    count(slice.queries),
                    serde_json::Value::Object(errors).to_string(),
                    count(slice.latency_us[0]),
                    count(slice.latency_us[1]),
                    count(slice.latency_us[2]),
                    count(slice.latency_us[3]),
                    count(slice.latency_us[4]),
                    slice.server_cpu_seconds,
                    slice.client_cpu_seconds,
                    count(slice.transactions_whole),
                    count(slice.client_context_switches),
                    count(slice.server_context_switches),
                    slice.steal,
                    slice.disturbed,
                    slice.histogram,
                    slice.taken,
                    slice.generator_busy,
                ])?;
            }
        }
        transaction.commit()
    }

    /// Keeps what was counted over one side's slices of a duel that is about to be stored; a duel that was lost with
    /// its process and is fought again replaces it.
    pub fn add_resource_counters(
        &self,
        duel: u32,
        side: u8,
        counters: &ResourceCounters,
    ) -> Result<()> {
        let content = self.json_of(counters, "the counters to be stored")?;
        self.write(
            "INSERT OR REPLACE INTO account VALUES (?1, ?2, ?3)",
            params![duel, side, content],
        )
    }

    /// What was counted over the slices of sweeps: duel, side, counters.
    pub fn resource_counters(&self) -> Result<Vec<(u32, u8, ResourceCounters)>> {
        self.rows(
            "SELECT duel, side, content FROM account ORDER BY duel, side",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, json(row, 2)?)),
        )
    }

    /// Keeps what a replay did on one side of a duel that is about to be stored; a duel that was lost with its process
    /// and is fought again replaces it.
    pub fn add_replay(&self, duel: u32, side: u8, replay: &ReplayRecord) -> Result<()> {
        let content = self.json_of(replay, "the replay to be stored")?;
        self.write(
            "INSERT OR REPLACE INTO replay VALUES (?1, ?2, ?3)",
            params![duel, side, content],
        )
    }

    /// What replays did: duel, side, record.
    pub fn replays(&self) -> Result<Vec<(u32, u8, ReplayRecord)>> {
        self.rows(
            "SELECT duel, side, content FROM replay ORDER BY duel, side",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, json(row, 2)?)),
        )
    }

    /// Keeps a profile; another of the same subject is replaced.
    pub fn set_profile(&self, profile: &ProfileRecord) -> Result<()> {
        self.write(
            "INSERT INTO profile (subject, content) VALUES (?1, ?2)
             ON CONFLICT (subject) DO UPDATE SET content = excluded.content",
            params![profile.subject, profile.content.to_string()],
        )
    }

    /// Every profile, in the order in which they were taken.
    pub fn profiles(&self) -> Result<Vec<ProfileRecord>> {
        self.rows(
            "SELECT subject, content FROM profile ORDER BY position",
            [],
            |row| {
                Ok(ProfileRecord {
                    subject: row.get(0)?,
                    content: json(row, 1)?,
                })
            },
        )
    }

    /// Every duel, in order.
    pub fn duels(&self) -> Result<Vec<DuelRecord>> {
        self.rows(
            "SELECT seq, phase, subject, variant_a, variant_b, seed, started_unix_ms, wall_seconds,
                    load_seconds, score, cpu_score, p50_score, p95_score, couples, dropped_a,
                    dropped_b, status, failed_side, reason, raw_score, p99_score
               FROM duel ORDER BY seq",
            [],
            |row| {
                let p50: Option<f64> = row.get(11)?;
                let p95: Option<f64> = row.get(12)?;
                let status: String = row.get(16)?;
                Ok(DuelRecord {
                    seq: row.get(0)?,
                    phase: phase(row, 1)?,
                    subject: row.get(2)?,
                    variants: [row.get(3)?, row.get(4)?],
                    seed: parsed(row, 5)?,
                    started_unix_ms: row.get(6)?,
                    wall_seconds: row.get(7)?,
                    load_seconds: row.get(8)?,
                    score: row.get(9)?,
                    cpu_score: row.get(10)?,
                    raw_score: row.get(19)?,
                    p99_score: row.get(20)?,
                    latency_scores: p50.zip(p95).map(|(p50, p95)| [p50, p95]),
                    couples: row.get(13)?,
                    dropped: [row.get(14)?, row.get(15)?],
                    ending: match status.as_str() {
                        "scored" => Ending::Scored,
                        "disturbed" => Ending::Disturbed,
                        _ => Ending::Failed {
                            side: row.get::<_, Option<u8>>(17)?.unwrap_or(0),
                            reason: json(row, 18)?,
                        },
                    },
                })
            },
        )
    }

    /// The slices of one duel, or of all, in the order they were run.
    pub fn slices(&self, duel: Option<u32>) -> Result<Vec<SliceRecord>> {
        self.rows(
            "SELECT duel, couple, side, went_first, started_unix_ms, seconds, transactions, queries,
                    errors, p50_us, p95_us, p99_us, p999_us, max_us, server_cpu_seconds,
                    client_cpu_seconds, transactions_whole, client_context_switches,
                    server_context_switches, steal, disturbed, histogram, taken, generator_busy
               FROM slice WHERE duel BETWEEN ?1 AND ?2
              ORDER BY duel, couple, went_first DESC",
            [duel.unwrap_or(0), duel.unwrap_or(u32::MAX)],
            |row| {
                Ok(SliceRecord {
                    duel: row.get(0)?,
                    couple: row.get(1)?,
                    side: row.get(2)?,
                    first: row.get(3)?,
                    started_unix_ms: row.get(4)?,
                    seconds: row.get(5)?,
                    transactions: counted(row, 6)?,
                    queries: counted(row, 7)?,
                    errors: json(row, 8)?,
                    latency_us: [
                        counted(row, 9)?,
                        counted(row, 10)?,
                        counted(row, 11)?,
                        counted(row, 12)?,
                        counted(row, 13)?,
                    ],
                    server_cpu_seconds: row.get(14)?,
                    client_cpu_seconds: row.get(15)?,
                    transactions_whole: counted(row, 16)?,
                    client_context_switches: counted(row, 17)?,
                    server_context_switches: counted(row, 18)?,
                    steal: row.get(19)?,
                    disturbed: row.get(20)?,
                    histogram: row.get(21)?,
                    taken: row.get(22)?,
                    generator_busy: row.get(23)?,
                })
            },
        )
    }

    /// Notes something that happened.
    pub fn add_event(&self, unix_ms: i64, event: &Event) -> Result<()> {
        let content = self.json_of(event, "the event to be stored")?;
        self.write(
            "INSERT INTO event (unix_ms, content) VALUES (?1, ?2)",
            params![unix_ms, content],
        )
    }

    /// Everything noted, in the order it was.
    pub fn events(&self) -> Result<Vec<EventRecord>> {
        self.rows(
            "SELECT unix_ms, content FROM event ORDER BY id",
            [],
            |row| {
                Ok(EventRecord {
                    unix_ms: row.get(0)?,
                    event: json(row, 1)?,
                })
            },
        )
    }

    /// What nodes were held for, all sittings together; `None` of a study on one machine.
    pub fn node_account(&self) -> Result<Option<NodeAccount>> {
        let mut events = self.events()?.into_iter().rev();
        Ok(events.find_map(|record| match record.event {
            Event::NodesHeld(account) => Some(account),
            _ => None,
        }))
    }

    /// Adds to the time used: once per sitting, or as often as is convenient.
    pub fn add_run_time(&self, elapsed_seconds: f64, load_seconds: f64) -> Result<()> {
        self.write(
            "INSERT INTO run_time (elapsed_seconds, load_seconds) VALUES (?1, ?2)",
            params![elapsed_seconds, load_seconds],
        )
    }

    /// The time used by all sittings together.
    pub fn total_run_time(&self) -> Result<RunTime> {
        let total = self.rows(
            "SELECT total(elapsed_seconds), total(load_seconds) FROM run_time",
            [],
            |row| {
                Ok(RunTime {
                    elapsed_seconds: row.get(0)?,
                    load_seconds: row.get(1)?,
                })
            },
        )?;
        Ok(total.into_iter().next().unwrap_or_default())
    }

    /// Replaces the summary.
    pub fn set_summary(&self, summary: &Summary) -> Result<()> {
        let kind = summary.kind();
        let content = self.json_of(summary, "the summary to be stored")?;
        self.write(
            "INSERT OR REPLACE INTO summary VALUES (1, ?1, ?2)",
            params![kind, content],
        )
    }

    /// The newest summary; `None` before the first.
    pub fn summary(&self) -> Result<Option<Summary>> {
        let content: Option<String> = self
            .connection
            .query_row("SELECT content FROM summary", [], |row| row.get(0))
            .optional()
            .map_err(|e| StoreError::from_sqlite(&self.path, "cannot read", e))?;
        content
            .map(|text| {
                serde_json::from_str(&text).map_err(|e| StoreError::Nonsense {
                    path: self.path.clone(),
                    what: "summary.content",
                    detail: e.to_string(),
                })
            })
            .transpose()
    }

    fn json_of<T: Serialize + DeserializeOwned>(
        &self,
        content: &T,
        what: &'static str,
    ) -> Result<String> {
        let written_and_read = || {
            let text = serde_json::to_string(content)?;
            // A number that is none would be noticed only when the results are read.
            serde_json::from_str::<T>(&text)?;
            Ok(text)
        };
        written_and_read().map_err(|e: serde_json::Error| StoreError::Nonsense {
            path: self.path.clone(),
            what,
            detail: e.to_string(),
        })
    }

    fn write(&self, sql: &str, params: impl Params) -> Result<()> {
        self.connection
            .execute(sql, params)
            .map(drop)
            .map_err(|e| StoreError::from_sqlite(&self.path, "cannot write", e))
    }

    fn value<T: rusqlite::types::FromSql>(&self, sql: &str) -> Result<T> {
        self.connection
            .query_row(sql, [], |row| row.get(0))
            .map_err(|e| StoreError::from_sqlite(&self.path, "cannot read", e))
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let all = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare(sql)?;
            statement.query_map(params, read)?.collect()
        };
        all().map_err(|e| StoreError::from_sqlite(&self.path, "cannot read", e))
    }
}

/// SQLite's integers are signed; no counter of a slice comes near the difference.
fn count(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn counted(row: &Row, column: usize) -> rusqlite::Result<u64> {
    let value: i64 = row.get(column)?;
    u64::try_from(value).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(column, value))
}

fn json<T: DeserializeOwned>(row: &Row, column: usize) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|e| unreadable(column, e))
}

fn parsed(row: &Row, column: usize) -> rusqlite::Result<u64> {
    let text: String = row.get(column)?;
    text.parse().map_err(|e| unreadable(column, e))
}

fn phase(row: &Row, column: usize) -> rusqlite::Result<Phase> {
    let text: String = row.get(column)?;
    [
        Phase::Noise,
        Phase::Screen,
        Phase::Claim,
        Phase::Total,
        Phase::Compare,
        Phase::Cell,
        Phase::Sweep,
        Phase::Search,
        Phase::Whole,
    ]
    .into_iter()
    .find(|phase| phase.word() == text)
    .ok_or_else(|| unreadable(column, format!("unknown phase {text:?}")))
}

fn unreadable(
    column: usize,
    cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, cause.into())
}
