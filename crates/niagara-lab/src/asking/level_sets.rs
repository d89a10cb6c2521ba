//! The axes of a matrix, the combinations of their levels, and what those are called.

use std::collections::BTreeMap;

use niagara_server::did_you_mean;
use serde::Serialize;

use crate::asking::recipe::VariantRecipe;
use crate::asking::wanted_level::WantedLevel;

/// What a matrix fills in.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixQuestion {
    /// What the levels are applied to.
    pub start: Box<VariantRecipe>,
    /// What is combined.
    pub axes: Vec<AxisRecipe>,
    /// Every combination, or one axis at a time beside the baseline.
    pub all: bool,
    /// Variants that are no combination of levels, such as the package itself: a row each, against the same baseline.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<VariantRecipe>,
    /// The levels that are measured now, of the axes that are named; without any, all. It is no part of what the matrix is known by:
    /// what several parts measured stands in one report.
    #[serde(skip)]
    pub part: Vec<WantedLevel>,
}

/// An axis of a matrix.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisRecipe {
    /// What the levels are levels of.
    pub name: String,
    /// The first is the baseline.
    pub levels: Vec<LevelRecipe>,
}

/// A level of an axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LevelRecipe {
    /// Short.
    pub name: String,
    /// What it changes.
    pub recipe: VariantRecipe,
    /// Levels of other axes, by their axis, that it is combined with alone; with all levels of an axis that is not named.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub only: BTreeMap<String, Vec<String>>,
}

/// A row of a matrix: a combination of levels, or a variant beside them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelSet {
    /// Level of each axis; none of a variant beside the combinations.
    pub levels: Vec<usize>,
    /// The names of those that differ from the baseline; `baseline` where none does. Of a variant beside them its own.
    pub title: String,
    /// Which of the variants beside the combinations it is.
    pub beside: Option<usize>,
    /// Whether it is not in the part that is measured now.
    pub is_left: bool,
}

impl MatrixQuestion {
    /// Every combination, or the baseline and every level beside it, the baseline first; then the variants beside them.
    pub fn sets(&self) -> Vec<LevelSet> {
        let sizes: Vec<usize> = self.axes.iter().map(|axis| axis.levels.len()).collect();
        let combined = of_sizes(&sizes, self.all)
            .into_iter()
            .filter(|levels| self.go_together(levels))
            .map(|levels| LevelSet {
                title: title(&self.axes, &levels),
                is_left: (self.axes.iter().zip(&levels))
                    .any(|(axis, &level)| !self.has(axis, level)),
                levels,
                beside: None,
            });
        let beside = self.beside.iter().enumerate();
        let beside = beside.map(|(index, recipe)| LevelSet {
            levels: Vec::new(),
            title: title_beside(recipe),
            beside: Some(index),
            is_left: false,
        });
        combined.chain(beside).collect()
    }

    /// What a row is made by, one after the other.
    pub(crate) fn recipes(&self, set: &LevelSet) -> Vec<&VariantRecipe> {
        match set.beside {
            Some(index) => vec![&self.beside[index]],
            None => std::iter::once(&*self.start)
                .chain(self.levels(set))
                .collect(),
        }
    }

    /// What a combination changes of the start, as one, so that a build with two options is built once.
    pub(crate) fn changes(&self, set: &LevelSet) -> VariantRecipe {
        VariantRecipe::together(self.levels(set))
    }

    fn levels(&self, set: &LevelSet) -> Vec<&VariantRecipe> {
        let levels = self.axes.iter().zip(&set.levels);
        levels
            .map(|(axis, &level)| &axis.levels[level].recipe)
            .collect()
    }

    /// How many combinations there are at the most, without making them.
    pub(crate) fn count(&self) -> usize {
        let sizes = self.axes.iter().map(|axis| axis.levels.len());
        if self.all {
            sizes.fold(1, usize::saturating_mul)
        } else {
            1 + sizes.map(|levels| levels.saturating_sub(1)).sum::<usize>()
        }
    }

