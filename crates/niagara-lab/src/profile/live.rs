//! A server that runs already, profiled where it is. Nothing is started and nothing is set for it, its load is its own, and so what
//! observing costs is not known.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use niagara_error::{Explain as _, Explanation};
use niagara_load::{Admin, Transport, greeted_version};
use niagara_profile::kernel::Access;
use niagara_profile::symbols::{ModuleSymbols, SymbolSource};
use niagara_profile::{LiveGap, LiveServer, LockGap, OWN_LOAD, Profile};
use niagara_server::machine::Fingerprint;
use niagara_server::{Cancel, Family, LiveProcess, UsageMeter, UsageSample};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::costs::Switch;
use super::growth::Growth;
use super::live_locks::live_locks;
use super::stage::couples;
use super::statement_counter::StatementCounter;
use super::views::{Scene, announce, is_asked, or_missing, serving_threads, take_views};
use super::work::{Work, per_query};
use super::{ProfileOptions, View, assemble, nothing_yet, seconds};
use crate::duels::lever_context::of_release;
use crate::lever;
use crate::plans::observer::{Event, Observer};

/// How long it takes to see which threads are at work, in seconds.
const LOOK_AT_THREADS: f64 = 1.0;
/// Bound on the server's greeting.
const GREETING: Duration = Duration::from_secs(5);
/// How often a wait asks whether it is to end.
const NAP: Duration = Duration::from_millis(50);

/// A live server, and the way to ask it.
#[derive(Debug)]
pub struct LiveSubject {
    /// Its process.
    pub process: LiveProcess,
    /// A connection for its counters, or why there is none.
    pub connection: Result<Admin, LiveGap>,
}

/// Profiles a live server. The connection sends SELECT and SHOW alone.
///
/// # Errors
/// The server has ended, or no view of it can be had here; it was stopped before a view had ended.
pub fn profile_live(
    subject: LiveSubject,
    options: &ProfileOptions,
    cancel: &Cancel,
    observer: &mut dyn Observer,
) -> Result<Profile> {
    let LiveSubject {
        process,
        connection,
    } = subject;
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let mut scene = AtWork {
        meter: UsageMeter::new(process.pid)?,
        counter: StatementCounter::new(connection),
        options,
        cancel,
        order: ChaCha8Rng::from_rng(&mut rng),
    };
    let found = observe(&mut scene, &process, &mut rng, observer);
    let unasked = scene.counter.quit();
    let mut found = found?;
    let ever = [LiveGap::Repetition, LiveGap::ObservationCost];
    for gap in unasked.into_iter().chain(ever) {
        lacks(&mut found, gap);
    }
    Ok(found)
}

/// All that is asked for, as far as it can be had.
fn observe(
    scene: &mut AtWork<'_>,
    process: &LiveProcess,
    rng: &mut ChaCha8Rng,
    observer: &mut dyn Observer,
) -> Result<Profile> {
    let options = scene.options;
    let access = Access::probe();
    let mut found = Profile {
        variant: format!("process {} ({})", process.pid, process.name()),
        workload: OWN_LOAD.to_owned(),
        live: Some(LiveServer {
            pid: process.pid,
            program: process.program.clone(),
            gaps: Vec::new(),
        }),
        ..nothing_yet(options, &access)
    };
    let here = name_release(scene, process, &mut found);
    announce("which threads are at work", options, observer);
    let before = CounterSnapshot::read(&mut scene.counter);
    let serving = serving_threads(scene, LOOK_AT_THREADS, rng)?;
    let program = &process.program;
    take_views(
        scene, serving, program, &access, options, &mut found, observer,
    )?;
    if is_asked(View::Locks, options, scene.cancel, &mut found) {
        announce("locks", options, observer);
        take_locks(scene, &mut found)?;
    }
    if options.views.contains(&View::Allocations) {
        lacks(&mut found, LiveGap::Allocations);
    }
    before.tell(&mut scene.counter, &mut found);
    if !View::ALL.iter().any(|view| view.is_in(&found)) {
        let gaps = found.live.into_iter().flat_map(|live| live.gaps);
        let gaps = gaps.map(|gap| Explanation::from(&gap));
        let why = Explanation::of_several(found.missing.into_iter().chain(gaps));
        return Err(anyhow::Error::from(why)).context("no view of this server can be had");
    }
    assemble::limits(&mut found, here.as_ref(), &[])?;
    if found.limits.iter().any(|limit| !limit.levers.is_empty()) {
        lacks(&mut found, LiveGap::LeversInUse);
    }
    let has_few_names = |module: &ModuleSymbols| {
        module.path == *program
            && matches!(module.source, SymbolSource::Exports | SymbolSource::Nothing)
    };
    if found.symbols.iter().any(has_few_names) {
        lacks(&mut found, LiveGap::FunctionNames);
    }
    Ok(found)
}

