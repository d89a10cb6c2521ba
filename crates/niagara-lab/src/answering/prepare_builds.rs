//! The servers that a tuning's levers come to, built before anything is measured.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use anyhow::{Error, Result};
use niagara_build::{BuildStore, Forecast, Recipe, check_packages, check_tools, kept_as};
use niagara_check::{Standing, standing};
use niagara_error::{Explain as _, Explanation, anyhow};
use niagara_model::{NotTried, Reason};
use niagara_server::Catalog;

use crate::asking::choose_builds::{BuildField, BuildPlan, BuildTime};
use crate::duels::workbench::Workbench;
use crate::plans::observer::{Event, Observer};
use crate::variants::built_sets::recipe_of;
use crate::variants::candidate::{Candidate, with_all};
use crate::variants::server_build::ServerRecipe;
use crate::variants::variant::Variant;

/// What came of building.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Prepared {
    /// The candidates whose servers are here, in the order in which they were built.
    pub made: Vec<usize>,
    /// The candidates that go, each with the reason.
    pub left_out: BTreeMap<usize, Reason>,
}

/// Why this machine cannot build some of `recipes` beside `server`, by their names: compilers, tools and packages are asked,
/// nothing is fetched.
pub(crate) fn without_tools(
    catalog: &Catalog,
    store: &BuildStore,
    server: &str,
    recipes: &[(&str, Recipe)],
) -> Vec<(String, Explanation)> {
    let beside = kept_as(catalog, server);
    let refusal = |recipe: &Recipe| {
        check_tools(catalog, server, recipe).and_then(|()| {
            match store.forecasts(catalog, beside, &[recipe]).first() {
                Some(Forecast::There) => Ok(()),
                _ => check_packages(store, catalog, server, recipe),
            }
        })
    };
    recipes
        .iter()
        .filter_map(|(name, recipe)| {
            let error = refusal(recipe).err()?;
            Some(((*name).to_owned(), error.explain()))
        })
        .collect()
}

/// Each reason once, with those that it is about.
pub(crate) fn by_reason(refused: &[(String, Explanation)]) -> Vec<Explanation> {
    let mut reasons: Vec<&Explanation> = refused.iter().map(|(_, reason)| reason).collect();
    let mut seen = BTreeSet::new();
    reasons.retain(|reason| seen.insert(*reason));
    let of = |reason: &Explanation| {
        let mut names = refused.iter().filter(|(_, other)| other == reason);
        let first = names.next().map_or("", |(name, _)| name.as_str());
        match names.count() {
            0 => first.to_owned(),
            more => format!("{first} and {more} more"),
        }
    };
    reasons
        .into_iter()
        .map(|reason| {
            let of = of(reason);
            reason.clone().with_cause(|cause| format!("{of}: {cause}"))
        })
        .collect()
}

/// What a tuning says that is to try builds and can make none: the causes, each once, and what to do.
pub(crate) fn nothing_can_be_built(refused: &[(String, Explanation)]) -> Error {
    let (mut causes, mut remedies) = (Vec::new(), Vec::new());
    for reason in by_reason(refused) {
        causes.push(reason.cause);
        remedies.extend(reason.remedies);
    }
    let mut seen = BTreeSet::new();
    remedies.retain(|remedy| seen.insert(remedy.clone()));
    remedies.push("leave out --with-builds".to_owned());
    anyhow!(
        "--with-builds is asked for, and no server can be built here: {}", causes.join("; ");
        remedy: "{}", remedies.join("; or ")
    )
}

/// The servers that a plan comes to, each once, beside the server `beside`.
pub(crate) fn recipes_for(
    field: &BuildField<'_>,
    plan: &BuildPlan,
    beside: &str,
) -> Vec<ServerRecipe> {
    let mut found: Vec<ServerRecipe> = Vec::new();
    let mut made = Vec::new();
    for planned in &plan.chosen {
        for set in field.new_sets(&made, planned.index) {
            let recipe = recipe_of(field.base, field.candidates, &set);
            let server = match recipe.source {
                Some(_) => field.base.server.clone(),
                None => beside.to_owned(),
            };
            let wanted = ServerRecipe { server, recipe };
            if !found.contains(&wanted) {
                found.push(wanted);
            }
        }
        made.push(planned.index);
    }
    found
}

