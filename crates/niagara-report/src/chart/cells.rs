//! The cells of a matrix as intervals below each other, one chart for each workload.

use maud::Markup;
use niagara_stats::Verdict;
use niagara_store::{Cell, MatrixSummary};

use super::row_chart::{Mark, Row, row_chart};
use crate::number;
use crate::svg::both;

/// The measured cells of one workload; `None` when there are none.
pub fn cells(matrix: &MatrixSummary, workload: usize) -> Option<Markup> {
    let measured: Vec<&Cell> = matrix
        .cells
        .iter()
        .filter(|cell| cell.workload == workload && cell.comparison().is_some())
        .collect();
    if measured.is_empty() {
        return None;
    }
    let mut domain = (-0.02f64, 0.02f64);
    let rows: Vec<Row> = measured
        .iter()
        .filter_map(|cell| {
            let judgement = &cell.comparison()?.throughput;
            let estimate = judgement.estimate;
            for value in [estimate.low.ln(), estimate.ratio.ln(), estimate.high.ln()] {
                if value.is_finite() && value.abs() < 1.5 {
                    domain = (domain.0.min(value), domain.1.max(value));
                }
            }
            let called = matches!(judgement.verdict, Some(Verdict::Faster | Verdict::Slower));
            Some(Row {
                title: format!(
                    "{}, {}",
                    cell.title,
                    number::count(cell.threads as usize, "thread")
                ),
                detail: String::new(),
                numbers: number::estimate(&estimate),
                standing: format!("n = {}", judgement.duels),
                interval: (estimate.low.ln(), estimate.ratio.ln(), estimate.high.ln()),
                mark: if called { Mark::Disc } else { Mark::Ring },
                class: if called { "kept" } else { "dropped" },
            })
        })
        .collect();
    let room = (domain.1 - domain.0) * 0.03;
    let domain = (domain.0 - room, domain.1 + room);
    let said: Vec<String> = rows
        .iter()
        .map(|row| format!("{} {}", row.title, row.numbers))
        .collect();
    let label = format!("Throughput over the baseline: {}", said.join("; "));
    Some(both(|size| row_chart(size, &rows, domain, false, &label)))
}
