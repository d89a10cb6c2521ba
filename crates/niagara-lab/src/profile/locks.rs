//! The locks view: a second server that can count its waits, beside one that cannot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use niagara_load::{Admin, LoadError, Row, SliceStats};
use niagara_profile::Profile;
use niagara_profile::locks::{
    CONNECTIONS, COUNT, METADATA_WAITERS, METADATA_WAITS, ObjectSampler, RECORD_METADATA, REST,
    ROW_WAITS, SWITCH_ON, VARIABLES, WAITS, look_at, named, some_ended,
};
use niagara_profile::process::Rotation;
use niagara_profile::result::Locks;
use rand::Rng;
use rand::seq::SliceRandom;

use super::costs::{Watched, watch_couples};
use super::stage::Stage;
use super::work::per_query;
use super::{ProfileOptions, View, seconds};
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::variants::variant::Variant;

/// How often it is asked who waits for what: every question costs the server some hundred microseconds, and InnoDB of
/// MariaDB answers with what it knew before unless a tenth of a second has passed since the last one.
pub(super) const LOOK: Duration = Duration::from_millis(200);
/// Part of a slice in which waits are counted: as much as shows them, so that the server is itself for the rest of the time.
const COUNTED: f64 = 0.5;
/// Bound on an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// Profiles the locks: side 0 is the variant as it is, side 1 the same with its instruments.
pub(super) fn locks(
    bench: &Workbench,
    variant: &Variant,
    options: &ProfileOptions,
    rng: &mut impl Rng,
    observer: &mut dyn Observer,
    profile: &mut Profile,
) -> Result<Watched> {
    let mut instrumented = variant.clone();
    for (name, value) in VARIABLES {
        instrumented
            .config
            .insert(name.to_owned(), value.to_owned());
    }
    observer.see(Event::SettingUp("starting a server that counts its waits"));
    let mut stage = Stage::open(bench, &[variant.clone(), instrumented.clone()], options, 1)?;
    for side in [0, 1] {
        stage.thaw(side)?;
        stage.run(side, options.warm_up_seconds / 2.0)?;
        stage.freeze(side)?;
    }
    stage.thaw(1)?;
    let connections = switch_on(&stage, rng)?;
    let mut rotation = Rotation::new(connections.clone());
    let before = row_counters(&stage)?;
    stage.freeze(1)?;

    let endpoint = bench.endpoint_here(stage.server(1), &instrumented);
    stage.thaw(1)?;
    let mut connection = Admin::connect(&endpoint, ANSWER)?;
    let mut asker = Asker::new(&mut connection, false)?;
    stage.freeze(1)?;
    let (mut observed, mut queries) = (0.0, 0.0);
    let length = options.slice_seconds;
    let seen = watch_couples(&mut stage, options, rng, observer, |stage, with| {
        let side = usize::from(with);
        stage.thaw(side)?;
        let slice = if with {
            for statement in look_at(&rotation.turn()) {
                stage.server(1).query(&statement)?;
            }
            let (slice, counted) = asked_meanwhile(stage, length, &mut asker)?;
            observed += slice.0.load_seconds * counted * rotation.at_once() as f64;
            queries += slice.0.queries_whole as f64 * counted;
            slice
        } else {
            stage.slice(side, length)?
        };
        stage.freeze(side)?;
        Ok(slice)
    })?;
    stage.thaw(1)?;
    let after = row_counters(&stage)?;
    let row_waits = RowWaits::between(before, after);
    let part = rotation.at_once() as f64 / rotation.len() as f64;
    let are_renewed = some_ended(&connections, &listed(&stage)?);
    if are_renewed {
        profile.missing.push(RENEWED.into());
    }
    let (named, at_once) = match are_renewed {
        true => (Vec::new(), 0),
        false => (
            named(&stage.server(1).query(WAITS)?, observed, queries * part),
            rotation.at_once(),
        ),
    };
    profile.locks = Some(Locks {
        named,
        threads: (at_once, rotation.len()),
        objects: asker.objects.finish(),
        row_waits_per_query: per_query(row_waits.count, Some(seen.queries as f64)),
        row_wait_us: row_waits.average_us(),
    });
    profile.costs.extend(seen.cost(View::Locks));
    stage.close();
    Ok(seen)
}

/// Said of a load whose connections do not last.
const RENEWED: &str = "named locks: the load ends connections and makes new ones, and a server forgets what a connection waited \
                       for when it ends; rows and tables that were waited for are shown all the same";

/// Has the instrumented server count its waits; its connections, to be observed in turn.
fn switch_on(stage: &Stage<'_>, rng: &mut impl Rng) -> Result<Vec<i32>> {
    let server = stage.server(1);
    for statement in SWITCH_ON {
        server
            .query(statement)
            .context("this server cannot count its waits (performance_schema)")?;
    }
    let mut connections = listed(stage)?;
    if connections.is_empty() {
        bail!("the server lists none of its connections in performance_schema.threads");
    }
    connections.shuffle(rng);
    Ok(connections)
}

