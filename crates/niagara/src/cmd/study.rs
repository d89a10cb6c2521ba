//! `niagara study`: is a study file right, and what may stand in one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Error, Result};
use clap::{Args, Subcommand};
use niagara_error::{Explanation, Remedy as _};
use niagara_lab::StudySize;
use niagara_lab::lever::{self, Lever};
use niagara_lab::study_file::{Known, StudyFile, read_study, schema};
use niagara_server::Catalog;
use niagara_toml::{FileError, Mistake};

use crate::json::{self, Document, Listed};

/// What to do about a file that cannot be read.
const READABLE: &str = "name a file such as studies/t2000-ladder.toml";

/// Study files: check them, or print their JSON schema for editors
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara study check studies/t2000-ladder.toml
  niagara study schema")]
pub struct StudyFileArgs {
    #[command(subcommand)]
    pub verb: StudyVerb,
}

#[derive(Debug, Subcommand)]
pub enum StudyVerb {
    /// Is each file a study? Every mistake with its file, line, cause and remedy; nothing is run
    #[command(before_help = "Examples:
  niagara study check studies/t2000-ladder.toml studies/own-build.toml
  niagara study check studies/select-locks.toml --json")]
    Check {
        /// Study files (`studies/*.toml`; docs/studies.md shows the format)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Further folders with levers (`*.toml`)
        #[arg(long, value_name = "DIR")]
        levers: Vec<PathBuf>,
        /// Further folders with servers (`*.toml`)
        #[arg(long, value_name = "DIR")]
        servers: Vec<PathBuf>,
        /// Print the mistakes as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// Print the JSON schema of study files
    #[command(before_help = "Examples:
  niagara study schema
  niagara study schema > study.schema.json")]
    Schema,
}

impl Listed for Mistake {
    const DOCUMENT: Document = Document::Mistakes;
}

pub fn run(args: StudyFileArgs) -> Result<ExitCode> {
    match args.verb {
        StudyVerb::Schema => {
            say_text!("{}", schema());
            Ok(ExitCode::SUCCESS)
        }
        StudyVerb::Check {
            files,
            levers,
            servers,
            json,
        } => check(&files, &levers, &servers, json),
    }
}

fn check(
    files: &[PathBuf],
    levers: &[PathBuf],
    servers: &[PathBuf],
    json: bool,
) -> Result<ExitCode> {
    let levers = lever::load(levers)?;
    let servers = server_names(&Catalog::load(servers)?);
    let mut mistakes = Vec::new();
    for path in files {
        match read(path, &levers, &servers) {
            Ok(Ok(file)) if !json => say!("{}: {}", path.display(), in_words(&file)),
            Ok(Ok(_)) => {}
            Ok(Err(FileError(found))) => mistakes.extend(found),
            // What is wrong with the others is told all the same.
            Err(error) => mistakes.push(unreadable(path, &error)),
        }
    }
    if json {
        json::print_list(&mistakes)?;
    } else {
        for mistake in &mistakes {
            tell!("{}", Explanation::from(mistake));
        }
    }
    Ok(if mistakes.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// A file that cannot be read, as a mistake of it.
fn unreadable(path: &Path, error: &Error) -> Mistake {
    Mistake {
        file: path.display().to_string(),
        line: 1,
        column: 1,
        cause: format!("cannot read the study: {}", error.root_cause()),
        remedy: READABLE.to_owned(),
    }
}

/// The study of a file, or its mistakes.
///
/// # Errors
/// The file cannot be read.
pub fn read(
    path: &Path,
    levers: &[Lever],
    servers: &[String],
) -> Result<Result<StudyFile, FileError>> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the study {name}"))
        .remedy(READABLE)?;
    let known = Known {
        levers,
        servers,
        folder: path.parent().unwrap_or(Path::new("")),
    };
    Ok(read_study(&name, &text, &known))
}

/// Names of the catalogue.
pub fn server_names(catalog: &Catalog) -> Vec<String> {
    catalog.iter().map(|server| server.name.clone()).collect()
}

fn in_words(file: &StudyFile) -> String {
    let study = file.in_size(StudySize::Small);
    format!(
        "a {} in order: {}",
        study.question.kind(),
        study.about.title
    )
}
