//! Setting aside levers that halve throughput, in screenings with gains that add up to as much: whole tunings, each with a
//! new design whenever a lever went, as `tune` does it.

use niagara_stats::{Expected, Factor, Observation, design_among, ruinous};

use crate::at_most;
use crate::machine::Machine;

/// A server from source, a socket and a thread pool: × 2.1 together.
const BUILD: f64 = 0.47;
const SOCKET: f64 = 0.182;
const POOL: f64 = 0.095;
/// The positive control.
const CONTROL: f64 = -0.17;
/// Switches that do nothing.
const NULLS: usize = 36;
/// Places of the factors.
const BUILDS: usize = 0;
const FIRST_NULL: usize = 4;
/// Spread of a duel's score.
const SD: f64 = 0.06;

/// What is in the field: log effects by factor and level.
struct Field {
    truth: Vec<Vec<f64>>,
    expected: Vec<Expected>,
}

impl Field {
    /// This many builds of about the same gain.
    fn with_builds(builds: usize) -> Self {
        let mut truth = vec![vec![0.0; builds + 1], vec![0.0, SOCKET], vec![0.0, POOL]];
        for (level, effect) in truth[BUILDS].iter_mut().enumerate().skip(1) {
            *effect = BUILD + 0.03 * (level - 1) as f64;
        }
        truth.push(vec![0.0, CONTROL]);
        truth.extend(vec![vec![0.0, 0.0]; NULLS]);
        Self {
            truth,
            expected: Vec::new(),
        }
    }

    /// The builds and the socket were measured elsewhere, where they brought more.
    fn measured_elsewhere(mut self) -> Self {
        for (factor, levels) in self.truth.iter().enumerate().take(2) {
            self.expected
                .extend((1..levels.len()).map(|level| Expected {
                    factor,
                    level,
                    log_effect: 1.3 * levels[level],
                }));
        }
        self
    }

    /// One of the switches that did nothing has this effect.
    fn with_null(mut self, null: usize, log_effect: f64) -> Self {
        self.truth[FIRST_NULL + null][1] = log_effect;
        self
    }

    fn shapes(&self) -> Vec<Factor> {
        let shape = |levels: &Vec<f64>| match levels.len() {
            2 => Factor::Switch,
            count => Factor::Choice(count),
        };
        self.truth.iter().map(shape).collect()
    }

    /// What a tuning of this many duels sets aside: each level with the duels before it.
    fn screened(&self, duels: usize, seed: u64) -> Vec<((usize, usize), usize)> {
        let shapes = self.shapes();
        let mut machine = Machine::new(seed);
        let mut aside: Vec<((usize, usize), usize)> = Vec::new();
        let mut observations: Vec<Observation> = Vec::new();
        let mut rows = Vec::new().into_iter();
        while observations.len() < duels {
            let Some(row) = rows.next() else {
                let left: Vec<Vec<usize>> = self
                    .truth
                    .iter()
                    .enumerate()
                    .map(|(factor, levels)| {
                        let gone = |level| aside.iter().any(|(gone, _)| *gone == (factor, level));
                        (0..levels.len()).filter(|&level| !gone(level)).collect()
                    })
                    .collect();
                let seed = seed * 1000 + observations.len() as u64;
                rows = design_among(&left, &[], duels, seed).into_iter();
                continue;
            };
            let of = |side: &[usize]| -> f64 {
                let levels = self.truth.iter().zip(side);
                levels.map(|(effects, &level)| effects[level]).sum()
            };
            observations.push(Observation {
                score: of(&row.b) - of(&row.a) + SD * machine.normal(),
                row,
                weight: 1.0,
            });
            let found = ruinous(&shapes, &observations, &self.expected, SD);
            let places = found.iter().map(|effect| (effect.factor, effect.level));
            let first = places
                .into_iter()
                .find(|place| aside.iter().all(|(gone, _)| gone != place));
            if let Some(place) = first {
                aside.push((place, observations.len()));
                rows = Vec::new().into_iter();
            }
        }
        aside
    }
}

/// Short and long tunings, whatever is known of the large gains.
#[test]
fn innocent_levers_and_controls_stay_whatever_gains_add_up_against_them() {
    const ROUNDS: usize = 40;
    for builds in [1, 3] {
        for known in [false, true] {
            for duels in [10, 60, 120] {
                let mut lost = 0;
                for round in 0..ROUNDS {
                    let field = Field::with_builds(builds);
                    let field = match known {
                        true => field.measured_elsewhere(),
                        false => field,
                    };
                    lost += usize::from(!field.screened(duels, round as u64).is_empty());
                }
                let limit = at_most(0.01, ROUNDS) * ROUNDS as f64;
                assert!(
                    lost as f64 <= limit,
                    "{builds} builds, {duels} duels, known: {known}: {lost} of {ROUNDS} lost a lever"
                );
            }
        }
    }
}

/// How many tunings of 60 duels set lever `null` aside and nothing else, and the median of the duels before it.
fn gone(builds: usize, log_effect: f64, rounds: usize) -> (usize, usize) {
    let mut duels = Vec::new();
    for round in 0..rounds {
        let null = round % NULLS;
        let field = Field::with_builds(builds).with_null(null, log_effect);
        if let [(place, before)] = field.screened(60, 1000 + round as u64)[..]
            && place == (FIRST_NULL + null, 1)
        {
            duels.push(before);
        }
    }
    duels.sort_unstable();
    (
        duels.len(),
        duels.get(duels.len() / 2).copied().unwrap_or(usize::MAX),
    )
}

#[test]
fn a_lever_that_halves_goes_and_the_worse_it_is_the_sooner() {
    for builds in [1, 3] {
        let (found, duels) = gone(builds, 0.5_f64.ln(), 30);
        assert!(
            found >= 28 && duels <= 24,
            "{builds} builds: {found} of 30, {duels} duels"
        );
        let (found, duels) = gone(builds, 0.3_f64.ln(), 30);
        assert!(
            found >= 29 && duels <= 14,
            "{builds} builds: {found} of 30, {duels} duels"
        );
    }
}

#[test]
fn two_that_halve_both_go() {
    for round in 0..20 {
        let field = Field::with_builds(1)
            .with_null(3, 0.3_f64.ln())
            .with_null(17, 0.5_f64.ln());
        let aside = field.screened(60, 2000 + round);
        let mut places: Vec<usize> = aside.iter().map(|((factor, _), _)| *factor).collect();
        places.sort_unstable();
        assert_eq!(places, [FIRST_NULL + 3, FIRST_NULL + 17], "{aside:?}");
    }
}

/// What costs a fifth is an effect like others, and stays to be told.
#[test]
fn what_costs_a_fifth_stays() {
    for round in 0..20 {
        let field = Field::with_builds(1).with_null(5, 0.8_f64.ln());
        assert_eq!(field.screened(60, 3000 + round), []);
    }
}
