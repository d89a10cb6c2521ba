//! The controls of ladders, matrices and tunings: how often they raise an alarm.

use niagara_stats::{
    ErrorBudget, Factor, Fit, Judgement, Observation, Rule, Verdict, design, effects, judge,
    judge_final, strongest_beside, student,
};

use crate::at_most;
use crate::machine::Machine;

/// Twice the duels of the first look at which something can be called at 5 %, as the lab gives them.
const DUELS: usize = 12;
/// The least that the positive control is known to cost: what its alarm is held against.
const LEAST_COST: f64 = 0.95;
const ROUNDS: usize = 2_000;

/// A control with this effect, in duels that spread by `sd`.
fn control(machine: &mut Machine, log_effect: f64, sd: f64) -> Judgement {
    let plan = ErrorBudget::two_sided(0.05, DUELS).plan(DUELS);
    let rule = Rule::default();
    let mut scores = Vec::new();
    loop {
        let so_far = judge(&scores, &plan, &rule);
        match so_far.next_look.filter(|_| so_far.verdict.is_none()) {
            Some(next) => scores.resize_with(next, || log_effect + sd * machine.normal()),
            None => return judge_final(&scores, &plan, &rule),
        }
    }
}

/// How often controls like these are judged so.
fn rate(log_effect: f64, sd: f64, seed: u64, is: impl Fn(&Judgement) -> bool) -> f64 {
    let mut machine = Machine::new(seed);
    let found = (0..ROUNDS).filter(|_| is(&control(&mut machine, log_effect, sd)));
    found.count() as f64 / ROUNDS as f64
}

#[test]
fn a_control_that_changes_nothing_moves_as_rarely_as_alpha_says() {
    for (sd, seed) in [(0.012, 91), (0.077, 92)] {
        let moved = rate(0.0, sd, seed, |judged| {
            matches!(judged.verdict, Some(Verdict::Faster | Verdict::Slower))
        });
        assert!(moved <= at_most(0.05, ROUNDS), "{sd}: {moved}");
    }
}

#[test]
fn a_control_that_slows_is_seen_or_said_to_be_too_rough_and_the_method_is_hardly_ever_blamed() {
    for (cost, sd, seed, least_seen) in [
        (0.95, 0.012, 93, 0.99),
        (0.95, 0.03, 94, 0.94),
        // Of pairs of runs: more than half of the time it is not seen, and that says nothing against the method.
        (0.95, 0.077, 95, 0.4),
        (0.88, 0.012, 96, 0.99),
        (0.88, 0.03, 97, 0.99),
        (0.88, 0.077, 98, 0.95),
    ] {
        let is_seen = |judged: &Judgement| judged.verdict == Some(Verdict::Slower);
        let seen = rate(f64::ln(cost), sd, seed, is_seen);
        let blamed = rate(f64::ln(cost), sd, seed, |judged| {
            !is_seen(judged) && judged.estimate.low >= LEAST_COST
        });
        assert!(seen >= least_seen, "{cost}, {sd}: {seen}");
        assert!(blamed <= at_most(0.025, ROUNDS), "{cost}, {sd}: {blamed}");
    }
}

/// 23 levers of which three help, the negative control and the positive one, which costs 11 %.
fn levers() -> [f64; 25] {
    let mut truth = [0.0; 25];
    truth[..3].copy_from_slice(&[1.19, 1.08, 1.05].map(f64::ln));
    truth[POSITIVE] = -0.12;
    truth
}

const NEGATIVE: usize = 23;
const POSITIVE: usize = 24;

/// A screening of those in so many duels that spread by `sd`: all effects where there are duels enough, else the strongest.
fn screening(machine: &mut Machine, duels: usize, sd: f64, seed: u64) -> Fit {
    let factors = [Factor::Switch; 25];
    let observations: Vec<Observation> = design(&factors, duels, seed)
        .into_iter()
        .map(|row| {
            let sides = row.b.iter().zip(&row.a);
            let effect: f64 = sides
                .zip(levers())
                .map(|((b, a), effect)| effect * (*b as f64 - *a as f64))
                .sum();
            Observation::new(row, effect + sd * machine.normal())
        })
        .collect();
    let all = effects(&factors, &observations, &[]);
    match all.residual_df >= 4.0 {
        true => all,
        false => strongest_beside(&factors, &observations, &[], sd),
    }
}

/// How often the negative control of a tuning is said to move (1 %, two-sided), and the positive one not to be seen (95 %).
fn alarms(duels: usize, sd: f64, seed: u64) -> [f64; 2] {
    let mut machine = Machine::new(seed);
    let rounds = 1_000;
    let mut alarms = [0; 2];
    for round in 0..rounds {
        let fit = screening(&mut machine, duels, sd, round);
        let of = |lever: usize| fit.effect(lever, 1).expect("every lever is told");
        let [negative, positive] = [NEGATIVE, POSITIVE].map(of);
        let t = student::quantile(0.995, fit.residual_df);
        alarms[0] += u32::from(negative.log_effect.abs() > t * negative.std_err);
        alarms[1] += u32::from(fit.interval(positive, 0.95).high >= 1.0);
    }
    alarms.map(|count| f64::from(count) / rounds as f64)
}

#[test]
fn the_negative_control_of_a_tuning_moves_in_one_of_a_hundred() {
    for (duels, sd, seed, moved, unseen) in [
        (48, 0.03, 101, 0.01, 0.005),
        (32, 0.066, 102, 0.01, 0.005),
        // Fewer duels than levers: the strongest effects alone are fitted.
        (16, 0.066, 103, 0.01, 0.03),
    ] {
        let found = alarms(duels, sd, seed);
        assert!(found[0] <= at_most(moved, 1_000), "{duels}: {found:?}");
        assert!(found[1] <= unseen, "{duels}: {found:?}");
    }
}
