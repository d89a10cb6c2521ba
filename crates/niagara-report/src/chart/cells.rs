//! The cells of a matrix as intervals below each other, one chart for each workload.

use maud::Markup;
use niagara_model::{Cell, MatrixSummary};
use niagara_stats::Verdict;

use super::row_chart::{Mark, Row, domain, interval, rows_in_both_sizes};
use crate::build::trained_mark;
use crate::number;

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
    let found = measured.iter().filter_map(|cell| cell.comparison());
    let domain = domain(found.map(|found| found.judged().estimate));
    let rows: Vec<Row> = measured
        .iter()
        .filter_map(|cell| {
            let judgement = cell.comparison()?.judged();
            let estimate = judgement.estimate;
            let called = matches!(
                judgement.verdict_by_all(),
                Some(Verdict::Faster | Verdict::Slower)
            );
            Some(Row {
                title: format!(
                    "{}{}, {}",
                    cell.title,
                    trained_mark(matrix, cell),
                    number::count(cell.threads as usize, "thread")
                ),
                detail: String::new(),
                numbers: number::estimate(&estimate),
                standing: format!("n = {}", judgement.duels),
                interval: interval(&estimate),
                mark: if called { Mark::Disc } else { Mark::Ring },
                class: if called { "kept" } else { "dropped" },
            })
        })
        .collect();
    Some(rows_in_both_sizes(
        &rows,
        domain,
        "Throughput over the baseline",
    ))
}
