//! Dumps read into a server: statement by statement, on one connection for each file, with no more in memory than the
//! longest statement.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::{Explain as _, Problem, anyhow, bail};
use niagara_load::{Admin, LoadError, counted, sql_text};
use niagara_server::{Cancel, Install, RunningServer};

use super::code::Code;
use super::dump_files::head;
use super::dump_head::DumpHead;
use super::elsewhere;
use super::ending::Ending;
use super::first_lines::{DumpText, said_by_tool};
use super::generated::Insert;
use super::in_clear::in_clear;
use super::mydumper::{DELIMITER, DumperFolder};
use super::nearest;
use super::progress::Progress;
use super::source::{DataKind, DataSource};
use super::split::Statements;
use super::sql_mode::{modes, value_of_mode, with_modes};
use super::statement::{About, is_system, without_comments};

/// An index over many rows takes its time.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// ER_EMPTY_QUERY: what is only a comment.
const EMPTY_QUERY: u16 = 1065;
/// ER_BAD_DB_ERROR: there is no such database.
const NO_DATABASE: u16 = 1049;
/// ER_WRONG_VALUE_FOR_VAR: of a mode that this server does not have.
const WRONG_VALUE: u16 = 1231;
/// ER_NON_DEFAULT_VALUE_FOR_GENERATED_COLUMN.
const GENERATED: u16 = 3105;
/// ER_WARN_USING_OTHER_HANDLER: a table is in another engine than the statement says, which is not here.
const OTHER_ENGINE: &str = "1266";
/// The database of a dump that names none.
const UNNAMED: &str = "dump";

/// A file with the database that it is meant in.
struct File {
    path: PathBuf,
    database: Option<String>,
    /// Statements end where a line does: mydumper writes routines so, without a delimiter of their own.
    by_line: bool,
}

/// Reads the dump into the server; what was left out, in words.
///
/// # Errors
/// A file that cannot be read, a statement that the server refuses, each with its place; a stop that was asked for.
pub(crate) fn load(
    server: &RunningServer,
    install: &Install,
    source: &DataSource,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
) -> Result<Vec<String>> {
    let dump = Dump::of(source)?;
    let sizes = dump
        .files
        .iter()
        .map(|file| Ok(std::fs::metadata(&file.path)?.len()));
    let total = sizes.sum::<Result<u64>>()?;
    let mut progress = Progress::of("loading the dump:", total, tell);
    let mut counts = Counts {
        unknown: dump.unknown,
        ..Counts::default()
    };
    let mut before = 0;
    for file in &dump.files {
        let mut session = Loading::begin(server, file)?;
        session
            .run(file, cancel, &mut counts, &mut |done| {
                progress.at(before + done);
            })
            .map_err(|error| explained(error, source, install))?;
        before += std::fs::metadata(&file.path)?.len();
    }
    check_tables(server, &dump.tables)?;
    Ok(counts.told(install))
}

/// What was done to statements of a dump.
#[derive(Default)]
struct Counts {
    /// Left out, by what they are about.
    left_out: BTreeMap<&'static str, u64>,
    /// Rid of encryption.
    in_clear: u64,
    /// Statements that set a mode which the server does not have, by mode.
    modes: BTreeMap<String, u64>,
    /// Databases that the dump uses and does not make.
    made: BTreeSet<String>,
    /// Statements of rows with values of generated columns.
    generated: u64,
    /// Tables in another engine than the dump says, in the server's words.
    engines: BTreeSet<String>,
    /// Lines of tools that are no statements.
    said: Vec<String>,
    /// Files that are none of the tool's.
    unknown: Vec<PathBuf>,
}

impl Counts {
    fn told(self, install: &Install) -> Vec<String> {
        let here = format!("{} {}", install.family, install.version);
        let mut told: Vec<String> = self
            .left_out
            .into_iter()
            .map(|(what, count)| {
                format!(
                    "left out of the dump: {} {what}",
                    counted(count, "statement")
                )
            })
            .collect();
        told.extend(self.modes.into_iter().map(|(mode, count)| {
            format!(
                "left out of the dump: the SQL mode {mode}, which {here} does not have ({})",
                counted(count, "statement")
            )
        }));
        told.extend(
            self.said
                .into_iter()
                .map(|line| format!("left out of the dump: a line that is no SQL: {line}")),
        );
        told.extend(self.unknown.into_iter().map(|path| {
            format!(
                "left out of the dump: {}, which is named as no file of mydumper's",
                path.display()
            )
        }));
        told.extend(self.made.into_iter().map(|name| {
            format!("the dump uses the database {name} and does not make it: it is made here")
        }));
        told.extend(self.engines.into_iter().map(|said| {
            format!("a table is in another engine than in the original, which is not here: {said}")
        }));
        if self.generated > 0 {
            told.push(format!(
                "values of generated columns in {} of the dump are worked out here: {here} takes none",
                counted(self.generated, "statement")
            ));
        }
        if self.in_clear > 0 {
            told.push(format!(
                "in clear here, and encrypted in the original: what {} of the dump make; what encryption costs is not measured",
                counted(self.in_clear, "statement")
            ));
        }
        told
    }
}

