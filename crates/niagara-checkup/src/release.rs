//! When projects end a series, from `data/checkup/releases.toml`.

use std::collections::BTreeMap;

use jiff::civil::Date;
use niagara_toml::FileError;
use schemars::JsonSchema;
use serde::Deserialize;

const TEXT: &str = include_str!("../../../data/checkup/releases.toml");
const HELP: &str = "the other series of the file show the format";

/// Both families.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Releases {
    pub mariadb: Project,
    pub mysql: Project,
}

/// A project's policy.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// Where the dates stand.
    pub source: String,
    /// A long-term series that an upgrade is compared with.
    pub newest: String,
    /// The last day of each series.
    #[schemars(with = "BTreeMap<String, String>")]
    pub ends: BTreeMap<String, Date>,
}

impl Releases {
    /// Those that are built in.
    ///
    /// # Errors
    /// A mistake in their file.
    pub fn built_in() -> Result<Releases, FileError> {
        niagara_toml::read("data/checkup/releases.toml (built in)", TEXT, HELP, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_series_have_no_end_before_others() {
        let releases = Releases::built_in().expect("valid dates");
        for project in [releases.mariadb, releases.mysql] {
            assert!(!project.source.is_empty());
            let ends = project.ends.get(&project.newest);
            assert!(ends.is_none_or(|ends| ends.year() >= 2028), "{ends:?}");
        }
    }
}
