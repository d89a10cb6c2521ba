//! What statements do, and whether anything records it.

use crate::facts::{Digest, Facts};
use crate::finding::Finding;
use crate::rule::Rules;

pub(super) fn findings(facts: &Facts, rules: &Rules) -> Vec<Finding> {
    let found = [
        read_much(facts, rules),
        row_locks(facts, rules),
        not_recorded(facts, rules),
    ];
    found.into_iter().flatten().collect()
}

fn read_much(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let limits = &rules.statements_read_much.limits;
    let statements = facts.statements.as_ref()?;
    let much = |digest: &&Digest| {
        let returned = digest.rows_returned.max(digest.count).max(1.0);
        digest.rows_examined / digest.count.max(1.0) >= limits.rows
            && digest.rows_examined / returned >= limits.rows_each
            && digest.seconds >= limits.time_share * statements.seconds
    };
    let digests: Vec<Digest> = statements.digests.iter().filter(much).cloned().collect();
    let seconds: f64 = digests.iter().map(|digest| digest.seconds).sum();
    (!digests.is_empty()).then(|| Finding::StatementsReadMuch {
        digests,
        time_share: (seconds / statements.seconds).min(1.0),
    })
}

fn row_locks(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let window = &facts.window;
    // The server counts milliseconds.
    let seconds = window.growth.get("innodb_row_lock_time")? / 1000.0;
    let most = rules.row_lock_waits.limits.share * window.seconds;
    (seconds > 0.0 && seconds >= most).then_some(Finding::RowLockWaits {
        seconds,
        window_seconds: window.seconds,
    })
}

fn not_recorded(facts: &Facts, rules: &Rules) -> Option<Finding> {
    let variables = &facts.variables;
    let slow_log = variables.is_on("slow_query_log") || variables.is_on("log_slow_query");
    let long_query_time = variables
        .number("long_query_time")
        .or_else(|| variables.number("log_slow_query_time"))
        .unwrap_or(10.0);
    let records = slow_log && long_query_time < rules.statements_not_recorded.limits.seconds;
    let nothing = !variables.is_on("performance_schema") && !records;
    nothing.then_some(Finding::StatementsNotRecorded {
        slow_log,
        long_query_time,
    })
}
