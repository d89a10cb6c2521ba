//! What a matrix combines, and what stands beside the combinations.

use std::collections::{BTreeMap, BTreeSet};

use niagara_toml::{At, Mistakes};

use super::document::{Axis, Combine, Document, LevelNames};
use super::known::Known;
use super::variant_parts::{of_parts, reference};
use crate::asking::level_sets::{AxisRecipe, LevelRecipe, MatrixQuestion, check_level};
use crate::asking::question::StudyDescription;
use crate::asking::recipe::VariantRecipe;
use crate::asking::wanted_level::WantedLevel;

/// Combinations of a matrix; more is surely a mistake.
const MAX_COMBINATIONS: usize = 1_000;

/// The question of a matrix of these axes.
pub(crate) fn matrix(
    document: &Document,
    axes: &At<Vec<Axis>>,
    start: VariantRecipe,
    variants: &BTreeMap<String, VariantRecipe>,
    known: &Known<'_>,
    mistakes: &mut Mistakes<'_>,
) -> MatrixQuestion {
    let recipes = recipes(axes, known, mistakes);
    let beside = document.beside.iter().flat_map(|list| &list.value);
    let question = MatrixQuestion {
        start: Box::new(start),
        axes: recipes,
        all: document
            .combine
            .as_ref()
            .is_none_or(|word| word.value == Combine::All),
        beside: beside
            .map(|text| reference(text, variants, known, mistakes))
            .collect(),
        part: Vec::new(),
    };
    let combinations = question.count();
    if combinations > MAX_COMBINATIONS {
        mistakes.add(
            axes.at,
            format!("more than {MAX_COMBINATIONS} combinations of levels"),
            "take fewer axes or levels, or combine = \"each\"",
        );
        return question;
    }
    if check_only(axes, &question.axes, mistakes) {
        check_combined(axes, &question, mistakes);
    }
    tell_apart(document, axes, &question, mistakes);
    question
}

/// Whether levels are combined with levels that there are, of other axes.
fn check_only(axes: &[Axis], recipes: &[AxisRecipe], mistakes: &mut Mistakes<'_>) -> bool {
    let mut are_right = true;
    let mut wrong = |at: usize, cause: String, remedy: &str| {
        are_right = false;
        mistakes.add(at, cause, remedy);
    };
    for (own, level) in axes
        .iter()
        .flat_map(|axis| axis.levels.iter().map(move |level| (axis, level)))
    {
        for (axis, names) in &level.only {
            if *axis == own.name.trim() {
                let cause = format!(
                    "the level `{}` of `{axis}` names under `only` levels of its own axis",
                    level.name.trim()
                );
                wrong(
                    names.at,
                    cause,
                    "name levels of other axes there, or leave it out",
                );
                continue;
            }
            for name in &names.value.0 {
                let one = WantedLevel {
                    axis: axis.clone(),
                    level: name.trim().to_owned(),
                };
                if let Err(cause) = check_level(recipes, &one) {
                    wrong(name.at, cause, "correct the name, or leave `only` out");
                }
            }
        }
    }
    are_right
}

/// Whether every level is in some combination: one that `only` leaves none would vanish without a word.
fn check_combined(axes: &[Axis], matrix: &MatrixQuestion, mistakes: &mut Mistakes<'_>) {
    let sets = matrix.sets();
    for (place, axis) in axes.iter().enumerate() {
        for (number, level) in axis.levels.iter().enumerate().skip(1) {
            if sets
                .iter()
                .any(|set| set.levels.get(place) == Some(&number))
            {
                continue;
            }
            let cause = format!(
                "the level `{}` of `{}` is combined with nothing",
                level.name.trim(),
                axis.name.trim()
            );
            let remedy = match matrix.all {
                true => "name more levels under `only`, here or at the other axes, or leave it out",
                false => {
                    "one axis at a time, it meets the baselines of the others: name these under `only`, leave that out, or write \
                     combine = \"all\""
                }
            };
            mistakes.add(level.name.at, cause, remedy);
        }
    }
}

