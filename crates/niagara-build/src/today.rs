//! What this machine is like today: whether a build that looks like the one that is asked for is that one, and whether a
//! profile spares it its training. Nothing is fetched for it.

use std::cell::RefCell;
use std::collections::HashMap;

use niagara_server::machine::in_path;
use niagara_server::{Cache, Catalog};

use crate::described::can_be_built;
use crate::order::Order;
use crate::recipe::{Compiler, Recipe};
use crate::shipped_profiles::fitting;
use crate::source::Source;
use crate::store::{BuildKind, BuildRecord};
use crate::toolchain::Toolchain;

/// What can be told of a build before it is made.
pub(crate) trait Today {
    /// Whether a build that looks like the server of `recipe`, like its profile or what counts for that, is what would be taken
    /// for it.
    fn is_it(&self, record: &BuildRecord, recipe: &Recipe) -> bool;

    /// Whether a profile that comes with the program spares `recipe` its training.
    fn has_shipped_profile(&self, recipe: &Recipe) -> bool;

    /// Whether builds leave their objects to ccache.
    fn has_ccache(&self) -> bool;
}

/// This machine, as it is found.
pub(crate) struct Here<'a> {
    cache: &'a Cache,
    catalog: &'a Catalog,
    server: &'a str,
    /// What compilers say of themselves, as far as that was asked.
    compilers: RefCell<HashMap<Compiler, Option<String>>>,
}

impl<'a> Here<'a> {
    /// For builds beside this server.
    pub(crate) fn of(cache: &'a Cache, catalog: &'a Catalog, server: &'a str) -> Here<'a> {
        Here {
            cache,
            catalog,
            server,
            compilers: RefCell::default(),
        }
    }

    /// What the compiler says of itself; none where it is not here.
    fn version_of(&self, compiler: Compiler) -> Option<String> {
        let mut known = self.compilers.borrow_mut();
        let found = known.entry(compiler);
        found
            .or_insert_with(|| Toolchain::of_compiler(compiler).ok().map(|it| it.compiler))
            .clone()
    }

    /// Whether the catalogue at hand knows the server, so that what its builds come to can be told.
    fn is_known(&self) -> bool {
        self.server.contains('/') || self.catalog.get(self.server).is_ok()
    }
}

impl Today for Here<'_> {
    fn is_it(&self, record: &BuildRecord, recipe: &Recipe) -> bool {
        if !self.is_known() {
            return true;
        }
        let order = Order::of_what_is_here(self.cache, self.catalog, self.server, recipe);
        let Ok(Some(order)) = order else {
            // It would be built of a source that has to be fetched first, or not at all.
            return false;
        };
        let key = match record.kind {
            BuildKind::Server => order.key(BuildKind::Server),
            BuildKind::Profile => order
                .counted()
                .and_then(|counted| counted.key(BuildKind::Profile)),
            BuildKind::Instrumented => order
                .counted()
                .and_then(|counted| counted.instrumented())
                .and_then(|instrumented| instrumented.key(BuildKind::Instrumented)),
        };
        key.is_ok_and(|key| key == record.key)
    }

    fn has_shipped_profile(&self, recipe: &Recipe) -> bool {
        if recipe.source.is_some() {
            return false;
        }
        // First without the compiler, which takes a moment to ask.
        let fits = |version: Option<&str>| fitting(self.server, recipe, version).ok().flatten();
        let version = fits(None).and_then(|_| self.version_of(recipe.compiler));
        let Some(shipped) = fits(version.as_deref()) else {
            return false;
        };
        let described = self.catalog.get(self.server).ok();
        let source = described.and_then(|described| {
            let build = can_be_built(described).ok()?;
            Source::of_package_here(self.cache, described, &build)
        });
        source.is_none_or(|source| !shipped.is_stale_for(&source, recipe))
    }

