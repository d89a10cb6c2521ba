//! A final variant that is handed over is still a correct server: the same answers as the start, and, where a lever touches
//! logs, flushing or durability, or its tables are in another engine, nothing lost when it is killed.

use std::cell::RefCell;

use anyhow::Result;
use niagara_check::{
    ANSWERED_ENGINES, AnswersOptions, CRASH_SIZES, CrashOptions, Outcome, PartReport, Progress,
    Setting, compare_answers, crash_recovery,
};
use niagara_error::Explain as _;
use niagara_model::{CheckLimit, CheckOutcome, CheckPart, CheckedSize, FinalCheck, Finding};
use niagara_server::{Cancelled, DiskFull};

use crate::duels::workbench::Workbench;
use crate::lever::Lever;
use crate::plans::observer::{Event, Observer};
use crate::studies::checkpoint;
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
/// Engines whose transactions are whole after a crash or not there at all.
const TRANSACTIONAL: [&str; 2] = ["InnoDB", "ROCKSDB"];

/// Checks `last` beside `start`, once for a study; it takes a minute or two, which do not count against the budget.
/// `recovery`: one of its levers touches what a server recovers from; tables in another engine than the start's do so by
/// themselves.
///
/// # Errors
/// [`Cancelled`] when stopped; a disk is full; the results cannot be written.
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
    let [before, engine] = [start, last].map(|variant| bench.load().engine_of(variant));
    let is_changed = !engine.eq_ignore_ascii_case(before);
    let checks = study.aside(observer, |observer| -> Result<Vec<FinalCheck>> {
        let mut checks = vec![answers(bench, [start, last], observer)?];
        if is_changed && !is_in(&TRANSACTIONAL, engine) {
            let check = without_transactions(engine);
            tell(&check, observer);
            checks.push(check);
        }
        if recovery || (is_changed && is_in(&TRANSACTIONAL, engine)) {
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
pub(crate) fn failed_checks(checks: &[FinalCheck]) -> Option<Finding> {
    let failed = checks.iter().find(|check| check.passed() == Some(false))?;
    Some(Finding::CheckFailed(failed.clone()))
}

/// What a reader must know of checks that could not be done.
pub(crate) fn undone_checks(checks: &[FinalCheck]) -> impl Iterator<Item = Finding> {
    let undone = checks.iter().filter(|check| check.passed().is_none());
    undone.map(|check| Finding::CheckNotDone(check.clone()))
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

fn is_in(engines: &[&str], engine: &str) -> bool {
    engines
        .iter()
        .any(|known| known.eq_ignore_ascii_case(engine))
}

/// What is to be known of a final variant whose tables are in an engine without transactions, and the start's are not: there is
/// nothing to check, whoever installs it has to know it.
fn without_transactions(engine: &str) -> FinalCheck {
    FinalCheck {
        part: CheckPart::Crash,
        outcome: CheckOutcome::NoTransactions {
            engine: engine.to_owned(),
        },
        limits: Vec::new(),
    }
}

/// The engine in which answers are asked about tables in `engine`: that one, where there are questions for it and both servers have
/// it.
fn asked_engine(engine: &str, are_mariadb: bool) -> &str {
    let is_there = are_mariadb || !engine.eq_ignore_ascii_case("Aria");
    match is_there && is_in(&ANSWERED_ENGINES, engine) {
        true => engine,
        false => ANSWERED_ENGINES[0],
    }
}

fn answers(
    bench: &Workbench,
    [start, last]: [&Variant; 2],
    observer: &mut dyn Observer,
) -> Result<FinalCheck> {
    let [before, engine] = [start, last].map(|variant| bench.load().engine_of(variant));
    let [ours, theirs] = [bench.install_of(last)?, bench.install_of(start)?];
    let are_mariadb = ours.family.is_mariadb() && theirs.family.is_mariadb();
    let asked = asked_engine(engine, are_mariadb);
    let options = AnswersOptions {
        settings: [last, start].map(setting),
        engines: vec![asked.to_owned()],
        ..AnswersOptions::default()
    };
    let seen = RefCell::new(observer);
    let report = compare_answers(
        bench.cache(),
        ours,
        theirs,
        &options,
        bench.cancel(),
        &mut |progress| told(&seen, progress),
    );
    let mut found = outcome(CheckPart::Answers, report, bench, *seen.borrow_mut())?;
    if asked != engine {
        found.limits.push(CheckLimit::NoQuestions {
            asked: asked.to_owned(),
            engine: engine.to_owned(),
        });
    } else if !engine.eq_ignore_ascii_case(before) {
        found.limits.push(CheckLimit::StartsEngine {
            engine: engine.to_owned(),
            start: before.to_owned(),
        });
    }
    Ok(found)
}

/// What a final variant is killed with, and what of that is not the variant's own.
fn killed_with(last: &Variant, engine: &str) -> (CrashOptions, Vec<CheckLimit>) {
    let mut setting = setting(last);
    let mut limits = Vec::new();
    let given_up = GIVEN_UP.map(|name| setting.config.remove(name).map(|_| name.to_owned()));
    let without: Vec<String> = given_up.into_iter().flatten().collect();
    if !without.is_empty() {
        limits.push(CheckLimit::Durable { without });
    }
    // With much larger ones hardly a page is written in the seconds before a kill, and nothing that a lever does about writing
    // pages is tried.
    let sizes: Vec<CheckedSize> = CRASH_SIZES
        .into_iter()
        .filter_map(|(name, size)| {
            let own = setting.config.remove(name)?;
            (own != size).then(|| CheckedSize {
                variable: name.to_owned(),
                value: size.to_owned(),
                own,
            })
        })
        .collect();
    if !sizes.is_empty() {
        limits.push(CheckLimit::Sizes { sizes });
    }
    let is_transactional = is_in(&TRANSACTIONAL, engine);
    let mut options = CrashOptions {
        kills: KILLS,
        config: setting.config,
        runtime: setting.runtime,
        ..CrashOptions::default()
    };
    if is_transactional {
        engine.clone_into(&mut options.engine);
    } else {
        limits.push(CheckLimit::Transactional {
            used: options.engine.clone(),
            engine: engine.to_owned(),
        });
    }
    (options, limits)
}

fn crash(bench: &Workbench, last: &Variant, observer: &mut dyn Observer) -> Result<FinalCheck> {
    let (options, limits) = killed_with(last, bench.load().engine_of(last));
    let seen = RefCell::new(observer);
    let report = crash_recovery(
        bench.cache(),
        bench.install_of(last)?,
        &options,
        bench.cancel(),
        &mut |progress| told(&seen, progress),
    );
    let mut found = outcome(CheckPart::Crash, report, bench, *seen.borrow_mut())?;
    if found.passed() == Some(true) {
        found.limits.push(CheckLimit::ProcessKilled);
        found.limits.extend(limits);
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
    part: CheckPart,
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
    let outcome = match report {
        Err(error) if error.has::<Cancelled>() || error.has::<DiskFull>() => return Err(error),
        Err(error) => CheckOutcome::Broken {
            error: error.explain(),
        },
        Ok(report) => of_report(report),
    };
    let check = FinalCheck {
        part,
        outcome,
        limits: Vec::new(),
    };
    tell(&check, observer);
    Ok(check)
}

/// What a part that came to its end says.
fn of_report(report: PartReport) -> CheckOutcome {
    let outcome = match report.outcome {
        Outcome::Passed => Some(CheckOutcome::Passed {
            figures: report.figures,
        }),
        Outcome::Failed => {
            let mut findings = report.findings.into_iter().map(Box::new);
            findings
                .next()
                .map(|finding| CheckOutcome::Failed { finding })
        }
        Outcome::Skipped => {
            let mut reasons = report.left_out.into_iter().map(|left| left.reason);
            reasons
                .next()
                .map(|reason| CheckOutcome::Skipped { reason })
        }
    };
    outcome.unwrap_or_else(|| CheckOutcome::Broken {
        error: "the check does not say what it found".into(),
    })
}

fn tell(check: &FinalCheck, observer: &mut dyn Observer) {
    let (title, ending, detail) = (check.title(), check.ending(), check.detail());
    observer.see(Event::Note(&format!("{title}: {ending} ({detail})")));
}

#[cfg(test)]
mod tests {
    use niagara_model::{CheckFinding, SkipReason};

    use super::*;

    #[test]
    fn only_what_failed_keeps_a_variant_from_being_handed_over() {
        let check = |outcome| FinalCheck {
            part: CheckPart::Answers,
            outcome,
            limits: Vec::new(),
        };
        let passed = check(CheckOutcome::Passed {
            figures: Vec::new(),
        });
        assert_eq!(failed_checks(std::slice::from_ref(&passed)), None);
        let checks = [
            passed,
            check(CheckOutcome::Skipped {
                reason: SkipReason::NoSuite,
            }),
            check(CheckOutcome::Failed {
                finding: Box::new(CheckFinding::NothingAcknowledged),
            }),
        ];
        assert!(
            failed_checks(&checks)
                .expect("one failed")
                .to_string()
                .contains("no commit was ever acknowledged")
        );
        let undone: Vec<String> = undone_checks(&checks).map(|one| one.to_string()).collect();
        assert!(
            undone.len() == 1 && undone[0].contains("whose tests could be run"),
            "{undone:?}"
        );
    }

    #[test]
    fn answers_are_asked_of_tables_in_the_engine_of_the_final_variant() {
        for (engine, are_mariadb, asked) in [
            ("InnoDB", false, "InnoDB"),
            ("MyISAM", false, "MyISAM"),
            ("Aria", true, "Aria"),
            // MySQL has none of it, nor questions for the other.
            ("Aria", false, "InnoDB"),
            ("ROCKSDB", true, "InnoDB"),
        ] {
            assert_eq!(asked_engine(engine, are_mariadb), asked, "{engine}");
        }
        let check = without_transactions("Aria");
        assert_eq!((check.passed(), check.is_broken()), (None, false));
        let told: Vec<String> = undone_checks(std::slice::from_ref(&check))
            .map(|one| one.to_string())
            .collect();
        assert!(told[0].contains("Aria has no transactions"), "{told:?}");
        // It is handed over, with that said.
        assert!(FinalCheck::may_be_handed_over(&[check]));
    }

    #[test]
    fn what_a_variant_is_not_killed_with_is_told() {
        let mut variant = Variant::base("mariadb-10.11");
        let (options, limits) = killed_with(&variant, "InnoDB");
        assert_eq!((options.engine.as_str(), limits), ("InnoDB", Vec::new()));
        assert_eq!(killed_with(&variant, "ROCKSDB").0.engine, "ROCKSDB");

        for (name, value) in [
            ("innodb_log_file_size", "1G"),
            ("innodb_buffer_pool_size", "24M"),
            ("innodb_flush_log_at_trx_commit", "2"),
            ("innodb_io_capacity", "2000"),
        ] {
            variant.config.insert(name.to_owned(), value.to_owned());
        }
        let (options, limits) = killed_with(&variant, "MyISAM");
        let names: Vec<&String> = options.config.keys().collect();
        assert_eq!(names, ["innodb_io_capacity"]);
        assert_eq!(options.engine, "InnoDB");
        let words: Vec<String> = limits.iter().map(CheckLimit::to_string).collect();
        assert_eq!(
            words,
            [
                "without innodb_flush_log_at_trx_commit, which gives durability up",
                "with innodb_log_file_size = 8M instead of 1G",
                "with tables in InnoDB, as those in MyISAM have no transactions",
            ]
        );
    }
}
