//! How long a server is warmed up: learned once per study from its first duels, never per run.

use niagara_stats::warm_up_cut;

/// Sides whose curves are pooled before the warm-up is settled.
const CURVES: usize = 6;
/// Shortest warm-up, seconds: buffers of the connections and the processor's caches need that much.
const SHORTEST: f64 = 0.5;

/// The warm-up of a study: the longest allowed until enough starts were seen, then twice the
/// MSER-5 cut of their pooled curve.
#[derive(Debug)]
pub struct WarmUpPlan {
    longest: f64,
    settled: Option<f64>,
    curves: Vec<Vec<f64>>,
}

impl WarmUpPlan {
    /// Nothing learned yet: `longest` seconds are used.
    pub fn new(longest: f64) -> Self {
        Self {
            longest,
            settled: None,
            curves: Vec::new(),
        }
    }

    /// Takes over what an earlier sitting settled.
    pub fn decided(&mut self, seconds: f64) {
        self.settled = Some(seconds);
    }

    /// Whether further curves change nothing.
    pub fn is_settled(&self) -> bool {
        self.settled.is_some()
    }

    /// Seconds of warm-up that the next start gets.
    pub fn seconds(&self) -> f64 {
        self.settled.unwrap_or(self.longest)
    }

    /// Adds the curves of a duel (throughput per interval over the whole warm-up); returns the
    /// warm-up when these were the ones that settle it.
    pub fn learn(&mut self, curves: &[Vec<f64>; 2]) -> Option<f64> {
        if self.settled.is_some() {
            return None;
        }
        self.curves
            .extend(curves.iter().filter(|curve| curve.len() > 5).cloned());
        if self.curves.len() < CURVES {
            return None;
        }
        let cut = warm_up_cut(&self.curves);
        let shortest_curve = self.curves.iter().map(Vec::len).min().unwrap_or(1);
        let interval = self.longest / shortest_curve as f64;
        let seconds = if cut.steady {
            (cut.cut as f64 * interval).clamp(SHORTEST.min(self.longest), self.longest)
        } else {
            self.longest
        };
        self.settled = Some(seconds);
        Some(seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(ramp: usize) -> Vec<f64> {
        (0..40)
            .map(|i| {
                let wobble = ((i * 7919) % 13) as f64;
                if i < ramp {
                    300.0 + 20.0 * i as f64
                } else {
                    1000.0 + wobble
                }
            })
            .collect()
    }

    #[test]
    fn a_study_settles_after_its_first_duels_and_stays_there() {
        let mut plan = WarmUpPlan::new(4.0);
        assert_eq!(plan.seconds(), 4.0);
        assert_eq!(plan.learn(&[start(6), start(6)]), None);
        assert_eq!(plan.learn(&[start(5), start(6)]), None);
        let settled = plan
            .learn(&[start(6), start(7)])
            .expect("six curves settle it");
        assert!((0.8..=2.5).contains(&settled), "{settled}");
        assert_eq!(plan.learn(&[start(30), start(30)]), None);
        assert_eq!(plan.seconds(), settled);
    }

    #[test]
    fn curves_too_short_to_tell_keep_the_longest() {
        let climbing = || {
            (0..29)
                .map(|i| 100.0 + 10.0 * f64::from(i))
                .collect::<Vec<_>>()
        };
        let mut plan = WarmUpPlan::new(4.0);
        for _ in 0..3 {
            plan.learn(&[climbing(), climbing()]);
        }
        assert_eq!(plan.seconds(), 4.0);
    }
}
