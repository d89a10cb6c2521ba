//! How often values fall between bounds, on a logarithmic scale, and how sysbench prints that.

/// Width of the longest bar, in characters.
const BAR: f64 = 40.0;

/// Buckets that are evenly spaced on a logarithmic scale.
#[derive(Debug, Clone, PartialEq)]
pub struct LogHistogram {
    counts: Vec<u64>,
    least: f64,
    /// Buckets per unit of the natural logarithm.
    density: f64,
}

impl LogHistogram {
    /// `size` buckets from `least` to `most`; `None`: fewer than two buckets, or no bounds above zero.
    pub fn new(size: usize, least: f64, most: f64) -> Option<Self> {
        let fits = size >= 2 && least > 0.0 && most > least && most.is_finite();
        fits.then(|| LogHistogram {
            counts: vec![0; size],
            least,
            density: (size - 1) as f64 / (most.ln() - least.ln()),
        })
    }

    /// The bucket whose value is nearest, on the logarithmic scale.
    pub fn bucket(&self, value: f64) -> usize {
        let position = ((value.ln() - self.least.ln()) * self.density + 0.5).floor();
        // 0 has no logarithm: minus infinity becomes 0.
        (position.max(0.0) as usize).min(self.counts.len() - 1)
    }

    /// The value that a bucket stands for.
    pub fn value(&self, bucket: usize) -> f64 {
        (bucket as f64 / self.density + self.least.ln()).exp()
    }

    /// So many more of a value.
    pub fn add(&mut self, value: f64, count: u64) {
        let bucket = self.bucket(value);
        self.counts[bucket] += count;
    }

    /// Counts, by bucket.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// The histogram as lines; none without values.
    pub fn lines(&self) -> Vec<String> {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return Vec::new();
        }
        let mut lines =
            vec!["       value  ------------- distribution ------------- count".to_owned()];
        let some = self
            .counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0);
        for (index, &count) in some {
            let width = (count as f64 * BAR / most as f64 + 0.5).floor() as usize;
            lines.push(format!(
                "{:12.3} |{:<40} {count}",
                self.value(index),
                "*".repeat(width)
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_to_the_nearest_bucket() {
        let mut histogram = LogHistogram::new(1000, 1.0, 10.0).unwrap();
        for value in [0.0, 1.0, 2.0, 10.0, 100.0] {
            histogram.add(value, 1);
        }
        let lines = histogram.lines();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[1], format!("       1.000 |{} 2", "*".repeat(40)));
        assert_eq!(lines[2], format!("       2.001 |{:<40} 1", "*".repeat(20)));
    }

    #[test]
    fn bounds_that_cannot_be() {
        assert!(LogHistogram::new(1, 1.0, 2.0).is_none());
        assert!(LogHistogram::new(10, 0.0, 2.0).is_none());
        assert!(LogHistogram::new(10, 2.0, 1.0).is_none());
        assert!(LogHistogram::new(10, 1.0, f64::NAN).is_none());
    }
}
