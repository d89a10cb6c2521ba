//! A search over numbers by duels: candidates race against the best so far, and losers are dropped early.
//!
//! Each round draws a small field of candidates. All have one duel against the best, the better half two more, and the
//! last one three more (successive halving: Jamieson & Talwalkar, AISTATS 2016); what then stands a standard error above
//! nothing takes the best one's place. The first round is spread over the whole ranges, later ones stay near the best, and
//! nearer after each round that found nothing. What comes of it is no claim: fresh duels judge the winner.
//!
//! The next duel is a function of the seed and of the scores told so far, so that a search is resumed by telling them again.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};

use crate::seed::derive_seed;

/// Candidates of a round.
const FIELD: usize = 4;
/// Duels that every candidate still in the race has had when the field is halved.
const HEATS: [usize; 3] = [1, 3, 6];
/// Duels of a round in which every heat is run.
pub const ROUND_DUELS: usize = 4 + 2 * 2 + 3;
/// Duels of a round that can be run at a time, as no score of theirs decides which they are: at least those of its last heat.
pub const SIDE_BY_SIDE: u32 = 3;
/// A candidate takes the best one's place when its mean stands this many standard errors above nothing.
const ACCEPTED: f64 = 1.0;
/// A candidate is dropped when its mean stands this many typical deviations of a duel below nothing.
const HOPELESS: f64 = 2.0;
/// Reach around the best in the second round, as a share of the range.
const REACH: f64 = 0.25;
/// What of the reach is left after a round that found nothing better.
const NARROWER: f64 = 0.6;
/// Reach at which the search is over: nearer values are the same to any duel.
const NEAR: f64 = 0.03;

/// A search under way. A place is a number from 0 to 1 for each range.
#[derive(Debug, Clone, PartialEq)]
pub struct Race {
    seed: u64,
    best: Vec<f64>,
    /// From the one before it to the best one.
    step: Option<Vec<f64>>,
    reach: f64,
    round: u64,
    heat: usize,
    field: Vec<Runner>,
    found: Vec<Found>,
    duels: usize,
}

#[derive(Debug, Clone, PartialEq)]
struct Runner {
    place: Vec<f64>,
    scores: Vec<f64>,
}

/// A place that took the best one's.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// Where.
    pub place: Vec<f64>,
    /// Scores of its duels against the one before it (ln(rate of it / rate of that one)), winner's luck included.
    pub scores: Vec<f64>,
}

impl Race {
    /// A search that begins at `start`, a place of 0 to 1 in each range.
    pub fn new(start: Vec<f64>, seed: u64) -> Self {
        let mut race = Self {
            seed,
            best: start,
            step: None,
            reach: REACH,
            round: 0,
            heat: 0,
            field: Vec::new(),
            found: Vec::new(),
            duels: 0,
        };
        race.draw();
        race
    }

    /// The best place so far.
    pub fn best(&self) -> &[f64] {
        &self.best
    }

    /// What took the best one's place, in order.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Duels told so far.
    pub fn duels(&self) -> usize {
        self.duels
    }

    /// The candidate that is to meet the best one next; `None` when the search is over.
    pub fn next(&self) -> Option<&[f64]> {
        let runner = self.turn()?;
        self.field.get(runner).map(|runner| runner.place.as_slice())
    }

    fn turn(&self) -> Option<usize> {
        if self.reach < NEAR || self.best.is_empty() {
            return None;
        }
        let wanted = HEATS[self.heat];
        let runners = self.field.iter().enumerate();
        runners
            .filter(|(_, runner)| runner.scores.len() < wanted)
            .min_by_key(|(_, runner)| runner.scores.len())
            .map(|(place, _)| place)
    }

