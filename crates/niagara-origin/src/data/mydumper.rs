//! A folder of mydumper's: which file is which, and the database of each. Names of files are cut at full stops by no rule that holds
//! for all databases, so files say by their content what they make, and the rest of their names is the database's.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_capture::log::Input;
use niagara_error::bail;

use super::code::Code;
use super::digest::files_below;
use super::split::Statements;
use super::statement::About;

/// Bytes of a file in which its first statement on the data begins.
const HEAD: u64 = 64 << 10;
/// What ends a statement of mydumper's: routines have no delimiter of their own.
pub(crate) const DELIMITER: &[u8] = b";\n";
/// The ending of a file that makes a database.
const CREATE: &str = "-schema-create";
/// The ending of one with routines and events.
const POST: &str = "-schema-post";
/// The ending of one that makes a table.
const TABLE: &str = "-schema";
/// The stage of rows.
pub(crate) const ROWS: u8 = 2;
/// The stage of triggers.
const TRIGGERS: u8 = 3;
/// Endings of those that refer to tables, or that tables take their numbers from, with the stage of each.
const OTHERS: [(&str, u8); 3] = [
    ("-schema-view", 4),
    ("-schema-triggers", TRIGGERS),
    ("-schema-sequence", 0),
];

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

/// A folder of mydumper's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DumperFolder {
    /// Its files, in the order in which they are loaded.
    pub files: Vec<DumperFile>,
    /// Its tables and views, each with its database.
    pub tables: BTreeSet<(String, String)>,
    /// Files of statements that are named as none of mydumper's.
    pub unknown: Vec<PathBuf>,
}

/// Whether a folder was written by mydumper.
pub(crate) fn is_mydumper(folder: &Path) -> bool {
    folder.join("metadata").is_file() || folder.join("metadata.partial").is_file()
}

/// The first statement of a file on the data, as far as it tells whose file it is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum First {
    Database(String),
    Table(String),
    Rows(String),
    Other,
}

impl First {
    fn of(statement: &[u8]) -> Self {
        let mut code = Code::of(statement);
        if code.takes_any(&["INSERT", "REPLACE"]) {
            while code.takes_any(&["LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"]) {}
            code.takes("INTO");
            return code.last_name().map_or(Self::Other, Self::Rows);
        }
        if !code.takes("CREATE") {
            return Self::Other;
        }
        if code.takes("OR") {
            code.takes("REPLACE");
        }
        let is_database = code.takes_any(&["DATABASE", "SCHEMA"]);
        if !is_database && !code.takes("TABLE") {
            return Self::Other;
        }
        if code.takes("IF") {
            code.takes("NOT");
            code.takes("EXISTS");
        }
        match (is_database, code.last_name()) {
            (_, None) => Self::Other,
            (true, Some(name)) => Self::Database(name),
            (false, Some(name)) => Self::Table(name),
        }
    }

    /// Of the file at `path`.
    fn in_file(path: &Path) -> Result<Self> {
        let mut head = Vec::new();
        Input::open(path)?
            .take(HEAD)
            .read_to_end(&mut head)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut statements = Statements::of(&head[..]).ended_by(DELIMITER);
        while let Some(statement) = statements.next()? {
            let first = match About::of(statement) {
                About::Data | About::Database(_) => Self::of(statement),
                _ => continue,
            };
            if first != Self::Other {
                return Ok(first);
            }
        }
        Ok(Self::Other)
    }
}

/// A file before its database is known.
struct Named<'a> {
    path: &'a Path,
    /// Its name up to `.sql`.
    stem: &'a str,
    first: First,
}

