//! What one part of a check found.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A part of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Killed under write load: is every acknowledged commit there, and no transaction by half?
    Crash,
    /// The same answers and the same tables as another server on the same data?
    Answers,
    /// The server's own regression tests.
    Suite,
}

impl Part {
    /// All parts, in the order in which they run.
    pub const ALL: [Part; 3] = [Part::Crash, Part::Answers, Part::Suite];

    /// As written on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Part::Crash => "crash",
            Part::Answers => "answers",
            Part::Suite => "suite",
        }
    }

    /// Whether a failure was one of chance where a later check passes. Tests of the suite are repeated and put to another server
    /// before they count; of a commit that was lost once, or an answer that differed once, a check that meets none says nothing.
    pub(super) fn is_refuted_by_a_pass(self) -> bool {
        self == Part::Suite
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Part::Crash => "crash recovery",
            Part::Answers => "same answers",
            Part::Suite => "regression suite",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a part ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// A number that a part is judged by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What was counted: `acknowledged commits`.
    pub name: String,
    /// How many.
    pub value: u64,
}

/// Something that was not checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// What: a section of statements, a test.
    pub what: String,
    /// Why.
    pub why: String,
}

/// What one part of a check found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartReport {
    /// Which part.
    pub part: Part,
    /// How it ended.
    pub outcome: Outcome,
    /// What it counted, in the order in which it is told.
    pub figures: Vec<Figure>,
    /// What is wrong, one finding each, the first [`PartReport::MAX_FINDINGS`] of them.
    pub findings: Vec<String>,
    /// What was not checked, and why.
    pub left_out: Vec<LeftOut>,
    /// Worth knowing, but no fault of the server.
    pub notes: Vec<String>,
    /// Seconds it took.
    pub seconds: f64,
    /// Seed of its random choices; 0 where it makes none.
    pub seed: u64,
    /// Whether it examined as much as a check does by default, beside the packaged server of its series. A smaller check finds faults, but recommends nothing.
    pub whole: bool,
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
            left_out: Vec::new(),
            notes: Vec::new(),
            seconds: 0.0,
            seed,
            whole: true,
        }
    }

    pub(super) fn skipped(part: Part, why: &str) -> PartReport {
        let mut report = PartReport::new(part, 0);
        report.outcome = Outcome::Skipped;
        // Nothing was looked at: what an earlier look found stands.
        report.whole = false;
        report.left_out.push(LeftOut {
            what: part.title().to_owned(),
            why: why.to_owned(),
        });
        report
    }

    pub(super) fn figure(&mut self, name: &str, value: u64) {
        self.figures.push(Figure {
            name: name.to_owned(),
            value,
        });
    }

    /// The value of this figure; none when it was not counted.
    pub fn value(&self, name: &str) -> Option<u64> {
        let figure = self.figures.iter().find(|figure| figure.name == name);
        figure.map(|figure| figure.value)
    }

    /// Something is wrong with the server.
    pub(super) fn fail(&mut self, finding: String) {
        self.outcome = Outcome::Failed;
        match self.findings.len() {
            kept if kept < Self::MAX_FINDINGS => self.findings.push(finding),
            Self::MAX_FINDINGS => self.findings.push("and more, not shown".to_owned()),
            _ => {}
        }
    }

    /// One line of its figures: `8123 acknowledged commits, 10 kills`.
    pub fn figures_line(&self) -> String {
        let parts: Vec<String> = self
            .figures
            .iter()
            .map(|figure| match figure.value {
                1 => format!("1 {}", singular(&figure.name)),
                value => format!("{value} {}", figure.name),
            })
            .collect();
        parts.join(", ")
    }
}

/// A figure's name where there is one of them: the noun that is counted stands before "of", "from", "with" and the like.
fn singular(name: &str) -> String {
    const AFTER_THE_NOUN: [&str; 9] = [
        "of", "with", "without", "not", "from", "passed", "failed", "skipped", "started",
    ];
    if name.starts_with("ms ") {
        return name.to_owned();
    }
    let mut words: Vec<&str> = name.split(' ').collect();
    let after = words
        .iter()
        .position(|word| AFTER_THE_NOUN.contains(word))
        .unwrap_or(words.len());
    if let Some(noun) = after.checked_sub(1).and_then(|at| words.get_mut(at)) {
        *noun = noun.strip_suffix('s').unwrap_or(noun);
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_bounded_and_fail_the_part() {
        let mut report = PartReport::new(Part::Crash, 1);
        report.figure("kills", 3);
        assert_eq!(report.outcome, Outcome::Passed);
        for number in 0..100 {
            report.fail(format!("finding {number}"));
        }
        assert_eq!(report.outcome, Outcome::Failed);
        assert_eq!(report.findings.len(), PartReport::MAX_FINDINGS + 1);
        assert_eq!(report.figures_line(), "3 kills");
        for (name, one) in [
            ("engines", "1 engine"),
            ("different answers", "1 different answer"),
            ("commits without an answer", "1 commit without an answer"),
            (
                "servers started from the binary",
                "1 server started from the binary",
            ),
            ("ms of restarts", "1 ms of restarts"),
        ] {
            let mut report = PartReport::new(Part::Answers, 1);
            report.figure(name, 1);
            assert_eq!(report.figures_line(), one);
        }
        assert_eq!((report.value("kills"), report.value("x")), (Some(3), None));
    }
}
