//! The one sentence of a report.

use niagara_store::{Comparison, Summary, number};

use crate::build;
use crate::wording::{compare_headline, losses, tune_headline};

/// The one sentence that a reader takes home.
pub fn headline(summary: &Summary) -> String {
    let with_losses =
        |headline: String, comparison: Option<&Comparison>| match comparison.and_then(losses) {
            Some(losses) => format!("{headline}; {losses}"),
            None => headline,
        };
    match summary {
        Summary::Tune(tune) => with_losses(tune_headline(tune), tune.total.as_ref()),
        Summary::Compare(compare) => {
            let headline = with_losses(compare_headline(compare), Some(&compare.comparison));
            match &compare.upgrade {
                // Who asks about an upgrade asks first whether it works.
                Some(upgrade) => format!("{}. {headline}", number::capital(&upgrade.to_string())),
                None => headline,
            }
        }
        Summary::Ladder(ladder) => build::ladder_headline(ladder),
        Summary::Matrix(matrix) => build::matrix_headline(matrix),
        Summary::Sweep(sweep) => build::sweep_headline(sweep),
    }
}
