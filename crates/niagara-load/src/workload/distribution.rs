//! How row numbers are drawn: the distributions of sysbench 1.0.20, by its formulas.

use rand::RngExt;
use serde::{Deserialize, Serialize};

/// A distribution over the row numbers 1 to n. In text: its name alone for the default parameters, or a
/// table with `type` and parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Text", into = "Text")]
pub enum Distribution {
    /// Every row equally often.
    Uniform,
    /// The mean of several uniform numbers: rows in the middle more often.
    Gaussian {
        /// Uniform numbers per draw (sysbench: `rand-spec-iter`).
        iterations: u32,
    },
    /// Most draws from a few rows in the middle, the others by `Gaussian`: sysbench's default.
    Special {
        /// Uniform numbers per draw (sysbench: `rand-spec-iter`).
        iterations: u32,
        /// Share of the rows that are special, in percent (sysbench: `rand-spec-pct`).
        percent: u32,
        /// Share of the draws that go to the special rows, in percent (sysbench: `rand-spec-res`).
        share: u32,
    },
    /// Few rows at the beginning take most draws.
    Pareto {
        /// Share of the rows that take the share 1 − h of the draws (sysbench: `rand-pareto-h`).
        h: f64,
    },
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution::Special {
            iterations: 12,
            percent: 1,
            share: 75,
        }
    }
}

/// A distribution in a file: a name, or a table.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum Text {
    Name(String),
    Table(Table),
}

#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    r#type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iterations: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    percent: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    h: Option<f64>,
}

impl TryFrom<Text> for Distribution {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        let table = match text {
            Text::Name(name) => Table {
                r#type: name,
                ..Table::default()
            },
            Text::Table(table) => table,
        };
        let Table {
            r#type: name,
            iterations,
            percent,
            share,
            h,
        } = table;
        let (distribution, foreign) = match name.as_str() {
            "uniform" => (
                Distribution::Uniform,
                iterations.is_some() || percent.is_some() || share.is_some() || h.is_some(),
            ),
            "gaussian" => (
                Distribution::Gaussian {
                    iterations: iterations.unwrap_or(12),
                },
                percent.is_some() || share.is_some() || h.is_some(),
            ),
            "special" => (
                Distribution::Special {
                    iterations: iterations.unwrap_or(12),
                    percent: percent.unwrap_or(1),
                    share: share.unwrap_or(75),
                },
                h.is_some(),
            ),
            "pareto" => (
                Distribution::Pareto {
                    h: h.unwrap_or(0.2),
                },
                iterations.is_some() || percent.is_some() || share.is_some(),
            ),
            other => {
                return Err(format!(
                    "no distribution '{other}'; known are uniform, gaussian, special, pareto"
                ));
            }
        };
        if foreign {
            return Err(format!(
                "distribution '{name}' has a parameter that is not its own"
            ));
        }
        Ok(distribution)
    }
}

impl From<Distribution> for Text {
    fn from(distribution: Distribution) -> Text {
        let table = |name: &str| Table {
            r#type: name.into(),
            ..Table::default()
        };
        Text::Table(match distribution {
            Distribution::Uniform => return Text::Name("uniform".into()),
            special if special == Distribution::default() => return Text::Name("special".into()),
            Distribution::Gaussian { iterations } => Table {
                iterations: Some(iterations),
                ..table("gaussian")
            },
            Distribution::Special {
                iterations,
                percent,
                share,
            } => Table {
                iterations: Some(iterations),
                percent: Some(percent),
                share: Some(share),
                ..table("special")
            },
            Distribution::Pareto { h } => Table {
                h: Some(h),
                ..table("pareto")
            },
        })
    }
}

impl Distribution {
    /// Refuses parameters without meaning.
    pub fn validate(&self) -> Result<(), String> {
        match *self {
            Distribution::Gaussian { iterations } | Distribution::Special { iterations, .. }
                if !(1..=1000).contains(&iterations) =>
            {
                Err(format!(
                    "distribution: iterations = {iterations}: must be from 1 to 1000"
                ))
            }
            Distribution::Special { percent, .. } if percent > 100 => Err(format!(
                "distribution: percent = {percent}: must be at most 100"
            )),
            Distribution::Special { share, .. } if share > 99 => {
                Err(format!("distribution: share = {share}: must be at most 99"))
            }
            Distribution::Pareto { h } if !(h > 0.0 && h < 1.0) => {
                Err(format!("distribution: h = {h}: must lie between 0 and 1"))
            }
            _ => Ok(()),
        }
    }
}

