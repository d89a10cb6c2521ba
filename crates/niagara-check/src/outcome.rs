//! What one part of a check found.

use std::path::PathBuf;

pub use niagara_model::{
    CheckCount, CheckFigure, CheckFinding, CheckItem, CheckNote, CheckPart as Part, LeftOut,
    SkipReason,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing wrong was found.
    Passed,
    /// Something wrong was found.
    Failed,
    /// Not checked; the report says why.
    Skipped,
}

impl Outcome {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::Skipped => "not done",
        }
    }
}

/// What one part of a check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartReport {
    /// Which part.
    pub part: Part,
    /// How it ended.
    pub outcome: Outcome,
    /// What it counted, in the order in which it is told.
    pub figures: Vec<CheckFigure>,
    /// What is wrong, one finding each, the first [`PartReport::MAX_FINDINGS`] of them.
    pub findings: Vec<CheckFinding>,
    /// How many findings there were beyond these.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more_findings: u64,
    /// What was not checked, and why.
    pub left_out: Vec<LeftOut>,
    /// Worth knowing, but no fault of the server.
    pub notes: Vec<CheckNote>,
    /// Where the logs are that it speaks of; none where it speaks of none.
    pub logs: Option<PathBuf>,
    /// Seconds it took.
    pub seconds: f64,
    /// Seed of its random choices; 0 where it makes none.
    pub seed: u64,
    /// Whether it examined as much as a check does by default, beside the packaged server of its series. A smaller check finds faults, but recommends nothing.
    pub whole: bool,
}

/// Whether there is none.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

impl PartReport {
    /// Findings that are kept; more of them are counted only.
    pub(crate) const MAX_FINDINGS: usize = 20;

    pub(super) fn new(part: Part, seed: u64) -> PartReport {
        PartReport {
            part,
            outcome: Outcome::Passed,
            figures: Vec::new(),
            findings: Vec::new(),
            more_findings: 0,
            left_out: Vec::new(),
            notes: Vec::new(),
            logs: None,
            seconds: 0.0,
            seed,
            whole: true,
        }
    }

    pub(super) fn skipped(part: Part, reason: SkipReason) -> PartReport {
        let mut report = PartReport::new(part, 0);
        report.outcome = Outcome::Skipped;
        // Nothing was looked at: what an earlier look found stands.
        report.whole = false;
        report.left_out.push(LeftOut {
            what: CheckItem::Part { part },
            reason,
        });
        report
    }

    pub(super) fn figure(&mut self, code: CheckCount, value: u64) {
        self.figures.push(CheckFigure { code, value });
    }

    /// The value of this figure; none when it was not counted.
    pub fn value(&self, code: CheckCount) -> Option<u64> {
        let figure = self.figures.iter().find(|figure| figure.code == code);
        figure.map(|figure| figure.value)
    }

    /// Something is wrong with the server.
    pub(super) fn fail(&mut self, finding: CheckFinding) {
        self.outcome = Outcome::Failed;
        match self.findings.len() < Self::MAX_FINDINGS {
            true => self.findings.push(finding),
            false => self.more_findings += 1,
        }
    }

    /// One line of its figures: `8123 acknowledged commits, 10 kills`.
    pub fn figures_line(&self) -> String {
        let figures = self.figures.iter().map(CheckFigure::to_string);
        figures.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_bounded_and_fail_the_part() {
        let mut report = PartReport::new(Part::Crash, 1);
        report.figure(CheckCount::Kills, 3);
        report.figure(CheckCount::RestartMilliseconds, 1);
        assert_eq!(report.outcome, Outcome::Passed);
        for round in 0..100 {
            report.fail(CheckFinding::NoCommitInRound { round, seconds: 30 });
        }
        assert_eq!(report.outcome, Outcome::Failed);
        let counted = (report.findings.len(), report.more_findings);
        assert_eq!(counted, (PartReport::MAX_FINDINGS, 80));
        assert_eq!(report.figures_line(), "3 kills, 1 ms of restarts");
        let values = [CheckCount::Kills, CheckCount::Engines].map(|code| report.value(code));
        assert_eq!(values, [Some(3), None]);
    }
}
