//! What to change for a finding, as variables or statements. Where Niagara can prove the change, its proof comes first.

use niagara_server::Family;
use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::{Facts, Server, TableName};
use crate::finding::{Finding, Likeness};

/// Of the machine's memory, what InnoDB's pool may take: the lower end of what the manual names for a host of a database alone.
/// Source: MySQL reference manual, Configuring InnoDB Buffer Pool Size (50 to 75 %).
const POOL_SHARE: f64 = 0.5;
/// Sizes are rounded up to so many bytes, the chunk in which the pool grows (`innodb_buffer_pool_chunk_size`).
const CHUNK: u64 = 128 << 20;
/// A redo log that holds so many seconds of writes leaves checkpoints their time. Larger ones lengthen the recovery.
const REDO_SECONDS: f64 = 1800.0;
const LARGEST_REDO: u64 = 16 << 30;

/// What to change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Remedy {
    /// Variables of the server.
    Settings {
        /// The variables.
        settings: Vec<NewSetting>,
        /// The option file that keeps them; none where nobody says which one the server reads.
        #[serde(skip_serializing_if = "Option::is_none")]
        option_file: Option<String>,
    },
    /// Statements for an administrator.
    Statements {
        /// Each with its semicolon.
        statements: Vec<String>,
        /// What they may disturb; none where that is nothing much.
        #[serde(skip_serializing_if = "Option::is_none")]
        caution: Option<Caution>,
    },
    /// Another release.
    Upgrade {
        /// The series, as the catalogue of servers names it.
        series: String,
    },
    /// A larger buffer pool within memory of an unknown size: a statement might name more than there is.
    LargerPool {
        /// The size that holds all data, in bytes.
        wanted_bytes: u64,
        /// Of the host's memory, what it may take at most, 0 to 1.
        memory_share: f64,
        /// Why the size is unknown.
        unknown: UnknownMemory,
    },
}

/// What a statement may disturb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Caution {
    /// Later statements on the table wait until those that are under way have ended.
    LaterStatementsWait,
}

/// Why nobody says how much memory a server may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum UnknownMemory {
    /// The host's memory, or what its control group leaves the server, cannot be seen from here.
    NotSeen,
    /// Other servers take memory of the same machine.
    Shared,
}

/// A variable's new value.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub(crate) struct NewSetting {
    /// The variable.
    pub variable: String,
    /// As an option file takes it.
    pub value: String,
    /// Sets it at once; none of a variable that only a start sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

impl NewSetting {
    fn new(facts: &Facts, variable: &str, value: String) -> NewSetting {
        let statement = !needs_restart(facts, variable, &value);
        NewSetting {
            statement: statement.then(|| {
                let value = in_bytes(&value).map_or(value.clone(), |bytes| bytes.to_string());
                format!("SET GLOBAL {variable} = {value};")
            }),
            variable: variable.to_owned(),
            value,
        }
    }
}

