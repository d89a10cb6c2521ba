//! The sequential judgement: false calls, coverage, power, and how soon it gives up.

use niagara_stats::{Judgement, LookPlan, Rule, Verdict, detectable_in, judge, judge_final};

use crate::at_most;
use crate::machine::Machine;

/// Draws scores until there is a verdict.
fn fight(plan: &LookPlan, mut score: impl FnMut() -> f64) -> Judgement {
    let mut scores = Vec::new();
    loop {
        let judgement = judge(&scores, plan, &Rule::default());
        if judgement.verdict.is_some() {
            return judgement;
        }
        let next = judgement.next_look.expect("the last look always ends it");
        scores.resize_with(next, &mut score);
    }
}

fn share(judgements: &[Judgement], holds: impl Fn(&Judgement) -> bool) -> f64 {
    judgements
        .iter()
        .filter(|judgement| holds(judgement))
        .count() as f64
        / judgements.len() as f64
}

fn verdicts(judgements: &[Judgement], wanted: &[Verdict]) -> f64 {
    share(judgements, |judgement| {
        judgement
            .verdict
            .is_some_and(|verdict| wanted.contains(&verdict))
    })
}

fn mean_duels(judgements: &[Judgement]) -> f64 {
    judgements
        .iter()
        .map(|judgement| judgement.duels as f64)
        .sum::<f64>()
        / judgements.len() as f64
}

const CALLS: [Verdict; 2] = [Verdict::Faster, Verdict::Slower];

#[test]
fn identical_variants_on_a_wandering_machine_are_rarely_called_different() {
    let rounds = 2_000;
    for (alpha, seed) in [(0.05, 1), (0.01, 2)] {
        let plan = LookPlan::standard(alpha);
        let mut machine = Machine::new(seed);
        let judgements: Vec<Judgement> = (0..rounds)
            .map(|_| fight(&plan, || machine.duel(0.0, 8).score))
            .collect();
        let called = verdicts(&judgements, &CALLS);
        assert!(called <= at_most(alpha, rounds), "{alpha}: {called}");
        // The rest is given up, long before the last look.
        let duels = mean_duels(&judgements);
        assert!(duels < 27.0, "{alpha}: {duels}");
    }
}

#[test]
fn without_giving_up_the_error_probability_is_used_but_not_exceeded() {
    let rounds = 20_000;
    let plan = LookPlan::standard(0.05);
    let mut machine = Machine::new(3);
    let rule = Rule {
        min_effect: f64::NEG_INFINITY,
        futility: 0.0,
        to_the_end: false,
    };
    let called = (0..rounds)
        .filter(|_| {
            let scores: Vec<f64> = (0..44).map(|_| machine.normal()).collect();
            let verdict = judge(&scores, &plan, &rule).verdict;
            verdict.is_some_and(|verdict| CALLS.contains(&verdict))
        })
        .count() as f64
        / rounds as f64;
    assert!(
        called <= at_most(0.05, rounds) && called > 0.044,
        "{called}"
    );
}

#[test]
fn a_comparison_that_time_ends_keeps_its_promise() {
    let rounds = 20_000;
    let plan = LookPlan::standard(0.05).ending_at(20);
    let mut machine = Machine::new(4);
    let rule = Rule {
        min_effect: f64::NEG_INFINITY,
        futility: 0.0,
        to_the_end: false,
    };
    let called = (0..rounds)
        .filter(|_| {
            let scores: Vec<f64> = (0..20).map(|_| machine.normal()).collect();
            let verdict = judge(&scores, &plan, &rule).verdict;
            verdict.is_some_and(|verdict| CALLS.contains(&verdict))
        })
        .count() as f64
        / rounds as f64;
    // The clock is blind to the outcome: all of α is spent, and no more.
    assert!(
        called <= at_most(0.05, rounds) && called > 0.044,
        "{called}"
    );
}

#[test]
fn one_sided_claims_err_by_their_own_level() {
    let rounds = 20_000;
    let plan = LookPlan::one_sided(0.05);
    let mut machine = Machine::new(5);
    let rule = Rule {
        min_effect: f64::NEG_INFINITY,
        futility: 0.0,
        to_the_end: false,
    };
    let faster = (0..rounds)
        .filter(|_| {
            let scores: Vec<f64> = (0..44).map(|_| machine.normal()).collect();
            judge(&scores, &plan, &rule).verdict == Some(Verdict::Faster)
        })
        .count() as f64
        / rounds as f64;
    assert!(
        faster <= at_most(0.05, rounds) && faster > 0.044,
        "{faster}"
    );
}

#[test]
fn a_claim_that_is_not_there_is_given_up_sooner() {
    let rounds = 2_000;
    let plan = LookPlan::one_sided(0.05);
    let mut machine = Machine::new(12);
    let judgements: Vec<Judgement> = (0..rounds)
        .map(|_| fight(&plan, || machine.duel(0.0, 8).score))
        .collect();
    let faster = verdicts(&judgements, &[Verdict::Faster]);
    assert!(faster <= at_most(0.05, rounds), "{faster}");
    let duels = mean_duels(&judgements);
    assert!(duels < 21.0, "{duels}");
}

