//! What of the original must not wake in a copy: its accounts, its events, its replication, its ways to other servers.

use anyhow::Result;
use niagara_load::sql_text;
use niagara_server::{Config, Install, RunningServer, Version};

use super::elsewhere;
use super::statement::not_system;

/// Accounts that servers have for themselves.
const OWN: &str = "'niagara', 'mariadb.sys', 'mysql.sys', 'mysql.session', 'mysql.infoschema'";
/// MySQL speaks of replicas since then.
const REPLICAS: Version = Version {
    major: 8,
    minor: 0,
    patch: 26,
};

/// Since when accounts can be locked.
const LOCKS: [Version; 2] = [
    Version {
        major: 10,
        minor: 4,
        patch: 2,
    },
    Version {
        major: 5,
        minor: 7,
        patch: 6,
    },
];

/// Whether accounts of this server can be locked.
fn knows_locks(install: &Install) -> bool {
    let [mariadb, mysql] = LOCKS;
    match install.family.is_mariadb() {
        true => install.version >= mariadb,
        false => install.version >= mysql,
    }
}

/// Options that every server on the copy is started with.
pub(crate) fn options(install: &Install) -> Config {
    let speaks_of_replicas = !install.family.is_mariadb() && install.version >= REPLICAS;
    let skip = match speaks_of_replicas {
        true => "skip_replica_start",
        false => "skip_slave_start",
    };
    let mut options = Config::from([
        ("event_scheduler".to_owned(), "OFF".to_owned()),
        (skip.to_owned(), String::new()),
    ]);
    options.extend(elsewhere::options());
    options
}

/// Locks the accounts, forgets replication and other servers, and gives what views and routines run as an account where the dump
/// has none. Locked accounts still own views and routines: nobody can log in as them. What the copy is without, in words.
///
/// # Errors
/// The server refuses a statement.
pub(crate) fn put_to_sleep(server: &RunningServer, install: &Install) -> Result<Vec<String>> {
    let is_mariadb = install.family.is_mariadb();
    server.query("SET SESSION sql_log_bin = 0")?;
    for definer in definers_without_account(server)? {
        server.query(&format!("CREATE USER {definer}"))?;
        server.query(&format!("GRANT ALL ON *.* TO {definer}"))?;
    }
    let locks = knows_locks(install);
    let which = match (is_mariadb, locks) {
        (true, _) => " AND is_role = 'N'",
        (false, true) => " AND account_locked = 'N'",
        (false, false) => "",
    };
    let accounts = server.query(&format!(
        "SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user WHERE user NOT IN ({OWN}){which}"
    ))?;
    for account in accounts.into_iter().flatten() {
        if locks {
            server.query(&format!("ALTER USER {account} ACCOUNT LOCK"))?;
            continue;
        }
        // A password that nobody knows, of an account that may have been let in by a plugin.
        server.query(&format!(
            "UPDATE mysql.user SET plugin = 'mysql_native_password', authentication_string = '', password = PASSWORD('{:032x}') WHERE CONCAT(QUOTE(user), '@', QUOTE(host)) = {}",
            rand::random::<u128>(),
            sql_text(&account)
        ))?;
    }
    if !locks {
        server.query("FLUSH PRIVILEGES")?;
    }
    // Without a source there is nothing to forget, and some servers say so.
    let forget = match (is_mariadb, install.version >= REPLICAS) {
        (true, _) => "RESET SLAVE ALL",
        (false, true) => "RESET REPLICA ALL",
        (false, false) => "RESET SLAVE ALL",
    };
    let _ = server.query(forget);
    elsewhere::forget(server)
}

/// Accounts that views, triggers, routines and events run as and that are not there, as statements write them.
fn definers_without_account(server: &RunningServer) -> Result<Vec<String>> {
    let rows = server.query(&format!(
        "SELECT DISTINCT definer FROM (\
         SELECT definer FROM information_schema.views WHERE {} UNION \
         SELECT definer FROM information_schema.triggers WHERE {} UNION \
         SELECT definer FROM information_schema.routines WHERE {} UNION \
         SELECT definer FROM information_schema.events WHERE {}) d",
        not_system("table_schema"),
        not_system("trigger_schema"),
        not_system("routine_schema"),
        not_system("event_schema")
    ))?;
    let mut missing = Vec::new();
    for definer in rows.into_iter().flatten() {
        let Some((user, host)) = definer.rsplit_once('@') else {
            continue;
        };
        let name = format!("{}@{}", sql_text(user), sql_text(host));
        let there = server.query(&format!(
            "SELECT 1 FROM mysql.user WHERE user = {} AND host = {}",
            sql_text(user),
            sql_text(host)
        ))?;
        if there.is_empty() {
            missing.push(name);
        }
    }
    Ok(missing)
}

/// The user's databases.
///
/// # Errors
/// The server refuses the statement.
pub(crate) fn databases(server: &RunningServer) -> Result<Vec<String>> {
    let rows = server.query(&format!(
        "SELECT schema_name FROM information_schema.schemata WHERE {} ORDER BY 1",
        not_system("schema_name")
    ))?;
    Ok(rows.into_iter().flatten().collect())
}
