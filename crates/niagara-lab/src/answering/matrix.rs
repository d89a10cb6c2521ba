//! A matrix: combinations of levels, each against the baseline, for each workload and thread count.
//!
//! Cells are judged one by one, in an order drawn by the seed, each with an equal share of the time that is left, or with what
//! its first look takes where that is more: then the last ones go without. The
//! best combination is then confirmed by fresh duels: it was chosen for being the best, and winners exaggerate.
//!
//! A command may ask for a part of it. Cells that earlier parts measured to a verdict stand as they are, and what is asked for beside them is
//! measured. Every part has controls of its own: they say whether the method works as the machine is now, and it is another evening.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_load::counted;
use niagara_model::{
    About, Axis, Cell, CellOutcome, Confirmed, FinalCheck, Finding, Goal, MatrixSummary,
    MatrixWorkload, MeasuredPart, MethodControl, Phase, Reason, SameAnswers, StudyHeader, Summary,
    Warning, best_combination,
};
use niagara_stats::{ErrorBudget, Rule, TableCell, over_the_whole_table};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::answering::build_note::not_recommended;
use crate::answering::comparison::comparison;
use crate::answering::confirmation::{
    confirmation_alpha, confirmation_errors, confirmation_subject, which_counts,
};
use crate::answering::failure_summary::{warnings, why_unmeasured};
use crate::answering::final_check::{failed_checks, undone_checks};
use crate::answering::ladder::pooled_sd;
use crate::answering::matrix::parts::{Earlier, PartRecord, confirming, is_cut_short, next_part};
use crate::answering::measuring::{Found, Measuring};
use crate::answering::method_controls::{ControlOptions, alarms, measure_controls};
use crate::answering::same_answers::other_answers;
use crate::answering::sequential_test::{
    RunningTest, SequentialTest, TestOutcome, first_look_seconds, open_seconds, share_seconds,
};
use crate::asking::level_sets::MatrixQuestion;
use crate::asking::wanted_level::WantedLevel;
use crate::duels::inventory::{Inventory, MeasuredMachine};
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::Protocol;
use crate::studies::checkpoint;
use crate::studies::study::Study;
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

pub(crate) mod combinations;
mod handing_over;
pub(crate) mod parts;

use handing_over::known_answers;

/// A combination of levels.
#[derive(Debug, Clone)]
pub(crate) struct Combination {
    /// Level of each axis.
    pub levels: Vec<usize>,
    /// The levels that differ from the baseline.
    pub title: String,
    /// Whether it is not in the part that is measured now.
    pub is_left: bool,
    /// By workload: the variant, or why there is none here.
    pub variants: Vec<Result<Variant, Reason>>,
    /// By workload: whether its build was trained with it.
    pub trained: Vec<bool>,
}

/// What is filled in.
pub(crate) struct MatrixOptions<'a> {
    /// The study's words.
    pub about: Option<About>,
    /// Server name, for people.
    pub server: String,
    /// What is combined.
    pub axes: Vec<Axis>,
    /// All combinations, the baseline first.
    pub combinations: Vec<Combination>,
    /// The loads.
    pub workloads: Vec<MatrixWorkload>,
    /// Connections, ascending.
    pub threads: Vec<u32>,
    /// A workbench for each workload and thread count.
    pub benches: &'a BTreeMap<(usize, u32), Workbench>,
    /// How variants meet.
    pub protocol: Protocol,
    /// Error probability of each cell on its own, and of all confirmations together.
    pub alpha: f64,
    /// Smallest worthwhile gain, futility.
    pub rule: Rule,
    /// Most duels for one cell.
    pub duels: usize,
    /// Couples of a duel.
    pub couples: u32,
    /// Seed.
    pub seed: u64,
    /// Seconds asked for.
    pub budget_seconds: f64,
    /// Whether the controls are measured.
    pub controls: bool,
    /// Levers and machine.
    pub inventory: &'a Inventory,
    /// The machine, for the person who deploys what was found.
    pub machine: MeasuredMachine,
    /// The part that is measured now.
    pub part: MatrixPart<'a>,
}

