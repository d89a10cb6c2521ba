//! What a running server says of its variables: their values, and which of them no longer do anything.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_server::RunningServer;

/// Variables of a running server, by their names in lower case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Settings {
    /// `SHOW GLOBAL VARIABLES`.
    pub values: BTreeMap<String, String>,
    /// Variables that the server itself describes as being without effect, each with its words.
    pub without_effect: BTreeMap<String, String>,
}

impl Settings {
    /// Asks a running server.
    ///
    /// # Errors
    /// The server does not answer.
    pub(crate) fn of(server: &RunningServer) -> Result<Self> {
        let values = pairs(server.query("SHOW GLOBAL VARIABLES")?);
        // MariaDB describes its variables since 10.1, MySQL since 9.0 (the table stays when the performance schema is off,
        // and is then empty); an older server has neither table, and then nothing is known.
        let described = if values.contains_key("aria_pagecache_buffer_size") {
            "SELECT variable_name, variable_comment FROM information_schema.system_variables"
        } else {
            "SELECT variable_name, documentation FROM performance_schema.variables_metadata"
        };
        let descriptions = server.query(described).map(pairs).unwrap_or_default();
        let without_effect = descriptions
            .into_iter()
            .filter(|(_, text)| says_without_effect(text))
            .collect();
        Ok(Self {
            values,
            without_effect,
        })
    }

    /// The value of an option: `skip_log_bin` is shown as `log_bin`.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let shown = || self.values.get(option.strip_prefix("skip_")?);
        self.values.get(option).or_else(shown).map(String::as_str)
    }
}

/// What a reader of a gain wants to know of the server that it is a gain over, in the order of asking.
const MAIN: [&str; 12] = [
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "log_bin",
    "sync_binlog",
    "innodb_log_file_size",
    "innodb_redo_log_capacity",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_adaptive_hash_index",
    "performance_schema",
    "thread_handling",
    "transaction_isolation",
];

impl Settings {
    /// The main settings in one line: `innodb_buffer_pool_size = 128M, …`; those that the server does not have are left out.
    pub(crate) fn main_ones(&self) -> String {
        // What MySQL still shows beside the redo log's capacity has no effect there.
        let idle = self
            .values
            .contains_key("innodb_redo_log_capacity")
            .then_some("innodb_log_file_size");
        let shown: Vec<String> = MAIN
            .iter()
            .filter(|name| Some(**name) != idle)
            .filter_map(|name| Some(format!("{name} = {}", sized(self.values.get(*name)?))))
            .collect();
        shown.join(", ")
    }
}

/// `128M` for 134217728; anything else as it is.
fn sized(value: &str) -> String {
    match value.parse::<u64>() {
        Ok(bytes) if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{}M", bytes >> 20),
        _ => value.to_owned(),
    }
}

fn pairs(rows: Vec<Vec<String>>) -> BTreeMap<String, String> {
    rows.into_iter()
        .filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()?.to_lowercase(), cells.next()?))
        })
        .collect()
}

/// Whether a variable's description says that it does nothing at all. Descriptions that speak of a condition ("ignored if
/// ... is not set") or of data that is ignored do not.
fn says_without_effect(description: &str) -> bool {
    let text = description.trim().trim_end_matches('.').to_lowercase();
    let deprecated_and_idle = text.contains("deprecated")
        && [
            "with no effect",
            "has no effect",
            "is ignored",
            "and ignored",
        ]
        .iter()
        .any(|words| text.ends_with(words) || text.ends_with(&format!("{words})")));
    deprecated_and_idle
        || text == "unused"
        || text.starts_with("unused,")
        || text.contains("does nothing")
        || text.ends_with("(ignored)")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As MariaDB 10.11.19 describes its variables.
    #[test]
    fn descriptions_of_idle_variables_are_told_from_others() {
        for idle in [
            "Deprecated parameter with no effect",
            "Should slave thread do foreign key constraint checks (deprecated, has no effect)",
            "Unused",
            "Unused, will be removed.",
            "The DATE format (ignored)",
            "It does nothing now and exists only for compatibility with old my.cnf files.",
        ] {
            assert!(says_without_effect(idle), "{idle}");
        }
        for working in [
            "To commit LOAD DATA transaction after every 10K rows inserted (deprecated)",
            "Alias for alter_algorithm. Deprecated. Use --alter-algorithm instead.",
            "The number of bytes to use when sorting BLOB or TEXT values (only the first max_sort_length bytes of each \
             value are used; the rest are ignored)",
            "When wsrep_gtid_mode is set, this value is used as gtid_domain_id for galera transactions. It is ignored, \
             otherwise.",
            "Tells the slave to write annotate rows events received from the master to its own binary log. Ignored if \
             log_slave_updates is not set",
            "Previously showed the size of large memory pages, unused since multiple page size support was added",
            "",
        ] {
            assert!(!says_without_effect(working), "{working}");
        }
    }

    #[test]
    fn the_main_settings_are_told_as_a_person_writes_them() {
        let values = [
            ("innodb_buffer_pool_size", "134217728"),
            ("innodb_log_file_size", "50331648"),
            ("innodb_redo_log_capacity", "104857600"),
            ("log_bin", "ON"),
            ("sync_binlog", "1"),
        ];
        let settings = Settings {
            values: values
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            ..Settings::default()
        };
        assert_eq!(
            settings.main_ones(),
            "innodb_buffer_pool_size = 128M, log_bin = ON, sync_binlog = 1, innodb_redo_log_capacity = 100M"
        );
    }

    #[test]
    fn a_flag_is_looked_up_as_the_variable_it_switches_off() {
        let settings = Settings {
            values: [("log_bin".to_owned(), "OFF".to_owned())].into(),
            ..Settings::default()
        };
        assert_eq!(settings.value("skip_log_bin"), Some("OFF"));
        assert_eq!(settings.value("log_bin"), Some("OFF"));
        assert_eq!(settings.value("skip_name_resolve"), None);
    }
}
