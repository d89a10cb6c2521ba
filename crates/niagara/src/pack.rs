//! A pack on the command line: it stands for a capture, data, a configuration and the facts of a machine.

use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_error::bail;
use niagara_origin::pack::{PackFolder, unpack};
use niagara_server::{Cache, Catalog};

use crate::load_args::{LoadArgs, WorkloadArg, is_pack};
use crate::shared_args::OriginArgs;

/// The server when none is named.
pub const DEFAULT_SERVER: &str = "mariadb-10.11";

/// The pack that the options name, unpacked, with what it says filled in where nothing else was said.
///
/// # Errors
/// Two packs are named, or it cannot be unpacked.
pub fn adopt(load: &mut LoadArgs, origin: &mut OriginArgs) -> Result<Option<PackFolder>> {
    let of_load = match load.workload() {
        WorkloadArg::File(path) if is_pack(&path.to_string_lossy()) => Some(path),
        _ => None,
    };
    let Some(path) = named(of_load, origin)? else {
        return Ok(None);
    };
    let pack = take(&path, origin)?;
    if load.workload.is_none() || is_pack(&load.workload().to_string()) {
        load.workload = Some(WorkloadArg::File(pack.capture()));
    }
    Ok(Some(pack))
}

/// The same for a command whose capture is `capture`.
///
/// # Errors
/// As [`adopt`].
pub fn adopt_capture(
    capture: &mut Option<PathBuf>,
    origin: &mut OriginArgs,
) -> Result<Option<PackFolder>> {
    let of_capture = capture
        .clone()
        .filter(|path| is_pack(&path.to_string_lossy()));
    let Some(path) = named(of_capture.clone(), origin)? else {
        return Ok(None);
    };
    let pack = take(&path, origin)?;
    if capture.is_none() || of_capture.is_some() {
        *capture = Some(pack.capture());
    }
    Ok(Some(pack))
}

fn named(of_load: Option<PathBuf>, origin: &OriginArgs) -> Result<Option<PathBuf>> {
    match (of_load, &origin.pack) {
        (Some(one), Some(other)) if one != *other => bail!(
            "two packs are named, {} and {}", one.display(), other.display();
            remedy: "leave one of them out"
        ),
        (one, other) => Ok(one.or_else(|| other.clone())),
    }
}

/// Fills in what the pack at `path` says of data, configuration and machine.
///
/// # Errors
/// It cannot be unpacked.
pub fn take(path: &Path, origin: &mut OriginArgs) -> Result<PackFolder> {
    let cache = Cache::open()?;
    let pack = unpack(path, &cache, &mut |text| tell!("{text}"))?;
    origin.packed_config = Some(pack.config()?);
    if origin.data.is_none() {
        origin.data = Some(pack.data());
        origin.schema = origin.schema.take().or(pack.manifest.schema.clone());
    }
    let machine = &pack.manifest.machine;
    origin.memory.get_or_insert(machine.memory);
    origin.cpus.get_or_insert(machine.cpus);
    Ok(pack)
}

/// The server that a command runs: the one that was named, else that of the pack, else [`DEFAULT_SERVER`].
///
/// # Errors
/// The catalogue has no server of the pack's family and series.
pub fn server(named: Option<&str>, pack: Option<&PackFolder>) -> Result<String> {
    let pack = match (named, pack) {
        (Some(named), _) if !is_pack(named) => return Ok(named.to_owned()),
        (_, None) => return Ok(DEFAULT_SERVER.to_owned()),
        (_, Some(pack)) => pack,
    };
    let name = pack.server()?;
    let catalog = Catalog::load(&[])?;
    if catalog.get(&name).is_err() {
        let known: Vec<&str> = catalog.iter().map(|one| one.name.as_str()).collect();
        bail!(
            "the pack is of {}, and there is no server {name} to fetch", pack.manifest.server.version;
            remedy: "name the path of such a server, or one of {}, and the pack by --pack", known.join(", ")
        );
    }
    Ok(name)
}