/// The files of a dump.
struct Dump {
    files: Vec<File>,
    /// Tables that have to be there in the end, each with its database, where files tell them.
    tables: BTreeSet<(String, String)>,
    unknown: Vec<PathBuf>,
}

impl Dump {
    fn of(source: &DataSource) -> Result<Self> {
        if source.kind == DataKind::Mydumper {
            let folder = DumperFolder::open(&source.path)?;
            let files = folder.files.into_iter().map(|file| File {
                path: file.path,
                database: file.database,
                by_line: true,
            });
            return Ok(Self {
                files: files.collect(),
                tables: folder.tables,
                unknown: folder.unknown,
            });
        }
        let named = DumpHead::of(&head(&source.path)?).database;
        Ok(Self {
            files: vec![File {
                path: source.path.clone(),
                database: Some(named.unwrap_or_else(|| UNNAMED.to_owned())),
                by_line: false,
            }],
            tables: BTreeSet::new(),
            unknown: Vec::new(),
        })
    }
}

/// Refuses what was loaded without one of the dump's tables in its database.
fn check_tables(server: &RunningServer, tables: &BTreeSet<(String, String)>) -> Result<()> {
    for (database, table) in tables {
        if is_system(database) {
            continue;
        }
        let rows = server.query(&format!(
            "SELECT 1 FROM information_schema.tables WHERE table_schema = {} AND table_name = {}",
            sql_text(database),
            sql_text(table)
        ))?;
        if rows.is_empty() {
            bail!(
                "the table {table} of the dump is not in the database {database} that it came from";
                remedy: "dump again into an empty folder; where that does not help, report the names of the folder's files"
            );
        }
    }
    Ok(())
}

/// A statement that was refused, with the servers that would take it where this is another one.
fn explained(error: anyhow::Error, source: &DataSource, install: &Install) -> anyhow::Error {
    let other = source.made_by.filter(|made_by| {
        made_by.family.is_mariadb() != install.family.is_mariadb()
            || made_by.version.series() != install.version.series()
    });
    match (other, error.find::<LoadError>()) {
        (Some(made_by), Some(LoadError::Query { code, message, .. })) => {
            let names = nearest::for_statements(made_by, install, *code, message);
            anyhow!(
                "{error:#}\nthe dump is of {made_by}, and this is {} {}", install.family, install.version;
                remedy: "{}", nearest::take(made_by, &names)
            )
        }
        (None, Some(LoadError::Query { .. })) => Problem::new("the dump does not load").because(error).remedy("dump again with the client of the server that the data are of, and look at the tool's exit code; or correct \
             the statement in a copy of the dump").into(),
        _ => error,
    }
}

/// Whether a statement makes a table.
fn makes_table(statement: &[u8]) -> bool {
    let mut code = Code::of(statement);
    if !code.takes("CREATE") {
        return false;
    }
    if code.takes("OR") {
        code.takes("REPLACE");
    }
    code.takes("TABLE")
}

/// Whether a statement may set the SQL mode.
fn sets_mode(statement: &[u8]) -> bool {
    let mode = b"sql_mode";
    statement
        .windows(mode.len())
        .any(|part| part.eq_ignore_ascii_case(mode))
}

/// A connection that loads a file.
struct Loading {
    admin: Admin,
    /// The database that statements are meant in.
    database: String,
    /// Where the next statement for the data has to make it first.
    missing: bool,
    /// Modes that the server was asked for, and whether it has them.
    modes: BTreeMap<String, bool>,
    /// Tables with generated columns: all their columns in order, each with whether it is one.
    generated: BTreeMap<String, Vec<(String, bool)>>,
}

impl Loading {
    fn begin(server: &RunningServer, file: &File) -> Result<Self> {
        let mut admin = Admin::connect(&server.over_socket(""), STATEMENT_TIMEOUT)?;
        // What the command-line client and the tools' own loaders say before a dump's own settings.
        admin.run(b"SET SESSION foreign_key_checks = 0, unique_checks = 0, sql_log_bin = 0")?;
        admin.run(b"SET NAMES utf8mb4")?;
        // Under a strict mode a table that is said to lie elsewhere would be refused.
        admin.run(b"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")?;
        let mut loading = Self {
            admin,
            database: file.database.clone().unwrap_or_default(),
            missing: file.database.is_some(),
            modes: BTreeMap::new(),
            generated: BTreeMap::new(),
        };
        loading.keep_within()?;
        Ok(loading)
    }

