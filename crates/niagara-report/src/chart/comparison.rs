//! What a comparison was decided by and what else changed, as intervals below each other.

use maud::Markup;
use niagara_stats::Estimate;
use niagara_store::Comparison;

use super::row_chart::{Mark, Row, domain, row_chart};
use crate::number;
use crate::svg::both;
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
            interval: (estimate.low.ln(), estimate.ratio.ln(), estimate.high.ln()),
            mark,
            class,
        })
        .collect();
    let said: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row.title, row.numbers))
        .collect();
    let label = format!("B over A: {}", said.join("; "));
    Some(both(|size| row_chart(size, &rows, domain, false, &label)))
}

fn has_interval(estimate: &Estimate) -> bool {
    estimate.low > 0.0 && estimate.high.is_finite()
}
