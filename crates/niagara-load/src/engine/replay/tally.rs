//! What a replay did, by digest, in memory whose size does not depend on how long it takes.

use niagara_capture::trace::{NONE, Step, Trace};
use std::collections::BTreeMap;
use std::time::Duration;

/// The server's number of a deadlock.
const DEADLOCK: u16 = 1213;
/// Parts of an octave that latencies are told apart by: to 9 %.
const PARTS: u32 = 8;
/// Octaves from a microsecond on: up to an hour.
const OCTAVES: u32 = 32;
const BUCKETS: usize = (PARTS * OCTAVES) as usize;

/// How durations are spread, in a few hundred buckets.
#[derive(Debug, Clone)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// How many took how long, in microseconds: eight buckets for every doubling.
    buckets: [u32; BUCKETS],
}

impl Default for Spread {
    fn default() -> Self {
        Spread {
            count: 0,
            buckets: [0; BUCKETS],
        }
    }
}

impl Spread {
    #[inline]
    pub(crate) fn add(&mut self, duration: Duration) {
        self.count += 1;
        let place = bucket(duration);
        self.buckets[place] = self.buckets[place].saturating_add(1);
    }

    /// A quantile, 0 to 1, in microseconds, to 9 %; none of nothing.
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        let all: u64 = self.buckets.iter().map(|&count| u64::from(count)).sum();
        let wanted = (quantile.clamp(0.0, 1.0) * all as f64).ceil().max(1.0) as u64;
        let mut sum = 0;
        let place = self.buckets.iter().position(|&count| {
            sum += u64::from(count);
            sum >= wanted
        });
        place.filter(|_| all > 0).map(middle)
    }

    /// Share that was longer than `duration`, to a bucket; 0 of nothing.
    pub fn share_above(&self, duration: Duration) -> f64 {
        let above = &self.buckets[bucket(duration) + 1..];
        let above: u64 = above.iter().map(|&count| u64::from(count)).sum();
        above as f64 / self.count.max(1) as f64
    }
}

/// What statements of one digest did.
#[derive(Debug, Clone, Default)]
pub struct DigestTally {
    /// Executions, failed ones among them.
    pub count: u64,
    /// Of these, those that failed.
    pub errors: u64,
    /// Rows that came or were changed.
    pub rows: u64,
    /// Their time, in nanoseconds.
    pub nanoseconds: u64,
    /// Rows of the capture, of those executions of which they are known.
    pub captured_rows: u64,
    /// Rows of the replay, of the same.
    pub rows_beside: u64,
    /// As `rows_beside`, had its clients had the rows counted that were found ([`Found`]).
    pub rows_found: u64,
    /// A row that is there already counts once where clients have found rows counted: INSERT … ON DUPLICATE KEY UPDATE.
    updates_duplicates: bool,
    /// How many took how long.
    latencies: Spread,
}

/// Rows of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    /// That came or were changed.
    pub rows: u64,
    /// That were found by an UPDATE, where it says so.
    pub found: Option<u64>,
}

/// How many statements show whether their clients had the rows counted that were found (CLIENT_FOUND_ROWS), by what the capture has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Found {
    /// The capture has the rows that were found, which are not those that were changed.
    pub by_found: u64,
    /// It has those that were changed.
    pub by_changed: u64,
}

impl Found {
    /// Whether clients had found rows counted, for all that statements show.
    pub fn is_shown(self) -> bool {
        self.by_found > OUTWEIGHS * self.by_changed
    }
}

/// How many statements that show the contrary one outweighs: rows may differ for other reasons.
const OUTWEIGHS: u64 = 20;

fn bucket(latency: Duration) -> usize {
    let microseconds = u64::try_from(latency.as_micros())
        .unwrap_or(u64::MAX)
        .max(1);
    let octave = microseconds.ilog2();
    // The three bits below the highest one.
    let part = match octave {
        0..3 => (microseconds << (3 - octave)) & 7,
        _ => (microseconds >> (octave - 3)) & 7,
    };
    ((octave.min(OCTAVES - 1) * PARTS) as usize + part as usize).min(BUCKETS - 1)
}