impl DumperFolder {
    /// Looks at the folder.
    ///
    /// # Errors
    /// The dump is not whole, cannot be read, or has a table of which no database can be told.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        if folder.join("metadata.partial").is_file() {
            bail!(
                "{} is not whole: mydumper has not finished", folder.display();
                remedy: "wait for it, or dump again"
            );
        }
        let all = files_below(folder)?;
        if let Some((path, _)) = all.iter().find(|(path, _)| is_rows_alone(path)) {
            bail!(
                "{} has rows for LOAD DATA, which is not read here", path.display();
                remedy: "dump without --load-data and --csv"
            );
        }
        let named = all.iter().filter_map(|(path, _)| {
            let (stem, _) = path.file_name()?.to_str()?.split_once(".sql")?;
            let first = First::in_file(path);
            Some(first.map(|first| Named { path, stem, first }))
        });
        let found = Self::sorted(named.collect::<Result<_>>()?);
        if found.files.is_empty() {
            bail!("{} has no file of statements", folder.display());
        }
        Ok(found)
    }

    fn sorted(named: Vec<Named<'_>>) -> Self {
        // Names of files are not those of databases where these have signs that no file may have.
        let databases: BTreeMap<&str, String> = named
            .iter()
            .filter_map(|file| match (&file.first, file.stem.strip_suffix(CREATE)) {
                (First::Database(name), Some(key)) => Some((key, name.clone())),
                _ => None,
            })
            .collect();
        let mut found = Self::default();
        // What a file that makes a table is named by, up to its ending: files of its rows and triggers begin so too.
        let mut by_table: BTreeMap<&str, String> = BTreeMap::new();
        for file in &named {
            if let (First::Table(table), Some(base)) = (&file.first, file.stem.strip_suffix(TABLE))
                && let Some(database) = database_of(base, Some(table), &databases)
            {
                by_table.insert(base, database.clone());
                found.tables.insert((database, table.clone()));
            }
        }
        for file in named {
            let staged = match file.first {
                First::Database(_) => Some((0, None)),
                First::Rows(ref table) => {
                    let base = without_numbers(file.stem, &by_table);
                    let known = by_table.get(base).cloned();
                    known
                        .or_else(|| database_of(base, Some(table), &databases))
                        .map(|database| (ROWS, Some(database)))
                }
                First::Table(_) | First::Other => of_ending(file.stem, &by_table, &databases),
            };
            match staged {
                Some((stage, database)) => found.files.push(DumperFile {
                    stage,
                    path: file.path.to_owned(),
                    database,
                }),
                None => found.unknown.push(file.path.to_owned()),
            }
        }
        found.files.sort();
        found
    }
}

/// The stage and the database of a file that its ending tells.
fn of_ending(
    stem: &str,
    by_table: &BTreeMap<&str, String>,
    databases: &BTreeMap<&str, String>,
) -> Option<(u8, Option<String>)> {
    if stem.strip_suffix(CREATE).is_some() {
        return Some((0, None));
    }
    if let Some(key) = stem.strip_suffix(POST) {
        let name = databases.get(key).cloned();
        return Some((5, Some(name.unwrap_or_else(|| key.to_owned()))));
    }
    let others = OTHERS.iter().chain(&[(TABLE, 1)]);
    let mut ended = others.filter_map(|(ending, stage)| Some((stem.strip_suffix(ending)?, *stage)));
    let (base, stage) = ended
        .next()
        // Rows, of a table without any.
        .unwrap_or_else(|| (without_numbers(stem, by_table), ROWS));
    // Newer releases have the triggers of a whole database in one file.
    let of_all = || databases.get(base).filter(|_| stage == TRIGGERS).cloned();
    let alone = || (stage == TRIGGERS && !base.contains('.')).then(|| base.to_owned());
    let known = by_table.get(base).cloned();
    let database = known
        .or_else(of_all)
        .or_else(|| database_of(base, None, databases))
        .or_else(alone)?;
    Some((stage, Some(database)))
}

