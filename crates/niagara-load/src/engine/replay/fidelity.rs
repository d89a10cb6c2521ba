//! Whether what was replayed is what was captured: said before any verdict rests on it.

use super::tally::Tally;
use niagara_capture::trace::Trace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Share of the captured time that must be replayed for a verdict.
const MIN_TIME: f64 = 0.9;
/// Share of statements that may fail although they did not in the capture.
const MAX_ERRORS: f64 = 0.01;
/// How far the rows may differ from the capture's, as a share of these.
const MAX_ROWS: f64 = 0.05;
/// Share of transactions that may be left where they were.
const MAX_GIVEN_UP: f64 = 0.01;
/// Share of units that may begin out of order.
const MAX_OUT_OF_ORDER: f64 = 0.01;

/// What was replayed beside what was captured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Statements of the capture that can be replayed.
    pub statements: u64,
    /// Statements left out, by cause in words: how many, and their share of the captured time.
    pub left_out: Vec<(String, u64, f64)>,
    /// Share of the captured time that can be replayed, 0 to 1; none where durations are not known.
    pub time_share: Option<f64>,
    /// Statements that were answered.
    pub replayed: u64,
    /// Errors that the capture does not have, by the server's number.
    pub errors: BTreeMap<u16, u64>,
    /// Statements that failed as in the capture.
    pub errors_as_captured: u64,
    /// Statements that failed in the capture and did not here.
    pub errors_gone: u64,
    /// Rows of statements of which the capture knows them: captured, and replayed.
    pub rows: Option<(u64, u64)>,
    /// Transactions begun again after conflicts.
    pub retries: u64,
    /// Transactions left where they were.
    pub given_up: u64,
    /// Transactions that came to their end.
    pub transactions: u64,
    /// Transactions that began although something they wait for was not over.
    pub out_of_order: u64,
    /// Statements in flight on average, captured (none where durations are not known) and replayed.
    pub in_flight: (Option<f64>, f64),
    /// Logins a second, captured and replayed.
    pub logins: (f64, f64),
    /// Starts are known to the microsecond.
    pub exact_times: bool,
    /// Executions of prepared statements, which were replayed as text.
    pub executed_as_text: u64,
    /// The capture has one in this many statements.
    pub sampled: u64,
    /// What speaks against a verdict by it.
    pub shortcomings: Vec<Shortcoming>,
}

/// Something that speaks against a verdict by a replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shortcoming {
    /// Nothing was replayed.
    Nothing,
    /// Too little of the captured time can be replayed: this share.
    Time(f64),
    /// Too many statements failed that had not in the capture: this share.
    Errors(f64),
    /// The rows differ too much: replayed as a share of the captured.
    Rows(f64),
    /// Too many transactions were left where they were: this share.
    GivenUp(f64),
    /// Too many transactions began out of order: this share.
    OutOfOrder(f64),
    /// The capture has one in this many statements only.
    Sampled(u64),
}

impl fmt::Display for Shortcoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: &f64| share * 100.0;
        match self {
            Shortcoming::Nothing => f.write_str("nothing was replayed"),
            Shortcoming::Time(share) => write!(
                f,
                "only {:.0} % of the captured time can be replayed",
                percent(share)
            ),
            Shortcoming::Errors(share) => write!(
                f,
                "{:.1} % of the statements failed that had not in the capture",
                percent(share)
            ),
            Shortcoming::Rows(share) => write!(
                f,
                "the statements have {:.1} % of the captured rows: the data are not those of the capture's beginning",
                percent(share)
            ),
            Shortcoming::GivenUp(share) => write!(
                f,
                "{:.1} % of the transactions did not come to their end",
                percent(share)
            ),
            Shortcoming::OutOfOrder(share) => write!(
                f,
                "{:.1} % of the transactions began out of the captured order",
                percent(share)
            ),
            Shortcoming::Sampled(one_in) => {
                write!(f, "the capture has only one in {one_in} statements")
            }
        }
    }
}

