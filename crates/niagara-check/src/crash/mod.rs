//! Crash recovery: killed under write load at random moments, restarted on the same data, nothing acknowledged may be
//! missing and nothing may be there by half.
//!
//! The process is killed, not the machine: what it had handed to the kernel survives. So this finds a commit that was
//! acknowledged before it was written, and recovery that loses or mixes things up; it does not find a missing fsync.

mod ledger;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use niagara_load::Admin;
use niagara_server::{Cache, Config, Install, RunningServer, Runtime};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use self::ledger::{ACCOUNTS, Fate, Found, Ledger, OPENING_BALANCE};
use self::writer::{Told, Writer};
use super::outcome::{Part, PartReport};
use super::progress::{Progress, Reporter};
use super::server::{Bench, Setting, connect, endpoint};
use niagara_server::{Cancel, Cancelled};

/// Kills of a whole check.
const KILLS: usize = 10;

/// How a server is killed.
#[derive(Debug, Clone)]
pub struct CrashOptions {
    /// How often; one kill in three is followed by another during recovery.
    pub kills: usize,
    /// Clients that write at the same time.
    pub connections: usize,
    /// A kill comes this long after the load began, evenly spread, milliseconds.
    pub after_ms: std::ops::Range<u64>,
    /// Seed of everything that is random.
    pub seed: u64,
    /// Variables of the server beside those of the check, over which they have the last word.
    pub config: Config,
    /// What surrounds its process.
    pub runtime: Runtime,
}

impl Default for CrashOptions {
    fn default() -> CrashOptions {
        CrashOptions {
            kills: KILLS,
            connections: 8,
            after_ms: 200..2500,
            seed: 1,
            config: Config::new(),
            runtime: Runtime::default(),
        }
    }
}