    fn run(
        &mut self,
        file: &File,
        cancel: &Cancel,
        counts: &mut Counts,
        done: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let text = DumpText::open(&file.path)?;
        counts.said.extend_from_slice(&text.passed_over);
        let mut statements = Statements::of(text);
        if file.by_line {
            statements = statements.ended_by(DELIMITER);
        }
        let mut number = 0_u64;
        let mut ending = Ending::default();
        loop {
            cancel.check()?;
            done(statements.input().bytes_read());
            let Some(statement) = statements
                .next()
                .with_context(|| format!("cannot read {}", file.path.display()))?
            else {
                if let Some(cut) = ending.cut() {
                    bail!(
                        "{}: the dump is cut off: {cut}", file.path.display();
                        remedy: "dump again, to a disk with room, and look at the tool's exit code; or copy the file again"
                    );
                }
                // A dump may have switched autocommit off.
                self.admin.run(b"COMMIT")?;
                return Ok(());
            };
            number += 1;
            let statement = without_tools_words(statement, file, counts)?;
            ending.see(statement);
            match About::of(statement) {
                About::Use(name) => {
                    self.database = name;
                    self.missing = false;
                    self.generated.clear();
                    if !self.is_system() {
                        self.use_database(statement, &file.path, number, counts)?;
                    }
                }
                About::Session => {
                    self.set(statement, &file.path, number, counts)?;
                    if sets_mode(statement) {
                        self.keep_within()?;
                    }
                }
                About::Database(false) => {
                    self.send_in_clear(statement, &file.path, number, counts)?;
                }
                About::Data if !self.is_system() => {
                    elsewhere::refuse(statement).with_context(|| {
                        format!("{}: statement {number} was refused", file.path.display())
                    })?;
                    if std::mem::take(&mut self.missing) {
                        self.make_database()?;
                    }
                    self.send_in_clear(statement, &file.path, number, counts)?;
                    if makes_table(statement) {
                        counts.engines.extend(self.other_engines()?);
                    }
                }
                about => *counts.left_out.entry(about.words()).or_default() += 1,
            }
        }
    }

    /// Tables of which a dump says that they lie elsewhere (`DATA DIRECTORY`) are made with the others all the same: there they would be
    /// outside of the copy, and of both servers of a duel.
    fn keep_within(&mut self) -> Result<()> {
        Ok(self.admin.run(
            b"SET SESSION sql_mode = CONCAT_WS(',', NULLIF(@@SESSION.sql_mode, ''), 'NO_DIR_IN_CREATE')",
        )?)
    }

    /// Whether statements are meant in a database of the server's own, which the copy has already.
    fn is_system(&self) -> bool {
        is_system(&self.database)
    }

    /// Chooses a database; one that the dump has not made is made: its tool left that to whoever loads it.
    fn use_database(
        &mut self,
        statement: &[u8],
        path: &Path,
        number: u64,
        counts: &mut Counts,
    ) -> Result<()> {
        match self.admin.run(statement) {
            Err(LoadError::Query {
                code: NO_DATABASE, ..
            }) => {
                self.make_database()?;
                counts.made.insert(self.database.clone());
                Ok(())
            }
            done => self.refused(done, path, number),
        }
    }

    /// Sets variables of the session, without the SQL modes that this server does not have.
    fn set(
        &mut self,
        statement: &[u8],
        path: &Path,
        number: u64,
        counts: &mut Counts,
    ) -> Result<()> {
        let done = self.admin.run(statement);
        let is_wrong = |done: &Result<(), LoadError>| matches!(done, Err(LoadError::Query { code, .. }) if *code == WRONG_VALUE);
        let value = value_of_mode(statement).filter(|_| is_wrong(&done));
        let Some(value) = value else {
            return self.refused(done, path, number);
        };
        let (mut kept, mut dropped) = (Vec::new(), Vec::new());
        for mode in modes(&statement[value.clone()]) {
            match self.has_mode(&mode)? {
                true => kept.push(mode),
                false => dropped.push(mode),
            }
        }
        if dropped.is_empty() {
            return self.refused(done, path, number);
        }
        for mode in dropped {
            *counts.modes.entry(mode).or_default() += 1;
        }
        self.send(&with_modes(statement, value, &kept), path, number)
    }

    /// What the server says of a table that it has just made in another engine.
    fn other_engines(&mut self) -> Result<Vec<String>> {
        let warnings = self.admin.rows("SHOW WARNINGS")?;
        let said = warnings.into_iter().filter_map(|row| {
            let mut cells = row.into_iter().skip(1).flatten();
            let (code, message) = (cells.next()?, cells.next()?);
            (code == OTHER_ENGINE).then_some(message)
        });
        Ok(said.collect())
    }

