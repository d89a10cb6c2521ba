//! Machines that are too disturbed to be worth having: told by what neither the effect nor its sign moves.

use serde::{Deserialize, Serialize};

use crate::median;

/// Duels on a machine from which on it is judged.
const ENOUGH: usize = 4;
/// Couples of a trial below which it says nothing of its machine's spread.
const COUPLES: usize = 4;
/// Other machines that it is compared with, at the least.
const OTHERS: usize = 2;
/// So many times more than on the other machines is too much.
const MUCH: f64 = 4.0;
/// Share of the CPUs taken by others below which nobody minds.
const TAKEN: f64 = 0.1;

/// What a duel says of the machine that it was run on. Exchange A and B, make B faster: neither figure changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineDuel {
    /// The machine's number.
    pub node: usize,
    /// Share of its CPU time that others and the hypervisor took during the duel's slices, 0 to 1.
    pub taken: f64,
    /// Standard deviation of ln(B / A) between the duel's couples; `None` of fewer than two.
    pub spread: Option<f64>,
}

/// What a comparison of one server with itself, before a machine's first duel, says of the machine. The other side of the study
/// has no part in it, so that no effect moves either figure.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MachineTrial {
    /// Share of its CPU time that others and the hypervisor took during the slices, 0 to 1.
    pub taken: f64,
    /// Root mean square of ln(B / A) of the couples: about zero, which is the truth. It rises with the spread within the trial, and
    /// where the machine treats one of two equal servers better, whichever. `None` of too few couples.
    pub deviation: Option<f64>,
}

impl MachineTrial {
    /// From the ln(B / A) of its couples, and the share of CPU time taken by others.
    pub fn of(ratios: &[f64], taken: f64) -> Self {
        let squares: f64 = ratios.iter().map(|ratio| ratio * ratio).sum();
        let deviation = (squares / ratios.len() as f64).sqrt();
        Self {
            taken,
            deviation: Some(deviation).filter(|_| ratios.len() >= COUPLES),
        }
    }
}

/// Why a machine is not worth having.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoisyNode {
    /// Others took this share of its CPU time; the second is the other machines' middle one.
    Taken(f64, f64),
    /// Its couples spread this many times as much as those of the other machines.
    Spread(f64),
    /// Two equal servers differed on it this many times as much as on the other machines.
    Trial(f64),
}

/// Machines that are not worth having, each with its reason: the middle one of its duels is far worse than that of the middle one
/// of the other machines. Never more than half of them, and none of fewer than three.
pub fn unfit(duels: &[MachineDuel]) -> Vec<(usize, NoisyNode)> {
    let count = duels.iter().map(|duel| duel.node + 1).max().unwrap_or(0);
    let of = |figure: &dyn Fn(&MachineDuel) -> Option<f64>| -> Vec<Option<f64>> {
        let middle = |node: usize| {
            let its = duels.iter().filter(|duel| duel.node == node);
            let its: Vec<f64> = its.filter_map(figure).collect();
            median(&its).filter(|_| its.len() >= ENOUGH)
        };
        (0..count).map(middle).collect()
    };
    far_worse(
        &of(&|duel| Some(duel.taken)),
        &of(&|duel| duel.spread),
        NoisyNode::Spread,
    )
}

/// The same by the trial of each machine, `None` of one that had none: before a duel of the study was seen.
pub fn unfit_by_trial(trials: &[Option<MachineTrial>]) -> Vec<(usize, NoisyNode)> {
    let of = |figure: &dyn Fn(&MachineTrial) -> Option<f64>| -> Vec<Option<f64>> {
        let trials = trials.iter();
        trials.map(|trial| figure(trial.as_ref()?)).collect()
    };
    far_worse(
        &of(&|trial| Some(trial.taken)),
        &of(&|trial| trial.deviation),
        NoisyNode::Trial,
    )
}

