//! A final variant that is handed over is still a correct server: the same answers as the start, and, where a lever touches
//! logs, flushing or durability, nothing lost when it is killed.

use std::cell::RefCell;

use anyhow::Result;
use niagara_check::{
    ANSWERED_ENGINES, AnswersOptions, CrashOptions, Outcome, PartReport, Progress, Setting,
    compare_answers, crash_recovery,
};
use niagara_server::Cancelled;
use niagara_store::FinalCheck;

use crate::duels::workbench::Workbench;
use crate::lever::Lever;
use crate::studies::checkpoint;
use crate::studies::observer::{Event, Observer};
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// Kills of the crash check: each is some seconds of writing and a recovery. A whole check of a build has more.
const KILLS: usize = 4;
/// Variables by which a user gives durability up knowingly (risk `durability`): what is lost then is what was agreed to. The
/// rest of the variant is checked without them.
const GIVEN_UP: [&str; 3] = [
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "innodb_flush_log_at_timeout",
];
/// Sizes that stay those of the check: with much larger ones hardly a page is written in the seconds before a kill, and nothing that a
/// lever does about writing pages is tried.
const KEPT_SMALL: [&str; 3] = [
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
];

/// Checks `last` beside `start`, once for a study; it takes a minute or two, which do not count against the budget.
/// `recovery`: one of its levers touches what a server recovers from.
///
/// # Errors
/// [`Cancelled`] when stopped; the results cannot be written.
pub(crate) fn check_final(
    bench: &Workbench,
    study: &mut Study,
    [start, last]: [&Variant; 2],
    recovery: bool,
    observer: &mut dyn Observer,
) -> Result<Vec<FinalCheck>> {
    let key = checkpoint::final_checks(&last.id());
    if let Some(kept) = study.recall(&key)? {
        return Ok(kept);
    }
    observer.see(Event::Note(
        "the final variant: does it still answer as the start does?",
    ));
    let checks = study.aside(observer, |observer| -> Result<Vec<FinalCheck>> {
        let mut checks = vec![answers(bench, [start, last], observer)?];
        if recovery {
            checks.push(crash(bench, last, observer)?);
        }
        Ok(checks)
    })?;
    if FinalCheck::may_be_handed_over(&checks) {
        study.keep(&key, &checks)?;
    }
    Ok(checks)
}

/// Why a final variant is not handed over; nothing of one that passed.
pub(crate) fn failed_checks(checks: &[FinalCheck]) -> Option<String> {
    let failed = checks.iter().find(|check| check.passed == Some(false))?;
    Some(format!(
        "the final variant failed a check ({}) and is therefore not recommended: {}",
        failed.part, failed.words
    ))
}

/// What a reader must know of checks that could not be done.
pub(crate) fn undone_checks(checks: &[FinalCheck]) -> impl Iterator<Item = String> {
    let undone = checks.iter().filter(|check| check.passed.is_none());
    undone.map(|check| {
        format!(
            "the final variant could not be checked ({}){}: {}",
            check.part,
            if check.broken {
                ", and is not handed over for that; the same command tries it again"
            } else {
                ""
            },
            check.words
        )
    })
}

/// Whether a lever of `variant`, or a variable that it sets and that such a lever sets too, touches what a server recovers
/// from.
pub(crate) fn touches_recovery(variant: &Variant, levers: &[Lever]) -> bool {
    levers
        .iter()
        .filter(|lever| lever.touches_recovery())
        .any(|lever| {
            variant.levers.iter().any(|id| id == lever.id())
                || lever
                    .variables()
                    .any(|name| variant.config.contains_key(name))
        })
}

fn setting(variant: &Variant) -> Setting {
    Setting {
        config: variant.config.clone(),
        runtime: variant.runtime.clone(),
    }
}

