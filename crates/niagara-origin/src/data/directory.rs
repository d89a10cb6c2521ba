//! Data directories of servers that do not run on them: what made them, how they are laid out, what keeps them from being
//! copied.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, anyhow, bail};
use niagara_server::{Config, Family};
use nix::fcntl::{FcntlArg, fcntl};

use super::digest::files_below;
use super::made_by::MadeBy;
use super::tablespace::{Tablespace, numbered};

/// Where a table's definition keeps the version of the server that made it.
const FRM_VERSION: usize = 51;
/// Files that a server on the folder has locked: InnoDB's first, Aria's.
const LOCKED: [&str; 2] = ["ibdata1", "aria_log_control"];
/// MariaDB's redo log with this bit in its first word is encrypted.
const ENCRYPTED_LOG: u8 = 0x80;

/// Whether the folder is a data directory.
pub(crate) fn is_directory(folder: &Path) -> bool {
    folder.join("ibdata1").is_file() || folder.join("mysql").is_dir()
}

/// Whether its server follows MariaDB's rules.
pub(crate) fn is_mariadb(folder: &Path) -> bool {
    folder.join("aria_log_control").exists()
        || folder.join("mysql/global_priv.frm").exists()
        || folder.join("aria_log.00000001").exists()
}

/// Refuses what must not or cannot be copied.
///
/// # Errors
/// A server runs on it; parts of it are elsewhere; it is encrypted.
pub(crate) fn check(folder: &Path) -> Result<()> {
    let is_mariadb = is_mariadb(folder);
    if let Some(pid) = LOCKED.iter().find_map(|name| locked_by(&folder.join(name))) {
        let tool = match is_mariadb {
            true => "mariadb-backup",
            false => "xtrabackup",
        };
        bail!(
            "a server runs on {} (process {pid}): its files change while they are copied", folder.display();
            remedy: "stop it, name a snapshot of the file system, or take a backup: {tool} --backup --target-dir=DIR, \
             then {tool} --prepare --target-dir=DIR"
        );
    }
    for (path, metadata) in files_below(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if metadata.is_symlink() || name.ends_with(".isl") {
            bail!(
                "{} leads out of the data directory: a server on a copy would write to the original",
                path.display();
                remedy: "take a physical backup (mariadb-backup, xtrabackup) or a dump, which have all in one place"
            );
        }
        let is_table = name.ends_with(".ibd") || name.starts_with("ibdata");
        if is_table && Tablespace::read(&path, is_mariadb)?.is_some_and(|space| space.encrypted) {
            return Err(encrypted(&path));
        }
    }
    let log = folder.join("ib_logfile0");
    if is_mariadb && first_byte(&log).is_some_and(|byte| byte & ENCRYPTED_LOG != 0) {
        return Err(encrypted(&log));
    }
    Ok(())
}

fn encrypted(file: &Path) -> anyhow::Error {
    anyhow!(
        "{} is encrypted, and the keys are not here", file.display();
        remedy: "a dump (mariadb-dump, mysqldump, mydumper) has the data in clear; what encryption costs is then not measured"
    )
}

/// The process that has a lock on the file, where one has.
fn locked_by(path: &Path) -> Option<i32> {
    let file = File::open(path).ok()?;
    let mut lock = libc_lock();
    fcntl(&file, FcntlArg::F_GETLK(&mut lock)).ok()?;
    (i32::from(lock.l_type) != i32::from(nix::libc::F_UNLCK as i16)).then_some(lock.l_pid)
}