/// The database of a file that is named `base`, and whose content says `table`; `databases` are those that the dump makes, by what
/// their files are named.
fn database_of(
    base: &str,
    table: Option<&str>,
    databases: &BTreeMap<&str, String>,
) -> Option<String> {
    let real = |key: &str| {
        databases
            .get(key)
            .cloned()
            .unwrap_or_else(|| key.to_owned())
    };
    let by_content = table.and_then(|table| base.strip_suffix(table)?.strip_suffix('.'));
    if let Some(key) = by_content {
        return Some(real(key));
    }
    let mut made = databases.keys().filter(|key| {
        base.strip_prefix(**key)
            .is_some_and(|rest| rest.starts_with('.'))
    });
    let longest = made.by_ref().max_by_key(|key| key.len());
    match longest {
        Some(key) => Some(real(key)),
        None => base.split_once('.').map(|(key, _)| key.to_owned()),
    }
}

/// The name of a file of rows without the numbers of its part.
fn without_numbers<'s>(stem: &'s str, by_table: &BTreeMap<&str, String>) -> &'s str {
    let mut base = stem;
    // A part, and a part of that.
    for _ in 0..2 {
        if by_table.contains_key(base) {
            return base;
        }
        match base.rsplit_once('.') {
            Some((before, number))
                if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                base = before;
            }
            _ => return base,
        }
    }
    base
}

