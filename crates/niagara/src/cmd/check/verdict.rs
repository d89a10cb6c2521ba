//! What a check comes to: the last lines that it prints, and its exit code.

use niagara_check::{CheckFinding, CheckRecord, Outcome, Part};
use niagara_error::remedy_line;

/// What is known of a binary after a check of some of its parts.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// A part failed, in this check or in an earlier one.
    NotCorrect,
    /// Nothing wrong was found; these parts were asked for and could not be done.
    NotDone(Vec<Part>),
    /// Nothing wrong was found; these parts were not checked yet, or not wholly.
    SoFar(Vec<Part>),
    /// Every part was checked wholly, and nothing wrong was found.
    Correct,
}

impl Verdict {
    /// Of the record after a check of these parts.
    pub fn of(record: &CheckRecord, asked: &[Part]) -> Verdict {
        if record.failed() {
            return Verdict::NotCorrect;
        }
        let mut not_done = asked.to_vec();
        not_done.retain(|part| {
            let report = record.parts.get(part);
            report.is_none_or(|report| report.outcome == Outcome::Skipped)
        });
        let missing = record.missing();
        match (not_done.is_empty(), missing.is_empty()) {
            (false, _) => Verdict::NotDone(not_done),
            (true, false) => Verdict::SoFar(missing),
            (true, true) => Verdict::Correct,
        }
    }

    /// Whether the command's exit code is 0.
    pub fn is_good(&self) -> bool {
        matches!(self, Verdict::SoFar(_) | Verdict::Correct)
    }

    /// In words, for a binary that is named so: the first line is the verdict.
    pub fn lines(&self, binary: &str) -> Vec<String> {
        match self {
            Verdict::NotCorrect => vec![format!("not correct: {binary}")],
            Verdict::Correct => vec![format!("correct as far as looked: {binary}")],
            Verdict::NotDone(parts) => vec![
                format!("nothing wrong found, but not all could be done: {binary}"),
                format!("could not be done: {}", names(parts)),
            ],
            Verdict::SoFar(parts) => vec![
                format!("nothing wrong found so far: {binary}"),
                format!("not checked yet, or not wholly: {}", names(parts)),
            ],
        }
    }
}

/// Parts that the record knows from earlier checks, each with how it ended.
pub fn earlier(record: &CheckRecord, asked: &[Part]) -> Option<String> {
    let earlier = record
        .parts
        .iter()
        .filter(|(part, _)| !asked.contains(part));
    let told: Vec<String> = earlier
        .map(|(part, report)| format!("{} {}", part.name(), report.outcome.words()))
        .collect();
    (!told.is_empty()).then(|| format!("checked earlier: {}", told.join(", ")))
}

/// What earlier checks found and this one did not, though that refutes nothing; and how to be rid of it. No lines where there is
/// nothing of it.
pub fn not_refuted(record: &CheckRecord) -> Vec<String> {
    let mut lines: Vec<String> = record
        .earlier
        .iter()
        .map(|(part, report)| {
            let finding = report.findings.first().map(CheckFinding::in_short);
            format!(
                "{} failed in an earlier check of this binary, which a pass does not refute: {}",
                part.title(),
                finding.unwrap_or_default()
            )
        })
        .collect();
    if !lines.is_empty() {
        let parts: Vec<Part> = record.earlier.keys().copied().collect();
        lines.push(remedy_line(format!(
            "where you know that the server was not the cause, check again with --forget --part {}",
            names(&parts).replace(", ", ",")
        )));
    }
    lines
}

fn names(parts: &[Part]) -> String {
    let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with these parts, as it is kept.
    fn record(parts: &[(&str, &str, bool)]) -> CheckRecord {
        let parts: serde_json::Map<String, serde_json::Value> = parts
            .iter()
            .map(|(part, outcome, whole)| {
                let report = serde_json::json!({
                    "part": part, "outcome": outcome, "whole": whole, "figures": [], "findings": [],
                    "left_out": [], "notes": [], "seconds": 1.0, "seed": 1
                });
                ((*part).to_owned(), report)
            })
            .collect();
        serde_json::from_value(serde_json::json!({
            "form": 4, "sha256": "00", "binary": "/usr/sbin/mariadbd", "server": "mine",
            "version": "10.11.18", "version_string": "10.11.18-MariaDB", "against": "",
            "against_sha256": "", "when": "2026-01-01T00:00:00Z", "niagara": "0", "parts": parts
        }))
        .expect("a record")
    }

    const CRASH: (&str, &str, bool) = ("crash", "passed", true);
    const ANSWERS: (&str, &str, bool) = ("answers", "passed", true);

    #[test]
    fn what_failed_earlier_fails_the_command() {
        let record = record(&[CRASH, ("suite", "failed", true)]);
        let verdict = Verdict::of(&record, &[Part::Crash]);
        assert_eq!(verdict, Verdict::NotCorrect);
        assert!(!verdict.is_good());
        assert_eq!(verdict.lines("it"), ["not correct: it"]);
        let told = earlier(&record, &[Part::Crash]);
        assert_eq!(told.as_deref(), Some("checked earlier: suite FAILED"));
        assert_eq!(earlier(&record, &Part::ALL), None);
    }

    #[test]
    fn what_a_pass_does_not_refute_fails_the_command_and_is_told() {
        let suite = ("suite", "passed", true);
        let mut record = record(&[CRASH, ANSWERS, suite]);
        assert_eq!(not_refuted(&record), [""; 0]);
        let mut failed = record.parts[&Part::Crash].clone();
        failed.outcome = Outcome::Failed;
        failed.findings = vec![CheckFinding::DidNotRestart {
            kill: 3,
            error: "no log\nmore".into(),
        }];
        record.earlier.insert(Part::Crash, failed);
        let verdict = Verdict::of(&record, &Part::ALL);
        assert_eq!(verdict, Verdict::NotCorrect);
        assert!(!verdict.is_good());
        let told = not_refuted(&record);
        assert!(
            told[0].starts_with("crash recovery failed in an earlier check")
                && told[0].ends_with(": after kill 3: it did not start again: no log"),
            "{told:?}"
        );
        assert!(told[1].ends_with("--forget --part crash"), "{told:?}");
    }

    #[test]
    fn a_part_that_could_not_be_done_fails_the_command_that_asked_for_it() {
        let record = record(&[CRASH, ANSWERS, ("suite", "skipped", true)]);
        let verdict = Verdict::of(&record, &Part::ALL);
        assert_eq!(verdict, Verdict::NotDone(vec![Part::Suite]));
        assert!(!verdict.is_good());
        assert_eq!(verdict.lines("it")[1], "could not be done: suite");
        let verdict = Verdict::of(&record, &[Part::Crash, Part::Answers]);
        assert_eq!(verdict, Verdict::SoFar(vec![Part::Suite]));
        assert!(verdict.is_good());
    }

    #[test]
    fn a_reduced_check_passes_but_recommends_nothing() {
        let suite = ("suite", "passed", true);
        let whole = Verdict::of(&record(&[CRASH, ANSWERS, suite]), &Part::ALL);
        assert_eq!(whole, Verdict::Correct);
        assert!(whole.is_good());
        let smaller = record(&[CRASH, ("answers", "passed", false), suite]);
        let verdict = Verdict::of(&smaller, &Part::ALL);
        assert_eq!(verdict, Verdict::SoFar(vec![Part::Answers]));
        assert!(verdict.is_good());
    }
}
