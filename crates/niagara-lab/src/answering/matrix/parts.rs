//! The parts in which a matrix is measured, each by a command of its own: what earlier ones left to this one, what it adds, and whether
//! they may stand in one report.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use niagara_error::{Problem, bail, problem};
use niagara_model::{
    BuildCheck, BuildNote, Cell, CellOutcome, Confirmed, Deployment, EventRecord, FinalCheck,
    MatrixSummary, MatrixWorkload, MeasuredPart, MethodControl, NextPart, Phase, Reason, Summary,
    Warning, best_combination,
};
use niagara_stats::{ErrorBudget, LookPlan};
use niagara_store::Store;
use serde::{Deserialize, Serialize};

use crate::answering::confirmation::{confirmation_alpha, is_proven};
use crate::asking::level_sets::{LevelSet, MatrixQuestion};
use crate::asking::question::{Question, StudyDescription};
use crate::asking::wanted_level::WantedLevel;
use crate::duels::arena::unix_ms;
use crate::studies::checkpoint::{self, Checkpoint};
use crate::studies::host_identity::HostIdentity;
use crate::studies::part_begun::part_begun;

/// What a part was begun with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartRecord {
    /// The levels that it asked for; none: all of them.
    pub asked: Vec<WantedLevel>,
    /// Start, milliseconds since the Unix epoch.
    pub started_unix_ms: i64,
    /// Where its duels were run.
    pub host_identity: HostIdentity,
    /// By the name of a server and its build: the SHA-256 of the binary.
    pub binaries: BTreeMap<String, String>,
    /// What earlier parts left to it.
    pub earlier: Earlier,
}

/// What a part of a matrix was begun with.
pub(crate) fn part_record() -> Checkpoint<PartRecord> {
    Checkpoint::named("part")
}

/// What earlier parts left to one that begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Earlier {
    /// All cells: those that were measured to a verdict, and why the others were not.
    pub cells: Vec<Cell>,
    /// The loads, with what is known of their training.
    pub workloads: Vec<MatrixWorkload>,
    /// The parts.
    pub parts: Vec<MeasuredPart>,
    /// The confirmation that counts.
    pub confirmed: Option<Confirmed>,
    /// Whether that one proved its combination, and the part ended before that was checked.
    pub is_unchecked: bool,
    /// The other ones.
    pub other_confirmations: Vec<Confirmed>,
    /// The error probability that all of them were given of which a duel counts.
    pub spent: f64,
    /// Of every part.
    pub controls: Vec<MethodControl>,
    /// Of the confirmation that counts.
    pub builds: Vec<BuildNote>,
    /// Of the confirmation that counts.
    pub checks: Vec<FinalCheck>,
    /// Of the confirmation that counts.
    pub deployment: Option<Deployment>,
    /// What a reader must know of the cells.
    pub warnings: Vec<Warning>,
}

impl Earlier {
    /// What `summary` says to a part that begins; `fewest` duels tell a difference.
    fn of(summary: MatrixSummary, spent: f64, warnings: Vec<Warning>, fewest: usize) -> Self {
        let cells = summary
            .cells
            .into_iter()
            .map(|cell| match is_cut_short(&cell, fewest) {
                true => Cell {
                    outcome: CellOutcome::NotTried {
                        reason: Reason::CutShort,
                    },
                    ..cell
                },
                false => cell,
            });
        // One that was stopped within its duels, or whose time ended before it could call anything, stands for nothing; one in which a
        // side failed was tried.
        let is_judged = |confirmed: &Confirmed| {
            let judged = confirmed.comparison.judged();
            let needed = LookPlan::fewest_duels(judged.alpha).filter(|_| fewest > 0);
            let failed = confirmed.comparison.failed.is_some();
            failed || (judged.verdict.is_some() && judged.duels >= needed.unwrap_or(0))
        };
        let confirmed = summary.confirmed.filter(is_judged);
        // What was proven stays proven, and is not spent on again: its check alone is made up for.
        let is_unknown = |note: &BuildNote| matches!(note.check, BuildCheck::Unknown { .. });
        let lacks_a_check = !FinalCheck::may_be_handed_over(&summary.header.checks)
            || summary.header.builds.iter().any(is_unknown);
        let is_unchecked = !summary.header.complete
            && lacks_a_check
            && confirmed.as_ref().is_some_and(|confirmed| {
                is_proven(confirmed) && confirmed.comparison.may_be_recommended()
            });
        let mut other_confirmations = summary.other_confirmations;
        other_confirmations.retain(is_judged);
        let counts = confirmed.is_some();
        let is_checked = counts && !is_unchecked;
        Self {
            cells: cells.collect(),
            workloads: summary.workloads,
            parts: summary.parts,
            confirmed,
            is_unchecked,
            other_confirmations,
            spent,
            controls: summary.controls,
            builds: if counts {
                summary.header.builds
            } else {
                Vec::new()
            },
            checks: if is_checked {
                summary.header.checks
            } else {
                Vec::new()
            },
            deployment: summary.header.deployment.filter(|_| is_checked),
            warnings,
        }
    }

