//! What both sides of a comparison did, in absolute figures: throughput, latency, errors.

use niagara_store::{Comparison, ORIGIN, START_SETTINGS, SliceRecord, Summary};

use crate::chart::Latencies;
use crate::study::Grid;
use crate::{Report, number};

/// Percentiles of transaction latency that are told.
const PERCENTILES: [(f64, &str); 3] = [
    (50.0, "Median latency, ms"),
    (95.0, "95th percentile, ms"),
    (99.0, "99th percentile, ms"),
];

/// Absolute figures of A and B. They are for orientation: a machine's speed wanders, and only ratios within duels are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Sides {
    /// What A and B are.
    pub names: [String; 2],
    /// Median of the slices' transactions per second.
    pub tps: [f64; 2],
    /// Milliseconds at each of the percentiles, over all slices that nothing else disturbed; empty where no histogram is
    /// stored.
    pub latency_ms: Vec<(&'static str, [f64; 2])>,
    /// Transactions that ended in an error, and all that were counted.
    pub errors: [(u64, u64); 2],
    /// Main settings of the start, where they were kept.
    pub start: Option<String>,
    /// What of the user's own server the start is, a line each.
    pub origin: Vec<String>,
}

impl Sides {
    /// Of the comparison that carries the headline: `None` where there is none, or none of its duels is stored.
    pub fn of(report: &Report) -> Option<Sides> {
        let comparison = main_comparison(report.summary.as_ref()?)?;
        let duels = report.scored(report.main_phase(), "");
        let first_is_start = matches!(report.summary, Some(Summary::Tune(_)));
        let names = match first_is_start {
            true => ["start (A)".to_owned(), "final (B)".to_owned()],
            false => ["A".to_owned(), "B".to_owned()],
        };
        let slices: Vec<&SliceRecord> = report
            .slices
            .iter()
            .filter(|slice| duels.iter().any(|duel| duel.seq == slice.duel))
            .collect();
        if slices.is_empty() {
            return None;
        }
        let errors = [0, 1].map(|side| {
            let own = || slices.iter().filter(|slice| slice.side == side);
            (
                own().map(|slice| slice.errors.values().sum::<u64>()).sum(),
                own().map(|slice| slice.transactions).sum(),
            )
        });
        let latencies = Latencies::of(&duels, &report.slices);
        let latency_ms = latencies.map_or(Vec::new(), |latencies| {
            PERCENTILES
                .iter()
                .map(|(percentile, name)| {
                    (*name, [0, 1].map(|side| latencies.at(side, *percentile)))
                })
                .collect()
        });
        Some(Sides {
            names,
            tps: comparison.tps,
            latency_ms,
            errors,
            origin: report
                .events
                .iter()
                .filter(|event| event.kind == ORIGIN)
                .map(|event| event.text.clone())
                .collect(),
            start: report
                .events
                .iter()
                .find(|event| first_is_start && event.kind == START_SETTINGS)
                .map(|event| event.text.clone()),
        })
    }

    /// As a table.
    pub(crate) fn grid(&self) -> Grid {
        let [a, b] = self.names.each_ref().map(String::as_str);
        let mut grid = Grid::new("In figures", &[("", false), (a, true), (b, true)]);
        let mut row = |name: &str, cells: [String; 2]| {
            let [a, b] = cells;
            grid.rows.push(vec![name.to_owned(), a, b]);
        };
        row("Transactions per second", self.tps.map(number::rate));
        for (name, values) in &self.latency_ms {
            row(name, values.map(milliseconds));
        }
        row(
            "Errors",
            self.errors.map(|(errors, transactions)| match errors {
                0 => "none".to_owned(),
                _ => format!(
                    "{} in {} transactions",
                    number::grouped(errors as f64),
                    number::grouped(transactions as f64)
                ),
            }),
        );
        grid.notes.push(
            "For orientation: the machine's speed wanders, so only the ratio within each duel is judged. \
             Throughput is the median of the slices."
                .to_owned(),
        );
        if let Some(start) = &self.start {
            grid.notes.push(format!("The start: {start}."));
        }
        grid.notes.extend(self.origin.clone());
        grid
    }
}

/// The comparison that the headline speaks of.
pub(crate) fn main_comparison(summary: &Summary) -> Option<&Comparison> {
    match summary {
        Summary::Tune(tune) => tune.total.as_ref(),
        Summary::Compare(compare) => Some(&compare.comparison),
        Summary::Ladder(ladder) => ladder.total.as_ref(),
        Summary::Matrix(matrix) => matrix.confirmed.as_ref().map(|best| &best.comparison),
        Summary::Sweep(_) => None,
    }
}

/// `0.42`, `4.2`, `42`, `420`: two digits that count.
fn milliseconds(value: f64) -> String {
    match value {
        none if !none.is_finite() => number::NOTHING.to_owned(),
        small if small < 1.0 => format!("{small:.2}"),
        middle if middle < 100.0 => format!("{middle:.1}"),
        large => number::grouped(large),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_have_the_digits_that_count() {
        let all = [0.421, 4.21, 42.12, 4212.0, f64::NAN].map(milliseconds);
        assert_eq!(
            all,
            ["0.42", "4.2", "42.1", "4\u{2009}212", number::NOTHING]
        );
    }
}
