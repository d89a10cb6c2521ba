//! The levers of a ladder, arranged as the factors of its design.

use niagara_stats::Factor;

use crate::lever::{Change, Lever};
use crate::variant::Variant;

/// A lever that applies here, with its change worked out for this machine.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The lever.
    pub lever: Lever,
    /// What it changes here.
    pub change: Change,
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
