//! Dumps read into a server: statement by statement, on one connection for each file, with no more in memory than the
//! longest statement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use niagara_capture::log::Input;
use niagara_load::{Admin, LoadError, counted};
use niagara_server::{Cancel, Install, RunningServer};

use super::dump_files::{database, head, mydumper_files};
use super::elsewhere;
use super::ending::Ending;
use super::in_clear::in_clear;
use super::progress::Progress;
use super::source::{DataKind, DataSource};
use super::split::Statements;
use super::statement::{About, SYSTEM};

/// An index over many rows takes its time.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// ER_EMPTY_QUERY: what is only a comment.
const EMPTY_QUERY: u16 = 1065;
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
    let files = files(source)?;
    let sizes = files
        .iter()
        .map(|file| Ok(std::fs::metadata(&file.path)?.len()));
    let total = sizes.sum::<Result<u64>>()?;
    let mut progress = Progress::of("loading the dump:", total, tell);
    let mut counts = Counts::default();
    let mut before = 0;
    for file in &files {
        let mut session = Loading::begin(server, file)?;
        session
            .run(file, cancel, &mut counts, &mut |done| {
                progress.at(before + done);
            })
            .map_err(|error| explained(error, source, install))?;
        before += std::fs::metadata(&file.path)?.len();
    }
    Ok(counts.told())
}

/// What was done to statements of a dump.
#[derive(Default)]
struct Counts {
    /// Left out, by what they are about.
    left_out: BTreeMap<&'static str, u64>,
    /// Rid of encryption.
    in_clear: u64,
}

impl Counts {
    fn told(self) -> Vec<String> {
        let left_out = self.left_out.into_iter().map(|(what, count)| {
            format!(
                "left out of the dump: {} {what}",
                counted(count, "statement")
            )
        });
        let in_clear = (self.in_clear > 0).then(|| {
            format!(
                "in clear here, and encrypted in the original: what {} of the dump make; what encryption costs is not measured",
                counted(self.in_clear, "statement")
            )
        });
        left_out.chain(in_clear).collect()
    }
}

fn files(source: &DataSource) -> Result<Vec<File>> {
    if source.kind == DataKind::Mydumper {
        let files = mydumper_files(&source.path)?.into_iter();
        return Ok(files
            .map(|file| File {
                path: file.path,
                database: file.database,
                by_line: true,
            })
            .collect());
    }
    let database = database(&head(&source.path)?).unwrap_or_else(|| UNNAMED.to_owned());
    Ok(vec![File {
        path: source.path.clone(),
        database: Some(database),
        by_line: false,
    }])
}

/// A statement that was refused, with the server that would take it where this is another one.
fn explained(error: anyhow::Error, source: &DataSource, install: &Install) -> anyhow::Error {
    let other = source.made_by.filter(|made_by| {
        made_by.family.is_mariadb() != install.family.is_mariadb()
            || made_by.version.series() != install.version.series()
    });
    match other {
        Some(made_by) if error.downcast_ref::<LoadError>().is_some() => anyhow!(
            "{error:#}\nthe dump is of {made_by}, and this is {} {}\n{}",
            install.family,
            install.version,
            made_by.remedy()
        ),
        _ => error,
    }
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
        let mut statements = Statements::of(Input::open(&file.path)?);
        if file.by_line {
            statements = statements.ended_by(b";\n");
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
                if ending.is_open() {
                    bail!(
                        "{}: the dump is cut off: its last line is not `-- Dump completed`, which its tool writes when all is dumped\n\
                         remedy: dump again, to a disk with room, and look at the tool's exit code; or copy the file again",
                        file.path.display()
                    );
                }
                return Ok(());
            };
            number += 1;
            ending.see(statement);
            match About::of(statement) {
                About::Use(name) => {
                    self.database = name;
                    self.missing = false;
                    if !self.is_system() {
                        self.send(statement, &file.path, number)?;
                    }
                }
                About::Session => {
                    self.send(statement, &file.path, number)?;
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
        SYSTEM
            .iter()
            .any(|name| name.eq_ignore_ascii_case(&self.database))
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
        match in_clear(statement) {
            None => self.send(statement, path, number),
            Some(clear) => {
                counts.in_clear += 1;
                self.send(&clear, path, number)
            }
        }
    }

    fn send(&mut self, statement: &[u8], path: &Path, number: u64) -> Result<()> {
        match self.admin.run(statement) {
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
