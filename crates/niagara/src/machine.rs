//! The machine and what may be done on it, as the levers want to know it.

use std::collections::BTreeSet;

use anyhow::Result;
use niagara_lab::Workbench;
use niagara_lab::lever::{Context, Risk};
use niagara_server::Cache;
use niagara_server::machine::Fingerprint;

/// The machine's fingerprint, with the disk that the clones will be on.
pub fn fingerprint(cache: &Cache) -> Result<Fingerprint> {
    Ok(Fingerprint::read(&cache.work()?))
}

/// Where levers are to be tried, with nothing risky allowed yet. The server has been set up.
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
        ..Context::new(install.family, install.version, fingerprint.clone())
    })
}

/// The same with every risk allowed: for a lever that the user named, and so wants.
pub fn everything_allowed(
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
