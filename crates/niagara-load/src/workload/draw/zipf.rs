//! Zipf's distribution on 1 to n, by rejection-inversion.
//!
//! W. Hörmann, G. Derflinger: Rejection-inversion to generate variates from monotone discrete distributions,
//! ACM Transactions on Modeling and Computer Simulation 6 (1996) 169–184. With the weight h(x) = x^−e and its
//! integral H, a point drawn uniformly under h is inverted and rounded to k; it is kept with the probability h(k)
//! divided by the area that rounds to k. As integral serves H(x) = (x^(1−e) − 1)/(1−e), which goes to ln x for
//! e → 1, so that every e ≥ 0 will do. sysbench draws by the same method since its development version 1.1.

use super::rng::Rng;
use rand::RngExt;

#[derive(Debug, Clone)]
pub(super) struct Zipf {
    largest: u32,
    exponent: f64,
    /// The ends of the area: H(3/2) − h(1), so that all of it that rounds to 1 is kept, and H(n + 1/2).
    low: f64,
    high: f64,
    /// A point that is no further below its k than this is kept in any case (theorem 2 of the paper).
    certain: f64,
}

impl Zipf {
    /// For 1 to `n`, at least 1, and an exponent of at least 0.
    pub(super) fn new(n: u32, exponent: f64) -> Self {
        let n = n.max(1);
        Zipf {
            largest: n,
            exponent,
            low: integral(1.5, exponent) - 1.0,
            high: integral(f64::from(n) + 0.5, exponent),
            certain: 2.0 - inverse(integral(2.5, exponent) - weight(2.0, exponent), exponent),
        }
    }

    pub(super) fn draw(&self, rng: &mut Rng) -> u32 {
        loop {
            // in (low, high]
            let area = self.high + rng.random::<f64>() * (self.low - self.high);
            let x = inverse(area, self.exponent);
            // Rounding of floating point may lead just outside.
            let k = ((x + 0.5) as u32).clamp(1, self.largest);
            let rounded = f64::from(k);
            if rounded - x <= self.certain
                || area >= integral(rounded + 0.5, self.exponent) - weight(rounded, self.exponent)
            {
                return k;
            }
        }
    }
}

/// h(x) = x^−e
fn weight(x: f64, e: f64) -> f64 {
    x.powf(-e)
}

/// H(x) = (x^(1−e) − 1)/(1−e); `exp_m1` keeps it exact near e = 1.
fn integral(x: f64, e: f64) -> f64 {
    let power = 1.0 - e;
    if power == 0.0 {
        x.ln()
    } else {
        (power * x.ln()).exp_m1() / power
    }
}

/// The x with H(x) = `area`.
fn inverse(area: f64, e: f64) -> f64 {
    let power = 1.0 - e;
    if power == 0.0 {
        area.exp()
    } else {
        // Below −1 there is no logarithm, and only rounding leads there.
        ((power * area).max(-1.0).ln_1p() / power).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_the_integral() {
        for e in [0.0, 0.5, 0.8, 1.0 - 1e-12, 1.0, 1.0 + 1e-12, 1.5, 4.0] {
            for x in [0.6, 1.0, 1.5, 2.0, 3.7, 10.0] {
                let back = inverse(integral(x, e), e);
                assert!((back - x).abs() < 1e-9 * x, "{e}: {x} became {back}");
            }
        }
    }
}
