//! When transactions start.
//!
//! In an *open* loop transactions arrive by themselves, as a Poisson process whose rate follows a schedule, and take
//! any free connection; one that finds none waits. Its latency counts from its arrival, so a server that stalls
//! shows all of the waiting it causes. An arrival is a number drawn from a seeded generator, not an entry in a queue:
//! those that wait are the ones between two cursors on the same sequence, whatever their number.

use crate::workload::Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::Exp1;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// More than any server does; bounds mistakes.
const HIGHEST_RATE: f64 = 1e8;

/// When transactions start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// Every connection begins its next transaction when the last one ends.
    Closed,
    /// Transactions arrive at the schedule's rate, whatever the server does.
    Open(Schedule),
}

/// A part of a [`Schedule`]: the rate goes in a straight line from `from` to `to`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// Transactions per second at its beginning.
    pub from: f64,
    /// Transactions per second at its end.
    pub to: f64,
    /// Its length.
    pub seconds: f64,
}

/// Rates over time, in transactions per second over all connections. Time 0 is the beginning of counted time; in the
/// warm-up the first rate holds, after the last phase the last one.
///
/// As text: phases with commas between them, each `RATE@SECONDS` (a step) or `FROM-TO@SECONDS` (a ramp); a single
/// phase may leave its seconds out. `800`, `500@30,1000@30,2000@30`, `100-5000@120`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schedule {
    phases: Vec<Phase>,
}

impl Schedule {
    /// One rate all the time.
    pub fn constant(rate: f64) -> Self {
        Schedule {
            phases: vec![Phase {
                from: rate,
                to: rate,
                seconds: 1.0,
            }],
        }
    }

    /// Any phases, one after the other.
    pub fn new(phases: Vec<Phase>) -> Self {
        Schedule { phases }
    }

    /// `count` steps of `seconds` each, from rate `first` to rate `last` at equal distances: for finding the knee.
    pub fn steps(first: f64, last: f64, count: u32, seconds: f64) -> Self {
        let distance = (last - first) / f64::from(count.max(2) - 1);
        let phases = (0..count).map(|step| {
            let rate = first + distance * f64::from(step);
            Phase {
                from: rate,
                to: rate,
                seconds,
            }
        });
        Schedule {
            phases: phases.collect(),
        }
    }

    /// Its phases.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// The length of all phases together, in seconds.
    pub fn seconds(&self) -> f64 {
        self.phases.iter().map(|phase| phase.seconds).sum()
    }

    /// The rate `seconds` after counted time began.
    pub fn rate_at(&self, seconds: f64) -> f64 {
        let mut begin = 0.0;
        for phase in &self.phases {
            if seconds < begin + phase.seconds {
                let share = ((seconds - begin) / phase.seconds).max(0.0);
                return phase.from + (phase.to - phase.from) * share;
            }
            begin += phase.seconds;
        }
        self.phases.last().map_or(0.0, |phase| phase.to)
    }

