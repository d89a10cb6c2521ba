//! A matrix: a table for each workload, combinations down, thread counts across.

use niagara_model::{
    Cell, CellOutcome, Comparison, Goal, MatrixSummary, best_combination, mean_gains,
};
use niagara_stats::Verdict;

use super::parts::{confirmations, left, parts};
use super::{Digits, Own, controls, interval_estimate};
use crate::all_time::withdrawn;
use crate::document::{Block, Depth, Figure, Section, Table};
use crate::wording::{
    at_its_confidence, better_than, failed, fresh, judged_by, judged_in_words, verdict_on_goal,
};
use crate::{chart, number};

pub fn headline(matrix: &MatrixSummary) -> String {
    let measured = measured_cells(matrix);
    let mut cells = format!("{measured} of {} cells measured", matrix.cells.len());
    let failures = matrix.cells.iter().filter_map(Cell::failure).count();
    if failures > 0 {
        cells += &format!(", {failures} failed");
    }
    let Some(confirmed) = &matrix.confirmed else {
        return format!(
            "{}: {}",
            matrix.header.server,
            without_confirmation(matrix, &cells)
        );
    };
    let comparison = &confirmed.comparison;
    let judgement = comparison.judged();
    let found = number::estimate(&comparison.goal.figure(&judgement.estimate));
    let found = withdrawn(comparison).unwrap_or_else(|| at_its_confidence(comparison, &found));
    let load = crate::load::load(
        &matrix.workloads[confirmed.workload].name,
        confirmed.threads,
    );
    let duels = fresh(&matrix.header.protocol, judgement.duels);
    if let Some(failure) = failed(comparison, &load) {
        return format!(
            "{}: the combination that looked best, {}, failed: {failure} ({cells})",
            matrix.header.server, confirmed.title
        );
    }
    match judgement.verdict_by_all() {
        Some(Verdict::Faster) => format!(
            "{}: {}, {}, is {} the baseline for {load}: {found}, proven by {duels} ({cells})",
            matrix.header.server,
            which_best(matrix, &confirmed.title),
            confirmed.title,
            better_than(comparison)
        ),
        _ => format!(
            "{}: the combination that looked best, {}, is {} in fresh {} for {load}: {found} ({duels}; {cells})",
            matrix.header.server,
            confirmed.title,
            verdict_on_goal(comparison),
            niagara_model::units(&matrix.header.protocol)
        ),
    }
}

/// How many cells were measured to the end.
fn measured_cells(matrix: &MatrixSummary) -> usize {
    let cells = matrix.cells.iter();
    cells
        .filter(|cell| cell.comparison().is_some() && cell.failure().is_none())
        .count()
}

/// What the combination that was proven is called: a later one may look better by its cells, and not be confirmed, or not yet.
fn which_best(matrix: &MatrixSummary, proven: &str) -> &'static str {
    match best_combination(&matrix.cells, &matrix.workloads) {
        Some(best) if best != proven => "the best combination that was confirmed",
        _ => "the best combination",
    }
}

/// The finding of a matrix in which nothing was confirmed; `cells` says how many were measured.
fn without_confirmation(matrix: &MatrixSummary, cells: &str) -> String {
    let measured = measured_cells(matrix);
    if !matrix.header.complete || measured == 0 {
        return format!("{cells}, nothing confirmed yet");
    }
    if let Some(best) = best_combination(&matrix.cells, &matrix.workloads) {
        return format!("{cells}; {best} looked best, and could not be confirmed");
    }
    let gains = mean_gains(&matrix.cells, &matrix.workloads);
    if gains.iter().all(|(_, gain)| gain.is_none()) {
        return format!("no combination was measured in all of its cells ({cells})");
    }
    let which = match measured == matrix.cells.len() {
        true => "no combination was",
        false => "none of the combinations measured was",
    };
    format!("{which} better on the whole than the baseline ({cells})")
}

pub(super) fn own(matrix: &MatrixSummary) -> Own {
    let tables = tables(matrix).into_iter();
    let checks = controls::table(&matrix.controls, &matrix.header.checks);
    Own {
        pictures: (0..matrix.workloads.len())
            .map(|workload| picture(matrix, workload))
            .collect(),
        tables: tables.chain(checks).map(Section::from).collect(),
        ..Own::default()
    }
}

fn picture(matrix: &MatrixSummary, workload: usize) -> Section {
    let heading = format!(
        "{}{}",
        matrix.workloads[workload].name,
        kind(matrix, workload)
    );
    let picture = chart::cells(matrix, workload);
    let figure = picture.map(|picture| {
        Block::Figure(Figure {
            title: String::new(),
            picture,
            caption: "Gain over the baseline. Filled: a difference was called; ring: none was."
                .to_owned(),
        })
    });
    Section::new(Depth::Page, heading).with_some(figure)
}