/// The part of a matrix that is measured now.
pub(crate) struct MatrixPart<'a> {
    /// The matrix, with that part of it.
    pub matrix: &'a MatrixQuestion,
    /// What it was begun with.
    pub record: PartRecord,
    /// The fewest duels by which a cell tells a difference.
    pub fewest: usize,
    /// The command that measures another one.
    pub command: fn(&[WantedLevel]) -> String,
}

impl MatrixPart<'_> {
    fn earlier(&self) -> &Earlier {
        &self.record.earlier
    }

    /// Its place among the parts, from 0.
    fn number(&self) -> usize {
        self.earlier().parts.len()
    }
}

/// Where a cell stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    combination: usize,
    workload: usize,
    threads: u32,
}

/// A test of a cell, or of the confirmation.
struct Asked<'t> {
    place: Place,
    phase: Phase,
    /// What its duels are known by.
    subject: &'t str,
    /// What people call it.
    name: &'t str,
    sides: &'t [Variant; 2],
    errors: ErrorBudget,
    reserve_seconds: f64,
}

/// What becomes of a cell whose servers are not to be had here.
fn not_to_be_had(reason: Reason) -> CellOutcome {
    CellOutcome::NotTried { reason }
}

/// Where in what is told the outcome of a cell or a confirmation goes.
type Take<'t> = dyn Fn(&mut MatrixRun<'_>, CellOutcome) + 't;

/// A matrix that is set up, filled until every cell is judged or the budget ends.
#[derive(Clone)]
pub(crate) struct MatrixRun<'a> {
    options: &'a MatrixOptions<'a>,
    /// The seed of this part.
    seed: u64,
    places: Vec<Place>,
    outcomes: Vec<Option<CellOutcome>>,
    /// The confirmation that counts.
    confirmed: Option<Confirmed>,
    /// Whether this part checks it and hands it over: it is of this part, or of an earlier one that ended before its check.
    is_ours: bool,
    other_confirmations: Vec<Confirmed>,
    /// Of this part.
    controls: Vec<MethodControl>,
    checks: Vec<FinalCheck>,
    /// Of a capture: whether the best combination answers it as the baseline does.
    answers: Option<SameAnswers>,
    warnings: Vec<Warning>,
    complete: bool,
}

impl<'a> MatrixRun<'a> {
    pub(crate) fn new(options: &'a MatrixOptions<'a>) -> Self {
        let mut places = Vec::new();
        for combination in 1..options.combinations.len() {
            for workload in 0..options.workloads.len() {
                for &threads in &options.threads {
                    places.push(Place {
                        combination,
                        workload,
                        threads,
                    });
                }
            }
        }
        let earlier = options.part.earlier();
        let number = options.part.number();
        let mut filling = Self {
            options,
            seed: match number {
                0 => options.seed,
                // Its tosses are its own, also for a cell that is measured anew.
                number => derive_seed(options.seed, "part", number as u64),
            },
            outcomes: Vec::new(),
            places,
            confirmed: earlier.confirmed.clone(),
            is_ours: earlier.is_unchecked,
            other_confirmations: earlier.other_confirmations.clone(),
            controls: Vec::new(),
            checks: earlier.checks.clone(),
            answers: earlier.confirmed.as_ref().and_then(known_answers),
            warnings: earlier.warnings.clone(),
            complete: false,
        };
        let known = filling.places.iter().map(|&place| filling.known(place));
        filling.outcomes = known.collect();
        filling
    }

