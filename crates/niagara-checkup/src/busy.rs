//! Where the time of the watched seconds went: queries, commits, locks, logins, or nowhere.

use std::collections::BTreeMap;

use niagara_model::BUSY_FROM;
use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::{Activity, Facts, Window};

/// Below this many statements under way on average the database is not what somebody waits for.
const IDLE: f64 = 0.1;

/// What the watched seconds show.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Busy {
    /// How long the server was watched.
    pub window_seconds: f64,
    /// Time that all clients together waited for their statements.
    pub statement_seconds: f64,
    /// How that is known.
    pub measured_by: MeasuredBy,
    /// Shares of that time; none where the account may not see other connections.
    pub shares: Option<BTreeMap<Activity, f64>>,
    /// CPU time of the server's process; none where it cannot be seen.
    pub cpu_seconds: Option<f64>,
    /// CPUs of its machine.
    pub cpus: Option<usize>,
    /// Statements by the second.
    pub statements_per_second: f64,
    /// New connections by the second.
    pub connections_per_second: f64,
    /// Where most of it is.
    pub place: BusyPlace,
}

impl Busy {
    /// Statements under way on average.
    pub(crate) fn running(&self) -> f64 {
        self.statement_seconds / self.window_seconds.max(f64::EPSILON)
    }

    /// Whether nothing was under way for most of the time.
    pub(crate) fn is_mostly_idle(&self) -> bool {
        self.running() < BUSY_FROM
    }
}

/// How the time of statements is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeasuredBy {
    /// The performance schema summed it up.
    Sum,
    /// Statements under way were counted some times each second.
    Samples,
}

/// Where the time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusyPlace {
    /// Nowhere: hardly a statement is under way.
    Nowhere,
    /// Statements are under way, and nobody may see what they do.
    Statements,
    /// In the execution of statements.
    Queries,
    /// In commits.
    Commits,
    /// In waits for locks on tables.
    TableLocks,
    /// In logins.
    Logins,
}

/// Where the time went.
pub fn busy(facts: &Facts) -> Busy {
    let window = &facts.window;
    let running = mean(window.samples.iter().map(|sample| sample.running));
    let sampled = running * window.seconds;
    let statement_seconds = window.statement_seconds.unwrap_or(sampled);
    let shares = shares(window);
    let per_second = |name: &str| window.growth.or_zero(name) / window.seconds.max(f64::EPSILON);
    Busy {
        window_seconds: window.seconds,
        statement_seconds,
        measured_by: match window.statement_seconds {
            Some(_) => MeasuredBy::Sum,
            None => MeasuredBy::Samples,
        },
        // What is under way shows statements that are longer than the window, which the sum does not.
        place: place(
            running.max(statement_seconds / window.seconds.max(f64::EPSILON)),
            shares.as_ref(),
        ),
        shares,
        cpu_seconds: window.usage.map(|usage| usage.cpu_seconds),
        cpus: facts.host.as_ref().map(|host| host.cpus),
        statements_per_second: per_second("questions"),
        connections_per_second: per_second("connections"),
    }
}

fn place(running: f64, shares: Option<&BTreeMap<Activity, f64>>) -> BusyPlace {
    if running < IDLE {
        return BusyPlace::Nowhere;
    }
    let most = shares.and_then(|shares| {
        let most = shares.iter().max_by(|a, b| a.1.total_cmp(b.1));
        most.map(|(activity, _)| *activity)
    });
    match most {
        None => BusyPlace::Statements,
        Some(Activity::Query) => BusyPlace::Queries,
        Some(Activity::Commit) => BusyPlace::Commits,
        Some(Activity::TableLock) => BusyPlace::TableLocks,
        Some(Activity::Login) => BusyPlace::Logins,
    }
}

/// Shares of what was seen under way; none where nothing was.
fn shares(window: &Window) -> Option<BTreeMap<Activity, f64>> {
    let mut seen = BTreeMap::new();
    for doing in window
        .samples
        .iter()
        .filter_map(|sample| sample.doing.as_ref())
    {
        for (activity, count) in doing {
            *seen.entry(*activity).or_insert(0.0) += f64::from(*count);
        }
    }
    let total: f64 = seen.values().sum();
    (total > 0.0).then(|| {
        seen.into_iter()
            .map(|(activity, count)| (activity, count / total))
            .collect()
    })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Sample;
    use crate::rules::tests::quiet;

    fn of(samples: &[(f64, &[(Activity, u32)])]) -> Busy {
        let mut facts = quiet();
        facts.window.seconds = 10.0;
        facts.window.statement_seconds = None;
        facts.window.samples = samples
            .iter()
            .map(|(running, doing)| Sample {
                running: *running,
                doing: Some(doing.iter().copied().collect()),
            })
            .collect();
        busy(&facts)
    }

    #[test]
    fn an_idle_server_is_busy_nowhere() {
        let idle = of(&[(0.0, &[]), (0.0, &[])]);
        assert_eq!(
            (idle.place, idle.statement_seconds),
            (BusyPlace::Nowhere, 0.0)
        );
        assert_eq!(idle.shares, None);
    }

    #[test]
    fn the_place_is_where_most_is_under_way() {
        let busy = of(&[
            (3.0, &[(Activity::Commit, 2), (Activity::Query, 1)]),
            (1.0, &[(Activity::Commit, 1)]),
        ]);
        assert_eq!(busy.place, BusyPlace::Commits);
        assert_eq!(busy.statement_seconds, 20.0);
        assert_eq!(busy.shares.expect("seen")[&Activity::Query], 0.25);
    }
}
