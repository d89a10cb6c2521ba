//! The user's data as what a load runs on: which database it is in, and whether the workload finds its tables.

use std::fs;

use anyhow::{Result, bail};
use niagara_server::{Image, LOAD_DATABASE};

use crate::asking::origin::Data;
use crate::duels::spec::Load;

/// Names that are shown of a longer list.
const SHOWN: usize = 8;

/// The database of the data that the load is in.
///
/// # Errors
/// There are several, or none of the name asked for; with those that there are.
pub(crate) fn database_of(data: &Data, image: &Image) -> Result<String> {
    let there = image.record()?.databases;
    let shown = || {
        let names: Vec<&str> = there.iter().take(SHOWN).map(String::as_str).collect();
        let more = match there.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{}{more}", names.join(", "))
    };
    if let Some(asked) = &data.database {
        if there.contains(asked) {
            return Ok(asked.clone());
        }
        bail!(
            "the data have no database {asked}; there are: {}\nremedy: name one of these by --schema",
            shown()
        );
    }
    match &there[..] {
        [only] => Ok(only.clone()),
        _ if there.iter().any(|name| name == LOAD_DATABASE) => Ok(LOAD_DATABASE.to_owned()),
        _ => bail!(
            "the data have several databases: {}\nremedy: name the one that the load is in by --schema",
            shown()
        ),
    }
}

/// Whether the tables that the workload names are there. Asked of the files: no server has to be started for it.
///
/// # Errors
/// Some are missing.
pub(crate) fn check_tables(load: &Load, image: &Image, database: &str) -> Result<()> {
    let folder = image.data().join(database);
    // Servers write names of other characters otherwise: what cannot be told is not refused.
    let Ok(entries) = fs::read_dir(&folder) else {
        return Ok(());
    };
    let files: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().to_lowercase())
        .collect();
    let is_there = |table: &String| {
        let table = table.to_lowercase();
        files
            .iter()
            .filter_map(|file| file.strip_prefix(table.as_str()))
            .any(|rest| rest.starts_with(['.', '#']))
    };
    let missing: Vec<String> = load
        .workload
        .table_names(load.threads)
        .into_iter()
        .filter(|table| !is_there(table))
        .take(SHOWN)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!(
        "database {database} of the data has no table {}, which {} asks for\n\
         remedy: a workload of your own tables (docs/own-workload.md; it needs no [[table]] here), another --schema, or leave out --data",
        missing.join(", "),
        load.workload.name()
    )
}
