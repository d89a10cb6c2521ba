//! The parts of a matrix: a workbench for each load, a variant for each combination of levels.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use niagara_model::{Axis, MatrixWorkload, Reason};
use niagara_server::file_digest;

use crate::answering::matrix::parts::PartOpening;
use crate::answering::matrix::{Combination, MatrixOptions, MatrixPart};
use crate::asking::level_sets::MatrixQuestion;
use crate::asking::recipes_of::recipe_of;
use crate::duels::workbench::Workbench;
use crate::plans::observer::Observer;
use crate::plans::spec::DuelSettings;
use crate::studies::set_up::{SetUp, without_threads};
use crate::studies::variant_set_up::resolve_or_reason;
use crate::variants::server_build::ServerRecipe;

/// What a matrix is filled from.
pub(crate) struct Combinations {
    axes: Vec<Axis>,
    combinations: Vec<Combination>,
    benches: BTreeMap<(usize, u32), Workbench>,
}

/// Sets up every load and every combination that `part` is in need of; one that is not to be had here is kept with its reason.
pub(crate) fn combinations(
    set_up: &SetUp<'_>,
    matrix: &MatrixQuestion,
    part: &PartOpening,
    observer: &mut dyn Observer,
) -> Result<Combinations> {
    let study = set_up.study;
    let sets = matrix.sets();
    let mut combinations: Vec<Combination> = sets
        .iter()
        .map(|set| Combination {
            title: set.title.clone(),
            levels: set.levels.clone(),
            is_left: set.is_left,
            variants: Vec::new(),
            trained: Vec::new(),
        })
        .collect();
    let mut benches = BTreeMap::new();
    // Also those that this part does not build: what a workload is to a combination is the same in all parts.
    let builds: Vec<Option<ServerRecipe>> = (sets.iter())
        .map(|set| recipe_of(study, &matrix.recipes(set)))
        .collect();
    for workload in 0..study.workloads.len() {
        let spec = &study.workloads[workload].load.workload;
        let mut first = set_up.bench(study.load(workload, study.threads[0]));
        let start = set_up.variant_for_any_threads(&matrix.start, &mut first, observer)?;
        for ((set, build), combination) in sets.iter().zip(&builds).zip(&mut combinations) {
            let made = if part.rows.contains(&set.title) {
                let (recipe, on) = match set.beside {
                    Some(index) => (matrix.beside[index].clone(), &set_up.base),
                    None => (matrix.changes(set), &start),
                };
                resolve_or_reason(&recipe, on, set_up.inventory, &mut first, observer)?
            } else {
                Err(Reason::NotAskedFor)
            };
            let named_by_levers = made.as_ref().ok().and_then(|made| made.build.as_ref());
            let by_the_file = build.iter().map(|made| &made.recipe);
            let mut recipes = by_the_file.chain(named_by_levers);
            let trained = recipes.any(|recipe| recipe.is_trained_on(spec));
            combination.trained.push(trained);
            combination.variants.push(made);
        }
        // What was made for one thread count is there for the others too: the same servers, the same data.
        for &threads in &study.threads[1..] {
            let mut bench = set_up.bench(study.load(workload, threads));
            for combination in &combinations {
                if let Ok(variant) = &combination.variants[workload] {
                    bench.set_up_variant(variant, observer)?;
                }
            }
            benches.insert((workload, threads), bench);
        }
        benches.insert((workload, study.threads[0]), first);
    }
    Ok(Combinations {
        axes: matrix
            .axes
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

impl Combinations {
    /// By the name of each server and its build: the SHA-256 of the binary that is launched.
    ///
    /// # Errors
    /// A binary cannot be read.
    pub(crate) fn binaries(&self) -> Result<BTreeMap<String, String>> {
        let mut known: BTreeMap<PathBuf, String> = BTreeMap::new();
        let mut binaries = BTreeMap::new();
        for (&(workload, _), bench) in &self.benches {
            let variants = self.combinations.iter();
            let variants =
                variants.filter_map(|combination| combination.variants[workload].as_ref().ok());
            for variant in variants {
                let path = &bench.install_of(variant)?.server;
                let digest = match known.get(path) {
                    Some(digest) => digest.clone(),
                    None => file_digest(path)?,
                };
                known.insert(path.clone(), digest.clone());
                binaries.insert(variant.server_and_build(), digest);
            }
        }
        Ok(binaries)
    }

    /// How the matrix is filled.
    pub(crate) fn options<'a>(
        &'a self,
        set_up: &SetUp<'a>,
        duel_settings: &DuelSettings,
        seed: u64,
        part: MatrixPart<'a>,
    ) -> Result<MatrixOptions<'a>> {
        let study = set_up.study;
        // What the parts have in common stands in the words, what is of a part beside it.
        let mut about = study.words();
        if !part.record.earlier.parts.is_empty()
            && let Some(words) = &mut about
        {
            words.note.clone_from(&study.about.note);
        }
        Ok(MatrixOptions {
            about,
            server: set_up.base.server.clone(),
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
                        || (self.combinations.iter()).any(|combination| combination.trained[index]),
                })
                .collect(),
            threads: study.threads.clone(),
            benches: &self.benches,
            protocol: study.protocol,
            alpha: study.alpha,
            rule: study.rule(),
            duels: study.duels,
            couples: duel_settings.couples,
            seed,
            budget_seconds: study.budget.as_secs_f64(),
            controls: study.controls,
            inventory: set_up.inventory,
            machine: set_up.inventory.machine()?,
            part,
        })
    }
}
