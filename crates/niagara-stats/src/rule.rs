//! When a comparison ends.

/// When a comparison stops without a difference shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// Smallest gain worth having, as a fraction: an interval wholly below it is [`NotWorthwhile`](crate::Verdict::NotWorthwhile).
    pub min_effect: f64,
    /// Stop when the probability of still reaching the last critical value falls below this.
    pub futility: f64,
    /// A verdict is not the end: all of the plan's duels are run, to know more exactly. Then only a difference, once
    /// called, stands; "not worthwhile" and "undetected" are said of all duels.
    pub to_the_end: bool,
}

impl Default for Rule {
    /// A gain of 0.5 %; a chance of 5 %; not to the end.
    fn default() -> Self {
        Self {
            min_effect: 0.005,
            futility: 0.05,
            to_the_end: false,
        }
    }
}

impl Rule {
    /// The rule under way of a comparison that goes to the end: only a difference is called. The critical values do not
    /// count on stops for futility, so that going past one costs no error probability.
    pub(crate) fn under_way(&self) -> Self {
        if !self.to_the_end {
            return *self;
        }
        Self {
            min_effect: f64::NEG_INFINITY,
            futility: 0.0,
            to_the_end: true,
        }
    }
}
