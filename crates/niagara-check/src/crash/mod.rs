//! Crash recovery: killed under write load at random moments, restarted on the same data, nothing acknowledged may be
//! missing and nothing may be there by half.
//!
//! The process is killed, not the machine: what it had handed to the kernel survives. So this finds a commit that was
//! acknowledged before it was written, and recovery that loses or mixes things up; it does not find a missing fsync.

mod ledger;
mod patience;
mod tables;
mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use niagara_error::Explain as _;
use niagara_model::CommitOutcome;
use niagara_server::{Around, Cache, Config, Install, ProcessSettings, RunningServer};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use self::ledger::Ledger;
pub(crate) use self::patience::Timeout;
use self::patience::{GIVEN, Patience, Wait};
use self::writer::{Told, Writer};
use super::cut_short::cut_short;
use super::outcome::{CheckCount, CheckFinding, Part, PartReport};
use super::progress::{Progress, Reporter};
use super::room::Room;
use super::server::{Bench, Setting, endpoint};
use niagara_server::{Cancel, Cancelled};

/// Kills of a whole check.
const KILLS: usize = 10;
/// The engine of a whole check's tables.
const ENGINE: &str = "InnoDB";
/// The size of MariaDB's redo log, and of MySQL's.
const LOGS: [&str; 2] = ["innodb_log_file_size", "innodb_redo_log_capacity"];
/// Sizes that servers have while they are killed, unless [`CrashOptions::config`] names others: small ones, so that pages are
/// written and checkpoints made in the seconds before a kill.
pub const CRASH_SIZES: [(&str, &str); 3] = [
    ("innodb_buffer_pool_size", "24M"),
    (LOGS[0], "8M"),
    (LOGS[1], "16M"),
];

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
    /// The tables' storage engine, one with transactions.
    pub engine: String,
    /// Variables of the server beside those of the check, over which they have the last word.
    pub config: Config,
    /// What surrounds its process.
    pub runtime: ProcessSettings,
}

impl Default for CrashOptions {
    fn default() -> CrashOptions {
        CrashOptions {
            kills: KILLS,
            connections: 8,
            after_ms: 200..2500,
            seed: 1,
            engine: ENGINE.to_owned(),
            config: Config::new(),
            runtime: ProcessSettings::default(),
        }
    }
}

/// Commits are acknowledged when they are durable; a small buffer pool and log make the server flush and checkpoint.
fn durable(install: &Install, options: &CrashOptions) -> Config {
    let mut config = Config::from(
        [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("innodb_lock_wait_timeout", "5"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned())),
    );
    let is_mariadb = install.family.is_mariadb();
    let not_known = LOGS[usize::from(is_mariadb)];
    let sizes = CRASH_SIZES.iter().filter(|(name, _)| *name != not_known);
    config.extend(sizes.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    if !is_mariadb {
        config.insert("sync_binlog".to_owned(), "1".to_owned());
    }
    config.extend(options.config.clone());
    config
}

/// Kills the server under write load and checks what is there afterwards.
///
/// # Errors
/// Stopped on request; no clone can be made; the server does not start at all; a disk is full, or something else that surrounds
/// the server keeps it from starting or from its work. What it loses is a finding, not an error.
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
        && options.engine == ENGINE
        && options.config.is_empty()
        && options.runtime == ProcessSettings::default();
    let mut reporter = Reporter::new(Part::Crash, watch);
    let setting = Setting {
        config: durable(install, options),
        runtime: options.runtime.clone(),
    };
    let bench = Bench::new(cache, install, setting, &mut |text| {
        reporter.step(0, options.kills, text);
    })?;
    let server = bench.start()?;
    tables::create(&server, &options.engine, options.connections)?;
    let mut course = Course {
        bench: &bench,
        options,
        room: Room::of(cache),
        rng: ChaCha8Rng::seed_from_u64(options.seed),
        ledger: Ledger::new(options.seed, options.connections),
        report,
        tally: Tally::default(),
        kills: 0,
        recovery: Duration::ZERO,
    };
    if let Err(error) = course.run(server, cancel, &mut reporter) {
        cut_short(&mut course.report, error)?;
    }
    Ok(course.finish(began))
}

