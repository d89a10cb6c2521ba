//! Latency in sysbench's buckets: 1024 of them between 0.001 ms and 100 s, evenly spaced on a logarithmic scale, so
//! that neighbours differ by 1.8 %. Its percentiles and its histogram are made of them.

use niagara_load::Histogram;
use niagara_script::LogHistogram;

const COUNT: usize = 1024;
/// Bounds in milliseconds.
const SHORTEST: f64 = 1e-3;
const LONGEST: f64 = 1e5;

/// Events by bucket.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets(LogHistogram);

impl Default for Buckets {
    fn default() -> Self {
        // The bounds are what they have to be.
        #[expect(clippy::unwrap_used, reason = "constants, which a test tries")]
        Buckets(LogHistogram::new(COUNT, SHORTEST, LONGEST).unwrap())
    }
}

impl Buckets {
    /// Puts a histogram of nanoseconds into buckets. Its values are within 0.1 % of the truth, the buckets 18 times
    /// as wide.
    pub(crate) fn from_nanoseconds(histogram: &Histogram<u64>) -> Self {
        let mut buckets = Buckets::default();
        for step in histogram.iter_recorded() {
            let middle = histogram.median_equivalent(step.value_iterated_to());
            buckets
                .0
                .add(middle as f64 / 1e6, step.count_since_last_iteration());
        }
        buckets
    }

    /// The percentile, in milliseconds: the value of the first bucket by which that share of the events is reached,
    /// to the nearest event. Without events it is the first bucket's.
    pub fn percentile(&self, percentile: u32) -> f64 {
        let events: u64 = self.0.counts().iter().sum();
        let wanted = (events as f64 * f64::from(percentile) / 100.0 + 0.5).floor() as u64;
        let mut seen = 0;
        for (index, count) in self.0.counts().iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return self.0.value(index);
            }
        }
        self.0.value(COUNT)
    }

    /// The histogram as lines; none without events.
    pub fn lines(&self) -> Vec<String> {
        self.0.lines()
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
        let buckets = Buckets::default().0;
        for (value, bucket) in [(0.0, 0), (1e-3, 0), (1e-9, 0), (1e5, 1023), (1e9, 1023)] {
            assert_eq!(buckets.bucket(value), bucket, "{value}");
        }
        assert_eq!(format!("{:.3}", buckets.value(COUNT - 1)), "100000.000");
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
            buckets.0.add(milliseconds, count);
        }
        assert_eq!(buckets.lines().join("\n"), PRINTED);
        assert_eq!(format!("{:.2}", buckets.percentile(95)), "1.42");
    }

    #[test]
    fn bars_are_rounded() {
        let mut buckets = Buckets::default();
        for (index, count) in [(100, 1), (200, 2), (300, 3)] {
            buckets.0.add(buckets.0.value(index), count);
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
