//! Statements in flight over time.

use schemars::JsonSchema;
use serde::Serialize;

use crate::file::Event;

/// Intervals at most.
const INTERVALS: i64 = 60;

/// Most sessions that are told apart in an interval.
const MAX_SESSIONS: u64 = 1 << 24;

/// Statements in flight over time.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Concurrency {
    /// The length of an interval, in seconds.
    pub interval_seconds: f64,
    /// Mean number in flight over the whole capture; none where durations are not known.
    pub mean: Option<f64>,
    /// The same, of the interval where it is highest; the last one counts only if it is whole.
    pub highest: Option<f64>,
    /// The intervals, in their order.
    pub intervals: Vec<Interval>,
}

/// An interval.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Interval {
    /// Its beginning, in microseconds since 1970.
    pub start_us: i64,
    /// Statements that began in it.
    pub statements: u64,
    /// Sessions that began a statement in it.
    pub sessions: u64,
    /// Mean number of statements in flight; none where durations are not known.
    pub in_flight: Option<f64>,
}

#[derive(Debug, Clone, Default)]
struct Bucket {
    statements: u64,
    sessions: u64,
    busy_us: u64,
}

/// Collects them.
#[derive(Debug)]
pub(super) struct Timeline {
    first: i64,
    span: i64,
    width: i64,
    buckets: Vec<Bucket>,
    /// For each session, the interval it was counted in last, plus one.
    counted: Vec<u32>,
}

impl Timeline {
    /// Of a capture from `first` to `last`, in microseconds since 1970.
    pub fn new(first: i64, last: i64) -> Timeline {
        let span = last.saturating_sub(first).max(1);
        // Whole seconds, as many as make at most this many intervals.
        let seconds = (span / INTERVALS / 1_000_000 + 1).max(1);
        let width = seconds * 1_000_000;
        let count = span / width + 1;
        Timeline {
            first,
            span,
            width,
            buckets: vec![Bucket::default(); count as usize],
            counted: Vec::new(),
        }
    }

    /// A statement.
    pub fn see(&mut self, event: &Event<'_>) {
        let start = event
            .place
            .start_us
            .saturating_sub(self.first)
            .clamp(0, self.span);
        let end = event
            .end_us()
            .saturating_sub(self.first)
            .clamp(start, self.span);
        let at = (start / self.width) as usize;
        self.buckets[at].statements += 1;
        self.count_session(event.place.session, at);
        let mut from = start;
        let mut bucket = at;
        while from < end {
            let to = end.min((bucket as i64 + 1).saturating_mul(self.width));
            let busy = &mut self.buckets[bucket].busy_us;
            *busy = busy.saturating_add((to - from) as u64);
            from = to;
            bucket += 1;
        }
    }

    fn count_session(&mut self, session: u64, at: usize) {
        if session >= MAX_SESSIONS {
            return;
        }
        let number = session as usize;
        if self.counted.len() <= number {
            self.counted.resize(number + 1, 0);
        }
        let mark = at as u32 + 1;
        if self.counted[number] != mark {
            self.counted[number] = mark;
            self.buckets[at].sessions += 1;
        }
    }

    /// What was seen.
    pub fn result(self, has_durations: bool) -> Concurrency {
        let (width, span, first) = (self.width, self.span, self.first);
        let busy = self.buckets.iter().map(|bucket| bucket.busy_us);
        let busy = busy.fold(0, u64::saturating_add);
        let intervals: Vec<Interval> = self
            .buckets
            .into_iter()
            .enumerate()
            .map(|(at, bucket)| {
                let start = at as i64 * width;
                // The last one is as long as the capture continues in it.
                let length = width.min(span - start).max(1);
                Interval {
                    start_us: first + start,
                    statements: bucket.statements,
                    sessions: bucket.sessions,
                    in_flight: has_durations.then(|| bucket.busy_us as f64 / length as f64),
                }
            })
            .collect();
        let whole = (span / width).max(1) as usize;
        let highest = intervals
            .iter()
            .take(whole)
            .filter_map(|interval| interval.in_flight)
            .reduce(f64::max);
        Concurrency {
            interval_seconds: width as f64 / 1e6,
            mean: has_durations.then(|| busy as f64 / span as f64),
            highest,
            intervals,
        }
    }
}
