//! The head of a dump: which server it is of, which tool wrote it, and of which database it is. Each tool says it in its own way.

use niagara_server::{Family, Version};
use serde::{Deserialize, Serialize};

use super::made_by::MadeBy;

/// Lines of a head.
const LINES: usize = 60;
/// What MariaDB's servers put before their version for clients that would take them for older than 5.5.
const FOR_OLD_CLIENTS: &str = "5.5.5-";
/// MySQL has no version from here on: what has one is MariaDB.
const MARIADB_ONLY: u32 = 10;

/// The tool that wrote a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DumpTool {
    /// mariadb-dump, or MariaDB's mysqldump.
    MariadbDump,
    /// MySQL's mysqldump.
    Mysqldump,
    /// MySQL's mysqlpump.
    Mysqlpump,
    /// phpMyAdmin's export.
    PhpMyAdmin,
    /// HeidiSQL's export.
    HeidiSql,
    /// Adminer's export.
    Adminer,
    /// Sequel Pro's export.
    SequelPro,
    /// Sequel Ace's export.
    SequelAce,
    /// Navicat's export.
    Navicat,
    /// SQLyog's export.
    SqlYog,
    /// TablePlus's export.
    TablePlus,
}

impl DumpTool {
    const ALL: [(Self, &str); 11] = [
        (Self::MariadbDump, "-- MariaDB dump"),
        (Self::Mysqldump, "-- MySQL dump"),
        (Self::Mysqlpump, "-- Dump created by MySQL pump"),
        (Self::PhpMyAdmin, "-- phpMyAdmin"),
        (Self::HeidiSql, "-- HeidiSQL"),
        (Self::Adminer, "-- Adminer"),
        (Self::SequelPro, "# Sequel Pro"),
        (Self::SequelAce, "# Sequel Ace"),
        (Self::Navicat, "Navicat"),
        (Self::SqlYog, "SQLyog"),
        (Self::TablePlus, "-- TablePlus"),
    ];

    fn of(line: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        // Two of them stand in a comment of several lines.
        let line = line.trim_start_matches("/*").trim_start();
        all.find(|(_, begin)| line.starts_with(begin))
            .map(|(tool, _)| *tool)
    }

    /// Whether it writes values of generated columns that MySQL refuses, and is of another branch than `family`.
    fn is_of_other_branch(self, family: Family) -> bool {
        match self {
            Self::MariadbDump => !family.is_mariadb(),
            Self::Mysqldump | Self::Mysqlpump => family.is_mariadb(),
            _ => false,
        }
    }
}

impl std::fmt::Display for DumpTool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::MariadbDump => "MariaDB's client",
            Self::Mysqldump => "MySQL's client",
            Self::Mysqlpump => "mysqlpump",
            Self::PhpMyAdmin => "phpMyAdmin",
            Self::HeidiSql => "HeidiSQL",
            Self::Adminer => "Adminer",
            Self::SequelPro => "Sequel Pro",
            Self::SequelAce => "Sequel Ace",
            Self::Navicat => "Navicat",
            Self::SqlYog => "SQLyog",
            Self::TablePlus => "TablePlus",
        })
    }
}

/// What a dump says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DumpHead {
    /// The server that it is of.
    pub made_by: Option<MadeBy>,
    /// The tool that wrote it.
    pub tool: Option<DumpTool>,
    /// The one database that it is of; none of a dump of several.
    pub database: Option<String>,
}

impl DumpHead {
    /// From the beginning of a dump.
    pub(crate) fn of(head: &str) -> Self {
        let mut found = Self::default();
        for line in head.lines().take(LINES) {
            let line = line.trim_end();
            found.tool = found.tool.or_else(|| DumpTool::of(line));
            found.made_by = found.made_by.or_else(|| server(line));
            if found.database.is_none() {
                found.database = database(line);
            }
        }
        found
    }

