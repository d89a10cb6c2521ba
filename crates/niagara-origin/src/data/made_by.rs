//! Which server data were made by, and which servers take them.

use anyhow::{Result, bail};
use niagara_server::{Family, Install, Version};
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

impl MadeBy {
    /// Which server takes them in any case.
    pub(crate) fn remedy(&self) -> String {
        let series = self.version.series();
        let name = match self.family {
            Family::Mariadb => format!("mariadb-{series}"),
            Family::Mysql | Family::Percona => format!("mysql-{series}"),
        };
        format!(
            "remedy: take {name} where `niagara server list` has it, or the path of such a server's binary"
        )
    }

    /// Whether `install` takes files that this server wrote.
    ///
    /// # Errors
    /// Why not, and what would.
    pub(crate) fn check(&self, install: &Install) -> Result<()> {
        let same_branch = self.family.is_mariadb() == install.family.is_mariadb();
        let remedy = format!(
            "{}; a dump (mariadb-dump, mysqldump, mydumper) is taken by more servers",
            self.remedy()
        );
        let here = format!("{} {}", install.family, install.version);
        if !same_branch {
            bail!("the data are {self}'s: {here} does not read its files\n{remedy}");
        }
        let (data, server) = (self.version, install.version);
        if (data.major, data.minor) > (server.major, server.minor) {
            bail!("the data are {self}'s: {here} is older, and no server goes back\n{remedy}");
        }
        if self.family.is_mariadb() {
            if (data.major, data.minor) < OLDEST_MARIADB {
                bail!(
                    "the data are {self}'s: accounts were kept otherwise before MariaDB 10.4\n{remedy}"
                );
            }
            return Ok(());
        }
        // From release to release: 5.7, 8.0, 8.4, 9.x.
        let release = |version: Version| match (version.major, version.minor) {
            (..=7, _) => 0,
            (8, 0) => 1,
            (8, _) => 2,
            _ => 3,
        };
        if data > server {
            bail!("the data are {self}'s: {here} is older, and no server goes back\n{remedy}");
        }
        if release(server) > release(data) + 1 {
            bail!("the data are {self}'s: {here} does not upgrade over so many releases\n{remedy}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        made_by.check(&install)
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
        ] {
            fits(family, data, of, server).unwrap();
        }
        for (family, data, of, server, word) in [
            (Mariadb, "11.8.6", Mariadb, "10.11.19", "mariadb-11.8"),
            (Mariadb, "10.11.2", Mysql, "9.7.4", "mariadb-10.11"),
            (Mysql, "8.0.36", Mariadb, "10.11.19", "mysql-8.0"),
            (Mysql, "8.0.36", Mysql, "9.7.4", "so many releases"),
            (Mysql, "9.7.5", Mysql, "9.7.4", "no server goes back"),
            (Mariadb, "10.3.2", Mariadb, "10.11.19", "a dump"),
        ] {
            let error = fits(family, data, of, server).expect_err("does not fit");
            assert!(error.to_string().contains(word), "{error}");
            assert!(error.to_string().contains("remedy"), "{error}");
        }
    }
}