/// Draws row numbers from 1 to a fixed n.
#[derive(Debug, Clone)]
pub struct Sampler {
    distribution: Distribution,
    /// n − 1
    span: f64,
    largest: u32,
    /// Special: the chance of the gaussian part.
    gaussian_chance: f64,
    /// Special: (number of special rows, start of the special rows); Pareto: the power.
    special: (f64, f64),
    power: f64,
}

impl Sampler {
    /// For rows 1 to `rows`, which must be at least 1.
    pub fn new(distribution: Distribution, rows: u32) -> Self {
        let span = f64::from(rows.max(1) - 1);
        let mut sampler = Sampler {
            distribution,
            span,
            largest: rows.max(1),
            gaussian_chance: 0.0,
            special: (0.0, 0.0),
            power: 1.0,
        };
        match distribution {
            Distribution::Special { percent, share, .. } => {
                let percent = f64::from(percent);
                sampler.gaussian_chance = (100.0 - f64::from(share)) / 100.0;
                sampler.special = (
                    span * percent / 100.0 + 1.0,
                    span / 2.0 - span * percent / 200.0,
                );
            }
            Distribution::Pareto { h } => sampler.power = h.ln() / (1.0 - h).ln(),
            Distribution::Uniform | Distribution::Gaussian { .. } => {}
        }
        sampler
    }

    /// One row number.
    pub fn draw(&self, rng: &mut super::Rng) -> i32 {
        let rows = self.span + 1.0;
        let offset = match self.distribution {
            Distribution::Uniform => rng.random::<f64>() * rows,
            Distribution::Gaussian { iterations } => mean(rng, iterations) * rows,
            Distribution::Special { iterations, .. } => {
                let u: f64 = rng.random();
                if self.span > 0.0 && u < self.gaussian_chance {
                    mean(rng, iterations) * self.span
                } else {
                    // The same number places the draw among the special rows. Being at least `gaussian_chance`, it
                    // leaves their first part out: so does sysbench 1.0.20.
                    let (count, start) = self.special;
                    u * count + start
                }
            }
            Distribution::Pareto { .. } => rng.random::<f64>().powf(self.power) * rows,
        };
        // At most 2^31 − 1, so it fits.
        (offset as u32 + 1).min(self.largest) as i32
    }
}

fn mean(rng: &mut super::Rng, iterations: u32) -> f64 {
    (0..iterations).map(|_| rng.random::<f64>()).sum::<f64>() / f64::from(iterations)
}

#[cfg(test)]
mod tests {
    use super::super::Rng;
    use super::*;
    use rand::SeedableRng;

    fn counts(distribution: Distribution, rows: u32, draws: u32) -> Vec<u64> {
        let sampler = Sampler::new(distribution, rows);
        let mut rng = Rng::seed_from_u64(11);
        let mut counts = vec![0; rows as usize];
        for _ in 0..draws {
            counts[sampler.draw(&mut rng) as usize - 1] += 1;
        }
        counts
    }

    /// Pearson's statistic in standard deviations above its mean, cells of small expectation joined.
    fn excess(counts: &[u64], expected: &[f64]) -> f64 {
        let (mut statistic, mut cells) = (0.0, 0.0);
        let (mut count, mut expectation) = (0.0, 0.0);
        for (&c, &e) in counts.iter().zip(expected) {
            count += c as f64;
            expectation += e;
            if expectation >= 10.0 {
                statistic += (count - expectation).powi(2) / expectation;
                cells += 1.0;
                (count, expectation) = (0.0, 0.0);
            }
        }
        let freedom: f64 = cells - 1.0;
        (statistic - freedom) / (2.0 * freedom).sqrt()
    }

    /// Distribution function of the mean of `n` uniform numbers (Irwin–Hall).
    fn mean_of_uniforms(n: u32, x: f64) -> f64 {
        let (x, n_f) = (x.clamp(0.0, 1.0) * f64::from(n), f64::from(n));
        // The alternating sum is accurate in the lower half; the upper is its mirror.
        if x > n_f / 2.0 {
            return 1.0 - mean_of_uniforms(n, 1.0 - x / n_f);
        }
        let mut sum = 0.0;
        let mut binomial = 1.0;
        for k in 0..=(x as u32) {
            let term = binomial * (x - f64::from(k)).powi(n as i32);
            sum += if k % 2 == 0 { term } else { -term };
            binomial *= (n_f - f64::from(k)) / (f64::from(k) + 1.0);
        }
        sum / (1..=n).map(f64::from).product::<f64>()
    }

