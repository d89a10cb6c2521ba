//! What a screening says of levers.

use niagara_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// One lever's effect as screened by the fold-over duels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Screened {
    /// Lever identifier, as in `levers/`.
    pub lever: String,
    /// Title for people.
    pub title: String,
    /// What it changes, one line: `innodb_flush_neighbors = 0`.
    pub change: String,
    /// Throughput with the lever over throughput without it; 95 % interval of the least-squares fit.
    pub effect: Estimate,
    /// Standard error of the log effect.
    #[serde(deserialize_with = "number_or_null")]
    #[schemars(with = "Option<f64>")]
    pub std_err: f64,
    /// The effect that these duels and measurements elsewhere together make one expect, with its 95 % interval; levers are picked by it.
    /// None where nothing was measured elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Estimate>,
    /// Duels that speak of this lever.
    pub duels: u32,
    /// What the same duels say of the tail of latency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail: Option<TailEffect>,
}

/// A lever's effect on the tail of latency, with the lever over without it; 95 % intervals of the least-squares fit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TailEffect {
    /// 95th percentile.
    pub p95: Estimate,
    /// 99th percentile.
    pub p99: Estimate,
}

/// Two levers that do something together which the product of their effects does not explain.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Together {
    /// Lever identifiers. Figures of each alone hold on the other's base.
    pub levers: [String; 2],
    /// Titles for people.
    pub titles: [String; 2],
    /// Throughput with both over what the product of their effects would give; 95 % interval of the least-squares fit.
    pub effect: Estimate,
    /// Standard error of the log effect.
    #[serde(deserialize_with = "number_or_null")]
    #[schemars(with = "Option<f64>")]
    pub std_err: f64,
}

/// JSON has no word for a number that is none: it is written as `null`, and must be read again.
fn number_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}
