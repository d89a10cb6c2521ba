//! The server's own counters (`SHOW GLOBAL STATUS`) before and after a load, and what they mean.

use std::collections::BTreeMap;

use niagara_load::{Admin, LoadError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a figure is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Things, such as rows.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Milliseconds,
}

/// A figure and where the branches of the family keep it.
struct Definition {
    key: &'static str,
    unit: Unit,
    /// Alternatives, best first; each is a sum of counters. The first whose counters are all there is taken.
    sources: &'static [&'static [&'static str]],
}

/// A figure that counts things.
const fn count(key: &'static str, sources: &'static [&'static [&'static str]]) -> Definition {
    Definition {
        key,
        unit: Unit::Count,
        sources,
    }
}

/// A figure in bytes.
const fn bytes(key: &'static str, sources: &'static [&'static [&'static str]]) -> Definition {
    Definition {
        key,
        unit: Unit::Bytes,
        sources,
    }
}

/// Named as MySQL 8.0 to 9.7 and MariaDB 10.4 to 11.8 name them (their manuals' lists of status variables).
/// MariaDB no longer counts rows and log flushes in InnoDB since 10.6 and 10.8; the server layer's counters stand in.
const FIGURES: &[Definition] = &[
    count("questions", &[&["Questions"]]),
    count("rows_read", &[&["Innodb_rows_read"], &["Rows_read"]]),
    count(
        "rows_inserted",
        &[&["Innodb_rows_inserted"], &["Handler_write"]],
    ),
    count(
        "rows_updated",
        &[&["Innodb_rows_updated"], &["Handler_update"]],
    ),
    count(
        "rows_deleted",
        &[&["Innodb_rows_deleted"], &["Handler_delete"]],
    ),
    count("sorted_rows", &[&["Sort_rows"]]),
    count("temporary_tables", &[&["Created_tmp_tables"]]),
    count("temporary_tables_on_disk", &[&["Created_tmp_disk_tables"]]),
    count("row_lock_waits", &[&["Innodb_row_lock_waits"]]),
    Definition {
        key: "row_lock_time",
        unit: Unit::Milliseconds,
        sources: &[&["Innodb_row_lock_time"]],
    },
    count("deadlocks", &[&["Innodb_deadlocks"], &[DEADLOCKS]]),
    count("log_write_requests", &[&["Innodb_log_write_requests"]]),
    count("log_writes", &[&["Innodb_log_writes"]]),
    count("log_fsyncs", &[&["Innodb_os_log_fsyncs"]]),
    bytes("log_written", &[&["Innodb_os_log_written"]]),
    count("data_reads", &[&["Innodb_data_reads"]]),
    bytes("data_read", &[&["Innodb_data_read"]]),
    count("data_writes", &[&["Innodb_data_writes"]]),
    bytes("data_written", &[&["Innodb_data_written"]]),
    count("data_fsyncs", &[&["Innodb_data_fsyncs"]]),
    count(
        "buffer_pool_requests",
        &[&["Innodb_buffer_pool_read_requests"]],
    ),
    count("buffer_pool_misses", &[&["Innodb_buffer_pool_reads"]]),
    bytes("bytes_received", &[&["Bytes_received"]]),
    bytes("bytes_sent", &[&["Bytes_sent"]]),
    count("connections", &[&["Connections"]]),
];

/// MySQL keeps no status counter of deadlocks, but a metric that is on by default.
const DEADLOCKS: &str = "lock_deadlocks";
const METRIC: &str = "SELECT name, count FROM information_schema.innodb_metrics \
                      WHERE name = 'lock_deadlocks' AND status = 'enabled'";

/// All counters of a server at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    counters: BTreeMap<String, i64>,
    /// Statements of the connection that asked, this snapshot's included.
    statements: u64,
}

/// What the server counted between two snapshots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delta {
    /// The figures with a name of their own, those that this server keeps.
    pub figures: BTreeMap<String, Figure>,
    /// Every counter that changed, by the server's name: `Com_*`, `Handler_*` and all others. A few are levels
    /// rather than counters (`Threads_running`) and may be negative.
    pub changed: BTreeMap<String, i64>,
    /// Statements among them that Niagara sent to read the counters.
    pub own_statements: u64,
}

/// One figure of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// By how much it grew.
    pub value: i64,
    /// In what it counts.
    pub unit: Unit,
    /// The server's counters it was taken from.
    pub from: Vec<String>,
}