fn answers(
    bench: &Workbench,
    [start, last]: [&Variant; 2],
    observer: &mut dyn Observer,
) -> Result<FinalCheck> {
    let engine = &bench.load().engine;
    let is_asked = ANSWERED_ENGINES
        .iter()
        .any(|known| known.eq_ignore_ascii_case(engine));
    let options = AnswersOptions {
        settings: [last, start].map(setting),
        engines: vec![if is_asked {
            engine.clone()
        } else {
            ANSWERED_ENGINES[0].to_owned()
        }],
        ..AnswersOptions::default()
    };
    let [ours, theirs] = [bench.install_of(last)?, bench.install_of(start)?];
    let seen = RefCell::new(observer);
    let report = compare_answers(
        bench.cache(),
        ours,
        theirs,
        &options,
        bench.cancel(),
        &mut |progress| told(&seen, progress),
    );
    let mut found = outcome("same answers", report, bench, *seen.borrow_mut())?;
    if !is_asked {
        found.words += &format!(
            "; asked of tables in {}, as there are no questions for those in {engine}",
            ANSWERED_ENGINES[0]
        );
    }
    Ok(found)
}

fn crash(bench: &Workbench, last: &Variant, observer: &mut dyn Observer) -> Result<FinalCheck> {
    let mut setting = setting(last);
    let is_in = |list: &[&str], name: &String| list.contains(&name.as_str());
    let names = setting.config.keys();
    let given_up: Vec<String> = names
        .filter(|name| is_in(&GIVEN_UP, name))
        .cloned()
        .collect();
    setting
        .config
        .retain(|name, _| !is_in(&GIVEN_UP, name) && !is_in(&KEPT_SMALL, name));
    let options = CrashOptions {
        kills: KILLS,
        config: setting.config,
        runtime: setting.runtime,
        ..CrashOptions::default()
    };
    let seen = RefCell::new(observer);
    let report = crash_recovery(
        bench.cache(),
        bench.install_of(last)?,
        &options,
        bench.cancel(),
        &mut |progress| told(&seen, progress),
    );
    let mut found = outcome("crash recovery", report, bench, *seen.borrow_mut())?;
    if found.passed == Some(true) {
        found.words += "; the process was killed, not the machine";
        if !given_up.is_empty() {
            found.words += &format!(
                "; without {}, which gives durability up",
                given_up.join(", ")
            );
        }
    }
    Ok(found)
}

fn told(observer: &RefCell<&mut dyn Observer>, progress: &Progress) {
    let part = progress.part.map_or("fetching", |part| part.title());
    observer.borrow_mut().see(Event::SettingUp(&format!(
        "checking the final variant: {part}, {:.0} %: {}",
        progress.done * 100.0,
        progress.text
    )));
}

/// What came of a part. That it could not be done is no verdict about the server.
fn outcome(
    part: &str,
    report: Result<PartReport>,
    bench: &Workbench,
    observer: &mut dyn Observer,
) -> Result<FinalCheck> {
    bench.cancel().check()?;
    let went_well = report
        .as_ref()
        .is_ok_and(|report| report.outcome != Outcome::Failed);
    if !went_well {
        // A full disk fails everything.
        bench.check_disk()?;
        bench.check_cache_disk()?;
    }
    let broken = report.is_err();
    let (passed, words) = match report {
        Err(error) if error.is::<Cancelled>() => return Err(error),
        Err(error) => (None, format!("{error:#}")),
        Ok(report) => match report.outcome {
            Outcome::Passed => (Some(true), report.figures_line()),
            Outcome::Failed => (
                Some(false),
                report.findings.first().cloned().unwrap_or_default(),
            ),
            Outcome::Skipped => (
                None,
                report
                    .left_out
                    .first()
                    .map(|left| left.why.clone())
                    .unwrap_or_default(),
            ),
        },
    };
    let word = match passed {
        Some(true) => "passed",
        Some(false) => "FAILED",
        None => "not done",
    };
    observer.see(Event::Note(&format!("{part}: {word} ({words})")));
    Ok(FinalCheck {
        part: part.to_owned(),
        passed,
        words,
        broken,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_failed_keeps_a_variant_from_being_handed_over() {
        let check = |passed, words: &str| FinalCheck {
            part: "same answers".to_owned(),
            passed,
            words: words.to_owned(),
            broken: false,
        };
        let passed = check(Some(true), "4622 statements");
        assert_eq!(failed_checks(std::slice::from_ref(&passed)), None);
        let checks = [
            passed,
            check(None, "no room"),
            check(Some(false), "SELECT 1"),
        ];
        assert!(
            failed_checks(&checks)
                .expect("one failed")
                .contains("SELECT 1")
        );
        let undone: Vec<String> = undone_checks(&checks).collect();
        assert!(
            undone.len() == 1 && undone[0].contains("no room"),
            "{undone:?}"
        );
    }
}
