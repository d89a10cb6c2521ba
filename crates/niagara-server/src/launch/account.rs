//! The one account of a private server: `niagara`, with a random password, from this machine only (and from one other
//! host, for a server that it was to reach).

use std::fs;
use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_load::{Endpoint, TlsOptions, Transport};
use serde::{Deserialize, Serialize};

use crate::cache::write_private;
use crate::family::{Family, Version};

/// Where a data directory keeps its account, readable by its owner only.
const FILE: &str = "niagara-account.json";
const USER: &str = "niagara";
const HOSTS: [&str; 2] = ["localhost", "127.0.0.1"];

/// User and password of a data directory.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Account {
    pub user: String,
    pub password: String,
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Account({})", self.user)
    }
}

impl Account {
    /// A new account with a password nobody can guess.
    pub fn random() -> Account {
        // The servers' own checks of passwords want letters of both cases, a digit and another sign.
        let password = format!("Na-1{:032x}", rand::random::<u128>());
        Account {
            user: USER.to_owned(),
            password,
        }
    }

    /// The account of a data directory; none for one that Niagara did not make.
    pub fn of(datadir: &Path) -> Result<Option<Account>> {
        let path = datadir.join(FILE);
        match fs::read(&path) {
            Ok(bytes) => {
                let account = serde_json::from_slice(&bytes);
                account
                    .map(Some)
                    .with_context(|| format!("{} is damaged; remove it", path.display()))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Keeps the account with its data directory.
    pub fn write(&self, datadir: &Path) -> Result<()> {
        write_private(&datadir.join(FILE), &serde_json::to_vec(self)?)
    }

    /// How its server is reached as this account.
    pub fn endpoint(&self, transport: Transport, database: &str) -> Endpoint {
        Endpoint {
            transport,
            user: self.user.clone(),
            password: self.password.clone(),
            database: database.to_owned(),
            tls: TlsOptions::default(),
        }
    }

    /// Statements for `--init-file`, one a line, that create the account or give it this password.
    pub fn statements(&self, family: Family, version: Version) -> String {
        let mut text = String::from("SET sql_log_bin=0;\n");
        for host in HOSTS {
            for statement in self.identify(host, family, version) {
                text += &format!("{statement};\n");
            }
            text += &format!(
                "GRANT ALL ON *.* TO '{}'@'{host}' WITH GRANT OPTION;\n",
                self.user
            );
        }
        text
    }

    /// Statements that let the account in from one other host too, there with no more than load takes: everything within
    /// `database`, nothing beyond it.
    pub(crate) fn door(
        &self,
        client: IpAddr,
        database: &str,
        family: Family,
        version: Version,
    ) -> Vec<String> {
        let mut statements = vec!["SET sql_log_bin=0".to_owned()];
        statements.extend(self.identify(&client.to_string(), family, version));
        // In a grant these stand for any letter and any text.
        let database = database.replace('_', "\\_").replace('%', "\\%");
        statements.push(format!(
            "GRANT ALL ON `{database}`.* TO '{}'@'{client}'",
            self.user
        ));
        statements.push("SET sql_log_bin=1".to_owned());
        statements
    }

    /// Statements after which there is the account from `host`, with this password.
    fn identify(&self, host: &str, family: Family, version: Version) -> Vec<String> {
        let Account { user, password } = self;
        let name = format!("'{user}'@'{host}'");
        match family {
            Family::Mariadb => {
                vec![format!(
                    "CREATE OR REPLACE USER {name} IDENTIFIED BY '{password}'"
                )]
            }
            // Neither IF NOT EXISTS nor a password by ALTER USER is known there.
            Family::Mysql | Family::Percona if version.is_before(5, 7) => vec![format!(
                "GRANT USAGE ON *.* TO {name} IDENTIFIED BY '{password}'"
            )],
            Family::Mysql | Family::Percona => vec![
                format!("CREATE USER IF NOT EXISTS {name} IDENTIFIED BY '{password}'"),
                format!("ALTER USER {name} IDENTIFIED BY '{password}'"),
            ],
        }
    }

    /// The same where a server is bootstrapped, and account statements are not to be had: the table is written directly. This is the
    /// one of MariaDB from 10.4 on.
    pub(crate) fn in_global_priv(&self) -> String {
        let Account { user, password } = self;
        let mut text = String::from(
            "DELETE FROM mysql.global_priv WHERE User<>'mariadb.sys';\n\
             DELETE FROM mysql.proxies_priv;\n",
        );
        for host in HOSTS {
            text += &format!(
                "INSERT INTO mysql.global_priv VALUES ('{host}', '{user}', CONCAT('{{\"access\":18446744073709551615,\
                 \"plugin\":\"mysql_native_password\",\"authentication_string\":\"', PASSWORD('{password}'), '\"}}'));\n"
            );
        }
        text
    }

    /// The same in the table of the releases before: its columns differ from one to the next, so what the server's own files put
    /// there for root from these hosts, with every right that the release knows, is made the account's.
    pub(crate) fn in_user_table(&self) -> String {
        let Account { user, password } = self;
        let hosts = HOSTS.map(|host| format!("'{host}'")).join(", ");
        format!(
            "DELETE FROM mysql.user WHERE User<>'root' OR Host NOT IN ({hosts});\n\
             UPDATE mysql.user SET User='{user}', Password=PASSWORD('{password}');\n\
             DELETE FROM mysql.proxies_priv;\n\
             DELETE FROM mysql.db;\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_host_is_let_in_to_one_database_alone() -> Result<()> {
        let account = Account::random();
        let client: IpAddr = "192.0.2.2".parse()?;
        for (family, version) in [
            (Family::Mariadb, "10.11.5"),
            (Family::Mysql, "5.6.24"),
            (Family::Mysql, "9.7.4"),
            (Family::Percona, "8.0.36"),
        ] {
            let version = version.parse()?;
            let door = account.door(client, "sbtest", family, version).join("; ");
            assert!(door.contains("GRANT ALL ON `sbtest`.* TO 'niagara'@'192.0.2.2'"));
            // Which gives no right: it makes the account of releases that know no other way.
            let rights = door.replace("GRANT USAGE ON *.*", "");
            assert!(!rights.contains("*.*") && !rights.contains('%'), "{door}");
            assert!(!account.statements(family, version).contains("192.0.2.2"));
        }
        Ok(())
    }
}
