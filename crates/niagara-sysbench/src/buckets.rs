//! Latency in sysbench's buckets: 1024 of them between 0.001 ms and 100 s, evenly spaced on a logarithmic scale, so
//! that neighbours differ by 1.8 %. Its percentiles and its histogram are made of them.

use niagara_load::Histogram;

const COUNT: usize = 1024;
/// Bounds in milliseconds.
const SHORTEST: f64 = 1e-3;
const LONGEST: f64 = 1e5;
/// Width of the longest bar, in characters.
const BAR: f64 = 40.0;

/// Events by bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    counts: Vec<u64>,
}

impl Default for Buckets {
    fn default() -> Self {
        Buckets {
            counts: vec![0; COUNT],
        }
    }
}

/// Buckets per unit of the natural logarithm.
fn density() -> f64 {
    (COUNT - 1) as f64 / (LONGEST.ln() - SHORTEST.ln())
}

/// The bucket whose value is nearest, on the logarithmic scale.
fn bucket(milliseconds: f64) -> usize {
    let position = ((milliseconds.ln() - SHORTEST.ln()) * density() + 0.5).floor();
    // 0 ms have no logarithm: minus infinity becomes 0.
    (position.max(0.0) as usize).min(COUNT - 1)
}

/// The value, in milliseconds, that a bucket stands for.
fn value(bucket: usize) -> f64 {
    (bucket as f64 / density() + SHORTEST.ln()).exp()
}

impl Buckets {
    /// Puts a histogram of nanoseconds into buckets. Its values are within 0.1 % of the truth, the buckets 18 times
    /// as wide.
    pub(crate) fn from_nanoseconds(histogram: &Histogram<u64>) -> Self {
        let mut buckets = Buckets::default();
        for step in histogram.iter_recorded() {
            let middle = histogram.median_equivalent(step.value_iterated_to());
            buckets.counts[bucket(middle as f64 / 1e6)] += step.count_since_last_iteration();
        }
        buckets
    }

    /// The percentile, in milliseconds: the value of the first bucket by which that share of the events is reached,
    /// to the nearest event. Without events it is the first bucket's.
    pub fn percentile(&self, percentile: u32) -> f64 {
        let events: u64 = self.counts.iter().sum();
        let wanted = (events as f64 * f64::from(percentile) / 100.0 + 0.5).floor() as u64;
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return value(index);
            }
        }
        value(COUNT)
    }

    /// The histogram as lines; none without events.
    pub fn lines(&self) -> Vec<String> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Vec::new();
        }
        let mut lines =
            vec!["       value  ------------- distribution ------------- count".to_owned()];
        for (index, &count) in self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let width = (count as f64 * BAR / most as f64 + 0.5).floor() as usize;
            lines.push(format!(
                "{:12.3} |{:<40} {count}",
                value(index),
                "*".repeat(width)
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(events: &[(f64, u64)]) -> Buckets {
        let mut histogram = Histogram::new_with_bounds(100, 3_600_000_000_000, 3).unwrap();
        for &(milliseconds, count) in events {
            histogram
                .record_n((milliseconds * 1e6) as u64, count)
                .unwrap();
        }
        Buckets::from_nanoseconds(&histogram)
    }

    #[test]
    fn nothing() {
        assert_eq!(format!("{:.2}", Buckets::default().percentile(95)), "0.00");
        assert!(Buckets::default().lines().is_empty());
    }

    #[test]
    fn bucket_bounds_contain_their_values() {
        assert_eq!((bucket(0.0), bucket(1e-3), bucket(1e-9)), (0, 0, 0));
        assert_eq!((bucket(1e5), bucket(1e9)), (COUNT - 1, COUNT - 1));
        assert_eq!(format!("{:.3}", value(COUNT - 1)), "100000.000");
    }

    /// What sysbench 1.0.20 printed: 20 events, and `95th percentile: 1.42`.
    const PRINTED: &str = "       value  ------------- distribution ------------- count
       0.049 |********************                     1
       0.053 |********************                     1
       0.055 |********************                     1
       0.081 |********************                     1
       0.082 |********************                     1
       0.085 |********************                     1
       0.093 |********************                     1
       0.118 |********************                     1
       0.120 |********************                     1
       0.152 |********************                     1
       0.160 |********************                     1
       0.176 |********************                     1
       0.182 |********************                     1
       0.226 |********************                     1
       0.741 |**************************************** 2
       0.768 |********************                     1
       0.797 |********************                     1
       1.417 |**************************************** 2";

    #[test]
    fn a_histogram_is_printed_as_sysbench_prints_it() {
        let mut buckets = Buckets::default();
        for line in PRINTED.lines().skip(1) {
            let milliseconds: f64 = line[..12].trim().parse().unwrap();
            let count: u64 = line[line.len() - 1..].parse().unwrap();
            buckets.counts[bucket(milliseconds)] += count;
        }
        assert_eq!(buckets.lines().join("\n"), PRINTED);
        assert_eq!(format!("{:.2}", buckets.percentile(95)), "1.42");
    }

    #[test]
    fn bars_are_rounded() {
        let mut buckets = Buckets::default();
        for (index, count) in [(100, 1), (200, 2), (300, 3)] {
            buckets.counts[index] = count;
        }
        let stars: Vec<usize> = buckets
            .lines()
            .iter()
            .skip(1)
            .map(|line| line.matches('*').count())
            .collect();
        assert_eq!(stars, [13, 27, 40]);
    }

    #[test]
    fn percentiles_step_through_buckets() {
        let buckets = of(&[(1.0, 90), (12.0, 9), (100.0, 1)]);
        for (percentile, text) in [
            (1, "1.01"),
            (90, "1.01"),
            (91, "12.08"),
            (99, "12.08"),
            (100, "99.33"),
        ] {
            assert_eq!(
                format!("{:.2}", buckets.percentile(percentile)),
                text,
                "{percentile}"
            );
        }
    }
}
