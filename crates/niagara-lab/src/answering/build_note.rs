//! Built servers that a result rests on: are they still correct, and what were they trained on?

use std::cell::RefCell;

use anyhow::Result;
use niagara_build::BuildStore;
use niagara_error::{Explain as _, Explanation};
use niagara_model::{BuildCheck, BuildNote, Finding, PartFigures, Reason, Releases, UndoneCheck};

use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::variants::variant::Variant;
use niagara_check::{CheckOptions, CheckRecord, Outcome, Standing, Subject, check, standing};
use niagara_server::{Cancelled, DiskFull};

/// A variant whose server may be built.
pub(crate) struct Noted<'a> {
    /// The name that people know it by.
    pub of: &'a str,
    /// The variant.
    pub variant: &'a Variant,
    /// What it is compared with, where it is with one.
    pub beside: Option<&'a Variant>,
}

/// What a reader should know of the built servers among these variants.
///
/// # Errors
/// A variant that was not set up; a binary that cannot be read.
pub(crate) fn build_notes(bench: &Workbench, variants: &[Noted<'_>]) -> Result<Vec<BuildNote>> {
    let version = |variant: &Variant| -> Result<String> {
        Ok(bench.install_of(variant)?.version_string.clone())
    };
    let mut notes = Vec::new();
    for Noted {
        of,
        variant,
        beside,
    } in variants
    {
        let Some(recipe) = &variant.build else {
            continue;
        };
        notes.push(BuildNote {
            of: (*of).to_owned(),
            recipe: recipe.one_line(),
            measured_on_training: recipe.is_trained_on(&bench.load().workload),
            trained_on: recipe.trained_on_in_words().into_iter().collect(),
            releases: Some(Releases {
                built: version(variant)?,
                beside: beside.map(version).transpose()?,
            }),
            check: known(bench, variant)?,
        });
    }
    Ok(notes)
}

/// Whether a variant's server is a correct one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Soundness {
    /// It passed every part of the check, or was not built here.
    Sound,
    /// It failed.
    Wrong(Reason),
    /// It is unknown.
    Unknown(Reason),
}

/// Makes sure that it is known whether the server of `variant`, where it was built, is still correct: parts of the
/// check that were not checked yet are checked now, which takes some minutes. What to say where an error kept that from being
/// done: the study is not over then, and the same command tries it again. A server that fails the check says so in its note.
///
/// # Errors
/// [`Cancelled`] when stopped; [`DiskFull`].
pub(crate) fn check_build(
    bench: &Workbench,
    variant: &Variant,
    observer: &mut dyn Observer,
) -> Result<Option<Finding>> {
    let undone = complete_check(bench, variant, observer)?;
    Ok(undone.map(|error| Finding::BuildNotChecked { error }))
}

/// Whether the server of `variant` is a correct one, which is checked now where it is not known and `may_check` says so.
///
/// # Errors
/// [`Cancelled`] when stopped; [`DiskFull`]; a variant that was not set up; a binary that cannot be read.
pub(crate) fn soundness(
    bench: &Workbench,
    variant: &Variant,
    may_check: bool,
    observer: &mut dyn Observer,
) -> Result<Soundness> {
    if variant.build.is_none() {
        return Ok(Soundness::Sound);
    }
    let undone = match may_check {
        true => complete_check(bench, variant, observer)?.map(|error| UndoneCheck::Error { error }),
        false => Some(UndoneCheck::NotTried),
    };
    let server = &bench.install_of(variant)?.server;
    Ok(match standing(bench.cache(), server)? {
        Standing::Passed(_) => Soundness::Sound,
        Standing::Failed(fault) => Soundness::Wrong(Reason::FailedCheck {
            fault: Some(fault),
            server: server.display().to_string(),
        }),
        Standing::Unknown(record) => Soundness::Unknown(Reason::Unchecked {
            undone: undone.or_else(|| record.as_deref().and_then(not_done)),
            server: server.display().to_string(),
        }),
    })
}

/// The first part of a check that could not be done, and why.
fn not_done(record: &CheckRecord) -> Option<UndoneCheck> {
    record.parts.values().find_map(|report| {
        let left = report.left_out.first()?;
        let is_skipped = report.outcome == Outcome::Skipped;
        is_skipped.then(|| UndoneCheck::Part {
            part: report.part,
            reason: left.reason.clone(),
        })
    })
}

