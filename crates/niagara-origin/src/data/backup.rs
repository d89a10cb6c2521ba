//! Physical backups of mariadb-backup and xtrabackup: whether they are prepared, and what they say of their server.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_error::bail;
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
            "{} has files as the tool packed them ({packed})", folder.display();
            remedy: "{tool} --decompress --target-dir={0} (and --decrypt), then {tool} --prepare --target-dir={0}",
            folder.display()
        );
    }
    let text = CHECKPOINTS
        .iter()
        .find_map(|name| fs::read_to_string(folder.join(name)).ok())
        .with_context(|| format!("cannot read {}", folder.join(CHECKPOINTS[1]).display()))?;
    let kind = value(&text, "backup_type").unwrap_or_default();
    match kind {
        "full-prepared" => check_whole(folder),
        // mariadb-backup's word for it; xtrabackup's for one that waits for increments.
        "log-applied" if is_mariadb => check_whole(folder),
        "incremental" => bail!(
            "{} is an incremental backup: alone it is nothing", folder.display();
            remedy: "{tool} --prepare --target-dir=FULL --incremental-dir={}, and name FULL", folder.display()
        ),
        kind => bail!(
            "{} is a backup that is not prepared ({kind}): no server can start on it", folder.display();
            remedy: "{tool} --prepare --target-dir={}", folder.display()
        ),
    }
}

/// Refuses a backup of some databases alone, on which no server starts.
fn check_whole(folder: &Path) -> Result<()> {
    if folder.join("mysql").is_dir() || folder.join("mysql.ibd").is_file() {
        return Ok(());
    }
    bail!(
        "{} is a partial backup, without the server's own database `mysql`: no server starts on it",
        folder.display();
        remedy: "a backup of all, or one that has mysql too (--databases=\"mysql sys DATABASE\"), or a dump of the database"
    )
}

/// Whether the backup has some of the original's tables only, as the tool wrote it down.
pub(crate) fn is_partial(folder: &Path) -> bool {
    info(folder).is_some_and(|text| value(&text, "partial") == Some("Y"))
}

fn info(folder: &Path) -> Option<String> {
    INFO.iter()
        .find_map(|name| fs::read_to_string(folder.join(name)).ok())
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
            // What was unpacked may lie beside it.
            name.rsplit_once('.').is_some_and(|(unpacked, ending)| {
                PACKED.contains(&ending) && !folder.join(unpacked).exists()
            })
        }))
}

/// The server that the backup is of.
pub(crate) fn made_by(folder: &Path) -> Option<MadeBy> {
    let text = info(folder)?;
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

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn backups_are_told_apart_by_how_far_they_are() -> Result<()> {
        let place = tempfile::tempdir()?;
        let of = |name: &str, files: &[(&str, &str)]| {
            let folder = place.path().join(name);
            fs::create_dir_all(&folder)?;
            for (file, text) in files {
                let path = folder.join(file);
                fs::create_dir_all(path.parent().unwrap_or(&folder))?;
                fs::write(path, text)?;
            }
            Ok::<_, anyhow::Error>(match check(&folder) {
                Ok(()) => "taken".to_owned(),
                Err(error) => error.explain().to_string(),
            })
        };
        let prepared = ("xtrabackup_checkpoints", "backup_type = full-prepared\n");
        let system = ("mysql/global_priv.frm", "");
        assert_eq!(of("whole", &[prepared, system, ("ibdata1", "")])?, "taken");
        // Unpacked, with what it was unpacked from.
        let beside = [prepared, system, ("ibdata1", ""), ("ibdata1.qp", "")];
        assert_eq!(of("beside", &beside)?, "taken");
        let packed = of("packed", &[prepared, system, ("ibdata1.zst", "")])?;
        assert!(packed.contains("--decompress"), "{packed}");
        let partial = of("partial", &[prepared, ("ibdata1", ""), ("shop/t.ibd", "")])?;
        assert!(
            partial.contains("partial backup") && partial.contains("remedy"),
            "{partial}"
        );
        let raw = of(
            "raw",
            &[("xtrabackup_checkpoints", "backup_type = full-backuped\n")],
        )?;
        assert!(raw.contains("--prepare"), "{raw}");
        let folder = place.path().join("whole");
        assert!(!is_partial(&folder));
        fs::write(
            folder.join("xtrabackup_info"),
            "tool_name = x\npartial = Y\n",
        )?;
        assert!(is_partial(&folder));
        Ok(())
    }
}
