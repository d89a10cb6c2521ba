//! What a sweep says of starts that failed: a point is given up after some in a row, and what is measured of one that failed now and
//! then is of the starts that survived.

use niagara_model::{DuelRecord, Ending, PointFailure};

/// Why a point of which `starts` count was given up; `by_other`: it was the other side of its duels that failed.
pub(crate) fn given_up(error: &str, starts: usize, by_other: bool) -> PointFailure {
    let error = error.to_owned();
    match starts {
        0 => PointFailure::NotMeasured { error, by_other },
        starts => PointFailure::GivenUp {
            starts,
            error,
            by_other,
        },
    }
}

/// What is said of a point that was not given up although a side of it failed in some of these `starts`; nothing where none did.
pub(crate) fn failed_now_and_then<'d>(
    starts: impl Iterator<Item = &'d DuelRecord>,
    side: usize,
) -> Option<PointFailure> {
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
    Some(PointFailure::Sometimes {
        failed,
        starts: all,
        error: last?.headline().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::study::tests::{duel, failed};

    #[test]
    fn starts_that_failed_are_told_whether_or_not_a_point_was_given_up() {
        let words = |starts, by_other| given_up("killed", starts, by_other).to_string();
        assert_eq!(words(0, false), "killed");
        assert_eq!(
            words(3, false),
            "given up after 3 starts that count; then it failed again and again: killed"
        );
        assert!(words(0, true).starts_with("not measured, because the other side"));
        assert!(words(1, true).starts_with("given up after 1 start that count"));
        // B of every other one of its duels: never twice in a row.
        let duels = [duel(0), failed(1, 1), duel(2), failed(3, 1)];
        assert_eq!(failed_now_and_then(duels.iter(), 0), None);
        assert_eq!(
            failed_now_and_then(duels.iter(), 1),
            Some(PointFailure::Sometimes {
                failed: 2,
                starts: 4,
                error: "killed".to_owned()
            })
        );
    }
}
