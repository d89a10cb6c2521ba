//! Whether what was replayed is what was captured: figures, and what speaks against a verdict by them. Their English is in
//! `words.rs`.

mod shortcoming;
mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::trace::LeftOutCause;
pub use shortcoming::{Caution, Shortcoming};

/// What was replayed beside what was captured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fidelity {
    /// Statements of the capture that can be replayed.
    pub statements: u64,
    /// Statements left out, by cause.
    pub left_out: Vec<LeftOutShare>,
    /// Share of the captured time that can be replayed, 0 to 1; none where durations are not known.
    pub time_share: Option<f64>,
    /// Statements that were answered.
    pub replayed: u64,
    /// Errors that the capture does not have, by the server's number.
    #[serde(deserialize_with = "by_number")]
    pub errors: BTreeMap<u16, u64>,
    /// Statements that failed as in the capture.
    pub errors_as_captured: u64,
    /// Statements that failed in the capture and did not here.
    pub errors_gone: u64,
    /// Rows of statements of which the capture knows them: captured, and replayed.
    pub rows: Option<(u64, u64)>,
    /// The digest whose rows differ most, where any do.
    pub rows_differ: Option<String>,
    /// Statements that show that clients had the rows counted that were found (CLIENT_FOUND_ROWS), which the capture does not say:
    /// rows are compared so; 0 where they are compared as the server counts them.
    pub found_rows: u64,
    /// Transactions begun again after conflicts.
    pub retries: u64,
    /// Transactions that did not come to their end: undone after too many conflicts, or their connection was lost.
    pub given_up: u64,
    /// Transactions that came to their end.
    pub transactions: u64,
    /// Transactions that began although something they wait for was not over.
    pub out_of_order: u64,
    /// Statements in flight on average, captured (none where durations are not known) and replayed.
    pub in_flight: (Option<f64>, f64),
    /// Logins a second, captured and replayed.
    pub logins: (f64, f64),
    /// Logins for a thousand statements, captured and replayed.
    pub logins_per_thousand: (f64, f64),
    /// Sessions that logged in again, with the database and the variables that they had had.
    pub logins_again: u64,
    /// Sessions that were ended to make room for another one.
    pub evicted: u64,
    /// Sessions whose connection was lost.
    pub lost: u64,
    /// Most statements in flight, captured, and most transactions under way, replayed.
    pub most_in_flight: (u32, u32),
    /// Share of the pages asked for that were in the buffer pool, captured and replayed, where known.
    pub hit_rate: (Option<f64>, Option<f64>),
    /// Deadlocks, captured (where known) and replayed, those that both have among them.
    pub deadlocks: (Option<u64>, u64),
    /// Of a paced replay.
    pub lateness: Option<Lateness>,
    /// Seconds under load.
    pub load_seconds: f64,
    /// It came to the end of a trace that writes, which is not begun again.
    pub ended: bool,
    /// Times that a trace that only reads was begun again.
    pub rounds: u64,
    /// Starts are known to the microsecond.
    pub exact_times: bool,
    /// Executions of prepared statements, which were replayed as text.
    pub executed_as_text: u64,
    /// The capture has one in this many statements.
    pub sampled: u64,
    /// Statements that may be those of triggers and stored functions, which execute them too.
    pub suspects: u64,
    /// Statements of clients that the source had and the capture has not.
    pub not_captured: u64,
    /// What speaks against a verdict by it.
    pub shortcomings: Vec<Shortcoming>,
    /// What should be borne in mind.
    pub cautions: Vec<Caution>,
}

/// Statements that were left out for one cause.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutShare {
    /// The cause.
    pub code: LeftOutCause,
    /// How many.
    pub statements: u64,
    /// Their share of the captured time, 0 to 1.
    pub share: f64,
}

/// By how much a paced replay began its transactions behind their time, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lateness {
    /// Whoever was to blame, the server above all: median, 95th and 99th percentile.
    pub behind_us: [f64; 3],
    /// Of this, what the load generator is to blame for.
    pub late_us: [f64; 3],
    /// Share of the transactions that the load generator began more than 10 ms late.
    pub late_share: f64,
}

/// Whether a replay is good enough to decide by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum ReplayVerdict {
    /// It is.
    Good {
        /// What should be borne in mind.
        cautions: Vec<Caution>,
    },
    /// It is not.
    Poor {
        /// What speaks against a verdict by it.
        shortcomings: Vec<Shortcoming>,
    },
}

