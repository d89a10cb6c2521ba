//! Many questions at once: p values adjusted so that all of them together are wrong with a given probability.

use crate::student;

/// p values adjusted by Holm's step-down method (Holm, 1979): those at most α are called, and the probability that any of
/// them is called wrongly is at most α, however they depend on each other.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut greatest = 0.0_f64;
    for (rank, &place) in order.iter().enumerate() {
        let times = (p_values.len() - rank) as f64;
        greatest = greatest.max((p_values[place] * times).min(1.0));
        adjusted[place] = greatest;
    }
    adjusted
}

/// p value of Student's t test, two-sided, that the mean of `values` is 0. `None` of fewer than three; values that are all
/// the same say nothing of their spread.
pub fn p_of_zero_mean(values: &[f64]) -> Option<f64> {
    if values.len() < 3 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let std_err = crate::standard_deviation(values)? / n.sqrt();
    if std_err <= 0.0 {
        return None;
    }
    let t = (mean / std_err).abs();
    Some(2.0 * (1.0 - student::cdf(t, n - 1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_by_hand() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[]), Vec::<f64>::new());
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
    }

    #[test]
    fn a_mean_that_is_not_zero_is_seen() {
        assert_eq!(p_of_zero_mean(&[1.0, 2.0]), None);
        assert_eq!(p_of_zero_mean(&[1.0, 1.0, 1.0]), None);
        // t = 5, 4 degrees of freedom.
        let values = [0.5, 1.0, 1.5, 1.0, 1.0].map(|x: f64| x);
        let p = p_of_zero_mean(&values);
        assert!(p.is_some_and(|p| (0.001..0.01).contains(&p)), "{p:?}");
        let p = p_of_zero_mean(&[-1.0, 1.0, -0.5, 0.5]);
        assert!(p.is_some_and(|p| p > 0.9), "{p:?}");
    }
}