/// The middle of a bucket, in microseconds.
fn middle(bucket: usize) -> f64 {
    let (octave, part) = (bucket as u32 / PARTS, bucket as u32 % PARTS);
    2_f64.powi(octave as i32) * (1.0 + (f64::from(part) + 0.5) / f64::from(PARTS))
}

impl DigestTally {
    #[inline]
    fn add(&mut self, latency: Duration, rows: Rows, failed: bool, step: &Step) -> Found {
        let Rows { rows, found } = rows;
        self.count += 1;
        self.errors += u64::from(failed);
        self.rows += rows;
        self.nanoseconds += latency.as_nanos() as u64;
        self.latencies.add(latency);
        if step.rows == NONE {
            return Found::default();
        }
        let captured = u64::from(step.rows);
        let found = match found {
            Some(found) => found,
            None if self.updates_duplicates && rows == 0 && !failed => 1,
            None => rows,
        };
        self.captured_rows += captured;
        self.rows_beside += rows;
        self.rows_found += found;
        Found {
            by_found: u64::from(found != rows && captured == found),
            by_changed: u64::from(found != rows && captured == rows),
        }
    }

    /// A quantile of the latency, 0 to 1, in microseconds, to 9 %; none without an execution.
    pub fn quantile_us(&self, quantile: f64) -> Option<f64> {
        self.latencies.quantile_us(quantile)
    }
}

/// What a replay did on one server.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// By the place of the digest in the trace.
    pub digests: Vec<DigestTally>,
    /// Statements answered.
    pub statements: u64,
    /// Their time in the capture, in microseconds.
    pub captured_us: u64,
    /// Their time in the replay, in nanoseconds.
    pub nanoseconds: u64,
    /// Units that came to their end.
    pub units: u64,
    /// Units that did not come to it: their conflicts did not end, or their connection was lost.
    pub left: u64,
    /// Sessions that logged in.
    pub logins: u64,
    /// Of these, those that had been there before.
    pub logins_again: u64,
    /// Sessions that were ended to make room for another one.
    pub evicted: u64,
    /// Sessions whose connection was lost.
    pub lost: u64,
    /// Time that somebody was under load, in nanoseconds.
    pub load_nanoseconds: u64,
    /// Most units under way at a time.
    pub max_in_flight: u32,
    /// Errors that the capture does not have, by the server's number.
    pub errors: BTreeMap<u16, u64>,
    /// Statements that failed as they had in the capture.
    pub errors_as_captured: u64,
    /// Statements that failed in the capture and did not here.
    pub errors_gone: u64,
    /// Whether rows were counted that were found, by statements of clients that have not said so.
    pub found: Found,
    /// Statements that met a deadlock, whether or not they had in the capture.
    pub deadlocks: u64,
    /// Transactions begun again after a conflict with another.
    pub retries: u64,
    /// As `left`, those without a statement among them.
    pub given_up: u64,
    /// Units that began although something they wait for was not over: nothing else was running.
    pub out_of_order: u64,
    /// Times that the trace was begun again.
    pub rounds: u64,
    /// Of a paced replay: by how much units began behind their time, whoever was to blame.
    pub behind: Spread,
    /// Of this, what the load generator is to blame for: the session was free and the order allowed it.
    pub late: Spread,
}

impl Tally {
    pub(crate) fn new(trace: &Trace) -> Self {
        Tally {
            digests: trace
                .digests
                .iter()
                .map(|digest| DigestTally {
                    updates_duplicates: digest.text.contains(" on duplicate key update "),
                    ..DigestTally::default()
                })
                .collect(),
            ..Tally::default()
        }
    }

