//! Passes over one trace side by side: which digests are answered otherwise. No I/O here.

use super::determined::{Determined, determined};
use super::pass::{AnswerError, Answers, StepAnswer, order};
use niagara_capture::sql::Class;
use niagara_capture::trace::{NONE, Trace};

/// What the answers of a digest differ in, the worst of its executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DifferingIn {
    /// The order of rows that ORDER BY leaves open, or their choice under a LIMIT, or a column that GROUP BY leaves open: a
    /// server may answer either.
    Open,
    /// Contents, which follow from the data.
    Contents,
    /// The number of rows that came or were changed.
    Rows,
    /// Errors.
    Errors,
}

/// A digest whose answers differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferingAnswer {
    /// Its place in the trace's digests.
    pub digest: usize,
    /// In what.
    pub what: DifferingIn,
    /// Executions that were compared.
    pub executions: u64,
    /// Of these, those that differ.
    pub differing: u64,
    /// The first error that B alone answered with; none where it did not fail.
    pub error: Option<AnswerError>,
}

/// What came of comparing two servers' answers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AnswersCompared {
    /// Transactions that both servers were sent.
    pub units: usize,
    /// Of how many in the trace.
    pub of_units: usize,
    /// Executions whose contents were compared.
    pub by_content: u64,
    /// Those of which errors and the number of rows were.
    pub by_rows: u64,
    /// Those that were not, because answers to their digest vary on one and the same server, or speak of the server.
    pub not_compared: u64,
    /// Digests whose answers differ, by their places.
    pub differing: Vec<DifferingAnswer>,
}

/// What is known of the answers to one digest.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    executions: u64,
    /// On one and the same server something varies: errors or rows, contents.
    varies: bool,
    contents_vary: bool,
    sequence_varies: bool,
    differing: u64,
    what: Option<DifferingIn>,
}

/// Compares the answers of B with those of A. `start` has two passes on A: what differs between them varies by itself, and is
/// left out by digest. `end` has one pass on B or two, which then have to agree that there is a difference.
pub fn compare_answers(trace: &Trace, start: [&Answers; 2], end: &[&Answers]) -> AnswersCompared {
    let units = start.iter().chain(end).map(|pass| pass.units());
    let mut result = AnswersCompared {
        units: units.min().unwrap_or(0),
        of_units: trace.units.len(),
        ..AnswersCompared::default()
    };
    let order = order(trace);
    let places = order[..result.units.min(order.len())]
        .iter()
        .flat_map(|&unit| trace.units[unit as usize].range());
    let digests: Vec<usize> = places
        .map(|step| match trace.steps[step].digest {
            NONE => usize::MAX,
            digest => digest as usize,
        })
        .collect();
    let rules: Vec<Rule> = trace
        .digests
        .iter()
        .map(|digest| Rule::of(&digest.text, digest.class))
        .collect();
    let counted = count(
        &digests,
        &rules,
        start.map(|pass| pass.steps.as_slice()),
        &end.iter()
            .map(|pass| pass.steps.as_slice())
            .collect::<Vec<_>>(),
    );
    result.add(&counted, &rules);
    if let Some(end) = end.first() {
        let differing = result.differing.iter_mut();
        for one in differing.filter(|one| one.what == DifferingIn::Errors) {
            // A digest that fails on A, too, has its errors there: another one on B is named all the same.
            let digest = u32::try_from(one.digest).unwrap_or(NONE);
            let error = end.errors.get(&digest);
            one.error = error
                .filter(|error| start[0].errors.get(&digest) != Some(error))
                .cloned();
        }
    }
    result
}

/// What of a digest's answers can be compared.
#[derive(Debug, Clone, Copy)]
struct Rule {
    determined: Determined,
    /// It asks for an order of its rows.
    is_ordered: bool,
}

impl Rule {
    fn of(text: &str, class: Class) -> Rule {
        Rule {
            determined: determined(text, class),
            is_ordered: text.contains("order by"),
        }
    }
}

/// Counts by digest; `digests` has the digest of every answer, beyond all of `rules` for what is no statement.
fn count(
    digests: &[usize],
    rules: &[Rule],
    start: [&[StepAnswer]; 2],
    end: &[&[StepAnswer]],
) -> Vec<Counted> {
    let mut counted = vec![Counted::default(); rules.len()];
    for (place, &digest) in digests.iter().enumerate() {
        if let Some(counted) = counted.get_mut(digest)
            && let [Some(one), Some(two)] = start.map(|pass| pass.get(place))
        {
            counted.vary(one, two);
        }
    }
    for (place, &digest) in digests.iter().enumerate() {
        let (Some(counted), Some(a)) = (counted.get_mut(digest), start[0].get(place)) else {
            continue;
        };
        // Of both passes on B, where there are two.
        let differences = end
            .iter()
            .map(|pass| counted.difference(rules[digest], a, pass.get(place)?));
        let what = differences.min().flatten();
        counted.executions += 1;
        counted.differing += u64::from(what.is_some());
        counted.what = counted.what.max(what);
    }
    counted
}

impl AnswersCompared {
    fn add(&mut self, counted: &[Counted], rules: &[Rule]) {
        for (digest, (counted, rule)) in counted.iter().zip(rules).enumerate() {
            let sum = match rule.determined {
                _ if counted.varies => &mut self.not_compared,
                Determined::Nothing => &mut self.not_compared,
                Determined::Contents | Determined::RowsAndMostly if !counted.contents_vary => {
                    &mut self.by_content
                }
                _ => &mut self.by_rows,
            };
            *sum += counted.executions;
            if let Some(what) = counted.what {
                self.differing.push(DifferingAnswer {
                    digest,
                    what,
                    executions: counted.executions,
                    differing: counted.differing,
                    error: None,
                });
            }
        }
    }
}

