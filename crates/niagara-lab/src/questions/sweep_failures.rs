//! What a sweep says of starts that failed: a point is given up after some in a row, and what is measured of one that failed now and
//! then is of the starts that survived.

use niagara_load::counted;
use niagara_store::{DuelRecord, Ending};

use crate::questions::failure_words::in_short;

/// Why a point of which `starts` count was given up; `by_other`: it was the other side of its duels that failed.
pub(crate) fn given_up(reason: &str, starts: usize, by_other: bool) -> String {
    let counted = counted(starts as u64, "start");
    match (by_other, starts) {
        (true, 0) => format!("not measured, for the other side could not be: {reason}"),
        (true, _) => {
            format!(
                "measured no further after {counted}, for the other side could not be: {reason}"
            )
        }
        (false, 0) => reason.to_owned(),
        (false, _) => format!("it failed again and again, {counted} aside: {reason}"),
    }
}

/// What is said of a point that was not given up although a side of it failed in some of these `starts`; nothing where none did.
pub(crate) fn failed_now_and_then<'d>(
    starts: impl Iterator<Item = &'d DuelRecord>,
    side: usize,
) -> Option<String> {
    let (mut failed, mut last, mut all) = (0, None, 0);
    for duel in starts {
        all += 1;
        if let Ending::Failed { side: of, reason } = &duel.ending
            && usize::from(*of) == side
        {
            failed += 1;
            last = Some(reason);
        }
    }
    let reason = in_short(last?);
    Some(format!(
        "{failed} of {} failed, and what stands here is of those that did not: {reason}",
        counted(all, "start")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::study::tests::{duel, failed};

    #[test]
    fn starts_that_failed_are_told_whether_or_not_a_point_was_given_up() {
        assert_eq!(given_up("killed", 0, false), "killed");
        assert_eq!(
            given_up("killed", 3, false),
            "it failed again and again, 3 starts aside: killed"
        );
        assert!(given_up("killed", 0, true).starts_with("not measured, for the other side"));
        assert!(given_up("killed", 1, true).starts_with("measured no further after 1 start, "));
        // B of every other one of its duels: never twice in a row.
        let duels = [duel(0), failed(1, 1), duel(2), failed(3, 1)];
        assert_eq!(failed_now_and_then(duels.iter(), 0), None);
        assert_eq!(
            failed_now_and_then(duels.iter(), 1).as_deref(),
            Some("2 of 4 starts failed, and what stands here is of those that did not: killed")
        );
    }
}
