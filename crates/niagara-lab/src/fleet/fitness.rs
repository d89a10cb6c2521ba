//! Whether a node is worth having: by what a duel shows of its node, whoever is A and whichever is faster.

use std::collections::BTreeMap;

use niagara_model::{NodeReason, SliceRecord};
use niagara_stats::{
    MachineDuel, MachineTrial, NoisyNode, standard_deviation, unfit, unfit_by_trial,
};

/// What is known of the nodes of a sitting.
#[derive(Debug, Default)]
pub(super) struct Fitness {
    names: Vec<String>,
    /// By a node's number: the last trial on it.
    trials: Vec<Option<MachineTrial>>,
    duels: Vec<MachineDuel>,
}

impl Fitness {
    /// A duel of these slices was run on `node`.
    pub(super) fn add(&mut self, node: &str, slices: &[SliceRecord]) {
        let number = self.number(node);
        self.duels.extend(seen(number, slices));
    }

    /// `node` was tried before its first duel.
    pub(super) fn add_trial(&mut self, node: &str, trial: MachineTrial) {
        let number = self.number(node);
        self.trials[number] = Some(trial);
    }

    fn number(&mut self, node: &str) -> usize {
        let known = self.names.iter().position(|name| name == node);
        known.unwrap_or_else(|| {
            self.names.push(node.to_owned());
            self.trials.push(None);
            self.names.len() - 1
        })
    }

    /// Nodes that are not worth having, each with the reason; never more than half of them.
    pub(super) fn unfit(&self) -> Vec<(&str, NodeReason)> {
        let mut found: BTreeMap<usize, NoisyNode> = unfit(&self.duels).into_iter().collect();
        found.extend(unfit_by_trial(&self.trials));
        let told = |(node, why): (usize, NoisyNode)| {
            let why = match why {
                NoisyNode::Taken(share, others) => NodeReason::TakenTime { share, others },
                NoisyNode::Spread(times) => NodeReason::WideSpread { times },
                NoisyNode::Trial(times) => NodeReason::FailedTrial { times },
            };
            (self.names[node].as_str(), why)
        };
        let most = self.names.len() / 2;
        found.into_iter().take(most).map(told).collect()
    }
}

/// What the slices of a duel say of its node; nothing without slices.
fn seen(node: usize, slices: &[SliceRecord]) -> Option<MachineDuel> {
    Some(MachineDuel {
        node,
        taken: taken(slices)?,
        spread: standard_deviation(&ratios(slices)),
    })
}

/// What the slices of a server beside itself say of the node that they were run on; nothing without slices.
pub(super) fn trial_of(slices: &[SliceRecord]) -> Option<MachineTrial> {
    Some(MachineTrial::of(&ratios(slices), taken(slices)?))
}

/// Mean share of CPU time that others took.
fn taken(slices: &[SliceRecord]) -> Option<f64> {
    let sum: f64 = slices.iter().map(|slice| slice.taken).sum();
    (!slices.is_empty()).then(|| sum / slices.len() as f64)
}

/// ln(B / A) of each couple that was not disturbed.
fn ratios(slices: &[SliceRecord]) -> Vec<f64> {
    let mut couples: BTreeMap<u32, [Option<f64>; 2]> = BTreeMap::new();
    for slice in slices.iter().filter(|slice| !slice.disturbed) {
        let rate = slice.transactions as f64 / slice.seconds;
        if let Some(side) = couples
            .entry(slice.couple)
            .or_default()
            .get_mut(usize::from(slice.side))
        {
            *side = Some(rate).filter(|rate| *rate > 0.0 && rate.is_finite());
        }
    }
    let couples = couples.values();
    couples
        .filter_map(|[a, b]| Some((b.as_ref()? / a.as_ref()?).ln()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_on_which_equal_servers_differ_is_told_before_it_has_run_duels() {
        let mut fitness = Fitness::default();
        let trial = |deviation: f64| MachineTrial {
            taken: 0.01,
            deviation: Some(deviation),
        };
        for (node, deviation) in [("n1", 0.01), ("n2", 0.012)] {
            fitness.add_trial(node, trial(deviation));
        }
        fitness.add("n3", &[]);
        assert_eq!(fitness.unfit(), []);
        fitness.add_trial("n3", trial(0.066));
        let [(node, why)] = &fitness.unfit()[..] else {
            panic!("{:?}", fitness.unfit());
        };
        assert_eq!(*node, "n3");
        assert!(why.to_string().contains("6.0 times as much"), "{why}");
        // A worker that was started again on the node tried it again.
        fitness.add_trial("n3", trial(0.012));
        assert_eq!(fitness.unfit(), []);
    }
}
