//! Failures of servers, as summaries have them.

use niagara_model::{Ending, Finding, Reason, Warning};

use crate::answering::sequential_test::TestOutcome;

/// What a reader must know of the duels of a question, which `what` names; why it could not be measured where that is told here.
pub(crate) fn warnings(what: &str, tested: &TestOutcome, tells_failure: bool) -> Vec<Warning> {
    let failure = tested.failure.as_ref().filter(|_| tells_failure);
    let failure = failure.map(|failure| Finding::CouldNotMeasure(failure.clone()));
    let all = tested.findings.iter().cloned().chain(failure);
    all.map(|finding| Warning::about(what, finding)).collect()
}

/// Why a question has no figure although it was asked: a side that could not be measured, nothing but disturbed duels, or an end
/// behind a duel that a side did not survive; `None` where there was no time for one, or a stop.
pub(crate) fn why_unmeasured(tested: &TestOutcome) -> Option<Reason> {
    let disturbed = tested.duels.iter();
    let disturbed = disturbed.filter(|duel| duel.ending == Ending::Disturbed);
    match (&tested.failure, disturbed.count()) {
        (Some(failure), _) => Some(Reason::SideFailed(failure.clone())),
        (None, _) if tested.interrupted => None,
        (None, 0) => Some(Reason::EndedAfterFailure(tested.last_failure.clone()?)),
        (None, duels) => Some(Reason::AllDisturbed { duels }),
    }
}