impl Snapshot {
    /// Reads the counters. SHOW GLOBAL STATUS is the last statement sent before a load and the first one after it.
    ///
    /// # Errors
    /// The connection is lost, or the account may not read them.
    pub fn read(admin: &mut Admin, before_load: bool) -> Result<Snapshot, LoadError> {
        let mut counters = BTreeMap::new();
        if before_load {
            counters.extend(metrics(admin));
        }
        counters.extend(
            admin
                .rows("SHOW GLOBAL STATUS")?
                .into_iter()
                .filter_map(|row| {
                    let mut cells = row.into_iter().flatten();
                    Some((cells.next()?, cells.next()?.parse().ok()?))
                }),
        );
        let statements = admin.statements();
        if !before_load {
            counters.extend(metrics(admin));
        }
        Ok(Snapshot {
            counters,
            statements,
        })
    }

    /// What changed since `before`.
    pub fn since(&self, before: &Snapshot) -> Delta {
        let changed: BTreeMap<String, i64> = self
            .counters
            .iter()
            .filter_map(|(name, now)| Some((name.clone(), now - before.counters.get(name)?)))
            .filter(|(_, change)| *change != 0)
            .collect();
        let there =
            |name: &&str| self.counters.contains_key(*name) && before.counters.contains_key(*name);
        let figures = FIGURES
            .iter()
            .filter_map(|figure| {
                let source = figure
                    .sources
                    .iter()
                    .find(|source| source.iter().all(there))?;
                let value = source.iter().filter_map(|name| changed.get(*name)).sum();
                Some((
                    figure.key.to_owned(),
                    Figure {
                        value,
                        unit: figure.unit,
                        from: source.iter().map(|name| (*name).to_owned()).collect(),
                    },
                ))
            })
            .collect();
        Delta {
            figures,
            changed,
            own_statements: self.statements - before.statements,
        }
    }
}

/// Counters outside of the status; none where the server keeps none or this account may not see them.
fn metrics(admin: &mut Admin) -> Vec<(String, i64)> {
    admin
        .rows(METRIC)
        .unwrap_or_default()
        .into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter().flatten();
            Some((cells.next()?, cells.next()?.parse().ok()?))
        })
        .collect()
}

impl Delta {
    /// The counters whose names start with `prefix` and that grew, the greatest first, without the prefix.
    pub fn starting_with(&self, prefix: &str) -> Vec<(&str, i64)> {
        let mut found: Vec<_> = self
            .changed
            .iter()
            .filter(|(_, change)| **change > 0)
            .filter_map(|(name, change)| Some((name.strip_prefix(prefix)?, *change)))
            .collect();
        found.sort_by_key(|(name, change)| (-change, *name));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(counters: &[(&str, i64)], statements: u64) -> Snapshot {
        Snapshot {
            counters: counters
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            statements,
        }
    }

    #[test]
    fn figures_come_from_the_counters_that_are_there() {
        let mariadb = [("Rows_read", 10), ("Questions", 5), ("Threads_running", 4)];
        let later = [("Rows_read", 110), ("Questions", 9), ("Threads_running", 1)];
        let delta = snapshot(&later, 3).since(&snapshot(&mariadb, 1));
        assert_eq!(delta.figures["rows_read"].value, 100);
        assert_eq!(delta.figures["rows_read"].from, ["Rows_read"]);
        assert!(!delta.figures.contains_key("deadlocks"));
        assert_eq!(delta.changed["Threads_running"], -3);
        assert_eq!(delta.own_statements, 2);

        let mysql = [("Innodb_rows_read", 1), ("Rows_read", 50)];
        let later = [("Innodb_rows_read", 3), ("Rows_read", 60)];
        let delta = snapshot(&later, 2).since(&snapshot(&mysql, 1));
        assert_eq!(delta.figures["rows_read"].value, 2);
    }

    #[test]
    fn counters_of_a_kind_come_greatest_first() {
        let before = [("Com_select", 0), ("Com_begin", 0), ("Com_insert", 0)];
        let after = [("Com_select", 14), ("Com_begin", 1), ("Com_insert", 0)];
        let delta = snapshot(&after, 1).since(&snapshot(&before, 1));
        assert_eq!(delta.starting_with("Com_"), [("select", 14), ("begin", 1)]);
    }
}
