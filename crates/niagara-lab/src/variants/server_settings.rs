//! What a running server says of its variables: their values, and which of them no longer do anything.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_origin::configuration::says_without_effect;
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
    /// The main settings, with `128M` for a size; those that the server does not have are left out.
    pub(crate) fn main_ones(&self) -> Vec<(String, String)> {
        // What MySQL still shows beside the redo log's capacity has no effect there.
        let idle = self
            .values
            .contains_key("innodb_redo_log_capacity")
            .then_some("innodb_log_file_size");
        MAIN.iter()
            .filter(|name| Some(**name) != idle)
            .filter_map(|name| Some(((*name).to_owned(), sized(self.values.get(*name)?))))
            .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let main = [
            ("innodb_buffer_pool_size", "128M"),
            ("log_bin", "ON"),
            ("sync_binlog", "1"),
            ("innodb_redo_log_capacity", "100M"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(settings.main_ones(), main);
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
