//! What both sides of a comparison did, in absolute figures: throughput, latency, errors.

use niagara_model::{
    Comparison, DuelRecord, Event, Goal, OVER_SOCKET, OverSocket, Phase, STEADY_SLICE_SECONDS,
    SliceRecord, Summary, of_median_slices,
};
use niagara_stats::{Estimate, geometric_means};

use crate::document::Table;
use crate::handover::is_only_tried;
use crate::{Report, number};

/// Percentiles of transaction latency in a report, in the order of a slice's `latency_us`.
const PERCENTILES: [&str; 3] = [
    "Median latency, ms",
    "95th percentile, ms",
    "99th percentile, ms",
];

/// What stands behind the name of a percentile that steady load may not have.
const IN_SLICES: &str = " in slices,";

/// The row of all transactions over all time, beneath that of the median slice.
const OVER_ALL_TIME: &str = "The same, over all time";

/// What the columns are, and what the ratio is: of duels, and of pairs of runs.
const COLUMNS: &str = "A and B: means over the duels. B over A compares neighbouring slices.";
const COLUMNS_OF_PAIRS: &str =
    "A and B: means over the pairs. B over A compares the two runs of a pair.";

/// Which end of an interval holds where less is better.
const LOWER_IS_BETTER: &str = "For latency and CPU, lower is better: at most the upper figure.";

/// Both for one screen.
const IN_SHORT: &str = "B over A: of neighbouring slices, not B divided by A. Latency and CPU: at most the upper figure.";
const IN_SHORT_OF_PAIRS: &str = "B over A: of the two runs of a pair, not B divided by A. Latency and CPU: at most the upper figure.";

/// The row of what failed.
const ERRORS: &str = "Errors";

/// Absolute figures of A and B. They are for orientation: a machine's speed wanders, and only ratios within duels are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Sides {
    /// What A and B are.
    pub names: [String; 2],
    /// Transactions per second of the median slice of a duel: geometric means over the duels.
    pub tps: [f64; 2],
    /// Transactions per second of all slices together.
    pub all_time_tps: [f64; 2],
    /// Milliseconds at each of the percentiles of a duel's median slice, as ratios are judged: geometric means over the duels; empty
    /// where a slice has none.
    pub latency_ms: Vec<(&'static str, [f64; 2])>,
    /// Microseconds of the server's CPU time per transaction: geometric means over the duels.
    pub cpu_us: [f64; 2],
    /// B over A from the duels: throughput, each of the percentiles, server CPU per transaction, as far as they were judged.
    pub ratios: Ratios,
    /// Transactions that ended in an error, and all that were counted.
    pub errors: [(u64, u64); 2],
    /// Whether the load moved between the sides in short slices.
    pub is_interrupted: bool,
    /// Whether its slices were too short for the tail of latency that steady load has.
    pub has_short_slices: bool,
    /// Main settings of the start, where they were kept.
    pub start: Option<String>,
    /// What of the user's own server the start is, a line each.
    pub origin: Vec<String>,
}

/// B over A, each from the ratios within duels; below 1 is better of all but throughput.
#[derive(Debug, Clone, PartialEq)]
pub struct Ratios {
    /// Transactions per second.
    pub throughput: Estimate,
    /// The same over all time under load, where it is known.
    pub all_time: Option<Estimate>,
    /// At each of the percentiles that are told.
    pub latency: [Option<Estimate>; 3],
    /// Server CPU time per transaction.
    pub cpu: Option<Estimate>,
}

impl Ratios {
    fn of(comparison: &Comparison) -> Self {
        Self {
            throughput: comparison.throughput.estimate,
            all_time: comparison.all_time.map(|found| found.estimate),
            latency: [
                comparison.latency_p50,
                comparison.latency_p95,
                comparison.latency_p99,
            ],
            cpu: comparison.cpu_per_transaction,
        }
    }
}