    fn fill(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let options = self.options;
        let asked = self.outcomes.iter().enumerate();
        let asked = asked.filter(|(_, outcome)| outcome.is_none());
        let mut order: Vec<usize> = asked.map(|(index, _)| index).collect();
        // Of all that is asked for: what is not to be had may be another cell in a sitting that continues this one.
        let mut rng = ChaCha8Rng::seed_from_u64(derive_seed(self.seed, "matrix order", 0));
        order.shuffle(&mut rng);
        for &index in &order {
            if let Err(reason) = self.sides(self.places[index]) {
                self.outcomes[index] = Some(not_to_be_had(reason));
            }
        }
        let errors = ErrorBudget::two_sided(options.alpha, options.duels);
        let to_measure = order
            .iter()
            .filter(|&&index| self.outcomes[index].is_none());
        let count = to_measure.count();
        if count > 0 || self.to_confirm().is_some() {
            self.measure_controls(study, errors, count, observer)?;
        }
        // At the most: where no cell is left afterwards it has more of α, and takes fewer duels to its first look.
        let spent = options.part.earlier().spent;
        let share = confirmation_alpha(options.alpha, spent, false).unwrap_or(options.alpha);
        let confirmation = confirmation_errors(options.alpha, share, options.duels);
        let mut left = count;
        for index in order {
            let place = self.places[index];
            let subject = self.subject(place);
            let sides = match study.made_or_missing(&subject, |_| Ok(self.sides(place)))? {
                Ok(sides) => sides,
                Err(reason) => {
                    self.outcomes[index] = Some(not_to_be_had(reason));
                    continue;
                }
            };
            observer.see(Event::Stage {
                name: &format!("cell {} of {count}: {subject}", count - left + 1),
                seconds: study.left_seconds(),
            });
            let first_look = first_look_seconds(study, errors, options.couples);
            let reserve = first_look_seconds(study, confirmation, options.couples);
            let open = open_seconds(study.left_seconds(), reserve, first_look, left < count);
            let share = share_seconds(open, left, first_look);
            // Every cell that is measured is among those that were counted.
            left -= 1;
            let asked = Asked {
                place,
                phase: Phase::Cell,
                subject: &subject,
                name: &subject,
                sides: &sides,
                errors,
                reserve_seconds: (study.left_seconds() - share).max(0.0),
            };
            let take: &Take<'_> = &|filling, outcome| filling.outcomes[index] = Some(outcome);
            let interrupted = self.judge(study, &asked, take, observer)?;
            if interrupted {
                self.keep(study)?;
                return Err(Cancelled.into());
            }
            study.keep(&checkpoint::told(), &self.warnings)?;
            self.keep(study)?;
        }
        self.confirm(study, observer)
    }

    /// What is known of a cell without measuring it now: what an earlier part measured, or why it is not asked for.
    fn known(&self, place: Place) -> Option<CellOutcome> {
        let earlier = self.options.part.earlier();
        let combination = &self.options.combinations[place.combination];
        let here = (place.workload, place.threads);
        let measured = earlier.measured(&combination.title, here);
        if !combination.is_left || measured.is_some() {
            return measured.cloned();
        }
        let tried = earlier.outcome(&combination.title, here);
        Some(tried.cloned().unwrap_or(CellOutcome::NotTried {
            reason: Reason::NotAskedFor,
        }))
    }

    /// Keeps what is known by now.
    fn keep(&self, study: &Study) -> Result<()> {
        study.keep_unfinished(self.told(study, |_| Ok(()))?)
    }

    /// What is known by now, with what `take` adds of what is being measured.
    fn told(&self, study: &Study, take: impl FnOnce(&mut Self) -> Result<()>) -> Result<Summary> {
        let mut so_far = self.clone();
        take(&mut so_far)?;
        Ok(Summary::Matrix(Box::new(so_far.summary(study)?)))
    }

    /// The controls, under the load that the best combination will be confirmed under.
    fn measure_controls(
        &mut self,
        study: &mut Study,
        errors: ErrorBudget,
        cells: usize,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let options = self.options;
        let (workload, threads) = confirming(&options.workloads, &options.threads);
        let baseline = options.combinations[0].variants.get(workload);
        let bench = options.benches.get(&(workload, threads));
        let (Some(Ok(baseline)), Some(bench)) = (baseline, bench) else {
            return Ok(());
        };
        let measured = measure_controls(
            bench,
            study,
            options.inventory,
            &ControlOptions {
                wanted: options.controls,
                start: &with_max_connections(baseline, threads),
                errors,
                rule: options.rule,
                couples: options.couples,
                seed: self.seed,
                // The confirmation is one of them.
                questions: cells + 1,
                part: Some(options.part.number() + 1),
                tell: &|study, controls| {
                    self.told(study, |filling| {
                        filling.controls = controls.to_vec();
                        Ok(())
                    })
                },
            },
            observer,
        )?;
        self.controls = measured.controls;
        if measured.interrupted {
            return Err(Cancelled.into());
        }
        Ok(())
    }

