//! The duels behind a comparison: scores, throughput over time, latency.

use maud::Markup;
use niagara_model::Comparison;

use crate::chart::{self, Latencies, PERCENTILES};
use crate::document::{Block, Column, Depth, Figure, Section, Table};
use crate::{Report, number, wording};

pub(super) fn section(report: &Report, comparison: &Comparison) -> Section {
    let duels = report.main_duels();
    let scores = report.main_scores(comparison);
    let looks = chart::looks(&scores, comparison.judged());
    let throughput = chart::throughput(&duels, &report.slices);
    let sides = [comparison.a.clone(), comparison.b.clone()];
    let mut section = Section::new(Depth::Page, "The evidence from fresh duels")
        .named("evidence")
        .with(Block::Sides(sides));
    if looks.is_none() && throughput.is_none() {
        section = section.with(Block::Note("No scored duels are stored.".to_owned()));
    }
    if let Some(picture) = looks {
        section = section.with(by_duel(picture, comparison));
    }
    if let Some(picture) = throughput {
        let crosses = match comparison.dropped {
            [0, 0] => String::new(),
            _ => format!(
                " Crosses: slices that were dropped (couples: {}).",
                wording::dropped(comparison)
            ),
        };
        let caption = format!(
            "Transactions per second of every slice; lines are medians of a duel's slices. Both sides meet the machine's slow phases, \
             so ratios vary less than throughput. A duel's score compares neighbouring slices: its lines may differ from it.{crosses}"
        );
        section = section.with(over_time(picture, caption));
    }
    if let Some(latencies) = Latencies::of(&duels, &report.slices) {
        section = section
            .with(Block::Figure(Figure {
                title: "Latency of transactions".to_owned(),
                picture: chart::latency(&latencies),
                caption: format!(
                    "Both axes are logarithmic. Bands hold the middle 80 % of the duels. {}",
                    load_in_words(comparison)
                ),
            }))
            .with(Block::Table(percentiles(&latencies, comparison)))
            .with(Block::Note(
                "A and B: all duels' transactions together, whose tail may be longer than that within a slice, which \"In figures\" has. B \
                 over A compares the percentiles of neighbouring slices: it is not the quotient of these columns. –: not judged."
                    .to_owned(),
            ));
    }
    section
}

fn by_duel(picture: Markup, comparison: &Comparison) -> Block {
    let judged = comparison.judged();
    let looks = match judged.confidence.is_none() && judged.estimate.high.is_finite() {
        true => format!(
            " The bars are the interval at each planned look, whose number depends on the time left, never on the scores; they are made \
             wide enough for all looks together ({}), so that stopping early does not raise the chance of a false call.",
            wording::error_probability(judged)
        ),
        false => String::new(),
    };
    Block::Figure(Figure {
        title: "Duel by duel".to_owned(),
        picture,
        caption: format!(
            "Each dot is one duel's score after a fresh start of both: the gain of B over A in {}. The interval is for the typical duel: \
             single dots may lie outside of it.{looks}",
            comparison.goal.title()
        ),
    })
}

/// The throughput of every slice.
pub(super) fn over_time(picture: Markup, caption: String) -> Block {
    Block::Figure(Figure {
        title: "Throughput over time".to_owned(),
        picture,
        caption,
    })
}

/// What latency means under this load.
fn load_in_words(comparison: &Comparison) -> &'static str {
    if comparison.goal.is_latency() {
        "Transactions arrive at the same rate on both sides; each is timed from when it was due."
    } else if comparison.replay.is_some() {
        "Of a capture: with --speed each transaction is timed from when it was due, else each session waits for its answer before it \
         goes on."
    } else {
        "The load is closed: each connection waits for its answer before it asks again. That fixes the product of throughput and \
         mean latency, not the percentiles; those at an equal rate of arrivals are another question (--goal p99)."
    }
}

fn percentiles(latencies: &Latencies, comparison: &Comparison) -> Table {
    let mut table = Table::of(
        "Latencies",
        &[
            ("Percentile", Column::Words),
            ("A, ms", Column::Figures),
            ("B, ms", Column::Figures),
            ("B over A, from the duels", Column::Figures),
        ],
    );
    for (percentile, name) in PERCENTILES {
        let judged = match percentile {
            50.0 => comparison.latency_p50,
            95.0 => comparison.latency_p95,
            99.0 => comparison.latency_p99,
            _ => None,
        };
        let judged = judged.map_or(number::NOTHING.to_owned(), |e| number::estimate(&e));
        let [a, b] = [0, 1].map(|side| format!("{:.2}", latencies.at(side, percentile)));
        table.rows.push(vec![name.to_owned(), a, b, judged]);
    }
    table
}
