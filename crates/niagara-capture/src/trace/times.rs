//! Starts that the source knows to the second only, spread over that second.
//!
//! A capture has the earliest start that the order of its source allows: replayed at these times, all statements of a
//! second would come at its beginning. What is known: the order of the ends (slow log) or of the starts (general log), the
//! second, the durations, and that a session does one thing at a time. Within these bounds the statements of a second are
//! spread evenly.

use std::collections::HashMap;

const SECOND: i64 = 1_000_000;

/// What is known of a statement's time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known {
    /// In microseconds since 1970.
    pub start_us: i64,
    pub duration_us: i64,
    pub session: u64,
    pub exact: bool,
}

/// What the second of an inexact time is that of, and what the order of the events is that of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seconds {
    /// The order is that of starts, and so are the seconds.
    StartsByArrival,
    /// The order is that of ends, the seconds are those of starts.
    Starts,
    /// The order is that of ends, and so are the seconds.
    Ends,
}

/// The start of each, in microseconds since 1970. `known` is in the order of the source.
pub(super) fn spread(known: &[Known], seconds: Seconds) -> Vec<i64> {
    if known.iter().all(|one| one.exact) {
        return known.iter().map(|one| one.start_us).collect();
    }
    // What is placed: the moment that the order is about. `after` is how long after the start that is.
    let after = |one: &Known| match seconds {
        Seconds::StartsByArrival => 0,
        Seconds::Starts | Seconds::Ends => one.duration_us,
    };
    let bounds = |one: &Known| {
        if one.exact {
            let moment = one.start_us + after(one);
            return (moment, moment);
        }
        let first = match seconds {
            Seconds::Ends => floor(one.start_us + one.duration_us),
            _ => floor(one.start_us) + after(one),
        };
        (first, first + SECOND - 1)
    };
    let mut low: Vec<i64> = Vec::with_capacity(known.len());
    let mut last = i64::MIN;
    for one in known {
        last = last.max(bounds(one).0);
        low.push(last);
    }
    let mut high = vec![0; known.len()];
    let mut next = i64::MAX;
    for (place, one) in known.iter().enumerate().rev() {
        next = next.min(bounds(one).1).max(low[place]);
        high[place] = next;
    }
    let groups = groups(&low);
    let mut moment = i64::MIN;
    let mut free: HashMap<u64, i64> = HashMap::new();
    let mut starts = Vec::with_capacity(known.len());
    for (place, one) in known.iter().enumerate() {
        let (within, size) = groups[place];
        let room = high[place] - low[place];
        let share = (i128::from(room) * i128::from(2 * within + 1) / i128::from(2 * size)) as i64;
        moment = moment.max(low[place] + share);
        let earliest = free.get(&one.session).copied().unwrap_or(i64::MIN);
        let start = match one.exact {
            true => one.start_us,
            false => (moment - after(one)).max(earliest),
        };
        free.insert(one.session, start.saturating_add(one.duration_us));
        starts.push(start);
    }
    starts
}

fn floor(time: i64) -> i64 {
    time.div_euclid(SECOND) * SECOND
}

/// Of each its place among those of the same second, and how many these are.
fn groups(low: &[i64]) -> Vec<(i64, i64)> {
    let mut groups = Vec::with_capacity(low.len());
    for group in low.chunk_by(|a, b| floor(*a) == floor(*b)) {
        groups.extend((0..group.len() as i64).map(|place| (place, group.len() as i64)));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(second: i64, duration_us: i64, session: u64) -> Known {
        Known {
            start_us: second * SECOND,
            duration_us,
            session,
            exact: false,
        }
    }

    #[test]
    fn statements_of_a_second_are_spread_over_it() {
        let all: Vec<Known> = (0..10).map(|n| known(7, 1000, n)).collect();
        let starts = spread(&all, Seconds::Starts);
        assert!(starts.is_sorted());
        assert!(starts.iter().all(|&start| floor(start) == 7 * SECOND));
        let gaps: Vec<i64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            gaps.iter().all(|&gap| (90_000..110_000).contains(&gap)),
            "{gaps:?}"
        );
    }

    #[test]
    fn order_of_ends_durations_and_sessions_hold() {
        // A long statement ends among the short ones of a later second; session 1 does one thing at a time.
        let all = [
            known(10, 1000, 1),
            known(10, 400_000, 1),
            known(5, 5_500_000, 2),
            known(10, 1000, 1),
            known(11, 1000, 1),
        ];
        let starts = spread(&all, Seconds::Starts);
        let end = |place: usize| starts[place] + all[place].duration_us;
        for place in 1..all.len() {
            assert!(end(place) >= end(place - 1), "{starts:?}");
        }
        for (one, &start) in all.iter().zip(&starts) {
            assert_eq!(floor(start), floor(one.start_us), "{starts:?}");
        }
        assert!(starts[1] >= end(0) && starts[3] >= end(1));
    }

    #[test]
    fn exact_times_stay() {
        let mut all = [known(1, 10, 1), known(2, 10, 1)];
        for one in &mut all {
            one.exact = true;
            one.start_us += 123;
        }
        assert_eq!(spread(&all, Seconds::Starts), [1_000_123, 2_000_123]);
    }

    #[test]
    fn seconds_of_ends() {
        let all = [known(3, 2_500_000, 1), known(5, 1000, 2)];
        let starts = spread(&all, Seconds::Ends);
        assert_eq!(floor(starts[0] + 2_500_000), 5 * SECOND);
        assert_eq!(floor(starts[1] + 1000), 5 * SECOND);
    }
}