    /// Whether no level of the combination is meant for other levels than those it meets; the baseline always stands.
    fn go_together(&self, levels: &[usize]) -> bool {
        let met = || {
            self.axes
                .iter()
                .zip(levels)
                .map(|(axis, &level)| (axis, &axis.levels[level]))
        };
        levels.iter().all(|&level| level == 0)
            || met().all(|(_, one)| {
                met().all(|(axis, other)| {
                    let wanted = one.only.get(&axis.name);
                    wanted.is_none_or(|names| names.contains(&other.name))
                })
            })
    }

    /// Whether a level is among what is measured now: the baseline always is, every level of an axis that is not named too.
    fn has(&self, axis: &AxisRecipe, level: usize) -> bool {
        let named = self.part.iter().filter(|one| one.axis == axis.name);
        let mut named = named.peekable();
        level == 0
            || named.peek().is_none()
            || named.any(|one| one.level == axis.levels[level].name)
    }

    /// The same matrix, another part of it.
    pub(crate) fn with_part(&self, part: Vec<WantedLevel>) -> Self {
        Self {
            part,
            ..self.clone()
        }
    }

    /// The part that is asked for next, where `left` tells how many cells a row has that are not measured yet: what this part left,
    /// or the like of this part with another level of one axis that it names, or the first row with such a cell by itself. `None` where
    /// there is no such cell.
    pub(crate) fn next_part(&self, left: &impl Fn(&LevelSet) -> usize) -> Option<Vec<WantedLevel>> {
        let adds = |part: &[WantedLevel]| {
            let sets = self.with_part(part.to_vec()).sets();
            sets.iter().any(|set| !set.is_left && left(set) > 0)
        };
        if adds(&self.part) {
            return Some(self.part.clone());
        }
        let mut named: Vec<&AxisRecipe> = self.axes.iter().collect();
        named.retain(|axis| self.part.iter().any(|one| one.axis == axis.name));
        let like_this = named.iter().flat_map(|axis| {
            let others = self.part.iter().filter(|one| one.axis != axis.name);
            let others: Vec<WantedLevel> = others.cloned().collect();
            axis.levels.iter().skip(1).map(move |level| {
                let mut part = others.clone();
                part.push(WantedLevel {
                    axis: axis.name.clone(),
                    level: level.name.clone(),
                });
                part
            })
        });
        let alone = self.sets().into_iter().filter(|set| left(set) > 0);
        let alone = alone.map(|set| {
            let levels = self.axes.iter().zip(&set.levels);
            levels
                .map(|(axis, &level)| WantedLevel {
                    axis: axis.name.clone(),
                    level: axis.levels[level].name.clone(),
                })
                .collect()
        });
        like_this
            .chain(alone)
            .find(|part: &Vec<WantedLevel>| adds(part))
    }

    /// The levels that are measured now, in words; `None` when those are all.
    pub(crate) fn levels_in_words(&self) -> Option<String> {
        let in_words = |axis: &AxisRecipe| {
            let levels = axis.levels.iter().enumerate();
            let kept = levels.filter(|&(level, _)| self.has(axis, level));
            let kept: Vec<&str> = kept.map(|(_, level)| level.name.as_str()).collect();
            format!("{} {}", axis.name, kept.join(", "))
        };
        let kept: Vec<String> = self.axes.iter().map(in_words).collect();
        (!self.part.is_empty()).then(|| kept.join("; "))
    }
}

/// What a variant beside the combinations is called.
fn title_beside(recipe: &VariantRecipe) -> String {
    let names = [&recipe.title, &recipe.spelling, &recipe.server];
    let found = names.into_iter().find_map(Clone::clone);
    found.unwrap_or_else(|| "the package".to_owned())
}

fn of_sizes(sizes: &[usize], all: bool) -> Vec<Vec<usize>> {
    if all {
        let mut sets = vec![Vec::new()];
        for &size in sizes {
            sets = sets
                .iter()
                .flat_map(|set| {
                    (0..size).map(move |level| {
                        let mut longer = set.clone();
                        longer.push(level);
                        longer
                    })
                })
                .collect();
        }
        return sets;
    }
    let baseline = vec![0; sizes.len()];
    let mut sets = vec![baseline.clone()];
    for (axis, &size) in sizes.iter().enumerate() {
        for level in 1..size {
            let mut set = baseline.clone();
            set[axis] = level;
            sets.push(set);
        }
    }
    sets
}