/// Commits are acknowledged when they are durable; a small buffer pool and log make the server flush and checkpoint.
fn durable(install: &Install, options: &CrashOptions) -> Config {
    let mut config = Config::from(
        [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_buffer_pool_size", "24M"),
            ("innodb_lock_wait_timeout", "5"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    if install.family.is_mariadb() {
        config.insert("innodb_log_file_size".to_owned(), "8M".to_owned());
    } else {
        config.insert("innodb_redo_log_capacity".to_owned(), "16M".to_owned());
        config.insert("sync_binlog".to_owned(), "1".to_owned());
    }
    config.extend(options.config.clone());
    config
}

/// Kills the server under write load and checks what is there afterwards.
///
/// # Errors
/// Stopped on request; no clone can be made; the server does not start at all. What it loses is a finding, not an error.
pub fn crash_recovery(
    cache: &Cache,
    install: &Install,
    options: &CrashOptions,
    cancel: &Cancel,
    watch: &mut dyn FnMut(&Progress),
) -> Result<PartReport> {
    let began = Instant::now();
    let mut report = PartReport::new(Part::Crash, options.seed);
    report.whole = options.kills >= KILLS
        && options.config.is_empty()
        && options.runtime == Runtime::default();
    let mut reporter = Reporter::new(Part::Crash, watch);
    let total = options.kills;
    let setting = Setting {
        config: durable(install, options),
        runtime: options.runtime.clone(),
    };
    let bench = Bench::new(cache, install, setting, &mut |text| {
        reporter.step(0, total, text);
    })?;
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut ledger = Ledger::new(options.seed, options.connections);
    let mut server = bench.start()?;
    create(&server, options.connections)?;
    let mut kills = 0;
    let mut tally = Tally::default();
    let mut recovery = Duration::ZERO;
    for round in 0..options.kills {
        cancel.check()?;
        reporter.step(round, total, "writing, to be killed in the middle of it");
        let delay = Duration::from_millis(rng.random_range(options.after_ms.clone()));
        let (told, died) = write_and_kill(server, options, &ledger, delay, cancel)?;
        kills += 1;
        if let Some(log) = died {
            report.fail(format!(
                "in round {round} it ended by itself under the load; the end of its log:\n{log}"
            ));
        }
        note_told(told, &mut report, &mut tally, &mut ledger);
        reporter.step(round, total, "restarting on what is there");
        if round % 3 == 2 {
            // The moment lies within recovery, or shortly before it or after it.
            let mut starting = bench.spawn()?;
            thread::sleep(Duration::from_millis(rng.random_range(5..300)));
            // One that ended by itself was not killed: what recovers next time hides nothing.
            match starting.ended()? {
                Some(error) => report.fail(format!(
                    "in its first recovery after kill {kills}: {error:#}"
                )),
                None => kills += 1,
            }
            drop(starting);
        }
        let restarted = Instant::now();
        server = match bench.start() {
            Ok(server) => server,
            Err(error) => {
                report.fail(format!(
                    "after kill {kills} it did not start again: {error:#}"
                ));
                return Ok(finish(report, tally, kills, recovery, began));
            }
        };
        recovery += restarted.elapsed();
        match inspect(&server, &mut ledger) {
            Ok(wrong) => {
                for wrong in wrong {
                    report.fail(format!("after kill {kills}: {wrong}"));
                }
            }
            Err(error) => {
                report.fail(format!(
                    "after kill {kills} its tables could not be read: {error:#}\nend of its log:\n{}",
                    server.log_tail(20)
                ));
                return Ok(finish(report, tally, kills, recovery, began));
            }
        }
    }
    reporter.step(total, total, "shutting down");
    if let Err(error) = server.stop() {
        report.fail(format!("after its last recovery: {error:#}"));
    }
    Ok(finish(report, tally, kills, recovery, began))
}

/// Takes down what the clients of a round were told.
fn note_told(told: Vec<Told>, report: &mut PartReport, tally: &mut Tally, ledger: &mut Ledger) {
    for (connection, told) in told.into_iter().enumerate() {
        if let Some(refused) = told.refused {
            report.fail(format!("connection {connection}: {refused}"));
        }
        tally.add(&told.fates);
        ledger.note(connection, &told.fates);
    }
}

/// Transactions by what the clients were told.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    acknowledged: u64,
    unanswered: u64,
    undone: u64,
}

impl Tally {
    fn add(&mut self, fates: &[Fate]) {
        for fate in fates {
            match fate {
                Fate::Acknowledged => self.acknowledged += 1,
                Fate::Unanswered => self.unanswered += 1,
                Fate::Undone => self.undone += 1,
            }
        }
    }
}

fn finish(
    mut report: PartReport,
    tally: Tally,
    kills: usize,
    recovery: Duration,
    began: Instant,
) -> PartReport {
    report.figure("acknowledged commits", tally.acknowledged);
    report.figure("commits without an answer", tally.unanswered);
    report.figure("transactions not committed", tally.undone);
    report.figure("kills", kills as u64);
    report.figure("ms of restarts", recovery.as_millis() as u64);
    if tally.acknowledged == 0 {
        report.fail("no commit was ever acknowledged, so nothing was checked".to_owned());
    }
    report.seconds = began.elapsed().as_secs_f64();
    report
}

fn create(server: &RunningServer, connections: usize) -> Result<()> {
    let accounts: Vec<String> = (0..ACCOUNTS)
        .map(|id| format!("({id}, {OPENING_BALANCE})"))
        .collect();
    let last: Vec<String> = (0..connections).map(|id| format!("({id}, NULL)")).collect();
    for statement in [
        "CREATE DATABASE niagara_check CHARACTER SET ascii".to_owned(),
        "CREATE TABLE niagara_check.deeds (connection INT, sequence BIGINT, part TINYINT, note TEXT, \
         PRIMARY KEY (connection, sequence, part), KEY (note(20))) ENGINE=InnoDB"
            .to_owned(),
        "CREATE TABLE niagara_check.accounts (id INT PRIMARY KEY, balance BIGINT, KEY (balance)) ENGINE=InnoDB"
            .to_owned(),
        "CREATE TABLE niagara_check.last (connection INT PRIMARY KEY, sequence BIGINT) ENGINE=InnoDB".to_owned(),
        format!("INSERT INTO niagara_check.accounts VALUES {}", accounts.join(",")),
        format!("INSERT INTO niagara_check.last VALUES {}", last.join(",")),
    ] {
        server.query(&statement)?;
    }
    Ok(())
}

/// Longest wait for transactions to be rolled back before tables are checked.
const ROLLBACKS: Duration = Duration::from_secs(30);

/// Lets all clients write and kills the server after `delay`; what each client was told, and the end of the log of a
/// server that ended before it was killed.
fn write_and_kill(
    server: RunningServer,
    options: &CrashOptions,
    ledger: &Ledger,
    delay: Duration,
    cancel: &Cancel,
) -> Result<(Vec<Told>, Option<String>)> {
    let [stop, dying] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
    let acknowledged = Arc::new(AtomicU64::new(0));
    let endpoint = endpoint(&server);
    let clients: Vec<_> = (0..options.connections)
        .map(|connection| {
            let writer = Writer {
                endpoint: endpoint.clone(),
                seed: options.seed,
                connection,
                first: ledger.next(connection),
                stop: Arc::clone(&stop),
                dying: Arc::clone(&dying),
                acknowledged: Arc::clone(&acknowledged),
            };
            thread::spawn(move || writer.run())
        })
        .collect();
    // A slow machine gets the time for a first commit, so that there is something to lose.
    let began = Instant::now();
    let timeout = Duration::from_secs(30);
    while began.elapsed() < delay
        || (acknowledged.load(Ordering::Relaxed) == 0 && began.elapsed() < timeout)
    {
        thread::sleep(Duration::from_millis(1));
        if cancel.is_cancelled() || !server.is_alive() {
            break;
        }
    }
    let died = (!server.is_alive()).then(|| server.log_tail(20));
    dying.store(true, Ordering::Release);
    server.kill();
    stop.store(true, Ordering::Relaxed);
    let told: Result<Vec<Told>> = clients
        .into_iter()
        .map(|client| {
            client
                .join()
                .map_err(|_| anyhow!("a client of the check panicked"))
        })
        .collect();
    if cancel.is_cancelled() {
        return Err(Cancelled.into());
    }
    Ok((told?, died))
}

/// What is wrong with a server that came back.
fn inspect(server: &RunningServer, ledger: &mut Ledger) -> Result<Vec<String>> {
    let mut admin = connect(&endpoint(server))?;
    let mut wrong = ledger.verify(&read(&mut admin)?);
    wait_for_rollbacks(&mut admin)?;
    for table in ["deeds", "accounts", "last"] {
        wrong.extend(complaints(&mut admin, table)?);
    }
    let by_index = admin
        .value("SELECT COUNT(*) FROM niagara_check.deeds FORCE INDEX (note) WHERE note >= ''")?;
    let by_table = admin.value("SELECT COUNT(*) FROM niagara_check.deeds FORCE INDEX (PRIMARY)")?;
    if by_index != by_table {
        wrong.push(format!(
            "the index on note has {} rows, the table {}",
            by_index.unwrap_or_default(),
            by_table.unwrap_or_default()
        ));
    }
    Ok(wrong)
}

/// Waits until the transactions that the kill cut off are rolled back: servers do that while they answer already, and until
/// then CHECK TABLE may find rows in one index that another has lost.
fn wait_for_rollbacks(admin: &mut Admin) -> Result<()> {
    // Those of before the kill belong to no thread of the server's.
    const CUT_OFF: &str =
        "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = 0";
    let began = Instant::now();
    while admin.value(CUT_OFF)?.is_some_and(|count| count != "0") && began.elapsed() < ROLLBACKS {
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// What CHECK TABLE says of a table beyond that it is whole.
fn complaints(admin: &mut Admin, table: &str) -> Result<Vec<String>> {
    let rows = admin.rows(&format!("CHECK TABLE niagara_check.{table} EXTENDED"))?;
    let cell = |row: &[Option<String>], index: usize| {
        row.get(index).cloned().flatten().unwrap_or_default()
    };
    let is_bad = |row: &&Vec<Option<String>>| cell(row, 2) != "status" || cell(row, 3) != "OK";
    Ok(rows
        .iter()
        .filter(is_bad)
        .map(|row| format!("CHECK TABLE {table}: {} {}", cell(row, 2), cell(row, 3)))
        .collect())
}

fn read(admin: &mut Admin) -> Result<Found> {
    let mut found = Found::default();
    let connections = admin.rows("SELECT connection, sequence FROM niagara_check.last")?;
    for row in connections {
        let connection: usize = number(&row, 0)?;
        if row.get(1).cloned().flatten().is_some() {
            found.last.insert(connection, number(&row, 1)?);
        }
        let deeds = format!(
            "SELECT sequence, part, note FROM niagara_check.deeds WHERE connection = {connection}"
        );
        for row in admin.rows(&deeds)? {
            let sequence = number(&row, 0)?;
            let texts = found.rows.entry((connection, sequence)).or_default();
            let part: usize = number(&row, 1)?;
            let place = part
                .checked_sub(1)
                .and_then(|index| texts.get_mut(index))
                .with_context(|| format!("a row of part {part}, which nobody wrote"))?;
            *place = row.get(2).cloned().flatten();
        }
    }
    for row in admin.rows("SELECT id, balance FROM niagara_check.accounts")? {
        found.balances.insert(number(&row, 0)?, number(&row, 1)?);
    }
    Ok(found)
}

fn number<T: std::str::FromStr>(row: &[Option<String>], index: usize) -> Result<T> {
    row.get(index)
        .and_then(Option::as_deref)
        .and_then(|text| text.parse().ok())
        .with_context(|| format!("not a number in column {index} of {row:?}"))
}
