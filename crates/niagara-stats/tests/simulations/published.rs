//! Why the protocol is what it is: the ways of comparing in common use, on identical servers on a wandering machine.

use niagara_stats::{student, trimmed};

use crate::machine::Machine;

const ROUNDS: usize = 2_000;

/// Speed wanders by about 3 % over the time of ten runs.
fn wandering(seed: u64) -> Machine {
    let mut machine = Machine::new(seed);
    machine.drift = 0.015;
    machine.slice_noise = 0.005;
    machine
}

fn runs(machine: &mut Machine, count: usize) -> Vec<f64> {
    (0..count)
        .map(|_| {
            let restart = machine.restart();
            machine.slice(restart)
        })
        .collect()
}

fn share(mut called: impl FnMut() -> bool) -> f64 {
    (0..ROUNDS).filter(|_| called()).count() as f64 / ROUNDS as f64
}

fn welch_p(a: &[f64], b: &[f64]) -> f64 {
    let moments = |x: &[f64]| {
        let n = x.len() as f64;
        let mean = x.iter().sum::<f64>() / n;
        let squares: f64 = x.iter().map(|y| (y - mean).powi(2)).sum();
        (mean, squares / (n - 1.0) / n, n)
    };
    let ((mean_a, var_a, n_a), (mean_b, var_b, n_b)) = (moments(a), moments(b));
    let var = var_a + var_b;
    let df = var * var / (var_a * var_a / (n_a - 1.0) + var_b * var_b / (n_b - 1.0));
    2.0 * (1.0 - student::cdf((mean_b - mean_a).abs() / var.sqrt(), df))
}

#[test]
fn five_runs_of_one_then_five_of_the_other_trimmed_see_what_is_not_there() {
    let mut machine = wandering(1);
    let called = share(|| {
        let (a, b) = (runs(&mut machine, 5), runs(&mut machine, 5));
        (trimmed(&b) / trimmed(&a) - 1.0).abs() >= 0.01
    });
    assert!(called > 0.5, "{called}");
}

#[test]
fn welch_on_blocks_of_runs_is_misled_by_drift() {
    let mut machine = wandering(2);
    let called = share(|| {
        let (a, b) = (runs(&mut machine, 20), runs(&mut machine, 20));
        welch_p(&a, &b) < 0.05
    });
    assert!(called > 0.4, "{called}");
    // Without drift it does what it says: the machine is to blame, not the test.
    let mut quiet = wandering(3);
    quiet.drift = 0.0;
    let called = share(|| {
        let (a, b) = (runs(&mut quiet, 20), runs(&mut quiet, 20));
        welch_p(&a, &b) < 0.05
    });
    assert!(called < 0.065, "{called}");
}