    fn sides(&self, place: Place) -> Result<[Variant; 2], Reason> {
        let of = |combination: usize| -> Result<Variant, Reason> {
            let variant =
                self.options.combinations[combination].variants[place.workload].clone()?;
            Ok(with_max_connections(&variant, place.threads))
        };
        let sides = [of(0)?, of(place.combination)?];
        if sides[0].id() == sides[1].id() {
            return Err(Reason::ChangesNothing);
        }
        Ok(sides)
    }

    fn subject(&self, place: Place) -> String {
        let options = self.options;
        let mut subject = options.combinations[place.combination].title.clone();
        if options.workloads.len() > 1 {
            subject += &format!(", {}", options.workloads[place.workload].name);
        }
        format!("{subject}, {}", counted(u64::from(place.threads), "thread"))
    }

    /// Has a test judged, the outcome of which is taken by `take`; whether it was stopped within it.
    fn judge(
        &mut self,
        study: &mut Study,
        asked: &Asked<'_>,
        take: &Take<'_>,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let options = self.options;
        let place = (asked.place.workload, asked.place.threads);
        let Some(bench) = options.benches.get(&place) else {
            let outcome = CellOutcome::NotTried {
                reason: Reason::NoLoad,
            };
            take(self, outcome);
            return Ok(false);
        };
        let test = SequentialTest {
            phase: asked.phase,
            subject: asked.subject,
            goal: Goal::Throughput,
            a: &asked.sides[0],
            b: &asked.sides[1],
            errors: asked.errors,
            rule: options.rule,
            shape: options.couples.into(),
            seed: derive_seed(self.seed, "cell", asked.phase as u64),
            reserve_seconds: asked.reserve_seconds,
            must_answer: asked.phase == Phase::Total,
            narrow_to: None,
            continues: None,
            best_part: None,
        };
        let tested = study.run(
            bench,
            RunningTest::begin(study, &test)?,
            Some(&|study, so_far| {
                self.told(study, |filling| {
                    let outcome = filling.outcome_of(study, &test, asked.name, so_far)?;
                    take(filling, outcome);
                    Ok(())
                })
            }),
            observer,
        )?;
        let outcome = self.outcome_of(study, &test, asked.name, &tested)?;
        take(self, outcome);
        Ok(tested.interrupted)
    }

    /// What its duels say of a cell, or of the confirmation, which people call `name`; what a reader must know of it is told.
    fn outcome_of(
        &mut self,
        study: &Study,
        test: &SequentialTest<'_>,
        name: &str,
        tested: &TestOutcome,
    ) -> Result<CellOutcome> {
        // What an earlier part said of the same cell is over.
        self.warnings
            .retain(|warning| warning.about.as_deref() != Some(name));
        self.warn(name, tested);
        if !tested.duels.iter().any(|duel| duel.score.is_some()) {
            return Ok(CellOutcome::NotTried {
                reason: why_unmeasured(tested).unwrap_or(Reason::TimeEnded),
            });
        }
        let comparison = comparison(study, test, tested)?;
        let caution = comparison.caution.clone();
        self.warnings
            .extend(caution.map(|finding| Warning::about(name, finding)));
        Ok(CellOutcome::Measured {
            comparison: Box::new(comparison),
        })
    }

    fn warn(&mut self, what: &str, outcome: &TestOutcome) {
        // A cell without any duel says itself why.
        let tells_failure = !outcome.duels.is_empty();
        self.warnings.extend(warnings(what, outcome, tells_failure));
    }

    /// The combination with the highest mean gain: the one that is confirmed.
    fn best(&self) -> Option<usize> {
        let options = self.options;
        let cells = self.cells();
        // No two rows are called the same: reading the file has seen to that.
        let title = best_combination(&cells, &options.workloads)?;
        let mut combinations = options.combinations.iter();
        combinations.position(|combination| combination.title == title)
    }

    /// All cells, with what came of them so far.
    fn cells(&self) -> Vec<Cell> {
        let combinations = &self.options.combinations;
        let cells = self.places.iter().zip(&self.outcomes);
        cells
            .map(|(place, outcome)| Cell {
                levels: combinations[place.combination].levels.clone(),
                title: combinations[place.combination].title.clone(),
                workload: place.workload,
                threads: place.threads,
                trained: combinations[place.combination].trained[place.workload],
                p_over_table: None,
                outcome: outcome.clone().unwrap_or(CellOutcome::NotTried {
                    reason: Reason::StoppedBefore,
                }),
            })
            .collect()
    }