impl Fidelity {
    /// Of what was replayed of a trace.
    pub fn of(trace: &Trace, tally: &Tally) -> Fidelity {
        let facts = &trace.facts;
        let left_out = trace.left_out.all();
        let all_us = facts.captured_us + left_out.captured_us;
        let share = |part_us: u64| part_us as f64 / all_us.max(1) as f64;
        let beside = |sum: (u64, u64), digest: &super::tally::DigestTally| {
            (sum.0 + digest.captured_rows, sum.1 + digest.rows_beside)
        };
        let rows = tally.digests.iter().fold((0, 0), beside);
        let seconds = tally.load_nanoseconds as f64 / 1e9;
        let span = facts.span_us.max(1) as f64 / 1e6;
        let mut fidelity = Fidelity {
            statements: facts.statements,
            left_out: trace
                .left_out
                .by_cause()
                .map(|(cause, amount)| {
                    let words = cause.text().to_owned();
                    (words, amount.statements, share(amount.captured_us))
                })
                .collect(),
            time_share: facts.has_durations.then(|| share(facts.captured_us)),
            replayed: tally.statements,
            errors: tally.errors.clone(),
            errors_as_captured: tally.errors_as_captured,
            errors_gone: tally.errors_gone,
            rows: (rows.0 > 0).then_some(rows),
            retries: tally.retries,
            given_up: tally.given_up,
            transactions: tally.units,
            out_of_order: tally.out_of_order,
            in_flight: (
                facts
                    .has_durations
                    .then(|| facts.captured_us as f64 / facts.span_us.max(1) as f64),
                tally.nanoseconds as f64 / tally.load_nanoseconds.max(1) as f64,
            ),
            logins: (
                f64::from(trace.sessions) / span,
                tally.logins as f64 / seconds.max(1e-9),
            ),
            exact_times: facts.exact_times,
            executed_as_text: facts.executed_as_text,
            sampled: facts.sampled,
            shortcomings: Vec::new(),
        };
        fidelity.shortcomings = fidelity.judge();
        fidelity
    }

    fn judge(&self) -> Vec<Shortcoming> {
        if self.replayed == 0 {
            return vec![Shortcoming::Nothing];
        }
        let mut found = Vec::new();
        let mut unless = |good: bool, shortcoming: Shortcoming| {
            if !good {
                found.push(shortcoming);
            }
        };
        if let Some(share) = self.time_share {
            unless(share >= MIN_TIME, Shortcoming::Time(share));
        }
        let failed = self
            .errors
            .values()
            .sum::<u64>()
            .saturating_sub(self.retries);
        let errors = (failed + self.errors_gone) as f64 / self.replayed as f64;
        unless(errors <= MAX_ERRORS, Shortcoming::Errors(errors));
        if let Some((captured, replayed)) = self.rows {
            let share = replayed as f64 / captured as f64;
            unless((share - 1.0).abs() <= MAX_ROWS, Shortcoming::Rows(share));
        }
        let of_transactions = |count: u64| count as f64 / self.transactions.max(1) as f64;
        let given_up = of_transactions(self.given_up);
        unless(given_up <= MAX_GIVEN_UP, Shortcoming::GivenUp(given_up));
        let out = of_transactions(self.out_of_order);
        unless(out <= MAX_OUT_OF_ORDER, Shortcoming::OutOfOrder(out));
        unless(self.sampled <= 1, Shortcoming::Sampled(self.sampled));
        found
    }

