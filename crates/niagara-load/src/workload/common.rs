//! What can be said of every workload: how its tables are made, its statements sent, its connections kept.

use super::option::{OptionGroup, OptionValue, WorkloadOption, choice, number, option};
use crate::error::LoadError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options that all workloads have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CommonOptions {
    /// Storage engine of the tables.
    pub mysql_storage_engine: String,
    /// Text that is appended to `CREATE TABLE`, where the workload and not its file writes that.
    pub create_table_options: String,
    /// Replace a connection after this many of its transactions; 0: never.
    pub reconnect: u32,
    /// Whether statements are prepared.
    pub db_ps_mode: PreparedStatements,
}

/// Whether statements are prepared (sysbench: `db-ps-mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreparedStatements {
    /// Those that sysbench prepares are prepared.
    #[default]
    Auto,
    /// All statements go as text.
    Disable,
}

impl Default for CommonOptions {
    fn default() -> Self {
        CommonOptions {
            mysql_storage_engine: "innodb".into(),
            create_table_options: String::new(),
            reconnect: 0,
            db_ps_mode: PreparedStatements::Auto,
        }
    }
}

/// The options by name; `create_table_options` and `reconnect` are of sysbench's development version 1.1.
#[rustfmt::skip]
pub(super) const OPTIONS: [WorkloadOption; 4] = [
    option(OptionGroup::Oltp, "create_table_options", OptionValue::Text, "", "Text to append to CREATE TABLE"),
    option(OptionGroup::Oltp, "mysql_storage_engine", OptionValue::Text, "innodb", "Storage engine of the tables"),
    option(OptionGroup::Oltp, "reconnect", OptionValue::Number, "0", "Reconnect after this many transactions; 0: never"),
    option(OptionGroup::Database, "db_ps_mode", OptionValue::Choice(&["auto", "disable"]), "auto", "disable: send all statements as text instead of preparing them"),
];

impl CommonOptions {
    /// Sets an option; false if it is not one of these.
    ///
    /// # Errors
    /// A value that the option does not take.
    pub(super) fn set(&mut self, option: &WorkloadOption, value: &str) -> Result<bool, LoadError> {
        match option.name {
            "create_table_options" => self.create_table_options = value.to_owned(),
            "db_ps_mode" => {
                self.db_ps_mode = match choice(option, value)? {
                    "disable" => PreparedStatements::Disable,
                    _ => PreparedStatements::Auto,
                };
            }
            "mysql_storage_engine" => self.mysql_storage_engine = value.to_owned(),
            "reconnect" => self.reconnect = number(option, value)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether all statements are sent as text.
    pub(crate) fn as_text(&self) -> bool {
        self.db_ps_mode == PreparedStatements::Disable
    }

    /// Refuses what cannot be run.
    pub(super) fn validate(&self) -> Result<(), LoadError> {
        let engine = &self.mysql_storage_engine;
        if engine.is_empty()
            || !engine
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return Err(LoadError::invalid(format!(
                "mysql_storage_engine = '{engine}': cannot be the name of a storage engine"
            )));
        }
        if self.create_table_options.contains('\0') {
            return Err(LoadError::invalid(
                "create_table_options: must not contain a zero byte",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::WorkloadSpec;

    #[test]
    fn impossible_options_are_refused_by_name() {
        let mut spec = WorkloadSpec::default();
        spec.common.mysql_storage_engine = "in`nodb".into();
        let message = spec.validate().unwrap_err().to_string();
        assert!(message.contains("mysql_storage_engine"), "{message}");
        let mut spec = WorkloadSpec::default();
        spec.common.create_table_options = "a\0".into();
        let message = spec.validate().unwrap_err().to_string();
        assert!(message.contains("create_table_options"), "{message}");
    }
}
