//! The combination of a matrix that is confirmed.

mod common;

use common::comparison;
use niagara_model::{
    Cell, CellOutcome, FailedSide, Failure, MatrixWorkload, Reason, best_combination, mean_gains,
};
use niagara_stats::Estimate;

fn workloads(trained: [bool; 2]) -> Vec<MatrixWorkload> {
    let workload = |trained| MatrixWorkload {
        name: "w".into(),
        one_line: "w".into(),
        trained,
    };
    trained.map(workload).to_vec()
}

/// A row under two workloads; 0 of a cell that was not measured.
fn row(title: &str, levels: &[usize], ratios: [f64; 2]) -> Vec<Cell> {
    let cells = ratios.into_iter().enumerate();
    let outcome = |ratio: f64| match ratio > 0.0 {
        true => CellOutcome::Measured {
            comparison: Box::new(comparison(8, Estimate::from_log(ratio.ln(), -1.0, 1.0))),
        },
        false => CellOutcome::NotTried {
            reason: Reason::TimeEnded,
        },
    };
    cells
        .map(|(workload, ratio)| Cell {
            levels: levels.to_vec(),
            title: title.into(),
            workload,
            threads: 8,
            trained: false,
            p_over_table: None,
            outcome: outcome(ratio),
        })
        .collect()
}

#[test]
fn the_highest_mean_gain_over_all_of_its_cells_is_the_best() {
    let cells = [
        row("-O3", &[1, 0], [1.1, 1.1]),
        row("PGO", &[2, 0], [1.5, 1.0]),
        // Measured in one of its cells alone.
        row("LTO", &[3, 0], [1.9, 0.0]),
        // No combination of levels: it is set beside them, and never chosen.
        row("the package", &[], [2.0, 2.0]),
    ]
    .concat();
    let plain = workloads([false; 2]);
    assert_eq!(best_combination(&cells, &plain), Some("PGO"));
    let gains = mean_gains(&cells, &plain);
    let titles: Vec<&str> = gains.iter().map(|(title, _)| *title).collect();
    assert_eq!(titles, ["-O3", "PGO", "LTO"]);
    assert_eq!(gains[2].1, None);
    // Of a workload that builds were trained on the gain is not asked.
    let trained = workloads([true, false]);
    assert_eq!(best_combination(&cells, &trained), Some("-O3"));
    assert_eq!(best_combination(&cells[6..], &plain), None);
    assert_eq!(
        best_combination(&row("-O3", &[1], [0.9, 1.0]), &plain),
        None
    );
}

/// What is known of a combination that crashes is of the duels that it survived.
#[test]
fn a_combination_that_fails_in_a_cell_is_not_the_best() {
    let mut cells = [row("-O3", &[1], [1.1, 1.1]), row("PGO", &[2], [1.5, 1.5])].concat();
    let plain = workloads([false; 2]);
    assert_eq!(best_combination(&cells, &plain), Some("PGO"));
    let CellOutcome::Measured { comparison } = &mut cells[3].outcome else {
        panic!("measured");
    };
    let failure = Failure {
        variant: "PGO".into(),
        error: "killed".into(),
    };
    comparison.failed = Some(FailedSide {
        side: 1,
        failure: failure.clone(),
    });
    assert_eq!(best_combination(&cells, &plain), Some("-O3"));
    assert_eq!(cells[3].failure(), Some(&failure));
    assert_eq!(cells[2].failure(), None);
}