/// The one way found to exceed α: noise that grows from every duel to the next.
#[test]
fn magnitudes_in_order_change_the_error_probability_a_little() {
    let rounds = 20_000;
    let plan = LookPlan::standard(0.05);
    let rule = Rule {
        min_effect: f64::NEG_INFINITY,
        futility: 0.0,
        to_the_end: false,
    };
    let mut machine = Machine::new(13);
    let mut called = |magnitude: fn(usize) -> f64| {
        let calls = (0..rounds).filter(|_| {
            let scores: Vec<f64> = (0..44)
                .map(|i| {
                    if machine.coin() {
                        magnitude(i)
                    } else {
                        -magnitude(i)
                    }
                })
                .collect();
            let verdict = judge(&scores, &plan, &rule).verdict;
            verdict.is_some_and(|verdict| CALLS.contains(&verdict))
        });
        calls.count() as f64 / rounds as f64
    };
    let growing = called(|i| 1.0 + i as f64);
    assert!((0.06..0.07).contains(&growing), "{growing}");
    let shrinking = called(|i| 100.0 - i as f64);
    assert!((0.03..0.04).contains(&shrinking), "{shrinking}");
}

#[test]
fn the_interval_covers_the_effect_whenever_it_stops() {
    let rounds = 2_000;
    let plan = LookPlan::standard(0.05);
    for (effect, seed) in [(0.0, 6), (0.01, 7), (0.03, 8)] {
        let mut machine = Machine::new(seed);
        let judgements: Vec<Judgement> = (0..rounds)
            .map(|_| fight(&plan, || machine.duel(effect, 8).score))
            .collect();
        let ratio = f64::exp(effect);
        let missed = share(&judgements, |judgement| {
            judgement.estimate.low > ratio || judgement.estimate.high < ratio
        });
        assert!(missed <= at_most(0.05, rounds), "{effect}: {missed}");
    }
}

#[test]
fn two_per_cent_is_seen_at_the_measured_noise() {
    let rounds = 2_000;
    let plan = LookPlan::standard(0.05);
    let mut machine = Machine::new(9);
    let judgements: Vec<Judgement> = (0..rounds)
        .map(|_| fight(&plan, || 0.02 + 0.012 * machine.normal()))
        .collect();
    assert!(verdicts(&judgements, &[Verdict::Faster]) > 0.97);
    assert!(
        mean_duels(&judgements) < 13.0,
        "{}",
        mean_duels(&judgements)
    );
    // Losses likewise: the judgement of a comparison does not depend on which variant is called B.
    let losses: Vec<Judgement> = (0..rounds)
        .map(|_| fight(&plan, || -0.02 + 0.012 * machine.normal()))
        .collect();
    assert!(verdicts(&losses, &[Verdict::Slower, Verdict::NotWorthwhile]) > 0.97);
}

#[test]
fn what_planning_promises_is_seen() {
    let rounds = 4_000;
    let plan = LookPlan::standard(0.05);
    let effect = detectable_in(44.0, 1.0, 0.012, &plan).expect("44 duels show something");
    let mut machine = Machine::new(10);
    let judgements: Vec<Judgement> = (0..rounds)
        .map(|_| fight(&plan, || effect + 0.012 * machine.normal()))
        .collect();
    let seen = verdicts(&judgements, &[Verdict::Faster]);
    assert!((0.75..=0.83).contains(&seen), "{seen}");
}

#[test]
fn a_lever_that_costs_a_little_in_little_noise_is_not_worthwhile() {
    let rounds = 500;
    let plan = LookPlan::standard(0.05);
    let mut machine = Machine::new(11);
    let judgements: Vec<Judgement> = (0..rounds)
        .map(|_| fight(&plan, || 0.003 * machine.normal()))
        .collect();
    assert!(verdicts(&judgements, &[Verdict::NotWorthwhile]) > 0.85);
    assert!(
        mean_duels(&judgements) < 16.0,
        "{}",
        mean_duels(&judgements)
    );
}

/// A budget that pays for few duels: the plan made for them spends α, whenever the time ends.
#[test]
fn short_comparisons_keep_their_promise_wherever_time_ends() {
    let rounds = 20_000;
    let rule = Rule {
        min_effect: f64::NEG_INFINITY,
        futility: 0.0,
        to_the_end: false,
    };
    for (planned, fought) in [(6, 6), (8, 7), (12, 12), (12, 9), (20, 14)] {
        let plan = LookPlan::for_duels(0.05, planned).ending_at(fought);
        let mut machine = Machine::new(40 + planned as u64);
        let called = (0..rounds)
            .filter(|_| {
                let scores: Vec<f64> = (0..fought).map(|_| machine.normal()).collect();
                let verdict = judge_final(&scores, &plan, &rule).verdict;
                verdict.is_some_and(|verdict| CALLS.contains(&verdict))
            })
            .count() as f64
            / rounds as f64;
        assert!(
            called <= at_most(0.05, rounds) && called > 0.01,
            "{planned} planned, {fought} fought: {called}"
        );
    }
}
