//! Medians, percentiles and the spread of a sample.

/// The middle value, or the mean of the middle two. `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 50.0)
}

/// The pair whose ratio, second over first, is in the middle; of an even number the lower of the middle two. Pairs without a ratio above
/// 0 are left out. `None` of nothing.
pub fn middle_pair(pairs: impl IntoIterator<Item = [f64; 2]>) -> Option<[f64; 2]> {
    let ratio = |[first, second]: &[f64; 2]| second / first;
    let has_ratio = |pair: &[f64; 2]| ratio(pair).is_finite() && ratio(pair) > 0.0;
    let mut pairs: Vec<[f64; 2]> = pairs.into_iter().filter(has_ratio).collect();
    pairs.sort_by(|one, other| ratio(one).total_cmp(&ratio(other)));
    pairs.get(pairs.len().checked_sub(1)? / 2).copied()
}

/// The `p`-th percentile (0 to 100), linear between neighbours (type 7 of Hyndman & Fan, 1996,
/// the default of R and NumPy). `None` of nothing.
pub(crate) fn percentile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = (p / 100.0).clamp(0.0, 1.0) * last as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    if part == 0.0 {
        return Some(sorted[below]);
    }
    Some(sorted[below] * (1.0 - part) + sorted[below + 1] * part)
}

/// √(Σ(x − x̄)²/(n − 1)). `None` of fewer than two.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    Some((squares / (n - 1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_small_samples() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(percentile(&[1.0, 2.0, 3.0, 4.0, 5.0], 95.0), Some(4.8));
        assert_eq!(percentile(&[1.0, 2.0], 100.0), Some(2.0));
        assert_eq!(standard_deviation(&[1.0]), None);
        assert_eq!(standard_deviation(&[1.0, 2.0, 3.0]), Some(1.0));
    }

    #[test]
    fn the_middle_pair_is_that_of_the_middle_ratio() {
        let pairs = [[100.0, 130.0], [10.0, 11.0], [50.0, 60.0], [0.0, 5.0]];
        assert_eq!(middle_pair(pairs), Some([50.0, 60.0]));
        assert_eq!(middle_pair([[2.0, 4.0], [2.0, 2.0]]), Some([2.0, 2.0]));
        assert_eq!(middle_pair([[0.0, 0.0], [1.0, f64::NAN]]), None);
    }
}
