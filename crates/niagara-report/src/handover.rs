//! Whether a study ends with something to install.

use niagara_model::{Comparison, Summary, TuneSummary};

/// Whether a study of this kind may end with something to install.
pub fn may_deploy(summary: &Summary) -> bool {
    match summary {
        Summary::Tune(_) | Summary::Ladder(_) | Summary::Matrix(_) => true,
        // A changed statement that was proven is the application's to take over; anything else is `tune`'s to hand over.
        Summary::Compare(compare) => (compare.header.deployment.as_ref())
            .is_some_and(|deployment| !deployment.rewrites.is_empty()),
        Summary::Sweep(_) => false,
    }
}

/// Whether fresh duels proved a final variant to be better than the start.
pub(crate) fn is_proven(summary: &Summary) -> bool {
    let total = summary.comparison();
    may_deploy(summary) && total.is_some_and(|found| found.judged().shows_gain())
}

/// Whether a tuning measured a variant again, to the end, and proved nothing by it.
pub(crate) fn is_only_tried(tune: &TuneSummary) -> bool {
    let is_proven = |total: &Comparison| total.judged().shows_gain();
    let is_open = tune.total.as_ref().is_none_or(is_proven) || !tune.header.complete;
    tune.header.deployment.is_none() && !is_open
}

/// Whether there is something to hand over.
pub(crate) fn has_deployment(summary: &Summary) -> bool {
    may_deploy(summary) && summary.header().deployment.is_some()
}

/// Whether what was proven still is to be checked before it is handed over: the study was stopped in between.
pub(crate) fn is_unchecked(summary: &Summary) -> bool {
    let header = summary.header();
    let has_neither = header.checks.is_empty() && !has_deployment(summary);
    has_neither && is_proven(summary) && !header.complete
}
