//! Whether a node is worth having: by what a duel shows of its node, whoever is A and whichever is faster.

use std::collections::BTreeMap;

use niagara_stats::{MachineDuel, Unfit, standard_deviation, unfit};
use niagara_store::SliceRecord;

/// What is known of the nodes of a sitting.
#[derive(Debug, Default)]
pub(super) struct Fitness {
    names: Vec<String>,
    duels: Vec<MachineDuel>,
}

impl Fitness {
    /// A duel of these slices was run on `node`.
    pub(super) fn add(&mut self, node: &str, slices: &[SliceRecord]) {
        let known = self.names.iter().position(|name| name == node);
        let number = known.unwrap_or_else(|| {
            self.names.push(node.to_owned());
            self.names.len() - 1
        });
        self.duels.extend(seen(number, slices));
    }

    /// Nodes that are not worth having, each with the reason for people.
    pub(super) fn unfit(&self) -> Vec<(&str, String)> {
        let found = unfit(&self.duels).into_iter();
        let told = |(node, why): (usize, Unfit)| {
            let why = match why {
                Unfit::Taken(its, others) => format!(
                    "others took {:.0} % of its CPU time during duels, {:.0} % on the other nodes",
                    100.0 * its,
                    100.0 * others
                ),
                Unfit::Spread(times) => format!(
                    "within its duels slices differ {times:.1} times as much as on the other nodes"
                ),
            };
            (self.names[node].as_str(), why)
        };
        found.map(told).collect()
    }
}

/// What the slices of a duel say of its node; nothing without slices.
fn seen(node: usize, slices: &[SliceRecord]) -> Option<MachineDuel> {
    if slices.is_empty() {
        return None;
    }
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
    let ratios: Vec<f64> = couples
        .values()
        .filter_map(|[a, b]| Some((b.as_ref()? / a.as_ref()?).ln()))
        .collect();
    Some(MachineDuel {
        node,
        taken: slices.iter().map(|slice| slice.taken).sum::<f64>() / slices.len() as f64,
        spread: standard_deviation(&ratios),
    })
}
