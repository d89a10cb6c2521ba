//! The Universal Scalability Law: how throughput grows, levels off and falls with the number of threads.
//!
//! X(N) = λN / (1 + σ(N − 1) + κN(N − 1)): λ is the throughput of one thread, σ ≥ 0 the contention (a share of the
//! work that is serial, Amdahl's), κ ≥ 0 the coherency (every pair of threads costs something). Gunther, *Guerrilla
//! Capacity Planning* (2007), chapter 4. The peak is at N* = √((1 − σ)/κ).
//!
//! Fitted by least squares on ln X, so that every thread count weighs alike, with σ and κ held to what they mean.
//! Intervals by profile likelihood: all values of a parameter at which the best fit of the others is not worse than
//! the F test allows (Bates & Watts, *Nonlinear Regression Analysis*, 1988, section 6.1). Unlike standard errors they
//! do not promise more than the data at a bound, where a curve without a peak puts κ.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::interval_estimate::IntervalEstimate;
use crate::student;

/// Parameters of the law.
const PARAMETERS: usize = 3;
/// Points of the grid that a one-dimensional search begins with.
const GRID: usize = 16;
/// Steps of golden section behind it: each narrows to 0.618, all of them to 1e-4 of two grid cells.
const STEPS: usize = 20;
/// Bisections for an end of an interval.
const BISECTIONS: usize = 20;
/// A misfit is told when the lack of fit would be this rare by chance.
const MISFIT: f64 = 0.01;

/// Throughput of one fresh start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Start {
    /// Threads.
    pub threads: f64,
    /// Transactions per second, above 0.
    pub throughput: f64,
}

/// The law as fitted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scalability {
    /// Throughput of one thread, in the unit of the data.
    pub lambda: IntervalEstimate,
    /// Contention, 0 to 1.
    pub sigma: IntervalEstimate,
    /// Coherency, 0 to 1.
    pub kappa: IntervalEstimate,
    /// Threads at the peak, √((1 − σ)/κ); infinite when κ is 0.
    pub peak_threads: IntervalEstimate,
    /// Root mean square of the residuals of ln X.
    pub residual: f64,
    /// The curve misses the means by more than starts at the same thread count differ by (F test at 1 %).
    pub misfit: bool,
}

impl Scalability {
    /// Throughput at `threads` threads.
    pub fn at(&self, threads: f64) -> f64 {
        self.lambda.value * shape(threads, self.sigma.value, self.kappa.value)
    }

    /// Throughput at the peak; its limit λ/σ where there is none, infinite without contention.
    pub fn peak(&self) -> f64 {
        if self.peak_threads.value.is_finite() {
            self.at(self.peak_threads.value.max(1.0))
        } else {
            self.lambda.value / self.sigma.value
        }
    }
}

/// N / (1 + σ(N − 1) + κN(N − 1)).
fn shape(n: f64, sigma: f64, kappa: f64) -> f64 {
    n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0))
}

/// Fits the law to fresh starts; intervals cover at 1 − `alpha`. `None` with fewer than three thread counts, without
/// a start more than parameters, or with a throughput that is not positive.
pub fn scalability(starts: &[Start], alpha: f64) -> Option<Scalability> {
    let mut counts: Vec<f64> = starts.iter().map(|start| start.threads).collect();
    counts.sort_by(f64::total_cmp);
    counts.dedup();
    let sound = starts.iter().all(|start| {
        start.threads >= 1.0 && start.throughput > 0.0 && start.throughput.is_finite()
    });
    if counts.len() < PARAMETERS || starts.len() <= PARAMETERS || !sound {
        return None;
    }
    let data = Data::of(starts);
    let (best_s, best_k, least) = data.best(None);
    let (sigma, kappa) = (of_s(best_s), of_k(best_k));
    let df = (starts.len() - PARAMETERS) as f64;
    let t = student::quantile(1.0 - alpha / 2.0, df);
    // Figures without any noise leave nothing to divide by: rounding is allowed for.
    let limit = least * (1.0 + t * t / df) + 1e-18 * starts.len() as f64;

    let of_sigma = |s: f64| minimum(|k| data.rss(of_s(s), of_k(k), None)).1;
    let of_kappa = |k: f64| minimum(|s| data.rss(of_s(s), of_k(k), None)).1;
    // κ = (1 − σ)/N*²: the third way to cut through the same plane.
    let of_peak = |u: f64| {
        minimum(|s| {
            let sigma = of_s(s);
            data.rss(sigma, (1.0 - sigma) * of_k(u), None)
        })
        .1
    };
    let of_lambda = |log: f64| data.best(Some(log)).2;

    let sigma_ends = within(best_s, limit, of_sigma);
    let kappa_ends = within(best_k, limit, of_kappa);
    let share = if sigma < 1.0 {
        kappa / (1.0 - sigma)
    } else {
        1.0
    };
    let peak_ends = within(k_of(share.min(1.0)), limit, of_peak);
    let log_lambda = data.log_lambda(sigma, kappa);
    let lambda_ends = around(log_lambda, limit, of_lambda);
    let threads_at = |u: f64| 1.0 / of_k(u).sqrt();
    Some(Scalability {
        lambda: estimate(log_lambda.exp(), lambda_ends.0.exp(), lambda_ends.1.exp()),
        sigma: estimate(sigma, of_s(sigma_ends.0), of_s(sigma_ends.1)),
        kappa: estimate(kappa, of_k(kappa_ends.0), of_k(kappa_ends.1)),
        peak_threads: estimate(
            (1.0 / share).sqrt(),
            threads_at(peak_ends.1),
            threads_at(peak_ends.0),
        ),
        residual: (least / starts.len() as f64).sqrt(),
        misfit: data.misfit(&counts, least),
    })
}

