//! Which combination of a matrix gains most.

use crate::{Cell, MatrixWorkload};

/// Each combination of levels with the mean of its cells' log ratios of throughput over the baseline, in the order of the cells;
/// `None` of one that was not measured in all of them, or that ended one by failing: the duels that count are then those that it
/// survived. Where builds were trained on some workloads, cells of the others alone
/// count. Variants that stand beside the combinations are none.
pub fn mean_gains<'a>(
    cells: &'a [Cell],
    workloads: &[MatrixWorkload],
) -> Vec<(&'a str, Option<f64>)> {
    let held_out = workloads.iter().any(|workload| !workload.trained);
    let counts = |cell: &&Cell| {
        let workload = workloads.get(cell.workload);
        let is_judge = !held_out || workload.is_some_and(|workload| !workload.trained);
        is_judge && !cell.levels.is_empty()
    };
    let mut logs: Vec<(&str, Vec<Option<f64>>)> = Vec::new();
    for cell in cells.iter().filter(counts) {
        let comparison = cell.comparison().filter(|found| found.failed.is_none());
        let log = comparison.map(|found| found.throughput.estimate.ratio.ln());
        match logs.iter_mut().find(|(title, _)| *title == cell.title) {
            Some((_, own)) => own.push(log),
            None => logs.push((&cell.title, vec![log])),
        }
    }
    let mean = |logs: Vec<Option<f64>>| {
        let count = logs.len() as f64;
        let all: Option<Vec<f64>> = logs.into_iter().collect();
        let mean = all?.iter().sum::<f64>() / count;
        mean.is_finite().then_some(mean)
    };
    let titled = logs.into_iter();
    titled.map(|(title, logs)| (title, mean(logs))).collect()
}

/// The title of the combination with the highest of [`mean_gains`]; `None` where none gains.
pub fn best_combination<'a>(cells: &'a [Cell], workloads: &[MatrixWorkload]) -> Option<&'a str> {
    let gains = mean_gains(cells, workloads).into_iter();
    let known = gains.filter_map(|(title, gain)| Some((title, gain?)));
    let best = known.max_by(|one, other| one.1.total_cmp(&other.1));
    let (title, _) = best.filter(|(_, gain)| *gain > 0.0)?;
    Some(title)
}
