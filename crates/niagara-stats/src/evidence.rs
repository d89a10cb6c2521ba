//! The scores that a judgement rests on, from one machine or from several.

use crate::nodes::node_weights;
use crate::signed_rank::{signed_rank_sum, walsh_averages, weighted_walsh_averages};

/// Scores in the order of their duels' indices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    scores: &'a [f64],
    /// The machine of each; empty: all of one.
    nodes: &'a [usize],
}

impl<'a> Evidence<'a> {
    /// All from one machine.
    pub(crate) fn of(scores: &'a [f64]) -> Self {
        Self { scores, nodes: &[] }
    }

    /// Each from the machine of its number; without numbers all from one.
    pub(crate) fn on_nodes(scores: &'a [f64], nodes: &'a [usize]) -> Self {
        let nodes = if nodes.len() == scores.len() {
            nodes
        } else {
            &[]
        };
        Self { scores, nodes }
    }

    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.scores.len()
    }

    /// Themselves.
    pub(crate) fn scores(self) -> &'a [f64] {
        self.scores
    }

    /// Those of the first duels, this many.
    pub(crate) fn first(self, duels: usize) -> Self {
        Self {
            scores: &self.scores[..duels],
            nodes: self.nodes.get(..duels).unwrap_or_default(),
        }
    }

    /// Their Walsh averages, weighted where machines are several.
    pub(crate) fn walsh_averages(self) -> Vec<f64> {
        match self.weights() {
            Some(weights) => weighted_walsh_averages(self.scores, &weights),
            None => walsh_averages(self.scores),
        }
    }

    /// Their signed-rank sum, of the weighted scores where machines are several.
    pub(crate) fn signed_rank_sum(self) -> f64 {
        match self.weights() {
            Some(weights) => {
                let weighed = self.scores.iter().zip(weights);
                signed_rank_sum(
                    &weighed
                        .map(|(score, weight)| score * weight)
                        .collect::<Vec<_>>(),
                )
            }
            None => signed_rank_sum(self.scores),
        }
    }

    fn weights(self) -> Option<Vec<f64>> {
        let several = self.nodes.windows(2).any(|pair| pair[0] != pair[1]);
        several.then(|| node_weights(self.scores, self.nodes))
    }
}
