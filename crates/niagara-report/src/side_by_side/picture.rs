//! The same figures in two studies, one above the other.

use maud::Markup;

use super::common::Common;
use crate::chart::{Mark, Row, row_chart};
use crate::number;
use crate::svg::both;

/// Each figure as a row for the first and a row for the second study; `None` when there are none.
pub(crate) fn two_studies(figures: &[&Common]) -> Option<Markup> {
    let mut domain = (-0.01f64, 0.01f64);
    let mut rows = Vec::new();
    for figure in figures {
        let word = if figure.differs { "differs" } else { "" };
        let places = [
            ("first", Mark::Ring, "dropped"),
            ("second", Mark::Disc, "kept"),
        ];
        for (estimate, (place, mark, class)) in figure.estimates.iter().zip(places) {
            let interval = (estimate.low.ln(), estimate.ratio.ln(), estimate.high.ln());
            for log in [interval.0, interval.1, interval.2] {
                // What lies far out is drawn as an arrow: it must not squeeze the rest.
                if log.is_finite() && log.abs() < 1.5 {
                    domain = (domain.0.min(log), domain.1.max(log));
                }
            }
            rows.push(Row {
                title: match place {
                    "first" => figure.title.clone(),
                    _ => String::new(),
                },
                detail: place.to_owned(),
                numbers: number::estimate(estimate),
                standing: match (place, word) {
                    ("second", "differs") => "second, differs".to_owned(),
                    _ => place.to_owned(),
                },
                interval,
                mark,
                class,
            });
        }
    }
    if rows.is_empty() {
        return None;
    }
    let room = (domain.1 - domain.0) * 0.03;
    let domain = (domain.0 - room, domain.1 + room);
    let said: Vec<String> = figures
        .iter()
        .map(|figure| {
            let [first, second] = figure.estimates.each_ref().map(number::estimate);
            format!("{}: first {first}, second {second}", figure.title)
        })
        .collect();
    let label = format!(
        "Figures of both studies with their intervals: {}",
        said.join("; ")
    );
    Some(both(|size| row_chart(size, &rows, domain, false, &label)))
}
