//! Whether a server takes data; where it does not, the servers of the catalogue that do, nearest first.

use anyhow::Result;
use niagara_error::bail;
use niagara_server::{Catalog, Family, Install, Version};

use super::made_by::MadeBy;

/// MariaDB knows MySQL's collations of Unicode 9 (`…_0900_…`) from here on.
const TAKES_0900: Version = Version {
    major: 11,
    minor: 4,
    patch: 5,
};
/// ER_UNKNOWN_COLLATION.
const UNKNOWN_COLLATION: u16 = 1273;

/// Whether `install` takes files that `made_by` wrote.
///
/// # Errors
/// Why not, and what would.
pub(crate) fn check(made_by: MadeBy, install: &Install) -> Result<()> {
    let Some(reason) = made_by.why_not(install.family, install.version) else {
        return Ok(());
    };
    let here = format!("{} {}", install.family, install.version);
    bail!(
        "the data are {made_by}'s: {}", reason.words(&here);
        remedy: "{}; a dump (mariadb-dump, mysqldump, mydumper) is taken by more servers",
        take(made_by, &for_files(made_by))
    );
}

/// How the remedy of a refusal names the servers that `takes` takes, beside the binary of one as the data are of.
pub(crate) fn take(made_by: MadeBy, names: &[String]) -> String {
    let series = made_by.version.series();
    let family = match made_by.family {
        Family::Mariadb => Family::Mariadb,
        Family::Mysql | Family::Percona => Family::Mysql,
    };
    let path = format!("the path of the binary of {family} {series}");
    match names {
        [] => format!("take {path}"),
        names => format!("take {}, or {path}", names.join(" or ")),
    }
}

/// The names of the catalogue's servers that take files of `made_by`.
pub(crate) fn for_files(made_by: MadeBy) -> Vec<String> {
    named(|family, version| made_by.why_not(family, version).is_none())
}

/// Those that are nearest to take statements of `made_by`, which `install` refused with the error `code` and this message.
pub(crate) fn for_statements(
    made_by: MadeBy,
    install: &Install,
    code: u16,
    message: &str,
) -> Vec<String> {
    let is_refusing = |family: Family, version: Version| {
        family.is_mariadb() == install.family.is_mariadb()
            && version.series() == install.version.series()
    };
    let is_mariadbs = made_by.family.is_mariadb();
    let mut names = named(|family, version| {
        family.is_mariadb() == is_mariadbs
            && (version.major, version.minor) >= (made_by.version.major, made_by.version.minor)
            && !is_refusing(family, version)
    });
    names.truncate(1);
    if code == UNKNOWN_COLLATION && message.contains("_0900_") && !is_mariadbs {
        // A series stands for its newest release.
        let knows = named(|family, version| {
            family.is_mariadb()
                && (version.major, version.minor) >= (TAKES_0900.major, TAKES_0900.minor)
                && !is_refusing(family, version)
        });
        names.extend(knows.into_iter().next());
    }
    names
}

/// The names of the catalogue's servers that `takes` agrees to, by branch and the newest version of their series; oldest first.
fn named(takes: impl Fn(Family, Version) -> bool) -> Vec<String> {
    // The catalogue is built in: where a file of the user's is wrong, others have said so.
    let Ok(catalog) = Catalog::load(&[]) else {
        return Vec::new();
    };
    let mut found: Vec<(Version, String)> = catalog
        .iter()
        .filter_map(|server| {
            let series: Version = server.series.parse().ok()?;
            let newest = Version {
                patch: u32::MAX,
                ..series
            };
            takes(server.family, newest).then(|| (newest, server.name.clone()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn made_by(family: Family, version: &str) -> MadeBy {
        MadeBy {
            family,
            version: version.parse().unwrap(),
        }
    }

    fn install(family: Family, version: &str) -> Install {
        Install {
            name: "s".into(),
            family,
            version: version.parse().unwrap(),
            version_string: version.into(),
            basedir: "/usr".into(),
            server: "/usr/sbin/s".into(),
            mallocs: BTreeMap::new(),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        }
    }

    #[test]
    fn the_nearest_server_that_takes_statements_is_named() {
        use Family::{Mariadb, Mysql};
        for (data, server, code, message, names) in [
            (
                made_by(Mysql, "8.0.36"),
                install(Mariadb, "10.11.19"),
                1273,
                "Unknown collation: 'utf8mb4_0900_ai_ci'",
                &["mysql-9.7", "mariadb-11.8"][..],
            ),
            (
                made_by(Mysql, "5.7.22"),
                install(Mariadb, "10.11.19"),
                1064,
                "",
                &["mysql-9.7"],
            ),
            // No further one takes it.
            (
                made_by(Mysql, "5.7.22"),
                install(Mysql, "9.7.4"),
                1231,
                "",
                &[],
            ),
            (
                made_by(Mariadb, "10.6.1"),
                install(Mysql, "9.7.4"),
                1064,
                "",
                &["mariadb-10.11"],
            ),
            (
                made_by(Mariadb, "11.4.5"),
                install(Mariadb, "10.11.5"),
                1273,
                "Unknown collation: 'utf8mb4_uca1400_ai_ci'",
                &["mariadb-11.8"],
            ),
        ] {
            let found = for_statements(data, &server, code, message);
            assert_eq!(found, names, "{data} on {}", server.version);
        }
    }

    #[test]
    fn the_remedy_names_servers_and_a_path() {
        let data = made_by(Family::Percona, "8.0.36");
        assert_eq!(for_files(data), [] as [&str; 0]);
        assert_eq!(take(data, &[]), "take the path of the binary of MySQL 8.0");
        let data = made_by(Family::Mariadb, "10.6.3");
        assert_eq!(
            take(data, &for_files(data)),
            "take mariadb-10.11 or mariadb-11.8, or the path of the binary of MariaDB 10.6"
        );
    }
}
