//! Physical backups of mariadb-backup and xtrabackup: whether they are prepared, and what they say of their server.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use niagara_server::{Config, Family, layout_of};

use super::made_by::MadeBy;

/// Files that say how far a backup is; the tools have changed the name.
const CHECKPOINTS: [&str; 2] = ["mariadb_backup_checkpoints", "xtrabackup_checkpoints"];
/// Files that say what it is of.
const INFO: [&str; 2] = ["mariadb_backup_info", "xtrabackup_info"];
/// Endings of files that a tool compressed or encrypted.
const PACKED: [&str; 6] = ["qp", "xbcrypt", "lz4", "zst", "xbstream", "gz"];

/// Whether the folder is such a backup.
pub(crate) fn is_backup(folder: &Path) -> bool {
    CHECKPOINTS.iter().any(|name| folder.join(name).is_file())
}

/// The files that belong to the tools.
pub(crate) fn is_tools(name: &str) -> bool {
    name.starts_with("xtrabackup_")
        || name.starts_with("mariadb_backup_")
        || name == "backup-my.cnf"
}

/// Refuses a backup that no server can start on.
///
/// # Errors
/// It is not prepared, or packed; with the command that does it.
pub(crate) fn check(folder: &Path) -> Result<()> {
    let is_mariadb =
        folder.join("aria_log_control").exists() || folder.join("aria_log.00000001").exists();
    let tool = if is_mariadb {
        "mariadb-backup"
    } else {
        "xtrabackup"
    };
    if let Some(packed) = packed(folder)? {
        bail!(
            "{} has files as the tool packed them ({packed})\nremedy: {tool} --decompress --target-dir={1} (and --decrypt), then {tool} --prepare --target-dir={1}",
            folder.display(),
            folder.display()
        );
    }
    let text = CHECKPOINTS
        .iter()
        .find_map(|name| fs::read_to_string(folder.join(name)).ok())
        .with_context(|| format!("cannot read {}", folder.join(CHECKPOINTS[1]).display()))?;
    let kind = value(&text, "backup_type").unwrap_or_default();
    match kind {
        "full-prepared" => Ok(()),
        // mariadb-backup's word for it; xtrabackup's for one that waits for increments.
        "log-applied" if is_mariadb => Ok(()),
        "incremental" => bail!(
            "{} is an incremental backup: alone it is nothing\nremedy: {tool} --prepare --target-dir=FULL --incremental-dir={}, and name FULL",
            folder.display(),
            folder.display()
        ),
        kind => bail!(
            "{} is a backup that is not prepared ({kind}): no server can start on it\nremedy: {tool} --prepare --target-dir={}",
            folder.display(),
            folder.display()
        ),
    }
}

/// The name of a packed file at the top of the folder, where there is one.
fn packed(folder: &Path) -> Result<Option<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names
        .filter(|name| name.starts_with("ibdata") || name.starts_with("xtrabackup_logfile"))
        .find(|name| {
            name.rsplit_once('.')
                .is_some_and(|(_, ending)| PACKED.contains(&ending))
        }))
}

/// The server that the backup is of.
pub(crate) fn made_by(folder: &Path) -> Option<MadeBy> {
    let text = INFO
        .iter()
        .find_map(|name| fs::read_to_string(folder.join(name)).ok())?;
    let version = value(&text, "server_version")?;
    Some(MadeBy {
        family: if version.contains("MariaDB") {
            Family::Mariadb
        } else {
            Family::Mysql
        },
        version: version.parse().ok()?,
    })
}

/// How the data are laid out, as the tool wrote it down.
pub(crate) fn layout(folder: &Path) -> Config {
    let text = fs::read_to_string(folder.join("backup-my.cnf")).unwrap_or_default();
    let all = text.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        Some((name.trim().to_owned(), value.trim().to_owned()))
    });
    layout_of(&all.collect())
}

fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then_some(value.trim())
    })
}