    /// What is known of a cell.
    pub(crate) fn outcome(&self, title: &str, place: (usize, u32)) -> Option<&CellOutcome> {
        let mut cells = self.cells.iter();
        let found =
            cells.find(|cell| cell.title == title && (cell.workload, cell.threads) == place);
        found.map(|cell| &cell.outcome)
    }

    /// The same, where it was measured to the end: one that failed is tried again where it is asked for, as what could not be had is.
    pub(crate) fn measured(&self, title: &str, place: (usize, u32)) -> Option<&CellOutcome> {
        let outcome = self.outcome(title, place);
        outcome.filter(|outcome| match outcome {
            CellOutcome::Measured { comparison } => comparison.failed.is_none(),
            CellOutcome::NotTried { .. } => false,
        })
    }

    /// Whether a combination was confirmed there, or could not be.
    pub(crate) fn is_confirmed(&self, title: &str, place: (usize, u32)) -> bool {
        self.confirmed
            .iter()
            .chain(&self.other_confirmations)
            .any(|one| one.title == title && (one.workload, one.threads) == place)
    }

    /// The combination that was proven and still is to be checked.
    fn to_check(&self) -> Option<&str> {
        let confirmed = self.confirmed.as_ref().filter(|_| self.is_unchecked)?;
        Some(&confirmed.title)
    }

    /// The best combination so far, where it still is to be confirmed.
    fn to_confirm(&self, threads: &[u32], alpha: f64) -> Option<&str> {
        let best = best_combination(&self.cells, &self.workloads)?;
        let place = confirming(&self.workloads, threads);
        let can_be = confirmation_alpha(alpha, self.spent, true).is_some();
        (can_be && !self.is_confirmed(best, place)).then_some(best)
    }
}

/// Whether a part ended within a cell, so that it is measured anew when it is asked for again. What decides that is the clock or a stop, never
/// what its duels showed; one that a side ended by failing came to its end.
pub(crate) fn is_cut_short(cell: &Cell, fewest: usize) -> bool {
    let comparison = cell.comparison().filter(|_| cell.failure().is_none());
    comparison.is_some_and(|comparison| {
        let judged = comparison.judged();
        judged.verdict.is_none() || judged.duels < fewest
    })
}

/// The fewest duels by which a cell of the study tells a difference; 0 where it never does.
pub(crate) fn fewest_duels(study: &StudyDescription) -> usize {
    let errors = ErrorBudget::two_sided(study.alpha, study.duels);
    errors.fewest_duels().unwrap_or(0)
}

/// The workload and the thread count of the confirmation: one that no build was trained with, and the middle one of the counts (of two,
/// the larger one). They are ascending: with the fewest a machine idles and with the most it may stand in queues, and neither is how a
/// server runs.
pub(crate) fn confirming(workloads: &[MatrixWorkload], threads: &[u32]) -> (usize, u32) {
    let held_out = workloads.iter().position(|workload| !workload.trained);
    let threads = threads.get(threads.len() / 2).copied().unwrap_or(1);
    (held_out.unwrap_or(0), threads)
}

