//! A step of a waterfall.

use niagara_stats::Estimate;

use crate::number;

/// One line of the waterfall.
#[derive(Debug, Clone)]
pub struct Step {
    /// What changed.
    pub title: String,
    /// The lever, as options take it; empty of what is none.
    pub id: String,
    /// How, in the server's words; empty for the total.
    pub change: String,
    /// This step alone.
    pub estimate: Estimate,
    /// Throughput over the starting point's before this step.
    pub start: f64,
    /// After it, with the ends of this step's interval.
    pub end: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// `× 1.17 [1.16, 1.19]`.
    pub numbers: String,
    /// `proven, n = 12`.
    pub standing: String,
    /// Proven by fresh duels.
    pub sure: bool,
    /// The starting point against the final variant.
    pub total: bool,
}

impl Step {
    /// One that begins at the starting point.
    pub(crate) fn of(title: String, estimate: Estimate, standing: String) -> Step {
        Step {
            title,
            ..Step::total(estimate, standing, false)
        }
    }

    /// The same where the one before it ended; `reached` is then where this one ends.
    pub(crate) fn from(self, reached: &mut f64) -> Step {
        let (estimate, start) = (self.estimate, *reached);
        if estimate.ratio.is_finite() && estimate.ratio > 0.0 {
            *reached *= estimate.ratio;
        }
        Step {
            start,
            end: start * estimate.ratio,
            low: start * estimate.low,
            high: start * estimate.high,
            total: false,
            ..self
        }
    }

    /// The same with its lever's identifier behind the title.
    pub(crate) fn with_id(&self) -> Step {
        let title = match self.id.is_empty() {
            true => self.title.clone(),
            false => format!("{} ({})", self.title, self.id),
        };
        Step {
            title,
            ..self.clone()
        }
    }

    /// The starting point against the final variant, from its own duels.
    pub fn total(estimate: Estimate, standing: String, sure: bool) -> Step {
        Step {
            title: "Total".into(),
            id: String::new(),
            change: String::new(),
            estimate,
            start: 1.0,
            end: estimate.ratio,
            low: estimate.low,
            high: estimate.high,
            numbers: number::estimate(&estimate),
            standing,
            sure,
            total: true,
        }
    }
}