/// The kills of one server, and what was found so far.
struct Course<'a> {
    bench: &'a Bench,
    options: &'a CrashOptions,
    room: Room,
    rng: ChaCha8Rng,
    ledger: Ledger,
    report: PartReport,
    tally: Tally,
    kills: usize,
    /// Time that all restarts took.
    recovery: Duration,
}

impl Course<'_> {
    /// All rounds, as far as the server comes back.
    ///
    /// # Errors
    /// As with [`crash_recovery`].
    fn run(
        &mut self,
        mut server: RunningServer,
        cancel: &Cancel,
        reporter: &mut Reporter<'_>,
    ) -> Result<()> {
        let total = self.options.kills;
        for round in 0..total {
            cancel.check()?;
            reporter.step(round, total, "writing, to be killed in the middle of it");
            let after = self.options.after_ms.clone();
            let delay = Duration::from_millis(self.rng.random_range(after));
            let heard = write_and_kill(server, self.options, &self.ledger, delay, cancel)?;
            self.kills += 1;
            self.note_round(round, heard)?;
            reporter.step(round, total, "restarting on what is there");
            if round % 3 == 2 {
                self.kill_while_it_recovers()?;
            }
            let restarted = Instant::now();
            server = match self.bench.restart()? {
                Ok(server) => server,
                Err(error) => {
                    return self.fault(CheckFinding::DidNotRestart {
                        kill: self.kills,
                        error: error.explain(),
                    });
                }
            };
            self.recovery += restarted.elapsed();
            match tables::inspect(&server, &mut self.ledger) {
                Ok(wrong) => wrong.into_iter().try_for_each(|fault| {
                    self.fault(CheckFinding::WrongAfterKill {
                        kill: self.kills,
                        fault,
                    })
                })?,
                Err(error) if error.has::<Timeout>() => {
                    return Err(error.context(format!("after kill {}", self.kills)));
                }
                Err(error) => {
                    if let Some(killed) = server.ended_from_around() {
                        return Err(killed);
                    }
                    return self.fault(CheckFinding::UnreadableTables {
                        kill: self.kills,
                        error: error.explain(),
                        log: server.log_tail(20),
                    });
                }
            }
        }
        reporter.step(total, total, "shutting down");
        match server.stop() {
            Err(error) if Around::of(&error).is_some() => Err(error),
            Err(error) => self.fault(CheckFinding::BadShutdown {
                part: Part::Crash,
                error: error.explain(),
            }),
            Ok(()) => Ok(()),
        }
    }

    /// Takes down what is wrong.
    fn fault(&mut self, finding: CheckFinding) -> Result<()> {
        self.room.fault(&mut self.report, finding)
    }

    /// Kills it once more. The moment lies within recovery, or shortly before it or after it.
    fn kill_while_it_recovers(&mut self) -> Result<()> {
        let mut starting = self.bench.spawn()?;
        thread::sleep(Duration::from_millis(self.rng.random_range(5..300)));
        // One that ended by itself was not killed: what recovers next time hides nothing.
        match starting.ended()? {
            Some(error) => self.fault(CheckFinding::EndedInRecovery {
                kill: self.kills,
                error: error.explain(),
            }),
            None => {
                self.kills += 1;
                Ok(())
            }
        }
    }

    fn note_round(&mut self, round: usize, heard: Heard) -> Result<()> {
        let (report, tally) = (&mut self.report, &mut self.tally);
        note_round(round, heard, &self.room, report, tally, &mut self.ledger)
    }

    fn finish(self, began: Instant) -> PartReport {
        let Course {
            mut report,
            tally,
            kills,
            recovery,
            ..
        } = self;
        report.figure(CheckCount::AcknowledgedCommits, tally.acknowledged);
        report.figure(CheckCount::UnansweredCommits, tally.unanswered);
        report.figure(CheckCount::UncommittedTransactions, tally.undone);
        report.figure(CheckCount::Kills, kills as u64);
        report.figure(CheckCount::RestartMilliseconds, recovery.as_millis() as u64);
        if tally.acknowledged == 0 {
            report.fail(CheckFinding::NothingAcknowledged);
        }
        report.seconds = began.elapsed().as_secs_f64();
        report
    }
}

