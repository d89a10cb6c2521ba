//! The one sentence of a report.

use niagara_model::{Comparison, Finding, Summary, number};

use crate::build;
use crate::wording::{compare_headline, losses, tune_headline};

/// What was found, in one sentence: what a recommendation rests on.
pub(crate) fn evidence(summary: &Summary) -> String {
    match summary {
        Summary::Tune(tune) => with_losses(tune_headline(tune), tune.total.as_ref()),
        _ => headline(summary),
    }
}

/// The headline by itself, and the sentences that follow it where there are some: of a tuning what to do, and how sure that is.
pub(crate) fn headline_and_rest(summary: &Summary) -> (String, Option<String>) {
    let recommendation = match summary {
        Summary::Tune(tune) => tune.recommendation.as_ref(),
        _ => None,
    };
    match (recommendation, queries_first(summary)) {
        (Some(recommendation), None) => (recommendation.headline(), recommendation.rest()),
        _ => (headline(summary), None),
    }
}

/// The one sentence that a reader takes home: of a tuning what to do, of all others what was found.
pub fn headline(summary: &Summary) -> String {
    match summary {
        Summary::Tune(tune) => {
            let headline = match &tune.recommendation {
                Some(recommendation) => recommendation.to_string(),
                None => evidence(summary),
            };
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

fn with_losses(headline: String, comparison: Option<&Comparison>) -> String {
    match comparison.and_then(losses) {
        Some(losses) => format!("{headline}; {losses}"),
        None => headline,
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
