//! Which promoted levers have earned their place: questions that fresh duels answer, asked until every lever that is kept was shown to
//! help by duels of its own. Nothing is kept by default.

/// A question: are all levers of `with` better than those of `without`?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// Levers on side A.
    pub without: Vec<usize>,
    /// Levers on side B: those of A and [`levers`](Self::levers).
    pub with: Vec<usize>,
    /// The levers that it decides on: one, or a group that is dropped whole unless it is shown to help.
    pub levers: Vec<usize>,
}

impl Trial {
    /// Whether a gain keeps its lever. Of a group a gain only says that its levers are worth a question each.
    pub fn is_of_one(&self) -> bool {
        self.levers.len() == 1
    }
}

/// So many levers, or fewer, are asked about one by one, the best first.
const SMALL_GROUP: usize = 3;
/// Share of the error probability that is kept for asking once more about levers that were dropped, where time is left.
pub const AGAIN_SHARE: f64 = 0.2;

/// The way from what a screening promoted to what is handed over.
///
/// The first lever is tried alone against the start: it is what the application changes, such as the transport, or else the best one.
/// Then each that is likely to help is tried alone, the best first: a group that it is in would only be shown to help, and be halved.
/// All others together are tried on top of them; up to three are tried one by one, the best first. A group that is shown to help is
/// halved, the less likely half first: the whole with it against the whole without it. One that is not shown to help is dropped.
///
/// A lever is kept by a question of its own, or by one more after it was dropped. That one counts the duels of the first, too: a lever
/// that does nothing has symmetric scores in both. With `(1 - AGAIN_SHARE) alpha / levers` and
/// `AGAIN_SHARE alpha / levers` for them the probability that any lever is kept that does nothing is at most `alpha`; questions about
/// groups keep nothing and may have `alpha` each.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Every lever, best first, without those that were dropped.
    left: Vec<usize>,
    /// Levers that were shown to help.
    kept: Vec<usize>,
    /// Levers that were dropped.
    dropped: Vec<usize>,
    /// The one that is tried alone, until it was.
    first: Option<usize>,
    /// Levers that each get a question of their own before any group.
    likely: Vec<usize>,
    /// Whether the others were tried together.
    is_group_tried: bool,
    /// Levers that the next questions are about, best first.
    focus: Vec<usize>,
}

impl Selection {
    /// Of these levers, best first; `first` is tried alone before all others.
    pub fn new(levers: &[usize], first: usize) -> Self {
        Self {
            left: levers.to_vec(),
            kept: Vec::new(),
            dropped: Vec::new(),
            first: levers.contains(&first).then_some(first),
            likely: Vec::new(),
            is_group_tried: false,
            focus: Vec::new(),
        }
    }

    /// The same, these levers being likely to help.
    pub fn with_likely(self, likely: Vec<usize>) -> Self {
        Self { likely, ..self }
    }

    /// The next question; `None` once every lever is kept or dropped.
    pub fn next(&self) -> Option<Trial> {
        if let Some(first) = self.first {
            return Some(Trial {
                without: Vec::new(),
                with: vec![first],
                levers: vec![first],
            });
        }
        let open = self.open();
        if open.is_empty() {
            return None;
        }
        let mut likely = open.iter().filter(|lever| self.likely.contains(lever));
        let levers = if let (true, Some(&one)) = (self.focus.is_empty(), likely.next()) {
            vec![one]
        } else if self.focus.is_empty() && open.len() <= SMALL_GROUP {
            // A question for a group pays where it spares several others. Of few the best is worth asking about at once.
            open[..1].to_vec()
        } else if !self.is_group_tried {
            open
        } else {
            let focus = match self.focus.is_empty() {
                true => open,
                false => self.focus.clone(),
            };
            focus[focus.len() / 2..].to_vec()
        };
        let stays = |lever: &&usize| !levers.contains(lever);
        Some(Trial {
            without: self.left.iter().filter(stays).copied().collect(),
            with: self.left.clone(),
            levers,
        })
    }

    /// The answer to [`next`](Self::next): whether a gain was shown.
    pub fn answer(&mut self, is_shown: bool) {
        let Some(trial) = self.next() else {
            return;
        };
        let is_first = self.first.take().is_some();
        self.is_group_tried |= !is_first && !trial.is_of_one();
        match (is_shown, trial.is_of_one()) {
            (true, true) => self.kept.extend(&trial.levers),
            (true, false) => {
                self.focus = trial.levers;
                return;
            }
            (false, _) => {
                self.left.retain(|lever| !trial.levers.contains(lever));
                self.dropped.extend(&trial.levers);
            }
        }
        self.focus.retain(|lever| !trial.levers.contains(lever));
    }

