//! How a source is built, as the catalogue of servers says.

use anyhow::{Context, Result, bail};
use niagara_server::{BuildDescription, Catalog, ServerDescription};

use crate::source::Source;

/// How a server of the catalogue is built.
///
/// # Errors
/// Its file does not say.
pub(crate) fn can_be_built(described: &ServerDescription) -> Result<BuildDescription> {
    described.build.clone().with_context(|| {
        format!(
            "how {} is built is not known\nremedy: add [build] to its file, as in servers/mariadb-10.11.toml",
            described.name
        )
    })
}

/// How a tree is built: as the catalogue's server of its name, else of its series, else of its branch.
///
/// # Errors
/// Nothing in the catalogue tells.
pub(crate) fn of_tree(
    catalog: &Catalog,
    server: &str,
    source: &Source,
) -> Result<BuildDescription> {
    // A build may stand beside a server that is named by its path; every other name is one of the catalogue.
    if !server.contains('/') {
        let described = catalog.get(server)?;
        if described.family == source.family {
            return can_be_built(described);
        }
    }
    let of_family = || {
        catalog
            .iter()
            .filter(|s| s.family == source.family && s.build.is_some())
    };
    let series = source.version.series();
    let described = of_family()
        .find(|s| s.series == series)
        .or_else(|| of_family().next());
    match described {
        Some(described) => can_be_built(described),
        None => bail!(
            "no server of the catalogue tells how {} {} is built\nremedy: add [build] to a file in servers/",
            source.family,
            source.version
        ),
    }
}
