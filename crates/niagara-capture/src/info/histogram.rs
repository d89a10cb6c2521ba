//! Durations by size, in steps of an eighth of a doubling.

/// Steps to a doubling.
const STEPS: u32 = 8;

/// How many durations there were of each size. Grows with the longest.
#[derive(Debug, Clone, Default)]
pub(super) struct Histogram {
    counts: Vec<u32>,
    total: u64,
    /// The shortest and the longest.
    range: Option<(u64, u64)>,
}

impl Histogram {
    /// Adds a duration in microseconds.
    pub fn add(&mut self, micros: u64) {
        let step = step_of(micros);
        if self.counts.len() <= step {
            self.counts.resize(step + 1, 0);
        }
        self.counts[step] = self.counts[step].saturating_add(1);
        self.total += 1;
        let (shortest, longest) = self.range.unwrap_or((micros, micros));
        self.range = Some((shortest.min(micros), longest.max(micros)));
    }

    /// The duration in microseconds that this share (0 to 1) of all does not exceed, to a step, and between the shortest and the
    /// longest.
    pub fn quantile(&self, share: f64) -> u64 {
        let Some((shortest, longest)) = self.range else {
            return 0;
        };
        let wanted = (share * self.total as f64).ceil().max(1.0);
        let mut seen = 0.0;
        for (step, &count) in self.counts.iter().enumerate() {
            seen += f64::from(count);
            if seen >= wanted {
                return middle_of(step).clamp(shortest, longest);
            }
        }
        longest
    }
}

/// Below 8 each value has a step of its own; above, eight steps to a doubling.
fn step_of(micros: u64) -> usize {
    if micros < u64::from(STEPS) {
        return micros as usize;
    }
    let doubling = micros.ilog2() - 3;
    let within = (micros >> doubling) as u32 - STEPS;
    (STEPS * (doubling + 1) + within) as usize
}

fn middle_of(step: usize) -> u64 {
    let step = step as u64;
    let steps = u64::from(STEPS);
    if step < steps {
        return step;
    }
    let doubling = step / steps - 1;
    let from = (steps + step % steps) << doubling;
    from + (1_u64 << doubling) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_seven_per_cent() {
        let mut histogram = Histogram::default();
        for micros in 1..=100_000_u64 {
            histogram.add(micros);
        }
        for (share, expected) in [(0.5, 50_000.0), (0.95, 95_000.0), (0.99, 99_000.0)] {
            let found = histogram.quantile(share) as f64;
            assert!(
                (found / expected - 1.0_f64).abs() < 0.07,
                "{share}: {found}"
            );
        }
        assert_eq!(Histogram::default().quantile(0.5), 0);
        for micros in [0, 1, 7, 8, 9, 15, 16, 1 << 40, u64::MAX] {
            let middle = middle_of(step_of(micros)) as f64;
            assert!(
                (middle - micros as f64).abs() <= micros as f64 * 0.0626 + 0.5,
                "{micros}"
            );
        }
    }

    #[test]
    fn quantiles_lie_between_the_extremes() {
        for values in [&[1000, 1001][..], &[999], &[17, 1_000_003], &[1_048_575]] {
            let mut histogram = Histogram::default();
            values.iter().for_each(|&value| histogram.add(value));
            let range = values[0]..=values[values.len() - 1];
            for share in [0.0, 0.5, 0.95, 1.0] {
                assert!(
                    range.contains(&histogram.quantile(share)),
                    "{values:?} {share}"
                );
            }
        }
        assert_eq!(Histogram::default().quantile(0.5), 0);
    }
}