    /// Refuses what cannot be followed, naming the phase.
    pub fn validate(&self) -> Result<(), String> {
        if self.phases.is_empty() {
            return Err("a schedule must have a phase".into());
        }
        for (number, phase) in (1..).zip(&self.phases) {
            let rates = [phase.from, phase.to];
            if !rates.iter().all(|rate| (0.0..=HIGHEST_RATE).contains(rate)) {
                return Err(format!(
                    "phase {number} of the schedule: a rate must be from 0 to {HIGHEST_RATE} per second"
                ));
            }
            if !(phase.seconds > 0.0 && phase.seconds <= 1e9) {
                return Err(format!(
                    "phase {number} of the schedule: {} seconds; must be more than 0",
                    phase.seconds
                ));
            }
        }
        if self.phases.iter().all(|phase| phase.from + phase.to == 0.0) {
            return Err("the schedule's rates are all 0: nothing would ever start".into());
        }
        Ok(())
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, phase) in self.phases.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            write!(f, "{}", phase.from)?;
            if phase.to != phase.from {
                write!(f, "-{}", phase.to)?;
            }
            write!(f, "@{}", phase.seconds)?;
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |word: &str| {
            word.trim().parse::<f64>().map_err(|_| {
                format!(
                    "'{word}' in schedule '{text}' is not a number: write RATE, RATE@SECONDS or FROM-TO@SECONDS, \
                     with commas between phases"
                )
            })
        };
        let mut phases = Vec::new();
        for part in text.split(',') {
            let (rates, seconds) = match part.split_once('@') {
                Some((rates, seconds)) => (rates, number(seconds)?),
                None if !text.contains(',') && !part.contains('-') => (part, 1.0),
                None => {
                    return Err(format!(
                        "phase '{part}' says no seconds: write RATE@SECONDS"
                    ));
                }
            };
            let (from, to) = match rates.split_once('-') {
                Some((from, to)) => (number(from)?, number(to)?),
                None => (number(rates)?, number(rates)?),
            };
            phases.push(Phase { from, to, seconds });
        }
        let schedule = Schedule { phases };
        schedule.validate()?;
        Ok(schedule)
    }
}

/// A cursor on the sequence of arrivals; clones go through the same sequence.
#[derive(Debug, Clone)]
pub(crate) struct Arrivals {
    phases: Vec<Phase>,
    rng: Rng,
    index: usize,
    /// When the phase at hand began, in seconds since the load was kicked off.
    begin: f64,
    /// Seconds into the phase at hand.
    within: f64,
    /// The arrival that comes next; `None` when no more come.
    next: Option<Duration>,
}

impl Arrivals {
    /// For a schedule that was validated.
    pub(crate) fn new(schedule: &Schedule, warm_up: Duration, seed: u64) -> Self {
        let first = schedule.phases.first().map_or(0.0, |phase| phase.from);
        let mut phases = vec![Phase {
            from: first,
            to: first,
            seconds: warm_up.as_secs_f64(),
        }];
        phases.extend(&schedule.phases);
        let mut arrivals = Arrivals {
            phases,
            rng: Rng::seed_from_u64(seed),
            index: 0,
            begin: 0.0,
            within: 0.0,
            next: None,
        };
        arrivals.next = arrivals.draw();
        arrivals
    }

    /// Takes the next arrival: how long after the kick it comes.
    pub(crate) fn take(&mut self) -> Option<Duration> {
        let next = self.next?;
        self.next = self.draw();
        Some(next)
    }

    /// Goes past all arrivals until `time` after the kick and says how many they were.
    pub(crate) fn pass(&mut self, time: Duration) -> u64 {
        let mut passed = 0;
        while self.next.is_some_and(|next| next <= time) {
            self.next = self.draw();
            passed += 1;
        }
        passed
    }

    /// The time at which the integral of the rate has grown by an exponentially distributed amount.
    fn draw(&mut self) -> Option<Duration> {
        let mut amount: f64 = self.rng.sample(Exp1);
        while let Some(phase) = self.phases.get(self.index) {
            let slope = if phase.seconds > 0.0 {
                (phase.to - phase.from) / phase.seconds
            } else {
                0.0
            };
            let rate = phase.from + slope * self.within;
            let left = phase.seconds - self.within;
            let whole = rate * left + slope * left * left / 2.0;
            if amount < whole {
                // rate·x + slope·x²/2 = amount, solved without cancellation
                self.within +=
                    2.0 * amount / (rate + (rate * rate + 2.0 * slope * amount).max(0.0).sqrt());
                return self.time();
            }
            amount -= whole;
            self.begin += phase.seconds;
            self.within = 0.0;
            self.index += 1;
        }
        let last = self.phases.last().map_or(0.0, |phase| phase.to);
        if last <= 0.0 {
            return None;
        }
        self.within += amount / last;
        self.time()
    }