/// What changes it; none where that follows from the proof alone, or from what the application does.
pub(crate) fn remedy(finding: &Finding, facts: &Facts) -> Option<Remedy> {
    let host = facts.host.as_ref();
    let memory = host.and_then(|host| host.memory_bytes);
    match finding {
        Finding::DurabilityOff { variable, .. } => Some(settings(
            facts,
            [(variable, safe_value(variable).to_owned())],
        )),
        Finding::MemoryBeyondRam { memory_bytes, .. } => smaller_pool(facts, *memory_bytes),
        Finding::Swapped { .. } => smaller_pool(facts, memory?),
        Finding::PoolTooSmall {
            pool_bytes,
            data_bytes,
            ..
        } => {
            let wanted_bytes = rounded_up(*data_bytes);
            let within = |unknown: UnknownMemory| Remedy::LargerPool {
                wanted_bytes,
                memory_share: POOL_SHARE,
                unknown,
            };
            match memory {
                None => Some(within(UnknownMemory::NotSeen)),
                Some(_) if host.is_some_and(|host| host.other_servers > 0) => {
                    Some(within(UnknownMemory::Shared))
                }
                Some(memory) => {
                    let bytes = wanted_bytes.min(pool_in(memory));
                    (bytes > *pool_bytes).then(|| pool_of(facts, bytes))
                }
            }
        }
        Finding::EngineNotCrashSafe { tables } => Some(statements(tables.iter().map(in_innodb))),
        Finding::ReleaseEnded { series } | Finding::ReleaseEndedUpstream { series, .. } => {
            Some(Remedy::Upgrade {
                series: series.newest.clone(),
            })
        }
        // Two servers that replicate each other, or a cluster, would refuse the application's writes.
        Finding::ReplicaWritable {
            writes, in_cluster, ..
        } => {
            (*writes == 0 && !in_cluster).then(|| settings(facts, [("read_only", "ON".to_owned())]))
        }
        Finding::ConnectionsRefused {
            max_connections, ..
        }
        | Finding::ConnectionsNearLimit {
            max_connections, ..
        } => Some(settings(
            facts,
            [("max_connections", (max_connections * 2).to_string())],
        )),
        Finding::LoginsFailed { .. } | Finding::ClientsLost { .. } => {
            // The error log then names host and account of each.
            let told = match facts.server.family.is_mariadb() {
                true => "SET GLOBAL log_warnings = 4;",
                false => "SET GLOBAL log_error_verbosity = 3;",
            };
            Some(statements([told.to_owned()]))
        }
        Finding::RedoTooSmall {
            capacity_bytes,
            bytes_per_second,
            ..
        } => {
            let bytes = rounded_up((bytes_per_second * REDO_SECONDS) as u64).min(LARGEST_REDO);
            (bytes > *capacity_bytes).then(|| redo_of(facts, bytes))
        }
        Finding::LogBufferWaits { buffer_bytes, .. } => {
            let larger = size(buffer_bytes * 4);
            Some(settings(facts, [("innodb_log_buffer_size", larger)]))
        }
        Finding::QueryCacheOn { .. } => Some(settings(
            facts,
            [
                ("query_cache_type", "OFF".to_owned()),
                ("query_cache_size", "0".to_owned()),
            ],
        )),
        Finding::DuplicateIndexes { indexes, .. } => {
            let changes = indexes.iter().filter_map(|one| match one.likeness {
                Likeness::Equal => Some(format!(
                    "ALTER TABLE {} DROP INDEX {};",
                    quoted(&one.table),
                    name(&one.index)
                )),
                Likeness::Beginning | Likeness::WholeRows => hides(facts, &one.table, &one.index),
            });
            let changes: Vec<String> = changes.collect();
            (!changes.is_empty()).then(|| statements(changes))
        }
        Finding::UnusedIndexes { indexes, .. } => {
            let hidden = indexes.iter();
            let hidden = hidden.map(|one| hides(facts, &one.table, &one.index));
            Some(statements(hidden.collect::<Option<Vec<_>>>()?))
        }
        Finding::StatisticsStale { tables } => {
            // Replicas have statistics of their own.
            let analyses = tables
                .iter()
                .map(|one| format!("ANALYZE NO_WRITE_TO_BINLOG TABLE {};", quoted(&one.table)));
            Some(Remedy::Statements {
                statements: analyses.collect(),
                caution: analyze_waits(&facts.server).then_some(Caution::LaterStatementsWait),
            })
        }
        Finding::ThreadsNotCached { .. } => {
            Some(settings(facts, [("thread_cache_size", "256".to_owned())]))
        }
        Finding::TableCacheTooSmall { limit, .. } => Some(settings(
            facts,
            [("table_open_cache", (limit * 2).to_string())],
        )),
        Finding::StatementsNotRecorded { .. } => (!facts.variables.is_on("performance_schema"))
            .then(|| settings(facts, [("performance_schema", "ON".to_owned())])),
        Finding::ReplicaStopped { .. }
        | Finding::ReplicaLags { .. }
        | Finding::TemporaryTablesOnDisk { .. }
        | Finding::TablesWithoutKey { .. }
        | Finding::StatementsReadMuch { .. }
        | Finding::RowLockWaits { .. } => None,
    }
}

/// The statement that moves a table to the engine that outlives crashes.
pub(crate) fn in_innodb(table: &TableName) -> String {
    format!("ALTER TABLE {} ENGINE=InnoDB;", quoted(table))
}

/// The value with which a crash loses nothing.
pub(crate) fn safe_value(variable: &str) -> &'static str {
    match variable {
        "innodb_checksum_algorithm" => "crc32",
        "innodb_doublewrite" | "innodb_log_checksums" => "ON",
        _ => "1",
    }
}

