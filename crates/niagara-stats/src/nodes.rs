//! Duels from several machines: what a score weighs for its machine's own spread, and whether the effect differs between machines.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Estimate, student};

/// Scores that the spread of all machines together is worth when that of one machine is estimated: with few duels on a
/// machine it decides, with many the machine's own does.
const PRIOR: f64 = 4.0;
/// Machines from which on something may be said of machines like these.
pub const MIN_NODES: usize = 6;

/// What each score weighs: the inverse of its machine's root mean square score, drawn towards that of all machines. Equal where nothing
/// varies.
///
/// Turning the sign of any score leaves all weights as they are, which is what the signed-rank test asks for: at every look it
/// is as exact as without weights. Deviations from a common centre would find more, but the centre goes with the signs
/// (simulated: 6.0 % false calls at α = 0.05 instead of 5).
pub(crate) fn node_weights(scores: &[f64], nodes: &[usize]) -> Vec<f64> {
    let machines = sums(scores, nodes, |_| 0.0);
    // The middle one of the machines: one that is very noisy must not make all others look alike.
    let squares: Vec<f64> = machines
        .iter()
        .filter(|machine| machine.duels > 0.0)
        .map(|machine| machine.squares / machine.duels)
        .collect();
    let typical = crate::median(&squares).unwrap_or(0.0);
    let weight = |node: &usize| {
        let machine = &machines[*node];
        let square = (machine.squares + PRIOR * typical) / (machine.duels + PRIOR);
        if square > 0.0 {
            square.sqrt().recip()
        } else {
            1.0
        }
    };
    nodes.iter().map(weight).collect()
}

/// The scores of one machine.
#[derive(Debug, Clone, Default)]
struct Machine {
    duels: f64,
    mean: f64,
    /// Sum of the squared deviations from what they are held against.
    squares: f64,
}

/// By machine: its duels, their mean, and their squares around what `centre` makes of that mean.
fn sums(scores: &[f64], nodes: &[usize], centre: impl Fn(f64) -> f64) -> Vec<Machine> {
    let count = nodes.iter().max().map_or(0, |most| most + 1);
    let mut machines = vec![Machine::default(); count];
    for (score, node) in scores.iter().zip(nodes) {
        let machine = &mut machines[*node];
        machine.duels += 1.0;
        machine.mean += (score - machine.mean) / machine.duels;
    }
    for (score, node) in scores.iter().zip(nodes) {
        let machine = &mut machines[*node];
        machine.squares += (score - centre(machine.mean)).powi(2);
    }
    machines
}

/// What one machine says by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeEstimate {
    /// Its number.
    pub node: usize,
    /// Its duels.
    pub duels: usize,
    /// Their geometric mean ratio; for orientation, with an interval of its own at 1 − α, not corrected for the number of machines.
    pub estimate: Estimate,
}

/// Whether the effect differs between machines, and an interval that allows for that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Heterogeneity {
    /// Each machine by itself.
    pub nodes: Vec<NodeEstimate>,
    /// Standard deviation of the effect between machines, as a difference of logarithms (DerSimonian & Laird, *Controlled Clinical
    /// Trials* 7, 1986).
    pub tau: f64,
    /// Share of the variance between the machines' estimates, 0 to 1, that chance within machines does not explain (Higgins &
    /// Thompson, *Statistics in Medicine* 21, 2002).
    pub i_squared: f64,
    /// The mean over machines like these with the interval of Knapp & Hartung (*Statistics in Medicine* 22, 2003) at 1 − α, never
    /// narrower than without their factor.
    pub over_machines: Estimate,
}

