//! A trace cut into pieces: the same piece for both sides is what two servers are compared on.

use std::collections::HashMap;
use std::ops::Range;

use super::types::{Facts, NONE, Step, Trace, Unit};

/// A piece of a trace: whole units, one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The places of its units.
    pub units: Range<u32>,
    /// Statements in it.
    pub statements: u64,
    /// The work it is thought to be, in microseconds of all sessions together.
    pub work_us: u64,
    /// One unit that takes longer than a segment should.
    pub is_long: bool,
    /// Most statements in flight in this stretch of the capture, those of earlier pieces that still ran among them: the
    /// replay has no more.
    pub in_flight: u32,
}

/// What a statement costs beside its captured time: the way to the server and back.
const OVERHEAD_US: u64 = 20;
/// What a statement is thought to take where durations are not known.
const UNKNOWN_US: u64 = 200;

/// The work of a unit: the captured time of its statements, in microseconds.
fn work(trace: &Trace, unit: &Unit) -> u64 {
    let of = |step: &Step| match step.duration_us {
        NONE => UNKNOWN_US,
        duration => u64::from(duration) + OVERHEAD_US,
    };
    trace.steps[unit.range()].iter().map(of).sum::<u64>() + OVERHEAD_US
}

impl Trace {
    /// Cuts the trace into pieces of about `seconds` each at the capture's own concurrency, and into at least `fewest`
    /// of them where it has as many units; a unit that is longer than that has a piece of its own.
    pub fn segments(&self, seconds: f64, fewest: usize) -> Vec<Segment> {
        let works: Vec<u64> = self.units.iter().map(|unit| work(self, unit)).collect();
        let total: u64 = works.iter().sum();
        let wanted = (seconds.max(0.0) * 1e6 * mean_in_flight(&self.facts)) as u64;
        let target = wanted.min(total / fewest.max(1) as u64).max(1);
        let mut segments = Vec::new();
        let (mut first, mut sum) = (0, 0);
        for (place, &work) in works.iter().enumerate() {
            let place = place as u32;
            if work > target && place > first {
                segments.push(self.segment(first..place, sum));
                (first, sum) = (place, 0);
            }
            sum += work;
            if sum >= target {
                let mut segment = self.segment(first..place + 1, sum);
                segment.is_long = work > target && place == first;
                segments.push(segment);
                (first, sum) = (place + 1, 0);
            }
        }
        if (first as usize) < works.len() {
            let rest = self.segment(first..works.len() as u32, sum);
            segments.push(rest);
        }
        if self.facts.has_durations {
            self.count_in_flight(&mut segments);
        }
        segments
    }

    fn segment(&self, units: Range<u32>, work_us: u64) -> Segment {
        let of = &self.units[units.start as usize..units.end as usize];
        let steps = of.iter().flat_map(|unit| &self.steps[unit.range()]);
        Segment {
            units,
            statements: steps.filter(|step| step.digest != NONE).count() as u64,
            work_us,
            is_long: false,
            in_flight: self.facts.max_in_flight.max(1),
        }
    }

    /// Counts what was in flight in each piece by the captured times. What an earlier piece began and was not over counts
    /// too: it still runs in a replay from piece to piece, and would leave less room than there was.
    fn count_in_flight(&self, segments: &mut [Segment]) {
        let mut steps: Vec<(u32, &Step)> = Vec::new();
        for segment in segments {
            let units = &self.units[segment.units.start as usize..segment.units.end as usize];
            let begins = units.first().map_or(0, |unit| unit.start_us);
            steps.retain(|(_, step)| end_us(step).is_some_and(|end| end > begins));
            let earlier = steps.len();
            steps.extend(self.steps_of(units));
            let ends = steps[earlier..]
                .iter()
                .filter_map(|(_, step)| end_us(step))
                .max();
            let ends = ends.unwrap_or(begins);
            let here = steps
                .iter()
                .copied()
                .filter(|(_, step)| step.start_us < ends);
            segment.in_flight = in_flight(here).max(1);
        }
    }

    /// The steps of units, each with its session, in the order of each session.
    pub(super) fn steps_of<'t>(
        &'t self,
        units: &'t [Unit],
    ) -> impl Iterator<Item = (u32, &'t Step)> {
        units.iter().flat_map(|unit| {
            let steps = &self.steps[unit.range()];
            steps.iter().map(|step| (unit.session, step))
        })
    }
}

/// Statements in flight on average, at least one.
fn mean_in_flight(facts: &Facts) -> f64 {
    (facts.captured_us as f64 / facts.span_us.max(1) as f64).max(1.0)
}

/// Most statements in flight at a time, of steps with their sessions in the order of each session.
///
/// A session does one thing at a time: a statement is over at the latest when its session begins the next one, also where
/// the clock stood still or was set back.
pub(super) fn in_flight<'s>(steps: impl Iterator<Item = (u32, &'s Step)>) -> u32 {
    let mut changes: Vec<(u64, i8)> = Vec::new();
    let mut last_end: HashMap<u32, usize> = HashMap::new();
    for (session, step) in steps {
        let Some(end) = end_us(step) else { continue };
        if let Some(&place) = last_end.get(&session) {
            let (last, _) = &mut changes[place];
            *last = step.start_us.min(*last);
        }
        changes.push((step.start_us, 1));
        last_end.insert(session, changes.len());
        changes.push((end, -1));
    }
    most(&mut changes)
}

/// When a statement was answered, in microseconds of the trace; none of what is not a statement, and where it is not known.
fn end_us(step: &Step) -> Option<u64> {
    let known = step.digest != NONE && step.duration_us != NONE;
    known.then(|| step.start_us + u64::from(step.duration_us).max(1))
}

/// The most that are there at a time, of comings (1) and goings (-1); who goes is gone before who comes at the same time.
pub(super) fn most(changes: &mut [(u64, i8)]) -> u32 {
    changes.sort_unstable();
    let (mut now, mut most) = (0_i64, 0_i64);
    for &(_, change) in changes.iter() {
        now += i64::from(change);
        most = most.max(now);
    }
    most as u32
}
