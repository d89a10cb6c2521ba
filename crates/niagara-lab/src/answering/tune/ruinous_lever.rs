//! Which lever a screening sets aside for what it costs, and in which words.

use niagara_model::{NotTried, Reason};
use niagara_stats::{Effect, Estimate, student};

use crate::lever::Role;
use crate::variants::candidate::{Candidate, LeverFactor};

/// Of the levels that are `ruinous`, the surest first, the first that is still in the field: its candidate, and what is
/// said of it. The controls stay: that one slows the server is what it is there for.
pub(crate) fn ruinous_lever(
    ruinous: &[Effect],
    candidates: &[Candidate],
    factors: &[LeverFactor],
    is_aside: impl Fn(usize) -> bool,
) -> Option<(usize, NotTried)> {
    ruinous.iter().find_map(|effect| {
        let index = factors[effect.factor].levels[effect.level - 1];
        let candidate = &candidates[index];
        let goes = candidate.lever.role() == Role::Lever && !is_aside(index);
        goes.then(|| (index, candidate.not_tried(reason(effect))))
    })
}

fn reason(effect: &Effect) -> Reason {
    let normal = student::quantile(0.975, f64::INFINITY);
    let cost = Estimate::from_log_std_err(effect.log_effect, effect.std_err, normal);
    Reason::Costly {
        ratio: cost.ratio,
        low: cost.low,
        high: cost.high,
        duels: effect.duels,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lever::{Change, load};
    use crate::variants::candidate::factors;

    #[test]
    fn the_surest_that_is_left_goes_and_no_control() {
        let levers = load(&[]).expect("the shipped levers");
        let ids = [
            "performance-schema-all",
            "connect-errors-more",
            "query-cache",
            "transport-unix",
        ];
        let candidates = ids.map(|id| Candidate {
            lever: levers
                .iter()
                .find(|lever| lever.id() == id)
                .expect("shipped")
                .clone(),
            change: Change::default(),
            span: None,
            prior: None,
        });
        let effect = |factor: usize, log_effect: f64| Effect {
            factor,
            level: 1,
            log_effect,
            std_err: 0.05,
            duels: 9,
        };
        let found = [
            effect(0, -1.5),
            effect(1, -1.4),
            effect(2, -1.2),
            effect(3, -0.7),
        ];
        let factors = factors(&candidates);
        let goes = |aside: &[usize]| {
            let found = ruinous_lever(&found, &candidates, &factors, |index| {
                aside.contains(&index)
            });
            found.map(|(index, told)| (index, told.lever, told.reason.to_string()))
        };
        let reason = "it costs more than a third of the throughput: × 0.30 [0.27, 0.34] with it by 9 duels, then set aside";
        assert_eq!(
            goes(&[]),
            Some((2, "query-cache".to_owned(), reason.to_owned()))
        );
        assert_eq!(goes(&[2]).map(|(index, ..)| index), Some(3));
        assert_eq!(goes(&[2, 3]), None);
    }
}
