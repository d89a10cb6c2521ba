//! Failures of servers, as summaries have them.

use niagara_model::{Ending, Failure, Finding, Reason, Warning};

use crate::questions::sequential_test::TestOutcome;

/// The first line of a failure and its cause; the command and the server's log stay with the duel in the results.
pub(crate) fn in_short(reason: &str) -> String {
    let mut lines = reason.lines();
    let first = lines.next().unwrap_or_default();
    // The lines of the log that it announces are among those left out.
    let first = first
        .strip_suffix("; last lines of its log:")
        .unwrap_or(first);
    match lines.find_map(|line| line.strip_prefix("cause: ")) {
        Some(cause) => format!("{first}: {cause}"),
        None => first.to_owned(),
    }
}

/// A failure as summaries keep it.
pub(crate) fn shortened(failure: &Failure) -> Failure {
    Failure {
        variant: failure.variant.clone(),
        error: in_short(&failure.error),
    }
}

/// What a reader must know of the duels of a question, which `what` names; why it could not be measured where that is told here.
pub(crate) fn warnings(what: &str, tested: &TestOutcome, tells_failure: bool) -> Vec<Warning> {
    let failure = tested.failure.as_ref().filter(|_| tells_failure);
    let failure = failure.map(|failure| Finding::CouldNotMeasure(shortened(failure)));
    let all = tested.findings.iter().cloned().chain(failure);
    all.map(|finding| Warning::about(what, finding)).collect()
}

/// Why a question has no figure although it was asked: a side that could not be measured, nothing but disturbed duels, or an end
/// behind a duel that a side did not survive; `None` where there was no time for one, or a stop.
pub(crate) fn why_unmeasured(tested: &TestOutcome) -> Option<Reason> {
    let disturbed = tested.duels.iter();
    let disturbed = disturbed.filter(|duel| duel.ending == Ending::Disturbed);
    match (&tested.failure, disturbed.count()) {
        (Some(failure), _) => Some(Reason::SideFailed(shortened(failure))),
        (None, _) if tested.interrupted => None,
        (None, 0) => Some(Reason::EndedAfterFailure(shortened(
            tested.last_failure.as_ref()?,
        ))),
        (None, duels) => Some(Reason::AllDisturbed { duels }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_announced_that_does_not_follow() {
        let lost =
            "server A is lost: end of file\nthe server has ended; last lines of its log:\nkilled";
        assert_eq!(in_short(lost), "server A is lost: end of file");
        let ended =
            "the server has ended; last lines of its log:\n[ERROR] out of memory\ncause: no memory";
        assert_eq!(in_short(ended), "the server has ended: no memory");
    }
}
