//! What a lever did where it was measured.

use niagara_server::Family;
use niagara_stats::Estimate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Half the width of a 95 % interval in standard errors.
const HALF_WIDTH: f64 = 1.96;
/// One figure of a lever, as a published result has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Server by its name in the catalogue: `mariadb-10.11`.
    pub server: String,
    /// Workload.
    pub workload: String,
    /// Throughput with the lever over throughput without it.
    pub ratio: f64,
    /// Lower end of its 95 % interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
    /// What it was set against, where that is not the server's package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over: Option<String>,
    /// Whether that is the same source built with the package's compiler and flags: it may be slower or faster than the package.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub over_rebuild: bool,
    /// The lever that both sides had, where the figure is what this one adds to it: the one that it extends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added_to: Option<String>,
    /// The machine's CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// Where it is published: a page of the documentation.
    pub source: String,
}

impl Measured {
    /// The ratio with its 95 % interval.
    pub fn estimate(&self) -> Estimate {
        Estimate {
            ratio: self.ratio,
            low: self.low,
            high: self.high,
        }
    }

    /// ln(ratio).
    pub(super) fn log(&self) -> f64 {
        self.ratio.ln()
    }

    /// Standard error of that.
    pub(super) fn std_err(&self) -> f64 {
        (self.high.ln() - self.low.ln()) / (2.0 * HALF_WIDTH)
    }

    /// Whether it is of a server of this branch and of this workload.
    pub(super) fn is_of(&self, family: Family, workload: &str) -> bool {
        self.workload == workload && self.is_of_branch(family)
    }

    /// Whether it is of a server of this branch.
    pub fn is_of_branch(&self, family: Family) -> bool {
        Family::of_name(&self.server) == Some(family)
    }
}
