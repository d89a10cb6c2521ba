//! Which server it is, and the values of its variables.

use std::collections::BTreeMap;

use super::connection::Connection;

/// The branch of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
    /// Percona Server.
    Percona,
}

/// Variables that say how a server logs, and where.
const NAMES: [&str; 25] = [
    "slow_query_log",
    "slow_query_log_file",
    "long_query_time",
    "log_output",
    "min_examined_row_limit",
    "log_queries_not_using_indexes",
    "log_throttle_queries_not_using_indexes",
    "log_slow_admin_statements",
    "log_slow_extra",
    "log_slow_rate_limit",
    "log_slow_rate_type",
    "log_slow_filter",
    "log_slow_verbosity",
    "log_slow_disabled_statements",
    "log_slow_min_examined_row_limit",
    "slow_query_log_use_global_control",
    "slow_query_log_always_write_time",
    "log_slow_sp_statements",
    "log_timestamps",
    "time_zone",
    "system_time_zone",
    "sql_mode",
    "datadir",
    "general_log",
    "general_log_file",
];

/// A server: which one, and how its variables stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The branch of the family.
    pub family: Family,
    /// Its version as it says it.
    pub version: String,
    /// Its variables.
    pub variables: BTreeMap<String, String>,
}

impl Product {
    /// A server with these variables.
    #[cfg(test)]
    pub(super) fn of(family: Family, variables: &[(&str, &str)]) -> Product {
        Product {
            family,
            version: "1".to_owned(),
            variables: variables
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    /// Asks the server.
    ///
    /// # Errors
    /// What the server says.
    pub fn ask(connection: &mut dyn Connection) -> Result<Product, String> {
        let version = connection.value("SELECT VERSION()")?.unwrap_or_default();
        let comment = connection
            .value("SELECT @@version_comment")?
            .unwrap_or_default();
        let family = if version.contains("MariaDB") || comment.contains("MariaDB") {
            Family::Mariadb
        } else if comment.contains("Percona") {
            Family::Percona
        } else {
            Family::Mysql
        };
        let names: Vec<String> = NAMES.iter().map(|name| format!("'{name}'")).collect();
        let sql = format!(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN ({})",
            names.join(",")
        );
        let variables = connection
            .rows(&sql)?
            .into_iter()
            .filter_map(|row| {
                let mut values = row.into_iter();
                Some((values.next()??, values.next()?.unwrap_or_default()))
            })
            .collect();
        Ok(Product {
            family,
            version,
            variables,
        })
    }

    /// Whether `log_output` names a place: `FILE`, `TABLE` or `NONE`.
    pub(super) fn logs_to(&self, place: &str) -> bool {
        let output = self.variable("log_output").unwrap_or("FILE");
        output
            .split(',')
            .any(|word| word.trim().eq_ignore_ascii_case(place))
    }

    /// The value of a variable, if the server has it.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str)
    }
}