/// What became of a round of writing.
struct Heard {
    /// What each client was told.
    told: Vec<Told>,
    /// The end of the log of a server that ended before it was killed.
    died: Option<String>,
    /// That the machine left a server too little time for a first commit.
    starved: Option<Timeout>,
}

/// Takes down what was heard in a round.
///
/// # Errors
/// Something went wrong, and a disk is full; [`Timeout`] where the machine left the server no time for a commit.
fn note_round(
    round: usize,
    Heard {
        told,
        died,
        starved,
    }: Heard,
    room: &Room,
    report: &mut PartReport,
    tally: &mut Tally,
    ledger: &mut Ledger,
) -> Result<()> {
    let before = tally.acknowledged;
    let lives = died.is_none();
    if let Some(log) = died {
        room.fault(report, CheckFinding::EndedUnderLoad { round, log })?;
    }
    for (connection, told) in told.into_iter().enumerate() {
        if let Some(fault) = told.refused {
            room.fault(report, CheckFinding::ClientRefused { connection, fault })?;
        }
        tally.add(&told.fates);
        ledger.note(connection, &told.fates);
    }
    // A server that answers and commits nothing is of no use: so may one be that recovered badly.
    if lives && tally.acknowledged == before {
        if let Some(starved) = starved {
            let what = format!("in round {round} no commit was acknowledged");
            return Err(starved.about(&what).into());
        }
        let seconds = GIVEN.as_secs();
        room.fault(report, CheckFinding::NoCommitInRound { round, seconds })?;
    }
    Ok(())
}

/// Transactions by what the clients were told.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    acknowledged: u64,
    unanswered: u64,
    undone: u64,
}

impl Tally {
    fn add(&mut self, fates: &[CommitOutcome]) {
        for fate in fates {
            match fate {
                CommitOutcome::Acknowledged => self.acknowledged += 1,
                CommitOutcome::Unanswered => self.unanswered += 1,
                CommitOutcome::Undone => self.undone += 1,
            }
        }
    }
}

/// Lets all clients write and kills the server after `delay`.
///
/// # Errors
/// Somebody else killed it, or asked for a stop; `/proc/stat` cannot be read.
fn write_and_kill(
    server: RunningServer,
    options: &CrashOptions,
    ledger: &Ledger,
    delay: Duration,
    cancel: &Cancel,
) -> Result<Heard> {
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
    // A slow machine gets more time for a first commit, that there is something to lose.
    let waited = wait_for_commit(&server, delay, &acknowledged, cancel);
    let died = (!server.is_alive()).then(|| server.log_tail(20));
    let killed = died.as_ref().and_then(|_| server.ended_from_around());
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
    if let Some(killed) = killed {
        return Err(killed);
    }
    Ok(Heard {
        told: told?,
        died,
        starved: waited?,
    })
}

