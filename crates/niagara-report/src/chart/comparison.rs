//! What a comparison was decided by and what else changed, as intervals below each other.

use maud::Markup;
use niagara_model::Comparison;
use niagara_stats::Estimate;

use super::row_chart::{Mark, Row, domain, interval, rows_in_both_sizes};
use crate::number;
use crate::wording::{lesser_claims, verdict_on_goal};

/// B over A: the goal first, as a disc, the figures beside it as rings; `None` where nothing has an interval.
pub fn comparison(comparison: &Comparison) -> Option<Markup> {
    let judged = comparison.judged();
    let goal = (
        comparison.goal.title(),
        comparison.goal.figure(&judged.estimate),
        verdict_on_goal(comparison),
        Mark::Disc,
        "kept",
    );
    let beside = lesser_claims(comparison).into_iter().map(|claim| {
        let title = claim.title;
        (title, claim.estimate, String::new(), Mark::Ring, "dropped")
    });
    let drawn: Vec<_> = std::iter::once(goal)
        .chain(beside)
        .filter(|(_, estimate, ..)| has_interval(estimate))
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let domain = domain(drawn.iter().map(|(_, estimate, ..)| *estimate));
    let rows: Vec<Row> = drawn
        .into_iter()
        .map(|(title, estimate, standing, mark, class)| Row {
            title: title.to_owned(),
            detail: String::new(),
            numbers: number::estimate(&estimate),
            standing,
            interval: interval(&estimate),
            mark,
            class,
        })
        .collect();
    Some(rows_in_both_sizes(&rows, domain, "B over A"))
}

fn has_interval(estimate: &Estimate) -> bool {
    estimate.low > 0.0 && estimate.high.is_finite()
}
