//! How row numbers are drawn: the distributions of sysbench 1.0.20, by its formulas, and Zipf's of its development
//! version 1.1.

use super::zipf::Zipf;
use rand::{RngExt, SeedableRng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// sysbench's `rand-spec-iter`.
pub(crate) const ITERATIONS: u32 = 12;
/// sysbench's `rand-spec-pct`.
pub(crate) const PERCENT: u32 = 1;
/// sysbench's `rand-spec-res`.
pub(crate) const SHARE: u32 = 75;
/// sysbench's `rand-pareto-h`.
pub(crate) const PARETO_H: f64 = 0.2;
/// `rand-zipfian-exp` of sysbench 1.1.
pub(crate) const ZIPF_EXPONENT: f64 = 0.8;

/// A distribution over the row numbers 1 to n. In text: its name alone for the default parameters, or a
/// table with `type` and parameters.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// Row i in proportion to i to the power of −exponent.
    Zipfian {
        /// Theta (sysbench: `rand-zipfian-exp`).
        exponent: f64,
    },
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution::Special {
            iterations: ITERATIONS,
            percent: PERCENT,
            share: SHARE,
        }
    }
}

/// The name, and the parameters where it has some.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match *self {
            Distribution::Uniform => Ok(()),
            Distribution::Gaussian { iterations } => write!(f, "({iterations})"),
            Distribution::Special {
                iterations,
                percent,
                share,
            } => write!(f, "({iterations}, {percent} %, {share} %)"),
            Distribution::Pareto { h } => write!(f, "({h})"),
            Distribution::Zipfian { exponent } => write!(f, "({exponent})"),
        }
    }
}

/// A distribution in a file: a name, or a table.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Text {
    Name(String),
    Table(Table),
}

#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Table {
    /// `uniform`, `gaussian`, `special`, `pareto` or `zipfian`.
    r#type: String,
    /// Uniform numbers per draw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    iterations: Option<u32>,
    /// Share of the rows that are special, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    percent: Option<u32>,
    /// Share of the draws that go to special rows, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<u32>,
    /// The parameter of `pareto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    h: Option<f64>,
    /// The exponent of `zipfian`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exponent: Option<f64>,
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
            exponent,
        } = table;
        let distribution = match name.as_str() {
            "uniform" => Distribution::Uniform,
            "gaussian" => Distribution::Gaussian {
                iterations: iterations.unwrap_or(ITERATIONS),
            },
            "special" => Distribution::Special {
                iterations: iterations.unwrap_or(ITERATIONS),
                percent: percent.unwrap_or(PERCENT),
                share: share.unwrap_or(SHARE),
            },
            "pareto" => Distribution::Pareto {
                h: h.unwrap_or(PARETO_H),
            },
            "zipfian" => Distribution::Zipfian {
                exponent: exponent.unwrap_or(ZIPF_EXPONENT),
            },
            other => {
                return Err(format!(
                    "no distribution '{other}'; known are {}",
                    Distribution::NAMES.join(", ")
                ));
            }
        };
        let special = matches!(distribution, Distribution::Special { .. });
        let foreign = (iterations.is_some()
            && !special
            && !matches!(distribution, Distribution::Gaussian { .. }))
            || ((percent.is_some() || share.is_some()) && !special)
            || (h.is_some() && !matches!(distribution, Distribution::Pareto { .. }))
            || (exponent.is_some() && !matches!(distribution, Distribution::Zipfian { .. }));
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
            Distribution::Zipfian { exponent } => Table {
                exponent: Some(exponent),
                ..table("zipfian")
            },
        })
    }
}

impl Distribution {
    /// sysbench's names of all of them.
    pub(crate) const NAMES: [&'static str; 5] =
        ["uniform", "gaussian", "special", "pareto", "zipfian"];

    /// sysbench's name.
    pub fn name(&self) -> &'static str {
        match self {
            Distribution::Uniform => "uniform",
            Distribution::Gaussian { .. } => "gaussian",
            Distribution::Special { .. } => "special",
            Distribution::Pareto { .. } => "pareto",
            Distribution::Zipfian { .. } => "zipfian",
        }
    }

    /// Row numbers from `first` to `last` (both included, below 2^31 and in order) as a workload draws them, without
    /// end: the same for the same seed. The parameters must be [valid](Self::validate).
    pub fn rows(self, first: u32, last: u32, seed: u64) -> impl Iterator<Item = i32> {
        let sampler = Sampler::between(self, first, last);
        let mut rng = super::rng::Rng::seed_from_u64(seed);
        std::iter::repeat_with(move || sampler.draw(&mut rng))
    }

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
            Distribution::Special { share, .. } if share > 100 => Err(format!(
                "distribution: share = {share}: must be at most 100"
            )),
            Distribution::Pareto { h } if !(h > 0.0 && h < 1.0) => {
                Err(format!("distribution: h = {h}: must lie between 0 and 1"))
            }
            Distribution::Zipfian { exponent } if !(0.0..=100.0).contains(&exponent) => Err(
                format!("distribution: exponent = {exponent}: must be from 0 to 100"),
            ),
            _ => Ok(()),
        }
    }
}