    /// The candidates that are to meet the best one in this heat, the next first, each as often as it still has to.
    pub fn open(&self) -> Vec<&[f64]> {
        if self.turn().is_none() {
            return Vec::new();
        }
        let wanted = HEATS[self.heat];
        let fewest = self.field.iter().map(|runner| runner.scores.len()).min();
        (fewest.unwrap_or(wanted)..wanted)
            .flat_map(|had| {
                let runners = self.field.iter();
                runners.filter(move |runner| runner.scores.len() <= had)
            })
            .map(|runner| runner.place.as_slice())
            .collect()
    }

    /// What became of the duel of [`next`](Self::next) with the best: ln(rate of the candidate / rate of the best one);
    /// `None` where the candidate could not be measured, which ends its race.
    pub fn tell(&mut self, score: Option<f64>) {
        let Some(turn) = self.turn() else {
            return;
        };
        self.duels += 1;
        match score.filter(|score| score.is_finite()) {
            Some(score) => self.field[turn].scores.push(score),
            None => drop(self.field.remove(turn)),
        }
        if self.field.is_empty() {
            self.end_round(None);
        } else if self.turn().is_none() {
            self.end_heat();
        }
    }

    fn end_heat(&mut self) {
        self.field
            .sort_by(|x, y| mean(&y.scores).total_cmp(&mean(&x.scores)));
        if self.heat + 1 == HEATS.len() {
            let first = self.field.swap_remove(0);
            let accepted = mean(&first.scores) > ACCEPTED * std_err(&first.scores);
            return self.end_round(accepted.then_some(first));
        }
        self.heat += 1;
        // Scores of one heat spread by what duels differ and by what candidates differ: a cautious measure of the former, while those that
        // are left out are among them.
        let all: Vec<f64> = self.field.iter().flat_map(|r| r.scores.clone()).collect();
        let spread = crate::standard_deviation(&all).unwrap_or(f64::INFINITY);
        self.field.truncate((FIELD >> self.heat).max(1));
        self.field.retain(|runner| {
            let hopeless = -HOPELESS * spread / (runner.scores.len() as f64).sqrt();
            mean(&runner.scores) > hopeless
        });
        if self.field.is_empty() {
            self.end_round(None);
        }
    }

    fn end_round(&mut self, winner: Option<Runner>) {
        match winner {
            Some(runner) => {
                let step = runner
                    .place
                    .iter()
                    .zip(&self.best)
                    .map(|(to, from)| to - from);
                self.step = Some(step.collect());
                self.best.clone_from(&runner.place);
                self.found.push(Found {
                    place: runner.place,
                    scores: runner.scores,
                });
            }
            None => {
                self.step = None;
                // The first round was spread wide: that it found nothing says little about what is near.
                if self.round > 0 {
                    self.reach *= NARROWER;
                }
            }
        }
        self.round += 1;
        self.draw();
    }

    /// The candidates of the round. The first one after a success continues in the direction that helped.
    fn draw(&mut self) {
        let mut rng = ChaCha8Rng::seed_from_u64(derive_seed(self.seed, "race", self.round));
        let ranges = self.best.len();
        let strata: Vec<Vec<usize>> = (0..ranges)
            .map(|_| {
                let mut order: Vec<usize> = (0..FIELD).collect();
                order.shuffle(&mut rng);
                order
            })
            .collect();
        let mut field: Vec<Vec<f64>> = (0..FIELD)
            .map(|runner| {
                // About half of the ranges move, so that what one of them does is not always mixed with the others.
                let sure = rng.random_range(0..ranges.max(1));
                (0..ranges)
                    .map(|range| {
                        let stratum =
                            (strata[range][runner] as f64 + rng.random::<f64>()) / FIELD as f64;
                        let near: f64 = StandardNormal.sample(&mut rng);
                        let moves = range == sure || rng.random::<bool>();
                        match (moves, self.round) {
                            (false, _) => self.best[range],
                            (true, 0) => stratum,
                            (true, _) => inside(self.best[range] + self.reach * near),
                        }
                    })
                    .collect()
            })
            .collect();
        if let (Some(step), Some(first)) = (&self.step, field.first_mut()) {
            let onward = self.best.iter().zip(step);
            *first = onward.map(|(at, by)| (at + by).clamp(0.0, 1.0)).collect();
        }
        self.heat = 0;
        self.field = field
            .into_iter()
            .filter(|place| *place != self.best)
            .map(|place| Runner {
                place,
                scores: Vec::new(),
            })
            .collect();
        if self.field.is_empty() {
            // Ranges without room: there is nothing to search.
            self.reach = 0.0;
        }
    }
}

