//! A matrix: combinations of levels, each against the baseline, for each workload and thread count.
//!
//! Cells are judged one by one, in an order drawn by the seed, each with an equal share of the time that is left, or with what
//! its first look takes where that is more: then the last ones go without. The
//! best combination is then confirmed by fresh duels: it was chosen for being the best, and winners exaggerate.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_load::counted;
use niagara_stats::{ErrorBudget, Rule, Verdict};
use niagara_store::{
    About, Axis, BuildNote, Cell, CellOutcome, Confirmed, Deployment, FinalCheck, Goal,
    MatrixSummary, MatrixWorkload, MethodControl, Phase, Summary, best_combination,
};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::client_host::ClientHost;
use crate::duels::spec::Protocol;
use crate::duels::workbench::Workbench;
use crate::questions::build_note::{BEST, Noted, build_notes, not_recommended};
use crate::questions::comparison::comparison;
use crate::questions::deployment::{Part, deployment};
use crate::questions::final_check::{check_final, failed_checks, touches_recovery, undone_checks};
use crate::questions::ladder::{in_short, pooled_sd};
use crate::questions::method_controls::{ControlOptions, alarms, measure_controls};
use crate::questions::sequential_test::{
    RunningTest, SequentialTest, TestOutcome, first_look_seconds, share_seconds,
};
use crate::studies::inventory::Inventory;
use crate::studies::measuring::{Found, Measuring};
use crate::studies::observer::{Event, Observer};
use crate::studies::study::Study;
use crate::variants::variant::Variant;
use crate::variants::with_room::with_room;
use niagara_server::Cancelled;
use niagara_stats::derive_seed;

/// A combination of levels.
#[derive(Debug, Clone)]
pub(crate) struct Combination {
    /// Level of each axis.
    pub levels: Vec<usize>,
    /// The levels that differ from the baseline.
    pub title: String,
    /// By workload: the variant, or why there is none here.
    pub variants: Vec<Result<Variant, String>>,
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
    /// Error probability of each cell on its own, and of the confirmation.
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
    /// The machine in one line, for the person who deploys what was found.
    pub machine: String,
}

/// Where a cell stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    combination: usize,
    workload: usize,
    threads: u32,
}

/// A matrix that is set up, filled until every cell is judged or the budget ends.
pub(crate) struct Filling<'a> {
    options: &'a MatrixOptions<'a>,
    places: Vec<Place>,
    outcomes: Vec<Option<CellOutcome>>,
    confirmed: Option<Confirmed>,
    controls: Vec<MethodControl>,
    checks: Vec<FinalCheck>,
    warnings: Vec<String>,
    complete: bool,
}