    /// Levers that were shown to help, best first.
    pub fn kept(&self) -> Vec<usize> {
        let is_kept = |lever: &&usize| self.kept.contains(lever);
        self.left.iter().filter(is_kept).copied().collect()
    }

    /// Levers that were dropped, in the order of that.
    pub fn dropped(&self) -> &[usize] {
        &self.dropped
    }

    /// Levers that no question has decided yet, best first.
    pub fn open(&self) -> Vec<usize> {
        let is_open = |lever: &&usize| !self.kept.contains(lever);
        self.left.iter().filter(is_open).copied().collect()
    }
}

/// Whether an interval around a ratio of latencies says that they are worse by more than `allowed`, a fraction.
pub fn is_worse(ratio: &crate::Estimate, allowed: f64) -> bool {
    ratio.low > 1.0 + allowed
}

/// What independent ratios come to one after the other: their product, with an interval as wide as theirs make it.
pub fn product(parts: &[crate::Estimate]) -> crate::Estimate {
    let sum = |of: fn(&crate::Estimate) -> f64| parts.iter().map(of).sum::<f64>();
    let log = sum(|part| part.ratio.ln());
    let below = sum(|part| (part.ratio / part.low).ln().powi(2)).sqrt();
    let above = sum(|part| (part.high / part.ratio).ln().powi(2)).sqrt();
    crate::Estimate {
        ratio: log.exp(),
        low: (log - below).exp(),
        high: (log + above).exp(),
    }
}

/// A ratio without a part of it that other duels measured by itself: their quotient, with an interval as wide as theirs make it.
///
/// Both are taken for independent. A part that was kept for its own figure flatters itself, so that the quotient errs to the lower side.
pub fn quotient(whole: &crate::Estimate, part: &crate::Estimate) -> crate::Estimate {
    let inverse = crate::Estimate {
        ratio: 1.0 / part.ratio,
        low: 1.0 / part.high,
        high: 1.0 / part.low,
    };
    product(&[*whole, inverse])
}

/// Whether two intervals have a value in common.
pub fn meets(one: &crate::Estimate, other: &crate::Estimate) -> bool {
    one.low <= other.high && other.low <= one.high
}

/// What keeps a total and its best part from being told together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disagreement {
    /// The total's interval is the wider one.
    Wider,
    /// The total lies below the part.
    Below,
}

/// How a total contradicts its best part, in figures that a reader compares; none where they agree.
pub fn disagreement(total: &crate::Estimate, part: &crate::Estimate) -> Option<Disagreement> {
    if total.ratio < part.ratio && total.high < part.high {
        Some(Disagreement::Below)
    } else if log_width(total) > log_width(part) {
        Some(Disagreement::Wider)
    } else {
        None
    }
}

