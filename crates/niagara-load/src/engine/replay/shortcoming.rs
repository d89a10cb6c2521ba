//! What speaks against a verdict by a replay, and what a reader should bear in mind.

use super::fidelity::Fidelity;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Share of the captured time that must be replayed for a verdict.
const MIN_TIME: f64 = 0.9;
/// Share of statements that may fail although they did not in the capture.
const MAX_ERRORS: f64 = 0.01;
/// How far the rows may differ from the capture's, as a share of these.
const MAX_ROWS: f64 = 0.05;
/// Share of transactions that may be given up.
const MAX_GIVEN_UP: f64 = 0.01;
/// Share of units that may begin out of order.
const MAX_OUT_OF_ORDER: f64 = 0.01;
/// How far the share of pages found in the buffer pool may be from the capture's: for a verdict, and without a word.
const MAX_HIT_RATE: [f64; 2] = [0.05, 0.01];
/// Share of a paced replay's transactions that the load generator may begin late.
const MAX_LATE: f64 = 0.01;
/// How many times fewer, or in a paced replay more, statements may be in flight than in the capture without a word.
const IN_FLIGHT: f64 = 2.0;
/// Share of transactions that may meet deadlocks without a word, where the capture has hardly any.
const MAX_DEADLOCKS: f64 = 0.01;
/// Share of transactions before which their sessions may log in again without a word.
const MAX_AGAIN: f64 = 0.01;
/// Load on a server from its start to the trace's end, in seconds, below which starts differ more than statements.
const SHORT: f64 = 10.0;

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
    /// Too many transactions were given up: this share.
    GivenUp(f64),
    /// Too many transactions began out of order: this share.
    OutOfOrder(f64),
    /// The capture has one in this many statements only.
    Sampled(u64),
    /// Pages are found in the buffer pool by other shares: captured, replayed.
    HitRate(f64, f64),
    /// The load generator began too many transactions of a paced replay late: this share.
    Late(f64),
}

/// Something to bear in mind of a replay that is good enough otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caution {
    /// Pages are found in the buffer pool by somewhat other shares: captured, replayed.
    HitRate(f64, f64),
    /// Far fewer statements are in flight than in the capture, on average: captured, replayed.
    LessAtATime(f64, f64),
    /// Far more are, at the captured pace: the server is behind.
    MoreAtATime(f64, f64),
    /// Deadlocks that the capture hardly has: captured (0 where that is not known), replayed.
    Deadlocks(u64, u64),
    /// So many sessions were ended or lost and logged in again: what cannot be set again was gone.
    Again(u64),
    /// All that there is to replay takes so few seconds.
    Short(f64),
    /// So many statements may be those of triggers and stored functions, which execute them too.
    Twice(u64),
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
                "the statements have {:.1} % of the captured rows: the data are not those of the capture's beginning, or the clients had \
                 negotiated something that the capture does not say (`capture import --client-flags`, `--charset`)",
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
            Shortcoming::HitRate(captured, replayed) => write!(
                f,
                "{:.1} % of the pages were in the buffer pool, in the capture {:.1} %: give it the memory that it has in production",
                percent(replayed),
                percent(captured)
            ),
            Shortcoming::Late(share) => write!(
                f,
                "the load generator began {:.1} % of the transactions more than 10 ms late: it had too little of the machine",
                percent(share)
            ),
        }
    }
}