    /// What was replayed beside what was captured, a line each.
    pub fn facts(&self) -> Vec<String> {
        let mut facts = Vec::new();
        let time = match self.time_share {
            Some(share) => format!(", with {:.1} % of the captured time", share * 100.0),
            None => "; the source does not say how long they took".to_owned(),
        };
        facts.push(format!(
            "{} statements of the capture can be replayed{time}; {} were answered",
            self.statements, self.replayed
        ));
        for (cause, statements, share) in &self.left_out {
            facts.push(format!(
                "left out: {statements} statements, {:.1} % of the captured time: {cause}",
                share * 100.0
            ));
        }
        let errors: Vec<String> = self
            .errors
            .iter()
            .map(|(code, count)| format!("{count} times error {code}"))
            .collect();
        facts.push(format!(
            "errors that the capture does not have: {}; as in the capture: {}; gone: {}",
            if errors.is_empty() {
                "none".to_owned()
            } else {
                errors.join(", ")
            },
            self.errors_as_captured,
            self.errors_gone
        ));
        if let Some((captured, replayed)) = self.rows {
            facts.push(format!(
                "rows: {replayed}, and {captured} in the capture of the same statements ({:.2} %)",
                replayed as f64 / captured.max(1) as f64 * 100.0
            ));
        }
        facts.push(format!(
            "transactions: {} came to their end, {} times one was begun again after a conflict, {} were given up, {} began \
             out of order",
            self.transactions, self.retries, self.given_up, self.out_of_order
        ));
        let captured = self
            .in_flight
            .0
            .map_or_else(|| "not known".to_owned(), |mean| format!("{mean:.1}"));
        facts.push(format!(
            "statements in flight on average: {:.1}, in the capture {captured}; logins a second: {:.1}, in the capture {:.1}",
            self.in_flight.1, self.logins.1, self.logins.0
        ));
        if !self.exact_times {
            facts.push("times are known to the second and were spread within it".to_owned());
        }
        if self.executed_as_text > 0 {
            facts.push(format!(
                "{} executions of prepared statements are replayed as text",
                self.executed_as_text
            ));
        }
        facts
    }

    /// Whether a verdict may rest on it.
    pub fn is_good(&self) -> bool {
        self.shortcomings.is_empty()
    }

    /// One line: whether it is good enough to decide by, and why not.
    pub fn verdict(&self) -> String {
        if self.is_good() {
            return "the replay is good enough to decide by".to_owned();
        }
        let reasons: Vec<String> = self.shortcomings.iter().map(ToString::to_string).collect();
        format!(
            "the replay is not good enough to decide by: {}",
            reasons.join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Fidelity {
        Fidelity {
            statements: 1000,
            left_out: Vec::new(),
            time_share: Some(1.0),
            replayed: 1000,
            errors: BTreeMap::from([(1213, 50)]),
            errors_as_captured: 0,
            errors_gone: 0,
            rows: Some((5000, 5010)),
            retries: 50,
            given_up: 0,
            transactions: 100,
            out_of_order: 0,
            in_flight: (Some(2.0), 2.0),
            logins: (1.0, 1.0),
            exact_times: true,
            executed_as_text: 0,
            sampled: 1,
            shortcomings: Vec::new(),
        }
    }

    #[test]
    fn what_speaks_against_a_verdict_is_said() {
        assert_eq!(good().judge(), []);
        let with = |change: fn(&mut Fidelity)| {
            let mut fidelity = good();
            change(&mut fidelity);
            fidelity.shortcomings = fidelity.judge();
            fidelity.verdict()
        };
        for (verdict, words) in [
            (with(|one| one.replayed = 0), "nothing was replayed"),
            (with(|one| one.time_share = Some(0.5)), "only 50 %"),
            (
                with(|one| one.retries = 0),
                "5.0 % of the statements failed",
            ),
            (with(|one| one.errors_gone = 20), "2.0 %"),
            (
                with(|one| one.rows = Some((100, 50))),
                "50.0 % of the captured rows",
            ),
            (with(|one| one.given_up = 2), "2.0 % of the transactions"),
            (with(|one| one.sampled = 10), "one in 10"),
        ] {
            assert!(
                verdict.contains(words) && verdict.contains("not good enough"),
                "{verdict}"
            );
        }
        assert!(good().verdict().contains("is good enough"));
    }
}