/// Waits for `delay`, and then for the first commit as long as the server is given; what to say where the machine left it too little
/// time for one. Ends at once with the server, and where a stop is asked for.
///
/// # Errors
/// `/proc/stat` cannot be read.
fn wait_for_commit(
    server: &RunningServer,
    delay: Duration,
    acknowledged: &AtomicU64,
    cancel: &Cancel,
) -> Result<Option<Timeout>> {
    let began = Instant::now();
    let mut patience = Patience::with(server)?;
    while !cancel.is_cancelled() && server.is_alive() {
        if acknowledged.load(Ordering::Relaxed) > 0 {
            if began.elapsed() >= delay {
                break;
            }
        } else {
            match patience.look()? {
                Wait::Goes => {}
                Wait::Over => break,
                Wait::Timeout(starved) => return Ok(Some(starved)),
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use niagara_model::ClientFault;

    use super::*;
    use crate::outcome::Outcome;

    /// What is noted of one client that was told this.
    fn noted(fates: &[CommitOutcome], refused: Option<&str>, room: &Room) -> Result<PartReport> {
        noted_beside(fates, refused, None, room)
    }

    /// The same on a machine that left the server no time.
    fn noted_beside(
        fates: &[CommitOutcome],
        refused: Option<&str>,
        starved: Option<Timeout>,
        room: &Room,
    ) -> Result<PartReport> {
        let mut report = PartReport::new(Part::Crash, 1);
        let heard = Heard {
            told: vec![Told {
                fates: fates.to_vec(),
                refused: refused.map(|error| ClientFault::Refused {
                    error: error.into(),
                }),
            }],
            died: None,
            starved,
        };
        let (mut tally, mut ledger) = (Tally::default(), Ledger::new(1, 1));
        note_round(2, heard, room, &mut report, &mut tally, &mut ledger)?;
        Ok(report)
    }

    #[test]
    fn a_round_without_a_commit_is_a_failure_and_a_full_disk_is_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let (room, full) = (Room::of(&cache), Room::none(&cache));
        let committed = [CommitOutcome::Undone, CommitOutcome::Acknowledged];
        let report = noted(&committed, None, &room).expect("there is room");
        assert_eq!(report.outcome, Outcome::Passed);

        // Every statement waited for a lock until it was given up.
        let undone = [CommitOutcome::Undone, CommitOutcome::Undone];
        let report = noted(&undone, None, &room).expect("there is room");
        assert_eq!(
            report.findings,
            [CheckFinding::NoCommitInRound {
                round: 2,
                seconds: 30
            }]
        );

        let refused = Some("server error 1114 (The table 'deeds' is full)");
        let report = noted(&committed, refused, &room).expect("there is room");
        assert_eq!(report.outcome, Outcome::Failed);
        for (fates, refused) in [(&committed, refused), (&undone, None)] {
            let error = noted(fates, refused, &full).expect_err("the disk is full");
            assert!(
                error.explain().to_string().contains("no space left"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_machine_that_left_a_server_no_time_fails_no_build() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let room = Room::of(&Cache::at(folder.path()).expect("a cache"));
        let starved = || Some(Timeout::for_test("of 100 s the machine left it 2 s"));
        let error = noted_beside(&[], None, starved(), &room).expect_err("nothing was decided");
        assert!(error.has::<Timeout>());
        let told = error.explain().to_string();
        assert!(
            told.starts_with(
                "in round 2 no commit was acknowledged, which decides nothing: of 100 s"
            ) && told.contains("remedy"),
            "{told}"
        );
        // A commit that came after all is one.
        let report = noted_beside(&[CommitOutcome::Acknowledged], None, starved(), &room);
        assert_eq!(report.expect("decided").outcome, Outcome::Passed);
    }

    #[test]
    fn a_server_is_killed_with_the_sizes_of_its_branch_unless_others_are_named() {
        use std::collections::BTreeMap;

        use niagara_server::Family;

        let install = |family: Family| Install {
            name: "mine".into(),
            family,
            version: "10.11.18".parse().expect("a version"),
            version_string: "10.11.18".into(),
            basedir: "/opt/mine".into(),
            server: "/opt/mine/bin/server".into(),
            mallocs: BTreeMap::new(),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        };
        let options = CrashOptions {
            config: Config::from([("innodb_buffer_pool_size".to_owned(), "1G".to_owned())]),
            ..CrashOptions::default()
        };
        for (family, known, not_known) in [
            (Family::Mariadb, LOGS[0], LOGS[1]),
            (Family::Mysql, LOGS[1], LOGS[0]),
        ] {
            let config = durable(&install(family), &options);
            assert!(config.contains_key(known), "{config:?}");
            assert!(!config.contains_key(not_known), "{config:?}");
            assert_eq!(config["innodb_buffer_pool_size"], "1G");
        }
    }
}
