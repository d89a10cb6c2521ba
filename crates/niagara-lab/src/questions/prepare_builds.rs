//! The servers that a ladder's levers come to, built before anything is measured.

use anyhow::{Result, bail};
use niagara_check::{Standing, standing};
use niagara_store::NotTried;

use crate::duels::workbench::Workbench;
use crate::fleet::ServerRecipe;
use crate::studies::observer::{Event, Observer};
use crate::variants::candidate::{Candidate, factors, with_all};
use crate::variants::variant::Variant;

/// Most builds that a ladder's levers may come to together.
const MAX_BUILDS: usize = 16;

/// Builds the servers of all levers among `candidates` that change the build, and of all their combinations that a
/// duel can have. Levers whose server cannot be built, or failed `niagara server check`, are taken out and returned with
/// the reason: the rest continues without them.
///
/// # Errors
/// [`Cancelled`] when stopped; more combinations than can be built in reason.
pub(crate) fn prepare_builds(
    bench: &mut Workbench,
    base: &Variant,
    candidates: &mut Vec<Candidate>,
    observer: &mut dyn Observer,
) -> Result<Vec<NotTried>> {
    let count = combinations(candidates).len();
    if count > MAX_BUILDS {
        bail!(
            "the levers that build come to {count} different servers, and {MAX_BUILDS} are the most\n\
             remedy: leave some out (--without), or name those to try (--only)"
        );
    }
    let mut left_out = Vec::new();
    // Whatever is taken out, the combinations without it are begun again: what is built is found at once.
    while let Some((failing, reason)) = first_refused(bench, base, candidates, observer)? {
        let candidate = candidates.remove(failing);
        observer.see(Event::Note(&format!(
            "{} is left out: {}",
            candidate.lever.title(),
            reason.lines().next().unwrap_or_default()
        )));
        left_out.push(NotTried {
            lever: candidate.lever.id().to_owned(),
            title: candidate.lever.title().to_owned(),
            reason,
        });
    }
    Ok(left_out)
}

/// The servers that the candidates come to, each once; those of too many are left to [`prepare_builds`] to refuse.
pub(crate) fn recipes_for(base: &Variant, candidates: &[Candidate]) -> Vec<ServerRecipe> {
    let sets = combinations(candidates);
    if sets.len() > MAX_BUILDS {
        return Vec::new();
    }
    let mut found: Vec<ServerRecipe> = Vec::new();
    for set in sets {
        let variant = with_all(base, candidates, &set);
        let made = variant.build.map(|recipe| ServerRecipe {
            server: variant.server,
            recipe: recipe.normal(),
        });
        found.extend(made.filter(|made| !found.contains(made)));
    }
    found
}

/// Sets of candidates that change the build and can be on one side of a duel together, those of one candidate first.
fn combinations(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let builds: Vec<Vec<usize>> = factors(candidates)
        .into_iter()
        .map(|factor| factor.levels)
        .filter(|levels| {
            levels
                .iter()
                .any(|&level| !candidates[level].change.build.is_empty())
        })
        .collect();
    let mut sets: Vec<Vec<usize>> = vec![Vec::new()];
    for levels in &builds {
        let with: Vec<Vec<usize>> = levels
            .iter()
            .flat_map(|&level| {
                sets.iter().map(move |set| {
                    let mut set = set.clone();
                    set.push(level);
                    set
                })
            })
            .collect();
        sets.extend(with);
    }
    sets.retain(|set| !set.is_empty());
    sets.sort_by_key(Vec::len);
    sets
}

/// The first combination whose server is not to be had: the candidate to blame (the last of several, since the others
/// were fine without it), and why.
fn first_refused(
    bench: &mut Workbench,
    base: &Variant,
    candidates: &[Candidate],
    observer: &mut dyn Observer,
) -> Result<Option<(usize, String)>> {
    for set in combinations(candidates) {
        let variant = with_all(base, candidates, &set);
        if let Some(reason) = refusal(bench, &variant, observer)?
            && let Some(&failing) = set.last()
        {
            let company: Vec<&str> = set[..set.len() - 1]
                .iter()
                .map(|&index| candidates[index].lever.id())
                .collect();
            let reason = match company[..] {
                [] => reason,
                _ => format!("{reason}\n(together with {})", company.join(", ")),
            };
            return Ok(Some((failing, reason)));
        }
    }
    Ok(None)
}

/// Builds a variant's server; why it is not to be tried, where it is not.
fn refusal(
    bench: &mut Workbench,
    variant: &Variant,
    observer: &mut dyn Observer,
) -> Result<Option<String>> {
    if let Err(error) = bench.set_up_variant(variant, observer) {
        bench.cancel().check()?;
        bench.check_disk()?;
        return Ok(Some(format!("{error:#}")));
    }
    let server = &bench.install_of(variant)?.server;
    Ok(match standing(bench.cache(), server)? {
        Standing::Passed(_) | Standing::Unknown(_) => None,
        Standing::Failed(_) => Some(format!(
            "the built server failed the check of its correctness: niagara server check {}",
            server.display()
        )),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_of_levers_that_can_meet_the_small_ones_first() {
        let levers = crate::lever::load(&[]).expect("the shipped levers");
        let candidates: Vec<Candidate> = [
            ("malloc-jemalloc", ""),
            ("build-pgo", "pgo"),
            ("build-lto", "lto"),
            ("binlog-off", "patches"),
        ]
        .into_iter()
        .map(|(id, key)| {
            let lever = levers.iter().find(|lever| lever.id() == id);
            let mut change = crate::lever::Change::default();
            if !key.is_empty() {
                change.build.insert(key.to_owned(), String::new());
            }
            Candidate {
                lever: lever.expect("a shipped lever").clone(),
                change,
                span: None,
                prior: None,
            }
        })
        .collect();
        // The two builds are levels of one choice; the fourth is a switch of its own that builds, too.
        assert_eq!(
            combinations(&candidates),
            [vec![1], vec![2], vec![3], vec![1, 3], vec![2, 3]]
        );
        assert!(combinations(&candidates[..1]).is_empty());
    }
}
