//! From the starting point to the final variant, rung by rung.

use maud::Markup;

use super::row_chart::{Mark, Row, row_chart};
use crate::ladder;
use crate::step::Step;
use crate::svg::{Size, both};

/// Letters of a row's detail that are never cut.
const DETAIL: usize = 42;

/// A step's change behind its lever's id; where both are too long, what has to be set says more.
fn with_id(id: &str, change: &str) -> String {
    let both = format!("{id}: {change}");
    match both.chars().count() <= DETAIL {
        true => both,
        false => change.to_owned(),
    }
}

/// Any steps: a bar continues where the last sure one ended.
pub(crate) fn waterfall(steps: &[Step]) -> Markup {
    let axis = ladder::axis(steps);
    let room = (axis.1 / axis.0).ln() * 0.04;
    let domain = (axis.0.ln() - room, axis.1.ln() + room);
    let rows: Vec<Row> = steps
        .iter()
        .enumerate()
        .map(|(i, step)| Row {
            title: step.title.clone(),
            detail: match (step.id.as_str(), step.total) {
                ("", true) => "all of them against the starting point".to_owned(),
                ("", false) => step.change.clone(),
                (id, _) => with_id(id, &step.change),
            },
            numbers: step.numbers.clone(),
            standing: step.standing.clone(),
            interval: (step.low.ln(), step.end.ln(), step.high.ln()),
            mark: Mark::Bar {
                start: step.start.ln(),
                joined: steps
                    .get(i + 1)
                    .is_some_and(|next| !next.total && next.start == step.end),
            },
            class: match (step.total, step.sure) {
                (true, true) => "total",
                (true, false) => "total screened",
                (false, true) => "claimed",
                (false, false) => "screened",
            },
        })
        .collect();
    let said: Vec<String> = steps
        .iter()
        .map(|step| format!("{} {}, {}", step.title, step.numbers, step.standing))
        .collect();
    let label = format!("Waterfall: {}", said.join("; "));
    both(|size: Size| row_chart(size, &rows, domain, true, &label))
}
