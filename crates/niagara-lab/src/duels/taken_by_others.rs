//! What others took of a slice, and what makes one useless.

use niagara_model::SliceRecord;
use niagara_server::machine::{Interval, Thresholds, disturbed, without_unaccounted};

/// Share of all CPU time that others took.
pub(super) fn taken(interval: &Interval) -> f64 {
    (interval.steal + interval.foreign).min(1.0)
}

/// What makes a slice useless. In a duel that is waiting for memory alone: CPU time that others take is weighed. Windows of
/// a server alone have nothing to be weighed against: there it counts, too. A share of 1 lets every slice count.
pub(super) fn thresholds(share: f64, is_duel: bool) -> Thresholds {
    let all = share >= 1.0;
    let taken = if all || is_duel { f64::INFINITY } else { share };
    Thresholds {
        steal: taken,
        foreign: taken,
        memory_full: if all {
            f64::INFINITY
        } else {
            Thresholds::default().memory_full
        },
    }
}

/// Judges `slices` of one or two servers anew by what was `metered` in each, with its side, in the order of time. A server that waits for
/// the disk makes the CPUs go idle more often than one that does not, so each is judged by its own slices.
pub(super) fn judge_again(
    slices: &mut [SliceRecord],
    metered: &[(usize, Interval)],
    thresholds: &Thresholds,
) {
    for side in 0..2 {
        let of_side = metered.iter().filter(|(of, _)| *of == side);
        let of_side: Vec<Interval> = of_side.map(|(_, interval)| interval.clone()).collect();
        let net = without_unaccounted(&of_side);
        let judged = slices
            .iter_mut()
            .filter(|slice| usize::from(slice.side) == side);
        for (slice, interval) in judged.zip(&net) {
            slice.taken = taken(interval);
            slice.disturbed = disturbed(interval, thresholds);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duels::score::made_up::couple;

    /// B waits for the disk; in its slices 6 % of two CPUs are nowhere, and others take 1 %. In A's they take 7 %.
    #[test]
    fn what_nobody_took_is_that_of_each_side() {
        let interval = |unaccounted: f64| Interval {
            seconds: 0.5,
            cpus: 2,
            foreign: 0.07,
            foreign_cpu_seconds: 0.07,
            unaccounted_cpu_seconds: unaccounted,
            ..Interval::default()
        };
        let judged = |couples: u32| {
            // As they are in time; a couple's slices are kept with A's first.
            let metered = (0..couples).flat_map(|_| [(1, interval(0.06)), (0, interval(0.0))]);
            let metered: Vec<(usize, Interval)> = metered.collect();
            let mut slices: Vec<SliceRecord> = (0..couples)
                .flat_map(|number| couple(number, 1.0, 1.1))
                .collect();
            judge_again(&mut slices, &metered, &thresholds(0.05, false));
            slices
        };
        for slice in judged(4) {
            let (expected, is_disturbed) = [(0.07, true), (0.01, false)][usize::from(slice.side)];
            assert!((slice.taken - expected).abs() < 1e-9, "{slice:?}");
            assert_eq!(slice.disturbed, is_disturbed, "{slice:?}");
        }
        // Too little time to tell.
        assert!(judged(3).iter().all(|slice| slice.disturbed));
    }
}
