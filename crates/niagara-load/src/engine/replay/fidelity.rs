//! Whether what was replayed is what was captured: said before any verdict rests on it.

use super::tally::{DigestTally, Spread, Tally};
use niagara_capture::fidelity::{Fidelity, Lateness, LeftOutShare};
use niagara_capture::file::ServerCounts;
use niagara_capture::trace::{LeftOutCause, Trace};
use std::time::Duration;

/// Units of a trace that send something.
fn trace_units(trace: &Trace) -> u64 {
    trace.units.iter().filter(|unit| unit.steps > 0).count() as u64
}

fn per_thousand(count: u64, of: u64) -> f64 {
    count as f64 * 1000.0 / of.max(1) as f64
}

/// Digits of a digest that tell it from others of a capture.
const SHOWN_DIGITS: usize = 8;

/// What is called late of a paced replay.
const LATE: Duration = Duration::from_millis(10);

fn lateness(tally: &Tally) -> Option<Lateness> {
    let quantiles = |spread: &Spread| {
        [0.5, 0.95, 0.99].map(|quantile| spread.quantile_us(quantile).unwrap_or(0.0))
    };
    (tally.late.count > 0).then(|| Lateness {
        behind_us: quantiles(&tally.behind),
        late_us: quantiles(&tally.late),
        late_share: tally.late.share_above(LATE),
    })
}

/// What was replayed of a trace beside what was captured; `counted` is what the server counted meanwhile.
pub fn fidelity(trace: &Trace, tally: &Tally, counted: Option<&ServerCounts>) -> Fidelity {
    let facts = &trace.facts;
    let left_out = trace.left_out.of_traffic();
    let all_us = facts.captured_us + left_out.captured_us;
    let share = |part_us: u64| part_us as f64 / all_us.max(1) as f64;
    let found = tally.found.is_shown();
    let beside = |sum: (u64, u64), digest: &DigestTally| {
        let rows = match found {
            true => digest.rows_found,
            false => digest.rows_beside,
        };
        (sum.0 + digest.captured_rows, sum.1 + rows)
    };
    let rows = tally.digests.iter().fold((0, 0), beside);
    let differ = tally.digests.iter().zip(&trace.digests);
    let differ = differ.map(|(tally, of)| {
        let (captured, replayed) = beside((0, 0), tally);
        (captured.abs_diff(replayed), of.digest)
    });
    let differs_most = differ.max_by_key(|(rows, _)| *rows);
    let seconds = tally.load_nanoseconds as f64 / 1e9;
    let of_server = facts.counted.as_ref().and_then(|counted| counted.deadlocks);
    let captured_deadlocks = facts.captured_deadlocks.or(of_server);
    let span = facts.span_us.max(1) as f64 / 1e6;
    Fidelity {
        statements: facts.statements,
        left_out: trace
            .left_out
            .by_cause()
            .map(|(code, amount)| LeftOutShare {
                code,
                statements: amount.statements,
                share: match code {
                    LeftOutCause::Logging => 0.0,
                    _ => share(amount.captured_us),
                },
            })
            .collect(),
        time_share: facts.has_durations.then(|| share(facts.captured_us)),
        replayed: tally.statements,
        errors: tally.errors.clone(),
        errors_as_captured: tally.errors_as_captured,
        errors_gone: tally.errors_gone,
        rows: (rows.0 > 0).then_some(rows),
        rows_differ: differs_most
            .filter(|(rows, _)| *rows > 0)
            .map(|(_, digest)| digest.to_string().chars().take(SHOWN_DIGITS).collect()),
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
        lateness: lateness(tally),
        load_seconds: seconds,
        ended: facts.writes && tally.units + tally.left >= trace_units(trace),
        rounds: tally.rounds,
        exact_times: facts.exact_times,
        executed_as_text: facts.executed_as_text,
        sampled: facts.sampled,
        suspects: facts.suspects,
        not_captured: facts.lost,
        shortcomings: Vec::new(),
        cautions: Vec::new(),
    }
    .judged()
}
