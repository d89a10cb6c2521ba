//! Does the server take each lever at all, and does it change anything? Asked by starting it,
//! with all levers at once where that works: k levers cost about as many starts as misfits.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_store::NotTried;

use crate::candidate::{Candidate, with_all};
use crate::lever::Change;
use crate::observer::{Event, Observer};
use crate::variant::Variant;
use crate::workbench::Workbench;

type Variables = BTreeMap<String, String>;

/// Starts `base`, then the levers in groups; returns those that the server refuses or that change
/// nothing, with the reason.
///
/// # Errors
/// `base` itself does not start, or the study was stopped.
pub(crate) fn probe(
    bench: &Workbench,
    base: &Variant,
    candidates: &[Candidate],
    observer: &mut dyn Observer,
) -> Result<Vec<NotTried>> {
    observer.see(Event::SettingUp(
        "trying every lever on a start of the server",
    ));
    let defaults = variables(bench, base)??;
    let mut misfits = Vec::new();
    for group in compatible_groups(candidates) {
        try_group(bench, base, candidates, &group, &defaults, &mut misfits)?;
    }
    Ok(misfits)
}

/// Which of `levers` keep the server from starting on top of `base`, each with the reason.
pub(crate) fn culprits(
    bench: &Workbench,
    base: &Variant,
    candidates: &[Candidate],
    levers: &[usize],
) -> Result<Vec<NotTried>> {
    let mut misfits = Vec::new();
    try_group(
        bench,
        base,
        candidates,
        levers,
        &Variables::new(),
        &mut misfits,
    )?;
    Ok(misfits)
}

/// Groups in which no factor has two levels: the n-th level of every factor is in the n-th group.
fn compatible_groups(candidates: &[Candidate]) -> Vec<Vec<usize>> {
    let factors = crate::candidate::factors(candidates);
    let most = factors.iter().map(|f| f.levels.len()).max().unwrap_or(0);
    (0..most)
        .map(|level| {
            factors
                .iter()
                .filter_map(|factor| factor.levels.get(level).copied())
                .collect()
        })
        .collect()
}

fn try_group(
    bench: &Workbench,
    base: &Variant,
    candidates: &[Candidate],
    group: &[usize],
    defaults: &Variables,
    misfits: &mut Vec<NotTried>,
) -> Result<()> {
    if group.is_empty() {
        return Ok(());
    }
    bench.cancel().check()?;
    match variables(bench, &with_all(base, candidates, group))? {
        Ok(found) => {
            misfits.extend(group.iter().filter_map(|&index| {
                unchanged(&candidates[index], defaults, &found)
                    .map(|reason| not_tried(&candidates[index], reason))
            }));
        }
        Err(error) => match group {
            [index] => misfits.push(not_tried(
                &candidates[*index],
                format!("the server does not start with it: {}", cause(&error)),
            )),
            _ => {
                let (left, right) = group.split_at(group.len() / 2);
                try_group(bench, base, candidates, left, defaults, misfits)?;
                try_group(bench, base, candidates, right, defaults, misfits)?;
            }
        },
    }
    Ok(())
}

/// The line of a failed start that says why; the log's end belongs elsewhere.
fn cause(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("cause: "))
        .or_else(|| text.lines().next())
        .unwrap_or("no reason given");
    line.to_owned()
}

fn not_tried(candidate: &Candidate, reason: String) -> NotTried {
    NotTried {
        lever: candidate.lever.id().to_owned(),
        title: candidate.lever.title().to_owned(),
        reason,
    }
}

/// The reason why a lever is not worth a duel: all it asks for was so before, or the server put
/// its variables back.
fn unchanged(candidate: &Candidate, defaults: &Variables, found: &Variables) -> Option<String> {
    let only_config = Change {
        config: candidate.change.config.clone(),
        ..Change::default()
    };
    if candidate.change != only_config {
        return None;
    }
    let mut same = Vec::new();
    for name in candidate.change.config.keys() {
        let (before, after) = (defaults.get(name)?, found.get(name)?);
        if before != after {
            return None;
        }
        same.push(format!("{name} = {after}"));
    }
    (!same.is_empty()).then(|| format!("already so without it: {}", same.join(", ")))
}

/// The variables of a started `variant`, or why it did not start. An error is no fault of the variant's.
fn variables(bench: &Workbench, variant: &Variant) -> Result<Result<Variables>> {
    let clone = bench.clone_for(variant)?;
    let started = bench
        .spawn(variant, &clone)
        .and_then(|starting| starting.wait_ready());
    let server = match started {
        Ok(server) => server,
        Err(error) => {
            bench.cancel().check()?;
            bench.check_disk()?;
            return Ok(Err(error));
        }
    };
    let rows = server.query("SHOW GLOBAL VARIABLES");
    server.kill();
    Ok(Ok(rows?
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()?.to_lowercase(), cells.next()?))
        })
        .collect()))
}
