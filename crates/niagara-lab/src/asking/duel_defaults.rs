//! How long slices are and how many of them a duel has, where nobody said so.

use std::time::Duration;

use niagara_model::Goal;

use crate::plans::spec::{DuelSettings, Load, Protocol};

/// Couples of a duel that nobody gave a number for. Of short slices there can be many in a duel, and they are what averages
/// the machine's wandering out (docs/methodology.md); of long ones, as many as make a duel of a minute.
#[derive(Debug, Clone, Copy)]
pub struct DefaultCouples {
    short: u32,
    long: u32,
}

impl DefaultCouples {
    /// A duel that judges one question.
    pub const JUDGING: Self = Self {
        short: 40,
        long: 20,
    };
    /// A duel that judges the total or a rung of a tuning: more duels have to fit beside the screening.
    pub(crate) const LADDER: Self = Self {
        short: 30,
        long: 12,
    };
    /// A duel of the screening: what counts is how many duels there are.
    pub(crate) const SCREENING: Self = Self { short: 10, long: 4 };

    /// The number for slices of this length.
    pub fn of(self, slice_seconds: f64) -> u32 {
        if slice_seconds <= SHORT_SLICE_SECONDS {
            self.short
        } else {
            self.long
        }
    }
}

/// Up to here slices are short, in the sense of [`DefaultCouples`].
const SHORT_SLICE_SECONDS: f64 = 0.25;

/// A read-only transaction of sysbench takes about 1.2 ms of two CPUs; so much of a slice for each connection lets it
/// do two of them.
const MS_A_THREAD: Duration = Duration::from_millis(3);

/// What people may say of slices and warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DuelOptions {
    /// Counted time of a slice, where given.
    pub slice: Option<Duration>,
    /// Couples in a duel, where given.
    pub couples: Option<u32>,
    /// Share of the CPUs taken by others, 0 to 1, at which a couple weighs half.
    pub disturbance: f64,
    /// Longest warm-up of a side.
    pub warm_up: Duration,
}

/// The lengths that the options and the defaults of the protocol give.
pub fn duel_settings(
    options: &DuelOptions,
    load: &Load,
    protocol: Protocol,
    goal: Goal,
) -> DuelSettings {
    let writes = load.workload.writes();
    // Room for some transactions of each connection: on few CPUs a connection waits for the turn of all others.
    let some_transactions = MS_A_THREAD * load.threads;
    let slice = options.slice.unwrap_or(match protocol {
        // Background flushing needs its share of a slice, so writers get longer ones; and so does a percentile, which is
        // made of the few slowest.
        Protocol::Duel if writes || goal.is_latency() => {
            some_transactions.max(Duration::from_secs(1))
        }
        // The machine's speed wanders: the sooner the other side's turn, the more alike what both get of it.
        Protocol::Duel => some_transactions.max(Duration::from_millis(100)),
        Protocol::Solo if writes => Duration::from_secs(2),
        Protocol::Solo => Duration::from_secs(1),
        Protocol::Pair => Duration::from_secs(5),
        Protocol::Trimmed => Duration::from_secs(10),
    });
    let slice_seconds = slice.as_secs_f64();
    DuelSettings {
        couples: options.couples.unwrap_or(match protocol {
            Protocol::Duel => DefaultCouples::JUDGING.of(slice_seconds),
            Protocol::Pair | Protocol::Trimmed => 6,
            Protocol::Solo => 5,
        }),
        slice_seconds,
        ramp_seconds: match protocol {
            // All of a duel's slice counts, from the first statement to the last answer.
            Protocol::Duel => 0.0,
            _ => (slice_seconds / 10.0).min(0.25),
        },
        warm_up_seconds: options.warm_up.as_secs_f64(),
        disturbance: options.disturbance,
    }
}