/// Machines of which others take far more, or that spread far more, than the middle one of the other machines.
fn far_worse(
    taken: &[Option<f64>],
    spreads: &[Option<f64>],
    spread: impl Fn(f64) -> NoisyNode,
) -> Vec<(usize, NoisyNode)> {
    let others = |figures: &[Option<f64>], node: usize| -> Option<f64> {
        let others = figures.iter().enumerate().filter(|(it, _)| *it != node);
        let others: Vec<f64> = others.filter_map(|(_, figure)| *figure).collect();
        median(&others).filter(|_| others.len() >= OTHERS)
    };
    let reason = |node: usize| {
        if let (Some(its), Some(theirs)) = (taken[node], others(taken, node))
            && its > TAKEN
            && its > MUCH * theirs
        {
            return Some((node, NoisyNode::Taken(its, theirs)));
        }
        let (its, theirs) = (spreads[node]?, others(spreads, node)?);
        (theirs > 0.0 && its > MUCH * theirs).then(|| (node, spread(its / theirs)))
    };
    let mut found: Vec<(usize, NoisyNode)> = (0..taken.len()).filter_map(reason).collect();
    found.truncate(taken.len() / 2);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn duels(of: &[(f64, f64)], each: usize) -> Vec<MachineDuel> {
        let duel = |node: usize| MachineDuel {
            node,
            taken: of[node].0,
            spread: Some(of[node].1),
        };
        (0..each).flat_map(|_| (0..of.len()).map(duel)).collect()
    }

    #[test]
    fn a_machine_that_is_far_noisier_than_the_others_is_told() {
        let quiet = (0.01, 0.02);
        assert_eq!(unfit(&duels(&[quiet; 4], 9)), []);
        let found = unfit(&duels(&[quiet, (0.01, 0.1), quiet], 4));
        assert!(matches!(found[..], [(1, NoisyNode::Spread(times))] if (times - 5.0).abs() < 1e-9));
        let found = unfit(&duels(&[quiet, quiet, (0.3, 0.02)], 4));
        assert_eq!(found, [(2, NoisyNode::Taken(0.3, 0.01))]);
        // Too few duels, too few machines, all alike.
        assert_eq!(unfit(&duels(&[quiet, (0.01, 0.1), quiet], 3)), []);
        assert_eq!(unfit(&duels(&[quiet, (0.01, 0.1)], 9)), []);
        assert_eq!(unfit(&duels(&[(0.3, 0.1); 5], 9)), []);
        // A little of next to nothing is nothing.
        assert_eq!(unfit(&duels(&[quiet, quiet, (0.05, 0.02)], 4)), []);
    }

    #[test]
    fn a_trial_tells_a_machine_on_which_equal_servers_differ_whichever_is_faster() {
        let quiet = MachineTrial::of(&[0.01, -0.01, 0.01, -0.01], 0.02);
        assert!((quiet.deviation.expect("four couples") - 0.01).abs() < 1e-12);
        // The same spread as the others, about another middle.
        let aslant =
            |sign: f64| MachineTrial::of(&[0.05, 0.05, 0.05, 0.05].map(|r| sign * r), 0.02);
        for sign in [1.0, -1.0] {
            let trials = [Some(quiet), Some(aslant(sign)), None, Some(quiet)];
            let found = unfit_by_trial(&trials);
            assert!(
                matches!(found[..], [(1, NoisyNode::Trial(times))] if (times - 5.0).abs() < 1e-9),
                "{found:?}"
            );
        }
        let robbed = MachineTrial {
            taken: 0.3,
            ..quiet
        };
        let found = unfit_by_trial(&[Some(robbed), Some(quiet), Some(quiet)]);
        assert_eq!(found, [(0, NoisyNode::Taken(0.3, 0.02))]);
        // Too few others, too few couples, nothing at all.
        assert_eq!(unfit_by_trial(&[Some(aslant(1.0)), Some(quiet), None]), []);
        assert_eq!(MachineTrial::of(&[0.5; 3], 0.0).deviation, None);
        assert_eq!(MachineTrial::of(&[], 0.0).deviation, None);
        assert_eq!(unfit_by_trial(&[]), []);
    }

    #[test]
    fn one_bad_duel_makes_no_bad_machine() {
        let mut duels = duels(&[(0.01, 0.02); 3], 6);
        duels[0].spread = Some(5.0);
        duels[1].taken = 0.9;
        duels[2].spread = None;
        assert_eq!(unfit(&duels), []);
    }
}
