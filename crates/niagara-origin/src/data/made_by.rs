//! Which server data were made by, and which servers take them.

use niagara_server::{Family, Version};
use serde::{Deserialize, Serialize};

/// The server that wrote the data last, as far as they tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBy {
    /// Its branch; Percona Server's data are MySQL's.
    pub family: Family,
    /// Its version, or an older one of the same series.
    pub version: Version,
}

impl std::fmt::Display for MadeBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.family, self.version)
    }
}

/// Series since which accounts are kept as they are now.
const OLDEST_MARIADB: (u32, u32) = (10, 4);
/// Since when MySQL upgrades its system tables when it starts.
const UPGRADES_ITSELF: Version = Version {
    major: 8,
    minor: 0,
    patch: 16,
};

/// Since when MySQL 8.0 takes files of a later release of its series.
const GOES_BACK: Version = Version {
    major: 8,
    minor: 0,
    patch: 35,
};

/// Whether MySQL of this version takes files of a later release of its series, by its manual ("Downgrading MySQL"): releases before
/// 8.0 and those of series with long-term support do, innovation releases do not.
fn goes_back(server: Version) -> bool {
    match (server.major, server.minor) {
        (..=5, _) | (8, 4) | (9, 7) => true,
        (8, 0) => server >= GOES_BACK,
        _ => false,
    }
}

impl MadeBy {
    /// Why a server of this branch and version does not take files that this one wrote; none where it does.
    pub(super) fn why_not(&self, family: Family, server: Version) -> Option<Misfit> {
        let data = self.version;
        if self.family.is_mariadb() != family.is_mariadb() {
            return Some(Misfit::OtherBranch);
        }
        if (data.major, data.minor) > (server.major, server.minor) {
            return Some(Misfit::Older);
        }
        if self.family.is_mariadb() {
            let is_too_old = (data.major, data.minor) < OLDEST_MARIADB
                && (server.major, server.minor) >= OLDEST_MARIADB;
            return is_too_old.then_some(Misfit::OldAccounts);
        }
        // From release to release: 5.6, 5.7, 8.0, 8.4, 9.x.
        let release = |version: Version| match (version.major, version.minor) {
            (..=5, ..=6) => 0,
            (..=7, _) => 1,
            (8, 0) => 2,
            (8, _) => 3,
            _ => 4,
        };
        // Of the same series.
        if data > server && !goes_back(server) {
            return Some(Misfit::Older);
        }
        if release(server) > release(data) + 1 {
            return Some(Misfit::TooManyReleases);
        }
        let is_upgraded = release(server) > release(data);
        (is_upgraded && server < UPGRADES_ITSELF).then_some(Misfit::NeedsProgram)
    }
}

/// Why a server does not take files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Misfit {
    /// It is of the other branch.
    OtherBranch,
    /// It is older than they are.
    Older,
    /// They have accounts as MariaDB kept them before 10.4.
    OldAccounts,
    /// It upgrades from the release before its own alone.
    TooManyReleases,
    /// Its system tables are upgraded by a program that is not here.
    NeedsProgram,
}

impl Misfit {
    /// In words, of the server `here`.
    pub(super) fn words(self, here: &str) -> String {
        match self {
            Self::OtherBranch => format!("{here} does not read its files"),
            Self::Older => format!("{here} is older, and does not go back so far"),
            Self::OldAccounts => "accounts were kept otherwise before MariaDB 10.4".to_owned(),
            Self::NeedsProgram => format!(
                "{here} needs mysql_upgrade for its system tables, which is not run here; from {UPGRADES_ITSELF} on the server does it itself"
            ),
            Self::TooManyReleases => format!("{here} does not upgrade over so many releases"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use anyhow::Result;
    use niagara_error::Explain as _;
    use niagara_server::Install;

    use super::super::nearest::check;
    use super::*;

    fn fits(family: Family, data: &str, of: Family, server: &str) -> Result<()> {
        let install = Install {
            name: "s".into(),
            family: of,
            version: server.parse()?,
            version_string: server.into(),
            basedir: "/usr".into(),
            server: "/usr/sbin/s".into(),
            mallocs: BTreeMap::new(),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        };
        let made_by = MadeBy {
            family,
            version: data.parse()?,
        };
        check(made_by, &install)
    }

    #[test]
    fn what_does_not_fit_is_refused_with_what_would() {
        use Family::{Mariadb, Mysql, Percona};
        for (family, data, of, server) in [
            (Mariadb, "10.11.2", Mariadb, "10.11.19"),
            (Mariadb, "10.11.19", Mariadb, "10.11.2"),
            (Mariadb, "10.6.1", Mariadb, "11.8.6"),
            (Mysql, "8.0.36", Percona, "8.0.36"),
            (Mysql, "8.4.1", Mysql, "9.7.4"),
            (Mysql, "5.7.22", Mysql, "8.0.31"),
            (Mysql, "5.7.20", Mysql, "5.7.22"),
            (Mysql, "5.7.22", Mysql, "5.7.20"),
            (Mysql, "8.0.36", Mysql, "8.0.35"),
            (Percona, "8.4.4", Mysql, "8.4.0"),
            (Mysql, "9.7.5", Mysql, "9.7.4"),
            (Mariadb, "10.1.23", Mariadb, "10.2.11"),
        ] {
            fits(family, data, of, server).unwrap();
        }
        for (family, data, of, server, word) in [
            (Mariadb, "11.8.6", Mariadb, "10.11.19", "mariadb-11.8"),
            (Mariadb, "10.11.2", Mysql, "9.7.4", "mariadb-10.11"),
            (Mysql, "8.0.36", Mariadb, "10.11.19", "MySQL 8.0"),
            (Mysql, "8.0.36", Mysql, "9.7.4", "so many releases"),
            (Mysql, "5.6.24", Mysql, "8.0.12", "so many releases"),
            (Mysql, "5.6.24", Mysql, "5.7.22", "mysql_upgrade"),
            (Mysql, "5.7.22", Mysql, "8.0.12", "from 8.0.16 on"),
            (Mysql, "8.0.36", Mysql, "8.0.34", "does not go back so far"),
            (Mysql, "9.6.1", Mysql, "9.6.0", "does not go back so far"),
            (Mysql, "8.4.4", Mysql, "8.0.40", "does not go back so far"),
            (Mariadb, "10.3.2", Mariadb, "10.11.19", "a dump"),
        ] {
            let error = fits(family, data, of, server).expect_err("does not fit");
            assert!(error.explain().to_string().contains(word), "{error}");
            assert!(error.explain().to_string().contains("remedy"), "{error}");
        }
    }
}
