//! Workloads as people name them: one that is built in by its name, a file, a script or a capture by its path.

use crate::error::LoadError;
use crate::script::runtime::runtime;
use crate::workload::WORKLOAD_OPTIONS;
use crate::workload::capture::content_of;
use crate::workload::file::{FileWorkload, WorkloadFile};
use crate::workload::script::ScriptWorkload;
use crate::workload::{
    CaptureWorkload, REPLAY_OPTIONS, WorkloadBuilder, WorkloadKind, WorkloadOption, WorkloadSpec,
};
use std::path::Path;

use niagara_error::problem;

/// How the names of files end that describe a workload: a file, a script of sysbench's, a capture.
pub const WORKLOAD_FILES: [&str; 3] = [".toml", ".lua", ".capture"];

/// Whether a workload is named by the path of its file rather than by a name of its own.
pub fn is_workload_file(text: &str) -> bool {
    text.contains('/') || WORKLOAD_FILES.iter().any(|ending| text.ends_with(ending))
}

/// The workload that the file at `path` describes, or the script or capture that it is, by how its name ends.
///
/// # Errors
/// It cannot be read, or has a mistake.
pub fn workload_of_file(path: &Path) -> Result<WorkloadSpec, LoadError> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("capture") => return Ok(WorkloadSpec::of(CaptureWorkload::open(path)?)),
        Some("lua") => return Ok(WorkloadSpec::of(read_script(path)?)),
        _ => {}
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        LoadError::invalid(problem!(
            "cannot read the workload {}: {error}", path.display();
            remedy: "name a file as docs/custom-workload.md describes it, or one of: {}",
            WorkloadKind::names().join(", ")
        ))
    })?;
    let workload = FileWorkload::read(WorkloadFile {
        path: path.display().to_string(),
        text,
    })?;
    Ok(WorkloadSpec::of(workload))
}

/// The script at `path` as a workload.
///
/// # Errors
/// It cannot be read, or has a mistake; scripts cannot be run.
pub fn read_script(path: &Path) -> Result<ScriptWorkload, LoadError> {
    let (source, info) = runtime()?.read(&path.display().to_string())?;
    Ok(ScriptWorkload::new(source, info))
}

/// What stands for the content of the file at `path`, as [`WorkloadSpec::content`] says it, without making it ready: of a
/// capture nothing is kept in memory.
///
/// # Errors
/// It cannot be read, or has a mistake.
pub fn content_of_file(path: &Path) -> Result<String, LoadError> {
    if path.extension().is_some_and(|ending| ending == "capture") {
        return content_of(path);
    }
    let content = workload_of_file(path)?.content();
    content
        .ok_or_else(|| LoadError::invalid(format!("{} is no file of a workload", path.display())))
}

/// `base` with `options`: by sysbench's names, numbers of its file, options of its script, or those of a capture's replay.
///
/// # Errors
/// An option that the workload does not have, or a value that it does not take.
pub fn with_options(
    base: WorkloadSpec,
    options: &[(&str, &str)],
) -> Result<WorkloadSpec, LoadError> {
    // First: what else can be set depends on it.
    let base = with_replay_options(base, options)?;
    let mut builder = WorkloadBuilder::from(base.clone());
    for &(name, value) in options {
        if base.capture().is_some() && REPLAY_OPTIONS.contains(&name) {
            continue;
        }
        let known = WorkloadOption::find(name).is_some_and(|option| base.takes(option));
        if known && builder.set(name, value)? {
            continue;
        }
        if base.numbers().is_none() {
            return Err(LoadError::invalid(format!(
                "{name}: {} has no such option\nits options: {}",
                base.name(),
                options_of(&base).join(", ")
            )));
        }
        builder.set_scale(name, value)?;
    }
    builder.build()
}

/// The options of a capture's replay: commit_order, speed, part, and the workload whose tables it ran on.
///
/// # Errors
/// A value that the option does not take.
pub fn with_replay_options(
    mut base: WorkloadSpec,
    options: &[(&str, &str)],
) -> Result<WorkloadSpec, LoadError> {
    let Some(mut capture) = base.capture().cloned() else {
        return Ok(base);
    };
    for &(name, value) in options {
        if name == "tables_of" {
            capture.set_tables_of(match is_workload_file(value) {
                true => workload_of_file(Path::new(value))?,
                false => {
                    let kind = value.parse::<WorkloadKind>();
                    WorkloadSpec::of(kind.map_err(LoadError::invalid)?)
                }
            })?;
        } else {
            capture.set_replay(name, value)?;
        }
    }
    base.workload = capture.into();
    Ok(base)
}

/// Names of the options that `workload` has.
pub fn options_of(workload: &WorkloadSpec) -> Vec<&'static str> {
    WORKLOAD_OPTIONS
        .iter()
        .filter(|option| workload.takes(option))
        .map(|option| option.name)
        .collect()
}