/// Draws row numbers from a fixed range.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    first: u32,
    /// Last minus first.
    span: u32,
    shape: Shape,
}

/// A distribution with what can be computed once.
#[derive(Debug, Clone)]
enum Shape {
    Uniform,
    Gaussian {
        iterations: u32,
    },
    Special {
        iterations: u32,
        /// The chance of the gaussian part.
        gaussian: f64,
        /// Number of special rows, and the first of them.
        count: f64,
        start: f64,
    },
    Pareto {
        power: f64,
    },
    Zipfian(Zipf),
}

impl Sampler {
    /// For rows 1 to `rows`, which must be at least 1.
    pub(crate) fn new(distribution: Distribution, rows: u32) -> Self {
        Sampler::between(distribution, 1, rows.max(1))
    }

    /// For rows `first` to `last`, both included, which must be below 2^31 and in order.
    pub(crate) fn between(distribution: Distribution, first: u32, last: u32) -> Self {
        let rows = last.saturating_sub(first);
        let span = f64::from(rows);
        let shape = match distribution {
            Distribution::Uniform => Shape::Uniform,
            Distribution::Gaussian { iterations } => Shape::Gaussian { iterations },
            Distribution::Special {
                iterations,
                percent,
                share,
            } => {
                let percent = f64::from(percent);
                Shape::Special {
                    iterations,
                    gaussian: (100.0 - f64::from(share)) / 100.0,
                    count: span * percent / 100.0 + 1.0,
                    start: span / 2.0 - span * percent / 200.0,
                }
            }
            Distribution::Pareto { h } => Shape::Pareto {
                power: h.ln() / (1.0 - h).ln(),
            },
            Distribution::Zipfian { exponent } => Shape::Zipfian(Zipf::new(rows + 1, exponent)),
        };
        Sampler {
            first,
            span: rows,
            shape,
        }
    }

    /// One row number.
    pub(crate) fn draw(&self, rng: &mut super::rng::Rng) -> i32 {
        let span = f64::from(self.span);
        let offset = match &self.shape {
            Shape::Uniform => rng.random::<f64>() * (span + 1.0),
            Shape::Gaussian { iterations } => mean(rng, *iterations) * (span + 1.0),
            Shape::Special {
                iterations,
                gaussian,
                count,
                start,
            } => {
                let u: f64 = rng.random();
                if self.span > 0 && u < *gaussian {
                    mean(rng, *iterations) * span
                } else {
                    // The same number places the draw among the special rows. Being at least `gaussian`, it
                    // leaves their first part out: so does sysbench 1.0.20.
                    u * count + start
                }
            }
            Shape::Pareto { power } => rng.random::<f64>().powf(*power) * (span + 1.0),
            Shape::Zipfian(zipf) => return (self.first + zipf.draw(rng) - 1) as i32,
        };
        (self.first + (offset as u32).min(self.span)) as i32
    }
}

fn mean(rng: &mut super::rng::Rng, iterations: u32) -> f64 {
    (0..iterations).map(|_| rng.random::<f64>()).sum::<f64>() / f64::from(iterations)
}

#[cfg(test)]
mod tests {
    use super::super::rng::Rng;
    use super::*;

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
    fn the_special_distribution_is_exact() {
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
            Distribution::Zipfian { exponent: 0.0 },
            Distribution::Zipfian { exponent: 0.8 },
            Distribution::Zipfian { exponent: 1.0 },
            Distribution::Zipfian { exponent: 100.0 },
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
    fn zipfian_has_the_exact_distribution() {
        // Around 1 the formulas have a removable pole; 1000 rows are beyond what one cell hides.
        for exponent in [0.0, 0.5, 0.8, 0.999_999_999, 1.0, 1.000_000_001, 1.2, 3.0] {
            for rows in [2, 10, 1000] {
                let weights: Vec<f64> = (1..=rows).map(|i| f64::from(i).powf(-exponent)).collect();
                let total: f64 = weights.iter().sum();
                let draws = 500_000;
                let expected: Vec<f64> = weights
                    .iter()
                    .map(|weight| weight / total * f64::from(draws))
                    .collect();
                let counts = counts(Distribution::Zipfian { exponent }, rows, draws);
                let excess = excess(&counts, &expected);
                assert!(excess < 5.0, "{exponent}, {rows} rows: {excess}");
            }
        }
    }

    #[test]
    fn a_range_that_does_not_begin_at_1() {
        for distribution in Distribution::NAMES {
            let text = format!("\"{distribution}\"");
            let distribution: Distribution = serde_json::from_str(&text).unwrap();
            let (from_1, from_500) = (
                Sampler::new(distribution, 101),
                Sampler::between(distribution, 500, 600),
            );
            let mut rngs = [Rng::seed_from_u64(4), Rng::seed_from_u64(4)];
            for _ in 0..1000 {
                let row = from_500.draw(&mut rngs[1]);
                assert!((500..=600).contains(&row));
                assert_eq!(row, from_1.draw(&mut rngs[0]) + 499);
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
            Distribution::Zipfian { exponent: 1.25 },
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
