//! Wilcoxon's signed ranks: the statistic, its estimator, its interval.
//!
//! All three come from the Walsh averages (dᵢ + dⱼ)/2, i <= j: W is the number of positive averages less the number of
//! negative ones, the Hodges–Lehmann estimate is their median, and the interval ends are two of them, so that the
//! interval excludes zero exactly when W reaches its critical value (Hollander, Wolfe & Chicken,
//! *Nonparametric Statistical Methods*, 3rd ed., sections 3.1 to 3.3).

/// The n(n+1)/2 averages (dᵢ + dⱼ)/2 with i <= j, ascending.
pub(crate) fn walsh_averages(d: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(d.len() * (d.len() + 1) / 2);
    for (i, one) in d.iter().enumerate() {
        averages.extend(d[i..].iter().map(|other| (one + other) / 2.0));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The averages (wᵢdᵢ + wⱼdⱼ)/(wᵢ + wⱼ) with i <= j, ascending, for positive weights: what takes the Walsh averages' place when
/// wᵢ(dᵢ − θ) is ranked instead of dᵢ − θ. The sign of one is that of wᵢ(dᵢ − 0) + wⱼ(dⱼ − 0), so that the signed-rank sum of the
/// wᵢdᵢ is the number of positive ones less the number of negative ones, and the interval excludes zero exactly when that sum
/// reaches its critical value.
pub(crate) fn weighted_walsh_averages(d: &[f64], weights: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(d.len() * (d.len() + 1) / 2);
    let weighed: Vec<(f64, f64)> = d.iter().copied().zip(weights.iter().copied()).collect();
    for (i, (one, w)) in weighed.iter().enumerate() {
        let pairs = weighed[i..].iter();
        averages.extend(pairs.map(|(other, v)| (w * one + v * other) / (w + v)));
    }
    averages.sort_unstable_by(f64::total_cmp);
    averages
}

/// The median of the Walsh averages: a location estimate that a few wild values hardly move, at 95 % of the
/// mean's efficiency under normal noise. `None` of nothing.
pub fn hodges_lehmann(d: &[f64]) -> Option<f64> {
    middle(&walsh_averages(d))
}

/// The median of values in ascending order.
pub(crate) fn middle(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[half]),
        _ => Some((sorted[half - 1] + sorted[half]) / 2.0),
    }
}

/// W = Σ rank|d| · sign(d).
///
/// Equal magnitudes share the mean of their ranks. Zeros are ranked with the rest and then count for nothing (Pratt,
/// 1959): that keeps W equal to the number of positive less the number of negative Walsh averages. Under the
/// hypothesis of no difference both can only lower the variance of W, so the critical values stay valid.
pub(crate) fn signed_rank_sum(d: &[f64]) -> f64 {
    let mut ordered = d.to_vec();
    ordered.sort_unstable_by(|x, y| x.abs().total_cmp(&y.abs()));
    let mut before = 0;
    let mut w = 0.0;
    for tied in ordered.chunk_by(|x, y| x.abs() == y.abs()) {
        let midrank = before as f64 + (tied.len() + 1) as f64 / 2.0;
        let positive = tied.iter().filter(|x| **x > 0.0).count() as f64;
        let negative = tied.iter().filter(|x| **x < 0.0).count() as f64;
        w += midrank * (positive - negative);
        before += tied.len();
    }
    w
}

/// The centres of location that |W| >= `critical` does not reject: the (q+1)-th smallest and (q+1)-th largest Walsh
/// average, q = (M − c)/2, M = n(n+1)/2. Unbounded (−∞, +∞) where q < 0: nothing could be rejected.
pub fn interval(d: &[f64], critical: u32) -> (f64, f64) {
    interval_of(&walsh_averages(d), critical)
}

/// [`interval`] when the Walsh averages, ascending, are at hand.
pub(crate) fn interval_of(walsh: &[f64], critical: u32) -> (f64, f64) {
    let Some(spare) = walsh.len().checked_sub(critical as usize) else {
        return (f64::NEG_INFINITY, f64::INFINITY);
    };
    // W moves in steps of two: where c has the other parity the next value up is meant.
    let q = spare / 2;
    match (walsh.get(q), walsh.len().checked_sub(q + 1)) {
        (Some(low), Some(high)) if q <= high => (*low, walsh[high]),
        // c = 0 of an even number of averages: the two in the middle, in order.
        (Some(low), Some(high)) => (walsh[high], *low),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    }
}

/// Standard deviation of W for n observations without a difference: √(n(n+1)(2n+1)/6).
pub(crate) fn signed_rank_sd(n: usize) -> f64 {
    let n = n as f64;
    (n * (n + 1.0) * (2.0 * n + 1.0) / 6.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_a_hand_computed_example() {
        let d = [1.0, -2.0, 4.0];
        assert_eq!(walsh_averages(&d), [-2.0, -0.5, 1.0, 1.0, 2.5, 4.0]);
        assert_eq!(hodges_lehmann(&d), Some(1.0));
        assert_eq!(signed_rank_sum(&d), 1.0 - 2.0 + 3.0);
        assert_eq!(interval(&d, 6), (-2.0, 4.0));
        assert_eq!(interval(&d, 2), (1.0, 1.0));
        assert_eq!(interval(&d, 0), (1.0, 1.0));
        assert_eq!(interval(&d, 7), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn estimates_of_an_empty_sample_are_none() {
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(signed_rank_sum(&[]), 0.0);
        assert_eq!(interval(&[], 0), (f64::NEG_INFINITY, f64::INFINITY));
    }

    #[test]
    fn w_counts_walsh_averages_with_ties_and_zeros_too() {
        for d in [
            vec![0.3, -0.3, 0.3, 0.1, 0.0, -0.7],
            vec![0.0, 0.0, 1.0, -1.0, 2.0],
            vec![-0.2, -0.2, 0.1, 0.5],
        ] {
            let walsh = walsh_averages(&d);
            let signs = walsh.iter().filter(|x| **x > 0.0).count() as f64
                - walsh.iter().filter(|x| **x < 0.0).count() as f64;
            assert_eq!(signed_rank_sum(&d), signs, "{d:?}");
        }
    }

    #[test]
    fn interval_excludes_zero_exactly_when_w_is_critical() {
        // Every assignment of signs to ten magnitudes.
        for signs in 0..1u32 << 10 {
            let d: Vec<f64> = (0..10)
                .map(|i| {
                    let magnitude = 1.0 + f64::from(i).powf(1.3);
                    if signs >> i & 1 == 1 {
                        magnitude
                    } else {
                        -magnitude
                    }
                })
                .collect();
            let w = signed_rank_sum(&d);
            let walsh = walsh_averages(&d);
            for critical in [31, 39, 45, 55] {
                let (low, high) = interval_of(&walsh, critical);
                assert_eq!(w >= f64::from(critical), low > 0.0);
                assert_eq!(w <= -f64::from(critical), high < 0.0);
            }
        }
    }
}
