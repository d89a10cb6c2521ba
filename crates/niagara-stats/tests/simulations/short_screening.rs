//! Screening with few duels: which levers to try, how long a duel should be, and what it is worth to know of some levers
//! beforehand what they did elsewhere.

use niagara_stats::{
    Components, Expected, Factor, Fit, Observation, Prior, Prospect, ScreenedEffect, design,
    effects, promote, strongest_beside, weights,
};

use crate::machine::Machine;
use crate::prospects::prospects;

/// A lever that nobody knows anything of.
const UNKNOWN: f64 = 0.0;

/// 25 levers of a workload that writes: what they do, and what was measured of them elsewhere (log effects). One gain is
/// where nobody expects it, one lever that helped elsewhere does nothing here, and the last is the positive control.
struct Levers {
    truth: [f64; 25],
    elsewhere: [f64; 25],
}

impl Levers {
    /// The gains are +19 %, +8 % and +5 %; the one of 5 % is lever `third`.
    fn with_third(third: usize) -> Self {
        let (mut truth, mut elsewhere) = ([0.0; 25], [UNKNOWN; 25]);
        truth[0] = 1.19_f64.ln();
        elsewhere[0] = 0.14;
        truth[1] = 1.08_f64.ln();
        elsewhere[1] = 0.06;
        elsewhere[2] = 0.05;
        truth[third] = 1.05_f64.ln();
        truth[24] = -0.12;
        elsewhere[24] = -0.10;
        Self { truth, elsewhere }
    }
}

/// How a screening goes about it.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// Ten duels more than levers, those that the list has first; nothing is known of them.
    AsManyAsFit,
    /// Every lever, whatever the number of duels; nothing is known of them.
    All,
    /// Every lever, and what was measured elsewhere.
    AllKnown,
}

/// The mean log gain of what is promoted, and how often each of the three gains is.
struct Promoted {
    gain: f64,
    found: [f64; 3],
}

fn screened(way: Way, duels: usize, sd: f64, rounds: usize) -> Promoted {
    let mut machine = Machine::new(31);
    let mut promoted = Promoted {
        gain: 0.0,
        found: [0.0; 3],
    };
    for round in 0..rounds {
        let third = 3 + round % 21;
        let levers = Levers::with_third(third);
        // An alphabetical list has the gains anywhere.
        let rotated = (0..24).map(|place| (place + 7 * round) % 24);
        let kept: Vec<usize> = match way {
            Way::AsManyAsFit => rotated.take(duels.saturating_sub(11)).chain([24]).collect(),
            Way::All | Way::AllKnown => (0..25).collect(),
        };
        let chosen = choose(way, &kept, &levers, duels, sd, round as u64, &mut machine);
        for &lever in &chosen {
            promoted.gain += levers.truth[lever] / rounds as f64;
        }
        for (found, lever) in promoted.found.iter_mut().zip([0, 1, third]) {
            *found += f64::from(u8::from(chosen.contains(&lever))) / rounds as f64;
        }
    }
    promoted
}

fn choose(
    way: Way,
    kept: &[usize],
    levers: &Levers,
    duels: usize,
    sd: f64,
    seed: u64,
    machine: &mut Machine,
) -> Vec<usize> {
    let factors = vec![Factor::Switch; kept.len()];
    let observations: Vec<Observation> = design(&factors, duels, seed)
        .into_iter()
        .map(|row| {
            let of = |(place, &lever): (usize, &usize)| {
                levers.truth[lever] * (row.b[place] as f64 - row.a[place] as f64)
            };
            let effect: f64 = kept.iter().enumerate().map(of).sum();
            Observation {
                score: effect + sd * machine.normal(),
                row,
                weight: 1.0,
            }
        })
        .collect();
    let known = |place: usize| (way == Way::AllKnown).then_some(levers.elsewhere[kept[place]]);
    let expected: Vec<Expected> = (0..kept.len())
        .filter_map(|factor| {
            let log_effect = known(factor)?;
            Some(Expected {
                factor,
                level: 1,
                log_effect,
            })
        })
        .collect();
    let full = effects(&factors, &observations, &[]);
    let fit = if full.residual_df >= 4.0 {
        full
    } else {
        strongest_beside(&factors, &observations, &expected, sd)
    };
    let prospects: Vec<Prospect> = fit
        .effects
        .iter()
        .filter(|effect| kept[effect.factor] != 24)
        .map(|effect| Prospect {
            index: kept[effect.factor],
            factor: effect.factor,
            effect: ScreenedEffect {
                log_effect: effect.log_effect,
                std_err: effect.std_err,
                prior: known(effect.factor)
                    .filter(|log_effect| *log_effect != UNKNOWN)
                    .map(|log_effect| Prior {
                        log_effect,
                        std_err: 0.4 * log_effect.abs() + 0.01,
                        helped: log_effect > 0.0,
                    }),
            },
            apart: Vec::new(),
        })
        .collect();
    promote(&prospects, &[], 0.005)
}