fn settings<const N: usize>(facts: &Facts, settings: [(&str, String); N]) -> Remedy {
    Remedy::Settings {
        option_file: settings
            .first()
            .and_then(|(variable, _)| facts.options.file_of(variable)),
        settings: settings
            .map(|(variable, value)| NewSetting::new(facts, variable, value))
            .into(),
    }
}

/// Variables that MySQL and its descendants set at a start alone, of those that remedies change; MariaDB says it itself.
/// Source: MySQL reference manual, Dynamic System Variables. `innodb_doublewrite` is dynamic there, but not from OFF.
const START_ALONE: [&str; 3] = [
    "innodb_doublewrite",
    "innodb_log_file_size",
    "performance_schema",
];

/// Whether a variable takes this value at a start alone.
fn needs_restart(facts: &Facts, variable: &str, value: &str) -> bool {
    let version = facts.server.version;
    // MariaDB (10.11.12, 11.4.6 and later) grows the pool up to a bound that a start sets.
    let most = facts.variables.number(&format!("{variable}_max"));
    if let (Some(most), Some(bytes)) = (most, in_bytes(value))
        && bytes as f64 > most
    {
        return true;
    }
    match &facts.options.start_alone {
        Some(start_alone) => start_alone.contains(variable),
        None => {
            START_ALONE.contains(&variable)
                || variable == "innodb_log_buffer_size" && version.is_before(8, 0)
                || variable == "innodb_buffer_pool_size" && version.is_before(5, 7)
        }
    }
}

/// `128M` in bytes, which is how a statement takes it.
fn in_bytes(value: &str) -> Option<u64> {
    let mebibytes: u64 = value.strip_suffix('M')?.parse().ok()?;
    Some(mebibytes << 20)
}

fn statements(statements: impl IntoIterator<Item = String>) -> Remedy {
    Remedy::Statements {
        statements: statements.into_iter().collect(),
        caution: None,
    }
}

/// Whether ANALYZE TABLE takes a table of InnoDB out of the table cache: later statements then wait for those under way on it.
/// Source: release notes of MySQL 8.0.24, Percona Server 5.6.38 and 5.7.20, MariaDB 10.5.4 (MDEV-15101).
fn analyze_waits(server: &Server) -> bool {
    let version = server.version;
    let release = (version.major, version.minor, version.patch);
    match server.family {
        Family::Mariadb => release < (10, 5, 4),
        Family::Mysql => release < (8, 0, 24),
        Family::Percona => release < (5, 6, 38) || ((5, 7, 0)..(5, 7, 20)).contains(&release),
    }
}

/// The statement that hides an index from the optimizer, which is taken back in a moment, should something need it; none of a
/// server that cannot.
fn hides(facts: &Facts, table: &TableName, index: &str) -> Option<String> {
    let hiding = facts.server.hide_clause()?;
    Some(format!(
        "ALTER TABLE {} ALTER INDEX {} {};",
        quoted(table),
        name(index),
        hiding.hides()
    ))
}

/// The part of this memory that the pool may take, in bytes.
fn pool_in(memory_bytes: u64) -> u64 {
    (memory_bytes as f64 * POOL_SHARE) as u64
}

/// A pool that this memory holds; none where the pool is not what takes it.
fn smaller_pool(facts: &Facts, memory_bytes: u64) -> Option<Remedy> {
    let pool = facts.variables.number("innodb_buffer_pool_size")?;
    let bytes = pool_in(memory_bytes);
    ((bytes as f64) < pool).then(|| pool_of(facts, bytes))
}

fn pool_of(facts: &Facts, bytes: u64) -> Remedy {
    settings(facts, [("innodb_buffer_pool_size", size(bytes))])
}

fn redo_of(facts: &Facts, bytes: u64) -> Remedy {
    let number = |name: &str| facts.variables.number(name);
    match number("innodb_redo_log_capacity") {
        Some(_) => settings(facts, [("innodb_redo_log_capacity", size(bytes))]),
        None => {
            let files = number("innodb_log_files_in_group").unwrap_or(1.0);
            let each = (bytes as f64 / files.max(1.0)) as u64;
            settings(facts, [("innodb_log_file_size", size(each))])
        }
    }
}

