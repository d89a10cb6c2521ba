//! Levers of which nothing is known beforehand, as a screening's fit leaves them.

use niagara_stats::{Fit, Prospect, ScreenedEffect};

/// Every effect of the fit, each of a factor of its own.
pub fn prospects(fit: &Fit) -> Vec<Prospect> {
    fit.effects
        .iter()
        .map(|effect| Prospect {
            index: effect.factor,
            factor: effect.factor,
            effect: ScreenedEffect {
                log_effect: effect.log_effect,
                std_err: effect.std_err,
                prior: None,
            },
            apart: Vec::new(),
        })
        .collect()
}
