//! What may be done on this machine with this server and load, as the levers want to know it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::Result;
use niagara_build::built_as;
use niagara_server::machine::Fingerprint;
use niagara_server::{Family, Install, Version};

use crate::duels::workbench::Workbench;
use crate::lever::{Context, Risk};
use crate::variants::variant::Variant;

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
    let mut context = of_install(fingerprint, bench, install, bench.data_bytes(server)?);
    context.not_buildable = built_as(bench.catalog(), server)
        .err()
        .map(|error| first_line(&error));
    Ok(context)
}

/// The same for levers on top of a variant that was set up, whether or not its server was as packaged; with every risk allowed:
/// whoever recommends a lever says what it risks.
///
/// # Errors
/// Neither the variant nor one with the same server and build was set up, or its image cannot be read.
pub(crate) fn on_top_of(
    variant: &Variant,
    fingerprint: &Fingerprint,
    bench: &Workbench,
) -> Result<Context> {
    let install = bench.install_of(variant)?;
    let data_bytes = bench.data_bytes_of(variant)?;
    let mut context = of_install(fingerprint, bench, install, data_bytes);
    context.engine = bench.load().engine_of(variant).to_owned();
    context.allowed = EVERY_RISK.into();
    Ok(context)
}

/// The same for a server that writes. Its release is all that is known of it.
pub(crate) fn of_release(family: Family, version: Version, machine: Fingerprint) -> Context {
    Context {
        writes: true,
        allowed: EVERY_RISK.into(),
        ..Context::new(family, version, machine)
    }
}

/// Risks that have to be allowed.
const EVERY_RISK: [Risk; 4] = [Risk::Durability, Risk::Security, Risk::System, Risk::Schema];

/// A server with its data, on this machine, under the workbench's load.
fn of_install(
    fingerprint: &Fingerprint,
    bench: &Workbench,
    install: &Install,
    data_bytes: u64,
) -> Context {
    let load = bench.load();
    let mallocs = install
        .mallocs
        .iter()
        .filter(|(_, library)| can_be_named(library));
    let mut mallocs: BTreeSet<String> = mallocs.map(|(name, _)| name.clone()).collect();
    if !install.has_fixed_malloc() {
        mallocs.insert("glibc".to_owned());
    }
    // A server that says nothing of its options is asked by starting it.
    let options = bench.options_of(install);
    Context {
        data_bytes,
        engine: load.engine.clone(),
        mallocs,
        own_malloc: install.own_malloc.clone(),
        options: options.ok(),
        writes: load.workload.writes(),
        app_local: bench.client().is_none(),
        production: bench.origin().machine,
        ..Context::new(install.family, install.version, fingerprint.clone())
    }
}

/// What is wrong, without what to do about it.
fn first_line(error: &anyhow::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
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
    context.allowed = EVERY_RISK.into();
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
