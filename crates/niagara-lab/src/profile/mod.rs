//! Where a variant's time goes: one server under load, observed in one way after another.
//!
//! A view is switched on in every other slice of load, the order within each couple by a fair coin, so that what it
//! shows and what it costs come from the same slices. Views never overlap: none sees another's work.

mod allocations;
mod assemble;
mod costs;
mod growth;
mod live;
mod live_locks;
mod locks;
mod short;
mod stage;
mod statement_counter;
mod statements;
mod views;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use niagara_error::Explanation;
use niagara_profile::Profile;
use niagara_profile::kernel::Access;
use niagara_profile::symbols::DebugFolders;
use niagara_server::Cancel;
use niagara_server::machine::{Fingerprint, online_cpus};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::duels::lever_context::on_top_of;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;

use costs::{Switch, Watched, watch};
pub use live::{LiveSubject, profile_live};
pub(crate) use short::{NO_TIME_FOR_A_PROFILE, look, seconds_each};
pub use short::{ShortProfile, sweep_profile_seconds};
use stage::Stage;
use views::{Scene, announce, is_asked, or_missing, serving_threads, take_views};
use work::{Work, per_query};

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
    let mut found = Profile {
        variant: variant.label(),
        workload: bench.load().on(variant).one_line(),
        ..nothing_yet(options, &access)
    };
    let variant = &with_max_connections(variant, bench.load().threads);
    let here = on_top_of(variant, &Fingerprint::read(&bench.cache().work()?), bench)?;
    observer.see(Event::SettingUp(&format!("starting {}", variant.label())));
    let together = TOGETHER.iter().filter(|view| options.views.contains(view));
    let one = std::slice::from_ref(variant);
    let mut scene = UnderLoad {
        stage: Stage::open(bench, one, options, together.count())?,
        cancel: bench.cancel(),
        options,
        order: ChaCha8Rng::from_rng(&mut rng),
        plain: Plain::default(),
    };
    found.server_version = scene.stage.version(0)?;

    announce("warm-up", options, observer);
    scene.pass(options.warm_up_seconds)?;
    let serving = serving_threads(&mut scene, options.slice_seconds, &mut rng)?;
    // Every connection has opened its tables by now.
    scene.stage.count_from_here()?;

    let program = bench.install_of(variant)?.server.clone();
    take_views(
        &mut scene, serving, &program, &access, options, &mut found, observer,
    )?;
    // The counters of the whole of it, for the limits that ask for them.
    found.status_per_query = match scene.stage.status_per_query() {
        Err(_) if bench.cancel().is_cancelled() => BTreeMap::new(),
        counters => counters?,
    };
    let UnderLoad {
        stage, mut plain, ..
    } = scene;
    stage.close();
    for (view, title, observe) in APART {
        if is_asked(view, options, bench.cancel(), &mut found) {
            announce(title, options, observer);
            let observed = observe(bench, variant, options, &mut rng, observer, &mut found);
            let observed = observed.map(|seen| plain.add(&seen, view, &mut found));
            or_missing(bench.cancel(), view, observed, &mut found)?;
        }
    }
    plain.tell(&mut found);
    assemble::limits(&mut found, Some(&here), &variant.levers)?;
    found.statements = statements::heavy(bench, variant);
    Ok(found)
}

/// A server that Niagara has started and loads.
struct UnderLoad<'b> {
    stage: Stage<'b>,
    cancel: &'b Cancel,
    options: &'b ProfileOptions,
    /// Of the slices within couples.
    order: ChaCha8Rng,
    plain: Plain,
}

impl Scene for UnderLoad<'_> {
    fn pid(&self) -> i32 {
        self.stage.pid(0)
    }

    fn own_name(&self) -> &'static str {
        "load generator"
    }

    fn cancel(&self) -> &Cancel {
        self.cancel
    }

    fn pass(&mut self, seconds: f64) -> Result<f64> {
        self.stage.run(0, seconds)
    }

    fn watch(
        &mut self,
        view: View,
        switch: &mut dyn Switch,
        profile: &mut Profile,
        observer: &mut dyn Observer,
    ) -> Result<Work> {
        let seen = watch(
            &mut self.stage,
            switch,
            self.options,
            &mut self.order,
            observer,
        )?;
        self.plain.take(&seen, view, profile);
        Ok(seen.work())
    }
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

/// What is known before anything was observed: the machine, and what cannot be seen here.
fn nothing_yet(options: &ProfileOptions, access: &Access) -> Profile {
    Profile {
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
        profile.queries_per_second = niagara_stats::median(&self.queries);
        profile.transactions_per_second = niagara_stats::median(&self.transactions);
        // Where the cpu view was taken, its own slices say it: layers divide that.
        if profile.cpu.is_none() {
            let answered = Some(self.answered as f64);
            profile.cpu_us_per_query = per_query(self.server_cpu * 1e6, answered);
        }
    }
}

/// A number of seconds as a duration; nothing of what is no length of time.
fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}
pub(crate) mod debug_symbols;
