//! The user's data as what a load runs on: which database it is in, and whether the workload finds its tables.

use std::fs;

use anyhow::Result;
use niagara_error::bail;
use niagara_load::replay_before;
use niagara_origin::data::{database_of, databases_in_words};
use niagara_server::{
    Cache, Cancel, Config, Image, ImageContent, ImageStore, Install, LOAD_DATABASE,
};

use crate::plans::spec::Load;
use crate::variants::origin::Data;
use niagara_build::stopped;

/// Tables that are shown of a longer list.
const SHOWN: usize = 8;

/// The database of the data that the load is in.
///
/// # Errors
/// There are several, or none of the name asked for; with those that there are.
pub(crate) fn load_database(data: &Data, image: &Image) -> Result<String> {
    let there = image.record()?.databases;
    match database_of(data.database.as_deref(), &there)? {
        Some(database) => Ok(database.to_owned()),
        None if there.iter().any(|name| name == LOAD_DATABASE) => Ok(LOAD_DATABASE.to_owned()),
        None => bail!(
            "the data have several databases: {}", databases_in_words(&there);
            remedy: "name the one that the load is in by --schema"
        ),
    }
}

/// The image of the data as the load's part of a capture finds them: `image` itself, unless that part begins behind others
/// that write, which are then replayed once.
///
/// # Errors
/// The capture cannot be read; a server that does not start on the data; the disk is full; stopped.
pub(crate) fn image_behind(
    cache: &Cache,
    (install, layout): (&Install, &Config),
    (data, database, image): (&Data, &str, Image),
    load: &Load,
    cancel: &Cancel,
    tell: &mut dyn FnMut(&str),
) -> Result<Image> {
    let capture = load.workload.capture();
    if capture
        .map(|capture| capture.before())
        .transpose()?
        .flatten()
        .is_none()
    {
        return Ok(image);
    }
    // As an image of them is laid out: what the files are is no matter of opinion.
    let mut layout = layout.clone();
    layout.extend(data.source.layout.clone());
    let key = format!("data {} {}", data.source.digest, load.dataset_key());
    ImageStore::new(cache).laid_out(&layout).ensure_made(
        install,
        &key,
        &load.engine,
        tell,
        &mut |making, tell| {
            image.clone_until(&making.datadir(), cancel)?;
            let mut unlogged = Config::from([("skip_log_bin".to_owned(), String::new())]);
            // Tables may be of a plugin's engine.
            let plugins = layout.get_key_value("plugin_load_add");
            unlogged.extend(plugins.map(|(name, value)| (name.clone(), value.clone())));
            let server = making.launch(&unlogged)?;
            replay_before(
                &server.over_socket(database),
                &load.workload,
                &cancel.flag(),
                &mut |done, all| {
                    tell(&format!(
                        "replaying what is before this part of the capture: {done} of {all} statements"
                    ));
                },
            )
            .map_err(stopped)?;
            tell("private copy: purge, clean shutdown");
            server.stop()?;
            let record = image.record()?;
            Ok(ImageContent {
                databases: record.databases,
                without: record.without,
            })
        },
    )
}

/// Whether the tables that the workload names are there. Asked of the files: no server has to be started for it.
///
/// # Errors
/// Some are missing.
pub(crate) fn check_tables(load: &Load, image: &Image, database: &str) -> Result<()> {
    // What cannot be told is not refused.
    let Some(folder) = in_file_names(database) else {
        return Ok(());
    };
    let Ok(entries) = fs::read_dir(image.data().join(folder)) else {
        return Ok(());
    };
    let files: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().to_lowercase())
        .collect();
    let is_there = |table: &String| {
        let Some(table) = in_file_names(&table.to_lowercase()) else {
            return true;
        };
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
        "database {database} of the data has no table {}, which {} asks for",
        missing.join(", "),
        load.workload.name();
        remedy: "your captured traffic (--capture shop.capture, docs/capture.md) or a workload of your own tables \
         (docs/custom-workload.md; it needs no [[table]] here), another --schema, or leave out --data"
    )
}

/// A name as servers write it in names of files: `example.com` as `example@002ecom`; none of a name with other characters than those
/// of ASCII, of which there are several ways to write some.
fn in_file_names(name: &str) -> Option<String> {
    let written = |c: char| match c {
        '_' | '0'..='9' | 'a'..='z' | 'A'..='Z' => c.to_string(),
        other => format!("@{:04x}", u32::from(other)),
    };
    name.is_ascii().then(|| name.chars().map(written).collect())
}

#[cfg(test)]
mod tests {
    use super::in_file_names;

    #[test]
    fn names_are_written_as_servers_write_them() {
        for (name, file) in [
            ("shop_2", Some("shop_2")),
            ("example.com", Some("example@002ecom")),
            ("my-shop $1", Some("my@002dshop@0020@00241")),
            ("größe", None),
        ] {
            assert_eq!(in_file_names(name).as_deref(), file, "{name}");
        }
    }
}
