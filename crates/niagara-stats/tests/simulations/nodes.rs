//! Several machines: false calls where they are unequally noisy, with duels lost, with a lever whose effect differs by machine.

use niagara_stats::{
    Judgement, LookPlan, MIN_NODES, MachineDuel, MachineTrial, Rule, Verdict, heterogeneity, judge,
    judge_on_nodes, unfit, unfit_by_trial,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::at_most;

/// Standard deviations of a duel's score on four machines.
const UNEQUAL: [f64; 4] = [0.01, 0.01, 0.02, 0.06];

struct Machines {
    rng: ChaCha8Rng,
    sd: Vec<f64>,
    effect: Vec<f64>,
    /// Machines that are to come in this block.
    block: Vec<usize>,
}

impl Machines {
    fn new(seed: u64, sd: &[f64], effect: Vec<f64>) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            sd: sd.to_vec(),
            effect,
            block: Vec::new(),
        }
    }

    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    /// The next duel by permuted blocks over the machines.
    fn duel(&mut self) -> (f64, usize) {
        if self.block.is_empty() {
            self.block = (0..self.sd.len()).collect();
        }
        let place = self.rng.random_range(0..self.block.len());
        let node = self.block.swap_remove(place);
        (self.effect[node] + self.sd[node] * self.normal(), node)
    }
}

const CALLS: [Verdict; 2] = [Verdict::Faster, Verdict::Slower];

fn is_call(judgement: &Judgement) -> bool {
    judgement
        .verdict
        .is_some_and(|verdict| CALLS.contains(&verdict))
}

/// Fights until a verdict; each duel is lost, and run again, with probability `lost`, whatever it showed.
fn fight(machines: &mut Machines, lost: f64, weighted: bool) -> Judgement {
    let plan = LookPlan::standard(0.05);
    let (mut scores, mut nodes) = (Vec::new(), Vec::new());
    loop {
        let judgement = match weighted {
            true => judge_on_nodes(&scores, &nodes, &plan, &Rule::default()),
            false => judge(&scores, &plan, &Rule::default()),
        };
        let Some(next) = judgement.next_look.filter(|_| judgement.verdict.is_none()) else {
            return judgement;
        };
        while scores.len() < next {
            let (score, node) = machines.duel();
            if machines.rng.random::<f64>() >= lost {
                scores.push(score);
                nodes.push(node);
            }
        }
    }
}

fn called(seed: u64, effect: f64, lost: f64, weighted: bool, rounds: usize) -> (f64, f64) {
    let mut machines = Machines::new(seed, &UNEQUAL, vec![effect; 4]);
    let judgements: Vec<Judgement> = (0..rounds)
        .map(|_| fight(&mut machines, lost, weighted))
        .collect();
    let calls = judgements
        .iter()
        .filter(|judgement| is_call(judgement))
        .count();
    let duels: usize = judgements.iter().map(|judgement| judgement.duels).sum();
    (calls as f64 / rounds as f64, duels as f64 / rounds as f64)
}

#[test]
fn unequal_machines_are_not_called_different_more_often() {
    let rounds = 4_000;
    for (seed, lost) in [(31, 0.0), (32, 0.3)] {
        let (share, _) = called(seed, 0.0, lost, true, rounds);
        println!("identical variants, {lost} lost: {share}");
        assert!(share <= at_most(0.05, rounds), "{lost}: {share}");
    }
}

#[test]
fn without_giving_up_unequal_machines_keep_the_error_probability() {
    let rounds = 8_000;
    let plan = LookPlan::standard(0.05);
    let rule = Rule {
        min_effect: f64::NEG_INFINITY,
        futility: 0.0,
        to_the_end: false,
    };
    let mut machines = Machines::new(33, &UNEQUAL, vec![0.0; 4]);
    let calls = (0..rounds)
        .filter(|_| {
            let duels: Vec<(f64, usize)> = (0..44).map(|_| machines.duel()).collect();
            let (scores, nodes): (Vec<f64>, Vec<usize>) = duels.into_iter().unzip();
            is_call(&judge_on_nodes(&scores, &nodes, &plan, &rule))
        })
        .count();
    let share = calls as f64 / rounds as f64;
    println!("identical variants to the end: {share}");
    assert!(share <= at_most(0.05, rounds), "{share}");
}