/// Reflected at the ends of the range, so that the ends are not tried more often than the rest.
fn inside(place: f64) -> f64 {
    let folded = place.rem_euclid(2.0);
    if folded > 1.0 { 2.0 - folded } else { folded }
}

fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len().max(1) as f64
}

fn std_err(scores: &[f64]) -> f64 {
    let sd = crate::standard_deviation(scores).unwrap_or(f64::INFINITY);
    sd / (scores.len() as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tells the scores of `gain` (a function of the place) until the search is over or this many duels were fought.
    fn run(race: &mut Race, duels: usize, gain: impl Fn(&[f64]) -> Option<f64>) {
        for _ in 0..duels {
            let Some(place) = race.next() else { return };
            let score = gain(place)
                .zip(gain(race.best()))
                .map(|(new, old)| new - old);
            race.tell(score);
        }
    }

    #[test]
    fn without_noise_the_top_of_a_hill_is_found() {
        let mut race = Race::new(vec![0.1, 0.5], 3);
        run(&mut race, 200, |place| Some(-(place[0] - 0.8).powi(2)));
        assert!((race.best()[0] - 0.8).abs() < 0.1, "{:?}", race.best());
        assert!(!race.found().is_empty());
    }

    #[test]
    fn the_same_scores_make_the_same_search() {
        let gain = |place: &[f64]| Some(place[0]);
        let (mut whole, mut parts) = (Race::new(vec![0.5], 9), Race::new(vec![0.5], 9));
        run(&mut whole, 30, gain);
        run(&mut parts, 12, gain);
        let half = parts.clone();
        run(&mut parts, 18, gain);
        assert_eq!(whole, parts);
        assert_ne!(half, parts);
        assert_ne!(whole, {
            let mut other = Race::new(vec![0.5], 10);
            run(&mut other, 30, gain);
            other
        });
    }

    #[test]
    fn what_is_open_comes_next_whatever_the_scores() {
        let mut race = Race::new(vec![0.3, 0.6], 5);
        let mut most = 0;
        while race.duels() < ROUND_DUELS {
            let open: Vec<Vec<f64>> = race.open().into_iter().map(<[f64]>::to_vec).collect();
            most = most.max(open.len());
            for place in open {
                assert_eq!(race.next(), Some(place.as_slice()));
                let score = place[0] * (1.0 + race.duels() as f64).sin();
                race.tell(Some(score));
            }
        }
        assert!(most >= SIDE_BY_SIDE as usize, "{most}");
    }

    #[test]
    fn candidates_that_cannot_be_measured_end_their_race() {
        let mut race = Race::new(vec![0.2], 4);
        // The server does not start with the upper half.
        run(&mut race, 200, |place| {
            (place[0] <= 0.5).then_some(place[0])
        });
        assert!((0.2..=0.5).contains(&race.best()[0]), "{:?}", race.best());
        let mut nothing = Race::new(vec![0.2], 4);
        run(&mut nothing, 500, |place| (place[0] == 0.2).then_some(0.0));
        assert_eq!((nothing.best(), nothing.next()), ([0.2].as_slice(), None));
    }

    #[test]
    fn a_search_over_nothing_is_over() {
        let mut race = Race::new(Vec::new(), 1);
        assert_eq!(race.next(), None);
        race.tell(Some(1.0));
        assert_eq!(race.duels(), 0);
    }
}
