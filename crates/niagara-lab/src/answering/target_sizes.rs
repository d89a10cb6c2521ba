//! Sizes and counts that follow the machine: what they are on machines of other sizes than the one that was measured on.

use std::collections::BTreeMap;

use niagara_model::{Deployment, Follows, TargetSize, TargetValue};

use crate::answering::deployment::Part;
use crate::lever::{Context, Lever, Span};
use crate::variants::candidate::Candidate;

/// CPUs of the machines that values are worked out for.
const CPUS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
/// Gigabytes of memory of those.
const GIGABYTES: [u64; 8] = [2, 4, 8, 16, 32, 64, 128, 256];

/// By lever: the variables that follow the machine, with their values elsewhere.
pub(crate) fn target_sizes(
    candidates: &[Candidate],
    context: &Context,
) -> BTreeMap<String, Vec<TargetSize>> {
    candidates
        .iter()
        .map(|candidate| {
            let mut sizes = set_by(&candidate.lever, &candidate.change.config, context);
            sizes.extend(searched(candidate, context));
            (candidate.lever.id().to_owned(), sizes)
        })
        .filter(|(_, sizes)| !sizes.is_empty())
        .collect()
}

/// Of the levers of `parts`, which were named: the variables that follow the machine, with their values elsewhere.
pub(crate) fn sizes_of_parts(parts: &[Part<'_>], context: &Context) -> Vec<TargetSize> {
    let levers = parts.iter().flat_map(|part| part.levers.iter().copied());
    levers
        .filter_map(|lever| {
            let mut context = context.clone();
            context.named = [lever.id().to_owned()].into();
            let change = lever.applicability(&context).ok()?;
            Some(set_by(lever, &change.config, &context))
        })
        .flatten()
        .collect()
}

/// Those of what the lever sets.
fn set_by(lever: &Lever, set: &BTreeMap<String, String>, context: &Context) -> Vec<TargetSize> {
    following(set, context, |context| {
        let change = lever.applicability(context).ok()?;
        Some(change.config)
    })
}

/// Those of what a search may bring in beside that. What they will be is not known yet: they follow what the end of their range
/// follows.
fn searched(candidate: &Candidate, context: &Context) -> Vec<TargetSize> {
    let ends = |span: Span| span.config(span.to);
    let searched = candidate.span.clone().map(ends).unwrap_or_default();
    let mut sizes = following(&searched, context, |context| {
        candidate.lever.span(context).map(ends)
    });
    sizes.retain(|size| !candidate.change.config.contains_key(&size.variable));
    sizes
}

/// Those of these variables that are something else where the machine is another one.
fn following(
    config: &BTreeMap<String, String>,
    context: &Context,
    elsewhere: impl Fn(&Context) -> Option<BTreeMap<String, String>>,
) -> Vec<TargetSize> {
    let variables = config.iter();
    variables
        .flat_map(|(variable, measured)| {
            let size = |follows, here, at: Vec<TargetValue>, target: Option<TargetValue>| {
                let varies = at.iter().any(|value| value.value != *measured);
                varies.then(|| TargetSize {
                    variable: variable.clone(),
                    follows,
                    measured: measured.clone(),
                    here,
                    at,
                    target,
                })
            };
            let value = |size: u64, context: &Context| {
                let value = elsewhere(context)?.remove(variable)?;
                Some(TargetValue { size, value })
            };
            let with_cpus = |cpus: u32| value(u64::from(cpus), &of_cpus(context, cpus));
            let with_memory = |bytes: u64| value(bytes, &of_memory(context, bytes));
            let cpus = size(
                Follows::Cpus,
                context.cpus() as u64,
                CPUS.into_iter().filter_map(with_cpus).collect(),
                context.production.cpus.and_then(with_cpus),
            );
            let memory = size(
                Follows::Memory,
                context.server_memory(),
                GIGABYTES
                    .into_iter()
                    .filter_map(|size| with_memory(size << 30))
                    .collect(),
                context.production.memory.and_then(with_memory),
            );
            [cpus, memory].into_iter().flatten()
        })
        .collect()
}

fn of_cpus(context: &Context, cpus: u32) -> Context {
    let mut context = context.clone();
    context.production.cpus = Some(cpus);
    context
}

/// A server that has such a machine for itself: in a duel two share it.
fn of_memory(context: &Context, bytes: u64) -> Context {
    let mut context = context.clone();
    context.production.memory = Some(bytes);
    context.machine.memory.bytes = 2 * bytes;
    context.machine.limits.memory_bytes = None;
    context
}

/// A size where a search chose another number than was screened: it follows the machine in proportion, as its range does.
fn chosen(size: &TargetSize, value: &str) -> Option<TargetSize> {
    let number: f64 = value.parse().ok()?;
    let here = size.here as f64;
    let scaled = |at: &TargetValue| TargetValue {
        size: at.size,
        value: format!("{:.0}", (number * at.size as f64 / here).round().max(1.0)),
    };
    Some(TargetSize {
        measured: value.to_owned(),
        at: size.at.iter().map(scaled).collect(),
        target: size.target.as_ref().map(scaled),
        ..size.clone()
    })
}

/// What is handed over with these sizes, measured on so many CPUs, and with the values that the machine has to have which it goes to.
pub(crate) fn with_sizes<'a>(
    found: Deployment,
    sizes: impl Iterator<Item = &'a TargetSize>,
    cpus: usize,
) -> Deployment {
    let sizes = handed_over(sizes, &found.config);
    let mut config = found.config;
    for size in &sizes {
        config.insert(size.variable.clone(), size.installed().to_owned());
    }
    Deployment {
        config,
        sizes,
        cpus: u32::try_from(cpus).ok(),
        ..found
    }
}

