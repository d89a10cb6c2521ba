//! The checks on the method and on the final variant.

use niagara_model::{Comparison, FinalCheck, MethodControl};

use crate::document::Table;
use crate::wording::{judged_in_words, verdict};

/// The controls of a ladder or a matrix, and what its final variant was checked for; none where it has neither.
pub(super) fn table(controls: &[MethodControl], checks: &[FinalCheck]) -> Option<Table> {
    if controls.is_empty() && checks.is_empty() {
        return None;
    }
    let columns = [("Check", false), ("Result", true), ("", false)];
    let mut grid = Table::new("Checks", &columns);
    let several = controls.iter().any(|one| one.part != controls[0].part);
    for control in controls {
        let (result, words) = match &control.comparison {
            Some(Comparison {
                failed: Some(failed),
                ..
            }) => ("failed".to_owned(), failed.failure.to_string()),
            Some(comparison) => {
                let judged = comparison.judged();
                let words = format!("{}, n = {}", verdict(judged), judged.duels);
                (judged_in_words(comparison), words)
            }
            None => (
                "not measured".to_owned(),
                control
                    .reason
                    .as_ref()
                    .map_or(String::new(), ToString::to_string),
            ),
        };
        let of = match control.part.filter(|_| several) {
            Some(part) => format!(", part {part}"),
            None => String::new(),
        };
        let name = format!("{}{of}: {}", control.control, control.title);
        grid.rows.push(vec![name, result, words]);
    }
    for check in checks {
        let detail = check.detail();
        grid.rows.push(vec![
            format!("final variant: {}", check.title()),
            check.ending().to_owned(),
            detail.lines().next().unwrap_or_default().to_owned(),
        ]);
    }
    if !controls.is_empty() {
        grid.notes.push(
            "The negative control changes nothing: it shows what chance looks like. The positive control is known to slow \
             the server: it shows that an effect would be seen."
                .to_owned(),
        );
    }
    Some(grid)
}
