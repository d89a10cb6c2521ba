//! The load of a study, by names and values as people write them.

use std::path::Path;

use anyhow::{Context, Result, bail};
use niagara_load::{
    CaptureWorkload, FileWorkload, REPLAY_OPTIONS, WORKLOAD_OPTIONS, WorkloadBuilder, WorkloadFile,
    WorkloadKind, WorkloadOption, WorkloadSpec, read_script,
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
    let options: Vec<(&str, &str)> = options.into_iter().collect();
    // First: what else can be set depends on it.
    let base = with_replay_options(base, &options)?;
    let mut builder = WorkloadBuilder::from(base.clone());
    builder.set("mysql_storage_engine", engine)?;
    for (name, value) in options {
        if base.capture().is_some() && REPLAY_OPTIONS.contains(&name) {
            continue;
        }
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
        threads: match workload.capture() {
            // Its connections are those of the capture, whatever was asked for.
            Some(capture) => capture.trace()?.facts.max_sessions.max(1),
            // A job is one connection's work.
            None if workload.is_job() => 1,
            None => threads,
        },
        workload,
    })
}

/// The options of a capture's replay: commit_order, speed, and the workload whose tables it ran on.
///
/// # Errors
/// A value that the option does not take.
pub fn with_replay_options(
    mut base: WorkloadSpec,
    options: &[(&str, &str)],
) -> Result<WorkloadSpec> {
    let Some(mut capture) = base.capture().cloned() else {
        return Ok(base);
    };
    for &(name, value) in options {
        if name == "tables_of" {
            let tables = if is_workload_file(value) {
                file_workload(Path::new(value))?
            } else {
                let kind: WorkloadKind = value.parse().map_err(anyhow::Error::msg)?;
                WorkloadSpec::of(kind)
            };
            capture.set_tables_of(tables)?;
        } else {
            capture.set_replay(name, value)?;
        }
    }
    base.workload = capture.into();
    Ok(base)
}

/// Whether a file is a script of sysbench's.
fn is_script(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "lua")
}

/// How the names of captures end.
const CAPTURE: &str = ".capture";

/// Whether a workload is named by the path of its file rather than by a name of its own.
pub fn is_workload_file(text: &str) -> bool {
    let is_ours = text.ends_with(".toml") || text.ends_with(CAPTURE);
    text.contains('/') || is_ours || is_script(Path::new(text))
}

/// The workload that the file at `path` describes, or the capture that it is.
///
/// # Errors
/// It cannot be read, or has a mistake.
pub fn file_workload(path: &Path) -> Result<WorkloadSpec> {
    if path
        .as_os_str()
        .as_encoded_bytes()
        .ends_with(CAPTURE.as_bytes())
    {
        return Ok(WorkloadSpec::of(CaptureWorkload::open(path)?));
    }
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
    if workload.capture().is_some() {
        names.extend(REPLAY_OPTIONS.map(str::to_owned));
    }
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
