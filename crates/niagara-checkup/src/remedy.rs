//! What to change for a finding, as lines of an option file or statements. Where Niagara can prove the change, its proof comes first.

use serde::Serialize;

use crate::facts::{Facts, TableName, Variables};
use crate::finding::Finding;

/// Of the machine's memory, what InnoDB's pool may take: the lower end of what the manual names for a host of a database alone.
/// Source: MySQL reference manual, Configuring InnoDB Buffer Pool Size (50 to 75 %).
const POOL_SHARE: f64 = 0.5;
/// Sizes are rounded up to so many bytes, the chunk in which the pool grows (`innodb_buffer_pool_chunk_size`).
const CHUNK: u64 = 128 << 20;
/// A redo log that holds so many seconds of writes leaves checkpoints their time. Larger ones lengthen the recovery.
const REDO_SECONDS: f64 = 1800.0;
const LARGEST_REDO: u64 = 16 << 30;

/// What to change.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(crate) enum Remedy {
    /// Lines of the option file, which the next start reads.
    OptionFile {
        /// `name=value`.
        lines: Vec<String>,
    },
    /// Statements for an administrator.
    Statements {
        /// Each with its semicolon.
        statements: Vec<String>,
    },
    /// Another release.
    Upgrade {
        /// The series, as the catalogue of servers names it.
        series: String,
    },
}

/// What changes it; none where that follows from the proof alone, or from what the application does.
pub(crate) fn remedy(finding: &Finding, facts: &Facts) -> Option<Remedy> {
    let memory = facts.host.as_ref().map(|host| host.memory_bytes);
    match finding {
        Finding::DurabilityOff { variable, .. } => Some(option_file([format!(
            "{variable}={}",
            safe_value(variable)
        )])),
        Finding::MemoryBeyondRam { memory_bytes, .. } => smaller_pool(facts, *memory_bytes),
        Finding::Swapped { .. } => smaller_pool(facts, memory?),
        Finding::PoolTooSmall {
            pool_bytes,
            data_bytes,
            ..
        } => {
            let most = memory.map_or(u64::MAX, pool_in);
            let bytes = rounded_up(*data_bytes).min(most);
            (bytes > *pool_bytes).then(|| option_file([pool_of(bytes)]))
        }
        Finding::EngineNotCrashSafe { tables } => {
            Some(statements(tables.iter().map(|table| {
                format!("ALTER TABLE {} ENGINE=InnoDB;", quoted(table))
            })))
        }
        Finding::ReleaseEnded { series } | Finding::ReleaseEndedUpstream { series, .. } => {
            Some(Remedy::Upgrade {
                series: series.newest.clone(),
            })
        }
        Finding::ReplicaWritable { .. } => Some(option_file(["read_only=ON".to_owned()])),
        Finding::ConnectionsRefused {
            max_connections, ..
        }
        | Finding::ConnectionsNearLimit {
            max_connections, ..
        } => Some(option_file([format!(
            "max_connections={}",
            max_connections * 2
        )])),
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
            (bytes > *capacity_bytes).then(|| option_file([redo_of(&facts.variables, bytes)]))
        }
        Finding::LogBufferWaits { buffer_bytes, .. } => {
            let line = format!("innodb_log_buffer_size={}", size(buffer_bytes * 4));
            Some(option_file([line]))
        }
        Finding::QueryCacheOn { .. } => Some(option_file([
            "query_cache_type=OFF".to_owned(),
            "query_cache_size=0".to_owned(),
        ])),
        Finding::DuplicateIndexes { indexes } => Some(statements(indexes.iter().map(|one| {
            format!(
                "ALTER TABLE {} DROP INDEX {};",
                quoted(&one.table),
                name(&one.index)
            )
        }))),
        Finding::UnusedIndexes { indexes, .. } => {
            // Hidden first: that is taken back in a moment, should a rare job want it.
            let hidden = hides_indexes(facts)?;
            Some(statements(indexes.iter().map(|one| {
                format!(
                    "ALTER TABLE {} ALTER INDEX {} {hidden};",
                    quoted(&one.table),
                    name(&one.index)
                )
            })))
        }
        Finding::StatisticsStale { tables } => Some(statements(
            tables
                .iter()
                .map(|one| format!("ANALYZE TABLE {};", quoted(&one.table))),
        )),
        Finding::ThreadsNotCached { .. } => Some(option_file(["thread_cache_size=256".to_owned()])),
        Finding::TableCacheTooSmall { limit, .. } => {
            Some(option_file([format!("table_open_cache={}", limit * 2)]))
        }
        Finding::StatementsNotRecorded { .. } => (!facts.variables.is_on("performance_schema"))
            .then(|| option_file(["performance_schema=ON".to_owned()])),
        Finding::ReplicaStopped { .. }
        | Finding::ReplicaLags { .. }
        | Finding::TemporaryTablesOnDisk { .. }
        | Finding::TablesWithoutKey { .. }
        | Finding::StatementsReadMuch { .. }
        | Finding::RowLockWaits { .. } => None,
    }
}