    /// All cells, with what the whole table says of each.
    fn over_the_table(&self, study: &Study) -> Vec<Cell> {
        let mut scores: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for duel in study.earlier_parts().iter().chain(study.done()) {
            if let (Phase::Cell, Some(score)) = (duel.phase, duel.score) {
                scores.entry(&duel.subject).or_default().push(score);
            }
        }
        let mut groups: Vec<(usize, u32)> = Vec::new();
        let mut cells = self.cells();
        let table: Vec<TableCell> = cells
            .iter()
            .zip(&self.places)
            .map(|(cell, &place)| {
                let load = (place.workload, place.threads);
                let group = groups.iter().position(|known| *known == load);
                let group = group.unwrap_or_else(|| {
                    groups.push(load);
                    groups.len() - 1
                });
                let judged = cell.comparison().map_or(0, |found| found.judged().duels);
                let own = scores.get(self.subject(place).as_str());
                let own = own.map_or(&[][..], Vec::as_slice);
                // Of a cell that was measured anew the last duels count.
                let counted = own.len().saturating_sub(judged);
                TableCell {
                    group,
                    scores: own[counted..].to_vec(),
                }
            })
            .collect();
        for (cell, p) in cells.iter_mut().zip(over_the_whole_table(&table)) {
            cell.p_over_table = p;
        }
        cells
    }

    /// The best combination, and where it is confirmed, unless it was confirmed before or could not be.
    fn to_confirm(&self) -> Option<Place> {
        let options = self.options;
        let combination = self.best()?;
        let (workload, threads) = confirming(&options.workloads, &options.threads);
        let title = &options.combinations[combination].title;
        let known = options
            .part
            .earlier()
            .is_confirmed(title, (workload, threads));
        (!known).then_some(Place {
            combination,
            workload,
            threads,
        })
    }