/// Whether a file of mydumper's has rows without statements.
fn is_rows_alone(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let packed = ["", ".gz", ".zst"];
    packed
        .iter()
        .any(|ending| name.ends_with(&format!(".dat{ending}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder of these files: names with their content. Each file found is `stage file database`.
    fn folder(files: &[(&str, &str)]) -> Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("metadata"), "Started dump at: now\n")?;
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text)?;
        }
        let found = DumperFolder::open(folder.path())?;
        let told = found.files.iter().map(|file| {
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let database = file.database.as_deref().unwrap_or("-");
            format!("{} {name} {database}", file.stage)
        });
        Ok(told.collect())
    }

    const HEAD: &str = "/*!40101 SET NAMES binary*/;\n/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n";

    #[test]
    fn files_come_in_an_order_that_works() -> Result<()> {
        let table = format!("{HEAD}CREATE TABLE `orders` (\n  `id` int);\n");
        let rows = format!("{HEAD}INSERT INTO `orders` VALUES\n(1);\n");
        assert_eq!(
            folder(&[
                ("shop.orders.00000.sql", &rows),
                ("shop.orders-schema.sql", &table),
                ("shop-schema-create.sql", "CREATE DATABASE `shop`;\n"),
                (
                    "shop.numbers-schema-sequence.sql",
                    "CREATE SEQUENCE `numbers`;\n"
                ),
                (
                    "shop.best-schema-view.sql",
                    "CREATE VIEW `best` AS select 1;\n"
                ),
                (
                    "shop-schema-post.sql",
                    "CREATE PROCEDURE `p` () BEGIN select 1; END;\n"
                ),
                ("shop.empty.sql", ""),
            ])?,
            [
                "0 shop-schema-create.sql -",
                "0 shop.numbers-schema-sequence.sql shop",
                "1 shop.orders-schema.sql shop",
                "2 shop.empty.sql shop",
                "2 shop.orders.00000.sql shop",
                "4 shop.best-schema-view.sql shop",
                "5 shop-schema-post.sql shop",
            ]
        );
        Ok(())
    }

    #[test]
    fn names_with_full_stops_keep_their_database() -> Result<()> {
        let create = |name: &str| format!("CREATE DATABASE `{name}` /*!40100 x */;\n");
        let table = |name: &str| format!("{HEAD}CREATE TABLE `{name}` (\n  `id` int);\n");
        let rows = |name: &str| format!("{HEAD}INSERT INTO `{name}` VALUES\n(1);\n");
        let files = [
            ("example.com-schema-create.sql", create("example.com")),
            ("example-schema-create.sql", create("example")),
            // The same beginning, and another table: `t` of one database, `com.t` of the other.
            ("example.com.t-schema.sql", table("t")),
            ("example.com.u-schema.sql", table("com.u")),
            ("example.com.t.00001.sql", rows("t")),
            ("example.com.u.sql", rows("com.u")),
            // A table that is named as a file of another kind, and one with a number.
            ("example.com.a-schema-schema.sql", table("a-schema")),
            ("example.com.a-schema.sql", rows("a-schema")),
            ("example.com.log.2024-schema.sql", table("log.2024")),
            ("example.com.log.2024.sql", rows("log.2024")),
            (
                "example.com.t-schema-triggers.sql",
                "CREATE TRIGGER `x` BEFORE INSERT ON `t` FOR EACH ROW SET @a = 1;\n".to_owned(),
            ),
            ("example.com-schema-post.sql", String::new()),
        ];
        let files: Vec<(&str, &str)> = files
            .iter()
            .map(|(name, text)| (*name, text.as_str()))
            .collect();
        assert_eq!(
            folder(&files)?,
            [
                "0 example-schema-create.sql -",
                "0 example.com-schema-create.sql -",
                "1 example.com.a-schema-schema.sql example.com",
                "1 example.com.log.2024-schema.sql example.com",
                "1 example.com.t-schema.sql example.com",
                "1 example.com.u-schema.sql example",
                "2 example.com.a-schema.sql example.com",
                "2 example.com.log.2024.sql example.com",
                "2 example.com.t.00001.sql example.com",
                "2 example.com.u.sql example",
                "3 example.com.t-schema-triggers.sql example.com",
                "5 example.com-schema-post.sql example.com",
            ]
        );
        Ok(())
    }

    #[test]
    fn numbered_names_of_newer_releases_are_resolved() -> Result<()> {
        let files = [
            (
                "mydumper_0-schema-create.sql",
                "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `example.com`;\n",
            ),
            (
                "mydumper_0.mydumper_1-schema.sql",
                "CREATE TABLE IF NOT EXISTS `odd.name` (\n  `id` int);\n",
            ),
            (
                "mydumper_0.mydumper_1.00000.00002.sql",
                "INSERT INTO `odd.name` VALUES\n(1);\n",
            ),
            (
                "mydumper_0.t-schema.sql",
                "CREATE TABLE `t` (\n  `id` int);\n",
            ),
            (
                "mydumper_0-schema-triggers.sql",
                "CREATE TRIGGER `x` BEFORE INSERT ON `t` FOR EACH ROW SET @a = 1;\n",
            ),
            (
                "mydumper_0-schema-post.sql",
                "CREATE FUNCTION `f` () RETURNS int RETURN 1;\n",
            ),
        ];
        assert_eq!(
            folder(&files)?,
            [
                "0 mydumper_0-schema-create.sql -",
                "1 mydumper_0.mydumper_1-schema.sql example.com",
                "1 mydumper_0.t-schema.sql example.com",
                "2 mydumper_0.mydumper_1.00000.00002.sql example.com",
                "3 mydumper_0-schema-triggers.sql example.com",
                "5 mydumper_0-schema-post.sql example.com",
            ]
        );
        Ok(())
    }

    #[test]
    fn a_dump_without_its_databases_has_them_by_its_tables() -> Result<()> {
        let files = [
            (
                "example.com.t-schema.sql",
                "CREATE TABLE `t` (\n  `id` int);\n",
            ),
            ("example.com.t.sql", "INSERT INTO `t` VALUES\n(1);\n"),
        ];
        assert_eq!(
            folder(&files)?,
            [
                "1 example.com.t-schema.sql example.com",
                "2 example.com.t.sql example.com",
            ]
        );
        Ok(())
    }

    #[test]
    fn files_of_other_names_are_told() -> Result<()> {
        let folder = tempfile::tempdir()?;
        for (name, text) in [
            ("metadata", ""),
            ("shop-schema-create.sql", "CREATE DATABASE `shop`;\n"),
            ("grants.sql", "GRANT ALL ON *.* TO x;\n"),
        ] {
            std::fs::write(folder.path().join(name), text)?;
        }
        let found = DumperFolder::open(folder.path())?;
        assert_eq!(found.unknown, [folder.path().join("grants.sql")]);
        Ok(())
    }
}
