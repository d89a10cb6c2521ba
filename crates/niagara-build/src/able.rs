//! What building takes on a machine: asked before anything is forecast, fetched or compiled.

use anyhow::Result;
use niagara_error::bail;
use niagara_server::machine::in_path;
use niagara_server::{BuildDescription, Cache, Catalog};

use crate::described::{built_as, can_be_built};
use crate::flags::check_options;
use crate::recipe::Recipe;
use crate::source::Source;
use crate::store::BuildStore;
use crate::toolchain::{Toolchain, missing_packages};

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
        bail!("source changes take patch, which is not here"; remedy: "apt install patch");
    }
    Ok(())
}

/// Whether a build in the store of this `cache` can be told where its profile and its links are: compilers and linkers get these paths
/// among other words, which shells, cmake and they themselves cut at certain letters.
///
/// # Errors
/// The path has such a letter.
pub(crate) fn check_place(cache: &Cache) -> Result<()> {
    let path = cache.root().to_string_lossy();
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+@=~".contains(letter);
    let Some(letter) = path.chars().find(|letter| !is_plain(*letter)) else {
        return Ok(());
    };
    bail!(
        "builds are made in the folder {path}, whose path has a `{letter}`: compilers and linkers cannot be given such a path";
        remedy: "name a folder in NIAGARA_CACHE whose path has letters, digits and `. _ - + @ = ~` alone"
    );
}

/// Whether builds can be kept in the `store` and the packages are installed that compiling `server` takes, which a build that is
/// here already does not need, and what unpacks its source where `store` does not have that yet. The needs of a source tree are
/// found when it is read.
///
/// # Errors
/// Those that are missing, with the command that installs them; a store whose path no compiler could be told.
pub fn check_packages(
    store: &BuildStore,
    catalog: &Catalog,
    server: &str,
    recipe: &Recipe,
) -> Result<()> {
    check_place(store.cache())?;
    if recipe.source.is_some() {
        return Ok(());
    }
    let described = built_as(catalog, server)?;
    let build = can_be_built(described)?;
    let is_here = Source::of_package_here(store.cache(), described, &build).is_some();
    if !is_here && in_path("dpkg-source").is_none() {
        bail!(
            "source packages are unpacked by dpkg-source, which is not here";
            remedy: "apt install dpkg-dev"
        );
    }
    needs_installed(&build)
}

/// Whether what a build of this description takes is installed.
pub(crate) fn needs_installed(description: &BuildDescription) -> Result<()> {
    let missing = missing_packages(&description.needs);
    if !missing.is_empty() {
        bail!(
            "building takes packages that are not installed: {}", missing.join(", ");
            remedy: "apt install {}", missing.join(" ")
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn a_folder_that_no_compiler_could_be_told_is_refused_beforehand() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = |name: &str| Cache::at(&folder.path().join(name)).expect("a cache");
        for name in ["my cache", "a,b", "50%", "a;b", "$HOME"] {
            let error = check_place(&at(name))
                .expect_err(name)
                .explain()
                .to_string();
            assert!(
                error.contains(name) && error.contains("NIAGARA_CACHE"),
                "{error}"
            );
        }
        for name in ["niagara-0.1+git~x", "Köln"] {
            check_place(&at(name)).expect(name);
        }
    }

    #[test]
    fn what_is_missing_is_told_before_anything_is_fetched() {
        let catalog = Catalog::load(&[]).expect("valid files");
        let mut recipe = Recipe::default();
        recipe.set("compiler", "clang-3").expect("valid");
        let error = check_tools(&catalog, "mariadb-10.11", &recipe).expect_err("not here");
        assert!(
            error
                .explain()
                .to_string()
                .contains("\nremedy: apt install ")
        );
        let mut needing = catalog.get("mariadb-10.11").expect("known").build.clone();
        let needing = needing.as_mut().expect("described");
        needing.needs = vec!["no-such-package-at-all".to_owned()];
        if in_path("dpkg-query").is_some() {
            let error = needs_installed(needing)
                .expect_err("missing")
                .explain()
                .to_string();
            assert!(error.contains("apt install"), "{error}");
        }
    }
}
