//! Machines that are too disturbed to be worth having: told by what neither the effect nor its sign moves.

use crate::median;

/// Duels on a machine from which on it is judged.
const ENOUGH: usize = 4;
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

/// Why a machine is not worth having.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unfit {
    /// Others took this share of its CPU time; the second is the other machines' middle one.
    Taken(f64, f64),
    /// Its couples spread this many times as much as those of the other machines.
    Spread(f64),
}

/// Machines that are not worth having, each with its reason: the middle one of its duels is far worse than that of the middle one
/// of the other machines. Never more than half of them, and none of fewer than three.
pub fn unfit(duels: &[MachineDuel]) -> Vec<(usize, Unfit)> {
    let count = duels.iter().map(|duel| duel.node + 1).max().unwrap_or(0);
    let of = |figure: &dyn Fn(&MachineDuel) -> Option<f64>| -> Vec<Option<f64>> {
        let middle = |node: usize| {
            let its = duels.iter().filter(|duel| duel.node == node);
            let its: Vec<f64> = its.filter_map(figure).collect();
            median(&its).filter(|_| its.len() >= ENOUGH)
        };
        (0..count).map(middle).collect()
    };
    let others = |middles: &[Option<f64>], node: usize| -> Option<f64> {
        let others = middles.iter().enumerate().filter(|(it, _)| *it != node);
        let others: Vec<f64> = others.filter_map(|(_, middle)| *middle).collect();
        median(&others).filter(|_| others.len() >= OTHERS)
    };
    let taken = of(&|duel| Some(duel.taken));
    let spreads = of(&|duel| duel.spread);
    let reason = |node: usize| {
        if let (Some(its), Some(theirs)) = (taken[node], others(&taken, node))
            && its > TAKEN
            && its > MUCH * theirs
        {
            return Some((node, Unfit::Taken(its, theirs)));
        }
        let (its, theirs) = (spreads[node]?, others(&spreads, node)?);
        (theirs > 0.0 && its > MUCH * theirs).then(|| (node, Unfit::Spread(its / theirs)))
    };
    let mut found: Vec<(usize, Unfit)> = (0..count).filter_map(reason).collect();
    found.truncate(count / 2);
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
        assert!(matches!(found[..], [(1, Unfit::Spread(times))] if (times - 5.0).abs() < 1e-9));
        let found = unfit(&duels(&[quiet, quiet, (0.3, 0.02)], 4));
        assert_eq!(found, [(2, Unfit::Taken(0.3, 0.01))]);
        // Too few duels, too few machines, all alike.
        assert_eq!(unfit(&duels(&[quiet, (0.01, 0.1), quiet], 3)), []);
        assert_eq!(unfit(&duels(&[quiet, (0.01, 0.1)], 9)), []);
        assert_eq!(unfit(&duels(&[(0.3, 0.1); 5], 9)), []);
        // A little of next to nothing is nothing.
        assert_eq!(unfit(&duels(&[quiet, quiet, (0.05, 0.02)], 4)), []);
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