fn title(axes: &[AxisRecipe], levels: &[usize]) -> String {
    let names: Vec<&str> = axes
        .iter()
        .zip(levels)
        .filter(|&(_, &level)| level > 0)
        .map(|(axis, &level)| axis.levels[level].name.as_str())
        .collect();
    if names.is_empty() {
        "baseline".to_owned()
    } else {
        names.join(" + ")
    }
}

/// Whether there is such an axis, with such a level.
///
/// # Errors
/// What is not there, with the nearest known name.
pub(crate) fn check_level(axes: &[AxisRecipe], wanted: &WantedLevel) -> Result<(), String> {
    let Some(axis) = axes.iter().find(|axis| axis.name == wanted.axis) else {
        let names: Vec<&str> = axes.iter().map(|axis| axis.name.as_str()).collect();
        return Err(unknown("axis", &wanted.axis, &names));
    };
    if axis.levels.iter().any(|level| level.name == wanted.level) {
        return Ok(());
    }
    let names: Vec<&str> = axis
        .levels
        .iter()
        .map(|level| level.name.as_str())
        .collect();
    let what = format!("level of the axis {}", axis.name);
    Err(unknown(&what, &wanted.level, &names))
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    format!(
        "no {what} is called `{name}`: {}there are {}",
        did_you_mean(name, known.iter().copied()),
        known.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_begin_with_the_baseline() {
        assert_eq!(of_sizes(&[2, 2], true), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(of_sizes(&[3, 2], false), [[0, 0], [1, 0], [2, 0], [0, 1]]);
    }

    /// Two axes, of which the first has three levels and the second two; this part of it.
    fn matrix(part: &[&str]) -> MatrixQuestion {
        let axis = |name: &str, levels: &[&str]| AxisRecipe {
            name: name.to_owned(),
            levels: levels
                .iter()
                .map(|level| LevelRecipe {
                    name: (*level).to_owned(),
                    recipe: VariantRecipe::default(),
                    only: BTreeMap::new(),
                })
                .collect(),
        };
        MatrixQuestion {
            start: Box::default(),
            axes: vec![
                axis("options", &["O2", "O3", "PGO"]),
                axis("compiler", &["gcc", "clang"]),
            ],
            all: true,
            beside: Vec::new(),
            part: part
                .iter()
                .map(|text| text.parse().expect("AXIS=LEVEL"))
                .collect(),
        }
    }

    #[test]
    fn the_next_part_is_like_the_last_one_and_adds_something() {
        let next = |part: &[&str], left: &[&str]| {
            let found = matrix(part).next_part(&|set| usize::from(left.contains(&&*set.title)))?;
            Some(found.iter().map(WantedLevel::to_string).collect::<Vec<_>>())
        };
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        // The time was too short for all of it: the same again.
        assert_eq!(
            next(&["options=O3"], &["O3 + clang", "PGO"]),
            words(&["options=O3"])
        );
        assert_eq!(next(&[], &["PGO"]), words(&[]));
        // Another level of the axis that was named, with what was named beside it.
        assert_eq!(
            next(&["options=O3"], &["PGO", "PGO + clang"]),
            words(&["options=PGO"])
        );
        assert_eq!(
            next(&["options=O3", "compiler=gcc"], &["O3 + clang", "PGO"]),
            words(&["compiler=gcc", "options=PGO"])
        );
        // None of these adds anything: the first that is left, by itself.
        assert_eq!(
            next(&["options=O3", "compiler=gcc"], &["PGO + clang"]),
            words(&["options=PGO", "compiler=clang"])
        );
        assert_eq!(next(&["options=O3"], &[]), None);
    }

    #[test]
    fn the_part_is_nothing_of_what_a_matrix_is_known_by() {
        let known = |part: &[&str]| serde_json::to_value(matrix(part)).expect("JSON");
        assert_eq!(known(&["options=O3"]), known(&["compiler=clang"]));
    }
}
