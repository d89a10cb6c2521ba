//! The parts of a sweep: a workbench for each thread count, the variants, the symbols for their profiles.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::answering::sweep::SweepOptions;
use crate::asking::recipe::VariantRecipe;
use crate::duels::workbench::Workbench;
use crate::plans::observer::Observer;
use crate::plans::spec::DuelSettings;
use crate::profile::ShortProfile;
use crate::profile::debug_symbols::debug_symbols;
use crate::studies::set_up::{SetUp, without_threads};
use crate::variants::variant::Variant;

/// A sweep's parts.
pub(crate) struct SweepSetUp {
    benches: BTreeMap<u32, Workbench>,
    /// Titles and variants.
    variants: Vec<(String, Variant)>,
    profile: Option<ShortProfile>,
}

impl SweepSetUp {
    /// Sets up every thread count's load and every variant.
    pub(crate) fn new(
        set_up: &SetUp<'_>,
        recipes: &[VariantRecipe],
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut benches = BTreeMap::new();
        let mut variants: Vec<(String, Variant)> = Vec::new();
        for &threads in &set_up.study.threads {
            let mut bench = set_up.bench(set_up.study.load(0, threads));
            for (index, recipe) in recipes.iter().enumerate() {
                match variants.get(index) {
                    Some((_, variant)) => bench.set_up_variant(variant, observer)?,
                    None => {
                        let variant =
                            set_up.variant_for_any_threads(recipe, &mut bench, observer)?;
                        let title = recipe.title.clone().unwrap_or_else(|| variant.label());
                        variants.push((title, variant));
                    }
                }
            }
            benches.insert(threads, bench);
        }
        let profile = match (set_up.study.profile, benches.values().next()) {
            (true, Some(bench)) => {
                let variants = variants.iter().map(|(_, variant)| variant);
                Some(debug_symbols(set_up.inventory, bench, variants, observer)?)
            }
            _ => None,
        };
        Ok(Self {
            benches,
            variants,
            profile,
        })
    }

    /// How it is swept.
    pub(crate) fn options(
        &self,
        set_up: &SetUp<'_>,
        duel_settings: &DuelSettings,
        seed: u64,
    ) -> SweepOptions<'_> {
        let study = set_up.study;
        SweepOptions {
            about: study.words(),
            variants: self.variants.clone(),
            benches: &self.benches,
            rounds: study.duels as u32,
            couples: duel_settings.couples,
            alpha: study.alpha,
            seed,
            budget_seconds: study.budget.as_secs_f64(),
            workload: without_threads(&study.workloads[0].load),
            profile: self.profile.clone(),
        }
    }
}