fn tables(matrix: &MatrixSummary) -> Vec<Table> {
    let mut grids = Vec::new();
    let measured = || matrix.cells.iter().filter_map(Cell::comparison);
    let goal = measured()
        .next()
        .map_or(Goal::default(), |found| found.goal);
    let goal = judged_by(goal).to_lowercase();
    // Held-out workloads first: they are what counts.
    let mut order: Vec<usize> = (0..matrix.workloads.len()).collect();
    order.sort_by_key(|&index| matrix.workloads[index].trained);
    for index in order {
        let workload = &matrix.workloads[index];
        let kind = kind(matrix, index);
        let columns: Vec<String> = matrix
            .threads
            .iter()
            .map(|threads| number::count(*threads as usize, "thread"))
            .collect();
        let mut all: Vec<(&str, bool)> = vec![("Combination", false)];
        all.extend(columns.iter().map(|column| (column.as_str(), true)));
        let mut grid = Table::new(
            format!("{}{kind}: {goal} over the baseline", workload.name),
            &all,
        );
        for title in measured_titles(matrix) {
            let mut own = matrix.cells.iter();
            let own = own.find(|cell| cell.workload == index && cell.title == title);
            let mark = own.map_or("", |cell| trained_mark(matrix, cell));
            let mut row = vec![format!("{title}{mark}")];
            for &threads in &matrix.threads {
                let cell = cell(matrix, title, index, threads);
                let words = cell.map(|cell| in_words(cell, matrix.header.alpha));
                row.push(words.unwrap_or_default());
            }
            grid.rows.push(row);
        }
        let measured = measured().count();
        let false_calls = matrix.header.alpha * measured as f64;
        grid.notes = vec![
            workload.one_line.clone() + ".",
            format!(
                "▲ ▼: different in its own cell at α = {alpha}; of {measured} cells without any difference about {false_calls:.1} would \
                 be called so by chance. ▲▲ ▼▼: different over the whole table. A table without any difference has such a cell with a \
                 probability of at most {alpha} (Holm's method on t tests, the spread pooled over a column).",
                alpha = matrix.header.alpha
            ),
        ];
        grids.push(grid);
        grids.extend(stability(matrix, index));
    }
    grids.extend(confirmations(matrix));
    grids.extend(parts(matrix));
    grids.extend(not_measured(matrix));
    grids
}

/// What stands behind a load's name where builds of the matrix were trained. Where some were trained with this load and others were not,
/// rows say which.
pub(crate) fn kind(matrix: &MatrixSummary, workload: usize) -> &'static str {
    if !matrix.workloads.iter().any(|other| other.trained) {
        return "";
    }
    match matrix.workloads[workload].trained {
        false => ", held out",
        true if is_trained_in_part(matrix, workload) => ", not held out",
        true => ", trained on",
    }
}

/// What stands behind the combination of `cell` where its build was trained with the load that it is measured with, and others were not.
pub(crate) fn trained_mark(matrix: &MatrixSummary, cell: &Cell) -> &'static str {
    match cell.trained && is_trained_in_part(matrix, cell.workload) {
        true => ", trained with it",
        false => "",
    }
}

/// Whether some of the combinations were trained with the load, and others were not.
fn is_trained_in_part(matrix: &MatrixSummary, workload: usize) -> bool {
    let has = |trained: bool| {
        let mut cells = matrix.cells.iter();
        cells.any(|cell| cell.workload == workload && cell.trained == trained)
    };
    has(true) && has(false)
}

/// Whether starts were on several machines, whose differences would be in the spread of either side.
fn on_several_machines(comparison: &Comparison) -> bool {
    let nodes = comparison.nodes.as_ref();
    nodes.is_some_and(|nodes| nodes.names.len() > 1)
}

/// How far fresh starts lie apart, of each combination and of the baseline that it met; of duels alone.
fn stability(matrix: &MatrixSummary, workload: usize) -> Option<Table> {
    if matrix.header.protocol != "duel" {
        return None;
    }
    let mut several = false;
    let mut grid = Table::new(
        format!(
            "{}: how far fresh starts lie apart",
            matrix.workloads[workload].name
        ),
        &[
            ("Combination", false),
            ("Threads", true),
            ("Baseline", true),
            ("Combination", true),
            ("Over the baseline's", true),
        ],
    );
    grid.long = true;
    for cell in matrix.cells.iter().filter(|cell| cell.workload == workload) {
        let Some(comparison) = cell.comparison() else {
            continue;
        };
        let Some(found) = comparison.stability else {
            continue;
        };
        let mixed = on_several_machines(comparison);
        several |= mixed;
        let [baseline, own] = found.sides.map(|side| match mixed {
            true => number::NOTHING.to_owned(),
            false => interval_estimate(&side, Digits::Percent),
        });
        grid.rows.push(vec![
            cell.title.clone(),
            cell.threads.to_string(),
            baseline,
            own,
            format!("× {}", interval_estimate(&found.ratio, Digits::Decimals(2))),
        ]);
    }
    grid.notes.push(format!(
        "Standard deviation of throughput from start to start; both were alive in each duel, so what moves the machine is in both \
         columns, and the ratio allows for it (Morgan 1939): below 1 the combination is the steadier one. {} % intervals, each on \
         its own.",
        number::confidence(matrix.header.alpha)
    ));
    if several {
        grid.notes.push(format!(
            "{}: starts were on several machines, whose differences would be in both columns; in the ratio they cancel, as far as \
             they are the same for both.",
            number::NOTHING
        ));
    }
    (!grid.rows.is_empty()).then_some(grid)
}

