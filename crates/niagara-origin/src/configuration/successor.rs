//! Options that releases have renamed, replaced or taken away: what a file of another release should say.

use niagara_model::Successor;

use super::known_options::KnownOptions;

/// An option of some releases, and what others have in its place.
struct Renamed {
    /// As files have it.
    old: &'static str,
    /// As the server may have it.
    new: &'static str,
    /// How the value changes; empty where it is the same.
    how: &'static str,
}

const fn same(old: &'static str, new: &'static str) -> Renamed {
    Renamed { old, new, how: "" }
}

const fn other(old: &'static str, new: &'static str, how: &'static str) -> Renamed {
    Renamed { old, new, how }
}

/// From the release notes of MySQL 5.5 to 9.x and MariaDB 10.1 to 12. A server that has none of the new names has no successor.
const RENAMED: [Renamed; 36] = [
    same("tx_isolation", "transaction_isolation"),
    same("transaction_isolation", "tx_isolation"),
    same("tx_read_only", "transaction_read_only"),
    same("transaction_read_only", "tx_read_only"),
    other(
        "innodb_log_file_size",
        "innodb_redo_log_capacity",
        "all files together",
    ),
    other(
        "innodb_log_files_in_group",
        "innodb_redo_log_capacity",
        "all files together",
    ),
    other(
        "innodb_redo_log_capacity",
        "innodb_log_file_size",
        "the size of one file, of two on MySQL",
    ),
    other(
        "expire_logs_days",
        "binlog_expire_logs_seconds",
        "86400 times as much",
    ),
    other("binlog_expire_logs_seconds", "expire_logs_days", "in days"),
    other(
        "log_warnings",
        "log_error_verbosity",
        "1 for 0, 2 for 1, 3 for more",
    ),
    other(
        "log_error_verbosity",
        "log_warnings",
        "0 for 1, 1 for 2, 2 for 3",
    ),
    other(
        "default_authentication_plugin",
        "authentication_policy",
        "'PLUGIN,,'",
    ),
    same("storage_engine", "default_storage_engine"),
    same("table_type", "default_storage_engine"),
    same("table_cache", "table_open_cache"),
    same("key_buffer", "key_buffer_size"),
    same("sort_buffer", "sort_buffer_size"),
    same("record_buffer", "read_buffer_size"),
    same("myisam_recover", "myisam_recover_options"),
    same("default_character_set", "character_set_server"),
    same("default_collation", "collation_server"),
    same("skip_locking", "skip_external_locking"),
    other(
        "log_slow_queries",
        "slow_query_log",
        "ON, and slow_query_log_file",
    ),
    other("log", "general_log", "ON, and general_log_file"),
    same("log_slow_query", "slow_query_log"),
    same("log_slow_query_file", "slow_query_log_file"),
    same("log_slow_query_time", "long_query_time"),
    same("log_slow_min_examined_row_limit", "min_examined_row_limit"),
    same("tmp_memory_table_size", "tmp_table_size"),
    other(
        "max_statement_time",
        "max_execution_time",
        "in milliseconds",
    ),
    other("max_execution_time", "max_statement_time", "in seconds"),
    same("innodb_file_io_threads", "innodb_read_io_threads"),
    same("innodb_undo_logs", "innodb_rollback_segments"),
    other(
        "innodb_locks_unsafe_for_binlog",
        "transaction_isolation",
        "READ-COMMITTED",
    ),
    same("log_slave_updates", "log_replica_updates"),
    same("log_replica_updates", "log_slave_updates"),
];

/// What a server that knows `known` has in place of the option `name` (with underscores); none where it has nothing.
pub(super) fn successor(name: &str, known: &KnownOptions) -> Option<Successor> {
    let found = RENAMED
        .iter()
        .find(|renamed| renamed.old == name && known.has(renamed.new))?;
    Some(Successor {
        name: found.new.to_owned(),
        how: (!found.how.is_empty()).then(|| found.how.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_successor_is_named_where_the_server_has_it() {
        let known = |names: &str| {
            let lines = names.split(' ').map(|name| format!("  --{name}=#\n"));
            KnownOptions::read(&lines.collect::<String>())
        };
        let mysql =
            known("transaction-isolation innodb-redo-log-capacity binlog-expire-logs-seconds");
        let mariadb = known("tx-isolation innodb-log-file-size");
        for (name, known, words) in [
            (
                "tx_isolation",
                &mysql,
                Some("its successor is transaction_isolation"),
            ),
            (
                "innodb_log_file_size",
                &mysql,
                Some("its successor is innodb_redo_log_capacity (all files together)"),
            ),
            (
                "expire_logs_days",
                &mysql,
                Some("its successor is binlog_expire_logs_seconds (86400 times as much)"),
            ),
            ("query_cache_size", &mysql, None),
            ("expire_logs_days", &mariadb, None),
            (
                "innodb_redo_log_capacity",
                &mariadb,
                Some(
                    "its successor is innodb_log_file_size (the size of one file, of two on MySQL)",
                ),
            ),
        ] {
            let found = successor(name, known).map(|found| found.to_string());
            assert_eq!(found.as_deref(), words, "{name}");
        }
    }
}
