//! CPU time taken by the hypervisor: it costs power, not validity, and the adjustment narrows without bias.

use niagara_stats::{
    Couple, HALF_WEIGHT, LookPlan, Rule, TakenSlope, Verdict, Weighing, duel_score, judge_final,
    standard_deviation, taken_difference, taken_more_from,
};

use crate::at_most;
use crate::machine::Machine;

/// How much of the machine is taken, from slice to slice.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Steal {
    /// The same all the time, with a little noise: 20 %.
    Constant,
    /// Wandering slowly between nothing and 40 %.
    Drifting,
    /// 35 % in one slice of four, nothing in the others.
    Bursty,
    /// 5 % from A, 25 % from B: what B does makes the hypervisor take more.
    OneSided,
    /// 20 % from A, 20.3 % from B: a difference that is real and does not matter.
    HardlyOneSided,
}

struct Stolen {
    machine: Machine,
    steal: Steal,
    time: f64,
    slope: TakenSlope,
}

/// What a duel comes to: adjusted and weighted, and as it was measured.
struct Scores {
    score: f64,
    raw: f64,
}

impl Stolen {
    fn new(steal: Steal, seed: u64) -> Self {
        Self {
            machine: Machine::new(seed),
            steal,
            time: 0.0,
            slope: TakenSlope::default(),
        }
    }

    fn taken(&mut self, side: usize) -> f64 {
        self.time += 0.1;
        let noise = 0.02 * self.machine.normal().abs();
        noise
            + match self.steal {
                Steal::Constant => 0.2,
                Steal::Drifting => 0.2 + 0.2 * (self.time / 3.0).sin(),
                Steal::Bursty if self.machine.coin() && self.machine.coin() => 0.35,
                Steal::Bursty => 0.0,
                Steal::OneSided => [0.05, 0.25][side],
                Steal::HardlyOneSided => [0.2, 0.203][side],
            }
    }

    /// A slice of one side: throughput falls with the square of what is left, as measured on stolen machines
    /// (slopes of 1.7 to 2.3).
    fn slice(&mut self, side: usize, log_effect: f64) -> (f64, f64) {
        let taken = self.taken(side);
        let log_rate = log_effect + 2.0 * (1.0 - taken).ln();
        (self.machine.slice(log_rate), taken)
    }

    fn couple(&mut self, effects: [f64; 2]) -> Couple {
        let first = usize::from(self.machine.coin());
        let mut sides = [(0.0, 0.0); 2];
        for side in [first, 1 - first] {
            sides[side] = self.slice(side, effects[side]);
        }
        let [(a, taken_a), (b, taken_b)] = sides;
        Couple {
            taken: [taken_a, taken_b],
            own: [2.0 * (1.0 - taken_a), 2.0 * (1.0 - taken_b)],
            ..Couple::undisturbed(a, b)
        }
    }

    fn duel(&mut self, log_effect: f64) -> Scores {
        let effects = [self.machine.restart(), log_effect + self.machine.restart()];
        let couples: Vec<Couple> = (0..16).map(|_| self.couple(effects)).collect();
        let weighing = Weighing::of(&couples, self.slope, HALF_WEIGHT);
        self.slope.learn(&couples);
        let score = duel_score(&couples, weighing).expect("nothing is dropped");
        Scores {
            score: score.score,
            raw: score.raw,
        }
    }
}

const KINDS: [Steal; 3] = [Steal::Constant, Steal::Drifting, Steal::Bursty];

#[test]
fn identical_variants_are_rarely_called_different_whatever_is_stolen() {
    let rounds = 1_500;
    for (steal, duels, seed) in [
        (Steal::Constant, 12, 21),
        (Steal::Drifting, 12, 22),
        (Steal::Bursty, 12, 23),
        (Steal::Bursty, 7, 24),
    ] {
        let plan = LookPlan::for_duels(0.05, duels);
        let called = (0..rounds)
            .filter(|round| {
                // A study of its own each time, which has nothing to learn the slope from but itself.
                let mut machine = Stolen::new(steal, seed + 1_000 * round);
                let scores: Vec<f64> = (0..duels).map(|_| machine.duel(0.0).score).collect();
                let verdict = judge_final(&scores, &plan, &Rule::default()).verdict;
                matches!(verdict, Some(Verdict::Faster | Verdict::Slower))
            })
            .count() as f64
            / rounds as f64;
        assert!(
            called <= at_most(0.05, rounds as usize),
            "{steal:?}: {called}"
        );
    }
}

