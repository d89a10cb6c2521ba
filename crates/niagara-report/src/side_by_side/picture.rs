//! The same figures in two studies, one above the other.

use maud::Markup;

use super::common::Common;
use crate::chart::{Mark, Row, domain, interval, row_chart};
use crate::number;
use crate::svg::both;

/// Each figure as a row for the first and a row for the second study; `None` when there are none.
pub(crate) fn two_studies(figures: &[&Common]) -> Option<Markup> {
    let mut rows = Vec::new();
    for figure in figures {
        let word = if figure.differs { "differs" } else { "" };
        let places = [
            ("first", Mark::Ring, "dropped"),
            ("second", Mark::Disc, "kept"),
        ];
        for (estimate, (place, mark, class)) in figure.estimates.iter().zip(places) {
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
                interval: interval(estimate),
                mark,
                class,
            });
        }
    }
    if rows.is_empty() {
        return None;
    }
    let domain = domain(figures.iter().flat_map(|figure| figure.estimates));
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