/// What scores say of the machines that they are from, at error probability `alpha`; `None` of fewer than two machines.
pub fn heterogeneity(scores: &[f64], nodes: &[usize], alpha: f64) -> Option<Heterogeneity> {
    let quantile = |df: f64| student::quantile(1.0 - alpha / 2.0, df);
    let machines = sums(scores, nodes, |mean| mean);
    let there = machines
        .iter()
        .filter(|machine| machine.duels > 0.0)
        .count() as f64;
    // Of few duels on a machine the spread of all of them says more than its own.
    let squares: f64 = machines.iter().map(|machine| machine.squares).sum();
    let pooled = squares / (scores.len() as f64 - there).max(1.0);
    // Of each machine: its number, duels, mean, and that mean's variance.
    let machines: Vec<(usize, usize, f64, f64)> = machines
        .iter()
        .enumerate()
        .filter(|(_, machine)| machine.duels > 0.0)
        .map(|(node, machine)| {
            let duels = machine.duels;
            let variance = (machine.squares + PRIOR * pooled) / (duels - 1.0 + PRIOR);
            (node, duels as usize, machine.mean, variance / duels)
        })
        .collect();
    if machines.len() < 2 || machines.iter().any(|machine| machine.3 <= 0.0) {
        return None;
    }
    let k = machines.len() as f64;
    let mean = |extra: f64| {
        let sum: f64 = machines.iter().map(|m| 1.0 / (m.3 + extra)).sum();
        let weighed: f64 = machines.iter().map(|m| m.2 / (m.3 + extra)).sum();
        (weighed / sum, sum)
    };
    let (fixed, sum) = mean(0.0);
    let q: f64 = machines.iter().map(|m| (m.2 - fixed).powi(2) / m.3).sum();
    let squares: f64 = machines.iter().map(|m| m.3.powi(-2)).sum();
    let tau_squared = ((q - (k - 1.0)) / (sum - squares / sum)).max(0.0);
    let (centre, sum) = mean(tau_squared);
    let spread: f64 = machines
        .iter()
        .map(|m| (m.2 - centre).powi(2) / (m.3 + tau_squared))
        .sum();
    let factor = (spread / (k - 1.0)).max(1.0);
    let half = quantile(k - 1.0) * (factor / sum).sqrt();
    Some(Heterogeneity {
        tau: tau_squared.sqrt(),
        i_squared: if q > 0.0 {
            ((q - (k - 1.0)) / q).max(0.0)
        } else {
            0.0
        },
        over_machines: Estimate::from_log(centre, centre - half, centre + half),
        nodes: machines
            .iter()
            .map(|&(node, duels, mean, variance)| {
                let half = quantile(duels as f64 - 1.0 + PRIOR) * variance.sqrt();
                NodeEstimate {
                    node,
                    duels,
                    estimate: Estimate::from_log(mean, mean - half, mean + half),
                }
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noisy_machine_weighs_less_and_signs_do_not_matter() {
        let nodes: Vec<usize> = (0..40).map(|i| i % 2).collect();
        let scores: Vec<f64> = (0..40)
            .map(|i| f64::from((i * 7) % 11 - 5) * if i % 2 == 0 { 0.01 } else { 0.05 })
            .collect();
        let weights = node_weights(&scores, &nodes);
        assert!(weights[0] > 2.0 * weights[1], "{weights:?}");
        let turned: Vec<f64> = scores.iter().map(|score| -score).collect();
        let again = node_weights(&turned, &nodes);
        assert!(weights.iter().zip(again).all(|(a, b)| (a - b).abs() < 1e-9));
        // Nothing varies.
        assert_eq!(node_weights(&[0.0; 4], &[0, 1, 0, 1]), [1.0; 4]);
    }

    #[test]
    fn machines_that_agree_and_machines_that_do_not() {
        let nodes: Vec<usize> = (0..48).map(|i| i % 6).collect();
        let noise = |i: usize| ((i * 7919) % 13) as f64 / 1000.0 - 0.006;
        let alike: Vec<f64> = (0..48).map(|i| 0.02 + noise(i)).collect();
        let found = heterogeneity(&alike, &nodes, 0.05).expect("six machines");
        assert_eq!(found.nodes.len(), 6);
        assert!(found.tau < 0.003, "{found:?}");
        assert!(found.over_machines.low > 1.0);
        let unlike: Vec<f64> = (0..48)
            .map(|i| if i % 6 < 3 { 0.05 } else { -0.03 } + noise(i))
            .collect();
        let found = heterogeneity(&unlike, &nodes, 0.05).expect("six machines");
        assert!(found.tau > 0.03 && found.i_squared > 0.9, "{found:?}");
        assert!(found.over_machines.low < 1.0 && found.over_machines.high > 1.0);
        assert_eq!(heterogeneity(&alike, &[0; 48], 0.05), None);
    }
}