    /// The tool, where it is of another branch than the server: its dumps are not those of the server's own.
    pub(crate) fn foreign_tool(&self) -> Option<DumpTool> {
        let family = self.made_by?.family;
        self.tool.filter(|tool| tool.is_of_other_branch(family))
    }
}

/// The server that a line of a head names.
fn server(line: &str) -> Option<MadeBy> {
    let comment = line.trim_start_matches(['-', '#', ' ']);
    // mysqldump has a tab, phpMyAdmin, HeidiSQL and mysqlpump have a colon.
    if let Some(version) = comment.strip_prefix("Server version") {
        return made_by(version.trim_start_matches(':').trim());
    }
    if line.starts_with("-- Adminer") {
        // "-- Adminer 4.8.1 MySQL 10.11.6-MariaDB dump"
        let (_, rest) = line.split_once(" MySQL ")?;
        return made_by(rest.split_whitespace().next()?);
    }
    if comment.starts_with("Host:") {
        // "# Host: 127.0.0.1 (MySQL 5.7.22)"
        let (_, rest) = line.split_once("(MySQL ")?;
        return made_by(rest.trim_end_matches(')').trim());
    }
    if let Some((name, value)) = line.split_once(':')
        && name.trim().trim_start_matches(['*', ' ']) == "Source Server Version"
    {
        // Navicat: "Source Server Version : 80036 (8.0.36)", before that the number alone.
        let version = value
            .split_once('(')
            .map_or(value, |(_, inside)| inside.trim_end_matches(')'));
        return made_by(version.trim());
    }
    // SQLyog: "MySQL - 5.7.22-log : Database - shop"
    let (_, rest) = line.split_once("MySQL - ")?;
    made_by(rest.split_whitespace().next()?)
}

/// The server of a version as it prints it.
fn made_by(version: &str) -> Option<MadeBy> {
    let says_mariadb = version.to_ascii_lowercase().contains("mariadb");
    let bare = version.strip_prefix(FOR_OLD_CLIENTS);
    let bare = bare.filter(|_| says_mariadb).unwrap_or(version);
    let version: Version = bare.parse().ok()?;
    let family = match says_mariadb || version.major >= MARIADB_ONLY {
        true => Family::Mariadb,
        false => Family::Mysql,
    };
    Some(MadeBy { family, version })
}

