//! How a source is built, as the catalogue of servers says.

use std::path::Path;

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use niagara_server::{BuildDescription, Catalog, Install, ServerDescription};

use crate::source::Source;

/// How a server of the catalogue is built.
///
/// # Errors
/// Its file does not say.
pub(crate) fn can_be_built(described: &ServerDescription) -> Result<BuildDescription> {
    described
        .build
        .clone()
        .with_context(|| format!("how {} is built is not known", described.name))
        .remedy("add [build] to its file, as in data/servers/mariadb-10.11.toml")
}

/// The name that builds beside `server` are kept under: [`built_as`]'s, or its own where nobody knows how it is built.
pub fn kept_as<'a>(catalog: &'a Catalog, server: &'a str) -> &'a str {
    built_as(catalog, server).map_or(server, |described| described.name.as_str())
}

/// The catalogue's server that a build beside `server` is made as: the one of this name, or, of a server that is named by
/// its path, the one of its branch and series.
///
/// # Errors
/// Nobody knows how such a server is built; the server at the path does not tell its version.
pub fn built_as<'a>(catalog: &'a Catalog, server: &str) -> Result<&'a ServerDescription> {
    if !server.contains('/') {
        let described = catalog.get(server)?;
        can_be_built(described)?;
        return Ok(described);
    }
    let install = Install::from_path(Path::new(server))?;
    let series = install.version.series();
    let alike = |known: &&ServerDescription| {
        known.build.is_some() && known.family == install.family && known.series == series
    };
    if let Some(described) = catalog.iter().find(alike) {
        return Ok(described);
    }
    let known: Vec<&str> = catalog
        .iter()
        .filter(|known| known.build.is_some())
        .map(|known| known.name.as_str())
        .collect();
    bail!(
        "{server} is {} {}, and nobody knows how a server of that series is built: the catalogue has {}",
        install.family,
        install.version,
        known.join(", ");
        remedy: "begin with one of these (niagara server list), add a file with [build] to the folder of --servers \
         (data/servers/README.md), or leave builds out"
    )
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
            "no server of the catalogue tells how {} {} is built", source.family, source.version;
            remedy: "add [build] to a file in servers/"
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use niagara_error::Explain as _;

    use super::*;

    /// What a server says of its version, as a program.
    fn server(folder: &Path, says: &str) -> String {
        let path = folder.join("mariadbd");
        fs::write(&path, format!("#!/bin/sh\necho '{says}'\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        path.display().to_string()
    }

    #[test]
    fn a_server_at_a_path_is_built_as_its_series() {
        let catalog = Catalog::load(&[]).expect("valid files");
        assert_eq!(
            built_as(&catalog, "mysql-9.7").expect("known").name,
            "mysql-9.7"
        );
        assert!(built_as(&catalog, "mariadb-9.9").is_err());
        let folder = tempfile::tempdir().expect("a folder");
        let debians = server(
            folder.path(),
            "mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)",
        );
        assert_eq!(
            built_as(&catalog, &debians).expect("of the series").name,
            "mariadb-10.11"
        );
        let old = server(
            folder.path(),
            "mariadbd  Ver 10.5.29-MariaDB for debian-linux-gnu on x86_64 (Debian 11)",
        );
        let error = built_as(&catalog, &old)
            .expect_err("of no series")
            .explain()
            .to_string();
        for part in [
            &old,
            "MariaDB 10.5.29",
            "mariadb-10.11, mariadb-11.8",
            "\nremedy: ",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
