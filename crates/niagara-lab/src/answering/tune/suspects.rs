//! Levers under suspicion: in force whenever a side did not last, and on no side that did. No server is started here.

use std::collections::BTreeSet;

/// Failures from which on the only lever that is left is to blame.
const ENOUGH: usize = 3;
/// Failures from which on all that are left are.
const MANY: usize = 6;

/// What failures and duels that came to their end say of levers, by index of the candidate.
#[derive(Debug, Default)]
pub(crate) struct Suspects {
    /// Of each failure that no start explains: the levers in force on the side that failed.
    failures: Vec<BTreeSet<usize>>,
    /// Levers in force on sides that lasted.
    cleared: BTreeSet<usize>,
    /// Some side did: the load can be run here.
    has_lasted: bool,
}

impl Suspects {
    /// A side with these levers did not last.
    pub(crate) fn failed(&mut self, in_force: impl IntoIterator<Item = usize>) {
        self.failures.push(in_force.into_iter().collect());
    }

    /// A side with these lasted.
    pub(crate) fn lasted(&mut self, in_force: impl IntoIterator<Item = usize>) {
        self.cleared.extend(in_force);
        self.has_lasted = true;
    }

    /// The levers that are to blame, once some side has lasted and there are failures enough to tell; these failures are explained
    /// then.
    pub(crate) fn blamed(&mut self) -> Vec<usize> {
        let mut failures = self.failures.iter();
        let first = failures.next().cloned().unwrap_or_default();
        let common = failures.fold(first, |common, failure| &common & failure);
        let left: Vec<usize> = common.difference(&self.cleared).copied().collect();
        let is_told = match left.len() {
            0 => false,
            1 => self.failures.len() >= ENOUGH,
            _ => self.failures.len() >= MANY,
        };
        if !(self.has_lasted && is_told) {
            return Vec::new();
        }
        self.failures.clear();
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [usize; 0] = [];

    #[test]
    fn who_was_there_whenever_it_failed_and_never_when_it_did_not_is_blamed() {
        let mut suspects = Suspects::default();
        suspects.lasted([9]);
        suspects.failed([1, 2, 3]);
        suspects.failed([2, 3, 4]);
        assert_eq!(suspects.blamed(), NONE, "two failures tell nothing");
        suspects.failed([3, 5]);
        assert_eq!(suspects.blamed(), [3]);
        assert_eq!(suspects.blamed(), NONE, "these are explained");
        // One that lasted once is not to blame.
        for _ in 0..MANY {
            suspects.failed([6, 7]);
        }
        suspects.lasted([6, 7, 8]);
        assert_eq!(suspects.blamed(), NONE);
    }

    #[test]
    fn of_several_that_always_meet_none_is_spared_in_the_end() {
        let mut suspects = Suspects::default();
        for _ in 1..MANY {
            suspects.failed([1, 2]);
        }
        suspects.failed([1, 2, 3]);
        // It may be the load, until the start has lasted under it.
        assert_eq!(suspects.blamed(), NONE);
        suspects.lasted([]);
        assert_eq!(suspects.blamed(), [1, 2]);
        // Failures without any lever blame none.
        for _ in 0..MANY {
            suspects.failed([]);
        }
        assert_eq!(suspects.blamed(), NONE);
    }
}