/// The spread of a duel's score with this many couples of a second each, where couples spread by 9 %, as on a machine from
/// which others take CPU time, and starts by 2 %.
fn sd(couples: u32) -> f64 {
    let noise = Components {
        within: 0.09 * 0.09,
        restart: 0.02 * 0.02,
        within_df: 1.0,
        between_df: 1.0,
    };
    noise.duel_sd(couples)
}

/// ln(1.19 · 1.08 · 1.05): all that there is to find.
const ALL: f64 = 0.3;

#[test]
fn every_lever_is_worth_trying_even_with_fewer_duels_than_levers() {
    for (duels, old, all, known) in [
        (6, 0.04, 0.09, 0.20),
        (10, 0.04, 0.16, 0.24),
        (16, 0.10, 0.25, 0.27),
    ] {
        let of = |way| screened(way, duels, sd(2), 210).gain;
        let found = [Way::AsManyAsFit, Way::All, Way::AllKnown].map(of);
        assert!(found[0] <= old, "{duels}: {found:?}");
        assert!(found[1] >= all, "{duels}: {found:?}");
        assert!(found[2] >= known, "{duels}: {found:?}");
    }
}

#[test]
fn the_largest_gain_is_hardly_ever_missed_and_the_smallest_mostly_found_with_sixteen_duels() {
    let found = screened(Way::AllKnown, 16, sd(2), 210).found;
    assert!(
        found[0] >= 0.98 && found[1] >= 0.9 && found[2] >= 0.5,
        "{found:?}"
    );
}

/// In 170 s: duels of eight, four or two couples of a second, which take 2.08 s each, and 3.5 s for the starts.
#[test]
fn more_duels_are_worth_more_than_longer_ones() {
    let of = |couples: u32| {
        let duels = 170.0 / (3.5 + 2.08 * f64::from(couples));
        screened(Way::All, duels as usize, sd(couples), 210).gain
    };
    let (long, middle, short) = (of(8), of(4), of(2));
    assert!(short > middle && middle > long, "{short} {middle} {long}");
    assert!(short > 0.9 * ALL, "{short}");
}

/// What is promoted of levers of which nothing is known, factor by factor.
fn promoted(fit: &Fit) -> Vec<usize> {
    promote(&prospects(fit), &[], 0.005)
}

/// Screenings of 26 levers with this many duels, some of which are far off: the mean log gain of what is promoted.
fn gain_with_stalls(duels: usize, stalled: f64) -> f64 {
    const ROUNDS: usize = 150;
    let factors = [Factor::Switch; 26];
    let truth = |factor: usize| match factor {
        0 => 0.35,
        1 => 0.17,
        2 => 0.08,
        3 => -0.2,
        _ => 0.0,
    };
    let sd = 0.06;
    let mut machine = Machine::new(57);
    let mut gain = 0.0;
    for round in 0..ROUNDS {
        let observations: Vec<Observation> = design(&factors, duels, round as u64)
            .into_iter()
            .map(|row| {
                let of = |factor| truth(factor) * (row.b[factor] as f64 - row.a[factor] as f64);
                let effect: f64 = (0..factors.len()).map(of).sum();
                let is_stalled = machine.uniform() < stalled;
                let stall = f64::from(u8::from(is_stalled)) * machine.normal();
                Observation {
                    score: effect + sd * machine.normal() + stall,
                    row,
                    weight: 1.0,
                }
            })
            .collect();
        let fit = strongest_beside(&factors, &observations, &[], sd);
        let chosen = promoted(&fit);
        gain += chosen.into_iter().map(truth).sum::<f64>() / ROUNDS as f64;
    }
    gain
}

/// A server that stood still in one duel of twelve costs little of what is found.
#[test]
fn a_few_duels_that_are_far_off_do_not_decide() {
    let quiet = gain_with_stalls(26, 0.0);
    assert!(quiet > 0.55, "{quiet}");
    for duels in [26, 34] {
        let found = gain_with_stalls(duels, 1.0 / 12.0);
        assert!(found > 0.56, "{duels}: {found} beside {quiet}");
    }
}

