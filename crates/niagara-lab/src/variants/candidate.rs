//! The levers of a ladder, arranged as the factors of its design.

use niagara_model::{Goal, NotTried, Reason};
use niagara_stats::{Factor, Pair, Prior};

use crate::lever::{Change, Lever, Span};
use crate::variants::variant::Variant;

/// Duels that each level of a choice is to be in. A choice of k levels is told with an error of about sd · √((k − 1) / duels),
/// and what its levels do together with every other lever widens the intervals of all: few levels, well told.
const MIN_DUELS_OF_A_LEVEL: usize = 24;

/// A lever that applies here, with its change worked out for this machine.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// The lever.
    pub lever: Lever,
    /// What it changes here.
    pub change: Change,
    /// The values that may be searched here, where it has a number to choose.
    pub span: Option<Span>,
    /// What its measurements elsewhere make one expect of it with this server and workload.
    pub prior: Option<Prior>,
}

impl Candidate {
    /// That it is not tried, or not to its end, and why.
    pub(crate) fn not_tried(&self, reason: Reason) -> NotTried {
        NotTried {
            lever: self.lever.id().to_owned(),
            title: self.lever.title().to_owned(),
            reason,
        }
    }

    /// Whether its server is built.
    pub(crate) fn is_built(&self) -> bool {
        !self.change.build.is_empty()
    }

    /// What is known of it from elsewhere: that speaks of throughput alone.
    pub(crate) fn prior_of(&self, goal: Goal) -> Option<Prior> {
        match goal {
            Goal::Throughput => self.prior,
            Goal::Cpu | Goal::P95 | Goal::P99 => None,
        }
    }
}

/// A factor of the design: one lever, or several of which at most one is in force.
#[derive(Debug, Clone)]
pub(crate) struct LeverFactor {
    /// Indices into the candidates; level n + 1 of the factor is the n-th of these.
    pub levels: Vec<usize>,
}

/// Candidates grouped into factors, in the order of the candidates.
pub(crate) fn factors(candidates: &[Candidate]) -> Vec<LeverFactor> {
    let mut names: Vec<&str> = Vec::new();
    let mut factors: Vec<LeverFactor> = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let name = candidate.lever.factor();
        match names.iter().position(|known| *known == name) {
            Some(place) => factors[place].levels.push(index),
            None => {
                names.push(name);
                factors.push(LeverFactor {
                    levels: vec![index],
                });
            }
        }
    }
    factors
}

impl LeverFactor {
    /// As the design sees it.
    pub(crate) fn shape(&self) -> Factor {
        match self.levels.len() {
            1 => Factor::Switch,
            n => Factor::Choice(n + 1),
        }
    }
}

/// Levers of one choice that this many duels tell apart.
pub(crate) fn most_levers(duels: usize) -> usize {
    // Each duel has two levels of the choice; one of them all is the base.
    (2 * duels / MIN_DUELS_OF_A_LEVEL).max(2) - 1
}

/// The levers of choices that have more levels than this many duels tell apart: the last ones, that is the least promising.
pub(crate) fn crowded_out(factors: &[LeverFactor], duels: usize) -> Vec<usize> {
    let most_levers = most_levers(duels);
    factors
        .iter()
        .flat_map(|factor| factor.levels.iter().skip(most_levers).copied())
        .collect()
}

/// The levels of `factors` that cannot be on one side, pair by pair.
pub(crate) fn apart(candidates: &[Candidate], factors: &[LeverFactor]) -> Vec<Pair> {
    let levels: Vec<((usize, usize), &Lever)> = factors
        .iter()
        .enumerate()
        .flat_map(|(factor, of)| {
            let levels = of.levels.iter().enumerate();
            levels.map(move |(place, &index)| ((factor, place + 1), &candidates[index].lever))
        })
        .collect();
    let mut pairs = Vec::new();
    for (place, &(one, lever)) in levels.iter().enumerate() {
        for &(other, its) in &levels[place + 1..] {
            if one.0 != other.0 && lever.is_apart_from(its) {
                pairs.push(Pair { one, other });
            }
        }
    }
    pairs
}

/// `base` with every candidate of `chosen`, in the candidates' order.
pub(crate) fn with_all(base: &Variant, candidates: &[Candidate], chosen: &[usize]) -> Variant {
    let mut sorted = chosen.to_vec();
    sorted.sort_unstable();
    sorted.iter().fold(base.clone(), |variant, &index| {
        let candidate = &candidates[index];
        variant.with(candidate.lever.id(), &candidate.change)
    })
}

/// `base` with the levels of one side of a row.
pub(crate) fn with_levels(
    base: &Variant,
    candidates: &[Candidate],
    factors: &[LeverFactor],
    levels: &[usize],
) -> Variant {
    let chosen: Vec<usize> = factors
        .iter()
        .zip(levels)
        .filter(|&(_, &level)| level > 0)
        .map(|(factor, &level)| factor.levels[level - 1])
        .collect();
    with_all(base, candidates, &chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_keeps_as_many_levels_as_the_duels_tell() {
        let factors =
            [vec![0], vec![1, 2, 5, 6, 7, 8, 9], vec![3, 4]].map(|levels| LeverFactor { levels });
        assert_eq!(crowded_out(&factors, 60), [7, 8, 9]);
        assert_eq!(crowded_out(&factors, 24), [2, 5, 6, 7, 8, 9, 4]);
        assert_eq!(crowded_out(&factors, 5), [2, 5, 6, 7, 8, 9, 4]);
        assert_eq!(crowded_out(&factors, 96), [] as [usize; 0]);
    }
}
