//! The parts of a matrix: a workbench for each load, a variant for each combination of levels.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_lab::study_file::{AxisRecipe, VariantRecipe, level_sets};
use niagara_lab::{Combination, MatrixOptions, Observer, Variant, Workbench};
use niagara_load::WorkloadKind;
use niagara_store::{Axis, MatrixWorkload};

use super::{Runner, without_threads};
use crate::resolve;

/// What a matrix is filled from.
pub struct Parts {
    axes: Vec<Axis>,
    combinations: Vec<Combination>,
    benches: BTreeMap<(usize, u32), Workbench>,
}

/// Sets up every load and every combination; one that is not to be had here is kept with its reason.
pub fn parts(
    runner: &Runner<'_>,
    start: &VariantRecipe,
    axes: &[AxisRecipe],
    all: bool,
    observer: &mut dyn Observer,
) -> Result<Parts> {
    let study = runner.study;
    let mut combinations: Vec<Combination> = level_sets(axes, all)
        .into_iter()
        .map(|set| Combination {
            title: set.title,
            levels: set.levels,
            variants: Vec::new(),
        })
        .collect();
    let mut benches = BTreeMap::new();
    for workload in 0..study.workloads.len() {
        let mut first = runner.bench(workload, study.threads[0]);
        let base = runner.variant_unroomed(start, &mut first, observer)?;
        for combination in &mut combinations {
            let made = combined(
                runner,
                &base,
                axes,
                &combination.levels,
                &mut first,
                observer,
            )?;
            combination.variants.push(made);
        }
        // What was made for one thread count is there for the others too: the same servers, the same data.
        for &threads in &study.threads[1..] {
            let mut bench = runner.bench(workload, threads);
            for combination in &combinations {
                if let Ok(variant) = &combination.variants[workload] {
                    bench.set_up_variant(variant, observer)?;
                }
            }
            benches.insert((workload, threads), bench);
        }
        benches.insert((workload, study.threads[0]), first);
    }
    Ok(Parts {
        axes: axes
            .iter()
            .map(|axis| Axis {
                name: axis.name.clone(),
                levels: axis.levels.iter().map(|level| level.name.clone()).collect(),
            })
            .collect(),
        combinations,
        benches,
    })
}

fn combined(
    runner: &Runner<'_>,
    base: &Variant,
    axes: &[AxisRecipe],
    levels: &[usize],
    bench: &mut Workbench,
    observer: &mut dyn Observer,
) -> Result<Result<Variant, String>> {
    let mut recipe = VariantRecipe::default();
    // Everything at once, so that a build with two options is built once.
    for (axis, &level) in axes.iter().zip(levels) {
        let of_level = &axis.levels[level].recipe;
        recipe.items.extend(of_level.items.iter().cloned());
        merge(&mut recipe, of_level);
    }
    resolve::variant(&recipe, base, runner.setting, bench, observer)
}

/// Runtime changes of several levels as one; the later axis has the last word.
fn merge(into: &mut VariantRecipe, from: &VariantRecipe) {
    let (into, from) = (&mut into.change, from.change.clone());
    into.config.extend(from.config);
    into.build.extend(from.build);
    into.environment.extend(from.environment);
    into.malloc = from.malloc.or(into.malloc.take());
    into.huge_pages_heap = from.huge_pages_heap.or(into.huge_pages_heap);
    into.transport = from.transport.or(into.transport);
    into.server_cpus = from.server_cpus.or(into.server_cpus.take());
    into.client_cpus = from.client_cpus.or(into.client_cpus.take());
    into.scheduling = from.scheduling.or(into.scheduling);
    into.lock_memory = from.lock_memory.or(into.lock_memory);
}

impl Parts {
    /// As the lab takes them.
    pub fn options(&self, runner: &Runner<'_>) -> MatrixOptions<'_> {
        let study = runner.study;
        MatrixOptions {
            about: Some(study.about.clone()),
            server: runner.base.server.clone(),
            axes: self.axes.clone(),
            combinations: self.combinations.clone(),
            workloads: study
                .workloads
                .iter()
                .enumerate()
                .map(|(index, workload)| MatrixWorkload {
                    name: workload.name.clone(),
                    one_line: without_threads(&workload.load),
                    trained: workload.trained
                        || self.trains_on(index, workload.load.workload.kind()),
                })
                .collect(),
            threads: study.threads.clone(),
            benches: &self.benches,
            protocol: study.protocol,
            alpha: study.alpha,
            rule: runner.rule(),
            duels: study.duels,
            couples: runner.couples,
            seed: runner.seed,
            budget_seconds: study.budget.as_secs_f64(),
        }
    }

    /// Whether some build of this matrix had its profile from the workload.
    fn trains_on(&self, workload: usize, kind: Option<WorkloadKind>) -> bool {
        self.combinations
            .iter()
            .filter_map(|combination| combination.variants[workload].as_ref().ok())
            .filter_map(|variant| variant.build.as_ref())
            .any(|recipe| kind.is_some_and(|kind| recipe.trained_on().contains(kind.name())))
    }
}
