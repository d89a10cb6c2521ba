//! The load of a study, by names and values as people write them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use niagara_load::{
    LoadError, OwnFile, WORKLOAD_OPTIONS, WorkloadBuilder, WorkloadKind, WorkloadOption,
    WorkloadSpec,
};

use crate::spec::Load;

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
    let kind = base.kind;
    let mut builder = WorkloadBuilder::from(base);
    builder.set("mysql_storage_engine", engine)?;
    for (name, value) in options {
        let known = WorkloadOption::find(name).is_some_and(|option| option.applies_to(kind));
        if known && builder.set(name, value)? {
            continue;
        }
        if !kind.is_from_file() {
            bail!(
                "{name}: {kind} has no such option\nits options: {}",
                options_of(kind).join(", ")
            );
        }
        builder.set_scale(name, value)?;
    }
    Ok(Load {
        workload: builder.build()?,
        engine: engine.to_owned(),
        // A job is one connection's work, whatever was asked for.
        threads: if kind.is_job() { 1 } else { threads },
    })
}

/// Whether a workload is named by the path of its file rather than by a name of its own.
pub fn names_file(text: &str) -> bool {
    text.contains('/') || text.ends_with(".toml")
}

/// The workload that the file at `path` describes.
///
/// # Errors
/// It cannot be read. What it says is looked at when a load is made of it.
pub fn own_workload(path: &Path) -> Result<WorkloadSpec> {
    let text = std::fs::read_to_string(path).with_context(|| {
        format!(
            "cannot read the workload {}\nremedy: name a file as docs/own-workload.md describes it, or one of: {}",
            path.display(),
            WorkloadKind::ALL.map(WorkloadKind::name).join(", ")
        )
    })?;
    Ok(WorkloadSpec {
        kind: WorkloadKind::Own,
        own: Some(OwnFile {
            path: path.display().to_string(),
            text,
        }),
        ..WorkloadSpec::default()
    })
}

/// Names of what can be set of `workload`: its options, and the numbers of its file.
///
/// # Errors
/// A mistake in its file.
pub(crate) fn settings_of(workload: &WorkloadSpec) -> Result<Vec<String>, LoadError> {
    let mut names: Vec<String> = options_of(workload.kind)
        .into_iter()
        .map(str::to_owned)
        .collect();
    names.extend(workload.numbers()?);
    Ok(names)
}

/// Names of the options that `kind` has.
fn options_of(kind: WorkloadKind) -> Vec<&'static str> {
    WORKLOAD_OPTIONS
        .iter()
        .filter(|option| option.applies_to(kind))
        .map(|option| option.name)
        .collect()
}
