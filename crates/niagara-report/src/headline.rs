//! The one sentence of a report.

use niagara_model::{Comparison, Recommendation, Summary, number};

use crate::applying::scheduler_in_short;
use crate::build;
use crate::document::Introduction;
use crate::wording::{compare_headline, compare_title, losses, tune_headline, tune_title};

/// What was found, in one sentence: what a recommendation rests on.
pub(crate) fn evidence(summary: &Summary) -> String {
    match summary {
        Summary::Tune(tune) => with_losses(tune_headline(tune), tune.total.as_ref()),
        _ => headline(summary),
    }
}

/// What the report of any study says first.
pub(crate) fn introduction(summary: &Summary) -> Introduction {
    let Summary::Tune(tune) = summary else {
        return Introduction {
            title: title(summary),
            ..Introduction::of_headline(headline(summary))
        };
    };
    let recommendation = tune.recommendation.as_ref();
    let headline = recommendation.map(Recommendation::headline);
    let headline = headline.unwrap_or_else(|| evidence(summary));
    let deployment = tune.header.deployment.as_ref();
    let of_kernel = recommendation.and(deployment).and_then(scheduler_in_short);
    // Behind what it brings.
    let with_kernel = |mut paragraphs: Vec<String>| -> Vec<String> {
        let place = paragraphs.len().min(2);
        paragraphs.splice(place..place, of_kernel.clone());
        paragraphs
    };
    let paragraphs = recommendation.map(Recommendation::paragraphs);
    let paragraphs = with_kernel(paragraphs.unwrap_or_default());
    match tune.queries_first() {
        None => Introduction {
            title: title(summary),
            headline,
            paragraphs,
            beneath_title: recommendation
                .map(Recommendation::paragraphs_beneath_title)
                .map(with_kernel),
        },
        Some(first) => {
            // The settings are the second thing to think of.
            let settings = match &tune.recommendation {
                Some(recommendation) => recommendation.behind_statements(),
                None => headline,
            };
            let before = [first.detail(), settings];
            Introduction {
                title: Some(first.title()),
                headline: first.headline(),
                paragraphs: before.into_iter().chain(paragraphs).collect(),
                beneath_title: None,
            }
        }
    }
}

/// The title of a report, where the headline is too long for one.
fn title(summary: &Summary) -> Option<String> {
    match summary {
        Summary::Tune(tune) => Some(match &tune.recommendation {
            Some(recommendation) => recommendation.title(),
            None => tune_title(tune),
        }),
        Summary::Compare(compare) => Some(match &compare.upgrade {
            Some(upgrade) => number::capital(&upgrade.title()),
            None => compare_title(&compare.comparison, compare.runs.is_some()),
        }),
        Summary::Ladder(_) | Summary::Matrix(_) | Summary::Sweep(_) => None,
    }
}

/// The one sentence that a reader takes home: of a tuning what to do, of all others what was found.
pub fn headline(summary: &Summary) -> String {
    match summary {
        Summary::Tune(_) => introduction(summary).in_one_line(),
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
