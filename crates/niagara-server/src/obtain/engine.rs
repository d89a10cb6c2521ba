//! Storage engines that come in packages of their own: fetched beside a server, and loaded into it when tables are to be
//! in them.

use std::fs;

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};

use crate::cache::{Cache, WorkFolder};
use crate::install::Install;
use crate::obtain::archive::{Apt, merge, unpack};
use crate::obtain::catalog::{Catalog, EnginePackages, ServerDescription};

/// The folder of plugins inside a server's packages, as the packages have it.
const PLUGINS: &str = "lib/mysql/plugin";

/// The server with what `engine` takes: a plugin to load, fetched where that was not done before. An engine that no
/// server of the catalogue has in a package is the server's own, or not known to it: it says so itself. So do servers that
/// were not fetched.
///
/// # Errors
/// The archive of this server has no such engine while another's has, or no longer in the server's version.
pub fn with_engine(
    cache: &Cache,
    catalog: &Catalog,
    mut install: Install,
    engine: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Install> {
    // Servers take an engine's name in any case.
    let with: Vec<(&ServerDescription, &String, &EnginePackages)> = catalog
        .iter()
        .filter_map(|server| {
            let mut engines = server.engines.iter();
            let (name, packages) = engines.find(|(name, _)| name.eq_ignore_ascii_case(engine))?;
            Some((server, name, packages))
        })
        .collect();
    let Some((_, engine, _)) = with.first() else {
        return Ok(install);
    };
    if !install.server.starts_with(cache.servers()) {
        return Ok(install);
    }
    let Some((description, _, packages)) =
        with.iter().find(|(server, ..)| server.name == install.name)
    else {
        let names: Vec<&str> = with
            .iter()
            .map(|(server, ..)| server.name.as_str())
            .collect();
        bail!(
            "{} has no storage engine {engine}: no package of its archive holds it", install.name;
            remedy: "take {}, or another engine", names.join(" or ")
        );
    };
    let plugin = install
        .basedir
        .join(PLUGINS)
        .join(format!("{}.so", packages.plugin));
    if !plugin.is_file() {
        let _lock = cache.lock(&format!("server-{}", install.name), &mut || {
            progress(&format!("waiting: somebody else fetches {}", install.name));
        })?;
        if !plugin.is_file() {
            fetch(cache, description, &install, packages, progress).with_context(|| format!("cannot fetch the storage engine {engine} for {} {}", install.name, install.version_string)).remedy_with(|| format!("where the archive has moved on to a newer version, `niagara server remove {}` lets both be \
                     fetched again", install.name))?;
        }
    }
    if !plugin.is_file() {
        bail!(
            "the package {} holds no {}",
            packages.packages.join(", "),
            plugin.display()
        );
    }
    install.plugins.push(packages.plugin.clone());
    Ok(install)
}

/// Puts the plugin and its libraries where the server looks for its own: the binary's search path is asked for what a
/// plugin needs, too.
fn fetch(
    cache: &Cache,
    description: &ServerDescription,
    install: &Install,
    packages: &EnginePackages,
    progress: &mut dyn FnMut(&str),
) -> Result<()> {
    progress(&format!("fetching {}", packages.packages.join(", ")));
    let work = WorkFolder::beside(&cache.servers(), &description.name)?;
    let apt = Apt::open(&work.path().join("apt"), &description.archive)?;
    let version = description
        .packages
        .first()
        .and_then(|package| install.packages.get(package))
        .context("the server's package is not on record")?;
    // The plugin comes last: where it is, what it needs is there too.
    for (number, package) in packages.packages.iter().enumerate().rev() {
        // A plugin fits the server of its own version only.
        let wanted = match number {
            0 => format!("{package}={version}"),
            _ => package.clone(),
        };
        let deb = apt.download_alone(&wanted)?;
        let files = work.path().join(package);
        fs::create_dir(&files)?;
        unpack(&[deb], &files)?;
        merge(&files.join("usr/lib"), &install.basedir.join("lib"))
            .with_context(|| format!("cannot add {package} to {}", install.basedir.display()))?;
    }
    Ok(())
}
