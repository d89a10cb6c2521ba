//! What is promoted is known to be a correct server before anything is proven of it: a build that is not is left out, and what
//! is promoted without it is judged in its place. The check knows nothing of speed and the duels that judge are fresh ones, so
//! leaving a build out makes no figure look better than it is.

use anyhow::Result;
use niagara_model::Reason;

use crate::answering::build_note::Soundness;

/// What was promoted, and what was left out of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Settled {
    /// Candidates of the final variant, best first.
    pub promoted: Vec<usize>,
    /// Candidates that were promoted and then left out, each with the reason.
    pub left_out: Vec<(usize, Reason)>,
}

/// Promotes, has the build of what was promoted looked at, and promotes again without a part of it that is not known to be
/// correct, until nothing is to be said against the build or none is left.
///
/// `promote`: what is promoted without these candidates. `builds`: whether a candidate changes the build. `look`: what is known
/// of the build of these candidates together; the second argument says whether it may be checked now, which takes minutes:
/// once a check could not be done here, only builds that were checked before can be handed over.
///
/// Of several candidates that change the build, the one that was promoted last is left out: it brings the least.
pub(crate) fn settle(
    promote: impl Fn(&[usize]) -> Vec<usize>,
    builds: impl Fn(usize) -> bool,
    mut look: impl FnMut(&[usize], bool) -> Result<Soundness>,
) -> Result<Settled> {
    let mut left_out: Vec<(usize, Reason)> = Vec::new();
    let mut may_check = true;
    loop {
        let without: Vec<usize> = left_out.iter().map(|(index, _)| *index).collect();
        let promoted = promote(&without);
        let last_build = promoted.iter().rev().find(|&&index| builds(index));
        let Some(&last_build) = last_build else {
            return Ok(Settled { promoted, left_out });
        };
        match look(&promoted, may_check)? {
            Soundness::Sound => return Ok(Settled { promoted, left_out }),
            Soundness::Wrong(reason) => left_out.push((last_build, reason)),
            Soundness::Unknown(reason) => {
                may_check = false;
                left_out.push((last_build, reason));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use niagara_model::{CheckFinding, CheckPart, PartFault};

    use super::*;

    /// Candidates in the order of their gain; 0, 1 and 2 are servers of which one can be had, 3 is a patch, 4 builds nothing.
    fn promote(without: &[usize]) -> Vec<usize> {
        let is_in = |index: &usize| !without.contains(index);
        let server = [0, 1, 2].into_iter().find(is_in);
        server
            .into_iter()
            .chain([3, 4].into_iter().filter(is_in))
            .collect()
    }

    fn settled(look: impl Fn(&[usize]) -> Soundness) -> (Settled, Vec<(Vec<usize>, bool)>) {
        let looks = RefCell::new(Vec::new());
        let settled = settle(
            promote,
            |index| index < 4,
            |promoted, may_check| {
                looks.borrow_mut().push((promoted.to_vec(), may_check));
                Ok(look(promoted))
            },
        );
        (settled.expect("nothing fails"), looks.into_inner())
    }

    fn wrong(test: &str) -> Reason {
        Reason::FailedCheck {
            fault: Some(PartFault {
                part: CheckPart::Crash,
                finding: Box::new(CheckFinding::TestWithoutVerdict {
                    test: test.to_owned(),
                }),
            }),
            server: "mariadbd".to_owned(),
        }
    }

    #[test]
    fn a_build_that_is_known_to_be_correct_stays() {
        let (settled, looks) = settled(|_| Soundness::Sound);
        assert_eq!(settled.promoted, [0, 3, 4]);
        assert!(settled.left_out.is_empty());
        assert_eq!(looks.len(), 1);
    }

    #[test]
    fn the_next_build_takes_the_place_of_one_that_fails() {
        let (settled, looks) = settled(|promoted| match promoted[0] {
            0 => Soundness::Wrong(wrong("a lost commit")),
            _ => Soundness::Sound,
        });
        // The patch was promoted behind the server and is left out first; the server fails without it, too.
        assert_eq!(settled.promoted, [1, 4]);
        let left_out: Vec<usize> = settled.left_out.iter().map(|(index, _)| *index).collect();
        assert_eq!(left_out, [3, 0]);
        assert!(looks.iter().all(|(_, may_check)| *may_check));
    }

    #[test]
    fn where_no_build_is_correct_the_rest_is_what_is_judged() {
        let (settled, looks) = settled(|_| Soundness::Wrong(wrong("another answer")));
        assert_eq!(settled.promoted, [4]);
        assert_eq!(settled.left_out.len(), 4);
        assert_eq!(looks.len(), 4);
    }

    #[test]
    fn a_check_that_cannot_be_done_is_not_tried_again() {
        let (settled, looks) = settled(|promoted| match promoted {
            // It was checked long ago.
            [2, ..] => Soundness::Sound,
            _ => Soundness::Unknown(Reason::Unchecked {
                undone: None,
                server: "mariadbd".to_owned(),
            }),
        });
        assert_eq!(settled.promoted, [2, 4]);
        let may_check: Vec<bool> = looks.iter().map(|(_, may_check)| *may_check).collect();
        assert_eq!(may_check, [true, false, false, false]);
    }

    #[test]
    fn what_builds_nothing_is_not_looked_at() {
        let none = settle(
            |_| vec![4],
            |index| index < 4,
            |_, _| panic!("there is no build"),
        );
        assert_eq!(none.expect("settled").promoted, [4]);
    }
}