/// What measures more of a matrix of which these cells are known; `None` where no cell is left.
pub(crate) fn next_part(
    matrix: &MatrixQuestion,
    cells: &[Cell],
    fewest: usize,
    command: fn(&[WantedLevel]) -> String,
) -> Option<NextPart> {
    let is_left = |cell: &&Cell| cell.is_left() || is_cut_short(cell, fewest);
    let left = |set: &LevelSet| {
        let own = cells.iter().filter(|cell| cell.title == set.title);
        own.filter(is_left).count()
    };
    let part = matrix.next_part(&left)?;
    let sets = matrix.with_part(part.clone()).sets();
    Some(NextPart {
        command: command(&part),
        cells: sets.iter().filter(|set| !set.is_left).map(left).sum(),
        left: cells.iter().filter(is_left).count(),
    })
}

/// A part of a matrix that is about to begin or to be continued.
#[derive(Debug, Clone)]
pub(crate) struct PartOpening {
    /// Whether it begins.
    pub begins: bool,
    /// What earlier parts left to it.
    pub earlier: Earlier,
    /// The rows that have to be set up for it, by their titles.
    pub rows: BTreeSet<String>,
    /// Cells that it adds, as far as they are to be had.
    pub adds: usize,
    /// Cells that it asks for.
    asks_for: usize,
    /// Rows with cells that are neither measured nor asked for.
    rows_left: usize,
    /// All parts so far.
    records: Vec<PartRecord>,
}

