//! The English of a replay's fidelity, in one place.

use std::fmt::{Display, Formatter, Result};

use super::{Caution, Fidelity, ReplayVerdict, Shortcoming};

impl Display for ReplayVerdict {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            ReplayVerdict::Good { cautions } => {
                f.write_str("the replay is good enough to decide by")?;
                match cautions.is_empty() {
                    true => Ok(()),
                    false => write!(f, ", but bear in mind: {}", joined(cautions)),
                }
            }
            ReplayVerdict::Poor { shortcomings } => write!(
                f,
                "the replay is not good enough to decide by: {}",
                joined(shortcomings)
            ),
        }
    }
}

fn joined(parts: &[impl Display]) -> String {
    let told: Vec<String> = parts.iter().map(ToString::to_string).collect();
    told.join("; ")
}

/// `1 statement`, `2 statements`.
fn counted(count: u64, one: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {one}s"),
    }
}

impl Fidelity {
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
        for left in &self.left_out {
            facts.push(format!(
                "left out: {}, {:.1} % of the captured time: {}",
                counted(left.statements, "statement"),
                left.share * 100.0,
                left.code.text()
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
}

impl Display for Shortcoming {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let percent = |share: &f64| share * 100.0;
        match self {
            Shortcoming::Nothing => f.write_str("nothing was replayed"),
            Shortcoming::Time { share } => write!(
                f,
                "only {:.0} % of the captured time can be replayed",
                percent(share)
            ),
            Shortcoming::NotCaptured { share } => write!(
                f,
                "the capture lacks {:.0} % of the statements of its source (`capture import` says why)",
                percent(share)
            ),
            Shortcoming::Errors { share } => write!(
                f,
                "{:.1} % of the statements failed that had not in the capture",
                percent(share)
            ),
            Shortcoming::Rows { share, digest } => write!(
                f,
                "the statements have {:.1} % of the captured rows{}: the data are not those of the capture's beginning, or the clients had \
                 negotiated something that the capture does not say (`capture import --client-flags`, `--charset`)",
                percent(share),
                digest.as_ref().map_or_else(String::new, |digest| format!(
                    ", most of the difference is of statement {digest}"
                ))
            ),
            Shortcoming::GivenUp { share } => write!(
                f,
                "{:.1} % of the transactions did not come to their end",
                percent(share)
            ),
            Shortcoming::OutOfOrder { share } => write!(
                f,
                "{:.1} % of the transactions began out of the captured order",
                percent(share)
            ),
            Shortcoming::Sampled { one_in } => {
                write!(f, "the capture has only one in {one_in} statements")
            }
            Shortcoming::HitRate { captured, replayed } => write!(
                f,
                "{:.1} % of the pages were in the buffer pool, in the capture {:.1} %: give it the memory that it has in production",
                percent(replayed),
                percent(captured)
            ),
            Shortcoming::Late { share } => write!(
                f,
                "the load generator began {:.1} % of the transactions more than 10 ms late: it had too little of the machine",
                percent(share)
            ),
            Shortcoming::DiffersFromItself {
                ratio, low, high, ..
            } => write!(
                f,
                "A against itself on the capture is × {ratio:.3} [{low:.3}, {high:.3}], though both are the same"
            ),
        }
    }
}

impl Display for Caution {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Caution::HitRate { captured, replayed } => write!(
                f,
                "{:.1} % of the pages were in the buffer pool, in the capture {:.1} %",
                replayed * 100.0,
                captured * 100.0
            ),
            Caution::LessAtATime { captured, replayed } => write!(
                f,
                "{replayed:.1} statements were in flight on average, in the capture {captured:.1}: there is less contention than \
                 there was"
            ),
            Caution::MoreAtATime { captured, replayed } => write!(
                f,
                "{replayed:.1} statements were in flight on average, in the capture {captured:.1}: the server cannot keep this pace"
            ),
            Caution::Busier { captured, replayed } => write!(
                f,
                "its load is {:.0} times the captured ({replayed:.1} statements in flight on average, {captured:.2} in the capture): it \
                 proves what CPU a statement takes, not latency in production",
                replayed / captured.max(1e-3)
            ),
            Caution::Deadlocks { captured, replayed } => write!(
                f,
                "{replayed} deadlocks, in the capture {captured}: transactions meet that did not"
            ),
            Caution::Again { logins } => write!(
                f,
                "{logins} times a session of the capture logged in again, without its temporary tables and locks"
            ),
            Caution::Twice { statements } => write!(
                f,
                "{statements} statements may be those of triggers or stored functions, and are executed twice then (`capture import \
                 --routines DUMP` tells)"
            ),
            Caution::Short { seconds } => write!(
                f,
                "the whole of it takes {seconds:.1} s: how servers differ from start to start weighs as much as the statements; a \
                 longer capture decides better"
            ),
        }
    }
}