    /// Whether the server has the SQL mode; the session's is as it was.
    fn has_mode(&mut self, mode: &str) -> Result<bool> {
        if let Some(has) = self.modes.get(mode) {
            return Ok(*has);
        }
        self.admin.run(b"SET @niagara_mode = @@SESSION.sql_mode")?;
        let ask = format!("SET SESSION sql_mode = {}", sql_text(mode));
        let has = match self.admin.run(ask.as_bytes()) {
            Ok(()) => true,
            Err(LoadError::Query {
                code: WRONG_VALUE, ..
            }) => false,
            Err(error) => return Err(error.into()),
        };
        self.admin.run(b"SET SESSION sql_mode = @niagara_mode")?;
        self.modes.insert(mode.to_owned(), has);
        Ok(has)
    }

    fn make_database(&mut self) -> Result<()> {
        let name = self.database.replace('`', "``");
        self.admin
            .run(format!("CREATE DATABASE IF NOT EXISTS `{name}`").as_bytes())?;
        self.admin.run(format!("USE `{name}`").as_bytes())?;
        Ok(())
    }

    /// Sends a statement without what encrypts: the keys are not here.
    fn send_in_clear(
        &mut self,
        statement: &[u8],
        path: &Path,
        number: u64,
        counts: &mut Counts,
    ) -> Result<()> {
        if let Some(clear) = in_clear(statement) {
            counts.in_clear += 1;
            return self.send(&clear, path, number);
        }
        if let Some(new) = self.without_generated(statement) {
            counts.generated += 1;
            return self.send(&new, path, number);
        }
        let done = self.admin.run(statement);
        if matches!(&done, Err(LoadError::Query { code, .. }) if *code == GENERATED)
            && let Some(insert) = Insert::of(statement)
        {
            let columns = self.columns(&insert.table)?;
            self.generated.insert(insert.table, columns);
            if let Some(new) = self.without_generated(statement) {
                counts.generated += 1;
                return self.send(&new, path, number);
            }
        }
        self.refused(done, path, number)
    }

    /// The columns of a table in order, each with whether it is a generated one.
    fn columns(&mut self, table: &str) -> Result<Vec<(String, bool)>> {
        // `DEFAULT_GENERATED` is of columns whose default is an expression.
        let rows = self.admin.rows(&format!(
            "SELECT column_name, extra LIKE '%STORED GENERATED%' OR extra LIKE '%VIRTUAL GENERATED%' FROM information_schema.columns \
             WHERE table_schema = DATABASE() AND table_name = {} ORDER BY ordinal_position",
            sql_text(table)
        ))?;
        let columns = rows.into_iter().filter_map(|row| {
            let mut cells = row.into_iter();
            Some((cells.next()??, cells.next()??.as_str() == "1"))
        });
        Ok(columns.collect())
    }

    /// Rows of a table that is known to have generated columns, with DEFAULT for these; none of another statement.
    fn without_generated(&self, statement: &[u8]) -> Option<Vec<u8>> {
        if self.generated.is_empty() {
            return None;
        }
        let insert = Insert::of(statement)?;
        let columns = self.generated.get(&insert.table)?;
        let is_generated = |name: &str| {
            columns
                .iter()
                .any(|(other, is_one)| *is_one && other.eq_ignore_ascii_case(name))
        };
        let names: Vec<&str> = match insert.columns.is_empty() {
            true => columns.iter().map(|(name, _)| name.as_str()).collect(),
            false => insert.columns.iter().map(String::as_str).collect(),
        };
        let positions: Vec<usize> = (0..names.len())
            .filter(|at| is_generated(names[*at]))
            .collect();
        (!positions.is_empty()).then(|| insert.with_defaults(&positions))
    }

    fn send(&mut self, statement: &[u8], path: &Path, number: u64) -> Result<()> {
        let done = self.admin.run(statement);
        self.refused(done, path, number)
    }

    /// What became of a statement, with its place where it was refused.
    fn refused(&self, done: Result<(), LoadError>, path: &Path, number: u64) -> Result<()> {
        match done {
            Ok(())
            | Err(LoadError::Query {
                code: EMPTY_QUERY, ..
            }) => Ok(()),
            Err(error) => Err(anyhow!(error).context(format!(
                "{}: statement {number} was refused",
                path.display()
            ))),
        }
    }
}

/// A statement without a warning that its tool wrote before it.
///
/// # Errors
/// The tool says there that it failed.
fn without_tools_words<'s>(
    mut statement: &'s [u8],
    file: &File,
    counts: &mut Counts,
) -> Result<&'s [u8]> {
    while let Some((line, rest, is_warning)) = said_by_tool(without_comments(statement)) {
        if !is_warning {
            bail!(
                "{}: the dump failed, for its tool says in it: {line}", file.path.display();
                remedy: "dump again, with the tool's errors in another file (2> errors), and look at its exit code"
            );
        }
        counts.said.push(line);
        statement = rest.trim_ascii();
    }
    Ok(statement)
}