    /// A statement was answered; `error`: by an error of this number.
    #[inline]
    pub(crate) fn answered(
        &mut self,
        step: &Step,
        latency: Duration,
        rows: Rows,
        error: Option<u16>,
    ) {
        let Some(digest) = self.digests.get_mut(step.digest as usize) else {
            return;
        };
        let found = digest.add(latency, rows, error.is_some(), step);
        self.found.by_found += found.by_found;
        self.found.by_changed += found.by_changed;
        self.statements += 1;
        self.nanoseconds += latency.as_nanos() as u64;
        if step.duration_us != NONE {
            self.captured_us += u64::from(step.duration_us);
        }
        self.deadlocks += u64::from(error == Some(DEADLOCK));
        match error {
            Some(code) if u32::from(code) == step.error => self.errors_as_captured += 1,
            Some(code) => *self.errors.entry(code).or_default() += 1,
            None if step.error != 0 && step.error != NONE => self.errors_gone += 1,
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadlock_is_one_whether_or_not_the_capture_has_it() {
        let mut tally = Tally {
            digests: vec![DigestTally::default()],
            ..Tally::default()
        };
        for captured in [u32::from(DEADLOCK), 0, NONE] {
            let step = Step {
                text: 0,
                digest: 0,
                error: captured,
                rows: NONE,
                duration_us: NONE,
                start_us: 0,
                action: niagara_capture::trace::Action::Query,
            };
            let rows = Rows {
                rows: 0,
                found: None,
            };
            tally.answered(&step, Duration::ZERO, rows, Some(DEADLOCK));
            tally.answered(&step, Duration::ZERO, rows, Some(1205));
        }
        assert_eq!(tally.deadlocks, 3);
        assert_eq!((tally.errors_as_captured, tally.errors[&DEADLOCK]), (1, 2));
    }

    #[test]
    fn found_rows_are_shown_by_what_the_capture_has() {
        let mut digest = DigestTally::default();
        let mut step = Step {
            text: 0,
            digest: 0,
            error: NONE,
            rows: 2,
            duration_us: NONE,
            start_us: 0,
            action: niagara_capture::trace::Action::Query,
        };
        let rows = |rows, found| Rows { rows, found };
        let found = digest.add(Duration::ZERO, rows(0, Some(2)), false, &step);
        assert_eq!((found.by_found, found.by_changed), (1, 0));
        assert!(found.is_shown());
        step.rows = 0;
        let found = digest.add(Duration::ZERO, rows(0, Some(2)), false, &step);
        assert_eq!((found.by_found, found.by_changed), (0, 1));
        assert!(!found.is_shown() && !Found::default().is_shown());
        digest.updates_duplicates = true;
        step.rows = 1;
        let found = digest.add(Duration::ZERO, rows(0, None), false, &step);
        assert_eq!((found.by_found, found.by_changed), (1, 0));
        assert_eq!(
            (digest.captured_rows, digest.rows_beside, digest.rows_found),
            (3, 0, 5)
        );
    }

    #[test]
    fn latencies_fall_into_buckets_of_nine_per_cent() {
        let mut last = 0;
        for microseconds in 1..200_000_u64 {
            let place = bucket(Duration::from_micros(microseconds));
            assert!(place >= last, "{microseconds}");
            last = place;
            if microseconds >= 8 {
                let error = middle(place) / microseconds as f64;
                assert!((0.93..1.07).contains(&error), "{microseconds}: {error}");
            }
        }
        let mut spread = Spread::default();
        assert_eq!(
            (spread.quantile_us(0.5), spread.share_above(Duration::ZERO)),
            (None, 0.0)
        );
        for milliseconds in 1..=100 {
            spread.add(Duration::from_millis(milliseconds));
        }
        let median = spread.quantile_us(0.5).unwrap();
        assert!((46_000.0..54_000.0).contains(&median), "{median}");
        let above = spread.share_above(Duration::from_millis(90));
        assert!((0.0..=0.15).contains(&above), "{above}");
        assert_eq!(bucket(Duration::ZERO), 0);
        assert_eq!(bucket(Duration::MAX), BUCKETS - 1);
    }
}
