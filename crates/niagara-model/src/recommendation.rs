//! What a tuning advises, and what it leaves out: codes and fields. Their English is in `words.rs`.

use niagara_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Comparison, Goal, Phase, Screened};

/// What to do after a tuning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Recommendation {
    /// Change how the application connects; install nothing.
    UseSocket(Benefit),
    /// Install changes of the server.
    Install {
        /// Their titles, best first, without the socket.
        changes: Vec<String>,
        /// Whether the application uses the Unix socket as well.
        with_socket: bool,
        /// What is left where the application uses the Unix socket already.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        over_socket: Option<OverSocket>,
        /// What that brings and costs.
        #[serde(flatten)]
        benefit: Benefit,
    },
    /// Change nothing.
    Nothing {
        /// Why.
        because: Obstacle,
        /// Where it was measured.
        setting: Setup,
    },
}

/// The gain where both the start and the final variant use the Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OverSocket {
    /// Fresh duels of its own; none where the figures are the total's divided by the socket's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duels: Option<usize>,
    /// What was judged; above 1 is better.
    pub gain: Estimate,
    /// Median latency, after over before; none where either has no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50: Option<Estimate>,
    /// 99th percentile of latency, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<Estimate>,
    /// The server's CPU time per transaction, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Estimate>,
}

/// The subject of the duels in which both sides of a tuning use the Unix socket.
pub const OVER_SOCKET: &str = "over the socket on both sides";

/// Slices from this length on, seconds, have the tail of latency that steady load has; within shorter ones another was measured, of a thread
/// pool above all (docs/results/tune-mariadb-10.11-read-only.md, in slices of a second).
pub const STEADY_SLICE_SECONDS: f64 = 1.0;

/// Where a recommendation holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Setup {
    /// The server.
    pub server: String,
    /// The load in one line.
    pub workload: String,
    /// Connections.
    pub threads: u32,
    /// Whether the application runs on another host.
    pub remote_application: bool,
    /// Whether the start uses the Unix socket.
    pub on_socket: bool,
    /// Whether the load is a benchmark that is built in, on tables of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub benchmark: bool,
    /// Seconds for which the load stayed with one server in the total's duels; percentiles of latency are those within them. None where that differs, as
    /// with segments of a capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_seconds: Option<f64>,
    /// Seconds of a slice of all other duels, where those are shorter: of the screening, and of single levers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lever_slice_seconds: Option<f64>,
}

impl Setup {
    /// Whether slices were too short for the tail of latency that steady load has.
    pub fn has_short_slices(&self) -> bool {
        (self.slice_seconds).is_some_and(|seconds| seconds < STEADY_SLICE_SECONDS)
    }
}

/// What a recommendation brings and costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Benefit {
    /// Where that was measured.
    pub setting: Setup,
    /// The figure that decides.
    pub goal: Goal,
    /// The gain by it, from fresh duels.
    pub effect: Estimate,
    /// Those duels.
    pub duels: usize,
    /// 99th percentile of latency, after over before.
    pub p99: Option<Estimate>,
    /// What became of the other promising levers.
    pub others: Others,
}

/// What became of promising levers that are not recommended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Others {
    /// There were none, or all are recommended.
    None,
    /// Fresh duels did not show that they help.
    NotShown {
        /// Levers.
        levers: usize,
    },
    /// The time ended before fresh duels decided on all of them.
    Undecided {
        /// Levers that are undecided.
        levers: usize,
        /// What fresh duels show of all of them together, where they do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        together: Option<Estimate>,
    },
}

/// Why nothing is recommended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Obstacle {
    /// The screening found no lever that may help.
    NothingPromising,
    /// The positive control was not seen: the machine is too noisy, or the time too short.
    TooNoisy,
    /// Fresh duels showed no lever to help.
    NotShown {
        /// The best figure that is known.
        effect: Option<Estimate>,
    },
    /// The time ended before any lever was proven by its own duels.
    TimeEnded {
        /// All promising levers together, where that was measured.
        together: Option<Estimate>,
    },
    /// What is faster makes the tail of latency worse.
    Tail {
        /// The gain.
        effect: Estimate,
        /// The percentile, after over before.
        tail: Estimate,
        /// Which percentile.
        percentile: Goal,
    },
    /// What is faster failed a check, or gives other answers.
    Unsound,
}

/// The duels that a figure rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DuelsOf {
    /// What they were run for.
    pub phase: Phase,
    /// The question among those of the phase.
    pub subject: String,
}

/// A promising lever that did not earn its place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedLever {
    /// Its screening result.
    pub screened: Screened,
    /// Its own fresh duels, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Box<Comparison>>,
    /// Why it is not recommended.
    pub because: DropReason,
}

/// Why a promising lever is not recommended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum DropReason {
    /// Its own fresh duels did not show that it helps.
    NotShown,
    /// A group that it is in was not shown to help.
    NotShownTogether {
        /// The gain of the group.
        effect: Estimate,
        /// Levers in the group.
        levers: usize,
    },
    /// It makes the tail of latency worse.
    Tail {
        /// Which percentile.
        percentile: Goal,
        /// The percentile with it over the percentile without it.
        ratio: Estimate,
    },
    /// The time ended before its own duels.
    TimeEnded,
    /// A group that it is in was shown to help, and the time ended before its own duels.
    TimeEndedInGroup {
        /// The gain of the group.
        effect: Estimate,
        /// Levers in the group.
        levers: usize,
        /// Duels of the group.
        duels: usize,
    },
    /// It gives other answers, or fails.
    Unsound,
}

