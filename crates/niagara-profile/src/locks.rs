//! The server's own account of its locks: the statements that ask for it, and what the answers say.
//!
//! Instruments are switched on for the server that is profiled and for some connections at a time only: a connection
//! that is not instrumented pays for the test of a flag at each lock. Metadata locks the server records for all connections
//! or none, with every statement: it does from when one is seen waiting for a table.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Variables that a server starts with so that its locks can be observed: everything is there, nothing is counted yet.
/// What is never observed (statements, sockets, files, tables' handles, stages, memory) has no room: the server then does not even ask
/// whether it is counted. An older server that does not know one of these leaves it.
pub const VARIABLES: [(&str, &str); 11] = [
    ("performance_schema", "ON"),
    ("performance_schema_instrument", "%=OFF"),
    ("loose_performance_schema_max_statement_classes", "0"),
    ("loose_performance_schema_max_stage_classes", "0"),
    ("loose_performance_schema_max_memory_classes", "0"),
    ("loose_performance_schema_max_socket_classes", "0"),
    ("loose_performance_schema_max_socket_instances", "0"),
    ("loose_performance_schema_max_file_classes", "0"),
    ("loose_performance_schema_max_file_instances", "0"),
    ("loose_performance_schema_max_table_instances", "0"),
    ("loose_performance_schema_max_table_handles", "0"),
];

/// Chooses the instruments of locks; nothing is counted before [`COUNT`]. A connection that is made later is not instrumented
/// by itself.
pub const SWITCH_ON: [&str; 5] = [
    "UPDATE performance_schema.setup_consumers SET ENABLED = IF(NAME = 'thread_instrumentation', 'YES', 'NO')",
    "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' WHERE (NAME LIKE 'wait/synch/%' OR NAME LIKE 'wait/lock/%') AND NAME NOT LIKE 'wait/lock/metadata/%'",
    "TRUNCATE TABLE performance_schema.setup_actors",
    "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO'",
    "TRUNCATE TABLE performance_schema.events_waits_summary_by_thread_by_event_name",
];

/// Has the instruments count.
pub const COUNT: &str = "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'global_instrumentation'";

/// Has them rest: meanwhile a lock costs next to nothing more than without them.
pub const REST: &str = "UPDATE performance_schema.setup_consumers SET ENABLED = 'NO' WHERE NAME = 'global_instrumentation'";

/// The connections of clients, but for the one that asks: thread number of the performance schema. The event scheduler and
/// other threads of the server's own are listed as if they were connections; they call themselves daemons.
pub const CONNECTIONS: &str = "SELECT THREAD_ID FROM performance_schema.threads \
     WHERE TYPE = 'FOREGROUND' AND PROCESSLIST_ID IS NOT NULL AND PROCESSLIST_ID <> CONNECTION_ID() \
     AND IFNULL(PROCESSLIST_COMMAND, '') <> 'Daemon' ORDER BY THREAD_ID";

/// Whether some of these connections have ended, going by those that are listed now: what they waited for is gone with them, for
/// a server forgets a connection's counters with the connection.
pub fn some_ended(connections: &[i32], listed: &[i32]) -> bool {
    connections.iter().any(|thread| !listed.contains(thread))
}

/// Has these connections observed, and no others.
pub fn look_at(threads: &[i32]) -> Vec<String> {
    let list = |threads: &[i32]| {
        let numbers: Vec<String> = threads.iter().map(i32::to_string).collect();
        numbers.join(", ")
    };
    vec![
        "UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE INSTRUMENTED = 'YES'"
            .to_owned(),
        format!(
            "UPDATE performance_schema.threads SET INSTRUMENTED = 'YES' WHERE THREAD_ID IN ({})",
            list(threads)
        ),
    ]
}

/// What all connections waited for since the counters were emptied: name, times, picoseconds.
pub const WAITS: &str = "SELECT EVENT_NAME, SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) \
     FROM performance_schema.events_waits_summary_by_thread_by_event_name \
     WHERE COUNT_STAR > 0 AND EVENT_NAME LIKE 'wait/%' GROUP BY EVENT_NAME";

/// How many instruments of locks count and time waits in a server that nobody changes for it: none where what feeds them is off.
pub const COUNTING: &str = "SELECT COUNT(*) FROM performance_schema.setup_instruments \
     WHERE NAME LIKE 'wait/synch/%' AND ENABLED = 'YES' AND TIMED = 'YES' \
     AND (SELECT COUNT(*) FROM performance_schema.setup_consumers \
     WHERE NAME IN ('global_instrumentation', 'thread_instrumentation') AND ENABLED = 'YES') = 2";

