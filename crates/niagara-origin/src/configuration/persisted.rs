//! What was SET PERSIST in MySQL: a file of its own in the data directory, which is read after all option files and after the
//! command line.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::Remedy as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kept_value::hidden;
use super::option_file::PERSISTED;

/// The settings that a data directory keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persisted {
    /// The file.
    pub file: PathBuf,
    /// By name with underscores, as the server wrote them.
    pub settings: BTreeMap<String, String>,
}

impl Persisted {
    /// Those of the data directory or backup at `folder`; none where there are none.
    ///
    /// # Errors
    /// The file cannot be read, or is not what MySQL writes.
    pub(crate) fn of(folder: &Path) -> Result<Option<Self>> {
        let file = folder.join(PERSISTED);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.with_context(|| format!("cannot read {}", file.display()))?,
        };
        if text.trim().is_empty() {
            return Ok(None);
        }
        let document: Value = serde_json::from_str(&text)
            .with_context(|| format!("{} is not what MySQL keeps of SET PERSIST", file.display()))
            .remedy(
                "where the original does not need it either, take it out of a copy of the data",
            )?;
        let mut settings = BTreeMap::new();
        collect(&document, &mut settings);
        Ok((!settings.is_empty()).then_some(Self { file, settings }))
    }
}

/// Settings are objects with a `Value`, in groups that differ from version to version; secrets are encrypted and in groups of their own.
fn collect(group: &Value, settings: &mut BTreeMap<String, String>) {
    let Value::Object(members) = group else {
        return;
    };
    for (name, member) in members {
        match member.get("Value") {
            Some(Value::String(value)) => {
                settings.insert(name.clone(), hidden(name, value.clone()));
            }
            _ if name.starts_with("mysql_sensitive") => {}
            _ => collect(member, settings),
        }
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn what_versions_of_mysql_persist_is_read() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let read = |text: &str| {
            fs::write(folder.path().join(PERSISTED), text)?;
            Persisted::of(folder.path())
        };
        assert_eq!(Persisted::of(folder.path())?, None);
        let metadata = r#""Metadata": {"Timestamp": 1, "User": "root", "Host": "localhost"}"#;
        let first = format!(
            r#"{{"Version": 1, "mysql_server": {{"max_connections": {{"Value": "77", {metadata}}},
            "mysql_server_static_options": {{"innodb_log_file_size": {{"Value": "1073741824", {metadata}}}}}}}}}"#
        );
        let second = format!(
            r#"{{"Version": 2, "mysql_static_variables": {{"innodb_log_file_size": {{"Value": "1073741824", {metadata}}}}},
            "mysql_dynamic_variables": {{"max_connections": {{"Value": "77", {metadata}}}}},
            "mysql_sensitive_variables": {{"master_key_id": "x", "secret": {{"Value": "S3cret"}}}}}}"#
        );
        for text in [first, second] {
            let found = read(&text)?.expect("two settings");
            let settings: Vec<(&str, &str)> = found
                .settings
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            assert_eq!(
                settings,
                [
                    ("innodb_log_file_size", "1073741824"),
                    ("max_connections", "77")
                ]
            );
        }
        assert_eq!(read(r#"{"Version": 2}"#)?, None);
        let told = read("[mysqld]").expect_err("no JSON").explain().to_string();
        assert!(
            told.contains("SET PERSIST") && told.contains("remedy"),
            "{told}"
        );
        Ok(())
    }
}
