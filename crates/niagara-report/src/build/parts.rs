//! A matrix that was measured in parts: which ones, what was confirmed after each, and what is left.

use niagara_model::{Confirmed, MatrixSummary};

use crate::document::Table;
use crate::load::load;
use crate::number;
use crate::wording::{judged_in_words, verdict};

/// An error probability above this part of the matrix's is all of it, but for rounding.
const ALMOST: f64 = 0.999;

/// The parts; nothing of a matrix that was measured by one command.
pub(super) fn parts(matrix: &MatrixSummary) -> Option<Table> {
    if matrix.parts.len() < 2 {
        return None;
    }
    let columns = [
        ("Part", false),
        ("Begun", false),
        ("Levels", false),
        ("Cells measured", true),
        ("Time", true),
    ];
    let mut grid = Table::new("Parts", &columns);
    grid.long = true;
    for (place, part) in matrix.parts.iter().enumerate() {
        grid.rows.push(vec![
            (place + 1).to_string(),
            number::moment(part.started_unix_ms),
            part.levels.clone().unwrap_or_else(|| "all".to_owned()),
            part.cells.to_string(),
            format!(
                "{} of {}",
                number::duration(part.elapsed_seconds),
                number::duration(part.budget_seconds)
            ),
        ]);
    }
    grid.notes.push(
        "Measured one after the other, on the same machine and with the same servers, or on nodes of a cluster. Every cell is of one part \
         alone, by duels in which both sides were alive together: nothing is averaged over parts."
            .to_owned(),
    );
    Some(grid)
}

/// Confirmations, where there were several or one of a smaller error probability than the matrix's.
pub(super) fn confirmations(matrix: &MatrixSummary) -> Option<Table> {
    let counts = matrix.confirmed.as_ref()?;
    let is_alone = matrix.other_confirmations.is_empty();
    if is_alone && counts.comparison.judged().alpha > matrix.header.alpha * ALMOST {
        return None;
    }
    let columns = [
        ("Combination", false),
        ("Load", false),
        ("Over the baseline", true),
        ("α", true),
        ("", false),
    ];
    let mut grid = Table::new("Confirmations", &columns);
    grid.long = true;
    let row = |confirmed: &Confirmed| {
        let judged = confirmed.comparison.judged();
        vec![
            confirmed.title.clone(),
            load(
                &matrix.workloads[confirmed.workload].name,
                confirmed.threads,
            ),
            judged_in_words(&confirmed.comparison),
            // Shares are sums of halves: what rounding adds is nothing.
            ((judged.alpha * 1e6).round() / 1e6).to_string(),
            format!("{}, n = {}", verdict(judged), judged.duels),
        ]
    };
    grid.rows.push(row(counts));
    grid.strong.push(0);
    grid.rows.extend(matrix.other_confirmations.iter().map(row));
    grid.notes.push(format!(
        "Each is a claim of its own, by duels that the choice of its combination never saw, after a part that made this the best. Together they \
         have the error probability α = {}: each is given half of what is left, and all of it once no cell is left that could change the best. \
         The first line is the one that counts: the last that was proven, else the last.",
        matrix.header.alpha
    ));
    Some(grid)
}

/// What is left, and the command that measures more of it.
pub(crate) fn left(matrix: &MatrixSummary) -> Option<String> {
    let next = matrix.next_part.as_ref()?;
    let cells = match next.left {
        1 => "1 cell is left".to_owned(),
        left => format!("{left} cells are left"),
    };
    Some(format!(
        "{cells}; {}, into this report: {}",
        match next.cells {
            all if all == next.left => "to measure more".to_owned(),
            some => format!("to measure {some} of them"),
        },
        next.command
    ))
}