/// A lever that makes its side stand still in some slices, among 26: what 36 duels of two couples show of the others.
struct BesideAnUnsteadyOne {
    /// Mean log gain of what is promoted.
    gain: f64,
    /// How far the estimates of levers that do nothing are off (log, root mean square).
    off: f64,
    /// How often their nominal 95 % intervals hold 0.
    covered: f64,
}

/// `stalls`: how often a couple of a duel that has the unsteady lever is far off, to its loss. Starts differ by 3 %, couples by 8 %.
fn beside_an_unsteady_one(is_weighted: bool, stalls: f64) -> BesideAnUnsteadyOne {
    const ROUNDS: usize = 60;
    const UNSTEADY: usize = 5;
    let factors = [Factor::Switch; 26];
    let truth = |factor: usize| match factor {
        0 => 0.17,
        1 => 0.08,
        2 => 0.04,
        3 => -0.2,
        UNSTEADY => -0.02,
        _ => 0.0,
    };
    let mut machine = Machine::new(91);
    let mut found = BesideAnUnsteadyOne {
        gain: 0.0,
        off: 0.0,
        covered: 0.0,
    };
    let nothing = 6..factors.len();
    let share = 1.0 / (ROUNDS * nothing.len()) as f64;
    for round in 0..ROUNDS {
        let mut variances = Vec::new();
        let mut observations: Vec<Observation> = design(&factors, 36, round as u64)
            .into_iter()
            .map(|row| {
                let of = |factor| truth(factor) * (row.b[factor] as f64 - row.a[factor] as f64);
                let effect: f64 = (0..factors.len()).map(of).sum();
                let restart = 0.03 * machine.normal();
                let side = row.b[UNSTEADY] as f64 - row.a[UNSTEADY] as f64;
                let [one, other] = [(); 2].map(|()| {
                    let stands_still = machine.uniform() < stalls;
                    let loss = 0.7 * machine.normal().abs() * f64::from(u8::from(stands_still));
                    0.08 * machine.normal() - side * loss
                });
                variances.push(Some((one - other).powi(2) / 4.0));
                Observation::new(row, effect + restart + f64::midpoint(one, other))
            })
            .collect();
        if is_weighted {
            let all = weights(&variances, 2);
            for (observation, weight) in observations.iter_mut().zip(all) {
                observation.weight = weight;
            }
        }
        let own = variances.iter().flatten().zip(&observations);
        let own = own.map(|(variance, observation)| variance * observation.weight);
        let sd = (own.sum::<f64>() / observations.len() as f64).sqrt();
        let full = effects(&factors, &observations, &[]);
        for factor in nothing.clone() {
            let effect = full.effect(factor, 1).expect("36 duels tell 26 levers");
            found.off += effect.log_effect.powi(2) * share;
            let interval = full.interval(effect, 0.95);
            let holds = interval.low <= 1.0 && interval.high >= 1.0;
            found.covered += f64::from(u8::from(holds)) * share;
        }
        let fit = strongest_beside(&factors, &observations, &[], sd).with_noise_at_least(sd);
        let chosen = promoted(&fit);
        found.gain += chosen.into_iter().map(truth).sum::<f64>() / ROUNDS as f64;
    }
    found.off = found.off.sqrt();
    found
}

/// Duels whose couples disagree count less: what they would spoil is found as well as without them, or nearly, and where no
/// server stands still nothing is lost by it.
#[test]
fn a_lever_that_makes_its_side_stand_still_spoils_the_others_little() {
    let [steady, steady_weighted] =
        [false, true].map(|weighted| beside_an_unsteady_one(weighted, 0.0));
    let [whole, weighted] = [false, true].map(|weighted| beside_an_unsteady_one(weighted, 0.25));
    assert!(steady_weighted.off < 1.06 * steady.off);
    assert!(steady_weighted.gain > steady.gain - 0.005);
    assert!(
        weighted.off < 0.87 * whole.off,
        "{} {}",
        weighted.off,
        whole.off
    );
    assert!(
        weighted.gain > whole.gain + 0.025,
        "{} {}",
        weighted.gain,
        whole.gain
    );
    for of in [&steady, &steady_weighted, &whole, &weighted] {
        assert!(of.covered > 0.93, "{}", of.covered);
    }
}
