//! A fresh data directory with one account, made by the server itself.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use niagara_error::{Problem, Remedy as _, bail, problem};
use niagara_settings::ProcessSettings;

use crate::cache::{create_private, write_private};
use crate::config::Config;
use crate::install::Install;
use crate::install::share::{share_folder, sql_file};
use crate::install::version::NO_PROFILE;
use crate::launch::account::Account;
use crate::launch::arguments::{base_arguments, variable_arguments};
use crate::launch::child::Guard;
use crate::launch::error_log;
use crate::launch::start_obstacle::how_it_ended;
use crate::machine::oom_kills::OomKills;
use crate::process::spawn::{Placement, spawn};

/// A server makes its data directory in 3 s to 30 s; one that takes this long will not.
const LONGEST: Duration = Duration::from_secs(600);
/// How often it is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// A part of the system tables that the server's own install script feeds to it.
struct SqlFile {
    /// Its name behind `mariadb_` (newer series of MariaDB), `mysql_`, or nothing.
    name: &'static str,
    /// Whether there are no system tables without it.
    is_needed: bool,
}

const fn needed(name: &'static str) -> SqlFile {
    SqlFile {
        name,
        is_needed: true,
    }
}

/// Of newer releases, or in a package of the client's: servers start and work without.
const fn where_there(name: &'static str) -> SqlFile {
    SqlFile {
        name,
        is_needed: false,
    }
}

/// MariaDB's system tables, in the order in which its own install script feeds them.
const MARIADB_SQL: [SqlFile; 5] = [
    needed("system_tables"),
    needed("performance_tables"),
    needed("system_tables_data"),
    where_there("maria_add_gis_sp_bootstrap"),
    // From MariaDB 10.6 on.
    where_there("sys_schema"),
];

/// Those of a MySQL that cannot make its data directory itself (before 5.7), as its `mysql_install_db` feeds them.
const MYSQL_SQL: [SqlFile; 2] = [needed("system_tables"), needed("system_tables_data")];

/// Makes `datadir` (which must not exist) a data directory whose only account is the one returned.
pub(crate) fn initialise(
    install: &Install,
    datadir: &Path,
    scratch: &Path,
    layout: &Config,
) -> Result<Account> {
    let account = Account::random();
    create_private(datadir)?;
    let input = scratch.join("bootstrap.sql");
    let log = scratch.join("bootstrap.log");
    let mut command = Command::new(&install.server);
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C")
        .envs(NO_PROFILE)
        .envs(install.library_environment())
        .args(base_arguments(install, datadir))
        .args(variable_arguments(&ProcessSettings::default(), layout));
    // Temporary tables have a folder of their own: a MariaDB that starts removes those that it finds in its folder,
    // whoever they belong to.
    let tmp = scratch.join("tmp");
    fs::create_dir_all(&tmp)?;
    command.arg(format!("--tmpdir={}", tmp.display()));
    let is_mariadb = install.family.is_mariadb();
    let bootstraps = is_mariadb || !initialises_itself(install, scratch)?;
    if bootstraps {
        let files = match is_mariadb {
            true => &MARIADB_SQL[..],
            false => &MYSQL_SQL,
        };
        write_private(&input, bootstrap_sql(install, files, &account)?.as_bytes())?;
        command.args([
            "--bootstrap",
            "--skip-log-bin",
            "--max-allowed-packet=8M",
            "--net-buffer-length=16K",
            "--loose-innodb-buffer-pool-dump-at-shutdown=OFF",
        ]);
        if is_mariadb {
            // Older series do not know the first.
            command.args(["--loose-silent-startup", "--default-storage-engine=Aria"]);
        }
        command.stdin(fs::File::open(&input)?);
    } else {
        // root gets a password nobody knows, and is locked.
        let root = Account::random().password;
        let mut sql = format!(
            "SET sql_log_bin=0;\nALTER USER 'root'@'localhost' IDENTIFIED BY '{root}' ACCOUNT LOCK;\n"
        );
        sql += &account.statements(install.family, install.version);
        write_private(&input, sql.as_bytes())?;
        command.args(["--initialize-insecure", "--skip-log-bin"]);
        command
            .arg(format!("--init-file={}", input.display()))
            .arg(format!("--secure-file-priv={}", scratch.display()));
        command.stdin(Stdio::null());
    }
    let mut output = fs::File::create(&log)?;
    let words: Vec<String> = command
        .get_args()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    writeln!(output, "{} {}", install.server.display(), words.join(" "))?;
    command.stdout(output.try_clone()?).stderr(output);
    let killed_before = OomKills::now();
    let mut child = spawn(command, &Placement::default())
        .and_then(|child| Guard::new(child, &install.server, killed_before))
        .with_context(|| format!("cannot start {}", install.server.display()))?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if begun.elapsed() >= LONGEST {
            let told = problem!(
                "{} has not made a data directory within {} minutes; a server that finds the disk full waits for room without end",
                install.name,
                LONGEST.as_secs() / 60;
                remedy: "make room under {}, or name a cache on another disk in XDG_CACHE_HOME", datadir.display()
            );
            return Err(told.detail(error_log::tail(&log, 20)).into());
        }
        std::thread::sleep(POLL);
    };
    let text = error_log::tail(&log, 400);
    if !status.success() || (bootstraps && error_log::cause(&text).is_some()) {
        let told = Problem::new(format!(
            "{} could not make a data directory ({})",
            install.name,
            how_it_ended(status, child.memory_ran_out())
        ))
        .detail(error_log::tail(&log, 20));
        return Err(match error_log::cause(&text) {
            Some(cause) => told.because(anyhow::Error::msg(cause)).into(),
            None => told.into(),
        });
    }
    fs::remove_file(&input)?;
    fs::remove_dir_all(&tmp)?;
    account.write(datadir)?;
    Ok(account)
}

/// Whether a server of MySQL's makes its data directory itself, as it says by its options.
fn initialises_itself(install: &Install, scratch: &Path) -> Result<bool> {
    let help = install.verbose_help(&[], scratch)?;
    Ok(help.contains("--initialize-insecure"))
}

/// What a server is fed that makes its system tables so: its own files, then the account.
fn bootstrap_sql(install: &Install, files: &[SqlFile], account: &Account) -> Result<String> {
    let basedir = &install.basedir;
    share_folder(basedir)
        .with_context(|| {
            format!(
                "no share folder with english/errmsg.sys under {}",
                basedir.display()
            )
        })
        .remedy("name the binary of an installed server, or of a whole build")?;
    let mut sql = String::from(
        "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n",
    );
    let mut roles_in_json = false;
    for file in files {
        let candidates = [
            format!("mariadb_{}.sql", file.name),
            format!("mysql_{}.sql", file.name),
            format!("{}.sql", file.name),
        ];
        let Some(path) = sql_file(basedir, &candidates) else {
            if file.is_needed {
                bail!(
                    "no {} below {}", candidates.join(" or "), basedir.display();
                    remedy: "install the whole server (its package or tarball has the file), and give the path of that"
                );
            }
            continue;
        };
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        roles_in_json |= text.contains("global_priv");
        sql += &text;
        sql.push('\n');
    }
    sql += "use mysql;\n";
    sql += &match roles_in_json {
        true => account.in_global_priv(),
        false => account.in_user_table(),
    };
    Ok(sql)
}