impl PartOpening {
    /// The next part of the matrix that `study` asks for a part of, by what its results hold.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn read(
        study: &StudyDescription,
        matrix: &MatrixQuestion,
        store: Option<&Store>,
    ) -> Result<Self> {
        let Some(store) = store else {
            return Ok(Self::with(
                study,
                matrix,
                true,
                Earlier::default(),
                Vec::new(),
            ));
        };
        let events = store.events()?;
        let record = part_record();
        let records = record.all(&events);
        let records = records.map(|value| record.read(value, store.path()));
        let records: Vec<PartRecord> = records.collect::<Result<_>>()?;
        let summary = store.summary()?;
        let is_over = summary.as_ref().is_some_and(Summary::is_complete);
        let last = record.last(&events).and(records.last());
        if let Some(last) = last.filter(|last| !is_over && is_same(&last.asked, &matrix.part)) {
            let earlier = last.earlier.clone();
            return Ok(Self::with(study, matrix, false, earlier, records));
        }
        let spent = spent(store, &events)?;
        let told = checkpoint::told();
        let last_told = told.all(&events).next_back();
        let last_told = last_told.map(|value| told.read(value, store.path()));
        let earlier = match summary {
            Some(Summary::Matrix(summary)) => Earlier::of(
                *summary,
                spent,
                last_told.transpose()?.unwrap_or_default(),
                fewest_duels(study),
            ),
            _ => Earlier::default(),
        };
        Ok(Self::with(study, matrix, true, earlier, records))
    }

    fn with(
        study: &StudyDescription,
        matrix: &MatrixQuestion,
        begins: bool,
        earlier: Earlier,
        records: Vec<PartRecord>,
    ) -> Self {
        let sets = matrix.sets();
        let missing = |set: &LevelSet| {
            let workloads = 0..study.workloads.len();
            let places = workloads.flat_map(|workload| {
                let threads = study.threads.iter();
                threads.map(move |&threads| (workload, threads))
            });
            places
                .filter(|&place| earlier.measured(&set.title, place).is_none())
                .count()
        };
        let asked = || sets.iter().skip(1).filter(|set| !set.is_left);
        let mut rows: BTreeSet<String> = asked()
            .filter(|set| missing(set) > 0)
            .map(|set| set.title.clone())
            .collect();
        let adds = asked().map(missing).sum();
        rows.extend(sets.first().map(|baseline| baseline.title.clone()));
        let best = earlier.to_confirm(&study.threads, study.alpha);
        rows.extend(
            best.into_iter()
                .chain(earlier.to_check())
                .map(str::to_owned),
        );
        Self {
            begins,
            adds,
            asks_for: asked().count() * study.workloads.len() * study.threads.len(),
            rows_left: (sets.iter())
                .filter(|set| set.is_left && missing(set) > 0)
                .count(),
            rows,
            earlier,
            records,
        }
    }

    /// Whether there is nothing to do: every cell that it asks for is there, and so is the confirmation of the best.
    pub(crate) fn is_there(&self) -> bool {
        // The baseline is always set up.
        self.begins && self.rows.len() <= 1
    }

    /// Whether `now`, which was read of the same results later, begins or continues the same part behind the same parts.
    ///
    /// # Errors
    /// What earlier parts left cannot be written as JSON.
    pub(crate) fn is_still(&self, now: &Self) -> Result<bool> {
        // As text: a figure that is not a number is equal to nothing, itself included.
        let left = |opening: &Self| serde_json::to_string(&opening.earlier);
        Ok(self.begins == now.begins
            && self.records.len() == now.records.len()
            && left(self)? == left(now)?)
    }

    /// Whether it may stand in one report with the parts that are there.
    ///
    /// # Errors
    /// Those were measured elsewhere: what differs, and what can be done.
    pub(crate) fn check_place(&self, folder: &Path, now: &HostIdentity) -> Result<()> {
        let differences: Vec<String> = (self.records.iter())
            .map(|record| record.host_identity.differences(now))
            .find(|found| !found.is_empty())
            .unwrap_or_default();
        if differences.is_empty() {
            return Ok(());
        }
        bail!(
            "{} holds parts of this matrix that were measured elsewhere ({}): their cells and those measured now do not go into one \
             report", folder.display(), differences.join("; ");
            remedy: "measure where those were measured, or name another folder with --out; `niagara report DIR DIR` \
             puts the two side by side"
        )
    }

    /// Whether its servers are those that the parts that are there were measured with.
    ///
    /// # Errors
    /// One of them is another one, which the parts have in common: the baseline's always is.
    pub(crate) fn check_binaries(
        &self,
        folder: &Path,
        now: &BTreeMap<String, String>,
    ) -> Result<()> {
        let changed = now.iter().find(|(server, binary)| {
            let mut then = self.records.iter();
            then.any(|record| {
                record
                    .binaries
                    .get(*server)
                    .is_some_and(|then| then != *binary)
            })
        });
        let Some((server, _)) = changed else {
            return Ok(());
        };
        bail!(
            "{} holds parts of this matrix that were measured with another binary of {server} than the one that is here now: \
             their cells and those measured now do not go into one report", folder.display();
            remedy: "name another folder with --out; \
             `niagara report DIR DIR` puts the two side by side"
        )
    }

    /// What is said to whoever asks for what is there.
    pub(crate) fn nothing_to_do(
        &self,
        matrix: &MatrixQuestion,
        study: &StudyDescription,
        folder: &Path,
        command: fn(&[WantedLevel]) -> String,
    ) -> Problem {
        let cells = &self.earlier.cells;
        let measured = cells.iter().filter_map(Cell::comparison).count();
        let what = match matrix.levels_in_words() {
            Some(levels) => format!("this part of the matrix ({levels})"),
            None => "the matrix".to_owned(),
        };
        let asked = match self.asks_for {
            1 => "the one cell".to_owned(),
            many => format!("all {many} cells"),
        };
        let results = folder.display();
        let there = format!("{results} has {asked} of {what}");
        let anew = "to measure again, name another folder with --out";
        match next_part(matrix, cells, fewest_duels(study), command) {
            Some(next) => problem!(
                "{there}; {measured} of the {} cells of the matrix are measured, {} left", cells.len(), next.left;
                remedy: "`{}` measures {} of them; `niagara report {results}` shows what is there; {anew}",
                next.command,
                next.cells
            ),
            None => problem!("{there}"; remedy: "`niagara report {results}` shows them; {anew}"),
        }
    }

    /// What stands in the results of it, once it is begun.
    pub(crate) fn record(
        &self,
        matrix: &MatrixQuestion,
        host_identity: HostIdentity,
        binaries: BTreeMap<String, String>,
    ) -> PartRecord {
        PartRecord {
            asked: matrix.part.clone(),
            started_unix_ms: unix_ms(SystemTime::now()),
            host_identity,
            binaries,
            earlier: self.earlier.clone(),
        }
    }

    /// What whoever watches has to know of what is there; nothing of a first part.
    pub(crate) fn announcement(&self, folder: &Path) -> Option<String> {
        let cells = &self.earlier.cells;
        let measured = cells.iter().filter_map(Cell::comparison).count();
        (!self.earlier.parts.is_empty()).then(|| {
            format!(
                "part {} of the matrix in {}: {measured} of its {} cells are there, {} to be measured",
                self.earlier.parts.len() + 1,
                folder.display(),
                cells.len(),
                self.adds
            )
        })
    }
}