    /// Confirms the best combination, where cells of this part made another one the best, or earlier ones had no time for it.
    fn confirm(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let options = self.options;
        let Some(place) = self.to_confirm() else {
            return Ok(());
        };
        let title = options.combinations[place.combination].title.clone();
        let part = &options.part;
        let fewest = part.fewest;
        let is_left = |cell: &Cell| cell.is_left() || is_cut_short(cell, fewest);
        let is_last = !self.cells().iter().any(is_left);
        let share = confirmation_alpha(options.alpha, part.earlier().spent, is_last);
        let Some(share) = share else {
            self.warnings
                .push(Finding::NothingLeftToConfirm { title }.into());
            return Ok(());
        };
        let sides = match self.sides(place) {
            Ok(sides) => sides,
            Err(reason) => {
                self.warnings
                    .push(Finding::CouldNotConfirm { title, reason }.into());
                return Ok(());
            }
        };
        let share = study.recall_or(&checkpoint::confirmation(), || Ok(share))?;
        let name = format!("confirming {title}");
        observer.see(Event::Stage {
            name: &name,
            seconds: study.left_seconds(),
        });
        let subject = confirmation_subject(part.number());
        let asked = Asked {
            place,
            phase: Phase::Total,
            subject: &subject,
            name: &name,
            sides: &sides,
            errors: confirmation_errors(options.alpha, share, options.duels),
            reserve_seconds: 0.0,
        };
        let take: &Take<'_> = &|filling, outcome| {
            let CellOutcome::Measured { comparison } = outcome else {
                return;
            };
            let latest = Confirmed {
                title: title.clone(),
                workload: place.workload,
                threads: place.threads,
                subject: subject.clone(),
                comparison: *comparison,
            };
            let (counts, other) = which_counts(latest, filling.confirmed.take());
            filling.is_ours = counts.subject == subject || part.earlier().is_unchecked;
            filling.confirmed = Some(counts);
            filling.other_confirmations.extend(other);
            if filling.is_ours {
                filling.checks = Vec::new();
                filling.answers = None;
            }
        };
        let interrupted = self.judge(study, &asked, take, observer)?;
        if interrupted {
            return Err(Cancelled.into());
        }
        study.keep(&checkpoint::told(), &self.warnings)
    }

    fn summary(&self, study: &Study) -> Result<MatrixSummary> {
        let options = self.options;
        let server_version = options
            .benches
            .values()
            .next()
            .zip(options.combinations[0].variants[0].as_ref().ok())
            .and_then(|(bench, baseline)| bench.install_of(baseline).ok())
            .map(|install| install.version_string.clone())
            .unwrap_or_default();
        let builds = self.builds()?;
        let not_recommended = not_recommended(&builds)
            .or_else(|| failed_checks(&self.checks))
            .or_else(|| other_answers(self.answers.as_ref()));
        let mut warnings: Vec<Warning> = not_recommended.into_iter().map(Warning::from).collect();
        let deployment = if warnings.is_empty() {
            self.deployment()?
        } else {
            None
        };
        let earlier = options.part.earlier();
        let controls: Vec<MethodControl> = earlier
            .controls
            .iter()
            .chain(&self.controls)
            .cloned()
            .collect();
        warnings.extend(alarms(&controls).into_iter().map(Warning::from));
        warnings.extend(self.warnings.clone());
        warnings.extend(undone_checks(&self.checks).map(Warning::from));
        let benches = &mut options.benches.values();
        let host = benches.find_map(Workbench::client);
        warnings.extend(host.map(|host| Warning::from(host.remark())));
        let cells = self.over_the_table(study);
        let mut parts = earlier.parts.clone();
        parts.push(self.this_part(study));
        let workload: Vec<&str> = options
            .workloads
            .iter()
            .map(|load| load.one_line.as_str())
            .collect();
        Ok(MatrixSummary {
            header: StudyHeader {
                about: options.about.clone(),
                server: options.server.clone(),
                server_version,
                workload: workload.join("; "),
                goal: Goal::Throughput,
                rate: None,
                protocol: options.protocol.to_string(),
                seed: options.seed,
                alpha: options.alpha,
                budget_seconds: Some(parts.iter().map(|part| part.budget_seconds).sum()),
                elapsed_seconds: study.total_seconds(),
                load_seconds: study.load_seconds(),
                complete: self.complete,
                sd_duel: pooled_sd(study),
                builds,
                checks: self.checks.clone(),
                deployment,
                warnings,
            },
            parts,
            next_part: next_part(
                options.part.matrix,
                &cells,
                options.part.fewest,
                options.part.command,
            ),
            axes: options.axes.clone(),
            workloads: options.workloads.clone(),
            threads: options.threads.clone(),
            cells,
            controls,
            confirmed: self.confirmed.clone(),
            other_confirmations: self.other_confirmations.clone(),
        })
    }
}

impl MatrixRun<'_> {
    /// What this part measured so far.
    fn this_part(&self, study: &Study) -> MeasuredPart {
        let options = self.options;
        let earlier = options.part.earlier();
        // One that is not brought to a verdict is measured anew when it is asked for again.
        let is_own = |cell: &&Cell| {
            let place = (cell.workload, cell.threads);
            cell.comparison().is_some()
                && !is_cut_short(cell, options.part.fewest)
                && earlier.measured(&cell.title, place).is_none()
        };
        MeasuredPart {
            levels: options.part.matrix.levels_in_words(),
            started_unix_ms: options.part.record.started_unix_ms,
            cells: self.cells().iter().filter(is_own).count(),
            budget_seconds: options.budget_seconds,
            elapsed_seconds: study.used_seconds(),
        }
    }
}

impl Measuring for MatrixRun<'_> {
    fn prepare(&mut self, study: &mut Study, _observer: &mut dyn Observer) -> Result<()> {
        study.fix_warm_up();
        Ok(())
    }

    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        if self.options.part.number() > 0 {
            // From here on the matrix is not what the part before it left.
            self.keep(study)?;
        }
        self.fill(study, observer)?;
        self.complete = self.check_best(study, observer)?;
        Ok(())
    }

    fn warn(&mut self, finding: Finding) {
        self.warnings.push(finding.into());
    }

    fn found(&self, study: &Study, _complete: bool) -> Result<Found> {
        let summary = self.summary(study)?;
        Ok(Found::Summary(Summary::Matrix(Box::new(summary))))
    }
}