#[test]
fn the_adjustment_narrows_without_bias() {
    let duels = 1_000;
    for (steal, gain) in [(Steal::Drifting, 1.0), (Steal::Bursty, 0.5)] {
        let effect = 0.05;
        let mut machine = Stolen::new(steal, 31);
        let scores: Vec<Scores> = (0..duels).map(|_| machine.duel(effect)).collect();
        let [adjusted, raw] = [
            scores.iter().map(|s| s.score).collect::<Vec<f64>>(),
            scores.iter().map(|s| s.raw).collect(),
        ];
        let sd = |values: &[f64]| standard_deviation(values).expect("many");
        let std_err = sd(&adjusted) / (duels as f64).sqrt();
        let mean = adjusted.iter().sum::<f64>() / duels as f64;
        assert!(
            (mean - effect).abs() < 3.5 * std_err,
            "{steal:?}: {mean} ± {std_err}"
        );
        let ratio = sd(&adjusted) / sd(&raw);
        assert!(ratio <= gain, "{steal:?}: {ratio}");
    }
}

#[test]
fn a_quiet_machine_loses_nothing_by_it() {
    let mut machine = Stolen::new(Steal::Constant, 41);
    let scores: Vec<Scores> = (0..600).map(|_| machine.duel(0.0)).collect();
    let spread = |of: fn(&Scores) -> f64| {
        standard_deviation(&scores.iter().map(of).collect::<Vec<_>>()).expect("many")
    };
    let ratio = spread(|s| s.score) / spread(|s| s.raw);
    assert!(ratio < 1.05, "{ratio}");
}

/// What B itself brings about is B's: the score stays what was measured.
#[test]
fn steal_that_depends_on_the_side_is_not_adjusted_away() {
    let mut machine = Stolen::new(Steal::OneSided, 51);
    let scores: Vec<Scores> = (0..300).map(|_| machine.duel(0.0)).collect();
    let mean = |of: fn(&Scores) -> f64| scores.iter().map(of).sum::<f64>() / 300.0;
    let whole = 2.0 * (0.734f64 / 0.934).ln();
    assert!(
        (mean(|s| s.raw) - whole).abs() < 0.01,
        "{}",
        mean(|s| s.raw)
    );
    assert!((mean(|s| s.score) - mean(|s| s.raw)).abs() < 0.005);
}

#[test]
fn the_interval_covers_the_effect_on_stolen_machines() {
    let rounds = 600;
    for (kind, seed) in KINDS.into_iter().zip([61, 62, 63]) {
        let plan = LookPlan::for_duels(0.05, 10);
        let effect: f64 = 0.08;
        let missed = (0..rounds)
            .filter(|round| {
                let mut machine = Stolen::new(kind, seed + 1_000 * round);
                let scores: Vec<f64> = (0..10).map(|_| machine.duel(effect).score).collect();
                let judgement = judge_final(&scores, &plan, &Rule::default());
                let (low, high) = (judgement.estimate.low, judgement.estimate.high);
                effect.exp() < low || effect.exp() > high
            })
            .count() as f64
            / rounds as f64;
        assert!(
            missed <= at_most(0.05, rounds as usize),
            "{kind:?}: {missed}"
        );
    }
}

/// How often it is said that others took more from one side, in this many comparisons of eight or twelve duels.
fn said(steal: Steal, duels: usize, rounds: u64) -> f64 {
    let told = |round: &u64| {
        let mut machine = Stolen::new(steal, 71 + 1_000 * round);
        let differences: Vec<f64> = (0..duels)
            .map(|_| {
                let couples: Vec<Couple> = (0..16).map(|_| machine.couple([0.0; 2])).collect();
                couples.iter().map(taken_difference).sum::<f64>() / 16.0
            })
            .collect();
        taken_more_from(&differences).is_some()
    };
    (0..rounds).filter(told).count() as f64 / rounds as f64
}

#[test]
fn that_more_is_taken_from_one_side_is_said_where_it_matters_and_hardly_ever_by_chance() {
    for steal in KINDS {
        for duels in [8, 12] {
            let rate = said(steal, duels, 600);
            assert!(rate <= at_most(0.01, 600), "{steal:?}, {duels}: {rate}");
        }
    }
    assert_eq!(said(Steal::HardlyOneSided, 12, 200), 0.0);
    assert_eq!(said(Steal::OneSided, 8, 200), 1.0);
}
