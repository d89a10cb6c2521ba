//! The short profile at the end of a study: what limits now, in a few per cent of its budget.
//!
//! Only the two views that limits are told from, on the study's own server: what runs, and what is waited for. What was
//! observed once is kept in the results and not observed again.

use anyhow::{Context, Result};
use niagara_error::{Explain as _, Explanation};
use niagara_model::{Finding, ProfileRecord};
use niagara_profile::StoredProfile;
use niagara_profile::symbols::DebugFolders;

use super::{ProfileOptions, View, profile};
use crate::duels::workbench::Workbench;
use crate::plans::duel_plan::START_SECONDS;
use crate::plans::observer::{Event, Observer};
use crate::studies::study::Study;
use crate::variants::variant::Variant;

/// Share of the budget that all profiles of a study may take.
const SHARE: f64 = 0.05;
/// A profile of fewer seconds sees too little.
const MIN_SECONDS: f64 = 5.0;
/// More than this tells no more of what limits.
const MAX_SECONDS: f64 = 20.0;
/// Where the shortest profiles would take more of the budget than this, there is none.
const MAX_SHARE: f64 = 0.15;
/// What a study says that has no time for them.
pub(crate) const NO_TIME_FOR_A_PROFILE: Finding = Finding::NoProfile {
    subject: None,
    error: None,
};
const VIEWS: [View; 2] = [View::Cpu, View::OffCpu];

/// What a study's short profiles are taken with.
#[derive(Debug, Clone, Default)]
pub struct ShortProfile {
    /// Folders with symbols in files of their own.
    pub symbols: DebugFolders,
    /// What is known beforehand to be missing, and how to get it.
    pub missing: Vec<Explanation>,
}

/// Seconds of each of this many profiles within a budget; `None` when it is too short for them.
pub(crate) fn seconds_each(budget_seconds: f64, profiles: usize) -> Option<f64> {
    let profiles = profiles.max(1) as f64;
    let each = (budget_seconds * SHARE / profiles).clamp(MIN_SECONDS, MAX_SECONDS);
    (each * profiles <= budget_seconds * MAX_SHARE).then_some(each)
}

/// Seconds that a sweep of so many variants keeps for their profiles out of a budget.
pub fn sweep_profile_seconds(budget_seconds: f64, variants: usize) -> f64 {
    let each = seconds_each(budget_seconds, variants);
    each.map_or(0.0, |each| each * variants as f64)
}

/// Takes the profile of `subject` in about `seconds`, its start included, and keeps it, unless it is kept already. What
/// went wrong, or that there are no seconds for it, comes back as a warning: a study is none the worse for it.
///
/// # Errors
/// The study was stopped; results that cannot be written.
pub(crate) fn look(
    study: &mut Study,
    bench: &Workbench,
    subject: &str,
    variant: &Variant,
    short: &ShortProfile,
    seconds: f64,
    observer: &mut dyn Observer,
) -> Result<Option<Finding>> {
    let kept = study.store().profiles()?;
    if kept.iter().any(|profile| profile.subject == subject) {
        return Ok(None);
    }
    if seconds <= 0.0 {
        return Ok(Some(NO_TIME_FOR_A_PROFILE));
    }
    bench.cancel().check()?;
    observer.see(Event::Stage {
        name: &format!("what limits {subject} now"),
        seconds,
    });
    let options = options(short, seconds, study.seed());
    match profile(bench, variant, &options, observer) {
        Ok(found) => {
            // One that a stop cut short is taken anew when the study goes on.
            bench.cancel().check()?;
            let views = options.seconds * options.views.len() as f64;
            study.was_under_load(options.warm_up_seconds + options.slice_seconds + views);
            let content = serde_json::to_value(StoredProfile::from(&found))
                .context("cannot write a profile as JSON")?;
            study.store().set_profile(&ProfileRecord {
                subject: subject.to_owned(),
                content,
            })?;
            Ok(None)
        }
        Err(error) => {
            bench.cancel().check()?;
            Ok(Some(Finding::NoProfile {
                subject: Some(subject.to_owned()),
                error: Some(error.explain()),
            }))
        }
    }
}

fn options(short: &ShortProfile, seconds: f64, seed: u64) -> ProfileOptions {
    let slice_seconds = if seconds < 10.0 { 0.25 } else { 0.5 };
    let warm_up_seconds = seconds / 10.0;
    // The start, the slice that shows which threads are busy, the warm-up; views share the rest.
    let left = seconds - START_SECONDS - slice_seconds - warm_up_seconds;
    ProfileOptions {
        views: VIEWS.to_vec(),
        seconds: left / VIEWS.len() as f64,
        slice_seconds,
        warm_up_seconds,
        symbols: short.symbols.clone(),
        missing: short.missing.clone(),
        seed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plans::observer::Silent;
    use crate::plans::spec::{DuelSettings, Load};
    use niagara_load::WorkloadSpec;
    use niagara_server::Cancel;
    use niagara_server::{Cache, Catalog};

    #[test]
    fn profiles_take_their_share_of_the_budget_or_none() {
        assert_eq!(seconds_each(600.0, 1), Some(20.0));
        assert_eq!(seconds_each(240.0, 1), Some(12.0));
        assert_eq!(seconds_each(60.0, 1), Some(5.0));
        assert_eq!(seconds_each(60.0, 2), None);
        assert_eq!(seconds_each(10.0, 1), None);
        for budget in [40.0, 90.0, 200.0, 3600.0] {
            let Some(seconds) = seconds_each(budget, 1) else {
                continue;
            };
            let options = options(&ShortProfile::default(), seconds, 1);
            let load = options.warm_up_seconds
                + options.slice_seconds
                + options.seconds * options.views.len() as f64;
            assert!(load + START_SECONDS <= seconds + 1e-9);
            // Three couples at the least.
            assert!(
                options.seconds >= 6.0 * options.slice_seconds - 1e-9,
                "{options:?}"
            );
        }
    }

    #[test]
    fn a_variant_is_profiled_once_and_a_failure_is_a_warning() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let duel_settings = DuelSettings {
            couples: 4,
            slice_seconds: 0.5,
            ramp_seconds: 0.05,
            warm_up_seconds: 1.0,
            disturbance: 0.05,
        };
        let mut study = Study::for_tests(&folder.path().join("study"), 600.0, duel_settings)?;
        study.store().set_profile(&ProfileRecord {
            subject: "kept".to_owned(),
            content: serde_json::json!({}),
        })?;
        // A workbench on which no server was set up: whoever asks for one fails.
        let bench = Workbench::new(
            Cache::at(&folder.path().join("cache"))?,
            Catalog::load(&[])?,
            Load {
                workload: WorkloadSpec::default(),
                engine: "InnoDB".to_owned(),
                threads: 2,
            },
            Cancel::default(),
        );
        let variant = Variant::base("mariadb-10.11");
        let short = ShortProfile::default();
        let mut look_at = |subject: &str| {
            let study = &mut study;
            look(study, &bench, subject, &variant, &short, 5.0, &mut Silent)
        };
        assert_eq!(look_at("kept")?, None);
        let warning =
            look_at("the final variant")?.map_or(String::new(), |found| found.to_string());
        assert!(
            warning.starts_with("what limits the final variant could not be observed: "),
            "{warning}"
        );
        assert_eq!(study.store().profiles()?.len(), 1);
        Ok(())
    }
}