/// Leaves out what a size does not measure.
pub(crate) fn keep_part(
    study: &mut StudyDescription,
    part: &BTreeMap<String, At<LevelNames>>,
    mistakes: &mut Mistakes<'_>,
) {
    let mut wanted = Vec::new();
    for (axis, levels) in part {
        for level in &levels.value.0 {
            let one = WantedLevel {
                axis: axis.clone(),
                level: level.trim().to_owned(),
            };
            if let Err(cause) = study.check_level(&one) {
                mistakes.add(
                    level.at,
                    cause,
                    "`part` is for a matrix: name its axes and their levels",
                );
                return;
            }
            wanted.push(one);
        }
    }
    let place = part.values().next().map_or(0, |levels| levels.at);
    if let Err(cause) = study.keep_levels(&wanted) {
        mistakes.add(
            place,
            cause,
            "name a level beside the baseline, or leave `part` out",
        );
    }
}

fn recipes(axes: &[Axis], known: &Known<'_>, mistakes: &mut Mistakes<'_>) -> Vec<AxisRecipe> {
    let mut names = BTreeSet::new();
    axes.iter()
        .map(|axis| {
            let name = axis.name.trim().to_owned();
            if !names.insert(name.clone()) {
                mistakes.add(
                    axis.name.at,
                    format!("a second axis is called `{name}`"),
                    "give it another name",
                );
            }
            if axis.levels.len() < 2 {
                mistakes.add(
                    axis.name.at,
                    format!("the axis `{name}` has one level"),
                    "an axis has a baseline and at least one other level",
                );
            }
            let mut seen = BTreeSet::new();
            let levels = axis
                .levels
                .iter()
                .map(|level| {
                    let own = level.name.trim().to_owned();
                    if !seen.insert(own.clone()) {
                        mistakes.add(
                            level.name.at,
                            format!("a second level of `{name}` is called `{own}`"),
                            "give it another name",
                        );
                    }
                    LevelRecipe {
                        name: own,
                        recipe: of_parts(&level.parts(), known, mistakes),
                        only: (level.only.iter())
                            .map(|(axis, names)| {
                                let names = names.value.0.iter();
                                let names = names.map(|name| name.trim().to_owned());
                                (axis.clone(), names.collect())
                            })
                            .collect(),
                    }
                })
                .collect();
            AxisRecipe { name, levels }
        })
        .collect()
}

/// Results are told apart by what combinations are called, so no two may be called the same.
fn tell_apart(
    document: &Document,
    axes: &At<Vec<Axis>>,
    matrix: &MatrixQuestion,
    mistakes: &mut Mistakes<'_>,
) {
    let recipes = &matrix.axes;
    let mut seen: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for set in matrix.sets() {
        let Some(other) = seen.insert(set.title.clone(), set.levels.clone()) else {
            continue;
        };
        if let (Some(index), Some(list)) = (set.beside, &document.beside) {
            mistakes.add(
                list[index].at,
                format!("two rows are called `{}`", set.title),
                "results are told apart by that: describe it under [variants] with a title of its own",
            );
            return;
        }
        // The last axis in which they differ; at least one of the two levels there is beside the baseline.
        let axis = (0..recipes.len()).rfind(|&axis| other[axis] != set.levels[axis]);
        let Some(axis) = axis else { continue };
        let level = other[axis].max(set.levels[axis]);
        let levels = &recipes[axis].levels;
        if levels[other[axis]].name == levels[set.levels[axis]].name {
            // Two levels of one axis: said already.
            continue;
        }
        let name = &axes[axis].levels[level].name;
        mistakes.add(
            name.at,
            format!("two combinations of levels are called `{}`", set.title),
            "results are told apart by that: give this level another name",
        );
        return;
    }
}
