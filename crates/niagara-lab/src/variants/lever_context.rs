//! What may be done on this machine with this server and load, as the levers want to know it.

use std::collections::BTreeSet;
use std::path::Path;

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
    let mallocs = install
        .mallocs
        .iter()
        .filter(|(_, library)| can_be_named(library));
    let mut mallocs: BTreeSet<String> = mallocs.map(|(name, _)| name.clone()).collect();
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

/// Whether LD_PRELOAD can name a library: it takes blanks and colons for what stands between two (ld.so(8)).
fn can_be_named(library: &Path) -> bool {
    let text = library.to_str();
    text.is_some_and(|text| !text.contains([' ', ':', '\t', '\n']))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ld_preload_would_take_for_two_is_not_named() {
        assert!(can_be_named(Path::new("/home/jan/.cache/libjemalloc.so.2")));
        assert!(!can_be_named(Path::new(
            "/home/jan k/.cache/libjemalloc.so.2"
        )));
        assert!(!can_be_named(Path::new("/a:b/libjemalloc.so.2")));
    }
}
