//! How long a fresh server is loaded before anything counts.

use crate::sample::median;

const BATCH: usize = 5;
/// Batches at the end of a curve that are never judged alone: the variance of so few is small by chance
/// (Hoad, Robinson & Davies, *J. Operational Research Society* 61, 2010).
const SPARED: usize = 5;

/// The warm-up of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WarmUp {
    /// Observations to load before measuring: twice what MSER-5 cuts.
    pub cut: usize,
    /// Whether the curves were long enough to tell: MSER-5 cut less than their first half.
    pub steady: bool,
}

/// Observations to cut from the start of a series: the k that minimises the squared standard error of the mean of what
/// remains, Σ(y − ȳ)²/m², over means of five (White, Cobb & Spratt, 2000). A multiple of five; 0 of a series too short
/// to judge (under 30 observations).
pub(crate) fn mser5(series: &[f64]) -> usize {
    let batches: Vec<f64> = series
        .chunks_exact(BATCH)
        .map(|batch| batch.iter().sum::<f64>() / BATCH as f64)
        .collect();
    let mut best = (f64::INFINITY, 0);
    for cut in 0..batches.len().saturating_sub(SPARED) {
        let rest = &batches[cut..];
        let count = rest.len() as f64;
        let mean = rest.iter().sum::<f64>() / count;
        let squares: f64 = rest.iter().map(|y| (y - mean).powi(2)).sum();
        let statistic = squares / (count * count);
        if statistic < best.0 {
            best = (statistic, cut);
        }
    }
    best.1 * BATCH
}

/// MSER-5 on the pooled median curve of several starts (rates at equal intervals from the start), as long as the
/// shortest of them; twice its cut is used. Not steady: load for longer, and ask again.
pub fn warm_up_cut(curves: &[Vec<f64>]) -> WarmUp {
    let length = curves.iter().map(Vec::len).min().unwrap_or(0);
    let pooled: Vec<f64> = (0..length)
        .filter_map(|i| {
            let at: Vec<f64> = curves.iter().map(|curve| curve[i]).collect();
            median(&at)
        })
        .collect();
    let cut = mser5(&pooled);
    WarmUp {
        cut: 2 * cut,
        steady: length / BATCH > SPARED && 2 * cut < length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;
    use rand_distr::{Distribution, Normal};

    /// 1000 per second, reached as 1 − e^(−t/τ).
    fn curve(length: usize, tau: f64, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let noise = Normal::new(0.0, 20.0).expect("a positive width");
        (0..length)
            .map(|t| 1000.0 * (1.0 - (-(t as f64) / tau).exp()) + noise.sample(&mut rng))
            .collect()
    }

    #[test]
    fn the_rise_is_taken_for_warm_up() {
        let cut = mser5(&curve(200, 8.0, 1));
        // After 25 observations 4 % are missing, after 40 under 1 %.
        assert!((20..=45).contains(&cut), "{cut}");
        assert!(mser5(&curve(200, 0.1, 2)) <= 10);
    }

    #[test]
    fn several_starts_pool_and_twice_is_used() {
        let (mut cuts, mut unsure) = (Vec::new(), 0);
        for study in 0..20 {
            let starts = 5 * study..5 * study + 5;
            let curves: Vec<Vec<f64>> = starts.map(|seed| curve(200, 8.0, seed)).collect();
            let warm_up = warm_up_cut(&curves);
            assert!(warm_up.cut >= 50, "{warm_up:?}");
            unsure += usize::from(!warm_up.steady);
            cuts.push(warm_up.cut as f64);
        }
        let typical = median(&cuts).expect("twenty of them");
        assert!((60.0..=110.0).contains(&typical), "{cuts:?}");
        // Now and then chance flattens the end of a steady curve most.
        assert!(unsure <= 3, "{cuts:?}");
    }

    #[test]
    fn still_rising_is_not_steady() {
        let curves: Vec<Vec<f64>> = (0..3).map(|seed| curve(60, 60.0, seed)).collect();
        assert!(!warm_up_cut(&curves).steady);
        assert!(!warm_up_cut(&[vec![1.0; 20]]).steady);
        assert!(!warm_up_cut(&[]).steady);
    }
}