fn estimate(value: f64, low: f64, high: f64) -> IntervalEstimate {
    IntervalEstimate {
        value,
        low: low.min(value),
        high: high.max(value),
    }
}

/// Searches run over [0, 1] with room where small values live.
fn of_s(s: f64) -> f64 {
    s * s
}

fn of_k(k: f64) -> f64 {
    k.powi(4)
}

fn k_of(kappa: f64) -> f64 {
    kappa.max(0.0).powf(0.25)
}

struct Data {
    /// Threads and ln X.
    points: Vec<(f64, f64)>,
}

impl Data {
    fn of(starts: &[Start]) -> Self {
        let points = starts.iter();
        Self {
            points: points
                .map(|start| (start.threads, start.throughput.ln()))
                .collect(),
        }
    }

    /// The λ that suits σ and κ best, its logarithm.
    fn log_lambda(&self, sigma: f64, kappa: f64) -> f64 {
        let sum: f64 = self
            .points
            .iter()
            .map(|(n, y)| y - shape(*n, sigma, kappa).ln())
            .sum();
        sum / self.points.len() as f64
    }

    /// Residual sum of squares; with the best λ, or with one given by its logarithm.
    fn rss(&self, sigma: f64, kappa: f64, log_lambda: Option<f64>) -> f64 {
        let log_lambda = log_lambda.unwrap_or_else(|| self.log_lambda(sigma, kappa));
        self.points
            .iter()
            .map(|(n, y)| (y - log_lambda - shape(*n, sigma, kappa).ln()).powi(2))
            .sum()
    }

    /// The best σ and κ in the searches' scale, and their residual sum of squares.
    fn best(&self, log_lambda: Option<f64>) -> (f64, f64, f64) {
        let over_k = |s: f64| minimum(|k| self.rss(of_s(s), of_k(k), log_lambda));
        let (s, least) = minimum(|s| over_k(s).1);
        (s, over_k(s).0, least)
    }

    /// Lack of fit against the differences between starts at the same thread count (Draper & Smith, *Applied
    /// Regression Analysis*, section 2.1).
    fn misfit(&self, counts: &[f64], rss: f64) -> bool {
        let mut pure = 0.0;
        for count in counts {
            let own: Vec<f64> = self
                .points
                .iter()
                .filter(|(n, _)| n == count)
                .map(|(_, y)| *y)
                .collect();
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            pure += own.iter().map(|y| (y - mean).powi(2)).sum::<f64>();
        }
        let df_pure = self.points.len() - counts.len();
        let df_lack = counts.len() - PARAMETERS;
        if df_pure == 0 || df_lack == 0 || pure <= 0.0 {
            return false;
        }
        let (df_lack, df_pure) = (df_lack as f64, df_pure as f64);
        let f = ((rss - pure).max(0.0) / df_lack) / (pure / df_pure);
        FisherSnedecor::new(df_lack, df_pure).is_ok_and(|fisher| 1.0 - fisher.cdf(f) < MISFIT)
    }
}

/// Where `f` is least on [0, 1], and how much that is: a grid, then golden section beside its best point.
fn minimum(f: impl Fn(f64) -> f64) -> (f64, f64) {
    let at = |i: usize| i as f64 / GRID as f64;
    let mut best = (0.0, f(0.0));
    for i in 1..=GRID {
        let value = f(at(i));
        if value < best.1 {
            best = (at(i), value);
        }
    }
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let cell = 1.0 / GRID as f64;
    let (mut low, mut high) = ((best.0 - cell).max(0.0), (best.0 + cell).min(1.0));
    let (mut one, mut two) = (high - golden * (high - low), low + golden * (high - low));
    let (mut of_one, mut of_two) = (f(one), f(two));
    for _ in 0..STEPS {
        if of_one <= of_two {
            high = two;
            (two, of_two) = (one, of_one);
            one = high - golden * (high - low);
            of_one = f(one);
        } else {
            low = one;
            (one, of_one) = (two, of_two);
            two = low + golden * (high - low);
            of_two = f(two);
        }
    }
    for (place, value) in [(one, of_one), (two, of_two)] {
        if value < best.1 {
            best = (place, value);
        }
    }
    best
}

