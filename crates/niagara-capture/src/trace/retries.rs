//! Transactions that the client repeated after a deadlock: the replay repeats by itself, and would do it twice.

use super::draft::Draft;

/// Deadlock, lock wait timeout, record changed since last read: the client begins its transaction again.
const CONFLICTS: [u32; 3] = [1213, 1205, 1020];

/// Whether `failed` is a transaction that ended in a conflict and that `next`, the session's next one, repeats.
/// Known only where the source has the numbers of errors.
pub(super) fn is_repeated(failed: &Draft, next: &Draft) -> bool {
    let Some(place) = failed
        .steps
        .iter()
        .position(|step| CONFLICTS.contains(&step.error))
    else {
        return false;
    };
    let digests =
        |draft: &Draft| -> Vec<u32> { draft.steps.iter().map(|step| step.digest).collect() };
    let (failed, next) = (digests(failed), digests(next));
    // As far as the first one came the second one is the same; after the error there is nothing but the end of it.
    next.len() > place && next[..=place] == failed[..=place]
}
