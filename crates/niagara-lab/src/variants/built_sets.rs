//! The servers that levers come to together: sets of them that can be on one side of a duel.

use niagara_build::Recipe;

use crate::variants::candidate::{Candidate, factors, with_all};
use crate::variants::variant::Variant;

/// Sets of the candidates `among`, which all change the build, that can be on one side of a duel together; those of one
/// candidate first.
pub(crate) fn built_sets(candidates: &[Candidate], among: &[usize]) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for factor in factors(candidates) {
        let levels = factor.levels.iter().filter(|level| among.contains(level));
        let with: Vec<Vec<usize>> = levels
            .flat_map(|&level| {
                sets.iter().map(move |set| {
                    let mut set = set.clone();
                    set.push(level);
                    set
                })
            })
            .collect();
        sets.extend(with);
    }
    sets.retain(|set| !set.is_empty());
    sets.sort_by_key(Vec::len);
    sets
}

/// How the server of a set is made.
pub(crate) fn recipe_of(base: &Variant, candidates: &[Candidate], set: &[usize]) -> Recipe {
    let variant = with_all(base, candidates, set);
    variant.build.unwrap_or_default().normal()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_of_levers_that_can_meet_the_small_ones_first() {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let candidates: Vec<Candidate> =
            ["malloc-jemalloc", "build-pgo", "build-lto", "binlog-off"]
                .into_iter()
                .map(|id| {
                    let lever = levers.iter().find(|lever| lever.id() == id);
                    Candidate {
                        lever: lever.expect("a shipped lever").clone(),
                        change: crate::lever::Change::default(),
                        span: None,
                        prior: None,
                    }
                })
                .collect();
        // Two of the three are levels of one choice; the last is taken for a switch of its own that builds, too.
        assert_eq!(
            built_sets(&candidates, &[1, 2, 3]),
            [vec![1], vec![2], vec![3], vec![1, 3], vec![2, 3]]
        );
        assert_eq!(built_sets(&candidates, &[2]), [vec![2]]);
        assert!(built_sets(&candidates, &[]).is_empty());
    }
}
