//! The one sentence of a report.

use niagara_store::{Comparison, Summary};

use crate::study;
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
            with_losses(compare_headline(compare), Some(&compare.comparison))
        }
        Summary::Ladder(_) | Summary::Matrix(_) | Summary::Sweep(_) => {
            study::headline(summary).unwrap_or_default()
        }
    }
}
