//! What duels cost and show, before any was run.

use niagara_stats::{COUPLES, Components};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plans::spec::{DuelSettings, Protocol};

/// For how long a duel loads its servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelShape {
    /// Couples of slices.
    pub couples: u32,
    /// Seconds of a slice, where they are not the study's.
    pub slice_seconds: Option<f64>,
}

impl DuelShape {
    /// The settings of a study for duels of this shape.
    pub(crate) fn settings(self, of_study: DuelSettings) -> DuelSettings {
        DuelSettings {
            couples: self.couples,
            slice_seconds: self.slice_seconds.unwrap_or(of_study.slice_seconds),
            ..of_study
        }
    }
}

impl From<u32> for DuelShape {
    /// So many couples of the study's own slices.
    fn from(couples: u32) -> Self {
        Self {
            couples,
            slice_seconds: None,
        }
    }
}

/// Standard deviation of one duel's score that plans assume before anything was measured here:
/// 1.2 % for 14 couples of one second on a shared 2-core machine (docs/methodology.md), scaled to
/// the time of the couples at hand: twice as many of half the length tell as much.
fn assumed_sd(duel_settings: &DuelSettings, couples: u32) -> f64 {
    let seconds = f64::from(couples.max(1)) * 2.0 * duel_settings.slice_seconds;
    0.012 * (28.0 / seconds).sqrt()
}

/// Where the noise that a plan goes by is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NoiseSource {
    /// Earlier comparisons on this machine, of the same workload, threads and slices.
    History,
    /// Nothing measured here tells it: what a shared machine with 2 CPUs showed.
    #[default]
    Assumed,
}

impl std::fmt::Display for NoiseSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::History => "by the noise of earlier comparisons here",
            Self::Assumed => {
                "assuming the noise of a shared machine with 2 CPUs, for none was measured here yet"
            }
        })
    }
}

/// Standard deviation of the score of a duel of this many couples, and where it is from: what earlier comparisons on this
/// machine showed, or else an assumption.
pub fn expected_sd(
    history: Option<Components>,
    duel_settings: &DuelSettings,
    couples: u32,
) -> (f64, NoiseSource) {
    match history {
        Some(known) => (known.duel_sd(couples), NoiseSource::History),
        None => (assumed_sd(duel_settings, couples), NoiseSource::Assumed),
    }
}

/// Two clones, two starts and two ends take about this long on 2 cores with an image of 140 MB, seconds.
pub(crate) const START_SECONDS: f64 = 1.0;
/// What a read-only workload's warm-up settles at, seconds; the first duels' longer one is spread over the rest.
const TYPICAL_WARM_UP: f64 = 0.75;

/// From the end of a slice to the beginning of the next, seconds: transactions in flight are finished, one side is
/// frozen, the other let go. 37 ms with 32 connections on 2 cores, most of it one transaction's latency.
const HAND_OVER_SECONDS: f64 = 0.04;

/// Estimated seconds of one duel, before any was run.
pub fn duel_seconds(duel_settings: &DuelSettings, couples: u32) -> f64 {
    let warm_up = duel_settings.warm_up_seconds.min(TYPICAL_WARM_UP);
    START_SECONDS + 2.0 * warm_up + f64::from(couples) * couple_seconds(duel_settings)
}

/// Estimated seconds of one duel, pair, series or start, before any was run.
pub fn unit_seconds(protocol: Protocol, duel_settings: &DuelSettings, couples: u32) -> f64 {
    let slice = couple_seconds(duel_settings) / 2.0;
    let run = |windows: f64| START_SECONDS + duel_settings.warm_up_seconds + windows * slice;
    match protocol {
        Protocol::Duel => duel_seconds(duel_settings, couples),
        Protocol::Pair => 2.0 * run(f64::from(couples)),
        Protocol::Trimmed => 10.0 * run(1.0),
        Protocol::Solo => run(f64::from(couples)),
    }
}

/// The same where it is known that a start is warmed up for as long as `duel_settings` say: where loads differ within a study (a matrix,
/// a sweep) no shorter time is learned, and elsewhere once it was.
pub fn warmed_up_unit_seconds(
    protocol: Protocol,
    duel_settings: &DuelSettings,
    couples: u32,
) -> f64 {
    let warm_up = duel_settings.warm_up_seconds;
    let beyond = match protocol {
        Protocol::Duel => warm_up - warm_up.min(TYPICAL_WARM_UP),
        Protocol::Pair | Protocol::Trimmed | Protocol::Solo => 0.0,
    };
    unit_seconds(protocol, duel_settings, couples) + 2.0 * beyond
}

/// Seconds of one couple with its changes of side.
pub fn couple_seconds(duel_settings: &DuelSettings) -> f64 {
    2.0 * (duel_settings.slice_seconds + duel_settings.ramp_seconds + HAND_OVER_SECONDS)
}

