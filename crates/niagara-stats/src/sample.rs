//! Medians, percentiles and the spread of a sample.

/// The middle value, or the mean of the middle two. `None` of nothing.
pub fn median(values: &[f64]) -> Option<f64> {
    percentile(values, 50.0)
}

/// The geometric means of both figures of pairs, whose quotient is the geometric mean of the pairs' ratios. Pairs with a figure that is not
/// above 0 and finite are left out. `None` of nothing.
pub fn geometric_means(pairs: impl IntoIterator<Item = [f64; 2]>) -> Option<[f64; 2]> {
    let has_logs = |pair: &[f64; 2]| {
        pair.iter()
            .all(|&figure| figure.is_finite() && figure > 0.0)
    };
    let logs = pairs.into_iter().filter(has_logs);
    let logs: Vec<[f64; 2]> = logs.map(|pair| pair.map(f64::ln)).collect();
    let mean = |side: usize| logs.iter().map(|pair| pair[side]).sum::<f64>() / logs.len() as f64;
    (!logs.is_empty()).then(|| [0, 1].map(|side| mean(side).exp()))
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
    fn the_quotient_of_geometric_means_is_that_of_the_ratios() {
        let [first, second] =
            geometric_means([[1.0, 2.0], [4.0, 32.0], [0.0, 1.0]]).expect("two pairs");
        assert!((first - 2.0).abs() < 1e-12 && (second - 8.0).abs() < 1e-12);
        assert_eq!(geometric_means([[0.0, 0.0], [1.0, f64::NAN]]), None);
    }
}
