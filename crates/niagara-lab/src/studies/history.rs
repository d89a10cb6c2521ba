//! What this machine's noise was in earlier comparisons: it says how many couples a duel should have
//! and what can be seen in a given time.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result};
use niagara_error::Explain as _;
use niagara_model::{DuelRecord, SliceRecord};
use niagara_server::Cache;
use niagara_stats::{Components, DuelScore, components, optimal_couples};
use serde::{Deserialize, Serialize};

use crate::duels::score::score_alone;
use crate::plans::duel_plan::{couple_seconds, duel_seconds};
use crate::plans::observer::{Event, Observer};
use crate::plans::spec::{DuelSettings, Load};
use crate::studies::study::Study;

/// File in the cache, a comparison a line.
const FILE: &str = "noise-history.jsonl";
/// Comparisons that are read, newest first: a machine changes.
const MAX_COMPARISONS: usize = 40;
/// Degrees of freedom below which the history is no guide: within duels, between duels.
const ENOUGH: (f64, f64) = (100.0, 12.0);

/// One comparison's duels, as far as the noise is concerned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Comparison {
    workload: String,
    threads: u32,
    slice_seconds: f64,
    duels: Vec<Duel>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Duel {
    score: f64,
    couple_sd: f64,
    used: usize,
}

/// The noise of comparisons made on this machine.
#[derive(Debug, Clone)]
pub struct History {
    path: PathBuf,
}

impl History {
    /// The history kept in `cache`.
    pub fn of(cache: &Cache) -> Self {
        Self {
            path: cache.root().join(FILE),
        }
    }

    /// The history kept in `cache`, for a study that has this host to itself as the comparisons in it had: none where its load comes
    /// from another host, or where it leaves a part of this one to a live server.
    pub(crate) fn of_whole_host(
        cache: &Cache,
        has_client: bool,
        shares_host: bool,
    ) -> Option<Self> {
        (!has_client && !shares_host).then(|| Self::of(cache))
    }

    /// Learns from duels of `study`, whose load came from this host. That is a hint for later plans: where it cannot be kept, it is said,
    /// and what was measured stands.
    ///
    /// # Errors
    /// The study's slices cannot be read.
    pub(crate) fn learn(
        &self,
        load: &Load,
        study: &Study,
        duels: &[DuelRecord],
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let slices = study.store().slices(None)?;
        if let Err(error) = self.add(load, &study.duel_settings(), duels, &slices) {
            let told = error.explain();
            observer.see(Event::Note(&format!("not kept for later plans: {told}")));
        }
        Ok(())
    }

    /// Adds the duels of one comparison of the same two variants; fewer than two say nothing.
    ///
    /// # Errors
    /// The file cannot be written.
    fn add(
        &self,
        load: &Load,
        duel_settings: &DuelSettings,
        duels: &[DuelRecord],
        slices: &[SliceRecord],
    ) -> Result<()> {
        let duels: Vec<Duel> = duels
            .iter()
            .filter(|duel| duel.score.is_some())
            .filter_map(|duel| score_again(duel.seq, slices, duel_settings))
            .map(|score| Duel {
                score: score.score,
                couple_sd: score.couple_sd,
                used: score.used,
            })
            .collect();
        if duels.len() < 2 {
            return Ok(());
        }
        let line = serde_json::to_string(&Comparison {
            workload: load.workload.name().to_owned(),
            threads: load.threads,
            slice_seconds: duel_settings.slice_seconds,
            duels,
        })?;
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .with_context(|| format!("cannot open {}", self.path.display()))?;
        writeln!(file, "{line}").with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Variance components for this kind of load and slice, when enough is known.
    pub fn components(&self, load: &Load, duel_settings: &DuelSettings) -> Option<Components> {
        let text = std::fs::read_to_string(&self.path).ok()?;
        let known: Vec<Vec<DuelScore>> = text
            .lines()
            .rev()
            // A line cut short by a full disk is no reason to fail.
            .filter_map(|line| serde_json::from_str::<Comparison>(line).ok())
            .filter(|comparison| {
                comparison.workload == load.workload.name()
                    && comparison.threads == load.threads
                    && comparison.slice_seconds == duel_settings.slice_seconds
            })
            .take(MAX_COMPARISONS)
            .map(|comparison| comparison.duels.iter().map(Duel::as_score).collect())
            .collect();
        components(&known)
            .filter(|found| found.within_df >= ENOUGH.0 && found.between_df >= ENOUGH.1)
    }

    /// Couples of a duel that give the narrowest interval per minute here; `None` while too little is known.
    pub(crate) fn best_couples(&self, load: &Load, duel_settings: &DuelSettings) -> Option<u32> {
        let components = self.components(load, duel_settings)?;
        Some(optimal_couples(
            &components,
            duel_seconds(duel_settings, 0),
            couple_seconds(duel_settings),
        ))
    }
}

impl Duel {
    fn as_score(&self) -> DuelScore {
        DuelScore {
            score: self.score,
            raw: self.score,
            couple_sd: self.couple_sd,
            used: self.used,
            dropped: [0, 0],
            stalled: [0, 0],
        }
    }
}

/// The score of one duel with its spread, from its slices.
pub(crate) fn score_again(
    duel: u32,
    slices: &[SliceRecord],
    duel_settings: &DuelSettings,
) -> Option<DuelScore> {
    let of_duel: Vec<&SliceRecord> = slices.iter().filter(|slice| slice.duel == duel).collect();
    score_alone(&of_duel, duel_settings.half_weight())
}

#[cfg(test)]
mod tests {
    use niagara_load::WorkloadSpec;

    use super::*;

    #[test]
    fn the_noise_of_a_whole_host_says_nothing_of_a_share() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let duel = |duel: i32| Duel {
            score: 0.002 * f64::from(duel % 5 - 2),
            couple_sd: 0.01,
            used: 20,
        };
        let comparison = Comparison {
            workload: WorkloadSpec::default().name().to_owned(),
            threads: 8,
            slice_seconds: 0.5,
            duels: (0..20).map(duel).collect(),
        };
        let line = serde_json::to_string(&comparison).expect("plain data");
        std::fs::write(folder.path().join(FILE), format!("{line}\n")).expect("room");
        let load = Load {
            workload: WorkloadSpec::default(),
            engine: "InnoDB".to_owned(),
            threads: 8,
        };
        let settings = DuelSettings {
            couples: 20,
            slice_seconds: 0.5,
            ramp_seconds: 0.05,
            warm_up_seconds: 4.0,
            disturbance: 0.05,
        };
        for (has_client, shares_host, is_known) in [
            (false, false, true),
            (true, false, false),
            (false, true, false),
        ] {
            let history = History::of_whole_host(&cache, has_client, shares_host);
            let known = history.and_then(|history| history.components(&load, &settings));
            assert_eq!(known.is_some(), is_known, "{has_client} {shares_host}");
        }
    }
}
