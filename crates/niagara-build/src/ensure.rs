//! From a recipe to a server: every part of it made once, whatever was interrupted continued.

use anyhow::{Context, Result};
use niagara_error::{Explain as _, anyhow};
use niagara_server::{Install, mallocs_of_this_release};

use crate::able::{check_place, needs_installed};
use crate::bolt;
use crate::builder::{Builder, Built, Wanted};
use crate::described::{built_as, can_be_built, of_tree};
use crate::in_use::InUse;
use crate::lock::lock;
use crate::order::{Order, tools_for};
use crate::recipe::Recipe;
use crate::source::Source;
use crate::step::BuildStopped;
use crate::store::{self, BuildKind, BuildStore, StoredBuild};

impl Builder<'_> {
    /// What the build of `recipe` beside `server` is known by and made from: its source is fetched where it is not here, nothing
    /// is built.
    ///
    /// # Errors
    /// A recipe that cannot be made here; a source that cannot be had; [`BuildStopped`] when told to stop.
    pub fn look(&mut self, server: &str, recipe: &Recipe) -> Result<Wanted> {
        let order = self.order(server, recipe);
        let order = self.or_stopped(order)?;
        let key = order.key(BuildKind::Server)?;
        Ok(Wanted {
            is_there: BuildStore::new(self.cache).find(&key).is_some(),
            source: order.source.tree,
            source_in_use: order.source_in_use,
            key,
        })
    }

    /// The server that `recipe` makes beside the catalogue's `server`, built where it is not there yet.
    ///
    /// # Errors
    /// A source, compiler or package that is missing (with the command that installs it), a patch that does not apply,
    /// a build that fails (with its first real error and the log), an empty or stale profile;
    /// [`BuildStopped`] when told to stop.
    pub fn ensure(&mut self, server: &str, recipe: &Recipe) -> Result<Built> {
        let built = self.order(server, recipe).and_then(|order| {
            self.fill(&order)
                .with_context(|| format!("cannot build {server} ({})", recipe.one_line()))
        });
        self.or_stopped(built)
    }

    /// Ctrl-C ends the tools as well: what dpkg-source or llvm-profdata says of that is not what went wrong.
    fn or_stopped<T>(&self, result: Result<T>) -> Result<T> {
        match (self.cancelled)() {
            true => result.map_err(|_| BuildStopped.into()),
            false => result,
        }
    }

    fn order(&mut self, server: &str, recipe: &Recipe) -> Result<Order> {
        check_place(self.cache)?;
        let recipe = recipe.pinned()?.normal();
        let tools = tools_for(&recipe)?;
        let (server, from, in_use) = match &recipe.source {
            Some(path) => {
                let source = Source::from_path(path)?;
                let description = of_tree(self.catalog, server, &source)?;
                (server, (description, source), None)
            }
            None => {
                let described = built_as(self.catalog, server)?;
                let build = can_be_built(described)?;
                let (source, in_use) = Source::of_package(
                    self.cache,
                    described,
                    &build,
                    self.refresh_source,
                    self.cancelled,
                    self.progress,
                )?;
                (described.name.as_str(), (build, source), Some(in_use))
            }
        };
        let mut order = Order::of(self.cache, server, recipe, tools, from, self.patches)?;
        order.source_in_use = in_use;
        Ok(order)
    }

    fn fill(&mut self, order: &Order) -> Result<Built> {
        let key = order.key(BuildKind::Server)?;
        let store = BuildStore::new(self.cache);
        // Before it is looked for, so that nothing removes it in between.
        let in_use = store.hold(&key)?;
        if let Some(build) = store.find(&key) {
            return self.found(order, build, true, in_use);
        }
        needs_installed(&order.description)?;
        let _lock = lock(
            self.cache,
            &store::lock_name(&key),
            self.cancelled,
            &mut || {
                (self.progress)("waiting: somebody else makes this build");
            },
        )?;
        if let Some(build) = store.find(&key) {
            return self.found(order, build, true, in_use);
        }
        let build = match &order.recipe.bolt {
            Some(training) => {
                let base = self.fill(&order.with(|recipe| *recipe = recipe.before_bolt())?)?;
                bolt::lay_out(self, order, &base, training, &key)?
            }
            None => self.compile_server(order, &key)?,
        };
        self.found(order, build, false, in_use)
    }

    fn found(
        &mut self,
        order: &Order,
        build: StoredBuild,
        was_there: bool,
        in_use: InUse,
    ) -> Result<Built> {
        build.touch();
        let mut install = self.install(order, &build)?;
        self.add_own_mallocs(order, &mut install);
        Ok(Built {
            install,
            build,
            was_there,
            in_use,
        })
    }

    /// The server of a finished build.
    ///
    /// # Errors
    /// It does not run any more.
    pub(crate) fn install(&self, order: &Order, build: &StoredBuild) -> Result<Install> {
        order.install(self.cache, &build.folder).map_err(|error| {
            let key = &build.record.key;
            // Its remedy is for servers that are named by their path.
            let told = error.to_string();
            anyhow!(
                "the build {key} does not run (any more): {}", told.lines().next().unwrap_or_default();
                remedy: "niagara server build remove {key}, and build it again"
            )
        })
    }

    /// Adds the mallocs of this machine's release where those of the packaged server want a newer C library than the build
    /// runs with. Without them fewer levers can be tried, so what goes wrong is told and is no error.
    fn add_own_mallocs(&mut self, order: &Order, install: &mut Install) {
        let described = self.catalog.get(&order.server).ok();
        let lacks_one = described.is_some_and(|server| {
            let mut names = server.mallocs.keys();
            names.any(|name| *name != install.own_malloc && !install.mallocs.contains_key(name))
        });
        if !lacks_one || !order.recipe.takes_other_mallocs() {
            return;
        }
        match mallocs_of_this_release(self.cache, self.catalog, self.progress) {
            Ok(found) => install.add_mallocs(found),
            Err(error) => (self.progress)(&format!(
                "no memory allocators of this machine's release: {}",
                error.explain()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use niagara_server::{BuildDescription, Catalog, Family};

    use super::*;
    use crate::flags::{Stage, cmake_options};
    use crate::order::FORM;
    use crate::patch::Patch;
    use crate::toolchain::Toolchain;

    fn order(settings: &[(&str, &str)], source: &str) -> Order {
        let mut recipe = Recipe::default();
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        let catalog = Catalog::load(&[]).expect("valid files");
        Order {
            server: "mariadb-10.11".into(),
            description: can_be_built(catalog.get("mariadb-10.11").expect("known"))
                .expect("can be"),
            source: Source {
                name: source.into(),
                digest: source.into(),
                tree: "/t".into(),
                family: Family::Mariadb,
                version: "10.11.1".parse().expect("a version"),
            },
            patches: Vec::new(),
            tools: Toolchain {
                cc: "/bin/cc".into(),
                cxx: "/bin/c++".into(),
                compiler: "cc 1".into(),
                ar: "/bin/ar".into(),
                ranlib: "/bin/ranlib".into(),
                linker: None,
                profdata: None,
                bolt: None,
                bolt_profile: None,
                linked_in: Vec::new(),
                ccache: None,
            },
            recipe: recipe.normal(),
            places: "/places".into(),
            source_in_use: None,
        }
    }

    #[test]
    fn the_key_covers_every_input() {
        let key = |order: &Order| order.key(BuildKind::Server).expect("plain data");
        let base = order(&[], "a");
        assert_eq!(key(&base), key(&order(&[], "a")));
        let mut patched = order(&[], "a");
        patched.patches.push(Patch {
            name: "p".into(),
            text: "diff".into(),
        });
        let mut newer = order(&[], "a");
        newer.tools.compiler = "cc 2".into();
        let mut newer_library = order(&[], "a");
        newer_library.tools.linked_in = vec!["libssl.a 1".into()];
        let mut described = order(&[], "a");
        described.description.flags.push("-g".into());
        let others = [
            order(&[], "b"),
            order(&[("flags", "-O3")], "a"),
            order(&[("pgo", "oltp_insert")], "a"),
            order(&[("pgo", "oltp_insert"), ("pgo.seconds", "5")], "a"),
            order(&[("flags", "-march=native")], "a"),
            patched,
            newer,
            newer_library,
            described,
        ];
        let mut keys: Vec<String> = others.iter().map(key).collect();
        keys.push(key(&base));
        keys.push(base.key(BuildKind::Profile).expect("plain data"));
        let all = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), all);
        // Which compiler cache helps, and where the tools are, change nothing.
        let mut cached = order(&[], "a");
        cached.tools.ccache = Some("/bin/ccache".into());
        assert_eq!(key(&cached), key(&base));
    }

    #[test]
    fn what_gcc_counts_is_known_by_the_paths_that_it_counts_at() {
        let keys = |compiler: &str, tree: &str, places: &str| {
            let mut order = order(&[("compiler", compiler), ("pgo", "oltp_insert")], "a");
            order.source.tree = tree.into();
            order.places = places.into();
            [
                BuildKind::Server,
                BuildKind::Profile,
                BuildKind::Instrumented,
            ]
            .map(|kind| order.key(kind).expect("plain data"))
        };
        let here = keys("gcc", "/t", "/places");
        for elsewhere in [keys("gcc", "/u", "/places"), keys("gcc", "/t", "/other")] {
            assert_eq!(here[0], elsewhere[0], "a server is what it is");
            assert!(here[1] != elsewhere[1] && here[2] != elsewhere[2]);
        }
        assert_eq!(
            keys("clang", "/t", "/places"),
            keys("clang", "/u", "/other")
        );
    }

    /// What stands in no key: the words that recipes come to. When this fails, builds that are kept are not what their
    /// recipes would make today: raise [`FORM`], and write the pair that the test shows.
    #[test]
    fn keys_of_recipes_have_this_form() {
        const STANDS_FOR: (u32, &str) = (2, "0da62c5195dc524b");
        let mut words = Vec::new();
        for compiler in ["gcc", "clang"] {
            for lto in ["none", "thin", "full"] {
                let order = order(
                    &[
                        ("compiler", compiler),
                        ("lto", lto),
                        ("flags", "-O3"),
                        ("c_flags", "-fc"),
                        ("cxx_flags", "-fcxx"),
                        ("link_flags", "-Wl,-l"),
                        ("static_libraries", "cxx/ssl/zlib"),
                    ],
                    "a",
                );
                for stage in [
                    Stage::Plain,
                    Stage::Instrumented,
                    Stage::Optimised(Some(Path::new("/p"))),
                ] {
                    let bare = BuildDescription {
                        flags: vec!["-O2".into()],
                        link_flags: vec!["-Wl,-z,now".into()],
                        cmake: BTreeMap::new(),
                        plugins_off: vec!["ROCKSDB".into()],
                        ..order.description.clone()
                    };
                    words.push(cmake_options(&bare, &order.recipe, &order.tools, &stage));
                }
            }
        }
        let digest = store::digest(&(words, bolt::LAYOUT)).expect("plain data");
        assert_eq!((FORM, digest.as_str()), STANDS_FOR);
    }
}