impl Recommendation {
    /// What it holds for.
    pub fn setting(&self) -> &Setup {
        match self {
            Self::UseSocket(benefit) | Self::Install { benefit, .. } => &benefit.setting,
            Self::Nothing { setting, .. } => setting,
        }
    }
}

impl DropReason {
    /// Whether more time would decide it.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Self::TimeEnded | Self::TimeEndedInGroup { .. })
    }
}

/// A variant that was measured against the start and is not recommended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    /// Titles of its levers, best first.
    pub levers: Vec<String>,
    /// The start against it.
    pub comparison: Box<Comparison>,
    /// Why it is not recommended.
    pub because: AlternativeReason,
}

/// Why a variant is not recommended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AlternativeReason {
    /// It makes the tail of latency worse.
    Tail,
    /// It has levers that fresh duels did not show to help.
    UnprovenLevers,
    /// Both: unproven levers, and a worse tail of latency.
    UnprovenLeversAndTail,
}

/// How much worse a tail of latency may become.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum TailGuard {
    /// Neither the 95th nor the 99th percentile may be worse than this share, beyond its interval.
    Both {
        /// A fraction.
        allowed: f64,
    },
    /// One percentile is guarded.
    One {
        /// `P95` or `P99`.
        percentile: Goal,
        /// A fraction.
        allowed: f64,
    },
    /// Tails decide nothing.
    Off,
}

impl Default for TailGuard {
    fn default() -> Self {
        Self::Both { allowed: 0.0 }
    }
}

impl TailGuard {
    /// The percentile of `comparison` that is worse than allowed, beyond its interval. What is tuned for is judged by itself.
    pub fn broken_by(&self, comparison: &Comparison) -> Option<(Goal, Estimate)> {
        let is_guarded = |percentile: Goal| match self {
            Self::Both { allowed } => Some(*allowed),
            Self::One {
                percentile: one,
                allowed,
            } => (*one == percentile).then_some(*allowed),
            Self::Off => None,
        };
        let tails = [
            (Goal::P99, comparison.latency_p99),
            (Goal::P95, comparison.latency_p95),
        ];
        let mut tails = tails
            .into_iter()
            .filter(|(percentile, _)| *percentile != comparison.goal);
        tails.find_map(|(percentile, ratio)| {
            let (ratio, allowed) = (ratio?, is_guarded(percentile)?);
            niagara_stats::is_worse(&ratio, allowed).then_some((percentile, ratio))
        })
    }
}

impl std::str::FromStr for TailGuard {
    type Err = String;

    /// `none`, `p99=5%`, `p95=2%`, `p99`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "{text:?} is no guard; write none, p99, or p99=5% for a tail that may be 5 % worse"
            )
        };
        if text == "none" {
            return Ok(Self::Off);
        }
        let (name, share) = text.split_once('=').unwrap_or((text, "0%"));
        let percentile = match name {
            "p95" => Goal::P95,
            "p99" => Goal::P99,
            _ => return Err(wrong()),
        };
        let share = share.strip_suffix('%').unwrap_or(share).trim();
        let percent: f64 = share.parse().map_err(|_| wrong())?;
        if !(0.0..=1000.0).contains(&percent) {
            return Err(wrong());
        }
        Ok(Self::One {
            percentile,
            allowed: percent / 100.0,
        })
    }
}

/// How a study came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Conclusion {
    /// The time was used up.
    TimeUsed,
    /// Nothing more could be decided, so that it ended before its time.
    NothingLeftToDecide,
    /// Something was left to decide, and the time left was too short for it.
    TooLittleForAnother,
}

/// What to try after a tuning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum NextStep {
    /// Statements come before the server: an advice says what they need.
    Advise {
        /// Indexes that counting has chosen.
        indexes: usize,
    },
    /// More time decides on promising levers.
    MoreTime {
        /// Titles of levers that are undecided.
        levers: Vec<String>,
        /// Identifiers of all that the next tuning is to try: those that are kept, and these.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ids: Vec<String>,
    },
    /// A lever that was not tried helped elsewhere.
    TryLever {
        /// Its title.
        title: String,
        /// The option that tries it.
        option: String,
        /// What it brought elsewhere, as a ratio.
        elsewhere: f64,
    },
    /// No lever that was left out is known to bring enough.
    NothingKnown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guards_are_read() {
        assert_eq!("none".parse(), Ok(TailGuard::Off));
        let guard: Result<TailGuard, _> = "p99=5%".parse();
        let expected = TailGuard::One {
            percentile: Goal::P99,
            allowed: 0.05,
        };
        assert_eq!(guard, Ok(expected));
        for wrong in ["p50=5%", "p99=much", "p99=-3%", "", "p99=NaN"] {
            let error = wrong.parse::<TailGuard>().expect_err(wrong);
            assert!(error.contains("p99=5%"), "{error}");
        }
    }
}
