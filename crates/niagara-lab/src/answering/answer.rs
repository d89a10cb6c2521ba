//! A question and its way to an answer, the same for every kind of question and whoever asks it: the results folder is
//! chosen, servers are set up, the study is opened, measured and summed up.

use anyhow::{Context, Result};
use niagara_error::{Explain as _, bail};
use niagara_server::Cancelled;

use crate::answering::compare::{CompareRun, check_trimmed};
use crate::answering::identical::NoiseRun;
use crate::answering::ladder::LadderRun;
use crate::answering::matrix::combinations::combinations;
use crate::answering::matrix::parts::{fewest_duels, part_record};
use crate::answering::matrix::{MatrixPart, MatrixRun};
use crate::answering::measuring::{Found, Measuring};
use crate::answering::opening::Opening;
use crate::answering::sweep::Run;
use crate::answering::sweep::set_up::SweepSetUp;
use crate::answering::tune::TuneRun;
use crate::answering::tune::set_up::TuneSetUp;
use crate::asking::question::{Question, StudyDescription};
use crate::asking::recipes_of::recipes_of;
use crate::plans::observer::{Event, Observer};
use crate::studies::host_identity::HostIdentity;
use crate::studies::memory_in_use::memory_in_use;
use crate::studies::results_folder::can_be_written;
use crate::studies::session::Session;
use crate::studies::set_up::SetUp;
use crate::studies::study::Study;
use niagara_model::Finding;

/// A study with what came of it.
pub struct Answer {
    /// Its results.
    pub study: Study,
    /// What they come to.
    pub found: Found,
}

/// Answers `question`: begins its study or continues the one that was stopped, until there is an answer, the time ends or
/// a stop is asked for, which is no error: what was found until then comes back.
///
/// # Errors
/// - The time is too short for the protocol of 2008.
/// - The results folder holds something else, or results cannot be written.
/// - Something cannot be set up, or nothing could be measured.
/// - It was stopped before there was anything to tell.
pub fn answer(
    question: &StudyDescription,
    session: &Session<'_>,
    observer: &mut dyn Observer,
) -> Result<Answer> {
    check_trimmed(question)?;
    let opening = Opening::choose(question, session)?;
    // Before servers are fetched and data loaded, which takes minutes.
    can_be_written(opening.folder())?;
    let set_up = SetUp::new(question, session, observer)?;
    let recipes = recipes_of(question, &|row| {
        let part = opening.part();
        part.is_some_and(|part| part.rows.contains(&row.title))
    });
    set_up.build_ahead(&recipes, observer)?;
    let open = |observer: &mut dyn Observer| begin(&opening, &set_up, session, observer);
    // Servers for the study's first load; a matrix and a sweep have benches for all of theirs.
    let first_bench = || set_up.bench(question.first_load());
    let duel_settings = &opening.duel_settings;
    let (study, found) = match &question.question {
        Question::Compare { sides, .. } => {
            let mut bench = first_bench();
            let a = set_up.variant(&sides[0], &mut bench, observer)?;
            let b = set_up.variant(&sides[1], &mut bench, observer)?;
            let mut study = open(observer)?;
            let mut comparing = CompareRun::new(&set_up, &bench, [a, b], &study)?;
            let found = conduct(&mut comparing, &mut study, observer)?;
            (study, found)
        }
        Question::Tune(tune) => {
            let mut bench = first_bench();
            let parts = TuneSetUp::new(&set_up, &mut bench, tune, &opening, observer)?;
            let mut study = open(observer)?;
            let connections = bench.load().threads;
            let options = parts.options(&set_up, tune, duel_settings, connections, study.seed())?;
            let mut tuning = TuneRun::new(&bench, &options);
            for finding in &question.findings {
                tuning.warn(finding.clone());
            }
            let found = conduct(&mut tuning, &mut study, observer)?;
            (study, found)
        }
        Question::Ladder { start, rungs } => {
            let mut bench = first_bench();
            let start = set_up.variant(start, &mut bench, observer)?;
            if let Some(budget) = set_up.study.build_budget {
                bench.build_within(budget);
            }
            let mut study = open(observer)?;
            let mut climbing = LadderRun::new(
                &set_up,
                &mut bench,
                start,
                rungs,
                duel_settings,
                study.seed(),
            );
            let found = conduct(&mut climbing, &mut study, observer)?;
            (study, found)
        }
        Question::Matrix(matrix) => {
            let part = opening.part().context("a matrix has parts")?;
            let parts = combinations(&set_up, matrix, part, observer)?;
            let binaries = parts.binaries()?;
            part.check_binaries(opening.folder(), &binaries)?;
            let mut study = open(observer)?;
            let host_identity = HostIdentity::of(session)?;
            let record = study.recall_or(&part_record(), || {
                Ok(part.record(matrix, host_identity, binaries))
            })?;
            let part = MatrixPart {
                matrix,
                record,
                fewest: fewest_duels(question),
                command: session.command_of_part,
            };
            let options = parts.options(&set_up, duel_settings, study.seed(), part)?;
            let found = conduct(&mut MatrixRun::new(&options), &mut study, observer)?;
            (study, found)
        }
        Question::Sweep { variants } => {
            let parts = SweepSetUp::new(&set_up, variants, observer)?;
            let mut study = open(observer)?;
            let options = parts.options(&set_up, duel_settings, study.seed());
            let found = conduct(&mut Run::new(&options), &mut study, observer)?;
            (study, found)
        }
        Question::Noise => {
            let mut bench = first_bench();
            bench.set_up_variant(&set_up.base, observer)?;
            let mut study = open(observer)?;
            let mut watching = NoiseRun::new(&set_up, &bench, duel_settings.couples, study.seed());
            let found = conduct(&mut watching, &mut study, observer)?;
            (study, found)
        }
    };
    Ok(Answer { study, found })
}