/// A machine whose duels are far noisier within than those of the others gets no more of them, what it has run counts: identical
/// variants are not called different more often, though such a duel is also one that shows much.
#[test]
fn machines_set_aside_for_their_noise_do_not_bias() {
    let rounds = 4_000;
    let plan = LookPlan::standard(0.05);
    let rule = Rule {
        to_the_end: true,
        ..Rule::default()
    };
    let sd = [0.01, 0.01, 0.01, 0.08];
    let (mut calls, mut faster, mut aside) = (0, 0, 0);
    for round in 0..rounds {
        let mut machines = Machines::new(4_100_000 + round as u64, &sd, vec![0.0; 4]);
        let (mut scores, mut nodes, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        let mut without: Vec<usize> = Vec::new();
        while scores.len() < 44 {
            let (score, node) = machines.duel();
            if without.contains(&node) {
                continue;
            }
            scores.push(score);
            nodes.push(node);
            seen.push(MachineDuel {
                node,
                taken: 0.0,
                spread: Some(sd[node] + score.abs()),
            });
            without.extend(unfit(&seen).into_iter().map(|(node, _)| node));
        }
        aside += usize::from(without.contains(&3));
        let judgement = judge_on_nodes(&scores, &nodes, &plan, &rule);
        calls += usize::from(is_call(&judgement));
        faster += usize::from(judgement.verdict == Some(Verdict::Faster));
    }
    let share = |count: usize| count as f64 / rounds as f64;
    println!(
        "machines set aside in {}: identical variants called {}, faster {}",
        share(aside),
        share(calls),
        share(faster)
    );
    assert!(share(aside) > 0.5, "{}", share(aside));
    assert!(share(calls) <= at_most(0.05, rounds), "{}", share(calls));
    assert!(share(faster) <= at_most(0.025, rounds), "{}", share(faster));
}

/// A trial of ten couples on a machine: `sd` is that of a duel's score, half of whose variance comes with its two starts.
fn trial(machines: &mut Machines, sd: f64) -> Vec<f64> {
    let start = sd / 2.0_f64.sqrt();
    let couple = start * 10.0_f64.sqrt();
    let middle = start * machines.normal();
    (0..10)
        .map(|_| middle + couple * machines.normal())
        .collect()
}

/// Machines that are left out after a trial of each: by the same ratios with every sign changed, the same ones.
fn left_out(machines: &mut Machines, sd: &[f64]) -> Vec<usize> {
    let ratios: Vec<Vec<f64>> = sd.iter().map(|sd| trial(machines, *sd)).collect();
    let by = |sign: f64| -> Vec<usize> {
        let trials: Vec<Option<MachineTrial>> = ratios
            .iter()
            .map(|ratios| {
                let ratios: Vec<f64> = ratios.iter().map(|ratio| sign * ratio).collect();
                Some(MachineTrial::of(&ratios, 0.0))
            })
            .collect();
        let found = unfit_by_trial(&trials).into_iter();
        found.map(|(node, _)| node).collect()
    };
    assert_eq!(by(1.0), by(-1.0));
    by(1.0)
}

/// Machines that a comparison of a server with itself shows to be far noisier run no duel: whatever the effect on each of them is,
/// the same ones are left out, and identical variants are called different neither more often nor more often as the faster one.
#[test]
fn machines_left_out_after_a_trial_do_not_bias() {
    let rounds = 4_000;
    let plan = LookPlan::standard(0.05);
    let rule = Rule {
        to_the_end: true,
        ..Rule::default()
    };
    let sd = [0.01, 0.01, 0.01, 0.08];
    let mut without = Vec::new();
    for (effect, faster_at_most) in [(0.0, at_most(0.025, rounds)), (0.02, 1.0), (-0.02, 1.0)] {
        let (mut calls, mut faster, mut aside) = (0, 0, Vec::new());
        for round in 0..rounds {
            // The noisy machine is also the one that shows something.
            let effects = vec![0.0, 0.0, 0.0, effect];
            let mut machines = Machines::new(4_200_000 + round as u64, &sd, effects);
            let out = left_out(&mut machines, &sd);
            let (mut scores, mut nodes) = (Vec::new(), Vec::new());
            while scores.len() < 44 {
                let (score, node) = machines.duel();
                if !out.contains(&node) {
                    scores.push(score);
                    nodes.push(node);
                }
            }
            aside.push(out);
            let judgement = judge_on_nodes(&scores, &nodes, &plan, &rule);
            calls += usize::from(is_call(&judgement));
            faster += usize::from(judgement.verdict == Some(Verdict::Faster));
        }
        let share = |count: usize| count as f64 / rounds as f64;
        let noisy = aside.iter().filter(|out| out.contains(&3)).count();
        let others = aside.iter().filter(|out| out.iter().any(|node| *node != 3));
        println!(
            "effect {effect} on the noisy machine, left out in {}, another one in {}: called {}, faster {}",
            share(noisy),
            share(others.count()),
            share(calls),
            share(faster)
        );
        assert!(share(noisy) > 0.5, "{}", share(noisy));
        assert!(share(faster) <= faster_at_most, "{}", share(faster));
        if effect == 0.0 {
            assert!(share(calls) <= at_most(0.05, rounds), "{}", share(calls));
            without = aside;
        } else {
            assert_eq!(aside, without, "by the effect");
        }
    }
    let mut machines = Machines::new(43, &[0.01; 4], vec![0.0; 4]);
    let alike = (0..rounds).filter(|_| !left_out(&mut machines, &[0.01; 4]).is_empty());
    let alike = alike.count() as f64 / rounds as f64;
    println!("machines that are alike: one left out in {alike}");
    assert!(alike <= 0.01, "{alike}");
}

#[test]
fn weights_find_a_gain_more_often_and_sooner() {
    let rounds = 2_000;
    let (plain, plain_duels) = called(34, 0.008, 0.0, false, rounds);
    let (weighted, weighted_duels) = called(34, 0.008, 0.0, true, rounds);
    println!("+0.8 %: {plain} after {plain_duels}, weighted {weighted} after {weighted_duels}");
    assert!(weighted > plain, "{weighted} {plain}");
    assert!(
        weighted_duels < plain_duels,
        "{weighted_duels} {plain_duels}"
    );
}

/// A lever that helps on some machines and hurts on others, nothing on average: what is called is true of these machines. The
/// interval over machines like these says so in 95 of 100 cases.
#[test]
fn a_lever_that_differs_by_machine_is_told_by_the_interval_over_machines() {
    let rounds = 2_000;
    for (seed, count) in [(35, 4), (36, MIN_NODES), (37, 16)] {
        let mut effects = Machines::new(seed, &[1.0], vec![0.0]);
        let (mut calls, mut covered) = (0, 0);
        for round in 0..rounds {
            let effect = (0..count).map(|_| 0.01 * effects.normal()).collect();
            let seed = seed * 100_000 + round as u64;
            let mut machines = Machines::new(seed, &vec![0.01; count], effect);
            let duels: Vec<(f64, usize)> = (0..48).map(|_| machines.duel()).collect();
            let (scores, nodes): (Vec<f64>, Vec<usize>) = duels.into_iter().unzip();
            let plan = LookPlan::standard(0.05);
            calls += usize::from(is_call(&judge_on_nodes(
                &scores,
                &nodes,
                &plan,
                &Rule::default(),
            )));
            let over = heterogeneity(&scores, &nodes, 0.05)
                .expect("several")
                .over_machines;
            covered += usize::from(over.low <= 1.0 && 1.0 <= over.high);
        }
        let (calls, covered) = (calls as f64 / rounds as f64, covered as f64 / rounds as f64);
        println!(
            "{count} machines: called on these {calls}, interval over machines covers {covered}"
        );
        assert!(
            1.0 - covered <= at_most(0.055, rounds),
            "{count}: {covered}"
        );
        assert!(count > 4 || calls > 0.1, "{count}: {calls}");
    }
}
