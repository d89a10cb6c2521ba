//! What a summary has as codes and figures, in words: for programs that show it to people.

use niagara_model::Summary;
use schemars::JsonSchema;
use serde::Serialize;

use crate::applying::checks_of;
use crate::wording::CheckInWords;

/// What a summary has as codes and figures, in words.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct InWords {
    /// Checks of what is handed over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckInWords>,
    /// Of a sweep: what holds each curve back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounds: Vec<BoundInWords>,
    /// Of a comparison by a capture: its replay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayInWords>,
}

/// What holds a server back at a thread count.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BoundInWords {
    /// The curve's title.
    pub curve: String,
    /// Connections.
    pub threads: u32,
    /// What it is, with the figures that say so.
    pub text: String,
}

/// A replay beside its capture.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ReplayInWords {
    /// Whether it is good enough to decide by.
    pub verdict: String,
    /// What was replayed, a line each.
    pub facts: Vec<String>,
}

impl InWords {
    /// Of this summary; `None` where there is nothing of it.
    pub fn of(summary: &Summary) -> Option<Self> {
        let bounds = match summary {
            Summary::Sweep(sweep) => sweep
                .curves
                .iter()
                .flat_map(|curve| {
                    let points = curve.points.iter();
                    points.filter_map(|point| {
                        Some(BoundInWords {
                            curve: curve.title.clone(),
                            threads: point.threads,
                            text: point.breakdown.as_ref()?.to_string(),
                        })
                    })
                })
                .collect(),
            _ => Vec::new(),
        };
        let replay = summary.comparison().and_then(|one| one.replay.as_ref());
        let found = Self {
            checks: checks_of(summary),
            bounds,
            replay: replay.map(|replay| ReplayInWords {
                verdict: replay.verdict.to_string(),
                facts: replay.facts(),
            }),
        };
        let is_empty = found.checks.is_empty() && found.bounds.is_empty() && found.replay.is_none();
        (!is_empty).then_some(found)
    }
}
