//! Dumps: one file of statements (mariadb-dump, mysqldump), or a folder of files (mydumper); compressed or not.

use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use niagara_capture::log::Input;
use niagara_server::Family;

use super::digest::files_below;
use super::made_by::MadeBy;

/// Bytes of a dump in which its head is.
const HEAD: usize = 64 << 10;
/// What the tools' own archives begin with.
const STREAM: &[u8] = b"XBSTCK01";
/// What other archives, and what is encrypted, begin with: what it is, and what makes a dump or a backup of it.
const OTHERS: [(&[u8], &str, &str); 8] = [
    (b"BZh", "compressed by bzip2", "bunzip2 FILE"),
    (&[0x04, 0x22, 0x4d, 0x18], "compressed by lz4", "unlz4 FILE"),
    (b"\x89LZO", "compressed by lzop", "lzop -d FILE"),
    (b"PK\x03\x04", "an archive of zip", "unzip FILE"),
    (b"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip", "7z x FILE"),
    (
        b"Salted__",
        "encrypted by openssl",
        "openssl enc -d, as it was encrypted",
    ),
    (
        b"-----BEGIN PGP",
        "encrypted by gpg",
        "gpg --decrypt --output DUMP FILE",
    ),
    (
        b"XBCRYP",
        "encrypted by xtrabackup",
        "xbcrypt --decrypt, with its key, then xbstream -x",
    ),
];
/// Where tar has its name.
const TAR: (usize, &[u8]) = (257, b"ustar");

