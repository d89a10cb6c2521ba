//! The load of a study, by names and values as people write them.

use anyhow::{Result, bail};
use niagara_load::{WORKLOAD_OPTIONS, WorkloadBuilder, WorkloadKind, WorkloadOption};

use crate::spec::Load;

/// The load of `kind` with `options` by sysbench's names.
///
/// # Errors
/// An option that the workload does not have, or a value that it does not take.
pub fn load_of<'o>(
    kind: WorkloadKind,
    options: impl IntoIterator<Item = (&'o str, &'o str)>,
    engine: &str,
    threads: u32,
) -> Result<Load> {
    let mut builder = WorkloadBuilder::new(kind);
    builder.set("mysql_storage_engine", engine)?;
    for (name, value) in options {
        let known = WorkloadOption::find(name).is_some_and(|option| option.applies_to(kind));
        if !known || !builder.set(name, value)? {
            bail!("{}", unknown_option(kind, name));
        }
    }
    Ok(Load {
        workload: builder.build()?,
        engine: engine.to_owned(),
        threads,
    })
}

/// Names of the options that `kind` has.
pub(crate) fn options_of(kind: WorkloadKind) -> Vec<&'static str> {
    WORKLOAD_OPTIONS
        .iter()
        .filter(|option| option.applies_to(kind))
        .map(|option| option.name)
        .collect()
}

/// What is said about an option that `kind` does not have.
pub fn unknown_option(kind: WorkloadKind, name: &str) -> String {
    format!(
        "{name}: {kind} has no such option\nits options: {}",
        options_of(kind).join(", ")
    )
}
