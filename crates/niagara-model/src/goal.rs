//! What is tuned for, chosen before anything is measured.

use niagara_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::DuelRecord;

/// The figure by which variants are screened, claimed and recommended; the others stand beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Transactions per second, every connection asking again as soon as it has its answer.
    #[default]
    Throughput,
    /// Server CPU time per transaction: what a bill by CPU counts. Blind to waiting.
    Cpu,
    /// 95th percentile of transaction latency at a fixed rate of arrivals, counted from when each was due.
    P95,
    /// 99th percentile, likewise.
    P99,
}

impl Goal {
    /// Every goal, in the order of `--help`.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::Cpu, Self::P95, Self::P99];

    /// As on the command line and in study files: `throughput`, `cpu`, `p95`, `p99`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::Cpu => "cpu",
            Self::P95 => "p95",
            Self::P99 => "p99",
        }
    }

    /// For headings: `Server CPU per transaction`.
    pub fn title(self) -> &'static str {
        match self {
            Self::Throughput => "Throughput",
            Self::Cpu => "Server CPU per transaction",
            Self::P95 => "95th percentile of latency",
            Self::P99 => "99th percentile of latency",
        }
    }

    /// Whether it is a latency, which is measured at a fixed rate.
    pub fn is_latency(self) -> bool {
        matches!(self, Self::P95 | Self::P99)
    }

    /// How much better B is by this figure in one duel: a difference of logarithms, positive where B is better.
    pub fn gain(self, duel: &DuelRecord) -> Option<f64> {
        match self {
            Self::Throughput => duel.score,
            Self::Cpu => duel.cpu_score.map(|score| -score),
            Self::P95 => duel.latency_scores.map(|scores| -scores[1]),
            Self::P99 => duel.p99_score.map(|score| -score),
        }
    }

    /// The figure itself, B over A, from the gain: for throughput the same, for what is better when lower its inverse.
    pub fn figure(self, gain: &Estimate) -> Estimate {
        if self == Self::Throughput {
            return *gain;
        }
        Estimate {
            ratio: 1.0 / gain.ratio,
            low: 1.0 / gain.high,
            high: if gain.low > 0.0 {
                1.0 / gain.low
            } else {
                f64::INFINITY
            },
        }
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Goal {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|goal| goal.name() == text)
            .ok_or_else(|| {
                let names = Self::ALL.map(Self::name).join(", ");
                format!("there is no goal {text:?}; there are {names}")
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_cpu_is_a_gain() {
        let gain = Estimate {
            ratio: 1.25,
            low: 1.0,
            high: 1.6,
        };
        let figure = Goal::Cpu.figure(&gain);
        assert_eq!((figure.ratio, figure.low, figure.high), (0.8, 0.625, 1.0));
        assert_eq!(Goal::Throughput.figure(&gain), gain);
        let open = Estimate { low: 0.0, ..gain };
        assert!(Goal::P99.figure(&open).high.is_infinite());
    }

    #[test]
    fn names_are_read_back() {
        for goal in Goal::ALL {
            assert_eq!(goal.name().parse(), Ok(goal));
        }
        assert!("p90".parse::<Goal>().expect_err("unknown").contains("p95"));
    }
}