/// The stretch of [0, 1] around `best` in which `profile` stays within `limit`.
fn within(best: f64, limit: f64, profile: impl Fn(f64) -> f64) -> (f64, f64) {
    let end = |bound: f64| {
        if profile(bound) <= limit {
            return bound;
        }
        bisect(best, bound, limit, &profile)
    };
    (end(0.0), end(1.0))
}

/// The same on an axis without bounds.
fn around(best: f64, limit: f64, profile: impl Fn(f64) -> f64) -> (f64, f64) {
    let end = |direction: f64| {
        let mut step = 0.01;
        while profile(best + direction * step) <= limit {
            step *= 2.0;
            // e¹⁰⁰: nothing bounds it.
            if step > 100.0 {
                return direction * f64::INFINITY;
            }
        }
        bisect(best, best + direction * step, limit, &profile)
    };
    (end(-1.0), end(1.0))
}

fn bisect(mut inside: f64, mut outside: f64, limit: f64, profile: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(inside, outside);
        if profile(middle) <= limit {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    // The outer side of the last step: the interval is never too short for want of steps.
    outside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn starts(lambda: f64, sigma: f64, kappa: f64, counts: &[u32]) -> Vec<Start> {
        counts
            .iter()
            .flat_map(|&n| {
                let n = f64::from(n);
                [n; 2].map(|threads| Start {
                    threads,
                    throughput: lambda * shape(threads, sigma, kappa),
                })
            })
            .collect()
    }

    fn near(found: f64, wanted: f64, share: f64) {
        assert!((found / wanted - 1.0).abs() < share, "{found} for {wanted}");
    }

    #[test]
    fn a_law_without_noise_is_found_again() {
        for (sigma, kappa) in [(0.05, 1e-3), (0.3, 1e-5), (0.01, 0.02)] {
            let data = starts(350.0, sigma, kappa, &[1, 2, 4, 8, 16, 32, 64, 128]);
            let law = scalability(&data, 0.05).expect("enough");
            near(law.lambda.value, 350.0, 0.001);
            near(law.sigma.value, sigma, 0.01);
            near(law.kappa.value, kappa, 0.01);
            near(law.peak_threads.value, ((1.0 - sigma) / kappa).sqrt(), 0.01);
            near(law.peak(), law.at(law.peak_threads.value), 1e-9);
            assert!(law.residual < 1e-4 && !law.misfit);
        }
    }

    #[test]
    fn a_curve_without_a_peak_has_none() {
        // Amdahl's law: κ = 0.
        let mut data = starts(100.0, 0.1, 0.0, &[1, 2, 4, 8, 16, 32]);
        for (i, start) in data.iter_mut().enumerate() {
            start.throughput *= 1.0 + 0.01 * if i % 2 == 0 { 1.0 } else { -1.0 };
        }
        let law = scalability(&data, 0.05).expect("enough");
        assert_eq!(law.kappa.low, 0.0);
        assert_eq!(law.peak_threads.high, f64::INFINITY);
        assert!(law.peak_threads.low > 16.0, "{law:?}");
    }

    #[test]
    fn too_few_points_give_no_scalability_law() {
        assert_eq!(scalability(&starts(1.0, 0.1, 0.0, &[1, 2]), 0.05), None);
        assert_eq!(scalability(&[], 0.05), None);
        let mut data = starts(1.0, 0.1, 0.0, &[1, 2, 4]);
        assert!(scalability(&data, 0.05).is_some());
        data[0].throughput = 0.0;
        assert_eq!(scalability(&data, 0.05), None);
    }

    #[test]
    fn a_curve_of_another_shape_is_called_a_misfit() {
        // A step: full speed up to 4 threads, a third of it from 8 on.
        let data: Vec<Start> = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
            .iter()
            .flat_map(|&threads: &f64| {
                let level = if threads < 8.0 {
                    100.0 * threads
                } else {
                    130.0
                };
                [0.99, 1.0, 1.01].map(|noise| Start {
                    threads,
                    throughput: level * noise,
                })
            })
            .collect();
        assert!(scalability(&data, 0.05).expect("enough").misfit);
    }
}
