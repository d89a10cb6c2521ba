//! A fresh data directory with one account, made by the server itself.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::cache::{create_private, write_private};
use crate::install::Install;
use crate::install::share::share_folder;
use crate::install::version::NO_PROFILE;
use crate::launch::account::Account;
use crate::launch::arguments::{base_arguments, variable_arguments};
use crate::launch::around::how_it_ended;
use crate::launch::child::Guard;
use crate::launch::error_log;
use crate::machine::oom_kills::OomKills;
use crate::process::spawn::{Placement, spawn};
use crate::runtime::{Config, Runtime};

/// A server makes its data directory in 3 s to 30 s; one that takes this long will not.
const LONGEST: Duration = Duration::from_secs(600);
/// How often it is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// MariaDB's system tables, in the order in which its own install script feeds them; older series name them after MySQL.
const MARIADB_SQL: [&str; 5] = [
    "system_tables",
    "performance_tables",
    "system_tables_data",
    "maria_add_gis_sp_bootstrap",
    "sys_schema",
];

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
        .args(base_arguments(install, datadir))
        .args(variable_arguments(&Runtime::default(), layout));
    // Temporary tables have a folder of their own: a MariaDB that starts removes those that it finds in its folder,
    // whoever they belong to.
    let tmp = scratch.join("tmp");
    fs::create_dir_all(&tmp)?;
    command.arg(format!("--tmpdir={}", tmp.display()));
    if install.family.is_mariadb() {
        write_private(&input, mariadb_sql(install, &account)?.as_bytes())?;
        command.args([
            "--bootstrap",
            "--silent-startup",
            "--skip-log-bin",
            "--default-storage-engine=Aria",
        ]);
        command.args([
            "--max-allowed-packet=8M",
            "--net-buffer-length=16K",
            "--loose-innodb-buffer-pool-dump-at-shutdown=OFF",
        ]);
        command.stdin(fs::File::open(&input)?);
    } else {
        // root gets a password nobody knows, and is locked.
        let root = Account::random().password;
        let mut sql = format!(
            "SET sql_log_bin=0;\nALTER USER 'root'@'localhost' IDENTIFIED BY '{root}' ACCOUNT LOCK;\n"
        );
        sql += &account.statements(install.family);
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
            bail!(
                "{} has not made a data directory within {} minutes; a server that finds the disk full waits for room without end\n\
                 remedy: make room under {}, or name a cache on another disk in XDG_CACHE_HOME\n{}",
                install.name,
                LONGEST.as_secs() / 60,
                datadir.display(),
                error_log::tail(&log, 20)
            );
        }
        std::thread::sleep(POLL);
    };
    let text = error_log::tail(&log, 400);
    if !status.success() || (install.family.is_mariadb() && error_log::cause(&text).is_some()) {
        let cause = error_log::cause(&text)
            .map(|cause| format!("\ncause: {cause}"))
            .unwrap_or_default();
        bail!(
            "{} could not make a data directory ({}){cause}\n{}",
            install.name,
            how_it_ended(status, child.memory_ran_out()),
            error_log::tail(&log, 20)
        );
    }
    fs::remove_file(&input)?;
    fs::remove_dir_all(&tmp)?;
    account.write(datadir)?;
    Ok(account)
}

fn mariadb_sql(install: &Install, account: &Account) -> Result<String> {
    let share = share_folder(&install.basedir).with_context(|| {
        format!("no share folder with english/errmsg.sys under {}\nremedy: install the server, or use a packaged one's share", install.basedir.display())
    })?;
    let mut sql = String::from(
        "create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n",
    );
    for name in MARIADB_SQL {
        let candidates = [
            format!("mariadb_{name}.sql"),
            format!("mysql_{name}.sql"),
            format!("{name}.sql"),
        ];
        let path = candidates
            .iter()
            .map(|candidate| share.join(candidate))
            .find(|path| path.is_file());
        let path = path
            .with_context(|| format!("{} holds no {}", share.display(), candidates.join(" or ")))?;
        sql += &fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        sql.push('\n');
    }
    sql += "use mysql;\n";
    sql += &account.mariadb_bootstrap();
    Ok(sql)
}