impl Sides {
    /// Of the comparison that carries the headline: `None` where there is none, or none of its duels is stored.
    pub fn of(report: &Report) -> Option<Sides> {
        let summary = report.summary.as_ref()?;
        // Medians beside the means of the protocol of 2008 would be another protocol's.
        if summary.runs().is_some() {
            return None;
        }
        let comparison = summary.comparison()?;
        let first_is_start = matches!(report.summary, Some(Summary::Tune(_)));
        let names = match summary {
            Summary::Tune(tune) if is_only_tried(tune) => ["start (A)", "tried (B)"],
            Summary::Tune(_) => ["start (A)", "final (B)"],
            _ => ["A", "B"],
        };
        let mut sides =
            Self::of_duels(report, &report.main_duels(), names, Ratios::of(comparison))?;
        sides.origin = report
            .events
            .iter()
            .filter_map(|record| match &record.event {
                Event::Origin { note } => Some(note.to_string()),
                _ => None,
            })
            .collect();
        sides.start = report.start_settings().filter(|_| first_is_start);
        Some(sides)
    }

    /// Of the duels in which both sides of a tuning used the Unix socket; `None` where none of them is stored.
    pub(crate) fn over_socket(report: &Report, left: &OverSocket) -> Option<Sides> {
        let ratios = Ratios {
            throughput: left.gain,
            all_time: None,
            latency: [left.p50, None, left.p99],
            cpu: left.cpu,
        };
        Self::of_duels(
            report,
            &report.scored(Phase::Claim, OVER_SOCKET),
            ["start, socket (A)", "final (B)"],
            ratios,
        )
    }

    /// Of these duels; `None` where no slice of theirs is stored.
    fn of_duels(
        report: &Report,
        duels: &[&DuelRecord],
        names: [&str; 2],
        ratios: Ratios,
    ) -> Option<Sides> {
        let slices: Vec<&SliceRecord> = report
            .slices
            .iter()
            .filter(|slice| duels.iter().any(|duel| duel.seq == slice.duel))
            .collect();
        if slices.is_empty() {
            return None;
        }
        let all_time_tps = [0, 1].map(|side| {
            let own = || slices.iter().filter(|slice| slice.side == side);
            let transactions: u64 = own().map(|slice| slice.transactions).sum();
            transactions as f64 / own().map(|slice| slice.seconds).sum::<f64>()
        });
        let of_slices =
            |figure: &dyn Fn(&SliceRecord) -> f64| of_median_slices(duels, &report.slices, figure);
        let tps = of_slices(&|slice| slice.transactions as f64 / slice.seconds);
        let latency_ms = PERCENTILES.iter().enumerate().map(|(place, name)| {
            let ms = of_slices(&|slice| slice.latency_us[place] as f64 / 1000.0);
            ms.map(|ms| (*name, ms))
        });
        let latency_ms = latency_ms.collect::<Option<Vec<_>>>().unwrap_or_default();
        let cpu_us_of = |duel: &DuelRecord, side: u8| {
            let own = || {
                let all = slices.iter();
                all.filter(move |slice| (slice.duel, slice.side) == (duel.seq, side))
            };
            let transactions: u64 = own().map(|slice| slice.transactions_whole).sum();
            let seconds: f64 = own().map(|slice| slice.server_cpu_seconds).sum();
            seconds * 1e6 / transactions as f64
        };
        let of_duels = duels
            .iter()
            .map(|duel| [0, 1].map(|side| cpu_us_of(duel, side)));
        let cpu_us = geometric_means(of_duels);
        let summary = report.summary.as_ref();
        let is_interrupted = summary.is_some_and(|found| found.header().protocol == "duel");
        let errors = [0, 1].map(|side| {
            let own = || slices.iter().filter(|slice| slice.side == side);
            (
                own().map(|slice| slice.errors.values().sum::<u64>()).sum(),
                own().map(|slice| slice.transactions).sum(),
            )
        });
        Some(Sides {
            names: names.map(str::to_owned),
            tps: tps.unwrap_or([f64::NAN; 2]),
            all_time_tps,
            latency_ms,
            cpu_us: cpu_us.unwrap_or([f64::NAN; 2]),
            ratios,
            errors,
            is_interrupted,
            has_short_slices: is_interrupted
                && slices
                    .iter()
                    .all(|slice| slice.seconds < STEADY_SLICE_SECONDS),
            origin: Vec::new(),
            start: None,
        })
    }

    /// Whether no transaction of either side ended in an error.
    pub(crate) fn had_no_errors(&self) -> bool {
        self.errors.iter().all(|(errors, _)| *errors == 0)
    }

