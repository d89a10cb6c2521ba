//! What building takes on a machine: asked before anything is forecast, fetched or compiled.

use anyhow::{Result, bail};
use niagara_server::machine::in_path;
use niagara_server::{BuildDescription, Catalog, Install, ServerDescription};
use std::path::Path;

use crate::ensure::can_be_built;
use crate::flags::check_options;
use crate::recipe::Recipe;
use crate::toolchain::{Toolchain, missing_packages};

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
        "{server} is {} {}, and nobody knows how a server of that series is built: the catalogue has {}\n\
         remedy: begin with one of these (niagara server list), add a file with [build] to the folder of --servers \
         (servers/README.md), or leave builds out",
        install.family,
        install.version,
        known.join(", ")
    )
}

/// Whether this machine has the tools that `recipe` takes, beside `server`: compiler, linker, BOLT, what patches a source.
/// Neither the source nor the store is looked at.
///
/// # Errors
/// What is missing, with the command that installs it; a recipe that makes no sense; a server that nobody knows how to build.
pub fn check_tools(catalog: &Catalog, server: &str, recipe: &Recipe) -> Result<()> {
    check_options(&recipe.normal())?;
    if recipe.source.is_none() {
        built_as(catalog, server)?;
    }
    Toolchain::find(recipe)?;
    if !recipe.patches.is_empty() && in_path("patch").is_none() {
        bail!(
            "source changes take patch, which is not here\nremedy: apt install patch, or scripts/setup builds"
        );
    }
    Ok(())
}

/// Whether the packages are installed that compiling `server` takes, which a build that is here already does not need. The
/// needs of a source tree are found when it is read.
///
/// # Errors
/// Those that are missing, with the command that installs them.
pub fn check_packages(catalog: &Catalog, server: &str, recipe: &Recipe) -> Result<()> {
    match recipe.source {
        Some(_) => Ok(()),
        None => needs_installed(&can_be_built(built_as(catalog, server)?)?),
    }
}

/// Whether what a build of this description takes is installed.
pub(crate) fn needs_installed(description: &BuildDescription) -> Result<()> {
    let missing = missing_packages(&description.needs);
    if !missing.is_empty() {
        bail!(
            "building takes packages that are not installed: {}\nremedy: apt install {}, or scripts/setup builds",
            missing.join(", "),
            missing.join(" ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn what_is_missing_is_told_before_anything_is_fetched() {
        let catalog = Catalog::load(&[]).expect("valid files");
        let mut recipe = Recipe::default();
        recipe.set("compiler", "clang-3").expect("valid");
        let error = check_tools(&catalog, "mariadb-10.11", &recipe).expect_err("not here");
        assert!(error.to_string().contains("\nremedy: apt install "));
        let mut needing = catalog.get("mariadb-10.11").expect("known").build.clone();
        let needing = needing.as_mut().expect("described");
        needing.needs = vec!["no-such-package-at-all".to_owned()];
        if in_path("dpkg-query").is_some() {
            let error = needs_installed(needing).expect_err("missing").to_string();
            assert!(error.contains("scripts/setup builds"), "{error}");
        }
    }
}
