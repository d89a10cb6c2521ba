//! Screenings in which one lever makes its side stand still now and then, and screenings on machines that do so by themselves.

use niagara_stats::{
    DuelTotals, Factor, Observation, Row, design, effects, promote, unsteady, weights,
};

use crate::machine::Machine;
use crate::prospects::prospects;

/// Place of the lever that stands still, where one does; its median slice is faster.
const UNSTEADY: usize = 5;
/// Log gain from which a lever is worth promoting.
const WORTHWHILE: f64 = 0.005;

/// Screenings of 26 levers by 36 duels of two couples.
struct Screenings {
    /// Share of the slices of a side with the unsteady lever in which it stands still.
    unsteady: f64,
    /// Share of the slices of any side in which it stands still by itself.
    anyhow: f64,
}

/// What became of them, as shares of all.
#[derive(Debug)]
struct Outcome {
    /// The unsteady lever would be promoted for its median slice.
    promoted: f64,
    /// It is, although its standstills are looked at.
    kept: f64,
    /// A lever that gains and stands still no more than others is lost.
    lost: f64,
}

/// Log effect of a lever on the median slice.
fn gain(lever: usize) -> f64 {
    match lever {
        0 => 0.17,
        1 => 0.08,
        2 => 0.05,
        3 => -0.2,
        UNSTEADY => 0.06,
        _ => 0.0,
    }
}

impl Screenings {
    fn outcome(&self, rounds: usize, seed: u64) -> Outcome {
        let factors = [Factor::Switch; 26];
        let mut machine = Machine::new(seed);
        let mut outcome = Outcome {
            promoted: 0.0,
            kept: 0.0,
            lost: 0.0,
        };
        let one = 1.0 / rounds as f64;
        for round in 0..rounds {
            let (observations, totals) = self.screen(&factors, &mut machine, round as u64);
            let rows = observations.iter().map(|observation| &observation.row);
            let found = unsteady(&factors, rows.zip(totals));
            let own_sd = 0.03;
            let fit = effects(&factors, &observations, &[]).with_noise_at_least(own_sd);
            let prospects = prospects(&fit);
            let by_median = promote(&prospects, &[], WORTHWHILE);
            let is_out = |lever: usize| {
                let prospect = prospects.iter().find(|prospect| prospect.index == lever);
                let costs = found.iter().find(|one| one.factor == lever);
                prospect
                    .zip(costs)
                    .is_some_and(|(prospect, costs)| costs.outweighs(&prospect.effect, WORTHWHILE))
            };
            if by_median.contains(&UNSTEADY) {
                outcome.promoted += one;
                outcome.kept += one * f64::from(u8::from(!is_out(UNSTEADY)));
            }
            let innocent = |lever: &&usize| **lever != UNSTEADY && gain(**lever) > 0.0;
            let is_lost = by_median
                .iter()
                .filter(innocent)
                .any(|lever| is_out(*lever));
            outcome.lost += one * f64::from(u8::from(is_lost));
        }
        outcome
    }

    fn screen(
        &self,
        factors: &[Factor],
        machine: &mut Machine,
        seed: u64,
    ) -> (Vec<Observation>, Vec<Option<DuelTotals>>) {
        let mut variances = Vec::new();
        let (mut observations, totals): (Vec<Observation>, Vec<Option<DuelTotals>>) =
            design(factors, 36, seed)
                .into_iter()
                .map(|row| {
                    let (score, variance, totals) = self.duel(&row, machine);
                    variances.push(Some(variance));
                    (Observation::new(row, score), Some(totals))
                })
                .unzip();
        for (observation, weight) in observations.iter_mut().zip(weights(&variances, 2)) {
            observation.weight = weight;
        }
        (observations, totals)
    }

    fn duel(&self, row: &Row, machine: &mut Machine) -> (f64, f64, DuelTotals) {
        let sides = [&row.a, &row.b].map(|side| {
            let effects = side.iter().enumerate();
            let effect = effects.map(|(lever, level)| gain(lever) * *level as f64);
            let extra = self.unsteady * side[UNSTEADY] as f64;
            (effect.sum::<f64>() + machine.restart(), self.anyhow + extra)
        });
        let [a, b] = sides;
        let (score, totals) = machine.duel_with_standstills([a.0, b.0], [a.1, b.1], 2);
        let variance = score.couple_sd.powi(2) / score.used as f64;
        (score.score, variance, totals)
    }
}

/// It gains 6 % in its median slice and loses 4 to 14 % over all time.
#[test]
fn what_stands_still_is_hardly_ever_promoted_for_its_median_slice() {
    for (unsteady, promoted, kept) in [(0.1, 0.55, 0.2), (0.15, 0.25, 0.1), (0.2, 0.08, 0.07)] {
        let anyhow = 0.0;
        let found = Screenings { unsteady, anyhow }.outcome(400, 101);
        assert!(
            found.promoted > promoted && found.kept < kept,
            "{unsteady}: {found:?}"
        );
        assert!(found.lost < 0.03, "{unsteady}: {found:?}");
    }
}

#[test]
fn levers_that_gain_stay_on_machines_that_stand_still_by_themselves() {
    for anyhow in [0.0, 0.03, 0.1] {
        let unsteady = 0.0;
        let found = Screenings { unsteady, anyhow }.outcome(400, 102);
        assert!(
            found.lost <= 0.05 && found.promoted - found.kept <= 0.05,
            "{anyhow}: {found:?}"
        );
        assert!(found.promoted > 0.3, "{anyhow}: {found:?}");
    }
}
