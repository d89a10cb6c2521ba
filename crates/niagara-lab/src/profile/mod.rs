//! Where a variant's time goes: one server under load, observed in one way after another.
//!
//! A view is switched on in every other slice of load, the order within each couple by a fair coin, so that what it
//! shows and what it costs come from the same slices. Views never overlap: none sees another's work.

mod allocations;
mod assemble;
mod costs;
mod growth;
mod locks;
mod short;
mod stage;
mod statements;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::{Explain as _, Explanation};
use niagara_load::SliceStats;
use niagara_profile::kernel::Access;
use niagara_profile::process::{Unwinder, busy, schedule, turns};
use niagara_profile::symbols::{DebugFolders, Symbolizer};
use niagara_profile::{CpuView, OffCpuView, Profile, SyscallView};
use niagara_server::machine::{Fingerprint, online_cpus};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::duels::lever_context::on_top_of;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;

use costs::{Switch, Watched, watch};
pub(crate) use short::{NO_TIME_FOR_A_PROFILE, look, seconds_each};
pub use short::{ShortProfile, sweep_profile_seconds};
use stage::Stage;

/// One view of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// What runs, by samples.
    Cpu,
    /// What threads wait for.
    OffCpu,
    /// System calls by kind.
    Syscalls,
    /// The server's locks.
    Locks,
    /// Calls of the allocator.
    Allocations,
}

impl View {
    /// All of them, in the order in which they are taken.
    pub const ALL: [View; 5] = [
        View::Cpu,
        View::OffCpu,
        View::Syscalls,
        View::Locks,
        View::Allocations,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            View::Cpu => "cpu",
            View::OffCpu => "off-cpu",
            View::Syscalls => "syscalls",
            View::Locks => "locks",
            View::Allocations => "allocations",
        }
    }

    /// Whether a profile holds it.
    pub fn is_in(self, profile: &Profile) -> bool {
        match self {
            View::Cpu => profile.cpu.is_some(),
            View::OffCpu => profile.off_cpu.is_some(),
            View::Syscalls => profile.syscalls.is_some(),
            View::Locks => profile.locks.is_some(),
            View::Allocations => profile.allocations.is_some(),
        }
    }
}

impl std::str::FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<View, String> {
        let found = View::ALL.into_iter().find(|view| view.name() == text);
        found.ok_or_else(|| {
            let names: Vec<&str> = View::ALL.iter().map(|view| view.name()).collect();
            format!("there is no view {text}; there are: {}", names.join(", "))
        })
    }
}

/// How a profile is taken.
#[derive(Debug, Clone)]
pub struct ProfileOptions {
    /// What to profile.
    pub views: Vec<View>,
    /// Seconds of load for each view, half of them with it switched on.
    pub seconds: f64,
    /// Seconds of a slice.
    pub slice_seconds: f64,
    /// Load before anything is observed, in seconds.
    pub warm_up_seconds: f64,
    /// Folders with symbols in files of their own.
    pub symbols: DebugFolders,
    /// What is known beforehand to be missing, and how to get it.
    pub missing: Vec<Explanation>,
    /// Seed of the order within couples and of the load.
    pub seed: u64,
}

/// Views that are observed on one server, one after the other.
const TOGETHER: [View; 3] = [View::Cpu, View::OffCpu, View::Syscalls];