impl Counted {
    /// What two answers of one and the same server say of the digest.
    fn vary(&mut self, one: &StepAnswer, two: &StepAnswer) {
        self.varies |= one.error != two.error || one.digest.rows != two.digest.rows;
        self.contents_vary |= one.digest.set != two.digest.set;
        self.sequence_varies |= one.digest.sequence != two.digest.sequence;
    }

    /// What two servers' answers to one statement differ in, if in anything that counts.
    fn difference(&self, rule: Rule, a: &StepAnswer, b: &StepAnswer) -> Option<DifferingIn> {
        let determined = rule.determined;
        if self.varies || determined == Determined::Nothing {
            return None;
        }
        if a.error != b.error {
            return Some(DifferingIn::Errors);
        }
        if determined == Determined::Error {
            return None;
        }
        if a.digest.rows != b.digest.rows {
            return Some(DifferingIn::Rows);
        }
        let contents = !self.contents_vary && a.digest.set != b.digest.set;
        let sequence =
            rule.is_ordered && !self.sequence_varies && a.digest.sequence != b.digest.sequence;
        match determined {
            Determined::Contents if contents => Some(DifferingIn::Contents),
            Determined::RowsAndMostly if contents => Some(DifferingIn::Open),
            Determined::Contents | Determined::RowsAndMostly if sequence => Some(DifferingIn::Open),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::answer_digest::AnswerDigest;

    fn answer(rows: u64, set: u64, sequence: u64, error: u16) -> StepAnswer {
        StepAnswer {
            digest: AnswerDigest {
                rows,
                set,
                sequence,
            },
            error,
        }
    }

    /// What is found of a digest whose two executions are answered so on A, on A again, and on B.
    fn found(
        text: &str,
        class: Class,
        passes: [[StepAnswer; 2]; 3],
    ) -> (AnswersCompared, Option<DifferingIn>) {
        let [a, again, b] = &passes;
        let rules = [Rule::of(text, class)];
        let counted = count(
            &[0, usize::MAX - 1, 0],
            &rules,
            [&spread(a), &spread(again)],
            &[&spread(b)],
        );
        let mut result = AnswersCompared::default();
        result.add(&counted, &rules);
        let what = result.differing.first().map(|one| one.what);
        (result, what)
    }

    /// With a command between them that is no statement.
    fn spread([one, two]: &[StepAnswer; 2]) -> Vec<StepAnswer> {
        vec![*one, answer(9, 9, 9, 9), *two]
    }

    #[test]
    fn what_differs_is_named_by_what_it_differs_in() {
        use DifferingIn::*;
        let a = answer(2, 7, 8, 0);
        let same = [a, a];
        let read = |text: &str, b: StepAnswer| found(text, Class::Read, [same, same, [a, b]]).1;
        let plain = "select a from t";
        assert_eq!(read(plain, a), None);
        assert_eq!(read(plain, answer(2, 6, 8, 0)), Some(Contents));
        assert_eq!(read(plain, answer(1, 6, 8, 0)), Some(Rows));
        assert_eq!(read(plain, answer(0, 0, 0, 1064)), Some(Errors));
        // Nobody asked for an order.
        assert_eq!(read(plain, answer(2, 7, 9, 0)), None);
        assert_eq!(
            read("select a from t order by b", answer(2, 7, 9, 0)),
            Some(Open)
        );
        assert_eq!(
            read("select a from t order by b limit ?", answer(2, 6, 9, 0)),
            Some(Open)
        );
        assert_eq!(read("select uuid()", answer(1, 1, 1, 0)), None);
        let (result, what) = found(
            "update t set a = ?",
            Class::Write,
            [same, same, [answer(3, 7, 8, 0), a]],
        );
        assert_eq!(
            (what, result.differing[0].differing, result.by_rows),
            (Some(Rows), 1, 2)
        );
    }

    #[test]
    fn what_varies_on_one_server_is_not_held_against_the_other() {
        let (a, other) = (answer(2, 7, 8, 0), answer(2, 5, 6, 0));
        let (result, what) = found(
            "select a from t",
            Class::Read,
            [[a, a], [a, other], [other, other]],
        );
        assert_eq!((what, result.by_content, result.by_rows), (None, 0, 2));
        let fewer = answer(1, 5, 6, 0);
        let (result, what) = found(
            "select a from t",
            Class::Read,
            [[a, a], [a, fewer], [fewer, fewer]],
        );
        assert_eq!((what, result.not_compared), (None, 2));
    }

    #[test]
    fn a_second_pass_has_to_agree() {
        let rules = [Rule::of("select a from t", Class::Read)];
        let (a, other) = ([answer(1, 1, 1, 0)], [answer(1, 2, 2, 0)]);
        let differs = |end: &[&[StepAnswer]]| count(&[0], &rules, [&a, &a], end)[0].what;
        assert_eq!(differs(&[&other]), Some(DifferingIn::Contents));
        assert_eq!(differs(&[&other, &other]), Some(DifferingIn::Contents));
        assert_eq!(differs(&[&other, &a]), None);
    }
}