/// Builds what `announced` begins with. After each build it is worked out anew, by the time that is left, what comes next:
/// one that took less, or failed early, leaves time for others, unless nothing but what was announced is to be built. `make` builds the server of a set of levers, or says why it is
/// not to be had; `used` are the seconds that went by.
///
/// # Errors
/// Those of `make`.
pub(crate) fn build_in_turn(
    field: &BuildField<'_>,
    announced: &BuildPlan,
    nothing_else: bool,
    budget: Option<f64>,
    used: &dyn Fn() -> f64,
    make: &mut dyn FnMut(&[usize]) -> Result<Option<Reason>>,
    tell: &mut dyn FnMut(&str),
) -> Result<Prepared> {
    let was_announced = |index: usize| announced.chosen.iter().any(|known| known.index == index);
    let lever = |index: usize| &field.candidates[index].lever;
    let mut prepared = Prepared::default();
    if nothing_else {
        prepared.left_out = announced.left_out.iter().cloned().collect();
    }
    loop {
        let time = budget.map(|budget| BuildTime {
            budget,
            used: used(),
        });
        let out: Vec<usize> = prepared.left_out.keys().copied().collect();
        let plan = field.plan(&prepared.made, &out, time);
        let Some(next) = plan.chosen.first().map(|planned| planned.index) else {
            for (index, reason) in plan.left_out {
                if was_announced(index) {
                    tell(&format!("{} is not built: {reason}", lever(index).id()));
                }
                prepared.left_out.insert(index, reason);
            }
            return Ok(prepared);
        };
        if !was_announced(next) {
            tell(&format!(
                "there is time left, {} is built too",
                lever(next).id()
            ));
        }
        match first_refused(field, &prepared.made, next, make)? {
            None => prepared.made.push(next),
            Some(Refused { reason, alone }) => {
                // What is refused beside another one may be had with what adds to it.
                let adding = if alone {
                    field.adding_to(next)
                } else {
                    Vec::new()
                };
                let adding: Vec<usize> = adding
                    .into_iter()
                    .filter(|other| !prepared.made.contains(other))
                    .filter(|other| !prepared.left_out.contains_key(other))
                    .collect();
                let words = reason.to_string();
                let first_line = words.lines().next().unwrap_or_default();
                for &other in &adding {
                    let because = Reason::BaseBuildMissing {
                        lever: lever(next).id().to_owned(),
                        error: Box::new(first_line.into()),
                    };
                    prepared.left_out.insert(other, because);
                }
                let with_it = match adding.len() {
                    0 => String::new(),
                    more => format!(" with {more} that add to it"),
                };
                tell(&format!(
                    "{} is left out{with_it}: {reason}",
                    lever(next).title()
                ));
                prepared.left_out.insert(next, reason);
            }
        }
    }
}

/// Why a lever is not to be tried.
struct Refused {
    reason: Reason,
    /// Its server is not to be had with nothing beside it.
    alone: bool,
}

/// Why `next` is not to be tried: the first of its servers, alone or with the levers `made`, that is not to be had.
fn first_refused(
    field: &BuildField<'_>,
    made: &[usize],
    next: usize,
    make: &mut dyn FnMut(&[usize]) -> Result<Option<Reason>>,
) -> Result<Option<Refused>> {
    for set in field.new_sets(made, next) {
        if let Some(reason) = make(&set)? {
            let company: Vec<String> = set
                .iter()
                .filter(|&&index| index != next)
                .map(|&index| field.candidates[index].lever.id().to_owned())
                .collect();
            let alone = company.is_empty();
            let reason = match reason {
                Reason::CannotBuild { error, .. } => Reason::CannotBuild {
                    error,
                    together: company,
                },
                other => other,
            };
            return Ok(Some(Refused { reason, alone }));
        }
    }
    Ok(None)
}

/// Builds what there is time for, on this machine; with `nothing_else` no more than what was announced. Of a tuning that is
/// `continued` a build that has failed its check meanwhile stays: its duels were measured, and the check decides once more.
///
/// # Errors
/// [`niagara_server::Cancelled`] when stopped; a disk that is full.
pub(crate) fn prepare_builds(
    bench: &mut Workbench,
    field: &BuildField<'_>,
    announced: &BuildPlan,
    nothing_else: bool,
    continued: bool,
    budget: Option<f64>,
    observer: &mut dyn Observer,
) -> Result<Prepared> {
    let began = Instant::now();
    let seen = std::cell::RefCell::new(observer);
    build_in_turn(
        field,
        announced,
        nothing_else,
        budget,
        &|| began.elapsed().as_secs_f64(),
        &mut |set| {
            let variant = with_all(field.base, field.candidates, set);
            refusal(bench, &variant, continued, &mut **seen.borrow_mut())
        },
        &mut |text| seen.borrow_mut().see(Event::Note(text)),
    )
}

/// Takes what is left out out of the candidates, and puts the levels of each choice that builds in the order of what is
/// expected of them: what a shorter plan has no room for stands last.
pub(crate) fn keep_prepared(
    candidates: &mut Vec<Candidate>,
    by_worth: &[usize],
    left_out: &BTreeMap<usize, Reason>,
) -> Vec<NotTried> {
    let mut places: Vec<usize> = by_worth.to_vec();
    places.sort_unstable();
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    for (&place, &index) in places.iter().zip(by_worth) {
        order[place] = index;
    }
    let mut not_tried = Vec::new();
    let kept = order
        .into_iter()
        .filter_map(|index| {
            let candidate = &candidates[index];
            let Some(reason) = left_out.get(&index) else {
                return Some(candidate.clone());
            };
            not_tried.push(candidate.not_tried(reason.clone()));
            None
        })
        .collect();
    *candidates = kept;
    not_tried
}

/// Builds a variant's server; why it is not to be tried, where it is not.
fn refusal(
    bench: &mut Workbench,
    variant: &Variant,
    continued: bool,
    observer: &mut dyn Observer,
) -> Result<Option<Reason>> {
    if let Err(error) = bench.set_up_variant(variant, observer) {
        bench.cancel().check()?;
        bench.check_disk()?;
        bench.check_cache_disk()?;
        return Ok(Some(Reason::CannotBuild {
            error: error.explain().into(),
            together: Vec::new(),
        }));
    }
    if continued {
        return Ok(None);
    }
    let server = &bench.install_of(variant)?.server;
    Ok(match standing(bench.cache(), server)? {
        Standing::Passed(_) | Standing::Unknown(_) => None,
        Standing::Failed(_) => Some(Reason::FailedCheck {
            fault: None,
            server: server.display().to_string(),
        }),
    })
}

#[cfg(test)]
mod tests;
