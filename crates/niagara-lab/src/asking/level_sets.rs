//! The axes of a matrix, the combinations of their levels, and what those are called.

use serde::Serialize;

use crate::asking::recipe::VariantRecipe;

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
}

/// A combination of levels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LevelSet {
    /// Level of each axis.
    pub levels: Vec<usize>,
    /// The names of those that differ from the baseline; `baseline` where none does.
    pub title: String,
}

/// Every combination, or the baseline and every level beside it; the baseline first.
pub fn level_sets(axes: &[AxisRecipe], all: bool) -> Vec<LevelSet> {
    let sizes: Vec<usize> = axes.iter().map(|axis| axis.levels.len()).collect();
    of_sizes(&sizes, all)
        .into_iter()
        .map(|levels| LevelSet {
            title: title(axes, &levels),
            levels,
        })
        .collect()
}

/// How many there are, without making them.
pub(crate) fn count(axes: &[AxisRecipe], all: bool) -> usize {
    let sizes = axes.iter().map(|axis| axis.levels.len());
    if all {
        sizes.fold(1, usize::saturating_mul)
    } else {
        1 + sizes.map(|levels| levels.saturating_sub(1)).sum::<usize>()
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_begin_with_the_baseline() {
        assert_eq!(of_sizes(&[2, 2], true), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(of_sizes(&[3, 2], false), [[0, 0], [1, 0], [2, 0], [0, 1]]);
    }
}