/// The couples of a duel, at most `couples`, that take no longer than `seconds`; never fewer than eight: with less, one
/// disturbed couple weighs too much.
pub(crate) fn couples_within(duel_settings: &DuelSettings, couples: u32, seconds: f64) -> u32 {
    let least = *COUPLES.start();
    (least..=couples)
        .rev()
        .find(|&couples| duel_seconds(duel_settings, couples) <= seconds)
        .unwrap_or(couples.min(least))
}

/// Duels that a budget is to have room for, whatever number of couples seems to pay best: of few duels the critical value is
/// high, and how much restarts differ, which decides what pays, is known but roughly. It is the fourth look.
const DUELS_TO_JUDGE: usize = 24;

/// The couples of a duel for a budget of this many seconds: `best`, unless that leaves too few duels to judge, or so many
/// that time is left when the last of them is over.
pub(crate) fn couples_for(
    duel_settings: &DuelSettings,
    best: u32,
    seconds: f64,
    max_duels: usize,
) -> u32 {
    let within =
        |most: u32, duels: usize| couples_within(duel_settings, most, seconds / duels as f64);
    let filling = within(*COUPLES.end(), max_duels.max(1));
    within(best.max(filling), max_duels.clamp(1, DUELS_TO_JUDGE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_noise_is_this_machines_where_it_is_known() {
        let known = Components {
            within: 0.05_f64.powi(2),
            restart: 0.003_f64.powi(2),
            within_df: 400.0,
            between_df: 20.0,
        };
        let of_seconds = |slice_seconds: f64| DuelSettings {
            couples: 14,
            slice_seconds,
            ramp_seconds: 0.01,
            warm_up_seconds: 4.0,
            disturbance: 0.05,
        };
        let (sd, source) = expected_sd(Some(known), &of_seconds(1.0), 40);
        assert_eq!((sd, source), (known.duel_sd(40), NoiseSource::History));
        let (sd, source) = expected_sd(None, &of_seconds(1.0), 14);
        assert_eq!((sd, source), (0.012, NoiseSource::Assumed));
        assert!(source.to_string().contains("assuming"));
        // What counts is the time under load.
        let (short, _) = expected_sd(None, &of_seconds(0.25), 56);
        assert!((short - sd).abs() < 1e-12, "{short}");
    }

    #[test]
    fn a_warm_up_that_is_fixed_takes_its_time() {
        let duel_settings = DuelSettings {
            couples: 40,
            slice_seconds: 0.1,
            ramp_seconds: 0.0,
            warm_up_seconds: 3.0,
            disturbance: 0.05,
        };
        // A start, twice three seconds, forty couples of 0.28 s.
        let fixed = warmed_up_unit_seconds(Protocol::Duel, &duel_settings, 40);
        assert!((fixed - 18.2).abs() < 1e-9, "{fixed}");
        let learned = unit_seconds(Protocol::Duel, &duel_settings, 40);
        assert!((learned - 13.7).abs() < 1e-9, "{learned}");
        for protocol in [Protocol::Pair, Protocol::Trimmed, Protocol::Solo] {
            assert_eq!(
                warmed_up_unit_seconds(protocol, &duel_settings, 6),
                unit_seconds(protocol, &duel_settings, 6)
            );
        }
    }

    #[test]
    fn couples_fill_the_budget_and_leave_enough_duels() {
        let duel_settings = DuelSettings {
            couples: 20,
            slice_seconds: 0.2,
            ramp_seconds: 0.01,
            warm_up_seconds: 0.5,
            disturbance: 0.1,
        };
        // A couple takes 0.5 s, a duel 2 s more.
        assert_eq!(couples_for(&duel_settings, 14, 300.0, 44), 14);
        // 44 duels of 14 couples would be over after 7 minutes.
        assert_eq!(couples_for(&duel_settings, 14, 600.0, 44), 23);
        // Twenty-four duels of 60 couples want more than 5 minutes.
        assert_eq!(couples_for(&duel_settings, 60, 300.0, 44), 21);
        assert_eq!(couples_for(&duel_settings, 14, 30.0, 44), 8);
        assert_eq!(couples_within(&duel_settings, 5, 1.0), 5);
    }

    #[test]
    fn an_hour_is_filled_and_five_minutes_hold_four_looks() {
        let duel_settings = DuelSettings {
            couples: 40,
            slice_seconds: 0.1,
            ramp_seconds: 0.0,
            warm_up_seconds: 0.5,
            disturbance: 0.05,
        };
        for (seconds, duels) in [(300.0, 24.0..30.0), (3600.0, 40.0..46.0)] {
            let couples = couples_for(&duel_settings, 40, seconds, 44);
            let fitting = seconds / duel_seconds(&duel_settings, couples);
            assert!(duels.contains(&fitting), "{fitting} duels of {couples}");
        }
    }
}