/// The sizes of what is handed over with these values, by variable; a value that is neither the lever's own nor a number is left alone.
fn handed_over<'a>(
    sizes: impl Iterator<Item = &'a TargetSize>,
    config: &BTreeMap<String, String>,
) -> Vec<TargetSize> {
    sizes
        .filter_map(|size| {
            let value = config.get(&size.variable)?;
            match *value == size.measured {
                true => Some(size.clone()),
                false => chosen(size, value),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use niagara_server::Family;
    use niagara_server::machine::Fingerprint;

    use super::*;
    use crate::lever::load;

    fn context() -> Context {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 2;
        machine.memory.bytes = 8 << 30;
        let version = "10.11.19".parse().expect("a version");
        let mut context = Context::new(Family::Mariadb, version, machine);
        context.writes = true;
        context.data_bytes = 100 << 30;
        context
    }

    fn sizes_of(id: &str, context: &Context) -> Vec<TargetSize> {
        let levers = load(&[]).expect("the shipped levers");
        let lever = levers.into_iter().find(|lever| lever.id() == id);
        let lever = lever.expect("a shipped lever");
        let candidate = Candidate {
            change: lever.applicability(context).expect("applies"),
            span: lever.span(context),
            prior: None,
            lever,
        };
        let mut sizes = target_sizes(&[candidate], context);
        sizes.remove(id).unwrap_or_default()
    }

    #[test]
    fn counts_follow_cpus() {
        let sizes = sizes_of("thread-pool-double", &context());
        let [size] = sizes.as_slice() else {
            panic!("{sizes:?}");
        };
        assert_eq!(size.follows, Follows::Cpus);
        assert_eq!((size.measured.as_str(), size.here), ("4", 2));
        let eight = size.at.iter().find(|at| at.size == 8).expect("eight CPUs");
        assert_eq!(eight.value, "16");
        assert_eq!(size.target, None);
        let config = [("thread_pool_size".to_owned(), "9".to_owned())].into();
        let searched = handed_over(sizes.iter(), &config);
        let eight = searched[0].at.iter().find(|at| at.size == 8);
        assert_eq!(eight.expect("eight CPUs").value, "36");
    }

    #[test]
    fn levers_of_a_study_file_have_sizes() {
        let levers = load(&[]).expect("the shipped levers");
        let named = |id: &str| levers.iter().find(|lever| lever.id() == id).expect(id);
        let part = |id: &str| Part {
            name: id.to_owned(),
            sets: Vec::new(),
            levers: vec![named(id)],
            own_changes: Vec::new(),
        };
        // One of them applies only where it is named.
        let parts = [part("thread-pool-double"), part("buffer-pool-large")];
        let sizes = sizes_of_parts(&parts, &context());
        let config = [("thread_pool_size".to_owned(), "4".to_owned())].into();
        let found = Deployment {
            config,
            ..Deployment::default()
        };
        assert!(sizes.iter().any(|size| size.follows == Follows::Memory));
        let found = with_sizes(found, sizes.iter(), 2);
        assert_eq!(found.cpus, Some(2));
        let [size] = found.sizes.as_slice() else {
            panic!("{:?}", found.sizes);
        };
        assert_eq!((size.variable.as_str(), size.here), ("thread_pool_size", 2));
        assert_eq!(found.config["thread_pool_size"], "4");
    }

    /// The thread pool alone sets no number: a search chooses one, which is for the CPUs that it ran on.
    #[test]
    fn a_searched_count_follows_cpus() {
        let sizes = sizes_of("thread-pool", &context());
        let config = [("thread_pool_size".to_owned(), "9".to_owned())].into();
        let searched = handed_over(sizes.iter(), &config);
        let [size] = searched.as_slice() else {
            panic!("{searched:?}");
        };
        assert_eq!(size.follows, Follows::Cpus);
        assert_eq!((size.measured.as_str(), size.here), ("9", 2));
        let eight = size.at.iter().find(|at| at.size == 8).expect("eight CPUs");
        assert_eq!(eight.value, "36");
        // Where the search chose none there is nothing to follow.
        assert_eq!(handed_over(sizes.iter(), &BTreeMap::new()), []);
    }

    #[test]
    fn sizes_follow_memory() {
        let mut context = context();
        context.production.memory = Some(64 << 30);
        context.named = ["buffer-pool-large".to_owned()].into();
        let sizes = sizes_of("buffer-pool-large", &context);
        let [size] = sizes.as_slice() else {
            panic!("{sizes:?}");
        };
        assert_eq!(size.follows, Follows::Memory);
        let target = size.target.as_ref().expect("a target");
        assert_eq!(target.size, 64 << 30);
        let bytes = |text: &str| -> u64 { text.parse().expect("bytes") };
        assert!(bytes(&target.value) > 8 * bytes(&size.measured), "{size:?}");
    }

    #[test]
    fn what_follows_nothing_has_no_sizes() {
        assert_eq!(sizes_of("native-aio-off", &context()), []);
    }
}