impl fmt::Display for Caution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caution::HitRate(captured, replayed) => write!(
                f,
                "{:.1} % of the pages were in the buffer pool, in the capture {:.1} %",
                replayed * 100.0,
                captured * 100.0
            ),
            Caution::LessAtATime(captured, replayed) => write!(
                f,
                "{replayed:.1} statements were in flight on average, in the capture {captured:.1}: there is less contention than \
                 there was"
            ),
            Caution::MoreAtATime(captured, replayed) => write!(
                f,
                "{replayed:.1} statements were in flight on average, in the capture {captured:.1}: the server cannot keep this pace"
            ),
            Caution::Deadlocks(captured, replayed) => write!(
                f,
                "{replayed} deadlocks, in the capture {captured}: transactions meet that did not"
            ),
            Caution::Again(logins) => write!(
                f,
                "{logins} times a session of the capture logged in again, without its temporary tables and locks"
            ),
            Caution::Twice(statements) => write!(
                f,
                "{statements} statements may be those of triggers or stored functions, and are executed twice then (`capture import \
                 --routines DUMP` tells)"
            ),
            Caution::Short(seconds) => write!(
                f,
                "the whole of it takes {seconds:.1} s: how servers differ from start to start weighs as much as the statements; a \
                 longer capture decides better"
            ),
        }
    }
}

/// What speaks against a verdict.
pub(super) fn shortcomings(of: &Fidelity) -> Vec<Shortcoming> {
    if of.replayed == 0 {
        return vec![Shortcoming::Nothing];
    }
    let mut found = Vec::new();
    let mut unless = |good: bool, shortcoming: Shortcoming| {
        if !good {
            found.push(shortcoming);
        }
    };
    if let Some(share) = of.time_share {
        unless(share >= MIN_TIME, Shortcoming::Time(share));
    }
    let failed = of.errors.values().sum::<u64>().saturating_sub(of.retries);
    let errors = (failed + of.errors_gone) as f64 / of.replayed as f64;
    unless(errors <= MAX_ERRORS, Shortcoming::Errors(errors));
    if let Some((captured, replayed)) = of.rows {
        let share = replayed as f64 / captured as f64;
        unless((share - 1.0).abs() <= MAX_ROWS, Shortcoming::Rows(share));
    }
    let given_up = of.of_transactions(of.given_up);
    unless(given_up <= MAX_GIVEN_UP, Shortcoming::GivenUp(given_up));
    let out = of.of_transactions(of.out_of_order);
    unless(out <= MAX_OUT_OF_ORDER, Shortcoming::OutOfOrder(out));
    unless(of.sampled <= 1, Shortcoming::Sampled(of.sampled));
    if let (Some(captured), Some(replayed)) = of.hit_rate {
        let off = (captured - replayed).abs();
        unless(
            off <= MAX_HIT_RATE[0],
            Shortcoming::HitRate(captured, replayed),
        );
    }
    if let Some(late) = &of.lateness {
        unless(
            late.late_share <= MAX_LATE,
            Shortcoming::Late(late.late_share),
        );
    }
    found
}

/// What should be borne in mind.
pub(super) fn cautions(of: &Fidelity) -> Vec<Caution> {
    let mut found = Vec::new();
    if let (Some(captured), Some(replayed)) = of.hit_rate {
        let off = (captured - replayed).abs();
        if off > MAX_HIT_RATE[1] && off <= MAX_HIT_RATE[0] {
            found.push(Caution::HitRate(captured, replayed));
        }
    }
    if let (Some(captured), replayed) = of.in_flight {
        // Of one session at a time nothing can be said.
        if captured >= IN_FLIGHT && replayed * IN_FLIGHT < captured {
            found.push(Caution::LessAtATime(captured, replayed));
        }
        if of.lateness.is_some() && replayed >= IN_FLIGHT && replayed > captured * IN_FLIGHT {
            found.push(Caution::MoreAtATime(captured, replayed));
        }
    }
    let (captured, replayed) = of.deadlocks;
    let few = captured.unwrap_or(0);
    if of.of_transactions(replayed) > MAX_DEADLOCKS && replayed > 10 * few {
        found.push(Caution::Deadlocks(few, replayed));
    }
    if of.of_transactions(of.logins_again) > MAX_AGAIN {
        found.push(Caution::Again(of.logins_again));
    }
    if of.suspects > 0 {
        found.push(Caution::Twice(of.suspects));
    }
    if of.ended && of.load_seconds < SHORT {
        found.push(Caution::Short(of.load_seconds));
    }
    found
}
