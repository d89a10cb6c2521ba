//! Settings of the optimizer, counted: how much of the work of the statements other plans save.
//!
//! A setting changes the plans of all statements, of those too that the capture lacks. So it has to save more than an index before it is
//! named.

use anyhow::Result;

use crate::copy::DataCopy;
use crate::executable::Executable;
use crate::observe::{Deadline, refusal};
use crate::plan::{Plan, is_other_plan};
use crate::sampled_digest::{Effect, SampledDigest, counted};
use crate::setting::{PlanSetting, SettingEffect};
use crate::work::Work;

/// A setting has to save this share of the work that is left.
const WORTH: f64 = 0.05;
/// A statement with less of the work cannot save that much.
const HEAVY: f64 = 0.01;

/// What counting says of settings.
pub(crate) struct CountedSettings {
    /// Those that save enough, the one that saves most first.
    pub effects: Vec<SettingEffect>,
    /// The time ended before all were counted.
    pub out_of_time: bool,
}

/// What became of one.
enum Outcome {
    /// It saves this share, and does this to digests.
    Saves(f64, Vec<Effect>),
    /// It does not save enough, or a statement does not end with it.
    Nothing,
    /// The time ended while it was counted.
    OutOfTime,
}

/// Counts what each setting saves of the work of the digests, with so many indexes of the set there.
///
/// # Errors
/// The server is lost; `tell` says so.
pub(crate) fn count_settings(
    copy: &mut DataCopy,
    digests: &[SampledDigest<'_>],
    (settings, with_indexes): (&[PlanSetting], usize),
    until: Deadline,
    tell: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<CountedSettings> {
    let mut counted = CountedSettings {
        effects: Vec::new(),
        out_of_time: false,
    };
    if settings.is_empty() {
        return Ok(counted);
    }
    let usual: Vec<Vec<Option<Plan>>> = (digests.iter())
        .map(|digest| plans(copy, digest))
        .collect::<Result<_>>()?;
    for setting in settings {
        let mut ask = || tell(&format!("counting with {}", setting.lever));
        ask()?;
        // A value that this release does not take changes no plan.
        let set = refusal(copy.set(&setting.variables))?;
        let outcome = match set {
            Ok(()) => outcome(copy, digests, &usual, until, &mut ask)?,
            Err(_) => Outcome::Nothing,
        };
        copy.unset(&setting.variables, set.is_err())?;
        match outcome {
            Outcome::Saves(saves, digests) => counted.effects.push(SettingEffect {
                setting: setting.clone(),
                with_indexes,
                saves,
                digests,
                trial: None,
            }),
            Outcome::Nothing => {}
            Outcome::OutOfTime => {
                counted.out_of_time = true;
                break;
            }
        }
    }
    let effects = &mut counted.effects;
    effects.sort_by(|one, other| other.saves.total_cmp(&one.saves));
    Ok(counted)
}

/// What the setting that is set does.
fn outcome(
    copy: &mut DataCopy,
    digests: &[SampledDigest<'_>],
    usual: &[Vec<Option<Plan>>],
    until: Deadline,
    ask: &mut dyn FnMut() -> Result<()>,
) -> Result<Outcome> {
    let total: f64 = digests.iter().map(SampledDigest::work).sum();
    let mut changed = Vec::new();
    for (place, digest) in digests.iter().enumerate() {
        if until.is_over() {
            return Ok(Outcome::OutOfTime);
        }
        let plans = plans(copy, digest)?;
        let mut both = plans.iter().zip(&usual[place]);
        if both.any(|(one, usual)| is_other_plan(usual.as_ref(), one.as_ref())) {
            changed.push((digest, plans.into_iter().next().flatten()));
        }
    }
    // Those first that can save most, or take most.
    changed.sort_by(|(one, _), (other, _)| other.work().total_cmp(&one.work()));
    let is_heavy = |digest: &SampledDigest<'_>| digest.work() >= HEAVY * total;
    if !changed.iter().any(|(digest, _)| is_heavy(digest)) {
        return Ok(Outcome::Nothing);
    }
    let mut left: f64 = changed.iter().map(|(digest, _)| digest.work()).sum();
    let mut saved = 0.0;
    let mut effects = Vec::new();
    for (digest, plan) in changed {
        ask()?;
        if until.is_over() {
            return Ok(Outcome::OutOfTime);
        }
        left -= digest.work();
        let after = match sample(copy, digest)? {
            SampleWork::Whole(work) => work,
            // As it does without: how much more it takes is not known of either.
            SampleWork::Cut if digest.observed.was_cut => continue,
            SampleWork::Cut => return Ok(Outcome::Nothing),
            SampleWork::Refused => continue,
        };
        let of_digest = (digest.now.total() - after.total()) * digest.executions();
        saved += of_digest;
        // What it costs cannot be made up for.
        if saved + left < WORTH * total {
            return Ok(Outcome::Nothing);
        }
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
    Ok(match saved > 0.0 && saved >= WORTH * total {
        true => Outcome::Saves(saved / total, effects.collect()),
        false => Outcome::Nothing,
    })
}

/// How the server executes the samples of a digest; none of one that it does not explain.
fn plans(copy: &mut DataCopy, digest: &SampledDigest<'_>) -> Result<Vec<Option<Plan>>> {
    let plan = |one: &Executable| Ok(refusal(copy.plan(one))?.ok().flatten());
    digest.executables.iter().map(plan).collect()
}

/// What executions of a digest took.
enum SampleWork {
    /// Their mean work.
    Whole(Work),
    /// One took too long, and was ended: its work is more than was counted.
    Cut,
    /// The server refuses them.
    Refused,
}

/// Executes samples of a digest, as many as were counted before, until one takes too long.
fn sample(copy: &mut DataCopy, digest: &SampledDigest<'_>) -> Result<SampleWork> {
    let (mut sum, mut number) = (Work::default(), 0);
    for one in counted(copy, &digest.executables).take(digest.samples as usize) {
        let one = one?;
        if one.was_cut {
            return Ok(SampleWork::Cut);
        }
        sum += one.work;
        number += 1;
    }
    Ok(match number {
        0 => SampleWork::Refused,
        number => SampleWork::Whole(sum * (1.0 / f64::from(number))),
    })
}