    fn has_ccache(&self) -> bool {
        in_path("ccache").is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source of the server, as it would have been fetched.
    fn with_source(cache: &Cache) -> Source {
        let folder = crate::source::sources(cache).join("mariadb");
        std::fs::create_dir_all(folder.join("tree")).expect("made");
        let source = Source {
            name: "mariadb 1:10.11.99-1".into(),
            digest: "a".into(),
            tree: folder.join("tree"),
            family: niagara_server::Family::Mariadb,
            version: "10.11.99".parse().expect("a version"),
        };
        let manifest = serde_json::to_vec(&source).expect("plain data");
        std::fs::write(folder.join("source.json"), manifest).expect("written");
        source
    }

    fn asked(settings: &[(&str, &str)]) -> Recipe {
        let mut recipe = Recipe::default();
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        recipe
    }

    #[test]
    fn a_shipped_profile_is_one_of_the_compiler_and_the_source_that_are_here() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let catalog = Catalog::load(&[]).expect("valid files");
        let here = |version: Option<&str>| {
            let here = Here::of(&cache, &catalog, "mariadb-10.11");
            for compiler in ["clang", "clang-19"] {
                let compiler = compiler.parse().expect("a compiler");
                let version = version.map(str::to_owned);
                here.compilers.borrow_mut().insert(compiler, version);
            }
            here
        };
        let shipped = ("pgo", "oltp_read_only:2/oltp_read_write");
        let recipe = asked(&[("compiler", "clang"), shipped]);
        let debian = |major: u32| format!("Debian clang version {major}.1.4 (1)");
        // Where no compiler is here it is that of whoever installs the one that is named.
        assert!(here(None).has_shipped_profile(&recipe));
        assert!(here(Some(&debian(19))).has_shipped_profile(&recipe));
        assert!(!here(Some(&debian(20))).has_shipped_profile(&recipe));
        // A build has found that it does not fit.
        let source = with_source(&cache);
        let profile = fitting("mariadb-10.11", &recipe, None).expect("valid files");
        let profile = profile.expect("one fits");
        assert!(here(Some(&debian(19))).has_shipped_profile(&recipe));
        profile.note_stale_for(&source, &recipe).expect("noted");
        assert!(!here(Some(&debian(19))).has_shipped_profile(&recipe));
        // Whatever the flags; other options of cmake compile other functions.
        let flags = asked(&[
            ("compiler", "clang"),
            shipped,
            ("flags", "-O3"),
            ("lto", "thin"),
        ]);
        assert!(!here(Some(&debian(19))).has_shipped_profile(&flags));
        let smaller = [("compiler", "clang"), shipped, ("cmake.WITH_WSREP", "OFF")];
        assert!(here(Some(&debian(19))).has_shipped_profile(&asked(&smaller)));
        let other = Source {
            digest: "b".into(),
            ..source
        };
        assert!(!profile.is_stale_for(&other, &recipe));
    }

    #[test]
    fn a_build_is_the_one_that_its_key_says() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path()).expect("a cache");
        let catalog = Catalog::load(&[]).expect("valid files");
        let here = Here::of(&cache, &catalog, "mariadb-10.11");
        let recipe = asked(&[("pgo", "oltp_insert"), ("lto", "thin")]);
        let source = with_source(&cache);
        let order = || {
            let order = Order::of_what_is_here(&cache, &catalog, "mariadb-10.11", &recipe);
            order.expect("gcc is here").expect("its source is here")
        };
        let record = |order: &Order, kind: BuildKind| {
            let key = order.key(kind).expect("plain data");
            order.record(&key, kind, &crate::flags::Stage::Plain)
        };
        let server = record(&order(), BuildKind::Server);
        let profile = record(&order().counted().expect("gcc is here"), BuildKind::Profile);
        assert!(here.is_it(&server, &recipe) && here.is_it(&profile, &recipe));
        let upgraded = |kind: BuildKind| {
            let mut order = order();
            order.tools.compiler = "gcc (Debian 7.0-1) 7.0".into();
            record(&order, kind)
        };
        assert!(!here.is_it(&upgraded(BuildKind::Server), &recipe));
        assert!(!here.is_it(&upgraded(BuildKind::Profile), &recipe));
        // A newer source.
        std::fs::remove_dir_all(source.tree.parent().expect("a folder")).expect("removed");
        assert!(!here.is_it(&server, &recipe), "it would be fetched first");
        // Of a server that this catalogue does not have nothing better is known than how its builds look.
        assert!(Here::of(&cache, &catalog, "mine").is_it(&server, &recipe));
    }
}