/// A lock of the whole file for writing: whoever has any lock is in its way.
fn libc_lock() -> nix::libc::flock {
    nix::libc::flock {
        l_type: nix::libc::F_WRLCK as i16,
        l_whence: nix::libc::SEEK_SET as i16,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn first_byte(path: &Path) -> Option<u8> {
    let mut byte = [0];
    File::open(path).ok()?.read_exact(&mut byte).ok()?;
    Some(byte[0])
}

/// Refuses a data directory of which parts are elsewhere: a server on a copy would make them anew, empty, and say that all is well.
///
/// # Errors
/// What is missing, and where it may be.
pub(crate) fn check_whole(folder: &Path) -> Result<()> {
    let has = |name: &str| folder.join(name).exists();
    let is_mariadb = is_mariadb(folder);
    let parts = [
        (
            has("ibdata1"),
            "InnoDB's system tablespace (ibdata1)",
            "innodb_data_home_dir, innodb_data_file_path",
        ),
        (
            has("ib_logfile0") || has("#innodb_redo"),
            "InnoDB's redo log (ib_logfile0 or #innodb_redo)",
            "innodb_log_group_home_dir",
        ),
        (
            is_mariadb || !has("mysql.ibd") || (has("undo_001") && has("undo_002")),
            "the undo tablespaces (undo_001, undo_002)",
            "innodb_undo_directory",
        ),
        (
            !is_mariadb || has("aria_log_control"),
            "Aria's log (aria_log_control)",
            "aria_log_dir_path",
        ),
    ];
    for (is_there, part, variables) in parts {
        if !is_there {
            bail!(
                "{} is without {part}: it is elsewhere ({variables} of the original), and a server on a copy would begin a new one",
                folder.display();
                remedy: "take a physical backup or a dump, which have all in one place; or stop the server, copy the folder, and put the missing files into the copy"
            );
        }
    }
    Ok(())
}

/// The server that wrote the folder last, as far as its files tell.
///
/// # Errors
/// Nothing there tells it.
pub(crate) fn made_by(folder: &Path) -> Result<MadeBy> {
    let dictionary = folder.join("mysql.ibd");
    if dictionary.is_file()
        && let Some(version) = Tablespace::read(&dictionary, false)?.and_then(|space| space.mysql)
    {
        return Ok(MadeBy {
            family: Family::Mysql,
            version,
        });
    }
    // What the upgrade wrote down, and the newest definition of a system table: both may be older than the server.
    let upgraded = ["mariadb_upgrade_info", "mysql_upgrade_info"]
        .iter()
        .find_map(|name| fs::read_to_string(folder.join(name)).ok())
        .and_then(|text| text.trim().trim_end_matches('\0').parse().ok());
    let definitions = fs::read_dir(folder.join("mysql"))
        .with_context(|| format!("cannot read {}", folder.join("mysql").display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "frm"))
        .filter_map(|path| frm_version(&path));
    let version = definitions
        .chain(upgraded)
        .max()
        .with_context(|| {
            format!(
                "nothing in {} tells which server it is of",
                folder.display()
            )
        })
        .remedy("name the data directory itself, with mysql/ and ibdata1 in it")?;
    Ok(MadeBy {
        family: if is_mariadb(folder) {
            Family::Mariadb
        } else {
            Family::Mysql
        },
        version,
    })
}

fn frm_version(path: &Path) -> Option<niagara_server::Version> {
    let mut header = [0; FRM_VERSION + 4];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    // A view's is text.
    let bytes = header[FRM_VERSION..].try_into().ok()?;
    (header[0] == 0xfe).then_some(())?;
    numbered(u32::from_le_bytes(bytes))
}

/// What a server has to be told to start on the folder.
///
/// # Errors
/// The first tablespace cannot be read.
pub(crate) fn layout(folder: &Path) -> Result<Config> {
    let mut layout = Config::new();
    let mut set = |name: &str, value: String| layout.insert(name.to_owned(), value);
    let is_mariadb = is_mariadb(folder);
    let system = folder.join("ibdata1");
    if system.is_file()
        && let Some(space) = Tablespace::read(&system, is_mariadb)?
        && space.page_size != 16 << 10
    {
        set("innodb_page_size", space.page_size.to_string());
    }
    let parts = system_files(folder)?;
    if let Some((last, whole)) = parts.split_last()
        && !whole.is_empty()
    {
        let mut path = String::new();
        for (name, bytes) in whole {
            path += &format!("{name}:{}M;", bytes >> 20);
        }
        path += &format!("{}:{}M:autoextend", last.0, last.1 >> 20);
        set("innodb_data_file_path", path);
    }
    let undo = (1..=127)
        .take_while(|number| folder.join(format!("undo{number:03}")).is_file())
        .count();
    if is_mariadb && undo > 0 {
        set("innodb_undo_tablespaces", undo.to_string());
    }
    Ok(layout)
}

/// The files of InnoDB's system tablespace with their sizes, in order.
fn system_files(folder: &Path) -> Result<Vec<(String, u64)>> {
    let mut files = Vec::new();
    for number in 1.. {
        let name = format!("ibdata{number}");
        let path: PathBuf = folder.join(&name);
        match fs::metadata(&path) {
            Ok(metadata) => files.push((name, metadata.len())),
            Err(_) => break,
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn a_folder_without_parts_that_lie_elsewhere_is_refused() -> Result<()> {
        let place = tempfile::tempdir()?;
        let folder = |name: &str, files: &[&str]| {
            let folder = place.path().join(name);
            fs::create_dir_all(folder.join("mysql"))?;
            for file in files {
                fs::write(folder.join(file), "")?;
            }
            Ok::<_, std::io::Error>(folder)
        };
        let mariadb = ["ibdata1", "ib_logfile0", "aria_log_control"];
        let mysql = [
            "ibdata1",
            "#innodb_redo",
            "mysql.ibd",
            "undo_001",
            "undo_002",
        ];
        check_whole(&folder("mariadb", &mariadb)?)?;
        check_whole(&folder("mysql", &mysql)?)?;
        for (name, all, missing, variable) in [
            ("a", &mariadb[..], "ibdata1", "innodb_data_home_dir"),
            ("b", &mariadb, "ib_logfile0", "innodb_log_group_home_dir"),
            ("c", &mysql, "#innodb_redo", "innodb_log_group_home_dir"),
            ("d", &mysql, "undo_002", "innodb_undo_directory"),
        ] {
            let rest: Vec<&str> = all
                .iter()
                .copied()
                .filter(|file| *file != missing)
                .collect();
            let error = check_whole(&folder(name, &rest)?).expect_err(missing);
            let told = error.explain().to_string();
            assert!(
                told.contains(missing) && told.contains(variable) && told.contains("remedy"),
                "{told}"
            );
        }
        let folder = folder("e", &["ibdata1", "ib_logfile0", "mysql/global_priv.frm"])?;
        let told = check_whole(&folder)
            .expect_err("no log")
            .explain()
            .to_string();
        assert!(told.contains("aria_log_dir_path"), "{told}");
        Ok(())
    }
}