/// Whether the same levels are asked for.
fn is_same(one: &[WantedLevel], other: &[WantedLevel]) -> bool {
    let sorted = |levels: &[WantedLevel]| {
        let mut levels = levels.to_vec();
        levels.sort();
        levels.dedup();
        levels
    };
    sorted(one) == sorted(other)
}

/// The error probability that confirmations used, of all parts: one whose time ended before a duel of it counted saw nothing, and has
/// used nothing.
fn spent(store: &Store, events: &[EventRecord]) -> Result<f64> {
    let (begun, given) = (part_begun(), checkpoint::confirmation());
    // By part: the duels before it, what its confirmation was given.
    let mut parts: Vec<(usize, f64)> = vec![(0, 0.0)];
    for event in events {
        if let Some(value) = begun.of(event) {
            parts.push((begun.read(value, store.path())?.duels, 0.0));
        } else if let (Some(value), Some(part)) = (given.of(event), parts.last_mut()) {
            part.1 = given.read(value, store.path())?;
        }
    }
    let duels = store.duels()?;
    let ends = parts.iter().skip(1).map(|part| part.0).chain([duels.len()]);
    let used = parts.iter().zip(ends).filter(|((from, _), end)| {
        let own = duels.get(*from..*end).unwrap_or_default();
        own.iter()
            .any(|duel| duel.phase == Phase::Total && duel.score.is_some())
    });
    Ok(used.map(|((_, share), _)| share).sum())
}

/// How far a matrix is of which parts may have been measured, for whoever plans the next one.
#[derive(Debug, Clone)]
pub struct PartsSoFar {
    /// Where its results are.
    pub folder: PathBuf,
    /// Cells that are measured, of those that are asked for now.
    pub there: usize,
    /// Cells that would be measured now, as far as they are to be had.
    pub adds: usize,
    /// Rows with cells that are neither measured nor asked for now.
    pub rows_left: usize,
    /// Whether the best combination would be confirmed, or cells be measured after which it may be.
    pub confirms: bool,
    rows: BTreeSet<String>,
}

impl PartsSoFar {
    /// Whether a row has to be set up for what would be measured now.
    pub fn is_wanted(&self, row: &LevelSet) -> bool {
        self.rows.contains(&row.title)
    }

    /// How far the matrix of `study` is by the results in `folder`.
    ///
    /// # Errors
    /// They cannot be read.
    pub(crate) fn read(
        study: &StudyDescription,
        folder: &Path,
        store: &Store,
    ) -> Result<Option<Self>> {
        let Question::Matrix(matrix) = &study.question else {
            return Ok(None);
        };
        let opening = PartOpening::read(study, matrix, Some(store))?;
        Ok(Some(Self {
            folder: folder.to_owned(),
            there: opening.asks_for - opening.adds,
            adds: opening.adds,
            rows_left: opening.rows_left,
            confirms: !opening.is_there(),
            rows: opening.rows,
        }))
    }
}

#[cfg(test)]
mod tests;
