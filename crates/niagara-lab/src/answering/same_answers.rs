//! Whether a variant answers a capture as the start does, by content: the capture's transactions are sent to both, one at
//! a time, each on a fresh clone of the same data. The start is asked twice, so that what varies by itself is known.

use std::time::Duration;

use anyhow::Result;
use niagara_error::Explain as _;
use niagara_load::{
    Answers, AnswersCompared, DifferingIn, LoadError, collect_answers, compare_answers,
};
use niagara_model::{
    Comparison, Difference, DifferingDigest, Finding, SameAnswers, StatementError,
};
use niagara_server::Cancelled;

use crate::duels::replayed::cut;
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// How long the start is asked at most: what it comes to by then is what is compared.
const LONGEST: Duration = Duration::from_secs(120);
/// How long it is asked at least, where the capture is that long, however small the budget.
const SHORTEST: Duration = Duration::from_secs(10);
/// The first pass takes this part of the study's budget, within these bounds.
const PART_OF_BUDGET: u32 = 5;
/// The later passes may take so many times as long as the first: a slower server is not waited for, as much as it came to
/// is compared.
const SLOWER: u32 = 3;

/// Compares variants with one start, which is asked once for all of them.
#[derive(Default)]
pub(crate) struct AnswersBeside {
    /// What the start answered, twice.
    start: Option<[Answers; 2]>,
    /// Nothing is measured afterwards: what an error broke is tried again by the same command.
    is_last: bool,
}

impl AnswersBeside {
    /// Of final variants, after which nothing is measured.
    pub(crate) fn of_last() -> Self {
        Self {
            is_last: true,
            ..Self::default()
        }
    }

    /// Whether `end` answers as `start` does, once for a study; none of a load that is no capture. Its time does not count
    /// against the budget. That it could not be done is told in what comes back.
    ///
    /// # Errors
    /// [`Cancelled`] when stopped; the disk is full; the results cannot be written.
    pub(crate) fn compare(
        &mut self,
        bench: &Workbench,
        study: &mut Study,
        [start, end]: [&Variant; 2],
        observer: &mut dyn Observer,
    ) -> Result<Option<SameAnswers>> {
        if bench.load().workload.capture().is_none() {
            return Ok(None);
        }
        let key = checkpoint::same_answers(&end.id());
        if let Some(kept) = study.recall(&key)? {
            return Ok(Some(kept));
        }
        observer.see(Event::Note(&format!(
            "{}: does it answer the capture as {} does? (one transaction at a time)",
            end.label(),
            start.label()
        )));
        let budget =
            Duration::try_from_secs_f64(study.budget_seconds()).unwrap_or(LONGEST * PART_OF_BUDGET);
        let longest = longest(budget);
        let compared = study.aside(observer, |observer| {
            self.compared(bench, [start, end], longest, observer)
        });
        let answers = match compared {
            Ok(answers) => answers,
            Err(error) if error.has::<Cancelled>() => return Err(error),
            Err(error) => {
                bench.check_disk()?;
                SameAnswers {
                    failure: Some(error.explain()),
                    ..SameAnswers::default()
                }
            }
        };
        let differences = answers.differences().map(ToString::to_string);
        for line in answers.facts().into_iter().chain(differences) {
            observer.see(Event::Note(&line));
        }
        if !self.is_last || answers.failure.is_none() {
            study.keep(&key, &answers)?;
        }
        Ok(Some(answers))
    }

