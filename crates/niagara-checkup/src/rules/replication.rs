//! Replicas: what arrives, how late, and what is written beside it.

use crate::facts::{Channel, Facts};
use crate::finding::{Finding, StoppedChannel, StoppedPart};
use crate::rule::Rules;

/// Counters of statements that write rows. A replica counts its sources' statements here, and of some releases their row events.
const WRITES: [&str; 9] = [
    "com_insert",
    "com_insert_select",
    "com_update",
    "com_update_multi",
    "com_delete",
    "com_delete_multi",
    "com_replace",
    "com_replace_select",
    "com_load",
];

pub(super) fn findings(facts: &Facts, rules: &Rules) -> Vec<Finding> {
    let stopped: Vec<StoppedChannel> = facts.channels.iter().filter_map(stopped).collect();
    let stopped = (!stopped.is_empty()).then_some(Finding::ReplicaStopped { channels: stopped });
    let lags = facts.channels.iter().filter_map(|one| lag(one, rules));
    stopped
        .into_iter()
        .chain(lags)
        .chain(writable(facts))
        .collect()
}

fn stopped(channel: &Channel) -> Option<StoppedChannel> {
    let (part, error) = match (channel.receiver.runs, channel.applier.runs) {
        (true, true) => return None,
        (false, true) => (StoppedPart::Receiver, channel.receiver.error),
        (true, false) => (StoppedPart::Applier, channel.applier.error),
        (false, false) => {
            let errors = [channel.applier.error, channel.receiver.error];
            let error = errors.into_iter().find(|error| *error != 0);
            (StoppedPart::Both, error.unwrap_or(0))
        }
    };
    Some(StoppedChannel {
        source: channel.source.clone(),
        part,
        error,
    })
}

fn lag(channel: &Channel, rules: &Rules) -> Option<Finding> {
    let seconds = channel.lag_seconds?;
    let runs = channel.receiver.runs && channel.applier.runs;
    (runs && seconds >= rules.replica_lags.limits.seconds).then(|| Finding::ReplicaLags {
        source: channel.source.clone(),
        seconds,
    })
}

fn writable(facts: &Facts) -> Option<Finding> {
    let mode = facts.variables.text("read_only")?;
    let takes_writes = mode == "0" || mode.eq_ignore_ascii_case("OFF");
    (takes_writes && !facts.channels.is_empty()).then(|| Finding::ReplicaWritable {
        sources: facts
            .channels
            .iter()
            .map(|one| one.source.clone())
            .collect(),
        writes: writes(facts) as u64,
        in_cluster: is_in_cluster(facts),
    })
}

fn writes(facts: &Facts) -> f64 {
    let counted = |name: &&str| facts.since_start.or_zero(name) + facts.window.growth.or_zero(name);
    WRITES.iter().map(counted).sum()
}

/// Whether a library for Galera is loaded: `wsrep_on` alone is a session's on some releases.
fn is_in_cluster(facts: &Facts) -> bool {
    let provider = facts.variables.text("wsrep_provider");
    let loaded = provider.is_some_and(|path| !path.is_empty() && path != "none");
    loaded || facts.variables.is_on("wsrep_on")
}