/// Profiles `variant` under the workbench's load.
///
/// # Errors
/// The server does not start or is lost; the study was stopped before a view had ended. A view that cannot be had here is no
/// error, nor are those that a stop leaves out: the profile says so.
pub fn profile(
    bench: &Workbench,
    variant: &Variant,
    options: &ProfileOptions,
    observer: &mut dyn Observer,
) -> Result<Profile> {
    let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
    let access = Access::probe();
    let mut found = nothing_yet(bench, variant, options, &access);
    let variant = &with_max_connections(variant, bench.load().threads);
    let here = on_top_of(variant, &Fingerprint::read(&bench.cache().work()?), bench)?;
    let stage_of = |name: &str, observer: &mut dyn Observer| {
        observer.see(Event::Stage {
            name,
            seconds: options.seconds,
        });
    };
    observer.see(Event::SettingUp(&format!("starting {}", variant.label())));
    let together = TOGETHER.iter().filter(|view| options.views.contains(view));
    let one = std::slice::from_ref(variant);
    let mut stage = Stage::open(bench, one, options, together.count())?;
    found.server_version = stage.version(0)?;
    let pid = stage.pid(0);

    stage_of("warm-up", observer);
    stage.run(0, options.warm_up_seconds)?;
    let (mut workers, switches) = serving_threads(&mut stage, options, &mut rng)?;
    // Every connection has opened its tables by now.
    stage.count_from_here()?;

    let mut plain = Plain::default();
    let mut unwinder = Unwinder::of(pid)?;
    let server = bench.install_of(variant)?.server.clone();
    let symbolizer = symbols_of(&unwinder, &server, options, &mut found)?;
    let asked = |view, found: &mut Profile| {
        options.views.contains(&view) && !left_by_a_stop(bench, view, found)
    };

    if asked(View::Cpu, &mut found) {
        stage_of("profile: what runs on the CPUs", observer);
        let view = CpuView::new(pid, online_cpus(), &access, &mut unwinder, &symbolizer);
        let observed = view.and_then(|mut view| {
            let seen = watch(&mut stage, &mut view, options, &mut rng, observer)?;
            assemble::cpu(&mut found, view.finish(), &seen)?;
            plain.take(&seen, View::Cpu, &mut found);
            Ok(())
        });
        or_missing(bench, View::Cpu, observed, &mut found)?;
    }
    if asked(View::OffCpu, &mut found) {
        stage_of("profile: what threads wait for", observer);
        let threads = workers.clone();
        let view = OffCpuView::new(pid, threads, switches, &access, &mut unwinder, &symbolizer);
        let observed = view.and_then(|mut view| {
            let seen = watch(&mut stage, &mut view, options, &mut rng, observer)?;
            let waiting = view.finish();
            workers.retain(|thread| !waiting.background.contains(thread));
            assemble::off_cpu(&mut found, waiting, &seen)?;
            plain.take(&seen, View::OffCpu, &mut found);
            Ok(())
        });
        or_missing(bench, View::OffCpu, observed, &mut found)?;
    }
    if asked(View::Syscalls, &mut found) {
        stage_of("system calls", observer);
        let observed = SyscallView::new(workers, &access).and_then(|mut view| {
            let seen = watch(&mut stage, &mut view, options, &mut rng, observer)?;
            assemble::syscalls(&mut found, &view.finish(), &seen);
            plain.take(&seen, View::Syscalls, &mut found);
            Ok(())
        });
        or_missing(bench, View::Syscalls, observed, &mut found)?;
    }
    // The counters of the whole of it, for the limits that ask for them.
    found.status_per_query = match stage.status_per_query() {
        Err(_) if bench.cancel().is_cancelled() => BTreeMap::new(),
        counters => counters?,
    };
    stage.close();
    for (view, title, observe) in APART {
        if asked(view, &mut found) {
            stage_of(title, observer);
            let observed = observe(bench, variant, options, &mut rng, observer, &mut found);
            let observed = observed.map(|seen| plain.add(&seen, view, &mut found));
            or_missing(bench, view, observed, &mut found)?;
        }
    }
    plain.tell(&mut found);
    assemble::limits(&mut found, &here, &variant.levers)?;
    found.statements = statements::heavy(bench, variant);
    Ok(found)
}

/// Profiles one thing in servers of its own.
type Observe = fn(
    &Workbench,
    &Variant,
    &ProfileOptions,
    &mut ChaCha8Rng,
    &mut dyn Observer,
    &mut Profile,
) -> Result<Watched>;

/// The views whose cost is in no other figure.
const APART: [(View, &str, Observe); 2] = [
    (View::Locks, "locks", locks::locks),
    (View::Allocations, "allocations", allocations::allocations),
];

fn nothing_yet(
    bench: &Workbench,
    variant: &Variant,
    options: &ProfileOptions,
    access: &Access,
) -> Profile {
    Profile {
        variant: variant.label(),
        workload: bench.load().on(variant).one_line(),
        cpus: online_cpus().len(),
        missing: access
            .missing()
            .into_iter()
            .map(Explanation::from)
            .chain(options.missing.iter().cloned())
            .collect(),
        ..Profile::default()
    }
}

