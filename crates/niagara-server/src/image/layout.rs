//! Variables that decide how a data directory is laid out: with others than it was made with, a server does not start on it.

use crate::config::Config;

/// What is fixed when a data directory is made.
const LAYOUT: [&str; 5] = [
    "innodb_page_size",
    "innodb_data_file_path",
    "innodb_undo_tablespaces",
    "innodb_checksum_algorithm",
    "lower_case_table_names",
];

/// The part of `config` that a data directory is made with.
pub fn layout_of(config: &Config) -> Config {
    config
        .iter()
        .filter(|(name, _)| LAYOUT.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}