/// What the connections of all accounts, those that have ended too, waited for since the counters were emptied: name, times,
/// picoseconds.
pub const WAITS_OF_ACCOUNTS: &str = "SELECT EVENT_NAME, SUM(COUNT_STAR), SUM(SUM_TIMER_WAIT) \
     FROM performance_schema.events_waits_summary_by_account_by_event_name \
     WHERE USER IS NOT NULL AND COUNT_STAR > 0 AND (EVENT_NAME LIKE 'wait/synch/%' OR EVENT_NAME LIKE 'wait/lock/%') \
     GROUP BY EVENT_NAME";

/// What such counters grew by.
pub fn grown(before: &[Vec<String>], after: &[Vec<String>]) -> Vec<Vec<String>> {
    let number = |cell: &str| cell.parse::<u128>().ok();
    let then: BTreeMap<&str, (u128, u128)> = before
        .iter()
        .filter_map(|row| match &row[..] {
            [name, count, time] => Some((name.as_str(), (number(count)?, number(time)?))),
            _ => None,
        })
        .collect();
    let grown = after.iter().filter_map(|row| {
        let [name, count, time] = &row[..] else {
            return None;
        };
        let (count_then, time_then) = then.get(name.as_str()).copied().unwrap_or_default();
        // They are smaller where somebody has emptied them meanwhile: nobody knows of how much.
        let count = number(count)?.checked_sub(count_then)?;
        let time = number(time)?.checked_sub(time_then)?;
        Some(vec![name.clone(), count.to_string(), time.to_string()])
    });
    grown.collect()
}

/// Whether metadata locks are recorded: 0 where not.
pub const RECORDS_METADATA: &str = "SELECT COUNT(*) FROM performance_schema.setup_instruments \
     WHERE NAME LIKE 'wait/lock/metadata/%' AND ENABLED = 'YES'";

/// How many connections wait for a metadata lock, this moment.
pub const METADATA_WAITERS: &str = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE 'Waiting for%metadata lock'";

/// Has metadata locks recorded from now on.
pub const RECORD_METADATA: &str = "UPDATE performance_schema.setup_instruments SET ENABLED = 'YES', TIMED = 'YES' \
     WHERE NAME LIKE 'wait/lock/metadata/%'";

/// Who waits for which table, this moment, once [`RECORD_METADATA`] was said: type of the object, its name, what is asked for.
pub const METADATA_WAITS: &str = "SELECT OBJECT_TYPE, CONCAT_WS('.', OBJECT_SCHEMA, OBJECT_NAME), LOCK_TYPE \
     FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'PENDING'";

/// Who waits for which row, this moment: table, index, mode; for MariaDB and for MySQL.
pub const ROW_WAITS: [&str; 2] = [
    "SELECT REPLACE(l.lock_table, '`', ''), IFNULL(l.lock_index, ''), l.lock_mode \
     FROM information_schema.INNODB_LOCK_WAITS w JOIN information_schema.INNODB_LOCKS l ON l.lock_id = w.requested_lock_id",
    "SELECT CONCAT(l.OBJECT_SCHEMA, '.', l.OBJECT_NAME), IFNULL(l.INDEX_NAME, ''), l.LOCK_MODE \
     FROM performance_schema.data_lock_waits w JOIN performance_schema.data_locks l ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID",
];

/// One lock of the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LockWaits {
    /// The instrument: `wait/synch/mutex/innodb/buf_pool_mutex`.
    pub name: String,
    /// Share of the connections' time spent taking it (of a condition variable: waiting for it), 0 to 1.
    pub share: f64,
    /// Times per query that it was taken.
    pub per_query: Option<f64>,
    /// Average time to take it, in microseconds.
    pub average_us: f64,
}

/// An object that was waited for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectWaits {
    /// `row` or `table`.
    pub kind: String,
    /// The table.
    pub object: String,
    /// The index, of a row.
    pub index: String,
    /// The mode asked for.
    pub mode: String,
    /// How many connections waited for it, on average over the looks.
    pub waiting: f64,
}

