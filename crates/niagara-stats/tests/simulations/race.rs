//! The search over ranges: finds a planted optimum in the noise of duels, and hands over nothing worse than the start.

use niagara_stats::{ErrorBudget, Race, Rule, Verdict, judge_final};

use crate::at_most;
use crate::machine::Machine;

/// Spread of a duel's score.
const SD: f64 = 0.03;

/// Four ranges of which two matter: from the start at the lower ends to the top at 0.7 and 0.5 there are 10 %.
fn hill(place: &[f64]) -> f64 {
    let loss = 0.07 * ((place[0] - 0.7) / 0.7).powi(2) + 0.03 * ((place[1] - 0.5) / 0.5).powi(2);
    0.1 - loss
}

/// The place that this many duels come to.
fn searched(land: fn(&[f64]) -> f64, start: f64, duels: usize, seed: u64) -> Vec<f64> {
    let mut machine = Machine::new(seed);
    let mut race = Race::new(vec![start, start, 0.5, 0.5], seed);
    for _ in 0..duels {
        let Some(place) = race.next() else { break };
        let score = land(place) - land(race.best()) + SD * machine.normal();
        race.tell(Some(score));
    }
    race.best().to_vec()
}

#[test]
fn most_of_a_planted_gain_is_found_within_the_duels_that_a_budget_pays_for() {
    let rounds = 300;
    for (duels, share) in [(22, 0.5), (44, 0.65), (88, 0.75)] {
        let gained: f64 = (0..rounds)
            .map(|seed| hill(&searched(hill, 0.0, duels, seed)) - hill(&[0.0, 0.0]))
            .sum::<f64>()
            / rounds as f64;
        assert!(gained >= share * 0.1, "{duels}: {gained}");
    }
}

/// The start is at the top: whatever the search takes for better is worse.
fn downhill(place: &[f64]) -> f64 {
    -0.05 * (place[0] - 0.3).powi(2) - 0.05 * (place[1] - 0.3).powi(2)
}

#[test]
fn what_is_not_better_than_the_start_is_hardly_ever_handed_over() {
    let rounds = 1_000;
    let plan = ErrorBudget::one_sided(0.05, 44).plan(8);
    for land in [downhill as fn(&[f64]) -> f64, |_| 0.0] {
        let handed_over = (0..rounds)
            .filter(|&seed| {
                let found = searched(land, 0.3, 33, seed);
                let effect = land(&found) - land(&[0.3, 0.3]);
                let mut machine = Machine::new(90_000 + seed);
                let total: Vec<f64> = (0..8).map(|_| effect + SD * machine.normal()).collect();
                judge_final(&total, &plan, &Rule::default()).verdict == Some(Verdict::Faster)
            })
            .count();
        let rate = handed_over as f64 / rounds as f64;
        assert!(rate <= at_most(0.05, rounds as usize), "{rate}");
    }
}

/// What a search costs where there is nothing to find: the start moves to a place that is hardly worse.
#[test]
fn a_search_where_nothing_is_to_be_found_costs_little() {
    let rounds = 300;
    let lost: f64 = (0..rounds)
        .map(|seed| -downhill(&searched(downhill, 0.3, 33, seed)))
        .sum::<f64>()
        / rounds as f64;
    assert!(lost < 0.005, "{lost}");
}