fn rounded_up(bytes: u64) -> u64 {
    bytes.div_ceil(CHUNK).max(1) * CHUNK
}

/// As an option file takes it.
fn size(bytes: u64) -> String {
    match bytes >> 20 {
        0 => bytes.to_string(),
        mebibytes => format!("{mebibytes}M"),
    }
}

fn quoted(table: &TableName) -> String {
    format!("{}.{}", name(&table.schema), name(&table.table))
}

/// An identifier as SQL takes it: any may be a reserved word of some release.
fn name(identifier: &str) -> String {
    format!("`{}`", identifier.replace('`', "``"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::ReadsSource;
    use crate::finding::{DuplicateIndex, StaleTable, UnusedIndex};
    use crate::rules::tests::quiet;

    fn table(schema: &str, table: &str) -> TableName {
        TableName {
            schema: schema.to_owned(),
            table: table.to_owned(),
        }
    }

    fn lines(remedy: Option<Remedy>) -> Vec<String> {
        match remedy {
            Some(Remedy::Settings { settings, .. }) => settings
                .into_iter()
                .map(|one| format!("{}={}", one.variable, one.value))
                .collect(),
            Some(Remedy::Statements { statements, .. }) => statements,
            Some(Remedy::Upgrade { series }) => vec![series],
            Some(words @ Remedy::LargerPool { .. }) => panic!("{words:?}"),
            None => Vec::new(),
        }
    }

    #[test]
    fn names_are_quoted_in_statements() {
        let duplicate = DuplicateIndex {
            table: table("shop", "or`der"),
            index: "a".to_owned(),
            covered_by: "a2".to_owned(),
            likeness: Likeness::Equal,
        };
        let found = Finding::DuplicateIndexes {
            indexes: vec![duplicate],
            can_hide: true,
        };
        assert_eq!(
            lines(remedy(&found, &quiet())),
            ["ALTER TABLE `shop`.`or``der` DROP INDEX `a`;"]
        );
    }

    #[test]
    fn only_an_equal_index_is_dropped() {
        let duplicate = |index: &str, likeness: Likeness| DuplicateIndex {
            table: table("shop", "t"),
            index: index.to_owned(),
            covered_by: "other".to_owned(),
            likeness,
        };
        let found = |indexes: Vec<DuplicateIndex>, can_hide: bool| Finding::DuplicateIndexes {
            indexes,
            can_hide,
        };
        let pairs = vec![
            duplicate("a", Likeness::Beginning),
            duplicate("b", Likeness::Equal),
            duplicate("c", Likeness::WholeRows),
        ];
        let mut facts = quiet();
        assert_eq!(
            lines(remedy(&found(pairs.clone(), true), &facts)),
            [
                "ALTER TABLE `shop`.`t` ALTER INDEX `a` IGNORED;",
                "ALTER TABLE `shop`.`t` DROP INDEX `b`;",
                "ALTER TABLE `shop`.`t` ALTER INDEX `c` IGNORED;",
            ]
        );
        facts.server.version = "10.5.2".parse().unwrap();
        assert_eq!(
            lines(remedy(&found(pairs, false), &facts)),
            ["ALTER TABLE `shop`.`t` DROP INDEX `b`;"]
        );
        let beginning = found(vec![duplicate("a", Likeness::Beginning)], false);
        assert_eq!(remedy(&beginning, &facts), None);
    }

    #[test]
    fn an_unused_index_is_hidden_where_the_server_can() {
        let found = Finding::UnusedIndexes {
            indexes: vec![UnusedIndex {
                table: table("shop", "t"),
                index: "i".to_owned(),
                table_reads: 5.0,
            }],
            since_seconds: 1.0,
            counted_by: ReadsSource::PerformanceSchema,
        };
        let mut facts = quiet();
        for (family, version, expected) in [
            (niagara_server::Family::Mariadb, "10.11.6", Some("IGNORED")),
            (niagara_server::Family::Mariadb, "10.5.2", None),
            (niagara_server::Family::Mysql, "8.0.36", Some("INVISIBLE")),
            (niagara_server::Family::Mysql, "5.7.40", None),
        ] {
            facts.server.family = family;
            facts.server.version = version.parse().unwrap();
            let words: Vec<String> = expected
                .map(|word| format!("ALTER TABLE `shop`.`t` ALTER INDEX `i` {word};"))
                .into_iter()
                .collect();
            assert_eq!(lines(remedy(&found, &facts)), words, "{version}");
        }
    }

    #[test]
    fn an_analysis_warns_where_it_makes_statements_wait() {
        let stale = Finding::StatisticsStale {
            tables: vec![StaleTable {
                table: table("shop", "t"),
                rows: 1.0,
                inserted: 5000.0,
            }],
        };
        let mut facts = quiet();
        for (family, version, waits) in [
            (Family::Mysql, "5.6.51", true),
            (Family::Mysql, "8.0.23", true),
            (Family::Mysql, "8.0.24", false),
            (Family::Mysql, "9.7.0", false),
            (Family::Percona, "5.6.37", true),
            (Family::Percona, "5.6.38", false),
            (Family::Percona, "5.7.19", true),
            (Family::Percona, "5.7.20", false),
            (Family::Percona, "8.0.13", false),
            (Family::Mariadb, "10.4.34", true),
            (Family::Mariadb, "10.5.3", true),
            (Family::Mariadb, "10.5.4", false),
        ] {
            facts.server.family = family;
            facts.server.version = version.parse().unwrap();
            let expected = Remedy::Statements {
                statements: vec!["ANALYZE NO_WRITE_TO_BINLOG TABLE `shop`.`t`;".to_owned()],
                caution: waits.then_some(Caution::LaterStatementsWait),
            };
            assert_eq!(remedy(&stale, &facts), Some(expected), "{family} {version}");
        }
    }

    #[test]
    fn sizes_fit_the_machine() {
        let mut facts = quiet();
        let small = Finding::PoolTooSmall {
            pool_bytes: 16 << 20,
            data_bytes: 200 << 20,
            read_bytes: 0,
            miss_share: 0.5,
            pages_per_second: 100.0,
        };
        if let Some(host) = &mut facts.host {
            host.memory_bytes = Some(4 << 30);
        }
        assert_eq!(
            lines(remedy(&small, &facts)),
            ["innodb_buffer_pool_size=256M"]
        );
        // Half of the memory, where the data are larger.
        if let Some(host) = &mut facts.host {
            host.memory_bytes = Some(256 << 20);
        }
        assert_eq!(
            lines(remedy(&small, &facts)),
            ["innodb_buffer_pool_size=128M"]
        );
        // What is there already is no remedy.
        if let Some(host) = &mut facts.host {
            host.memory_bytes = Some(16 << 20);
        }
        assert_eq!(remedy(&small, &facts), None);
    }

    #[test]
    fn no_statement_exceeds_an_unknown_memory() {
        let small = Finding::PoolTooSmall {
            pool_bytes: 128 << 20,
            data_bytes: 200 << 30,
            read_bytes: 0,
            miss_share: 0.5,
            pages_per_second: 100.0,
        };
        let bounded = |unknown: UnknownMemory| {
            Some(Remedy::LargerPool {
                wanted_bytes: 200 << 30,
                memory_share: POOL_SHARE,
                unknown,
            })
        };
        let swapped = Finding::Swapped {
            swapped_bytes: 1 << 30,
            resident_bytes: 1 << 30,
            pages_read: 9,
        };
        let mut facts = quiet();
        if let Some(host) = &mut facts.host {
            host.other_servers = 1;
        }
        assert_eq!(remedy(&small, &facts), bounded(UnknownMemory::Shared));
        if let Some(host) = &mut facts.host {
            host.memory_bytes = None;
        }
        assert_eq!(remedy(&small, &facts), bounded(UnknownMemory::NotSeen));
        assert_eq!(remedy(&swapped, &facts), None);
        facts.host = None;
        assert_eq!(remedy(&small, &facts), bounded(UnknownMemory::NotSeen));
    }

    #[test]
    fn a_redo_log_holds_half_an_hour_by_the_variable_that_the_server_has() {
        let mut facts = quiet();
        let small = Finding::RedoTooSmall {
            capacity_bytes: 96 << 20,
            bytes_per_second: 1048576.0,
            round_seconds: 96.0,
            in_use: None,
        };
        facts.variables.0.remove("innodb_redo_log_capacity");
        facts.variables.0.remove("innodb_log_files_in_group");
        assert_eq!(
            lines(remedy(&small, &facts)),
            ["innodb_log_file_size=1920M"]
        );
        facts
            .variables
            .0
            .insert("innodb_log_files_in_group".to_owned(), "2".to_owned());
        assert_eq!(lines(remedy(&small, &facts)), ["innodb_log_file_size=960M"]);
        facts
            .variables
            .0
            .insert("innodb_redo_log_capacity".to_owned(), "1".to_owned());
        assert_eq!(
            lines(remedy(&small, &facts)),
            ["innodb_redo_log_capacity=1920M"]
        );
    }

    #[test]
    fn a_replica_that_is_written_is_not_made_read_only() {
        let writable = |writes: u64, in_cluster: bool| Finding::ReplicaWritable {
            sources: vec!["db0:3306".to_owned()],
            writes,
            in_cluster,
        };
        let of = |finding: Finding| lines(remedy(&finding, &quiet()));
        assert_eq!(of(writable(0, false)), ["read_only=ON"]);
        assert_eq!(remedy(&writable(1, false), &quiet()), None);
        assert_eq!(remedy(&writable(0, true), &quiet()), None);
    }

    fn first_setting(remedy: Option<Remedy>) -> (NewSetting, Option<String>) {
        match remedy {
            Some(Remedy::Settings {
                settings,
                option_file,
            }) => (settings[0].clone(), option_file),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_variables_of_a_start_need_a_restart() {
        let pool = Finding::MemoryBeyondRam {
            buffer_bytes: 3 << 30,
            memory_bytes: 2 << 30,
        };
        let log_buffer = Finding::LogBufferWaits {
            waits: 9,
            buffer_bytes: 1 << 20,
        };
        let mut facts = quiet();
        let bytes = (4_u64 << 30).to_string();
        let pool_size = "innodb_buffer_pool_size".to_owned();
        facts.variables.0.insert(pool_size.clone(), bytes);
        let statement = |finding: &Finding, facts: &Facts| {
            let (setting, _) = first_setting(remedy(finding, facts));
            setting.statement
        };
        let set_pool = Some("SET GLOBAL innodb_buffer_pool_size = 1073741824;".to_owned());
        let set_log = Some("SET GLOBAL innodb_log_buffer_size = 4194304;".to_owned());
        // The server says it.
        facts.options.start_alone = Some(["innodb_log_buffer_size".to_owned()].into());
        assert_eq!(statement(&pool, &facts), set_pool);
        assert_eq!(statement(&log_buffer, &facts), None);
        // A pool that may not grow so far.
        let most = (512_u64 << 20).to_string();
        let bound = "innodb_buffer_pool_size_max".to_owned();
        facts.variables.0.insert(bound.clone(), most);
        assert_eq!(statement(&pool, &facts), None);
        facts.variables.0.remove(&bound);
        // The manual says it.
        facts.options.start_alone = None;
        facts.server.family = niagara_server::Family::Mysql;
        for (version, expected) in [("8.4.3", &set_log), ("5.7.40", &None)] {
            facts.server.version = version.parse().unwrap();
            assert_eq!(statement(&pool, &facts), set_pool, "{version}");
            assert_eq!(&statement(&log_buffer, &facts), expected, "{version}");
        }
        let unrecorded = Finding::StatementsNotRecorded {
            slow_log: false,
            long_query_time: 10.0,
        };
        assert_eq!(statement(&unrecorded, &facts), None);
    }

    #[test]
    fn a_setting_goes_where_the_server_reads_it() {
        let small = Finding::ThreadsNotCached {
            created: 1,
            connections: 1,
            connections_per_second: 1.0,
        };
        let mut facts = quiet();
        let file = |facts: &Facts| first_setting(remedy(&small, facts)).1;
        assert_eq!(file(&facts), None);
        facts.options.usual = Some("/etc/mysql/mariadb.conf.d/zz-local.cnf".to_owned());
        let usual = facts.options.usual.clone();
        assert_eq!(file(&facts), usual);
        let own = "/etc/mysql/mariadb.conf.d/50-server.cnf".to_owned();
        let variable = "thread_cache_size".to_owned();
        facts.options.set_in.insert(variable, own.clone());
        assert_eq!(file(&facts), Some(own));
    }
}