impl ReplayVerdict {
    /// Whether a verdict may rest on the replay.
    pub fn is_good(&self) -> bool {
        matches!(self, ReplayVerdict::Good { .. })
    }

    /// What speaks against a verdict by it; nothing of a good one.
    pub fn shortcomings(&self) -> &[Shortcoming] {
        match self {
            ReplayVerdict::Good { .. } => &[],
            ReplayVerdict::Poor { shortcomings } => shortcomings,
        }
    }

    /// Adds what speaks against it.
    pub fn object(&mut self, shortcoming: Shortcoming) {
        match self {
            ReplayVerdict::Good { .. } => {
                *self = ReplayVerdict::Poor {
                    shortcomings: vec![shortcoming],
                }
            }
            ReplayVerdict::Poor { shortcomings } => shortcomings.push(shortcoming),
        }
    }
}

impl Fidelity {
    /// The same, with what its figures say of a verdict.
    pub fn judged(mut self) -> Fidelity {
        self.shortcomings = shortcoming::shortcomings(&self);
        self.cautions = shortcoming::cautions(&self);
        self
    }

    /// Whether a verdict may rest on it.
    pub fn is_good(&self) -> bool {
        self.shortcomings.is_empty()
    }

    /// Whether it is good enough to decide by, and why not.
    pub fn verdict(&self) -> ReplayVerdict {
        match self.is_good() {
            true => ReplayVerdict::Good {
                cautions: self.cautions.clone(),
            },
            false => ReplayVerdict::Poor {
                shortcomings: self.shortcomings.clone(),
            },
        }
    }

    /// As a share of the transactions that began, those that were given up among them.
    fn of_transactions(&self, count: u64) -> f64 {
        count as f64 / (self.transactions + self.given_up).max(1) as f64
    }
}

