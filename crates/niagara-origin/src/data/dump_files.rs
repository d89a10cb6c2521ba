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
    let mut files: Vec<DumperFile> = files_below(folder)?
        .into_iter()
        .filter_map(|(path, _)| of_name(&path))
        .collect();
    files.sort();
    if files.is_empty() {
        bail!("{} has no file of statements", folder.display());
    }
    Ok(files)
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
                "/d/shop.orders-schema.sql.gz",
                "/d/shop.orders.00000.sql.gz",
                "/d/shop.best-schema-view.sql.zst",
                "/d/shop-schema-post.sql",
            ]
        );
        assert_eq!(files[0].database, None);
        assert_eq!(files[2].database.as_deref(), Some("shop"));
    }
}
