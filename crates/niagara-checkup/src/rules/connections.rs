//! Connections: refused, broken, expensive.

use crate::facts::Facts;
use crate::finding::Finding;
use crate::rule::Rules;

pub(super) fn findings(facts: &Facts, rules: &Rules) -> Vec<Finding> {
    let found = [
        refused(facts),
        near_limit(facts, rules),
        logins(facts, rules),
        clients(facts, rules),
        threads(facts, rules),
    ];
    found.into_iter().flatten().collect()
}

fn refused(facts: &Facts) -> Option<Finding> {
    let refused = facts.since_start.get("connection_errors_max_connections")?;
    let max_connections = facts.variables.number("max_connections")?;
    (refused > 0.0).then_some(Finding::ConnectionsRefused {
        refused: refused as u64,
        max_connections: max_connections as u64,
    })
}

fn near_limit(facts: &Facts, rules: &Rules) -> Option<Finding> {
    if facts
        .since_start
        .or_zero("connection_errors_max_connections")
        > 0.0
    {
        return None;
    }
    let most = facts.since_start.get("max_used_connections")?;
    let limit = facts.variables.number("max_connections")?;
    (most >= rules.connections_near_limit.limits.share * limit).then_some(
        Finding::ConnectionsNearLimit {
            most_used: most as u64,
            max_connections: limit as u64,
        },
    )
}

fn logins(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let (failed, connections) = of_connections(facts, "aborted_connects")?;
    let limits = &rules.logins_failed.limits;
    (failed >= limits.count && failed >= limits.share * connections).then_some(
        Finding::LoginsFailed {
            failed: failed as u64,
            connections: connections as u64,
        },
    )
}

fn clients(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let (lost, connections) = of_connections(facts, "aborted_clients")?;
    let limits = &rules.clients_lost.limits;
    (lost >= limits.count && lost >= limits.share * connections).then_some(Finding::ClientsLost {
        lost: lost as u64,
        connections: connections as u64,
    })
}

fn threads(facts: &Facts, rules: &Rules) -> Option<Finding> {
    // A thread pool takes none for a connection.
    if facts.variables.text("thread_handling") == Some("pool-of-threads") {
        return None;
    }
    let (created, connections) = of_connections(facts, "threads_created")?;
    let limits = &rules.threads_not_cached.limits;
    let per_second = facts.window.growth.or_zero("connections") / facts.window.seconds;
    let many = created > limits.share * connections && per_second >= limits.connections_per_second;
    many.then_some(Finding::ThreadsNotCached {
        created: created as u64,
        connections: connections as u64,
        connections_per_second: per_second,
    })
}

/// A counter and the connections that it is a part of, since the start.
fn of_connections(facts: &Facts, counter: &str) -> Option<(f64, f64)> {
    Some((
        facts.since_start.get(counter)?,
        facts.since_start.get("connections")?,
    ))
}
