//! Whether what was replayed is what was captured: said before any verdict rests on it.

use super::shortcoming::{Caution, Shortcoming, cautions, shortcomings};
use super::tally::{Spread, Tally};
use crate::counted;
use niagara_capture::file::ServerCounts;
use niagara_capture::trace::{LeftOutCause, Trace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Units of a trace that send something.
fn trace_units(trace: &Trace) -> u64 {
    trace.units.iter().filter(|unit| unit.steps > 0).count() as u64
}

fn per_thousand(count: u64, of: u64) -> f64 {
    count as f64 * 1000.0 / of.max(1) as f64
}

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
    /// Statements that show that clients had the rows counted that were found (CLIENT_FOUND_ROWS), which the capture does not say:
    /// rows are compared so; 0 where they are compared as the server counts them.
    #[serde(default)]
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
    #[serde(default)]
    pub logins_per_thousand: (f64, f64),
    /// Sessions that logged in again, with the database and the variables that they had had.
    #[serde(default)]
    pub logins_again: u64,
    /// Sessions that were ended to make room for another one.
    #[serde(default)]
    pub evicted: u64,
    /// Sessions whose connection was lost.
    #[serde(default)]
    pub lost: u64,
    /// Most statements in flight, captured, and most transactions under way, replayed.
    #[serde(default)]
    pub most_in_flight: (u32, u32),
    /// Share of the pages asked for that were in the buffer pool, captured and replayed, where known.
    #[serde(default)]
    pub hit_rate: (Option<f64>, Option<f64>),
    /// Deadlocks, captured (where known) and replayed, those that both have among them.
    #[serde(default)]
    pub deadlocks: (Option<u64>, u64),
    /// Of a paced replay.
    #[serde(default)]
    pub lateness: Option<Lateness>,
    /// Seconds under load.
    #[serde(default)]
    pub load_seconds: f64,
    /// It came to the end of a trace that writes, which is not begun again.
    #[serde(default)]
    pub ended: bool,
    /// Times that a trace that only reads was begun again.
    #[serde(default)]
    pub rounds: u64,
    /// Starts are known to the microsecond.
    pub exact_times: bool,
    /// Executions of prepared statements, which were replayed as text.
    pub executed_as_text: u64,
    /// The capture has one in this many statements.
    pub sampled: u64,
    /// Statements that may be those of triggers and stored functions, which execute them too.
    #[serde(default)]
    pub suspects: u64,
    /// What speaks against a verdict by it.
    pub shortcomings: Vec<Shortcoming>,
    /// What should be borne in mind.
    #[serde(default)]
    pub cautions: Vec<Caution>,
}

/// By how much a paced replay began its transactions behind their time, in microseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Whoever was to blame, the server above all: median, 95th and 99th percentile.
    pub behind_us: [f64; 3],
    /// Of this, what the load generator is to blame for.
    pub late_us: [f64; 3],
    /// Share of the transactions that the load generator began more than 10 ms late.
    pub late_share: f64,
}

/// What is called late of a paced replay.
const LATE: Duration = Duration::from_millis(10);

impl Lateness {
    fn of(tally: &Tally) -> Option<Lateness> {
        let quantiles = |spread: &Spread| {
            [0.5, 0.95, 0.99].map(|quantile| spread.quantile_us(quantile).unwrap_or(0.0))
        };
        (tally.late.count > 0).then(|| Lateness {
            behind_us: quantiles(&tally.behind),
            late_us: quantiles(&tally.late),
            late_share: tally.late.share_above(LATE),
        })
    }
}

impl Fidelity {
    /// Of what was replayed of a trace; `counted` is what the server counted meanwhile.
    pub fn of(trace: &Trace, tally: &Tally, counted: Option<&ServerCounts>) -> Fidelity {
        let facts = &trace.facts;
        let left_out = trace.left_out.of_traffic();
        let all_us = facts.captured_us + left_out.captured_us;
        let share = |part_us: u64| part_us as f64 / all_us.max(1) as f64;
        let found = tally.found.is_shown();
        let beside = |sum: (u64, u64), digest: &super::tally::DigestTally| {
            let rows = match found {
                true => digest.rows_found,
                false => digest.rows_beside,
            };
            (sum.0 + digest.captured_rows, sum.1 + rows)
        };
        let rows = tally.digests.iter().fold((0, 0), beside);
        let seconds = tally.load_nanoseconds as f64 / 1e9;
        let of_server = facts.counted.as_ref().and_then(|counted| counted.deadlocks);
        let captured_deadlocks = facts.captured_deadlocks.or(of_server);
        let span = facts.span_us.max(1) as f64 / 1e6;
        let mut fidelity = Fidelity {
            statements: facts.statements,
            left_out: trace
                .left_out
                .by_cause()
                .map(|(cause, amount)| {
                    let words = cause.text().to_owned();
                    let captured_us = match cause {
                        LeftOutCause::Logging => 0,
                        _ => amount.captured_us,
                    };
                    (words, amount.statements, share(captured_us))
                })
                .collect(),
            time_share: facts.has_durations.then(|| share(facts.captured_us)),
            replayed: tally.statements,
            errors: tally.errors.clone(),
            errors_as_captured: tally.errors_as_captured,
            errors_gone: tally.errors_gone,
            rows: (rows.0 > 0).then_some(rows),
            found_rows: tally.found.by_found * u64::from(found),
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
            logins_per_thousand: (
                per_thousand(trace.sessions.into(), facts.statements),
                per_thousand(tally.logins, tally.statements),
            ),
            logins_again: tally.logins_again,
            evicted: tally.evicted,
            lost: tally.lost,
            most_in_flight: (facts.max_in_flight, tally.max_in_flight),
            hit_rate: (
                facts.counted.as_ref().and_then(ServerCounts::hit_rate),
                counted.and_then(ServerCounts::hit_rate),
            ),
            deadlocks: (captured_deadlocks, tally.deadlocks),
            lateness: Lateness::of(tally),
            load_seconds: seconds,
            ended: facts.writes && tally.units + tally.left >= trace_units(trace),
            rounds: tally.rounds,
            exact_times: facts.exact_times,
            executed_as_text: facts.executed_as_text,
            sampled: facts.sampled,
            suspects: facts.suspects,
            shortcomings: Vec::new(),
            cautions: Vec::new(),
        };
        fidelity.shortcomings = shortcomings(&fidelity);
        fidelity.cautions = cautions(&fidelity);
        fidelity
    }