/// Notes what is not known of a live server.
fn lacks(profile: &mut Profile, gap: LiveGap) {
    if let Some(live) = &mut profile.live {
        live.gaps.push(gap);
    }
}

/// Names the server's release; what levers want to know of it.
fn name_release(
    scene: &mut AtWork<'_>,
    process: &LiveProcess,
    found: &mut Profile,
) -> Option<lever::Context> {
    match release(&mut scene.counter, process) {
        Ok((family, version)) => {
            found.server_version = format!("{family} {version}");
            let machine = Fingerprint::read(Path::new("/"));
            Some(of_release(family, version.parse().ok()?, machine))
        }
        Err(error) => {
            found.server_version = "unknown release".to_owned();
            let error = error.explain();
            lacks(found, LiveGap::Release { error });
            None
        }
    }
}

/// The server's own account of its locks, where there is a connection.
fn take_locks(scene: &mut AtWork<'_>, found: &mut Profile) -> Result<()> {
    if scene.counter.connection().is_none() {
        let cause = LockGap::NoConnection;
        lacks(found, LiveGap::Locks { cause });
        return Ok(());
    }
    let length = seconds(scene.options.seconds);
    let observed = live_locks(&mut scene.counter, length, scene.cancel);
    let observed = observed.map(|(locks, gap)| {
        found.locks = Some(locks);
        if let Some(gap) = gap {
            lacks(found, gap);
        }
    });
    or_missing(scene.cancel, View::Locks, observed, found)
}

/// What the server had counted at one moment.
struct CounterSnapshot {
    at: Instant,
    statements: Option<f64>,
    counters: Option<Growth>,
}

impl CounterSnapshot {
    fn read(counter: &mut StatementCounter) -> CounterSnapshot {
        CounterSnapshot {
            at: Instant::now(),
            statements: counter.statements(),
            counters: counter.counters().map(Growth::from),
        }
    }

    /// What it has counted since; nothing where nobody can ask it any more.
    fn tell(self, counter: &mut StatementCounter, found: &mut Profile) {
        let Some((now, then)) = counter.statements().zip(self.statements) else {
            return;
        };
        let answered = (now - then).max(0.0);
        found.queries_per_second = Some(answered / self.at.elapsed().as_secs_f64());
        let Some((mut growth, now)) = self.counters.zip(counter.counters()) else {
            return;
        };
        if answered > 0.0 {
            growth.count(answered as u64);
            found.status_per_query = growth.per_query(now);
        }
    }
}

/// The server's family and what it calls its version: asked, or as it greets whoever connects.
fn release(counter: &mut StatementCounter, process: &LiveProcess) -> Result<(Family, String)> {
    if let Some(connection) = counter.connection() {
        let mut rows = connection.rows("SELECT VERSION(), @@GLOBAL.version_comment")?;
        let mut cells = rows.pop().into_iter().flatten().flatten();
        let version = cells.next().unwrap_or_default();
        let comment = cells.next().unwrap_or_default();
        // MariaDB says so in its version, Percona Server in the comment.
        let family = Family::from_version_line(&format!("{version} {comment}"));
        return Ok((family, version));
    }
    let socket = process.socket.clone();
    let socket = socket.context("it listens on no Unix socket, and nobody asked it")?;
    let version = greeted_version(&Transport::Unix(socket), GREETING)?;
    Ok((Family::from_version_line(&version), version))
}