    fn compared(
        &mut self,
        bench: &Workbench,
        [start, end]: [&Variant; 2],
        longest: Duration,
        observer: &mut dyn Observer,
    ) -> Result<SameAnswers> {
        let Some(capture) = bench.load().workload.capture() else {
            return Ok(SameAnswers::default());
        };
        let trace = capture.trace()?;
        if self.start.is_none() {
            let first = pass(bench, start, None, longest, observer)?;
            let units = Some(first.units());
            let second = pass(bench, start, units, longest * SLOWER, observer)?;
            self.start = Some([first, second]);
        }
        let Some([first, second]) = &self.start else {
            return Ok(SameAnswers::default());
        };
        let mut ask = || pass(bench, end, Some(first.units()), longest * SLOWER, observer);
        let answers = ask()?;
        let mut compared = compare_answers(&trace, [first, second], &[&answers]);
        if !compared.differing.is_empty() {
            // What differs once may be an accident.
            let again = ask()?;
            compared = compare_answers(&trace, [first, second], &[&answers, &again]);
        }
        Ok(in_words(&compared, &trace.digests))
    }
}

/// How long the first pass of a study of this budget may take.
fn longest(budget: Duration) -> Duration {
    (budget / PART_OF_BUDGET).clamp(SHORTEST, LONGEST)
}

/// Adds what came of it to a comparison.
pub(crate) fn take_answers(comparison: &mut Comparison, answers: Option<&SameAnswers>) {
    if let (Some(replay), Some(answers)) = (&mut comparison.replay, answers) {
        replay.take_answers(answers);
    }
}

/// Whether nothing is left to be compared: the load is no capture, or what it is answered is known.
pub(crate) fn are_compared(bench: &Workbench, answers: Option<&SameAnswers>) -> bool {
    let is_capture = bench.load().workload.capture().is_some();
    !is_capture || answers.is_some_and(|answers| answers.failure.is_none())
}

/// Why a final variant is not handed over by what it answers a capture; nothing of one that answers as the start does, and where
/// that was not asked.
pub(crate) fn other_answers(answers: Option<&SameAnswers>) -> Option<Finding> {
    let answers = answers?;
    if let Some(error) = &answers.failure {
        return Some(Finding::AnswersUnknown {
            error: error.clone(),
        });
    }
    let differences: Vec<DifferingDigest> = answers.differences().cloned().collect();
    (!differences.is_empty()).then_some(Finding::OtherAnswers { differences })
}

/// How far a pass has come: a share, for a count that stands in a log would read as its result.
fn position(label: &str, done: usize, all: usize) -> String {
    let percent = 100 * done / all.max(1);
    format!("comparing answers, {percent} %: {label}")
}

/// The answers of `variant` on a fresh clone.
fn pass(
    bench: &Workbench,
    variant: &Variant,
    units: Option<usize>,
    within: Duration,
    observer: &mut dyn Observer,
) -> Result<Answers> {
    bench.cancel().check()?;
    let Some(capture) = bench.load().workload.capture() else {
        anyhow::bail!("the load is no capture");
    };
    let clone = bench.clone_for(variant)?;
    let server = bench.spawn(variant, &clone)?.wait_ready()?;
    let endpoint = bench.endpoint_here(&server, variant);
    let rewritten = bench.rewritten(variant);
    let mut tell = |done, all| {
        let text = position(&variant.label(), done, all);
        observer.see(Event::SettingUp(&text));
    };
    tell(0, 1);
    let answers = collect_answers(
        &endpoint,
        (capture, rewritten.as_deref()),
        units,
        within,
        &bench.cancel().flag(),
        &mut tell,
    );
    server.kill();
    match answers {
        Err(LoadError::Cancelled) => Err(Cancelled.into()),
        other => Ok(other?),
    }
}

/// As it is kept: digests by their numbers, those that differ most first.
fn in_words(
    compared: &AnswersCompared,
    digests: &[niagara_capture::trace::TraceDigest],
) -> SameAnswers {
    let mut differing: Vec<DifferingDigest> = compared
        .differing
        .iter()
        .filter_map(|one| {
            let digest = digests.get(one.digest)?;
            Some(DifferingDigest {
                digest: digest.digest.to_string(),
                text: cut(&digest.text),
                what: match one.what {
                    DifferingIn::Open => Difference::Open,
                    DifferingIn::Contents => Difference::Contents,
                    DifferingIn::Rows => Difference::Rows,
                    DifferingIn::Errors => Difference::Errors,
                },
                executions: one.executions,
                differing: one.differing,
                error: one.error.as_ref().map(|error| StatementError {
                    code: error.code,
                    message: without_literals(error.code, &error.message),
                }),
            })
        })
        .collect();
    differing.sort_by_key(|digest| std::cmp::Reverse(digest.differing));
    SameAnswers {
        transactions: compared.units as u64,
        of_transactions: compared.of_units as u64,
        by_content: compared.by_content,
        by_rows: compared.by_rows,
        not_compared: compared.not_compared,
        differing,
        failure: None,
    }
}

