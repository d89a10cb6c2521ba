//! The parts of a tuning: the levers that apply here, their servers, the symbols for the final variant's profile.

use anyhow::Result;
use niagara_build::BuildStore;
use niagara_store::NotTried;

use crate::asking::choose_levers::{TuneQuestion, builds_ahead};
use crate::asking::own_training::train_on_own;
use crate::duels::spec::DuelSettings;
use crate::duels::workbench::Workbench;
use crate::profile::ShortProfile;
use crate::questions::prepare_builds::{prepare_builds, recipes_for};
use crate::questions::tune_options::TuneOptions;
use crate::studies::debug_symbols::debug_symbols;
use crate::studies::history::History;
use crate::studies::observer::{Event, Observer};
use crate::studies::set_up::SetUp;
use crate::variants::candidate::Candidate;
use crate::variants::lever_context::lever_context;

/// A tuning's parts.
pub(crate) struct TuneSetUp {
    candidates: Vec<Candidate>,
    not_applicable: Vec<NotTried>,
    profile: Option<ShortProfile>,
}

impl TuneSetUp {
    /// Sets up the server, chooses its levers, and builds what they want built.
    pub(crate) fn new(
        set_up: &SetUp<'_>,
        bench: &mut Workbench,
        tune: &TuneQuestion,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let (inventory, base) = (set_up.inventory, &set_up.base);
        let tune = tune.clone().with_ids(&inventory.levers)?;
        bench.set_up_variant(base, observer)?;
        let context = lever_context(&inventory.fingerprint()?, bench, &base.server)?;
        let (mut candidates, mut not_applicable) =
            tune.choose(&inventory.levers, context, bench.load().workload.name());
        if let Some(said) = train_on_own(&mut candidates, bench.load(), bench.origin()) {
            observer.see(Event::Note(&said));
        }
        let store = BuildStore::new(&inventory.cache);
        let (builds, no_time) = builds_ahead(&store, base, &mut candidates, tune.build_seconds);
        not_applicable.extend(no_time);
        if !builds.is_empty() {
            observer.see(Event::ToBuild {
                builds: &builds,
                seconds: tune.build_seconds,
            });
            set_up.build_ahead(&recipes_for(base, &candidates), observer)?;
            let left_out = prepare_builds(bench, base, &mut candidates, observer)?;
            not_applicable.extend(left_out);
        }
        let profile = match set_up.study.profile {
            true => Some(debug_symbols(inventory, bench, [base], observer)?),
            false => None,
        };
        Ok(Self {
            candidates,
            not_applicable,
            profile,
        })
    }

    /// How it is tuned.
    pub(crate) fn options(
        &self,
        set_up: &SetUp<'_>,
        bench: &Workbench,
        tune: &TuneQuestion,
        duel_settings: &DuelSettings,
        seed: u64,
    ) -> Result<TuneOptions> {
        let (study, inventory) = (set_up.study, set_up.inventory);
        Ok(TuneOptions {
            base: set_up.base.clone(),
            candidates: self.candidates.clone(),
            not_applicable: self.not_applicable.clone(),
            goal: study.goal,
            rate: study.rate,
            alpha: study.alpha,
            rule: study.rule(),
            budget_seconds: study.budget.as_secs_f64(),
            screen_couples: tune.screen_couples,
            couples: study.couples,
            slice_seconds: duel_settings.slice_seconds,
            seed,
            machine: inventory.machine()?,
            profile: self.profile.clone(),
            // The history is of loads that came from this host.
            noise: match &inventory.client {
                Some(_) => None,
                None => History::of(&inventory.cache).components(bench.load(), duel_settings),
            },
        })
    }
}
