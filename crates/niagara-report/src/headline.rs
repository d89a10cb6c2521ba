//! The one sentence of a report.

use niagara_store::{Comparison, Finding, Summary, number};

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
        Summary::Tune(tune) => {
            let headline = with_losses(tune_headline(tune), tune.total.as_ref());
            match queries_first(summary) {
                Some(finding) => format!("{}.\n{headline}", number::capital(&finding)),
                None => headline,
            }
        }
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
/// What the capture's statements need before anything else.
fn queries_first(summary: &Summary) -> Option<String> {
    let mut warnings = summary.header().warnings.iter();
    warnings.find_map(|warning| match &warning.finding {
        finding @ Finding::QueriesFirst { .. } => Some(finding.to_string()),
        _ => None,
    })
}
