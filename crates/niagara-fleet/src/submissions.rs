//! Asking Slurm for nodes: how often, and when no more.

use std::time::{Duration, Instant};

/// Submissions in a row that brought no result, after which no more are made.
pub(crate) const MAX_FRUITLESS: u32 = 3;
/// Pause between submissions; doubled by each that brought no result.
const PAUSE: Duration = Duration::from_secs(20);

/// What came of asking for nodes.
#[derive(Debug, Default)]
pub(crate) struct Submissions {
    /// When it was done last.
    pub(crate) at: Option<Instant>,
    /// How often in a row it brought nothing.
    pub(crate) fruitless: u32,
    /// Results that were there then.
    results: usize,
    /// Slurm refused it, which was counted.
    refused: bool,
}

impl Submissions {
    /// Slurm refused the last one.
    pub(crate) fn refused(&mut self) {
        self.fruitless += 1;
        self.refused = true;
    }

    /// Whether the next one has to wait.
    pub(crate) fn pause(&self) -> bool {
        let pause = PAUSE * 2u32.saturating_pow(self.fruitless.min(6));
        self.at.is_some_and(|at| at.elapsed() < pause)
    }

    /// What the last one brought, now that there is to be another one: whether it makes sense. While others work it says nothing
    /// that there is no result yet.
    pub(crate) fn may_go_on(&mut self, results: usize, others_work: bool) -> bool {
        // A refusal is no second failure of the same one.
        let refused = std::mem::take(&mut self.refused);
        if results > self.results {
            self.fruitless = 0;
        } else if self.at.is_some() && !refused {
            self.fruitless += 1;
        }
        others_work || self.fruitless < MAX_FRUITLESS
    }

    /// Another one was made, when so many results were there.
    pub(crate) fn submitted(&mut self, results: usize) {
        (self.at, self.results) = (Some(Instant::now()), results);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often nodes are asked for until no more are; what each brings is said by its number, from 1.
    fn asked(mut brings: impl FnMut(u32, &mut Submissions) -> usize) -> u32 {
        let mut submissions = Submissions::default();
        let mut results = 0;
        for number in 1..=20 {
            submissions.submitted(results);
            results += brings(number, &mut submissions);
            let told = submissions.fruitless >= MAX_FRUITLESS;
            if told || !submissions.may_go_on(results, false) {
                return number;
            }
        }
        20
    }

    #[test]
    fn nodes_are_asked_for_three_times_whether_slurm_refuses_or_workers_end_at_once() {
        assert_eq!(asked(|_, _| 0), MAX_FRUITLESS);
        let refused = |_: u32, submissions: &mut Submissions| {
            submissions.refused();
            0
        };
        assert_eq!(asked(refused), MAX_FRUITLESS);
        let mixed = |number: u32, submissions: &mut Submissions| {
            if number == 2 {
                submissions.refused();
            }
            0
        };
        assert_eq!(asked(mixed), MAX_FRUITLESS);
        // Those that bring something are replaced for ever.
        assert_eq!(asked(|_, _| 1), 20);
        let at_times = |number: u32, submissions: &mut Submissions| {
            submissions.refused();
            usize::from(number.is_multiple_of(2))
        };
        assert_eq!(asked(at_times), 20);
        // Where others work, a result may be long in coming.
        let mut submissions = Submissions::default();
        for _ in 0..20 {
            submissions.submitted(0);
            assert!(submissions.may_go_on(0, true));
        }
    }
}