/// Errors that quote names of tables, columns and functions, and nothing of the data: ER_BAD_DB_ERROR, ER_BAD_FIELD_ERROR,
/// ER_NO_SUCH_TABLE, ER_UNKNOWN_SYSTEM_VARIABLE, ER_UNKNOWN_CHARACTER_SET, ER_UNKNOWN_COLLATION, ER_SP_DOES_NOT_EXIST.
const OF_NAMES: [u16; 7] = [1049, 1054, 1146, 1193, 1115, 1273, 1305];

/// What a server said without the literals of a statement, which reports do not show.
fn without_literals(code: u16, message: &str) -> String {
    if OF_NAMES.contains(&code) {
        return cut(message);
    }
    // A syntax error quotes the rest of the statement, quotes and all.
    let said = message.split(" near '").next().unwrap_or(message);
    let parts = said.split('\'').enumerate();
    let kept: Vec<&str> = parts
        .map(|(place, part)| if place % 2 == 1 { "?" } else { part })
        .collect();
    cut(&kept.join("'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_of_a_pass_is_no_count() {
        let told = [(0, 0), (1506, 26813), (8, 8)].map(|(done, all)| position("a", done, all));
        let expected = [0, 5, 100].map(|percent| format!("comparing answers, {percent} %: a"));
        assert_eq!(told, expected);
    }

    #[test]
    fn errors_show_no_literals() {
        let syntax = "You have an error in your SQL syntax; check the manual to use near 'rank = 'secret'' at line 1";
        let shown = without_literals(1064, syntax);
        assert!(
            shown.ends_with("to use") && !shown.contains("secret"),
            "{shown}"
        );
        let date = "Incorrect datetime value: '0000-00-00' for column 'born' at row 1";
        assert_eq!(
            without_literals(1292, date),
            "Incorrect datetime value: '?' for column '?' at row 1"
        );
        let column = "Unknown column 'rank' in 'field list'";
        assert_eq!(without_literals(1054, column), column);
    }

    #[test]
    fn passes_take_a_part_of_the_budget() {
        let longest_of = |seconds| longest(Duration::from_secs(seconds)).as_secs();
        assert_eq!(longest_of(20), 10);
        assert_eq!(longest_of(100), 20);
        assert_eq!(longest_of(600), 120);
        assert_eq!(longest_of(36_000), 120);
    }

    #[test]
    fn what_answers_otherwise_or_could_not_be_asked_is_not_handed_over() {
        let mut answers = SameAnswers::default();
        assert_eq!(other_answers(None), None);
        assert_eq!(other_answers(Some(&answers)), None);
        answers.differing.push(DifferingDigest {
            digest: "0123456789abcdef".to_owned(),
            text: "select a from t".to_owned(),
            what: Difference::Rows,
            executions: 10,
            differing: 3,
            error: None,
        });
        let said = other_answers(Some(&answers))
            .expect("it differs")
            .to_string();
        assert!(
            said.contains("not recommended") && said.contains("select a from t"),
            "{said}"
        );
        answers.differing[0].what = Difference::Open;
        assert_eq!(other_answers(Some(&answers)), None);
        answers.failure = Some("the server ended".into());
        let said = other_answers(Some(&answers))
            .expect("nobody knows")
            .to_string();
        assert!(
            said.contains("the same command tries again: the server ended"),
            "{said}"
        );
    }
}
