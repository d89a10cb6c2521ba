//! CPU time taken by the hypervisor: it costs power, not validity, and the adjustment narrows without bias.

use niagara_stats::{
    Couple, HALF_WEIGHT, InterferenceSlope, Judgement, LookPlan, Rule, Verdict, Weighing,
    duel_score, judge, judge_final, judged_as_measured, standard_deviation, taken_difference,
    taken_more_from,
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
    /// 5 % from both, and 35 % more from one slice of five of B's: what B does makes the hypervisor take more now and then.
    NowAndThen,
    /// As much more from B's every slice, in one duel of four.
    InSomeDuels,
    /// Up to 10 % from either side, each start its own: it is the start's, not the variant's.
    OfTheStart,
}

struct Stolen {
    machine: Machine,
    steal: Steal,
    time: f64,
    slope: InterferenceSlope,
    /// What is taken from each side all through the duel.
    of_duel: [f64; 2],
}

/// What a duel comes to: adjusted and weighted, and as it was measured; and how much more was left to B in each couple.
struct Scores {
    score: f64,
    raw: f64,
    differences: Vec<f64>,
}

impl Stolen {
    fn new(steal: Steal, seed: u64) -> Self {
        Self {
            machine: Machine::new(seed),
            steal,
            time: 0.0,
            slope: InterferenceSlope::default(),
            of_duel: [0.0; 2],
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
                Steal::NowAndThen if side == 1 && self.machine.uniform() < 0.2 => 0.4,
                Steal::NowAndThen => 0.05,
                Steal::InSomeDuels | Steal::OfTheStart => self.of_duel[side],
            }
    }

    fn start(&mut self) {
        self.of_duel = match self.steal {
            Steal::InSomeDuels if self.machine.uniform() < 0.25 => [0.05, 0.4],
            Steal::InSomeDuels => [0.05; 2],
            _ => [0, 1].map(|_| 0.1 * self.machine.uniform()),
        };
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
        self.start();
        let effects = [self.machine.restart(), log_effect + self.machine.restart()];
        let couples: Vec<Couple> = (0..16).map(|_| self.couple(effects)).collect();
        let weighing = Weighing::of(&couples, self.slope, HALF_WEIGHT);
        self.slope.learn(&couples);
        let score = duel_score(&couples, weighing).expect("nothing is dropped");
        Scores {
            score: score.score,
            raw: score.raw,
            differences: couples.iter().map(taken_difference).collect(),
        }
    }

    /// A comparison of up to so many duels, a study of its own, judged after every one of them: as it is in a study, and with what was
    /// taken allowed for in any case.
    fn comparison(&mut self, plan: &LookPlan, log_effect: f64) -> [Judgement; 2] {
        let duels: Vec<Scores> = (0..plan.max_duels())
            .map(|_| self.duel(log_effect))
            .collect();
        let differences: Vec<Vec<f64>> = duels.iter().map(|d| d.differences.clone()).collect();
        let scores = |of: usize, as_measured: bool| -> Vec<f64> {
            let duels = duels[..of].iter();
            match as_measured {
                true => duels.map(|duel| duel.raw).collect(),
                false => duels.map(|duel| duel.score).collect(),
            }
        };
        let rule = Rule::default();
        let judged = |as_measured: &dyn Fn(usize) -> bool| {
            let ended = (1..=duels.len()).find(|&of| {
                let judgement = judge(&scores(of, as_measured(of)), plan, &rule);
                judgement.verdict.is_some()
            });
            let of = ended.unwrap_or(duels.len());
            judge_final(&scores(of, as_measured(of)), plan, &rule)
        };
        [
            judged(&|of| judged_as_measured(&differences[..of]).is_some()),
            judged(&|_| false),
        ]
    }
}

fn is_called(judgement: &Judgement) -> bool {
    matches!(judgement.verdict, Some(Verdict::Faster | Verdict::Slower))
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
        (Steal::OfTheStart, 12, 25),
    ] {
        let plan = LookPlan::for_duels(0.05, duels);
        let called = (0..rounds)
            .filter(|round| {
                // A study of its own each time, which has nothing to learn the slope from but itself.
                let mut machine = Stolen::new(steal, seed + 1_000 * round);
                is_called(&machine.comparison(&plan, 0.0)[0])
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
    let kinds = KINDS.into_iter().chain([Steal::OfTheStart]);
    for (kind, seed) in kinds.zip([61, 62, 63, 64]) {
        let plan = LookPlan::for_duels(0.05, 10);
        let effect: f64 = 0.08;
        let missed = (0..rounds)
            .filter(|round| {
                let mut machine = Stolen::new(kind, seed + 1_000 * round);
                let [judgement, _] = machine.comparison(&plan, effect);
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

/// What B brings about in some of its slices is B's as well: it is charged with what was measured, where the couples in which it shows
/// were weighted and adjusted away. What it brings about in some of its starts each duel tells by itself.
#[test]
fn steal_that_b_provokes_now_and_then_is_charged_to_b() {
    let rounds = 200;
    let plan = LookPlan::for_duels(0.05, 12);
    let of = |steal: Steal, seed: u64| {
        let found: Vec<[Judgement; 2]> = (0..rounds)
            .map(|round| Stolen::new(steal, seed + 1_000 * round).comparison(&plan, 0.0))
            .collect();
        [0, 1].map(|way| {
            let slower = found.iter().filter(|of| of[way].estimate.high < 1.0);
            let logs = found.iter().map(|of| of[way].estimate.ratio.ln());
            let mean = logs.sum::<f64>() / rounds as f64;
            (slower.count() as f64 / rounds as f64, mean)
        })
    };
    let [judged, allowed] = of(Steal::NowAndThen, 81);
    assert!(judged.0 > 0.7 && judged.1 < -0.045, "{judged:?}");
    assert!(allowed.0 < 0.2 && allowed.1 > -0.01, "{allowed:?}");
    let [judged, allowed] = of(Steal::InSomeDuels, 82);
    assert!(
        (judged.1 - allowed.1).abs() < 0.01,
        "{judged:?} {allowed:?}"
    );
}

/// How often a comparison of twelve duels is judged as measured after any of them, though no variant brings anything about.
#[test]
fn a_comparison_is_hardly_ever_judged_as_measured_without_a_cause() {
    let rounds = 600;
    for steal in KINDS {
        let asked = |round: &u64| {
            let mut machine = Stolen::new(steal, 91 + 1_000 * round);
            let differences: Vec<Vec<f64>> =
                (0..12).map(|_| machine.duel(0.0).differences).collect();
            (1..=12).any(|of| judged_as_measured(&differences[..of]).is_some())
        };
        let rate = (0..rounds).filter(asked).count() as f64 / rounds as f64;
        assert!(rate <= at_most(0.01, rounds as usize), "{steal:?}: {rate}");
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