    /// As a share of the transactions that began, those that were given up among them.
    pub(super) fn of_transactions(&self, count: u64) -> f64 {
        count as f64 / (self.transactions + self.given_up).max(1) as f64
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
                "left out: {}, {:.1} % of the captured time: {cause}",
                counted(*statements, "statement"),
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
        if self.found_rows > 0 {
            facts.push(format!(
                "inferred from {}: the clients had rows counted that UPDATE found, not those that it changed (CLIENT_FOUND_ROWS); \
                 rows are compared so (`capture import --client-flags found_rows` says so beforehand)",
                counted(self.found_rows, "statement")
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
            "statements in flight on average: {:.1}, in the capture {captured}; at most {}, in the capture {}",
            self.in_flight.1, self.most_in_flight.1, self.most_in_flight.0
        ));
        facts.push(format!(
            "logins a second: {:.1}, in the capture {:.1}; for a thousand statements: {:.1}, in the capture {:.1}",
            self.logins.1, self.logins.0, self.logins_per_thousand.1, self.logins_per_thousand.0
        ));
        if self.evicted > 0 || self.lost > 0 {
            facts.push(format!(
                "{} made room for others, of {} the connection was lost; {} again, with the database and the variables that they \
                 had, without their temporary tables and locks",
                counted(self.evicted, "session"),
                self.lost,
                counted(self.logins_again, "login")
            ));
        }
        self.tell_of_the_server(&mut facts);
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

    /// Deadlocks, the buffer pool, lateness.
    fn tell_of_the_server(&self, facts: &mut Vec<String>) {
        let captured = self
            .deadlocks
            .0
            .map_or_else(|| "not known".to_owned(), |count| count.to_string());
        facts.push(format!(
            "deadlocks: {}, in the capture {captured}",
            self.deadlocks.1
        ));
        let percent = |share: Option<f64>| match share {
            Some(share) => format!("{:.2} %", share * 100.0),
            None => "not known".to_owned(),
        };
        let (captured, replayed) = self.hit_rate;
        if captured.or(replayed).is_some() {
            facts.push(format!(
                "pages found in the buffer pool: {}, in the capture {}",
                percent(replayed),
                percent(captured)
            ));
        }
        if self.rounds > 0 {
            facts.push(format!(
                "the capture was begun again {} times: what it reads is in memory as it may not be in production",
                self.rounds
            ));
        }
        if let Some(lateness) = &self.lateness {
            let ms = |us: [f64; 3]| us.map(|us| format!("{:.2}", us / 1000.0)).join(", ");
            facts.push(format!(
                "transactions began behind their time by {} ms (median, 95th, 99th percentile); of this the load generator's own lateness: {} ms",
                ms(lateness.behind_us),
                ms(lateness.late_us)
            ));
        }
    }

    /// Whether a verdict may rest on it.
    pub fn is_good(&self) -> bool {
        self.shortcomings.is_empty()
    }

    /// One line: whether it is good enough to decide by, and why not.
    pub fn verdict(&self) -> String {
        let cautions: Vec<String> = self.cautions.iter().map(ToString::to_string).collect();
        if self.is_good() && cautions.is_empty() {
            return "the replay is good enough to decide by".to_owned();
        }
        if self.is_good() {
            return format!(
                "the replay is good enough to decide by, but bear in mind: {}",
                cautions.join("; ")
            );
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
            shortcomings: Vec::new(),
            cautions: Vec::new(),
        }
    }

    fn judged(change: fn(&mut Fidelity)) -> Fidelity {
        let mut fidelity = good();
        change(&mut fidelity);
        fidelity.shortcomings = shortcomings(&fidelity);
        fidelity.cautions = cautions(&fidelity);
        fidelity
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
        let with = |change: fn(&mut Fidelity)| judged(change).verdict();
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
        assert_eq!(good.verdict(), "the replay is good enough to decide by");
    }

    #[test]
    fn what_should_be_borne_in_mind_is_no_reason_against_a_verdict() {
        for (fidelity, words) in [
            (judged(|one| one.hit_rate.1 = Some(0.97)), "97.0 %"),
            (judged(|one| one.in_flight.1 = 1.5), "less contention"),
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
            let verdict = fidelity.verdict();
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
}