/// The head of a dump's file, in clear.
///
/// # Errors
/// It cannot be read, or is none of statements.
pub(crate) fn head(path: &Path) -> Result<String> {
    let mut head = Vec::with_capacity(HEAD);
    let mut input = Input::open(path)?;
    (&mut input)
        .take(HEAD as u64)
        .read_to_end(&mut head)
        .with_context(|| format!("cannot read {}", path.display()))?;
    if head.starts_with(STREAM) {
        bail!(
            "{0} is a stream of a backup tool\nremedy: mbstream -x < {0} -C DIR (xbstream, for MySQL), then mariadb-backup --prepare \
             --target-dir=DIR, and name DIR",
            path.display()
        );
    }
    if head.get(TAR.0..TAR.0 + TAR.1.len()) == Some(TAR.1) {
        bail!(
            "{0} is an archive of files\nremedy: tar -xf {0} -C DIR, and name the data directory or backup in DIR",
            path.display()
        );
    }
    let other = OTHERS.iter().find(|(magic, ..)| head.starts_with(magic));
    if let Some((_, what, how)) = other {
        bail!(
            "{0} is {what}, which is not read here\n\
             remedy: {how}, and name what comes of it; gzip, zstd and xz are read as they are",
            path.display()
        );
    }
    if head.trim_ascii().is_empty() {
        bail!(
            "{} is empty: the dump failed, or was not copied\nremedy: dump again, and look at the tool's exit code",
            path.display()
        );
    }
    if head.contains(&0) {
        bail!(
            "{} is not text: a dump is a file of SQL statements\n\
             remedy: name a data directory, a prepared backup, a dump (mariadb-dump, mysqldump) or a folder of mydumper",
            path.display()
        );
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// The server that a dump is of, as its head says.
pub(crate) fn made_by(head: &str) -> Option<MadeBy> {
    let version = head.lines().take(40).find_map(|line| {
        let rest = line.strip_prefix("-- Server version")?;
        // With a colon by phpMyAdmin.
        Some(rest.trim_start_matches(':').trim())
    })?;
    let first = head.lines().find(|line| line.starts_with("-- "))?;
    let is_mariadb = version.contains("MariaDB") || first.contains("MariaDB dump");
    Some(MadeBy {
        family: if is_mariadb {
            Family::Mariadb
        } else {
            Family::Mysql
        },
        version: version.parse().ok()?,
    })
}

/// The one database that a dump is of, as its head says; none for a dump of several.
pub(crate) fn database(head: &str) -> Option<String> {
    let named = |line: &str| {
        // By phpMyAdmin in a line of its own.
        if let Some(name) = line.strip_prefix("-- Database: `") {
            return Some(name.trim().strip_suffix('`')?.replace("``", "`"));
        }
        let (_, name) = line.strip_prefix("-- Host: ")?.split_once("Database: ")?;
        Some(name.trim().to_owned())
    };
    let name = head.lines().take(40).find_map(named)?;
    (!name.is_empty()).then_some(name)
}

/// Refuses folders of other tools by their name.
///
/// # Errors
/// It is one, with what is taken instead.
pub(crate) fn refuse_other_folders(folder: &Path) -> Result<()> {
    let names: Vec<String> = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let ends = |ending: &str| names.iter().any(|name| name.ends_with(ending));
    let what = if names.iter().any(|name| name == "@.json") {
        "a dump of MySQL Shell (util.dumpInstance and its like)"
    } else if ends(".sql") && ends(".txt") {
        "a dump of tables and their rows in files of their own (mariadb-dump or mysqldump --tab, --dir)"
    } else {
        return Ok(());
    };
    bail!(
        "{} is {what}, which is not read here\n\
         remedy: a dump in one file (mariadb-dump, mysqldump without --tab), a folder of mydumper, or a physical backup",
        folder.display()
    )
}

/// Whether a folder was written by mydumper.
pub(crate) fn is_mydumper(folder: &Path) -> bool {
    folder.join("metadata").is_file() || folder.join("metadata.partial").is_file()
}

/// A file of mydumper's, with the database that its statements are meant in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DumperFile {
    /// When it is loaded: databases, tables, rows, then what refers to them.
    pub stage: u8,
    /// Where it is.
    pub path: PathBuf,
    /// Its database; none for the file that makes it.
    pub database: Option<String>,
}

/// The files of a folder of mydumper's, in the order in which they are loaded.
///
/// # Errors
/// The dump is not whole, or cannot be read.
pub(crate) fn mydumper_files(folder: &Path) -> Result<Vec<DumperFile>> {
    if folder.join("metadata.partial").is_file() {
        bail!(
            "{} is not whole: mydumper has not finished\nremedy: wait for it, or dump again",
            folder.display()
        );
    }
    let all = files_below(folder)?;
    if let Some((path, _)) = all.iter().find(|(path, _)| is_rows_alone(path)) {
        bail!(
            "{} has rows for LOAD DATA, which is not read here\nremedy: dump without --load-data and --csv",
            path.display()
        );
    }
    let mut files: Vec<DumperFile> = all
        .into_iter()
        .filter_map(|(path, _)| of_name(&path))
        .collect();
    files.sort();
    if files.is_empty() {
        bail!("{} has no file of statements", folder.display());
    }
    Ok(files)
}

/// Whether a file of mydumper's has rows without statements.
fn is_rows_alone(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let packed = ["", ".gz", ".zst"];
    packed
        .iter()
        .any(|ending| name.ends_with(&format!(".dat{ending}")))
}

fn of_name(path: &Path) -> Option<DumperFile> {
    let name = path.file_name()?.to_str()?;
    let (stem, _) = name.split_once(".sql")?;
    let file = |stage, database: Option<&str>| {
        Some(DumperFile {
            stage,
            path: path.to_owned(),
            database: database.map(str::to_owned),
        })
    };
    if let Some(database) = stem.strip_suffix("-schema-create") {
        return file(0, Some(database)).map(|file| DumperFile {
            database: None,
            ..file
        });
    }
    // DATABASE-schema-post: routines and events. A database's name stops at the first full stop.
    if let Some(database) = stem.strip_suffix("-schema-post") {
        return file(5, Some(database));
    }
    let (database, table) = stem.split_once('.')?;
    let stage = match table {
        table if table.ends_with("-schema-view") => 4,
        table if table.ends_with("-schema-triggers") => 3,
        table if table.ends_with("-schema") => 1,
        // What tables take their numbers from comes before them.
        table if table.ends_with("-schema-sequence") => 0,
        _ => 2,
    };
    file(stage, Some(database))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_tell_server_and_database() {
        let mariadb = "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19-11.8.6-MariaDB, for debian-linux-gnu (x86_64)\n--\n\
            -- Host: localhost    Database: shop\n-- ------\n-- Server version\t10.11.19-MariaDB-0+deb12u1\n";
        assert_eq!(made_by(mariadb).unwrap().to_string(), "MariaDB 10.11.19");
        assert_eq!(database(mariadb).as_deref(), Some("shop"));
        let mysql = "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n-- Host: localhost    Database: \n-- Server version\t8.0.36\n";
        assert_eq!(made_by(mysql).unwrap().to_string(), "MySQL 8.0.36");
        assert_eq!(database(mysql), None);
        let admin = "-- phpMyAdmin SQL Dump\n-- version 5.2.1\n-- https://www.phpmyadmin.net/\n--\n-- Host: localhost\n\
            -- Server version: 10.11.6-MariaDB-0+deb12u1\n-- PHP Version: 8.2.7\n\n--\n-- Database: `shop`\n--\n";
        assert_eq!(made_by(admin).unwrap().to_string(), "MariaDB 10.11.6");
        assert_eq!(database(admin).as_deref(), Some("shop"));
        assert_eq!(made_by("CREATE TABLE t (a INT);"), None);
    }

    #[test]
    fn the_files_of_mydumper_come_in_an_order_that_works() {
        let mut files: Vec<DumperFile> = [
            "/d/shop.orders.00000.sql.gz",
            "/d/shop.orders-schema.sql.gz",
            "/d/shop-schema-create.sql",
            "/d/shop.numbers-schema-sequence.sql",
            "/d/shop.best-schema-view.sql.zst",
            "/d/shop-schema-post.sql",
            "/d/metadata",
        ]
        .iter()
        .filter_map(|path| of_name(Path::new(path)))
        .collect();
        files.sort();
        let names: Vec<String> = files
            .iter()
            .map(|file| file.path.display().to_string())
            .collect();
        assert_eq!(
            names,
            [
                "/d/shop-schema-create.sql",
                "/d/shop.numbers-schema-sequence.sql",
                "/d/shop.orders-schema.sql.gz",
                "/d/shop.orders.00000.sql.gz",
                "/d/shop.best-schema-view.sql.zst",
                "/d/shop-schema-post.sql",
            ]
        );
        assert_eq!(files[0].database, None);
        assert_eq!(files[2].database.as_deref(), Some("shop"));
    }

    #[test]
    fn what_is_no_dump_is_told_by_its_name() -> Result<()> {
        let place = tempfile::tempdir()?;
        let file = |name: &str, bytes: &[u8]| {
            let path = place.path().join(name);
            std::fs::write(&path, bytes)?;
            let error = head(&path).expect_err(name);
            Ok::<_, std::io::Error>(format!("{error:#}"))
        };
        for (name, bytes, words) in [
            ("shop.sql.bz2", &b"BZh91AY"[..], "bunzip2"),
            ("shop.sql.lz4", &[0x04, 0x22, 0x4d, 0x18, 0x60], "unlz4"),
            ("shop.zip", b"PK\x03\x04\x14", "unzip"),
            ("shop.enc", b"Salted__\x01", "openssl"),
            ("shop.xbcrypt", b"XBCRYP03", "xbcrypt --decrypt"),
            ("shop.sql", b" \n", "is empty"),
        ] {
            let told = file(name, bytes)?;
            assert!(
                told.contains(words) && told.contains("remedy") && told.contains(name),
                "{told}"
            );
        }
        let folder = |name: &str, files: &[&str]| {
            let folder = place.path().join(name);
            std::fs::create_dir(&folder)?;
            for file in files {
                std::fs::write(folder.join(file), "x")?;
            }
            Ok::<_, std::io::Error>(folder)
        };
        let shell = folder("shell", &["@.json", "@.sql", "shop@orders@@0.tsv.zst"])?;
        let told = format!("{:#}", refuse_other_folders(&shell).expect_err("Shell"));
        assert!(
            told.contains("MySQL Shell") && told.contains("remedy"),
            "{told}"
        );
        let tab = folder("tab", &["orders.sql", "orders.txt"])?;
        let told = format!("{:#}", refuse_other_folders(&tab).expect_err("--tab"));
        assert!(told.contains("--tab"), "{told}");
        refuse_other_folders(&folder("none", &["notes.md"])?)?;
        let rows = folder("rows", &["metadata", "shop.orders.00000.dat.zst"])?;
        let told = format!("{:#}", mydumper_files(&rows).expect_err("rows alone"));
        assert!(told.contains("--load-data"), "{told}");
        Ok(())
    }
}
