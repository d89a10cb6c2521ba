//! The protocol of the 2008 studies: five runs, drop the best and the worst, average three. It has no error bars.

/// The mean without the best and the worst; the plain mean of fewer than three, NaN of none.
pub fn trimmed(runs: &[f64]) -> f64 {
    let mut sorted = runs.to_vec();
    sorted.sort_by(f64::total_cmp);
    let kept = match sorted.len() {
        0..3 => &sorted[..],
        n => &sorted[1..n - 1],
    };
    kept.iter().sum::<f64>() / kept.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_and_worst_run_are_dropped() {
        assert_eq!(trimmed(&[5.0, 100.0, 1.0, 3.0, 4.0]), 4.0);
        assert_eq!(trimmed(&[1.0, 3.0]), 2.0);
        assert!(trimmed(&[]).is_nan());
    }
}