/// The study, begun or continued, on the fleet where there is one.
fn begin(
    opening: &Opening<'_>,
    set_up: &SetUp<'_>,
    session: &Session<'_>,
    observer: &mut dyn Observer,
) -> Result<Study> {
    if session.fleet.is_some() && set_up.study.origin.data.is_some() {
        bail!(
            "your data are on this machine, and are not carried to others";
            remedy: "leave out --on, or --data"
        );
    }
    let announcement = opening
        .part()
        .and_then(|part| part.announcement(opening.folder()));
    if let Some(text) = opening.passed_over() {
        observer.see(Event::Note(text));
    }
    let mut study = opening.open()?;
    // The parts of a matrix know their places themselves.
    if opening.part().is_none() {
        study.check_place(&HostIdentity::of(session)?)?;
    }
    if let Some(fleet) = session.fleet {
        study.run_on(fleet)?;
        if let Some(text) = study.fleet_announcement() {
            observer.see(Event::Note(text));
        }
    }
    if let Some(text) = &announcement {
        observer.see(Event::Note(text));
    }
    if session.fleet.is_none()
        && let Some(text) = memory_in_use(session, set_up)?
    {
        observer.see(Event::Note(&text));
    }
    if study.is_resumed() {
        observer.see(Event::Resumed {
            folder: study.folder(),
            used_seconds: study.used_seconds(),
        });
    } else if announcement.is_none() {
        set_up.note_start(&study)?;
    }
    Ok(study)
}

/// Measures to the end, the end of the time or a stop, which is no error: what was found until then comes back incomplete.
/// The summary is kept with the results.
///
/// # Errors
/// What no stop is to blame for.
pub(crate) fn conduct(
    measuring: &mut dyn Measuring,
    study: &mut Study,
    observer: &mut dyn Observer,
) -> Result<Found> {
    let ended = measuring.prepare(study, observer).and_then(|()| {
        study.start_clock();
        measuring.measure(study, observer)
    });
    study.end_sitting()?;
    let complete = match ended {
        Ok(()) => true,
        Err(error) if error.has::<Cancelled>() => {
            measuring.warn(Finding::Stopped);
            false
        }
        Err(error) => return Err(error),
    };
    let found = measuring.found(study, complete)?;
    if let Found::Summary(summary) = &found {
        study.store().set_summary(summary)?;
    }
    Ok(found)
}
