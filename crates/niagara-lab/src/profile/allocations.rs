//! The allocations view: a second server with the library that counts, beside one without it.

use anyhow::Result;
use niagara_error::bail;
use niagara_profile::process::Unwinder;
use niagara_profile::symbols::Symbolizer;
use niagara_profile::{AllocationProbe, AllocationView, Profile};
use rand::Rng;

use super::costs::{Switch, Watched, watch_beside};
use super::stage::Stage;
use super::{ProfileOptions, View};
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::variants::variant::Variant;

/// Profiles the allocations: side 0 is the variant as it is, side 1 the same with the library.
pub(super) fn allocations(
    bench: &Workbench,
    variant: &Variant,
    options: &ProfileOptions,
    rng: &mut impl Rng,
    observer: &mut dyn Observer,
    profile: &mut Profile,
) -> Result<Watched> {
    observer.see(Event::SettingUp(
        "starting a server whose allocations are counted",
    ));
    let folder = bench.scratch("allocations")?;
    let probe = AllocationProbe::new(folder.path())?;
    let mut counted = variant.clone();
    let preload = counted.runtime.environment.get("LD_PRELOAD").cloned();
    counted
        .runtime
        .environment
        .extend(probe.environment(preload.as_deref()));
    let mut stage = Stage::open(bench, &[variant.clone(), counted], options, 1)?;
    for side in [0, 1] {
        stage.thaw(side)?;
        stage.run(side, options.warm_up_seconds / 2.0)?;
        stage.freeze(side)?;
    }
    let mut unwinder = Unwinder::of(stage.pid(1))?;
    // The loader passes over what it cannot load, and nothing would be counted.
    let mapped = std::fs::read_to_string(format!("/proc/{}/maps", stage.pid(1)))?;
    let place = std::fs::canonicalize(folder.path())?;
    if !mapped.contains(&*place.to_string_lossy()) {
        bail!(
            "the library that counts allocations was not loaded into the server";
            remedy: "name a work folder on a file system that programs can be run from, whose path has neither blanks nor \
             colons (NIAGARA_WORK)"
        );
    }
    let server = bench.install_of(variant)?.server.clone();
    let symbolizer = Symbolizer::new(unwinder.mappings(), &server, &options.symbols)?;
    let mut view = AllocationView::new(&probe, &mut unwinder, &symbolizer)?;
    let seen = watch_beside(&mut stage, &mut view, options, rng, observer)?;
    let (found, lost) = view.finish(seen.queries)?;
    profile.allocations = Some(found);
    if lost > 0 {
        profile.missing.push(format!(
            "{lost} sampled allocations did not fit into their buffer and are not counted among the call sites"
        ).into());
    }
    profile.costs.extend(seen.cost(View::Allocations));
    stage.close();
    Ok(seen)
}

impl Switch for AllocationView<'_> {
    fn on(&mut self) -> Result<()> {
        AllocationView::on(self)
    }
    fn off(&mut self) -> Result<()> {
        AllocationView::off(self)
    }
}