/// What the instruments counted: `observed` is connections times time that was observed, in seconds; `queries` the
/// queries that these connections had answered.
pub fn named(rows: &[Vec<String>], observed: f64, queries: f64) -> Vec<LockWaits> {
    let mut found: Vec<LockWaits> = rows
        .iter()
        .filter_map(|row| {
            let [name, count, time] = &row[..] else {
                return None;
            };
            let (count, picoseconds): (f64, f64) = (count.parse().ok()?, time.parse().ok()?);
            (count > 0.0).then(|| LockWaits {
                name: name.clone(),
                share: ratio(picoseconds / 1e12, observed),
                per_query: (queries > 0.0).then(|| count / queries),
                average_us: picoseconds / 1e6 / count,
            })
        })
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// Observes who waits for which object, one after another.
#[derive(Debug, Clone, Default)]
pub struct ObjectSampler {
    looks: u64,
    seen: BTreeMap<(String, String, String, String), u64>,
}

impl ObjectSampler {
    /// Adds one look: the answers to [`METADATA_WAITS`] and [`ROW_WAITS`].
    pub fn look(&mut self, tables: &[Vec<String>], rows: &[Vec<String>]) {
        self.looks += 1;
        let mut add = |kind: &str, object: &str, index: &str, mode: &str| {
            let key = (
                kind.to_owned(),
                object.to_owned(),
                index.to_owned(),
                mode.to_owned(),
            );
            *self.seen.entry(key).or_default() += 1;
        };
        for row in tables {
            if let [_, object, mode] = &row[..] {
                add("table", object, "", mode);
            }
        }
        for row in rows {
            if let [object, index, mode] = &row[..] {
                add("row", object, index, mode);
            }
        }
    }

    /// What was waited for, the most first.
    pub fn finish(self) -> Vec<ObjectWaits> {
        let looks = self.looks.max(1) as f64;
        let mut found: Vec<ObjectWaits> = self
            .seen
            .into_iter()
            .map(|((kind, object, index, mode), count)| ObjectWaits {
                kind,
                object,
                index,
                mode,
                waiting: count as f64 / looks,
            })
            .collect();
        found.sort_by(|a, b| b.waiting.total_cmp(&a.waiting));
        found
    }
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn shares_and_averages_by_hand() {
        // Four connections for half a second, 1000 queries.
        let found = named(
            &[
                row(&["wait/synch/mutex/a", "2000", "10000000000"]),
                row(&["wait/synch/mutex/b", "10", "500000000000"]),
                row(&["wait/synch/mutex/never", "0", "0"]),
                row(&["short"]),
            ],
            2.0,
            1000.0,
        );
        assert_eq!(found.len(), 2);
        assert_eq!(
            (&*found[0].name, found[0].share, found[0].average_us),
            ("wait/synch/mutex/b", 0.25, 50_000.0)
        );
        assert_eq!((found[1].per_query, found[1].average_us), (Some(2.0), 5.0));
    }

    #[test]
    fn counters_are_told_by_what_they_grew() {
        let before = [row(&["a", "5", "100"]), row(&["emptied", "9", "9"])];
        let after = [
            row(&["a", "7", "18446744073709551715"]),
            row(&["emptied", "1", "1"]),
            row(&["new", "1", "2"]),
        ];
        let found = grown(&before, &after);
        assert_eq!(
            found,
            [
                row(&["a", "2", "18446744073709551615"]),
                row(&["new", "1", "2"])
            ]
        );
        assert!(grown(&after, &after)[0][1] == "0");
    }

    #[test]
    fn looks_are_averaged() {
        let mut sampler = ObjectSampler::default();
        sampler.look(&[row(&["TABLE", "sbtest.sbtest1", "SHARED_READ"])], &[]);
        sampler.look(
            &[
                row(&["TABLE", "sbtest.sbtest1", "SHARED_READ"]),
                row(&["TABLE", "sbtest.sbtest1", "SHARED_READ"]),
            ],
            &[row(&["sbtest.sbtest1", "PRIMARY", "X"])],
        );
        let found = sampler.finish();
        assert_eq!((&*found[0].kind, found[0].waiting), ("table", 1.5));
        assert_eq!((&*found[1].index, found[1].waiting), ("PRIMARY", 0.5));
    }

    #[test]
    fn connections_that_were_renewed_are_noticed() {
        assert!(!some_ended(&[7, 9], &[3, 9, 7]));
        assert!(some_ended(&[7, 9], &[9, 41]));
        // Those that are made later are not instrumented behind anybody's back.
        assert!(
            SWITCH_ON
                .iter()
                .any(|said| said.contains("TRUNCATE TABLE performance_schema.setup_actors"))
        );
    }

    #[test]
    fn daemons_are_no_connections() {
        assert!(CONNECTIONS.contains("PROCESSLIST_COMMAND, '') <> 'Daemon'"));
    }

    #[test]
    fn chosen_connections_are_named_in_the_statement() {
        assert!(look_at(&[7, 9])[1].ends_with("IN (7, 9)"));
    }
}