    /// Probability of every row under `special`.
    fn special(rows: u32, iterations: u32, percent: u32, share: u32) -> Vec<f64> {
        let span = f64::from(rows - 1);
        let gaussian = 1.0 - f64::from(share) / 100.0;
        let count = span * f64::from(percent) / 100.0 + 1.0;
        let start = span / 2.0 - span * f64::from(percent) / 200.0;
        (0..rows)
            .map(|row| {
                let (low, high) = (f64::from(row), f64::from(row + 1));
                let mean = mean_of_uniforms(iterations, high / span)
                    - mean_of_uniforms(iterations, low / span);
                // u is uniform from `gaussian` to 1 and lands in [low, high)
                let at = |x: f64| ((x - start) / count).clamp(gaussian, 1.0);
                gaussian * mean + (at(high) - at(low))
            })
            .collect()
    }

    #[test]
    fn special_has_the_exact_distribution() {
        for (rows, iterations, percent, share) in [
            (10_000, 12, 1, 75),
            (1000, 12, 1, 75),
            (500, 3, 20, 40),
            (37, 12, 1, 75),
        ] {
            let probabilities = special(rows, iterations, percent, share);
            let total: f64 = probabilities.iter().sum();
            assert!((total - 1.0).abs() < 1e-9, "{total}");
            let draws = 2_000_000;
            let expected: Vec<f64> = probabilities.iter().map(|p| p * f64::from(draws)).collect();
            let distribution = Distribution::Special {
                iterations,
                percent,
                share,
            };
            let excess = excess(&counts(distribution, rows, draws), &expected);
            assert!(excess.abs() < 4.0, "{rows} rows: {excess}");
        }
    }

    #[test]
    fn uniform_gaussian_pareto() {
        let (rows, draws) = (1000, 1_000_000);
        let expectation = |probability: &dyn Fn(f64) -> f64| -> Vec<f64> {
            (0..rows)
                .map(|row| {
                    let n = f64::from(rows);
                    let cell =
                        probability((f64::from(row) + 1.0) / n) - probability(f64::from(row) / n);
                    cell * f64::from(draws)
                })
                .collect()
        };
        let power = 0.2f64.ln() / 0.8f64.ln();
        for (distribution, expected) in [
            (Distribution::Uniform, expectation(&|x| x)),
            (
                Distribution::Gaussian { iterations: 12 },
                expectation(&|x| mean_of_uniforms(12, x)),
            ),
            (
                Distribution::Pareto { h: 0.2 },
                expectation(&|x: f64| x.powf(1.0 / power)),
            ),
        ] {
            let excess = excess(&counts(distribution, rows, draws), &expected);
            assert!(excess.abs() < 4.0, "{distribution:?}: {excess}");
        }
    }

    #[test]
    fn smallest_and_largest_tables() {
        for distribution in [
            Distribution::Uniform,
            Distribution::Gaussian { iterations: 1 },
            Distribution::default(),
            Distribution::Special {
                iterations: 1,
                percent: 100,
                share: 99,
            },
            Distribution::Pareto { h: 0.2 },
        ] {
            for rows in [1, 2, 3, i32::MAX as u32] {
                let sampler = Sampler::new(distribution, rows);
                let mut rng = Rng::seed_from_u64(3);
                for _ in 0..10_000 {
                    let row = sampler.draw(&mut rng);
                    assert!(row >= 1 && row as u32 <= rows, "{distribution:?} {row}");
                }
            }
        }
    }

    #[test]
    fn text_forms() {
        let read = |text: &str| serde_json::from_str::<Distribution>(text);
        assert_eq!(read("\"special\"").unwrap(), Distribution::default());
        assert_eq!(
            read(r#"{"type": "special", "percent": 5}"#).unwrap(),
            Distribution::Special {
                iterations: 12,
                percent: 5,
                share: 75
            }
        );
        for distribution in [
            Distribution::Uniform,
            Distribution::default(),
            Distribution::Gaussian { iterations: 3 },
            Distribution::Special {
                iterations: 1,
                percent: 2,
                share: 3,
            },
            Distribution::Pareto { h: 0.3 },
        ] {
            let text = serde_json::to_string(&distribution).unwrap();
            assert_eq!(read(&text).unwrap(), distribution, "{text}");
        }
        assert!(
            read("\"normal\"")
                .unwrap_err()
                .to_string()
                .contains("pareto")
        );
        assert!(read(r#"{"type": "uniform", "h": 0.1}"#).is_err());
    }
}