/// A live server at work.
struct AtWork<'o> {
    meter: UsageMeter,
    counter: StatementCounter,
    options: &'o ProfileOptions,
    cancel: &'o Cancel,
    /// Of the slices within couples.
    order: ChaCha8Rng,
}

/// What the server had done at one moment.
struct Mark {
    statements: Option<f64>,
    usage: UsageSample,
}

/// What it did in some slices.
#[derive(Debug, Default)]
struct Done {
    slices: usize,
    /// None where nobody counted them.
    statements: Option<f64>,
    cpu_seconds: f64,
}

impl Done {
    fn add(&mut self, before: &Mark, after: &Mark) {
        let statements = after.statements.zip(before.statements);
        let statements = statements.map(|(now, then)| now - then);
        let so_far = match self.slices {
            0 => Some(0.0),
            _ => self.statements,
        };
        self.statements = so_far.zip(statements).map(|(sum, more)| sum + more);
        self.cpu_seconds += after.usage.since(&before.usage).cpu_seconds;
        self.slices += 1;
    }
}

impl AtWork<'_> {
    fn mark(&mut self) -> Result<Mark> {
        Ok(Mark {
            statements: self.counter.statements(),
            usage: self.meter.sample()?,
        })
    }

    /// A slice of its work.
    fn slice(&mut self, done: &mut Done) -> Result<()> {
        let before = self.mark()?;
        self.pass(self.options.slice_seconds)?;
        let after = self.mark()?;
        done.add(&before, &after);
        Ok(())
    }
}

impl Scene for AtWork<'_> {
    fn pid(&self) -> i32 {
        self.meter.pid()
    }

    fn own_name(&self) -> &'static str {
        "Niagara"
    }

    fn cancel(&self) -> &Cancel {
        self.cancel
    }

    fn pass(&mut self, length: f64) -> Result<f64> {
        let began = Instant::now();
        let length = seconds(length);
        while began.elapsed() < length && !self.cancel.is_cancelled() {
            std::thread::sleep(NAP.min(length.saturating_sub(began.elapsed())));
        }
        Ok(began.elapsed().as_secs_f64())
    }

    fn watch(
        &mut self,
        view: View,
        switch: &mut dyn Switch,
        _: &mut Profile,
        observer: &mut dyn Observer,
    ) -> Result<Work> {
        let (began, bound) = (Instant::now(), seconds(self.options.seconds));
        let (mut on, mut off) = (Done::default(), Done::default());
        let wanted = couples(self.options);
        'couples: for number in 0..wanted {
            // What was recorded is worked off between slices, which takes time too.
            if number > 0 && began.elapsed() >= bound {
                break;
            }
            let first: bool = self.order.random();
            for is_on in [first, !first] {
                if self.cancel.is_cancelled() {
                    break 'couples;
                }
                if !is_on {
                    self.slice(&mut off)?;
                    continue;
                }
                switch.on()?;
                let slice = self.slice(&mut on);
                switch.off()?;
                slice?;
            }
            let view = view.name();
            observer.see(Event::SettingUp(&format!(
                "{view}: slice {} of {wanted}",
                number + 1
            )));
        }
        if on.slices == 0 {
            self.cancel.check()?;
        }
        Ok(Work {
            queries: on.statements,
            cpu_us_per_query: per_query(off.cpu_seconds * 1e6, off.statements),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_that_nobody_counted_leave_no_figure_per_query() {
        let meter = UsageMeter::new(std::process::id() as i32).expect("this process");
        let mark = |statements| Mark {
            statements,
            usage: meter.sample().expect("this process"),
        };
        let mut done = Done::default();
        done.add(&mark(Some(10.0)), &mark(Some(14.0)));
        done.add(&mark(Some(20.0)), &mark(Some(26.0)));
        assert_eq!(done.statements, Some(10.0));
        // The connection was lost.
        done.add(&mark(Some(30.0)), &mark(None));
        assert_eq!((done.statements, done.slices), (None, 3));
    }
}
