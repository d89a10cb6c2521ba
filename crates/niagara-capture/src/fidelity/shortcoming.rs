//! What speaks against a verdict by a replay, and what a reader should bear in mind.

use super::Fidelity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Shortcoming {
    /// Nothing was replayed.
    Nothing,
    /// Too little of the captured time can be replayed.
    Time {
        /// The share that can.
        share: f64,
    },
    /// The capture lacks too many statements of its source.
    NotCaptured {
        /// Their share.
        share: f64,
    },
    /// Too many statements failed that had not in the capture.
    Errors {
        /// Their share.
        share: f64,
    },
    /// The rows differ too much.
    Rows {
        /// Replayed as a share of the captured.
        share: f64,
        /// The digest whose rows differ most.
        digest: Option<String>,
    },
    /// Too many transactions were given up.
    GivenUp {
        /// Their share.
        share: f64,
    },
    /// Too many transactions began out of order.
    OutOfOrder {
        /// Their share.
        share: f64,
    },
    /// The capture has some statements only.
    Sampled {
        /// One in this many.
        one_in: u64,
    },
    /// Other shares of the pages are found in the buffer pool.
    HitRate {
        /// In the capture.
        captured: f64,
        /// In the replay.
        replayed: f64,
    },
    /// The load generator began too many transactions of a paced replay late.
    Late {
        /// Their share.
        share: f64,
    },
    /// A server differs from itself on the capture: something else than the server moves the figures.
    DiffersFromItself {
        /// Duels.
        duels: u64,
        /// One over the other.
        ratio: f64,
        /// Lower end of the interval.
        low: f64,
        /// Upper end.
        high: f64,
    },
}

/// Something to bear in mind of a replay that is good enough otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Caution {
    /// Somewhat other shares of the pages are found in the buffer pool.
    HitRate {
        /// In the capture.
        captured: f64,
        /// In the replay.
        replayed: f64,
    },
    /// Far fewer statements are in flight than in the capture, on average.
    LessAtATime {
        /// In the capture.
        captured: f64,
        /// In the replay.
        replayed: f64,
    },
    /// Far more are, at the captured pace: the server is behind.
    MoreAtATime {
        /// In the capture.
        captured: f64,
        /// In the replay.
        replayed: f64,
    },
    /// A replay that keeps no pace has far more of them in flight.
    Busier {
        /// In the capture.
        captured: f64,
        /// In the replay.
        replayed: f64,
    },
    /// Deadlocks that the capture hardly has.
    Deadlocks {
        /// In the capture; 0 where that is not known.
        captured: u64,
        /// In the replay.
        replayed: u64,
    },
    /// Sessions were ended or lost and logged in again: what cannot be set again was gone.
    Again {
        /// How often.
        logins: u64,
    },
    /// All that there is to replay takes so little time.
    Short {
        /// Seconds.
        seconds: f64,
    },
    /// Statements may be those of triggers and stored functions, which execute them too.
    Twice {
        /// How many.
        statements: u64,
    },
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
        unless(share >= MIN_TIME, Shortcoming::Time { share });
    }
    let source = (of.statements + of.not_captured).max(1);
    let share = of.not_captured as f64 / source as f64;
    unless(share <= 1.0 - MIN_TIME, Shortcoming::NotCaptured { share });
    let failed = of.errors.values().sum::<u64>().saturating_sub(of.retries);
    let errors = (failed + of.errors_gone) as f64 / of.replayed as f64;
    unless(errors <= MAX_ERRORS, Shortcoming::Errors { share: errors });
    if let Some((captured, replayed)) = of.rows {
        let share = replayed as f64 / captured as f64;
        let digest = of.rows_differ.clone();
        unless(
            (share - 1.0).abs() <= MAX_ROWS,
            Shortcoming::Rows { share, digest },
        );
    }
    let given_up = of.of_transactions(of.given_up);
    unless(
        given_up <= MAX_GIVEN_UP,
        Shortcoming::GivenUp { share: given_up },
    );
    let out = of.of_transactions(of.out_of_order);
    unless(
        out <= MAX_OUT_OF_ORDER,
        Shortcoming::OutOfOrder { share: out },
    );
    unless(of.sampled <= 1, Shortcoming::Sampled { one_in: of.sampled });
    if let (Some(captured), Some(replayed)) = of.hit_rate {
        let off = (captured - replayed).abs();
        unless(
            off <= MAX_HIT_RATE[0],
            Shortcoming::HitRate { captured, replayed },
        );
    }
    if let Some(late) = &of.lateness {
        unless(
            late.late_share <= MAX_LATE,
            Shortcoming::Late {
                share: late.late_share,
            },
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
            found.push(Caution::HitRate { captured, replayed });
        }
    }
    if let (Some(captured), replayed) = of.in_flight {
        // Of one session at a time nothing can be said.
        if captured >= IN_FLIGHT && replayed * IN_FLIGHT < captured {
            found.push(Caution::LessAtATime { captured, replayed });
        }
        if of.lateness.is_some() && replayed >= IN_FLIGHT && replayed > captured * IN_FLIGHT {
            found.push(Caution::MoreAtATime { captured, replayed });
        }
        if of.lateness.is_none() && replayed > captured * IN_FLIGHT {
            found.push(Caution::Busier { captured, replayed });
        }
    }
    let (captured, replayed) = of.deadlocks;
    let few = captured.unwrap_or(0);
    if of.of_transactions(replayed) > MAX_DEADLOCKS && replayed > 10 * few {
        found.push(Caution::Deadlocks {
            captured: few,
            replayed,
        });
    }
    if of.of_transactions(of.logins_again) > MAX_AGAIN {
        found.push(Caution::Again {
            logins: of.logins_again,
        });
    }
    if of.suspects > 0 {
        found.push(Caution::Twice {
            statements: of.suspects,
        });
    }
    if of.ended && of.load_seconds < SHORT {
        found.push(Caution::Short {
            seconds: of.load_seconds,
        });
    }
    found
}
