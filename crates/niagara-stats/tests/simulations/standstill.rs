//! A side that stands still now and then: its median slice does not show it, all transactions over all time do.

use niagara_stats::{
    AllTime, DuelTotals, Judgement, LookPlan, Rule, Verdict, hold_against_all_time, judge,
};

use crate::at_most;
use crate::machine::Machine;

/// Two servers that stand still in a share of their slices.
#[derive(Clone, Copy)]
struct Pair {
    /// ln(B / A) where neither stands still.
    effect: f64,
    /// Share of the slices in which A, in which B stands still.
    still: [f64; 2],
    couples: usize,
}

impl Pair {
    fn duel(&self, machine: &mut Machine) -> DuelTotals {
        let effects = [machine.restart(), self.effect + machine.restart()];
        let (_, totals) = machine.duel_with_standstills(effects, self.still, self.couples);
        totals
    }

    /// Fights until there is a verdict: the judgement by the median slice, and as it is held against all time.
    fn fight(&self, machine: &mut Machine, plan: &LookPlan) -> [Judgement; 2] {
        let mut duels: Vec<DuelTotals> = Vec::new();
        loop {
            let scores: Vec<f64> = duels.iter().map(|duel| duel.score).collect();
            let by_median = judge(&scores, plan, &Rule::default());
            if by_median.verdict.is_some() {
                let mut held = by_median.clone();
                // Of dozens of duels the interval takes a while, and another verdict stands whatever it is.
                if by_median.verdict == Some(Verdict::Faster) {
                    let all_time = AllTime::of(&duels, &by_median, &Rule::default());
                    hold_against_all_time(&mut held, all_time.as_ref());
                }
                return [by_median, held];
            }
            let next = by_median.next_look.expect("the last look always ends it");
            duels.resize_with(next, || self.duel(machine));
        }
    }

    /// Shares of `rounds` comparisons that are called so: by the median slice, and held against all time.
    fn called(
        &self,
        machine: &mut Machine,
        plan: &LookPlan,
        rounds: usize,
        calls: &[Verdict],
    ) -> [f64; 2] {
        let mut counts = [0; 2];
        for _ in 0..rounds {
            let found = self.fight(machine, plan);
            let is_called = found
                .each_ref()
                .map(|judgement| judgement.verdict.is_some_and(|word| calls.contains(&word)));
            // It makes no call.
            assert!(is_called[0] || !is_called[1], "{found:?}");
            for (count, called) in counts.iter_mut().zip(is_called) {
                *count += usize::from(called);
            }
        }
        counts.map(|count| count as f64 / rounds as f64)
    }
}

/// A machine on which a gain of 1 % is seen although one couple in five says nothing.
fn quiet(seed: u64) -> Machine {
    let mut machine = Machine::new(seed);
    machine.drift = 0.002;
    machine.slice_noise = 0.003;
    machine.restart_noise = 0.002;
    machine
}

const CALLS: [Verdict; 2] = [Verdict::Faster, Verdict::Slower];

#[test]
fn identical_variants_are_called_different_no_more_often_whether_they_stand_still_or_not() {
    let rounds = 1_500;
    for (still, seed) in [(0.0, 81), (0.03, 82), (0.2, 83)] {
        let pair = Pair {
            effect: 0.0,
            still: [still; 2],
            couples: 12,
        };
        let mut machine = Machine::new(seed);
        let plan = LookPlan::standard(0.05);
        let [before, after] = pair.called(&mut machine, &plan, rounds, &CALLS);
        let most = at_most(0.05, rounds);
        assert!(
            after <= before && before <= most,
            "{still}: {before} {after}"
        );
    }
}

#[test]
fn what_stands_still_now_and_then_is_not_called_faster() {
    let rounds = 400;
    let standard = || LookPlan::standard(0.05);
    for (still, couples, plan, seed, most) in [
        (0.2, 40, standard(), 84, 0.01),
        (0.2, 20, standard(), 85, 0.01),
        // A short tuning of a workload that writes.
        (0.2, 12, LookPlan::one_sided(0.05), 86, 0.01),
        // Fewer of them are seen less surely: a third of the duels of twelve couples have none at all.
        (0.1, 40, standard(), 91, 0.01),
        (0.1, 20, standard(), 92, 0.08),
        (0.1, 12, LookPlan::one_sided(0.05), 93, 0.2),
        (0.05, 12, LookPlan::one_sided(0.05), 94, 0.65),
    ] {
        let pair = Pair {
            effect: 1.01f64.ln(),
            still: [0.0, still],
            couples,
        };
        let faster = [Verdict::Faster];
        let [before, after] = pair.called(&mut quiet(seed), &plan, rounds, &faster);
        // Over all time it serves 81 to 96 % of what A does.
        let told = format!("{still}, {couples} couples: {before} before, {after} after");
        assert!(before > 0.35 && after <= most, "{told}");
    }
}

#[test]
fn a_gain_beside_rare_standstills_of_both_sides_is_called_almost_as_often() {
    let rounds = 600;
    for (couples, still, seed) in [(40, 0.01, 87), (20, 0.01, 88), (12, 0.02, 89)] {
        let pair = Pair {
            effect: 1.05f64.ln(),
            still: [still; 2],
            couples,
        };
        let faster = [Verdict::Faster];
        let plan = LookPlan::standard(0.05);
        let [before, after] = pair.called(&mut Machine::new(seed), &plan, rounds, &faster);
        assert!(
            before > 0.9 && before - after <= 0.03,
            "{couples}: {before} {after}"
        );
    }
}

/// On a machine without standstills nothing is said of what is not there.
#[test]
fn that_both_figures_disagree_is_rarely_said_where_they_do_not() {
    let rounds = 1_000;
    let pair = Pair {
        effect: 0.02,
        still: [0.0; 2],
        couples: 20,
    };
    let plan = LookPlan::standard(0.05);
    let mut machine = Machine::new(90);
    let told = (0..rounds)
        .filter(|_| {
            let duels: Vec<DuelTotals> = (0..12).map(|_| pair.duel(&mut machine)).collect();
            let scores: Vec<f64> = duels.iter().map(|duel| duel.score).collect();
            let judged = judge(&scores, &plan, &Rule::default());
            let found = AllTime::of(&duels, &judged, &Rule::default());
            found.expect("a look's duels").disagrees
        })
        .count() as f64
        / rounds as f64;
    assert!(told <= at_most(0.05, rounds), "{told}");
}
