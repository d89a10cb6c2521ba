//! Replicas: what arrives, how late, and what is written beside it.

use crate::facts::{Channel, Facts};
use crate::finding::{Finding, StoppedChannel, StoppedPart};
use crate::rule::Rules;

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
    })
}