/// The database that a line of a head names.
fn database(line: &str) -> Option<String> {
    let comment = line.trim_start_matches(['-', '#', ' ']);
    let named = if let Some((host, name)) = comment.split_once("Database:") {
        // By mysqldump in the line of the host, by others in a line of its own.
        (host.is_empty() || host.starts_with("Host:")).then_some(name)?
    } else if let Some((_, name)) = line.split_once(": Database - ") {
        name
    } else {
        let (key, name) = line.split_once(':')?;
        let key = key.trim().trim_start_matches(['*', ' ']);
        // Navicat's word for it.
        (key == "Source Schema" || key == "Source Database").then_some(name)?
    };
    let named = named.trim().trim_end_matches("*/").trim();
    let bare = named
        .strip_prefix('`')
        .and_then(|name| name.strip_suffix('`'));
    let name = bare.map_or_else(|| named.to_owned(), |name| name.replace("``", "`"));
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_tell_server_tool_and_database() {
        for (head, server, tool, database) in [
            (
                "/*M!999999\\- enable the sandbox mode */ \n-- MariaDB dump 10.19-11.8.6-MariaDB, for debian-linux-gnu (x86_64)\n--\n\
                 -- Host: localhost    Database: shop\n-- ------\n-- Server version\t10.11.19-MariaDB-0+deb12u1\n",
                "MariaDB 10.11.19",
                Some(DumpTool::MariadbDump),
                Some("shop"),
            ),
            (
                "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n-- Host: localhost    Database: \n-- Server version\t8.0.36\n",
                "MySQL 8.0.36",
                Some(DumpTool::Mysqldump),
                None,
            ),
            (
                "-- phpMyAdmin SQL Dump\n-- version 5.2.1\n-- https://www.phpmyadmin.net/\n--\n-- Host: localhost\n\
                 -- Server version: 10.11.6-MariaDB-0+deb12u1\n-- PHP Version: 8.2.7\n\n--\n-- Database: `shop`\n--\n",
                "MariaDB 10.11.6",
                Some(DumpTool::PhpMyAdmin),
                Some("shop"),
            ),
            (
                "-- MySQL dump 10.13  Distrib 5.7.22\n-- Host: db    Database: shop\n-- Server version\t5.5.5-10.11.19-MariaDB\n",
                "MariaDB 10.11.19",
                Some(DumpTool::Mysqldump),
                Some("shop"),
            ),
            (
                "-- Adminer 4.8.1 MySQL 10.11.6-MariaDB dump\n\nSET NAMES utf8;\n",
                "MariaDB 10.11.6",
                Some(DumpTool::Adminer),
                None,
            ),
            (
                "# ****\n# Sequel Pro SQL dump\n# Version 4541\n#\n# Host: 127.0.0.1 (MySQL 5.7.22)\n# Database: d1\n",
                "MySQL 5.7.22",
                Some(DumpTool::SequelPro),
                Some("d1"),
            ),
            (
                "# ****\r\n# Sequel Ace SQL dump\r\n# Host: localhost (MySQL 8.0.32)\r\n# Database: shop two\r\n",
                "MySQL 8.0.32",
                Some(DumpTool::SequelAce),
                Some("shop two"),
            ),
            (
                "/*\n Navicat Premium Data Transfer\n\n Source Server         : here\n Source Server Version : 80036 (8.0.36)\n \
                 Source Host           : localhost:3306\n Source Schema         : shop\n*/\n",
                "MySQL 8.0.36",
                Some(DumpTool::Navicat),
                Some("shop"),
            ),
            (
                "/*\nSQLyog Ultimate v11.11 (64 bit)\nMySQL - 5.7.22-log : Database - shop\n****\n*/\n",
                "MySQL 5.7.22",
                Some(DumpTool::SqlYog),
                Some("shop"),
            ),
            (
                "-- Dump created by MySQL pump utility, version: 5.7.22, linux-glibc2.12 (x86_64)\n-- Server version: 5.7.22\n",
                "MySQL 5.7.22",
                Some(DumpTool::Mysqlpump),
                None,
            ),
            (
                "-- HeidiSQL Version:             12.5.0.6677\n-- Host:   127.0.0.1\n-- Server version:               8.0.36 - MySQL Community Server\n",
                "MySQL 8.0.36",
                Some(DumpTool::HeidiSql),
                None,
            ),
        ] {
            let found = DumpHead::of(head);
            let made_by = found.made_by.map(|made_by| made_by.to_string());
            assert_eq!(made_by.as_deref(), Some(server), "{head}");
            assert_eq!(found.tool, tool, "{head}");
            assert_eq!(found.database.as_deref(), database, "{head}");
        }
        assert_eq!(DumpHead::of("CREATE TABLE t (a INT);"), DumpHead::default());
    }

    #[test]
    fn a_tool_of_another_branch_is_told() {
        let tool = |head: &str| DumpHead::of(head).foreign_tool();
        let of =
            |first: &str, version: &str| format!("{first} 10.19\n-- Server version\t{version}\n");
        assert_eq!(
            tool(&of("-- MariaDB dump", "5.7.22")),
            Some(DumpTool::MariadbDump)
        );
        assert_eq!(
            tool(&of("-- MySQL dump", "5.5.5-10.5.1-MariaDB")),
            Some(DumpTool::Mysqldump)
        );
        // A server whose version somebody has rewritten.
        assert_eq!(tool(&of("-- MariaDB dump", "10.6.14-shop")), None);
        assert_eq!(tool(&of("-- MySQL dump", "9.7.4")), None);
    }
}