/// What was not measured, or not to the end, and why: a row for a combination where that is so of all of its cells.
fn not_measured(matrix: &MatrixSummary) -> Option<Table> {
    let heading = match matrix.cells.iter().any(|cell| cell.failure().is_some()) {
        true => "Failed, or not measured",
        false => "Not measured",
    };
    let mut grid = Table::new(heading, &[("Cell", false), ("Why", false)]);
    grid.long = true;
    for title in titles(matrix) {
        let cells: Vec<&Cell> = (matrix.cells.iter())
            .filter(|cell| cell.title == title)
            .collect();
        let reasons: Vec<Option<String>> = cells.iter().map(|cell| reason(cell)).collect();
        if let [Some(first), others @ ..] = reasons.as_slice()
            && others.iter().all(|other| other.as_ref() == Some(first))
        {
            let place = match cells.len() {
                1 => place(matrix, cells[0]),
                many => format!("{title}, all {many} cells"),
            };
            grid.rows.push(vec![place, first.clone()]);
            continue;
        }
        for (cell, reason) in cells.into_iter().zip(reasons) {
            if let Some(reason) = reason {
                grid.rows.push(vec![place(matrix, cell), reason]);
            }
        }
    }
    grid.notes.extend(left(matrix));
    (!grid.rows.is_empty()).then_some(grid)
}

fn place(matrix: &MatrixSummary, cell: &Cell) -> String {
    format!(
        "{}, {}, {}",
        cell.title,
        matrix.workloads[cell.workload].name,
        number::count(cell.threads as usize, "thread")
    )
}

/// Why a cell was not measured to the end, in a line; `None` of one that was.
fn reason(cell: &Cell) -> Option<String> {
    let reason = match &cell.outcome {
        CellOutcome::NotTried { reason } => Some(reason.to_string()),
        CellOutcome::Measured { .. } => cell.failure().map(ToString::to_string),
    };
    Some(reason?.lines().next().unwrap_or_default().to_owned())
}

/// The combinations of which something was measured, or that failed; all, as long as that is none.
fn measured_titles(matrix: &MatrixSummary) -> Vec<&str> {
    let mut all = titles(matrix);
    let was_tried = |cell: &Cell| cell.comparison().is_some() || cell.failure().is_some();
    if matrix.cells.iter().any(was_tried) {
        all.retain(|title| {
            let mut own = matrix.cells.iter().filter(|cell| cell.title == *title);
            own.any(was_tried)
        });
    }
    all
}

/// The combinations, in the order of the file.
pub fn titles(matrix: &MatrixSummary) -> Vec<&str> {
    let mut titles: Vec<&str> = Vec::new();
    for cell in &matrix.cells {
        if !titles.contains(&cell.title.as_str()) {
            titles.push(&cell.title);
        }
    }
    titles
}

/// A cell by its place.
fn cell<'a>(
    matrix: &'a MatrixSummary,
    title: &str,
    workload: usize,
    threads: u32,
) -> Option<&'a Cell> {
    matrix
        .cells
        .iter()
        .find(|cell| cell.title == title && cell.workload == workload && cell.threads == threads)
}

fn in_words(cell: &Cell, alpha: f64) -> String {
    match cell.comparison() {
        None if cell.failure().is_some() => "failed".to_owned(),
        None => "not measured".to_owned(),
        Some(comparison) if comparison.failed.is_some() => {
            format!("failed; {}", judged_in_words(comparison))
        }
        Some(comparison) => {
            let judgement = comparison.judged();
            let over_table = cell.p_over_table.is_some_and(|p| p <= alpha);
            let mark = match (judgement.verdict_by_all(), over_table) {
                (Some(Verdict::Faster), true) => " ▲▲",
                (Some(Verdict::Faster), false) => " ▲",
                (Some(Verdict::Slower), true) => " ▼▼",
                (Some(Verdict::Slower), false) => " ▼",
                _ => "",
            };
            format!("{}{mark}", judged_in_words(comparison))
        }
    }
}
