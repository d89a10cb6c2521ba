//! Built servers that a result rests on: are they still correct, and what were they trained on?

use std::cell::RefCell;

use anyhow::Result;
use niagara_build::BuildStore;
use niagara_store::{BuildCheck, BuildNote};

use crate::duels::workbench::Workbench;
use crate::studies::observer::{Event, Observer};
use crate::variants::variant::Variant;
use niagara_check::{CheckOptions, CheckRecord, Standing, Subject, check, standing};
use niagara_server::Cancelled;

/// The name of a ladder's last variant among the notes.
pub(crate) const FINAL: &str = "final variant";
/// The name of a matrix's confirmed combination among the notes.
pub(crate) const BEST: &str = "best combination";

/// What a reader should know of the built servers among these variants, each under the name that people know it by.
///
/// # Errors
/// A variant that was not set up; a binary that cannot be read.
pub(crate) fn build_notes(
    bench: &Workbench,
    variants: &[(&str, &Variant)],
) -> Result<Vec<BuildNote>> {
    let mut notes = Vec::new();
    for (of, variant) in variants {
        let Some(recipe) = &variant.build else {
            continue;
        };
        notes.push(BuildNote {
            of: (*of).to_owned(),
            recipe: recipe.one_line(),
            measured_on_training: recipe.is_trained_on(&bench.load().workload),
            trained_on: recipe.trained_on_in_words().into_iter().collect(),
            check: known(bench, variant)?,
        });
    }
    Ok(notes)
}

/// Makes sure that it is known whether the server of `variant`, where it was built, is still correct: parts of the
/// check that were not checked yet are checked now, which takes some minutes. What to say where that cannot be done
/// here; a server that fails the check says so in its note.
///
/// # Errors
/// [`Cancelled`] when stopped.
pub(crate) fn check_build(
    bench: &Workbench,
    variant: &Variant,
    observer: &mut dyn Observer,
) -> Result<Option<String>> {
    match look(bench, variant, observer) {
        Ok(()) => Ok(None),
        Err(_) if bench.cancel().is_cancelled() => Err(Cancelled.into()),
        Err(error) => Ok(Some(format!(
            "the final variant's own build could not be checked: {error:#}"
        ))),
    }
}

fn look(bench: &Workbench, variant: &Variant, observer: &mut dyn Observer) -> Result<()> {
    if variant.build.is_none() {
        return Ok(());
    }
    let install = bench.install_of(variant)?;
    let known = match standing(bench.cache(), &install.server)? {
        Standing::Passed(_) | Standing::Failed(_) => return Ok(()),
        Standing::Unknown(known) => known,
    };
    let mut options = CheckOptions::default();
    options.suite.tree = BuildStore::new(bench.cache()).source_of(&install.server);
    if let Some(record) = known {
        options.parts = record.missing();
    }
    observer.see(Event::Note(
        "the final variant's own build: is it still correct? (niagara server check, some minutes)",
    ));
    let seen = RefCell::new(observer);
    let subject = Subject::new(
        bench.cache(),
        bench.catalog(),
        install.clone(),
        None,
        &mut |text| seen.borrow_mut().see(Event::SettingUp(text)),
    )?;
    check(
        bench.cache(),
        bench.catalog(),
        &subject,
        &options,
        bench.cancel(),
        &mut |progress| {
            let part = progress.part.map_or("fetching", |part| part.title());
            seen.borrow_mut().see(Event::SettingUp(&format!(
                "checking the build: {part}, {:.0} %: {}",
                progress.done * 100.0,
                progress.text
            )));
        },
        &mut |report| {
            seen.borrow_mut().see(Event::Note(&format!(
                "{}: {} ({})",
                report.part.title(),
                report.outcome.words(),
                report.figures_line()
            )));
        },
    )
    .map(drop)
}

/// What is said at the top of a report of a final variant whose build is not known to be correct; nothing of one that is,
/// and of a packaged server.
pub(crate) fn not_recommended(notes: &[BuildNote]) -> Option<String> {
    let last = notes
        .iter()
        .find(|note| [FINAL, BEST].contains(&note.of.as_str()))?;
    let of = &last.of;
    match &last.check {
        BuildCheck::Passed(_) => None,
        BuildCheck::Failed(finding) => Some(format!(
            "the {of}'s own build is not correct and therefore not recommended: {finding}"
        )),
        BuildCheck::Unknown(command) => Some(format!(
            "the {of}'s own build is not known to be correct and therefore not recommended yet: {command}"
        )),
    }
}

fn known(bench: &Workbench, variant: &Variant) -> Result<BuildCheck> {
    let server = &bench.install_of(variant)?.server;
    Ok(match standing(bench.cache(), server)? {
        Standing::Passed(record) => BuildCheck::Passed(figures(&record)),
        Standing::Failed(record) => BuildCheck::Failed(first_finding(&record)),
        Standing::Unknown(_) => {
            BuildCheck::Unknown(format!("niagara server check {}", server.display()))
        }
    })
}

fn figures(record: &CheckRecord) -> String {
    let parts: Vec<String> = record
        .parts
        .values()
        .map(|report| format!("{}: {}", report.part.title(), report.figures_line()))
        .collect();
    parts.join("; ")
}

fn first_finding(record: &CheckRecord) -> String {
    let finding = record.parts.values().find_map(|report| {
        let finding = report.findings.first()?.lines().next()?;
        Some(format!("{}: {finding}", report.part.title()))
    });
    finding.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_final_variant_that_passed_is_recommended() {
        let note = |of: &str, check: BuildCheck| BuildNote {
            of: of.to_owned(),
            recipe: "gcc".to_owned(),
            trained_on: Vec::new(),
            measured_on_training: false,
            check,
        };
        assert_eq!(not_recommended(&[]), None);
        let wrong = || BuildCheck::Failed("regression suite: main.select".to_owned());
        assert_eq!(not_recommended(&[note("start", wrong())]), None);
        let passed = note(FINAL, BuildCheck::Passed("10 kills".to_owned()));
        assert_eq!(not_recommended(&[passed]), None);
        let said = not_recommended(&[note(FINAL, wrong())]).expect("it failed");
        assert!(said.contains("main.select"), "{said}");
        let unknown = BuildCheck::Unknown("niagara server check PATH".to_owned());
        let said = not_recommended(&[note(FINAL, unknown)]).expect("nobody knows");
        assert!(said.contains("niagara server check PATH"), "{said}");
    }
}
