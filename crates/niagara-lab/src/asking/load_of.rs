//! The load of a study, by names and values as people write them.

use anyhow::Result;
use niagara_load::{REPLAY_OPTIONS, WorkloadBuilder, WorkloadSpec, options_of, with_options};

use crate::plans::spec::Load;

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
    let mut builder = WorkloadBuilder::from(base);
    builder.set("mysql_storage_engine", engine)?;
    let workload = with_options(builder.build()?, &options)?;
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