impl<'a> Filling<'a> {
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
        Self {
            options,
            outcomes: vec![None; places.len()],
            places,
            confirmed: None,
            controls: Vec::new(),
            checks: Vec::new(),
            warnings: Vec::new(),
            complete: false,
        }
    }

    fn fill(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let options = self.options;
        let mut order = Vec::new();
        for (index, &place) in self.places.iter().enumerate() {
            match self.sides(place) {
                Ok(sides) => order.push((index, sides)),
                Err(reason) => self.outcomes[index] = Some(CellOutcome::NotTried { reason }),
            }
        }
        let mut rng = ChaCha8Rng::seed_from_u64(derive_seed(options.seed, "matrix order", 0));
        order.shuffle(&mut rng);
        let errors = ErrorBudget::two_sided(options.alpha, options.duels);
        let count = order.len();
        self.measure_controls(study, errors, count, observer)?;
        for (done, (index, sides)) in order.into_iter().enumerate() {
            let place = self.places[index];
            let subject = self.subject(place);
            observer.see(Event::Stage {
                name: &format!("cell {} of {count}: {subject}", done + 1),
                seconds: study.left_seconds(),
            });
            // The confirmation at the end takes as long as a cell.
            let first_look = first_look_seconds(study, errors, options.couples);
            let open = study.left_seconds() - first_look;
            let share = share_seconds(open, count - done, first_look);
            let reserve = (study.left_seconds() - share).max(0.0);
            let (outcome, interrupted) = self.judge_cell(
                study,
                place,
                &subject,
                Phase::Cell,
                &sides,
                errors,
                reserve,
                observer,
            )?;
            self.outcomes[index] = Some(outcome);
            let kept = Summary::Matrix(Box::new(self.summary(study)?));
            study.store().set_summary(&kept)?;
            if interrupted {
                return Err(Cancelled.into());
            }
        }
        self.confirm(study, errors, observer)
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
        let (workload, threads) = self.confirming();
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
                start: &with_room(baseline, threads),
                errors,
                rule: options.rule,
                couples: options.couples,
                seed: options.seed,
                // The confirmation is one of them.
                questions: cells + 1,
            },
            observer,
        )?;
        self.controls = measured.controls;
        if measured.interrupted {
            return Err(Cancelled.into());
        }
        Ok(())
    }

    /// The workload and the thread count of the confirmation: one that no build was trained with, the most threads.
    fn confirming(&self) -> (usize, u32) {
        let options = self.options;
        let held_out = options
            .workloads
            .iter()
            .position(|workload| !workload.trained);
        let threads = options.threads.last().copied().unwrap_or(1);
        (held_out.unwrap_or(0), threads)
    }

    fn sides(&self, place: Place) -> Result<[Variant; 2], String> {
        let of = |combination: usize| -> Result<Variant, String> {
            let variant =
                self.options.combinations[combination].variants[place.workload].clone()?;
            Ok(with_room(&variant, place.threads))
        };
        let sides = [of(0)?, of(place.combination)?];
        if sides[0].id() == sides[1].id() {
            return Err("it changes nothing here".to_owned());
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

    #[expect(clippy::too_many_arguments, reason = "a cell is all of these")]
    fn judge_cell(
        &mut self,
        study: &mut Study,
        place: Place,
        subject: &str,
        phase: Phase,
        sides: &[Variant; 2],
        errors: ErrorBudget,
        reserve_seconds: f64,
        observer: &mut dyn Observer,
    ) -> Result<(CellOutcome, bool)> {
        let options = self.options;
        let Some(bench) = options.benches.get(&(place.workload, place.threads)) else {
            let reason = "its load was not set up".to_owned();
            return Ok((CellOutcome::NotTried { reason }, false));
        };
        let test = SequentialTest {
            phase,
            subject,
            goal: Goal::Throughput,
            a: &sides[0],
            b: &sides[1],
            errors,
            rule: options.rule,
            couples: options.couples,
            seed: derive_seed(options.seed, "cell", phase as u64),
            reserve_seconds,
            must_answer: phase == Phase::Total,
        };
        let tested = study.run(bench, RunningTest::begin(study, &test)?, observer)?;
        self.warn(subject, &tested);
        let outcome = if tested.duels.iter().any(|duel| duel.score.is_some()) {
            let comparison = comparison(study, &test, &tested)?;
            let caution = comparison.caution.as_ref();
            self.warnings
                .extend(caution.map(|text| format!("{subject}: {text}")));
            CellOutcome::Measured {
                comparison: Box::new(comparison),
            }
        } else {
            CellOutcome::NotTried {
                reason: tested.failure.as_deref().map(in_short).unwrap_or_else(|| {
                    "the time ended before it: give a longer --budget".to_owned()
                }),
            }
        };
        Ok((outcome, tested.interrupted))
    }

    fn warn(&mut self, what: &str, outcome: &TestOutcome) {
        // A cell without any duel says itself why.
        let untold = outcome
            .failure
            .as_ref()
            .filter(|_| !outcome.duels.is_empty());
        let all = outcome.warnings.iter().chain(untold);
        self.warnings
            .extend(all.map(|text| format!("{what}: {}", in_short(text))));
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
                outcome: outcome.clone().unwrap_or_else(|| CellOutcome::NotTried {
                    reason: "not yet: the study was stopped before it".to_owned(),
                }),
            })
            .collect()
    }

    fn confirm(
        &mut self,
        study: &mut Study,
        errors: ErrorBudget,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let options = self.options;
        let Some(combination) = self.best() else {
            return Ok(());
        };
        let (workload, threads) = self.confirming();
        let place = Place {
            combination,
            workload,
            threads,
        };
        let Ok(sides) = self.sides(place) else {
            return Ok(());
        };
        let title = options.combinations[combination].title.clone();
        observer.see(Event::Stage {
            name: &format!("confirming {title}"),
            seconds: study.left_seconds(),
        });
        let (outcome, interrupted) = self.judge_cell(
            study,
            place,
            "",
            Phase::Total,
            &sides,
            errors,
            0.0,
            observer,
        )?;
        if let CellOutcome::Measured { comparison } = outcome {
            self.confirmed = Some(Confirmed {
                title,
                workload,
                threads,
                comparison: *comparison,
            });
        }
        if interrupted {
            return Err(Cancelled.into());
        }
        Ok(())
    }

    /// What there is to know of the confirmed combination's server, where it was built.
    fn builds(&self) -> Result<Vec<BuildNote>> {
        let options = self.options;
        let best = self.confirmed.as_ref().and_then(|confirmed| {
            let place = (confirmed.workload, confirmed.threads);
            let of = |combination: usize| {
                let variants = &options.combinations[combination].variants;
                variants.get(confirmed.workload)?.as_ref().ok()
            };
            let best = Noted {
                of: BEST,
                variant: of(self.best()?)?,
                beside: of(0),
            };
            Some((options.benches.get(&place)?, best))
        });
        best.map_or(Ok(Vec::new()), |(bench, best)| build_notes(bench, &[best]))
    }

    /// The best combination and where it was measured, once fresh duels proved it faster: workbench, baseline, it.
    fn proven(&self) -> Option<(&Confirmed, &'a Workbench, [&'a Variant; 2])> {
        let options = self.options;
        let confirmed = self.confirmed.as_ref()?;
        if confirmed.comparison.judged().verdict != Some(Verdict::Faster) {
            return None;
        }
        let of = |combination: usize| {
            let variant = options.combinations[combination]
                .variants
                .get(confirmed.workload)?;
            variant.as_ref().ok()
        };
        let bench = options
            .benches
            .get(&(confirmed.workload, confirmed.threads))?;
        Some((confirmed, bench, [of(0)?, of(self.best()?)?]))
    }

    /// Checks the best combination, which is handed over.
    fn check_best(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        let Some((_, bench, [baseline, best])) = self.proven() else {
            return Ok(());
        };
        let recovery = touches_recovery(best, &self.options.inventory.levers);
        self.checks = check_final(bench, study, [baseline, best], recovery, observer)?;
        self.warnings.extend(undone_checks(&self.checks));
        Ok(())
    }

    /// What installing the best combination takes; `None` unless fresh duels proved it faster.
    fn deployment(&self) -> Result<Option<Deployment>> {
        let options = self.options;
        let Some((confirmed, bench, [before, best])) = self.proven() else {
            return Ok(None);
        };
        let part = Part::between(&confirmed.title, before, best, &options.inventory.levers);
        let start = bench.start(&best.server);
        deployment(
            [bench.install_of(best)?, bench.install_of(before)?],
            best,
            &[part],
            &options.machine,
            start,
        )
        .map(Some)
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
        let not_recommended = not_recommended(&builds).or_else(|| failed_checks(&self.checks));
        let mut warnings: Vec<String> = not_recommended.into_iter().collect();
        let deployment = if warnings.is_empty() {
            self.deployment()?
        } else {
            None
        };
        warnings.extend(alarms(&self.controls));
        warnings.extend(self.warnings.clone());
        let benches = &mut options.benches.values();
        warnings.extend(benches.find_map(Workbench::client).map(ClientHost::remark));
        Ok(MatrixSummary {
            about: options.about.clone(),
            protocol: options.protocol.to_string(),
            server: options.server.clone(),
            server_version,
            seed: options.seed,
            alpha: options.alpha,
            budget_seconds: options.budget_seconds,
            elapsed_seconds: study.used_seconds(),
            load_seconds: study.load_seconds(),
            complete: self.complete,
            axes: options.axes.clone(),
            workloads: options.workloads.clone(),
            threads: options.threads.clone(),
            cells: self.cells(),
            controls: self.controls.clone(),
            confirmed: self.confirmed.clone(),
            builds,
            checks: self.checks.clone(),
            deployment,
            sd_duel: pooled_sd(study),
            warnings,
        })
    }
}

impl Measuring for Filling<'_> {
    fn prepare(&mut self, study: &mut Study, _observer: &mut dyn Observer) -> Result<()> {
        study.fix_warm_up();
        Ok(())
    }

    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        self.fill(study, observer)?;
        self.check_best(study, observer)?;
        self.complete = true;
        Ok(())
    }

    fn warn(&mut self, text: &str) {
        self.warnings.push(text.to_owned());
    }

    fn found(&self, study: &Study, _complete: bool) -> Result<Found> {
        let summary = self.summary(study)?;
        Ok(Found::Summary(Summary::Matrix(Box::new(summary))))
    }
}