/// The connections that the instrumented server has now.
fn listed(stage: &Stage<'_>) -> Result<Vec<i32>> {
    let rows = stage.server(1).query(CONNECTIONS)?;
    let cells = rows.into_iter().flatten();
    Ok(cells.filter_map(|cell| cell.parse().ok()).collect())
}

/// The counters of the instrumented server's waits for rows.
fn row_counters(stage: &Stage<'_>) -> Result<RowWaits> {
    let status = stage.server(1).status()?;
    Ok(RowWaits::of(|name| status.get(name)?.parse().ok()))
}

/// Waits of statements for rows, by the engine's own counters.
#[derive(Debug, Clone, Copy)]
pub(super) struct RowWaits {
    /// How many.
    pub count: f64,
    /// How long all of them were, in milliseconds.
    pub milliseconds: f64,
}

impl RowWaits {
    /// By the status counters of a server.
    pub(super) fn of(counter: impl Fn(&str) -> Option<f64>) -> RowWaits {
        RowWaits {
            count: counter("Innodb_row_lock_waits").unwrap_or(0.0),
            milliseconds: counter("Innodb_row_lock_time").unwrap_or(0.0),
        }
    }

    /// Those between two looks at the counters.
    pub(super) fn between(before: RowWaits, after: RowWaits) -> RowWaits {
        RowWaits {
            count: (after.count - before.count).max(0.0),
            milliseconds: (after.milliseconds - before.milliseconds).max(0.0),
        }
    }

    /// How long one is on average, in microseconds.
    pub(super) fn average_us(self) -> f64 {
        self.milliseconds * 1e3 / self.count.max(1.0)
    }
}

/// A slice on the instrumented server, while another thread asks who waits for what, and in what part of it waits were
/// counted.
fn asked_meanwhile(
    stage: &mut Stage<'_>,
    length: f64,
    asker: &mut Asker<'_>,
) -> Result<((SliceStats, f64), f64)> {
    let over = AtomicBool::new(false);
    let count = seconds(length * COUNTED);
    // Within that part, however short it is.
    let pause = LOOK.min(count / 2);
    asker.ask(COUNT)?;
    let began = Instant::now();
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| -> Result<Duration> {
            let mut until = began + pause;
            while !over.load(Ordering::Relaxed) && began.elapsed() < count {
                match until
                    .min(began + count)
                    .checked_duration_since(Instant::now())
                {
                    Some(left) => std::thread::park_timeout(left),
                    None => {
                        asker.record_metadata()?;
                        asker.look()?;
                        until = Instant::now() + pause;
                    }
                }
            }
            asker.ask(REST)?;
            Ok(began.elapsed())
        });
        let slice = stage.slice(1, length);
        let whole = began.elapsed().as_secs_f64();
        over.store(true, Ordering::Relaxed);
        looking.thread().unpark();
        let looked = looking.join().map_err(|_| {
            anyhow::anyhow!("the thread that asks for locks has ended with a panic")
        })?;
        let slice = slice?;
        Ok((slice, (looked?.as_secs_f64() / whole).min(1.0)))
    })
}

/// Asks over a connection of its own who waits for what.
pub(super) struct Asker<'c> {
    connection: &'c mut Admin,
    row_waits: Option<&'static str>,
    metadata_recorded: bool,
    /// What was seen.
    pub objects: ObjectSampler,
}

impl Asker<'_> {
    /// Of a server that records metadata locks, or does not. Which statement tells of rows depends on the family.
    pub(super) fn new(connection: &mut Admin, metadata_recorded: bool) -> Result<Asker<'_>> {
        let mut asker = Asker {
            connection,
            row_waits: None,
            metadata_recorded,
            objects: ObjectSampler::default(),
        };
        for statement in ROW_WAITS {
            match asker.connection.rows(statement) {
                Ok(_) => {
                    asker.row_waits = Some(statement);
                    break;
                }
                Err(LoadError::Query { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(asker)
    }

    /// Has the server record metadata locks from when one is waited for.
    fn record_metadata(&mut self) -> Result<()> {
        if !self.metadata_recorded {
            let waiters = self.ask(METADATA_WAITERS)?;
            if waiters.iter().flatten().any(|count| count != "0") {
                self.ask(RECORD_METADATA)?;
                self.metadata_recorded = true;
            }
        }
        Ok(())
    }

    /// One look; it changes nothing.
    pub(super) fn look(&mut self) -> Result<()> {
        let tables = match self.metadata_recorded {
            true => self.ask(METADATA_WAITS)?,
            false => Vec::new(),
        };
        let rows = match self.row_waits {
            Some(statement) => self.ask(statement)?,
            None => Vec::new(),
        };
        self.objects.look(&tables, &rows);
        Ok(())
    }

    fn ask(&mut self, statement: &str) -> Result<Vec<Vec<String>>> {
        Ok(texts(self.connection.rows(statement)?))
    }
}

/// Rows as texts, NULL as an empty one.
pub(super) fn texts(rows: Vec<Row>) -> Vec<Vec<String>> {
    rows.into_iter()
        .map(|row| row.into_iter().map(Option::unwrap_or_default).collect())
        .collect()
}
