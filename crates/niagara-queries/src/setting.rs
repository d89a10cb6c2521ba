//! Settings of the optimizer, counted: what other plans do to the work that the set of indexes leaves.
//!
//! A setting changes the plans of all statements, of those too that the capture lacks. So it has to save more than an index before it is
//! named.

use std::collections::BTreeMap;

use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

use crate::copy::DataCopy;
use crate::observe::{Deadline, Executable, refusal};
use crate::plan::Plan;
use crate::proof::Trial;
use crate::screen::{Effect, Judging, count};
use crate::work::Work;

/// A setting has to save this share of the work that is left.
const WORTH: f64 = 0.05;
/// A statement with less of the work cannot save that much.
const HEAVY: f64 = 0.01;
/// An execution that takes so many times the work decides alone: more of them would take the time of all that follows.
const FAR_MORE: f64 = 10.0;

/// Variables under which the optimizer may choose other plans.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlanSetting {
    /// The lever that sets them, by its id.
    pub lever: String,
    /// Their values by their names.
    pub variables: BTreeMap<String, String>,
}

/// A setting that saves work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SettingEffect {
    /// The setting.
    #[serde(flatten)]
    pub setting: PlanSetting,
    /// Whether it was counted with the set of indexes there.
    pub with_set: bool,
    /// Share that it takes away of the counted work, or of what the set leaves of it, 0 to 1.
    pub saves: f64,
    /// Each digest whose work it changes, those that save most first: without it, and with it.
    pub digests: Vec<Effect>,
    /// What duels showed of the set with it over the set alone; none where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial: Option<Trial>,
}

impl SettingEffect {
    /// Digests that take more work with it.
    pub fn slower(&self) -> impl Iterator<Item = &Effect> {
        let digests = self.digests.iter();
        digests.filter(|one| one.after.total() > one.before.total())
    }
}

/// Counts what each setting saves of the work of the digests; the one that saves most comes first.
///
/// # Errors
/// The server is lost; `tell` says so.
pub(crate) fn count_settings(
    copy: &mut DataCopy,
    digests: &[Judging<'_>],
    settings: &[PlanSetting],
    with_set: bool,
    until: Deadline,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Vec<SettingEffect>> {
    let total: f64 = digests.iter().map(Judging::work).sum();
    let is_heavy: Vec<bool> = (digests.iter())
        .map(|digest| digest.work() >= HEAVY * total)
        .collect();
    let usual: Vec<Vec<Option<Plan>>> = (digests.iter())
        .map(|digest| plans(copy, digest))
        .collect::<Result<_>>()?;
    let mut found = Vec::new();
    for setting in settings {
        if until.is_over() {
            break;
        }
        tell(&format!("counting with {}", setting.lever))?;
        // A value that this release does not take changes no plan.
        if refusal(copy.set(&setting.variables))?.is_ok() {
            let effect = effect(copy, digests, (&is_heavy, &usual), total)?;
            found.extend(effect.map(|(saves, digests)| SettingEffect {
                setting: setting.clone(),
                with_set,
                saves,
                digests,
                trial: None,
            }));
        }
        copy.unset(&setting.variables)?;
    }
    found.sort_by(|one, other| other.saves.total_cmp(&one.saves));
    Ok(found)
}

/// The share that the setting which is set saves, and what it does to digests; none where it is not worth it.
fn effect(
    copy: &mut DataCopy,
    digests: &[Judging<'_>],
    (is_heavy, usual): (&[bool], &[Vec<Option<Plan>>]),
    total: f64,
) -> Result<Option<(f64, Vec<Effect>)>> {
    let mut changed = Vec::new();
    for (place, digest) in digests.iter().enumerate() {
        let plans = plans(copy, digest)?;
        let mut both = plans.iter().zip(&usual[place]);
        let is_other = |one: &Option<Plan>, usual: &Option<Plan>| match (one, usual) {
            (Some(one), Some(usual)) => !one.is_like(usual),
            (one, usual) => one.is_some() != usual.is_some(),
        };
        if both.any(|(one, usual)| is_other(one, usual)) {
            changed.push((place, plans.into_iter().next().flatten()));
        }
    }
    if !changed.iter().any(|(place, _)| is_heavy[*place]) {
        return Ok(None);
    }
    let mut saved = 0.0;
    let mut effects = Vec::new();
    for (place, plan) in changed {
        let digest = &digests[place];
        let Some(after) = work_with(copy, digest)? else {
            continue;
        };
        let of_digest = (digest.now.total() - after.total()) * digest.executions();
        saved += of_digest;
        if of_digest != 0.0 {
            let effect = Effect {
                digest: digest.observed.info.digest.clone(),
                before: digest.now,
                after,
                plan,
            };
            effects.push((of_digest, effect));
        }
    }
    effects.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    let effects = effects.into_iter().map(|(_, effect)| effect);
    Ok((saved >= WORTH * total && saved > 0.0).then(|| (saved / total, effects.collect())))
}

/// How the server executes the samples of a digest; none of one that it does not explain.
fn plans(copy: &mut DataCopy, digest: &Judging<'_>) -> Result<Vec<Option<Plan>>> {
    let plan = |one: &Executable| Ok(refusal(copy.plan(&one.database, &one.sql))?.ok());
    digest.executables.iter().map(plan).collect()
}

/// Mean work of an execution; of the first one alone, where that takes far more than before or does not end.
fn work_with(copy: &mut DataCopy, digest: &Judging<'_>) -> Result<Option<Work>> {
    let Some(first) = digest.executables.first() else {
        return Ok(None);
    };
    if let Ok(first) = refusal(copy.count(&first.database, &first.sql))? {
        let is_far_more = first.work.total() > FAR_MORE * digest.now.total();
        if first.was_cut || is_far_more {
            return Ok(Some(first.work));
        }
    }
    count(copy, &digest.executables, digest.samples)
}