/// How wide an interval is, as a difference of logarithms.
pub fn log_width(estimate: &crate::Estimate) -> f64 {
    (estimate.high / estimate.low).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Estimate;

    /// Asks until nothing is open; a trial shows a gain if it has a lever that does something.
    fn decided(levers: &[usize], first: usize, real: &[usize]) -> (Selection, Vec<Vec<usize>>) {
        let mut selection = Selection::new(levers, first);
        let mut asked = Vec::new();
        while let Some(trial) = selection.next() {
            assert!(asked.len() < 50, "{asked:?}");
            selection.answer(trial.levers.iter().any(|lever| real.contains(lever)));
            asked.push(trial.levers);
        }
        (selection, asked)
    }

    #[test]
    fn one_real_lever_takes_two_questions() {
        let (selection, asked) = decided(&[4, 2, 7, 1, 9], 4, &[4]);
        assert_eq!(selection.kept(), [4]);
        assert_eq!(selection.dropped(), [2, 7, 1, 9]);
        assert_eq!(asked, [vec![4], vec![2, 7, 1, 9]]);
    }

    #[test]
    fn groups_are_halved_until_single() {
        let (selection, asked) = decided(&[4, 2, 7, 1, 9], 4, &[4, 1]);
        assert_eq!(selection.kept(), [4, 1]);
        let expected: [&[usize]; 5] = [&[4], &[2, 7, 1, 9], &[1, 9], &[9], &[1]];
        assert_eq!(asked[..5], expected);
        // A group that a real lever is in keeps nothing: each is asked about by itself.
        assert!(
            asked[5..]
                .iter()
                .flatten()
                .all(|lever| [2, 7].contains(lever))
        );
    }

    #[test]
    fn likely_levers_are_asked_about_before_any_group() {
        let mut selection = Selection::new(&[4, 2, 7, 1, 9, 8, 3], 4).with_likely(vec![1, 7]);
        let mut asked = Vec::new();
        while let Some(trial) = selection.next() {
            selection.answer(trial.levers.iter().any(|lever| [4, 7].contains(lever)));
            asked.push(trial.levers);
        }
        let expected: [&[usize]; 4] = [&[4], &[7], &[1], &[2, 9, 8, 3]];
        assert_eq!(asked, expected);
        assert_eq!(selection.kept(), [4, 7]);
    }

    #[test]
    fn every_kept_lever_was_asked_alone() {
        for real in 0_u32..64 {
            let real: Vec<usize> = (0..6).filter(|lever| real >> lever & 1 == 1).collect();
            let (selection, asked) = decided(&[0, 1, 2, 3, 4, 5], 2, &real);
            assert_eq!(selection.kept(), real);
            assert!(real.iter().all(|&lever| asked.contains(&vec![lever])));
        }
    }

    #[test]
    fn a_first_lever_that_fails_is_dropped() {
        let mut selection = Selection::new(&[3, 5], 3);
        selection.answer(false);
        let trial = selection.next().expect("one is left");
        assert_eq!((trial.without, trial.with), (vec![], vec![5]));
        selection.answer(true);
        assert_eq!((selection.kept(), selection.next()), (vec![5], None));
    }

    #[test]
    fn undecided_levers_stay_open() {
        let mut selection = Selection::new(&[0, 1, 2, 3, 4], 0);
        selection.answer(true);
        selection.answer(true);
        assert_eq!(selection.kept(), [0]);
        assert_eq!(selection.open(), [1, 2, 3, 4]);
    }

    #[test]
    fn few_levers_are_asked_about_one_by_one() {
        let (selection, asked) = decided(&[4, 2, 7, 1], 4, &[4, 7]);
        assert_eq!(selection.kept(), [4, 7]);
        assert_eq!(asked, [vec![4], vec![2], vec![7], vec![1]]);
    }

    #[test]
    fn parts_multiply() {
        let estimate = |low: f64, ratio: f64, high: f64| Estimate { ratio, low, high };
        let parts = [estimate(1.08, 1.1, 1.12), estimate(1.18, 1.2, 1.22)];
        let both = product(&parts);
        assert!((both.ratio - 1.32).abs() < 1e-12, "{both:?}");
        let widths = parts.map(|part| (part.high / part.ratio).ln());
        let width = (both.high / both.ratio).ln();
        assert!((width - widths[0].hypot(widths[1])).abs() < 1e-12);
        assert!(meets(&both, &estimate(1.2, 1.27, 1.3)));
        assert!(!meets(&both, &estimate(1.2, 1.22, 1.25)));
        assert!(!meets(&estimate(1.2, 1.22, 1.25), &both));
    }

    #[test]
    fn a_part_is_divided_out() {
        let estimate = |low: f64, ratio: f64, high: f64| Estimate { ratio, low, high };
        let (whole, part) = (estimate(1.30, 1.32, 1.35), estimate(1.17, 1.2, 1.22));
        let left = quotient(&whole, &part);
        assert!((left.ratio - 1.1).abs() < 1e-12, "{left:?}");
        // The part's upper end is what the lower end of the rest has to fear.
        let below = (1.32f64 / 1.30).ln().hypot((1.22f64 / 1.2).ln());
        assert!(
            ((left.ratio / left.low).ln() - below).abs() < 1e-12,
            "{left:?}"
        );
        let back = product(&[left, part]);
        assert!((back.ratio - whole.ratio).abs() < 1e-12 && log_width(&back) > log_width(&whole));
    }

    #[test]
    fn totals_are_held_against_parts() {
        let estimate = |low: f64, ratio: f64, high: f64| Estimate { ratio, low, high };
        let part = estimate(1.17, 1.19, 1.25);
        let below = estimate(1.07, 1.17, 1.20);
        assert_eq!(disagreement(&below, &part), Some(Disagreement::Below));
        let wider = estimate(1.07, 1.21, 1.31);
        assert_eq!(disagreement(&wider, &part), Some(Disagreement::Wider));
        let good = estimate(1.20, 1.22, 1.25);
        assert_eq!(disagreement(&good, &part), None);
        assert!(is_worse(&estimate(1.12, 1.14, 1.17), 0.05));
        assert!(!is_worse(&estimate(1.02, 1.14, 1.17), 0.05));
    }
}