/// The value with which a crash loses nothing.
pub(crate) fn safe_value(variable: &str) -> &'static str {
    match variable {
        "innodb_checksum_algorithm" => "crc32",
        "innodb_doublewrite" | "innodb_log_checksums" => "ON",
        _ => "1",
    }
}

fn option_file<const N: usize>(lines: [String; N]) -> Remedy {
    Remedy::OptionFile {
        lines: lines.to_vec(),
    }
}

fn statements(statements: impl IntoIterator<Item = String>) -> Remedy {
    Remedy::Statements {
        statements: statements.into_iter().collect(),
    }
}

/// The word that hides an index from the optimizer; none of a server without one.
/// Source: MariaDB documentation, Ignored Indexes (10.6); MySQL reference manual, Invisible Indexes (8.0).
fn hides_indexes(facts: &Facts) -> Option<&'static str> {
    let version = facts.server.version;
    match facts.server.family.is_mariadb() {
        true => (!version.is_before(10, 6)).then_some("IGNORED"),
        false => (!version.is_before(8, 0)).then_some("INVISIBLE"),
    }
}

/// The part of this memory that the pool may take, in bytes.
fn pool_in(memory_bytes: u64) -> u64 {
    (memory_bytes as f64 * POOL_SHARE) as u64
}

/// A pool that this memory holds; none where the pool is not what takes it.
fn smaller_pool(facts: &Facts, memory_bytes: u64) -> Option<Remedy> {
    let pool = facts.variables.number("innodb_buffer_pool_size")?;
    let bytes = pool_in(memory_bytes);
    ((bytes as f64) < pool).then(|| option_file([pool_of(bytes)]))
}

fn pool_of(bytes: u64) -> String {
    format!("innodb_buffer_pool_size={}", size(bytes))
}

fn redo_of(variables: &Variables, bytes: u64) -> String {
    match variables.number("innodb_redo_log_capacity") {
        Some(_) => format!("innodb_redo_log_capacity={}", size(bytes)),
        None => {
            let files = variables.number("innodb_log_files_in_group").unwrap_or(1.0);
            format!(
                "innodb_log_file_size={}",
                size((bytes as f64 / files.max(1.0)) as u64)
            )
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
    use crate::finding::{DuplicateIndex, UnusedIndex};
    use crate::rules::tests::quiet;

    fn table(schema: &str, table: &str) -> TableName {
        TableName {
            schema: schema.to_owned(),
            table: table.to_owned(),
        }
    }

    fn lines(remedy: Option<Remedy>) -> Vec<String> {
        match remedy {
            Some(Remedy::OptionFile { lines }) => lines,
            Some(Remedy::Statements { statements }) => statements,
            Some(Remedy::Upgrade { series }) => vec![series],
            None => Vec::new(),
        }
    }

    #[test]
    fn names_are_quoted_in_statements() {
        let duplicate = DuplicateIndex {
            table: table("shop", "or`der"),
            index: "a".to_owned(),
            covered_by: "ab".to_owned(),
        };
        let found = Finding::DuplicateIndexes {
            indexes: vec![duplicate],
        };
        assert_eq!(
            lines(remedy(&found, &quiet())),
            ["ALTER TABLE `shop`.`or``der` DROP INDEX `a`;"]
        );
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
            host.memory_bytes = 4 << 30;
        }
        assert_eq!(
            lines(remedy(&small, &facts)),
            ["innodb_buffer_pool_size=256M"]
        );
        // Half of the memory, where the data are larger.
        if let Some(host) = &mut facts.host {
            host.memory_bytes = 256 << 20;
        }
        assert_eq!(
            lines(remedy(&small, &facts)),
            ["innodb_buffer_pool_size=128M"]
        );
        // What is there already is no remedy.
        if let Some(host) = &mut facts.host {
            host.memory_bytes = 16 << 20;
        }
        assert_eq!(remedy(&small, &facts), None);
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
}