    fn time(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.begin + self.within).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(arrivals: &mut Arrivals, until: f64) -> f64 {
        arrivals.pass(Duration::from_secs_f64(until)) as f64
    }

    #[test]
    fn text_round_trips() {
        for text in ["800@1", "500@30,1000@30", "100-5000@120", "0-10@1.5,10@3"] {
            assert_eq!(text.parse::<Schedule>().unwrap().to_string(), text);
        }
        assert_eq!("800".parse::<Schedule>(), Ok(Schedule::constant(800.0)));
        for wrong in [
            "", "x", "-5", "5@", "5@0", "5@-1", "1,2", "1-2", "0", "0@5", "nan@1", "1e9@1", "inf",
            "5@inf", "1-@2",
        ] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn rates_over_time() {
        let schedule: Schedule = "100@10,100-300@20".parse().unwrap();
        assert_eq!(schedule.seconds(), 30.0);
        for (seconds, rate) in [(0.0, 100.0), (9.9, 100.0), (20.0, 200.0), (31.0, 300.0)] {
            assert!((schedule.rate_at(seconds) - rate).abs() < 1e-9, "{seconds}");
        }
        let steps = Schedule::steps(100.0, 500.0, 5, 2.0);
        let rates: Vec<f64> = steps.phases().iter().map(|phase| phase.from).collect();
        assert_eq!(rates, [100.0, 200.0, 300.0, 400.0, 500.0]);
        assert_eq!(Schedule::steps(7.0, 9.0, 1, 1.0).phases().len(), 1);
    }

    /// Counts of a Poisson process: the mean is the integral of the rate, the variance is the mean.
    #[test]
    fn arrivals_are_a_poisson_process_of_the_schedules_rate() {
        let schedule: Schedule = "1000@2,0@1,500-1500@4,3000-1000@2".parse().unwrap();
        let warm_up = Duration::from_secs(1);
        // (until, expected arrivals since the line before), the warm-up at the first rate
        let expected = [
            (1.0, 1000.0),
            (3.0, 2000.0),
            (4.0, 0.0),
            (6.0, 1500.0),
            (8.0, 2500.0),
            (10.0, 4000.0),
            (11.0, 1000.0),
        ];
        let repetitions = 400;
        let mut sums = [0.0; 7];
        let mut squares = [0.0; 7];
        for seed in 0..repetitions {
            let mut arrivals = Arrivals::new(&schedule, warm_up, seed);
            for (index, (until, _)) in expected.iter().enumerate() {
                let seen = count(&mut arrivals, *until);
                sums[index] += seen;
                squares[index] += seen * seen;
            }
        }
        for (index, (until, mean)) in expected.into_iter().enumerate() {
            let n = repetitions as f64;
            let seen = sums[index] / n;
            let variance = squares[index] / n - seen * seen;
            // five standard errors of the mean and of the variance of a Poisson count
            assert!(
                (seen - mean).abs() <= 5.0 * (mean / n).sqrt(),
                "{until}: {seen}"
            );
            let error = 5.0 * (2.0 * mean * mean / n + mean / n).sqrt();
            assert!((variance - mean).abs() <= error, "{until}: {variance}");
        }
    }

    #[test]
    fn cursors_go_through_the_same_arrivals_in_order() {
        let schedule: Schedule = "50-5000@1".parse().unwrap();
        let mut one = Arrivals::new(&schedule, Duration::ZERO, 7);
        let mut other = one.clone();
        let mut last = Duration::ZERO;
        for number in 1..=10_000 {
            let time = one.take().unwrap();
            assert!(time >= last);
            last = time;
            if number % 1000 == 0 {
                assert_eq!(other.pass(time), 1000);
            }
        }
        let mut ends = Arrivals::new(&"100-0@1".parse().unwrap(), Duration::ZERO, 7);
        while let Some(time) = ends.take() {
            assert!(time <= Duration::from_secs(1));
        }
    }
}
