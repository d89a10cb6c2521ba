//! Views of a server at work, one after another: what runs, what is waited for, system calls. The server is one that Niagara started
//! and loads, or one that runs already.

use std::path::Path;

use anyhow::{Context, Result};
use niagara_error::Explain as _;
use niagara_profile::kernel::Access;
use niagara_profile::process::{Unwinder, busy, schedule, turns};
use niagara_profile::symbols::Symbolizer;
use niagara_profile::{CpuView, OffCpuView, Profile, SyscallView};
use niagara_server::Cancel;
use niagara_server::machine::online_cpus;
use rand::Rng;
use rand::seq::SliceRandom;

use super::assemble;
use super::costs::Switch;
use super::work::Work;
use super::{ProfileOptions, View};
use crate::plans::observer::{Event, Observer};

/// A server at work.
pub(super) trait Scene {
    /// Its process.
    fn pid(&self) -> i32;
    /// What Niagara is on its machine.
    fn own_name(&self) -> &'static str;
    /// Set by whoever wants it to end.
    fn cancel(&self) -> &Cancel;
    /// Has it work for so long while nobody looks; how long it was, in seconds.
    fn pass(&mut self, seconds: f64) -> Result<f64>;
    /// Has it work, a view switched on now and then.
    fn watch(
        &mut self,
        view: View,
        switch: &mut dyn Switch,
        profile: &mut Profile,
        observer: &mut dyn Observer,
    ) -> Result<Work>;
}

/// The threads that take part in the load.
pub(super) struct ServingThreads {
    /// In random order.
    threads: Vec<i32>,
    /// How many times a second all of them together are given a CPU.
    switches: f64,
}

/// The threads that take part in the load, by what runs in so many seconds.
pub(super) fn serving_threads(
    scene: &mut dyn Scene,
    seconds: f64,
    rng: &mut impl Rng,
) -> Result<ServingThreads> {
    let before = schedule(scene.pid())?;
    let took = scene.pass(seconds)?;
    let after = schedule(scene.pid())?;
    let mut threads = busy(&before, &after);
    threads.shuffle(rng);
    let turns = turns(&threads, &before, &after) as f64;
    let switches = if took > 0.0 { turns / took } else { 0.0 };
    Ok(ServingThreads { threads, switches })
}

/// Takes those of the three views that are asked for, of a server with this program. One that cannot be had here is no error: the
/// profile says so.
pub(super) fn take_views(
    scene: &mut dyn Scene,
    serving: ServingThreads,
    program: &Path,
    access: &Access,
    options: &ProfileOptions,
    found: &mut Profile,
    observer: &mut dyn Observer,
) -> Result<()> {
    let cancel = scene.cancel().clone();
    let pid = scene.pid();
    let ServingThreads {
        threads: mut workers,
        switches,
    } = serving;
    let mut unwinder = Unwinder::of(pid)?;
    let symbolizer = symbols_of(&unwinder, program, options, found)?;
    if is_asked(View::Cpu, options, &cancel, found) {
        announce("profile: what runs on the CPUs", options, observer);
        let cpus = online_cpus();
        let view = CpuView::new(
            pid,
            scene.own_name(),
            cpus,
            access,
            &mut unwinder,
            &symbolizer,
        );
        let observed = view.and_then(|mut view| {
            let work = scene.watch(View::Cpu, &mut view, found, observer)?;
            assemble::cpu(found, view.finish(), &work)
        });
        or_missing(&cancel, View::Cpu, observed, found)?;
    }
    if is_asked(View::OffCpu, options, &cancel, found) {
        announce("profile: what threads wait for", options, observer);
        let threads = workers.clone();
        let view = OffCpuView::new(pid, threads, switches, access, &mut unwinder, &symbolizer);
        let observed = view.and_then(|mut view| {
            let work = scene.watch(View::OffCpu, &mut view, found, observer)?;
            let waiting = view.finish();
            workers.retain(|thread| !waiting.background.contains(thread));
            assemble::off_cpu(found, waiting, &work)
        });
        or_missing(&cancel, View::OffCpu, observed, found)?;
    }
    if is_asked(View::Syscalls, options, &cancel, found) {
        announce("system calls", options, observer);
        let observed = SyscallView::new(workers, access).and_then(|mut view| {
            let work = scene.watch(View::Syscalls, &mut view, found, observer)?;
            assemble::syscalls(found, &view.finish(), &work);
            Ok(())
        });
        or_missing(&cancel, View::Syscalls, observed, found)?;
    }
    Ok(())
}

/// Says that a view begins.
pub(super) fn announce(name: &str, options: &ProfileOptions, observer: &mut dyn Observer) {
    observer.see(Event::Stage {
        name,
        seconds: options.seconds,
    });
}

/// Whether a view is to be taken: it was asked for, and no stop leaves it out.
pub(super) fn is_asked(
    view: View,
    options: &ProfileOptions,
    cancel: &Cancel,
    profile: &mut Profile,
) -> bool {
    options.views.contains(&view) && !left_by_a_stop(cancel, view, profile)
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

/// A view that cannot be had here is no error: the profile says so.
pub(super) fn or_missing(
    cancel: &Cancel,
    view: View,
    observed: Result<()>,
    profile: &mut Profile,
) -> Result<()> {
    if let Err(error) = observed
        && !left_by_a_stop(cancel, view, profile)
    {
        cancel.check()?;
        let told = error.explain();
        let name = view.name();
        profile
            .missing
            .push(told.with_cause(|cause| format!("{name}: {cause}")));
    }
    Ok(())
}

/// Whether a stop leaves this view out of a profile that holds others, which says so.
fn left_by_a_stop(cancel: &Cancel, view: View, profile: &mut Profile) -> bool {
    let left = cancel.is_cancelled() && View::ALL.iter().any(|view| view.is_in(profile));
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

impl Switch for CpuView<'_> {
    fn on(&mut self) -> Result<()> {
        CpuView::on(self)
    }
    fn off(&mut self) -> Result<()> {
        CpuView::off(self)
    }
}

impl Switch for OffCpuView<'_> {
    fn on(&mut self) -> Result<()> {
        OffCpuView::on(self)
    }
    fn off(&mut self) -> Result<()> {
        OffCpuView::off(self)
    }
}

impl Switch for SyscallView {
    fn on(&mut self) -> Result<()> {
        SyscallView::on(self)
    }
    fn off(&mut self) -> Result<()> {
        SyscallView::off(self)
    }
}
