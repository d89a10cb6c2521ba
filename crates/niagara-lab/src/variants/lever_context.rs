//! What may be done on this machine with this server and load, as the levers want to know it.

use std::collections::BTreeSet;

use anyhow::Result;
use niagara_server::machine::Fingerprint;

use crate::duels::workbench::Workbench;
use crate::lever::{Context, Risk};

/// Where levers are to be tried, with nothing risky allowed yet.
///
/// # Errors
/// The server was not set up, or its image cannot be read.
pub fn lever_context(
    fingerprint: &Fingerprint,
    bench: &Workbench,
    server: &str,
) -> Result<Context> {
    let install = bench.install(server)?;
    let load = bench.load();
    let mut mallocs: BTreeSet<String> = install.mallocs.keys().cloned().collect();
    mallocs.insert("glibc".to_owned());
    Ok(Context {
        data_bytes: bench.data_bytes(server)?,
        engine: load.engine.clone(),
        mallocs,
        writes: load.workload.writes(),
        app_local: bench.client().is_none(),
        production: bench.origin().machine,
        ..Context::new(install.family, install.version, fingerprint.clone())
    })
}

/// The same with every risk allowed: for a lever that the user named, and so wants.
///
/// # Errors
/// As with [`lever_context`].
pub(crate) fn everything_allowed(
    fingerprint: &Fingerprint,
    bench: &Workbench,
    server: &str,
    named: &str,
) -> Result<Context> {
    let mut context = lever_context(fingerprint, bench, server)?;
    context.allowed = [Risk::Durability, Risk::Security, Risk::System].into();
    context.named = [named.to_owned()].into();
    Ok(context)
}
