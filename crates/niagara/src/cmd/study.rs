//! `niagara study`: is a study file right, and what may stand in one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use niagara_lab::StudySize;
use niagara_lab::lever::{self, Lever};
use niagara_lab::study_file::{Known, StudyFile, read_study, schema};
use niagara_server::Catalog;
use niagara_toml::FileError;

use crate::args::{StudyFileArgs, StudyVerb};

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
        match read(path, &levers, &servers)? {
            Ok(file) if !json => say!("{}: {}", path.display(), in_words(&file)),
            Ok(_) => {}
            Err(FileError(found)) => mistakes.extend(found),
        }
    }
    if json {
        say!("{}", serde_json::to_string_pretty(&mistakes)?);
    } else {
        for mistake in &mistakes {
            tell!("{mistake}");
        }
    }
    Ok(if mistakes.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
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
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "cannot read the study {name}\nremedy: name a file such as studies/t2000-ladder.toml"
        )
    })?;
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