/// Reads a map with numbers for keys, which are texts in JSON. Within an enum that is told by a tag, serde does not turn them into
/// numbers.
fn by_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<u16, u64>, D::Error> {
    let texts = BTreeMap::<String, u64>::deserialize(deserializer)?;
    let numbers = texts.into_iter();
    numbers
        .map(|(text, count)| Ok((text.parse().map_err(D::Error::custom)?, count)))
        .collect()
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
            rows_differ: Some("b525f3da".to_owned()),
            found_rows: 0,
            retries: 50,
            given_up: 0,
            transactions: 100,
            out_of_order: 0,
            in_flight: (Some(4.0), 4.0),
            logins: (1.0, 1.0),
            logins_per_thousand: (4.0, 4.0),
            logins_again: 0,
            evicted: 0,
            lost: 0,
            most_in_flight: (8, 8),
            hit_rate: (Some(0.99), Some(0.99)),
            deadlocks: (Some(50), 50),
            lateness: None,
            load_seconds: 60.0,
            ended: true,
            rounds: 0,
            exact_times: true,
            executed_as_text: 0,
            sampled: 1,
            suspects: 0,
            not_captured: 0,
            shortcomings: Vec::new(),
            cautions: Vec::new(),
        }
    }

    fn judged(change: fn(&mut Fidelity)) -> Fidelity {
        let mut fidelity = good();
        change(&mut fidelity);
        fidelity.judged()
    }

    fn lateness(late_share: f64) -> Option<Lateness> {
        Some(Lateness {
            behind_us: [100.0, 2000.0, 50_000.0],
            late_us: [10.0, 100.0, 900.0],
            late_share,
        })
    }

    #[test]
    fn what_speaks_against_a_verdict_is_said() {
        let with = |change: fn(&mut Fidelity)| judged(change).verdict().to_string();
        for (verdict, words) in [
            (with(|one| one.replayed = 0), "nothing was replayed"),
            (with(|one| one.time_share = Some(0.5)), "only 50 %"),
            (
                with(|one| one.retries = 0),
                "5.0 % of the statements failed",
            ),
            (with(|one| one.errors_gone = 20), "2.0 %"),
            (
                with(|one| one.not_captured = 1000),
                "the capture lacks 50 % of the statements of its source",
            ),
            (
                with(|one| one.rows = Some((100, 50))),
                "50.0 % of the captured rows, most of the difference is of statement b525f3da",
            ),
            (with(|one| one.given_up = 2), "2.0 % of the transactions"),
            (
                with(|one| (one.transactions, one.given_up) = (0, 10)),
                "100.0 % of the transactions did not come to their end",
            ),
            (with(|one| one.sampled = 10), "one in 10"),
            (
                with(|one| one.hit_rate.1 = Some(0.80)),
                "80.0 % of the pages were in the buffer pool, in the capture 99.0 %",
            ),
            (
                with(|one| one.lateness = lateness(0.2)),
                "20.0 % of the transactions more than 10 ms late",
            ),
        ] {
            assert!(
                verdict.contains(words) && verdict.contains("not good enough"),
                "{verdict}"
            );
        }
        let good = judged(|_| {});
        assert_eq!(
            good.verdict().to_string(),
            "the replay is good enough to decide by"
        );
    }

    #[test]
    fn what_should_be_borne_in_mind_is_no_reason_against_a_verdict() {
        for (fidelity, words) in [
            (judged(|one| one.hit_rate.1 = Some(0.97)), "97.0 %"),
            (judged(|one| one.in_flight.1 = 1.5), "less contention"),
            (
                judged(|one| one.in_flight = (Some(0.1), 1.9)),
                "19 times the captured",
            ),
            (
                judged(|one| {
                    one.in_flight.1 = 9.0;
                    one.lateness = lateness(0.0);
                }),
                "cannot keep this pace",
            ),
            (judged(|one| one.deadlocks.0 = Some(1)), "50 deadlocks"),
            (judged(|one| one.load_seconds = 3.0), "takes 3.0 s"),
            (judged(|one| one.logins_again = 2), "logged in again"),
            (judged(|one| one.suspects = 9), "--routines"),
        ] {
            let verdict = fidelity.verdict().to_string();
            assert!(fidelity.is_good(), "{verdict}");
            assert!(
                verdict.contains(words) && verdict.contains("but bear in mind"),
                "{verdict}"
            );
        }
        // What goes round has no end; what is not known is not judged.
        let unknown = judged(|one| {
            one.ended = false;
            one.load_seconds = 3.0;
            one.hit_rate = (None, Some(0.5));
            one.in_flight = (None, 0.1);
            one.deadlocks = (None, 0);
        });
        assert!(
            unknown.shortcomings.is_empty() && unknown.cautions.is_empty(),
            "{unknown:?}"
        );
    }

    #[test]
    fn sessions_that_did_not_stay_are_told() {
        let facts = |change: fn(&mut Fidelity)| judged(change).facts().join("\n");
        let told = facts(|one| {
            one.evicted = 3;
            one.lost = 1;
            one.logins_again = 4;
        });
        assert!(
            told.contains(
                "3 sessions made room for others, of 1 the connection was lost; 4 logins again"
            ),
            "{told}"
        );
        assert!(!facts(|_| {}).contains("made room"));
    }

    #[test]
    fn lateness_is_told_with_who_is_to_blame() {
        let facts = judged(|one| one.lateness = lateness(0.001))
            .facts()
            .join("\n");
        assert!(
            facts.contains("behind their time by 0.10, 2.00, 50.00 ms"),
            "{facts}"
        );
        assert!(
            facts.contains("own lateness: 0.01, 0.10, 0.90 ms"),
            "{facts}"
        );
        assert!(
            facts.contains("deadlocks: 50, in the capture 50"),
            "{facts}"
        );
    }

    #[test]
    fn a_verdict_is_a_code_with_fields() {
        let fidelity = judged(|one| {
            one.retries = 0;
            one.left_out = vec![LeftOutShare {
                code: LeftOutCause::TooLong,
                statements: 1,
                share: 0.25,
            }];
        });
        let json = serde_json::to_value(fidelity.verdict()).unwrap();
        let expected = serde_json::json!({
            "code": "poor", "shortcomings": [{ "code": "errors", "share": 0.05 }]
        });
        assert_eq!(json, expected);
        let told = fidelity.facts().join("\n");
        assert!(
            told.contains("1 statement, 25.0 % of the captured time: longer than a packet"),
            "{told}"
        );
        let json = serde_json::to_value(&fidelity).unwrap();
        assert_eq!(json["left_out"][0]["code"], "too_long");
        assert_eq!(json["errors"]["1213"], 50);
        assert_eq!(serde_json::from_value::<Fidelity>(json).unwrap(), fidelity);

        let mut verdict = judged(|_| {}).verdict();
        verdict.object(Shortcoming::Nothing);
        verdict.object(Shortcoming::Sampled { one_in: 10 });
        assert_eq!(
            verdict.to_string(),
            "the replay is not good enough to decide by: nothing was replayed; the capture has only one in 10 statements"
        );
    }
}