/// The names of the server's functions, and in the profile where they come from and which there are none of.
fn symbols_of(
    unwinder: &Unwinder,
    server: &Path,
    options: &ProfileOptions,
    profile: &mut Profile,
) -> Result<Symbolizer> {
    let symbolizer = Symbolizer::new(unwinder.mappings(), server, &options.symbols)
        .context("cannot read the server's symbols")?;
    profile.symbols = symbolizer.sources().to_vec();
    if !symbolizer.names_kernel() {
        profile.missing.push(
            "no names of the kernel's functions: run as root, or with kernel.kptr_restrict=0"
                .into(),
        );
    }
    Ok(symbolizer)
}

/// The threads that take part in the load, in random order, and how many times a second all of them together are given a
/// CPU.
fn serving_threads(
    stage: &mut Stage<'_>,
    options: &ProfileOptions,
    rng: &mut impl Rng,
) -> Result<(Vec<i32>, f64)> {
    let pid = stage.pid(0);
    let before = schedule(pid)?;
    let took = stage.run(0, options.slice_seconds)?;
    let after = schedule(pid)?;
    let mut workers = busy(&before, &after);
    workers.shuffle(rng);
    let turns = turns(&workers, &before, &after) as f64;
    let switches = if took > 0.0 { turns / took } else { 0.0 };
    Ok((workers, switches))
}

/// A view that cannot be had here is no error: the profile says so.
fn or_missing(
    bench: &Workbench,
    view: View,
    observed: Result<()>,
    profile: &mut Profile,
) -> Result<()> {
    if let Err(error) = observed
        && !left_by_a_stop(bench, view, profile)
    {
        bench.cancel().check()?;
        let told = error.explain();
        let name = view.name();
        profile
            .missing
            .push(told.with_cause(|cause| format!("{name}: {cause}")));
    }
    Ok(())
}

/// Whether a stop leaves this view out of a profile that holds others, which says so.
fn left_by_a_stop(bench: &Workbench, view: View, profile: &mut Profile) -> bool {
    let left = bench.cancel().is_cancelled() && View::ALL.iter().any(|view| view.is_in(profile));
    if left {
        profile.missing.push(
            format!(
                "{}: the profile was stopped before this view had ended",
                view.name()
            )
            .into(),
        );
    }
    left
}

/// What was measured while nothing was observed.
#[derive(Default)]
struct Plain {
    queries: Vec<f64>,
    transactions: Vec<f64>,
    /// Queries answered, and the CPU time of the server for them, in seconds.
    answered: u64,
    server_cpu: f64,
}

impl Plain {
    /// Takes what a view measured while it was off, and what it cost.
    fn take(&mut self, seen: &Watched, view: View, profile: &mut Profile) {
        profile.costs.extend(seen.cost(view));
        self.add(seen, view, profile);
    }

    /// Takes what a view measured while it was off, and tells where there was less of it than was wanted.
    fn add(&mut self, seen: &Watched, view: View, profile: &mut Profile) {
        if let Some((had, wanted)) = seen.cut_short {
            profile.missing.push(format!(
                "{}: the capture had segments for {had} of {wanted} couples of slices: what it writes cannot be written twice",
                view.name()
            ).into());
        }
        self.answered += seen.queries_off;
        self.server_cpu += seen.server_cpu_off;
        self.queries.extend(&seen.queries_without);
        self.transactions.extend(&seen.transactions_without);
    }

    fn tell(&self, profile: &mut Profile) {
        profile.queries_per_second = niagara_stats::median(&self.queries).unwrap_or(0.0);
        profile.transactions_per_second = niagara_stats::median(&self.transactions).unwrap_or(0.0);
        // Where the cpu view was taken, its own slices say it: layers divide that.
        if profile.cpu.is_none() && self.answered > 0 {
            profile.cpu_us_per_query = self.server_cpu * 1e6 / self.answered as f64;
        }
    }
}

impl Switch for CpuView<'_> {
    fn on(&mut self) -> Result<()> {
        CpuView::on(self)
    }
    fn off(&mut self, _: &SliceStats) -> Result<()> {
        CpuView::off(self)
    }
}

impl Switch for OffCpuView<'_> {
    fn on(&mut self) -> Result<()> {
        OffCpuView::on(self)
    }
    fn off(&mut self, _: &SliceStats) -> Result<()> {
        OffCpuView::off(self)
    }
}

impl Switch for SyscallView {
    fn on(&mut self) -> Result<()> {
        SyscallView::on(self)
    }
    fn off(&mut self, _: &SliceStats) -> Result<()> {
        SyscallView::off(self)
    }
}

/// A number of seconds as a duration; nothing of what is no length of time.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
pub(crate) mod debug_symbols;