    /// As a table for one screen: of the percentiles the median, the 99th and what was judged; errors
    /// where there were any. A warning tells of throughput over all time where it differs.
    pub(crate) fn table_in_short(&self, goal: Goal) -> Table {
        let mut grid = self.table();
        let [_, p95, _] = PERCENTILES;
        let p95 = p95.split(',').next().unwrap_or(p95);
        grid.rows.retain(|row| match row[0].as_str() {
            ERRORS => !self.had_no_errors(),
            OVER_ALL_TIME => false,
            name => !name.starts_with(p95) || goal == Goal::P95,
        });
        grid.columns[0].0 = std::mem::take(&mut grid.heading);
        let in_short = match self.is_interrupted {
            true => IN_SHORT,
            false => IN_SHORT_OF_PAIRS,
        };
        grid.notes = vec![in_short.to_owned()];
        grid.short_notes = 1;
        grid
    }

    /// The rows that have a ratio, beneath `heading` and above `note`.
    pub(crate) fn judged_table(&self, heading: &str, note: String) -> Table {
        let mut grid = self.table();
        // Short slices have another tail than steady load.
        let [_, p95, p99] = PERCENTILES.map(|name| name.split(',').next().unwrap_or(name));
        let is_tail = |name: &str| name.starts_with(p95) || name.starts_with(p99);
        grid.rows.retain(|row| {
            row.last().is_some_and(|ratio| !ratio.is_empty())
                && !(self.has_short_slices && is_tail(&row[0]))
        });
        grid.heading = heading.to_owned();
        grid.notes = vec![note];
        grid.long = true;
        grid
    }

    /// As a table.
    pub(crate) fn table(&self) -> Table {
        let [a, b] = self.names.each_ref().map(String::as_str);
        let columns = [("", false), (a, true), (b, true), ("B over A", false)];
        let mut grid = Table::new("In figures", &columns);
        let mut row = |name: &str, [a, b]: [String; 2], ratio: Option<&Estimate>| {
            let ratio = ratio.map_or(String::new(), number::estimate);
            grid.rows.push(vec![name.to_owned(), a, b, ratio]);
        };
        row(
            "Transactions per second",
            self.tps.map(number::rate),
            Some(&self.ratios.throughput),
        );
        if let Some(all_time) = &self.ratios.all_time {
            row(
                OVER_ALL_TIME,
                self.all_time_tps.map(number::rate),
                Some(all_time),
            );
        }
        let [_, p95, p99] = PERCENTILES;
        for ((name, values), ratio) in self.latency_ms.iter().zip(&self.ratios.latency) {
            let name = match *name == p95 || *name == p99 {
                true if self.has_short_slices => name.replace(",", IN_SLICES),
                _ => (*name).to_owned(),
            };
            row(&name, values.map(digits_that_count), ratio.as_ref());
        }
        if let Some(cpu) = &self.ratios.cpu {
            row(
                "Server CPU per transaction, µs",
                self.cpu_us.map(digits_that_count),
                Some(cpu),
            );
        }
        row(
            ERRORS,
            self.errors.map(|(errors, transactions)| match errors {
                0 => "none".to_owned(),
                _ => format!(
                    "{} of {}",
                    number::grouped(errors as f64),
                    number::grouped(transactions as f64)
                ),
            }),
            None,
        );
        let over_all_time = match self.ratios.all_time {
            Some(_) => " Over all time: all transactions over all seconds under load.",
            None => "",
        };
        let (columns, tail) = match self.is_interrupted {
            true => (
                COLUMNS,
                match self.has_short_slices {
                    true => {
                        " Percentiles are of single slices, averaged. Slices below 1 s have another tail than steady load: `niagara compare \
                         --goal p99` measures that."
                    }
                    false => " Percentiles are of single slices, averaged.",
                },
            ),
            false => (
                COLUMNS_OF_PAIRS,
                " Percentiles are of single runs, averaged.",
            ),
        };
        grid.notes.push(format!(
            "{columns} So it may differ a little from B divided by A. {LOWER_IS_BETTER}{tail}{over_all_time}"
        ));
        if let Some(start) = &self.start {
            grid.notes.push(format!("The start: {start}."));
        }
        grid.notes.extend(self.origin.clone());
        grid
    }
}

/// `0.42`, `4.2`, `42`, `420`: two digits that count.
fn digits_that_count(value: f64) -> String {
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
    fn figures_have_the_digits_that_count() {
        let all = [0.421, 4.21, 42.12, 4212.0, f64::NAN].map(digits_that_count);
        assert_eq!(
            all,
            ["0.42", "4.2", "42.1", "4\u{2009}212", number::NOTHING]
        );
    }
}
