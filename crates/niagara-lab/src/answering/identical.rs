//! Identical servers against each other, until the budget ends.

use anyhow::{Result, bail};
use niagara_model::{DuelRecord, Finding, Goal, Phase};
use niagara_stats::{DuelScore, ErrorBudget, Rule, components};

use crate::answering::measuring::{Found, Measuring};
use crate::answering::noise::{ALPHA, Noise};
use crate::answering::sequential_test::{RunningTest, SequentialTest};
use crate::asking::question::MAX_DUELS;
use crate::duels::workbench::Workbench;
use crate::plans::duel_plan::couple_seconds;
use crate::plans::observer::{Event, Observer};
use crate::studies::history::{History, score_again};
use crate::studies::set_up::SetUp;
use crate::studies::study::Study;
use crate::variants::variant::Variant;
use crate::variants::with_max_connections::with_max_connections;

/// A variant that is set against itself until the budget ends.
pub(crate) struct NoiseRun<'a> {
    bench: &'a Workbench,
    history: History,
    variant: Variant,
    couples: u32,
    seed: u64,
    duels: Vec<DuelRecord>,
}

impl<'a> NoiseRun<'a> {
    pub(crate) fn new(
        set_up: &'a SetUp<'_>,
        bench: &'a Workbench,
        couples: u32,
        seed: u64,
    ) -> Self {
        Self {
            bench,
            history: History::of(&set_up.inventory.cache),
            variant: with_max_connections(&set_up.base, bench.load().threads),
            couples,
            seed,
            duels: Vec::new(),
        }
    }
}

impl Measuring for NoiseRun<'_> {
    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()> {
        observer.see(Event::Stage {
            name: "identical servers",
            seconds: study.left_seconds(),
        });
        let test = SequentialTest {
            phase: Phase::Noise,
            subject: "",
            goal: Goal::Throughput,
            a: &self.variant,
            b: &self.variant,
            errors: ErrorBudget::two_sided(ALPHA, MAX_DUELS),
            rule: Rule {
                to_the_end: true,
                ..Rule::default()
            },
            shape: self.couples.into(),
            seed: self.seed,
            reserve_seconds: 0.0,
            must_answer: false,
            narrow_to: None,
            continues: None,
            best_part: None,
        };
        let outcome = study.run(
            self.bench,
            RunningTest::begin(study, &test)?,
            // It has no summary.
            None,
            observer,
        )?;
        if let (Some(failure), true) = (&outcome.failure, outcome.duels.is_empty()) {
            bail!("{failure}");
        }
        let duels = &outcome.duels;
        self.history
            .learn(self.bench.load(), study, duels, observer)?;
        self.duels = outcome.duels;
        Ok(())
    }

    /// A measurement of the noise has no summary, and what was measured until a stop is worth as much as the rest.
    fn warn(&mut self, _finding: Finding) {}

    fn found(&self, study: &Study, _complete: bool) -> Result<Found> {
        let slices = study.store().slices(None)?;
        let duel_settings = study.duel_settings();
        let duels: Vec<DuelScore> = self
            .duels
            .iter()
            .filter_map(|duel| score_again(duel.seq, &slices, &duel_settings))
            .collect();
        let couple_seconds = couple_seconds(&duel_settings);
        let start_seconds = niagara_stats::median(
            &self
                .duels
                .iter()
                .map(|duel| duel.wall_seconds - f64::from(duel.couples) * couple_seconds)
                .collect::<Vec<_>>(),
        )
        .unwrap_or(0.0);
        Ok(Found::Noise(Noise {
            components: components(std::slice::from_ref(&duels)),
            run: self.duels.len(),
            duels,
            start_seconds,
            couple_seconds,
            duel_settings,
        }))
    }
}