/// Checks what was not checked yet of a built server; why that could not be done, where it could not.
fn complete_check(
    bench: &Workbench,
    variant: &Variant,
    observer: &mut dyn Observer,
) -> Result<Option<Explanation>> {
    match look(bench, variant, observer) {
        Ok(()) => Ok(None),
        Err(_) if bench.cancel().is_cancelled() => Err(Cancelled.into()),
        // It says nothing of the build: once there is room, the same command continues.
        Err(error) if error.has::<DiskFull>() => Err(error),
        Err(error) => Ok(Some(error.explain())),
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
        options.parts = record.to_do(bench.catalog(), install);
        // What is left can never be done here: its note says why.
        if options.parts.is_empty() {
            return Ok(());
        }
    }
    observer.see(Event::Note(
        "the build that was promoted: is it still correct? (niagara server check, some minutes)",
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
pub(crate) fn not_recommended(notes: &[BuildNote]) -> Option<Finding> {
    let last = BuildNote::of_what_is_handed_over(notes)?;
    match &last.check {
        BuildCheck::Passed { .. } => None,
        check => Some(Finding::BuildNotRecommended {
            of: last.of.clone(),
            check: check.clone(),
        }),
    }
}

/// What is wrong with the build of the variant that is called `of`, where a check found something.
pub(crate) fn wrong_build(notes: &[BuildNote], of: &str) -> Option<Finding> {
    let note = notes.iter().find(|note| note.of == of)?;
    match &note.check {
        check @ BuildCheck::Failed(_) => Some(Finding::BuildNotRecommended {
            of: of.to_owned(),
            check: check.clone(),
        }),
        BuildCheck::Passed { .. } | BuildCheck::Unknown { .. } => None,
    }
}

fn known(bench: &Workbench, variant: &Variant) -> Result<BuildCheck> {
    let server = &bench.install_of(variant)?.server;
    Ok(match standing(bench.cache(), server)? {
        Standing::Passed(record) => BuildCheck::Passed {
            parts: record
                .parts
                .into_values()
                .map(|report| PartFigures {
                    part: report.part,
                    figures: report.figures,
                })
                .collect(),
        },
        Standing::Failed(fault) => BuildCheck::Failed(fault),
        Standing::Unknown(record) => BuildCheck::Unknown {
            undone: record.as_deref().and_then(not_done),
            server: server.display().to_string(),
        },
    })
}

#[cfg(test)]
mod tests {
    use niagara_model::{CheckFinding, CheckPart, PartFault};

    use super::*;

    #[test]
    fn only_a_final_variant_that_passed_is_recommended() {
        let note = |of: &str, check: BuildCheck| BuildNote {
            of: of.to_owned(),
            recipe: "gcc".to_owned(),
            trained_on: Vec::new(),
            measured_on_training: false,
            releases: None,
            check,
        };
        assert_eq!(not_recommended(&[]), None);
        let wrong = || {
            BuildCheck::Failed(PartFault {
                part: CheckPart::Suite,
                finding: Box::new(CheckFinding::TestWithoutVerdict {
                    test: "main.select".to_owned(),
                }),
            })
        };
        let passed = || BuildCheck::Passed { parts: Vec::new() };
        assert_eq!(not_recommended(&[note("start", wrong())]), None);
        assert_eq!(not_recommended(&[note(BuildNote::FINAL, passed())]), None);
        let said = not_recommended(&[note(BuildNote::FINAL, wrong())])
            .expect("it failed")
            .to_string();
        assert!(said.contains("main.select"), "{said}");
        let compared = [note("A", wrong()), note("B", passed())];
        assert_eq!(wrong_build(&compared, "B"), None);
        let said = wrong_build(&compared, "A").expect("it failed").to_string();
        assert!(said.contains("main.select"), "{said}");
        let unknown = BuildCheck::Unknown {
            undone: None,
            server: "PATH".to_owned(),
        };
        let said = not_recommended(&[note(BuildNote::FINAL, unknown)])
            .expect("nobody knows")
            .to_string();
        assert!(said.contains("niagara server check PATH"), "{said}");
    }
}
