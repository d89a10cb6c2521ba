//! The functions, triggers and views of a dump, read without a server.

use std::path::Path;

use anyhow::{Context, Result};
use niagara_capture::StoredCode;
use niagara_error::bail;

use super::dump_files::{head, refuse_other_folders};
use super::first_lines::DumpText;
use super::mydumper::{DELIMITER, DumperFolder, ROWS, is_mydumper};
use super::split::Statements;

/// Reads what the dump at `path`, a file or a folder of mydumper's, has of functions, triggers and views.
///
/// # Errors
/// It is no dump, or cannot be read.
pub fn read_stored_code(path: &Path, stored: &mut StoredCode) -> Result<()> {
    if path.is_dir() {
        return read_folder(path, stored);
    }
    head(path)?;
    stored.use_database(b"");
    read(path, Statements::of(DumpText::open(path)?), stored)
}

fn read_folder(path: &Path, stored: &mut StoredCode) -> Result<()> {
    if !is_mydumper(path) {
        refuse_other_folders(path)?;
        bail!(
            "{} is no dump", path.display();
            remedy: "name a dump of the databases with their functions and triggers: mariadb-dump --no-data --routines \
             --triggers --databases SHOP > routines.sql"
        );
    }
    let files = DumperFolder::open(path)?.files;
    for file in files.into_iter().filter(|file| file.stage != ROWS) {
        stored.use_database(file.database.unwrap_or_default().as_bytes());
        let statements = Statements::of(DumpText::open(&file.path)?).ended_by(DELIMITER);
        read(&file.path, statements, stored)?;
    }
    Ok(())
}

fn read(path: &Path, mut statements: Statements<DumpText>, stored: &mut StoredCode) -> Result<()> {
    let failed = || format!("cannot read {}", path.display());
    while let Some(statement) = statements.next().with_context(failed)? {
        stored.read(statement);
    }
    Ok(())
}
