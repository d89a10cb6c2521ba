//! The load of a study, by names and values as people write them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use niagara_load::{
    FileWorkload, WORKLOAD_OPTIONS, WorkloadBuilder, WorkloadFile, WorkloadKind, WorkloadOption,
    WorkloadSpec, read_script,
};

use crate::duels::spec::Load;

/// The load of the workload `base` with `options`: by sysbench's names, or numbers of its file.
///
/// # Errors
/// An option that the workload does not have, or a value that it does not take; a mistake in its file.
pub fn load_of<'o>(
    base: WorkloadSpec,
    options: impl IntoIterator<Item = (&'o str, &'o str)>,
    engine: &str,
    threads: u32,
) -> Result<Load> {
    let mut builder = WorkloadBuilder::from(base.clone());
    builder.set("mysql_storage_engine", engine)?;
    for (name, value) in options {
        let known = WorkloadOption::find(name).is_some_and(|option| base.takes(option));
        if known && builder.set(name, value)? {
            continue;
        }
        if base.numbers().is_none() {
            bail!(
                "{name}: {} has no such option\nits options: {}",
                base.name(),
                options_of(&base).join(", ")
            );
        }
        builder.set_scale(name, value)?;
    }
    let workload = builder.build()?;
    Ok(Load {
        engine: engine.to_owned(),
        // A job is one connection's work, whatever was asked for.
        threads: if workload.is_job() { 1 } else { threads },
        workload,
    })
}

/// Whether a workload is named by the path of its file rather than by a name of its own.
pub fn is_workload_file(text: &str) -> bool {
    text.contains('/') || text.ends_with(".toml") || is_script(Path::new(text))
}

/// Whether a file is a script of sysbench's.
fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lua")
}

/// The workload that the file at `path` describes.
///
/// # Errors
/// It cannot be read, or has a mistake.
pub fn file_workload(path: &Path) -> Result<WorkloadSpec> {
    if is_script(path) {
        return Ok(WorkloadSpec::of(read_script(path)?));
    }
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "cannot read the workload {}\nremedy: name a file as docs/custom-workload.md describes it, or one of: {}",
            path.display(),
            WorkloadKind::names().join(", ")
        )
    })?;
    let workload = FileWorkload::read(WorkloadFile {
        path: path.display().to_string(),
        text,
    })?;
    Ok(WorkloadSpec::of(workload))
}

/// Names of what can be set of `workload`: its options, and the numbers of its file.
pub(crate) fn settings_of(workload: &WorkloadSpec) -> Vec<String> {
    let mut names: Vec<String> = options_of(workload)
        .into_iter()
        .map(str::to_owned)
        .collect();
    names.extend(workload.numbers().unwrap_or_default());
    names
}

/// Names of the options that `workload` has.
fn options_of(workload: &WorkloadSpec) -> Vec<&'static str> {
    WORKLOAD_OPTIONS
        .iter()
        .filter(|option| workload.takes(option))
        .map(|option| option.name)
        .collect()
}
