//! Which branch of the family a server belongs to, and its version.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A branch of the MySQL family.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// MariaDB Server.
    Mariadb,
    /// MySQL Server.
    Mysql,
    /// Percona Server for MySQL.
    Percona,
}

impl Family {
    /// Whether data directories, options and accounts follow MariaDB's rules rather than MySQL's.
    pub fn is_mariadb(self) -> bool {
        self == Family::Mariadb
    }

    /// The branch of a server that is called so in the catalogue: MariaDB's of `mariadb-10.11`. None of a server that is named by its path.
    pub fn of_name(name: &str) -> Option<Family> {
        match name.split('-').next()? {
            "mariadb" => Some(Family::Mariadb),
            "mysql" => Some(Family::Mysql),
            "percona" => Some(Family::Percona),
            _ => None,
        }
    }

    /// The branch that prints this line for `--version`.
    pub fn from_version_line(line: &str) -> Family {
        if line.contains("MariaDB") {
            Family::Mariadb
        } else if line.contains("Percona") {
            Family::Percona
        } else {
            Family::Mysql
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Family::Mariadb => "MariaDB",
            Family::Mysql => "MySQL",
            Family::Percona => "Percona Server",
        })
    }
}

/// A server's version: three numbers, ordered.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
pub struct Version {
    /// 10 in 10.11.19.
    pub major: u32,
    /// 11 in 10.11.19.
    pub minor: u32,
    /// 19 in 10.11.19.
    pub patch: u32,
}

impl Version {
    /// `10.11`: the series this version belongs to.
    pub fn series(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// Whether it is of a series before `major.minor`.
    pub fn is_before(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) < (major, minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = anyhow::Error;

    /// Reads `10.11.19`, `10.11`, and what servers print: `10.11.19-MariaDB-0+deb12u1`, `8.0.36-28`.
    fn from_str(text: &str) -> Result<Version, Self::Err> {
        let numbers: String = text
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == '.')
            .collect();
        let mut parts = numbers
            .trim_end_matches('.')
            .split('.')
            .map(str::parse::<u32>);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(Ok(major)), Some(Ok(minor)), patch, None) => {
                let patch = patch.transpose()?.unwrap_or(0);
                Ok(Version {
                    major,
                    minor,
                    patch,
                })
            }
            _ => anyhow::bail!("`{text}` is not a version; one looks like 10.11.19"),
        }
    }
}

impl From<Version> for String {
    fn from(version: Version) -> String {
        version.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Version, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_servers_print_them_and_ordered() {
        let version = |text: &str| text.parse::<Version>().expect("a version");
        assert_eq!(
            version("10.11.19-MariaDB-0+deb12u1").to_string(),
            "10.11.19"
        );
        assert_eq!(version("8.0.36-28").series(), "8.0");
        assert!(version("10.6.21") < version("10.11.3"));
        assert!(version("9.7.4") < version("10.2"));
        assert!("nine".parse::<Version>().is_err());
    }

    #[test]
    fn families_are_told_by_the_catalogues_names() {
        assert_eq!(Family::of_name("mariadb-10.11"), Some(Family::Mariadb));
        assert_eq!(Family::of_name("mysql-9.7"), Some(Family::Mysql));
        assert_eq!(Family::of_name("percona-8.4"), Some(Family::Percona));
        assert_eq!(Family::of_name("/usr/sbin/mariadbd"), None);
    }

    #[test]
    fn families_are_told_by_the_version_line() {
        let family = Family::from_version_line;
        assert_eq!(
            family("mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu"),
            Family::Mariadb
        );
        assert_eq!(
            family("mysqld  Ver 9.7.4 for Linux on x86_64 ((Debian))"),
            Family::Mysql
        );
        assert_eq!(
            family("mysqld  Ver 8.0.36-28 for Linux on x86_64 (Percona Server (GPL))"),
            Family::Percona
        );
    }
}
