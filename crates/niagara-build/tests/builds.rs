//! The builder, from a source tree to a binary and back, on a tree that compiles in no time. Real servers are built by
//! `make test-builds`.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_build::{
    BuildKind, BuildStopped, BuildStore, Builder, Built, Forecast, Patch, Recipe, Sampler, Source,
    Trainer, TrainingJob,
};
use niagara_error::Explain as _;
use niagara_server::{Cache, Catalog, Family, search_path};

const TREE: [(&str, &str); 4] = [
    ("VERSION", include_str!("tiny_tree/VERSION")),
    ("CMakeLists.txt", include_str!("tiny_tree/CMakeLists.txt")),
    ("main.c", include_str!("tiny_tree/main.c")),
    ("work.c", include_str!("tiny_tree/work.c")),
];

const DESCRIPTION: &str = include_str!("tiny_tree/tiny.toml");

/// Runs the binary itself, as often as asked.
struct Runs(u32);

impl Trainer for Runs {
    fn train(&mut self, job: &TrainingJob<'_>, _: &mut dyn FnMut(&str)) -> Result<()> {
        for _ in 0..self.0 {
            let mut command = Command::new(&job.install.server);
            command.arg("--train").envs(&job.environment);
            if job.sampling.is_some() {
                // Seconds, so that perf has something to see.
                command.arg("2000000000");
            }
            let mut process = command.spawn()?;
            let sampler = job.sample(process.id() as i32)?;
            assert!(process.wait()?.success());
            sampler.map_or(Ok(()), Sampler::end)?;
        }
        Ok(())
    }
}

struct Yard {
    folder: tempfile::TempDir,
    cache: Cache,
    catalog: Catalog,
    runs: u32,
}

impl Yard {
    fn new() -> Yard {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let servers = folder.path().join("servers");
        for part in [&servers, &folder.path().join("tree")] {
            fs::create_dir(part).expect("made");
        }
        let yard = format!("YARD = \"{}\"\n", folder.path().display());
        fs::write(servers.join("tiny.toml"), format!("{DESCRIPTION}{yard}")).expect("written");
        for (name, text) in TREE {
            fs::write(folder.path().join("tree").join(name), text).expect("written");
        }
        let yard = Yard {
            cache: Cache::at(&folder.path().join("cache")).expect("a cache"),
            catalog: Catalog::load(&[servers]).expect("valid"),
            folder,
            runs: 3,
        };
        fs::write(yard.go(), "").expect("written");
        yard
    }

    fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    /// What the second step waits for; beside the tree, or it would be part of the source.
    fn go(&self) -> PathBuf {
        self.folder.path().join("go")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.tree().join(name), text).expect("written");
    }

    fn recipe(&self, settings: &[(&str, &str)]) -> Recipe {
        let mut recipe = Recipe {
            source: Some(self.tree()),
            ..Recipe::default()
        };
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        recipe
    }

    fn build(&self, settings: &[(&str, &str)]) -> Result<Built> {
        self.build_until(settings, &|_| false)
    }

    /// A build beside this server.
    fn build_beside(&self, server: &str, settings: &[(&str, &str)]) -> Result<Built> {
        self.make(server, self.recipe(settings), &|_| false)
    }

    /// Stops once `enough` says so of a line of progress.
    fn build_until(
        &self,
        settings: &[(&str, &str)],
        enough: &dyn Fn(&str) -> bool,
    ) -> Result<Built> {
        self.make("tiny", self.recipe(settings), enough)
    }

    fn make(&self, server: &str, recipe: Recipe, enough: &dyn Fn(&str) -> bool) -> Result<Built> {
        self.with_builder(enough, |builder| builder.ensure(server, &recipe))
    }

    fn with_builder<T>(
        &self,
        enough: &dyn Fn(&str) -> bool,
        work: impl FnOnce(&mut Builder<'_>) -> Result<T>,
    ) -> Result<T> {
        let stop = Cell::new(false);
        work(&mut Builder {
            cache: &self.cache,
            catalog: &self.catalog,
            trainer: &mut Runs(self.runs),
            patches: &|name, _| {
                let text = "--- a/work.c\n+++ b/work.c\n@@ -1,6 +1,6 @@\n long work(long rounds)\n {\n-    long sum = 0;\n+    long sum = 1;\n     for (long i = 1; i <= rounds; i++)\n         sum += i % 3 == 0 ? i : 1;\n     return sum;\n";
                Ok(Patch {
                    name: name.to_owned(),
                    text: text.to_owned(),
                })
            },
            cancelled: &|| stop.get(),
            progress: &mut |text| stop.set(stop.get() || enough(text)),
            jobs: 1,
            keep: false,
            refresh_source: false,
        })
    }

    /// A yard in which the tree is the source package of MariaDB 10.11 rather than a tree of the user's.
    fn with_package() -> Yard {
        let mut yard = Yard::new();
        let servers = yard.folder.path().join("servers");
        let tiny = fs::read_to_string(servers.join("tiny.toml")).expect("written");
        let of_package = tiny.replace("source = \"none\"", "source = \"mariadb\"");
        fs::write(servers.join("mariadb-10.11.toml"), of_package).expect("written");
        yard.catalog = Catalog::load(&[servers]).expect("valid");
        yard
    }

    /// The tree as a source package of this version, as it would have been fetched: its folder.
    fn fetch(&self, version: &str) -> PathBuf {
        let folder = self.store().root().join("sources").join(version);
        fs::create_dir_all(folder.join("tree")).expect("made");
        for entry in fs::read_dir(self.tree()).expect("readable").flatten() {
            fs::copy(entry.path(), folder.join("tree").join(entry.file_name())).expect("copied");
        }
        let source = Source {
            name: format!("mariadb {version}"),
            digest: version.to_owned(),
            tree: folder.join("tree"),
            family: Family::Mariadb,
            version: version.parse().expect("a version"),
        };
        let manifest = serde_json::to_vec(&source).expect("plain data");
        fs::write(folder.join("source.json"), manifest).expect("written");
        folder
    }

    /// A build of that package, and the lines of progress.
    fn build_package(&self, settings: &[(&str, &str)]) -> (Built, Vec<String>) {
        let told = RefCell::new(Vec::new());
        let listen = |line: &str| {
            told.borrow_mut().push(line.to_owned());
            false
        };
        let built = self.make(PACKAGE, package(settings), &listen);
        (built.expect("built"), told.into_inner())
    }

    fn store(&self) -> BuildStore {
        BuildStore::new(&self.cache)
    }
}

/// The server that the source package is built as.
const PACKAGE: &str = "mariadb-10.11";

/// The recipe of a build from it.
fn package(settings: &[(&str, &str)]) -> Recipe {
    let mut recipe = Recipe::default();
    for (key, value) in settings {
        recipe.set(key, value).expect("valid");
    }
    recipe
}

fn says_its_version(server: &Path) -> bool {
    let output = Command::new(server).output().expect("it runs");
    String::from_utf8_lossy(&output.stdout).contains("10.11.99-MariaDB")
}

#[test]
fn a_build_is_made_once() {
    let yard = Yard::new();
    let built = yard.build(&[]).expect("built");
    assert!(!built.was_there && says_its_version(&built.install.server));
    assert_eq!(built.install.version_string, "10.11.99-MariaDB");
    let began = Instant::now();
    let again = yard.build(&[]).expect("there");
    assert!(again.was_there && again.install.server == built.install.server);
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    // Another flag is another build; a changed source too.
    assert!(!yard.build(&[("flags", "-O3")]).expect("built").was_there);
    yard.write("work.c", &format!("{}/* changed */\n", TREE[3].1));
    assert!(!yard.build(&[]).expect("built").was_there);
    let list = yard.store().list().expect("readable");
    assert_eq!(list.len(), 3);
    assert!(
        list.iter().all(|build| build.finished
            && build.bytes() > 0
            && !build.folder.join("ninja").exists())
    );
    let collected = yard.store().gc(Duration::ZERO).expect("removed");
    assert_eq!(
        (collected.builds, collected.in_use),
        (2, 1),
        "what is used stays"
    );
    let error = yard
        .store()
        .remove(&built.build.record.key)
        .expect_err("used");
    assert!(error.to_string().contains("made or used"), "{error}");
    drop((built, again));
    let collected = yard.store().gc(Duration::ZERO).expect("removed");
    assert_eq!((collected.builds, collected.in_use), (1, 0));
    assert!(yard.store().list().expect("readable").is_empty());
}

/// A kill between the last step and the tidying leaves gigabytes in a build that is used every day.
#[test]
fn what_a_finished_build_was_compiled_in_goes_unless_it_was_asked_for() {
    let yard = Yard::new();
    let month = Duration::from_secs(30 * 24 * 3600);
    let left = yard.build(&[]).expect("built").build.folder.join("ninja");
    fs::create_dir(&left).expect("made");
    fs::write(left.join("objects"), vec![1; 1 << 20]).expect("written");
    let keeping = |builder: &mut Builder<'_>| {
        builder.keep = true;
        builder.ensure("tiny", &yard.recipe(&[("flags", "-O3")]))
    };
    let kept = yard.with_builder(&|_| false, keeping).expect("built");
    let collected = yard.store().gc(month).expect("removed");
    assert_eq!(collected.builds, 0);
    assert!(collected.bytes >= 1 << 20, "{collected:?}");
    assert!(!left.exists() && kept.build.folder.join("ninja").is_dir());
    assert!(yard.build(&[]).expect("there").was_there);
}

#[test]
fn a_disk_without_room_for_a_build_is_told_before_it_begins() {
    let mut yard = Yard::new();
    let servers = yard.folder.path().join("servers");
    let file = servers.join("tiny.toml");
    let text = fs::read_to_string(&file).expect("readable");
    let huge = text.replace("[build]\n", "[build]\ndisk_mb = 1099511627776\n");
    assert_ne!(huge, text);
    fs::write(&file, huge).expect("written");
    yard.catalog = Catalog::load(&[servers]).expect("valid");
    let error = yard
        .build(&[])
        .expect_err("no such disk")
        .explain()
        .to_string();
    assert!(
        error.contains("takes 1099511627776 MB") && error.contains("NIAGARA_CACHE"),
        "{error}"
    );
    assert!(
        yard.store()
            .list()
            .expect("readable")
            .iter()
            .all(|it| !it.finished)
    );
}

#[test]
fn a_source_goes_when_no_build_of_it_is_left() {
    let yard = Yard::with_package();
    let month = Duration::from_secs(30 * 24 * 3600);
    let old = yard.fetch("10.11.98");
    let (first, _) = yard.build_package(&[]);
    let new = yard.fetch("10.11.99");
    let (second, _) = yard.build_package(&[]);
    assert_ne!(first.build.record.key, second.build.record.key);
    let (patched, _) = yard.build_package(&[("patches", "more")]);
    let trees = || fs::read_dir(yard.store().root().join("sources")).map_or(0, Iterator::count);
    assert_eq!(trees(), 3, "two versions, and one of them patched");
    let collect = || yard.store().gc(month).expect("removed").sources;
    assert_eq!(collect(), 0);
    let remove = |built: Built| {
        let key = built.build.record.key.clone();
        drop(built);
        yard.store().remove(&key).expect("nobody uses it");
    };
    remove(first);
    assert_eq!(collect(), 1);
    assert!(!old.exists() && new.exists());
    remove(patched);
    assert_eq!(collect(), 1, "the patched tree");
    assert!(new.exists());
    remove(second);
    // Whoever has looked for a build of it is about to begin.
    let look = |builder: &mut Builder<'_>| builder.look(PACKAGE, &package(&[]));
    let wanted = yard.with_builder(&|_| false, look).expect("could be built");
    assert_eq!(collect(), 0);
    assert!(new.exists());
    drop(wanted);
    assert_eq!(collect(), 1);
    assert!(!new.exists());
}

#[test]
fn a_build_is_here_until_its_source_is_another() {
    let yard = Yard::with_package();
    let recipe = package(&[]);
    let forecast = || {
        let store = yard.store();
        store.forecasts(&yard.catalog, PACKAGE, &[&recipe])[0]
    };
    yard.fetch("10.11.98");
    assert_eq!(forecast(), Forecast::Unknown);
    yard.build_package(&[]);
    assert_eq!(forecast(), Forecast::There);
    yard.fetch("10.11.99");
    let again = forecast();
    assert!(matches!(again, Forecast::Seconds(_)), "{again:?}");
}

#[test]
fn unreadable_builds_are_listed_and_removed() {
    let yard = Yard::new();
    let store = yard.store();
    let folder = store.folder("0123456789abcdef");
    fs::create_dir_all(&folder).expect("made");
    fs::create_dir_all(store.root().join("sources")).expect("made");
    fs::write(folder.join("asked.json"), "{").expect("written");
    fs::write(folder.join("big"), vec![1; 1 << 20]).expect("written");
    assert!(store.list().expect("readable").is_empty());
    let found = store.unreadable();
    assert_eq!(found.len(), 1);
    assert!(
        found[0].cause.contains("asked.json: EOF") && found[0].bytes() >= 1 << 20,
        "{found:?}"
    );
    let error = store.remove("").expect_err("would be any");
    let error = error.explain().to_string();
    assert!(error.contains("remedy"), "{error}");
    let month = Duration::from_secs(30 * 24 * 3600);
    let collected = store.gc(month).expect("removed");
    assert!(
        collected.builds == 1 && collected.bytes >= 1 << 20,
        "{collected:?}"
    );
    assert!(store.unreadable().is_empty() && !folder.exists());
}

#[test]
fn mistakes_are_told_before_anything_is_compiled() {
    let yard = Yard::new();
    let said = |server: &str, settings: &[(&str, &str)]| {
        let built = yard.build_beside(server, settings);
        built.expect_err("a mistake").explain().to_string()
    };
    let unknown = said("nosuch", &[]);
    assert!(
        unknown.contains("no server is called `nosuch`") && unknown.contains("known: "),
        "{unknown}"
    );
    let replaced = said("tiny", &[("cmake.CMAKE_CXX_FLAGS", "-O3")]);
    assert!(
        replaced.contains("CMAKE_CXX_FLAGS") && replaced.contains("cxx_flags"),
        "{replaced}"
    );
    assert!(yard.store().list().expect("readable").is_empty());
}

#[test]
fn a_tree_that_leaves_another_binary_is_told_with_the_log() {
    let yard = Yard::new();
    let text = TREE[1].1.replace(
        "add_executable(mariadbd ",
        "add_custom_target(mariadbd DEPENDS mysqld)\nadd_executable(mysqld ",
    );
    let text = text.replace("directories(mariadbd ", "directories(mysqld ");
    yard.write("CMakeLists.txt", &text);
    let error = yard
        .build(&[])
        .expect_err("no mariadbd")
        .explain()
        .to_string();
    assert!(error.contains("the build left no "), "{error}");
    assert!(
        error.contains("\nlog: ") && error.contains("\nremedy: "),
        "{error}"
    );
}

/// With libraries of its own, one of which needs another that the server itself does not name, and with data of ICU.
fn with_libraries(yard: &Yard) {
    let text = TREE[1]
        .1
        .replace("main.c work.c made.c", "main.c work.c")
        .replace(
            "long made(long value) { return value > 1 ? value : 1; }",
            "long deep(long); long made(long value) { return deep(value > 1 ? value : 1); }",
        );
    let libraries = "
add_library(deep SHARED deep.c)
add_library(made SHARED made.c)
target_link_libraries(made PRIVATE deep)
target_link_libraries(mariadbd PRIVATE made)
set_target_properties(made deep PROPERTIES LIBRARY_OUTPUT_DIRECTORY libraries VERSION 7.1)
file(WRITE ${CMAKE_BINARY_DIR}/icudt77l.lnk ${CMAKE_SOURCE_DIR})
";
    fs::create_dir(yard.tree().join("icudt77l")).expect("made");
    yard.write("icudt77l/unames.icu", "names");
    yard.write("CMakeLists.txt", &format!("{text}{libraries}"));
    yard.write("deep.c", "long deep(long value) { return value; }\n");
}

/// Where the server looks for them.
const RPATH: (&str, &str) = ("cmake.CMAKE_BUILD_RPATH", "$ORIGIN/../lib");

/// The server runs without the folder it was built in.
fn has_its_libraries(built: &Built) {
    assert!(!built.build.folder.join("ninja").exists());
    assert!(says_its_version(&built.install.server));
    let lib = built.install.basedir.join("lib");
    for file in [
        "libmade.so.7.1",
        "libdeep.so.7.1",
        "private/icudt77l/unames.icu",
    ] {
        assert!(lib.join(file).is_file(), "{file}");
    }
    let libraries = ["libmade.so.7.1", "libdeep.so.7.1"].map(|name| lib.join(name));
    for binary in [&built.install.server].into_iter().chain(&libraries) {
        let path = search_path(binary).expect("readable");
        let folders = path.map(|path| path.folders).unwrap_or_default();
        let beside = |folder: &str| folder.is_empty() || folder.starts_with("$ORIGIN");
        assert!(
            folders.split(':').all(beside),
            "{}: {folders}",
            binary.display()
        );
    }
}

#[test]
fn libraries_that_a_build_makes_go_with_its_server_and_so_does_their_data() {
    let yard = Yard::new();
    with_libraries(&yard);
    let error = yard
        .build(&[])
        .expect_err("would run here only")
        .explain()
        .to_string();
    for part in ["libmade.so.7.1", "libdeep.so.7.1", "CMAKE_BUILD_RPATH"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    has_its_libraries(&yard.build(&[RPATH]).expect("built"));
    // By gcc's counts it is linked at another path.
    let feedback = [RPATH, ("pgo", "oltp_insert")];
    has_its_libraries(&yard.build(&feedback).expect("built"));
}

/// MySQL has such a library (abseil's string_view): bfd takes the counters' symbols that one of the libraries it needs has of another for
/// the ones it lacks.
#[test]
#[ignore = "needs clang-19 and lld, which `make test-builds` installs"]
fn libraries_without_a_function_are_linked_with_counters_and_by_lto() {
    let yard = Yard::new();
    with_libraries(&yard);
    let text = fs::read_to_string(yard.tree().join("CMakeLists.txt")).expect("written");
    let empty = "add_library(empty SHARED empty.c)\ntarget_link_libraries(empty PRIVATE made deep)\n\
                 target_link_libraries(mariadbd PRIVATE empty)\n";
    yard.write("CMakeLists.txt", &format!("{text}{empty}"));
    yard.write("empty.c", "const int nothing = 0;\n");
    let feedback = [
        RPATH,
        ("compiler", "clang-19"),
        ("lto", "thin"),
        ("pgo", "oltp_insert"),
    ];
    has_its_libraries(&yard.build(&feedback).expect("built"));
}

#[test]
fn a_patched_build_takes_what_the_patch_leaves_alone_from_ccache() {
    let yard = Yard::new();
    yard.build(&[]).expect("built");
    assert_eq!(ccache_hits(&yard), 0);
    // The patch is one of work.c; there are main.c and made.c beside it.
    yard.build(&[("patches", "more")]).expect("built");
    assert_eq!(ccache_hits(&yard), 2);
}

#[test]
fn a_patched_build_asks_compiler_and_libraries_nothing_that_another_has_asked() {
    let yard = Yard::new();
    let asking = "include(CheckFunctionExists)\ncheck_function_exists(getauxval HAVE_GETAUXVAL)\n\
                  check_function_exists(no_such_function HAVE_NO_SUCH)\n\
                  file(WRITE ${CMAKE_BINARY_DIR}/found.h \"${HAVE_GETAUXVAL},${HAVE_NO_SUCH}\")\n";
    yard.write("CMakeLists.txt", &format!("{}{asking}", TREE[1].1));
    let asked = |settings: &[(&str, &str)]| {
        let keeping = |builder: &mut Builder<'_>| {
            builder.keep = true;
            builder.ensure("tiny", &yard.recipe(settings))
        };
        let folder = yard.with_builder(&|_| false, keeping);
        let folder = folder.expect("built").build.folder;
        let found = fs::read_to_string(folder.join("ninja/found.h")).expect("configured");
        assert_eq!(found, "1,", "{settings:?}");
        let log = fs::read_to_string(folder.join("log")).expect("a log");
        log.matches("Looking for getauxval").count()
    };
    assert!(asked(&[]) > 0);
    assert_eq!(asked(&[("patches", "more")]), 0);
    // By other flags another compiler, as it were.
    assert!(asked(&[("flags", "-O3")]) > 0);
    // A tree that asks something else.
    yard.write(
        "CMakeLists.txt",
        &format!("{}{asking}# another\n", TREE[1].1),
    );
    assert!(asked(&[]) > 0);
}

/// Objects that were taken from ccache.
fn ccache_hits(yard: &Yard) -> u64 {
    let output = Command::new("ccache")
        .arg("--print-stats")
        .env("CCACHE_DIR", yard.store().ccache())
        .output()
        .expect("make test installs ccache");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = |name: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.map_or(0, |value| value.trim().parse().expect("a number"))
    };
    value("direct_cache_hit") + value("preprocessed_cache_hit")
}

#[test]
#[ignore = "needs clang-19, which `make test-builds` installs"]
fn a_patched_build_by_the_same_profile_takes_the_rest_from_ccache_too() {
    let yard = Yard::with_package();
    yard.fetch("10.11.98");
    // The profile that comes with the program.
    let feedback = [
        ("compiler", "clang-19"),
        ("pgo", "oltp_read_only:2/oltp_read_write"),
    ];
    let (built, _) = yard.build_package(&feedback);
    assert!(built.build.record.shipped.is_some());
    let before = ccache_hits(&yard);
    yard.build_package(&[&feedback[..], &[("patches", "more")]].concat());
    assert_eq!(ccache_hits(&yard) - before, 2);
}

#[test]
#[ignore = "needs clang-19 and lld, which `make test-builds` installs"]
fn a_link_by_thin_lto_keeps_what_it_makes_for_the_next() {
    let yard = Yard::new();
    let kept = || {
        fs::read_dir(yard.store().linked()).map_or(0, |files| {
            let names = files.flatten().map(|file| file.file_name());
            names
                .filter(|name| name.to_string_lossy().starts_with("llvmcache-"))
                .count()
        })
    };
    let thin = [("compiler", "clang-19"), ("lto", "thin")];
    yard.build(&thin).expect("built");
    let first = kept();
    // main.c, work.c, made.c, and what cmake tries.
    assert!(first >= 3, "{first}");
    yard.build(&[&thin[..], &[("patches", "more")]].concat())
        .expect("built");
    // work.c, and what it was inlined into; not all three.
    let more = kept() - first;
    assert!((1..3).contains(&more), "{more}");
}

#[test]
#[ignore = "needs clang-19, which `make test-builds` installs"]
fn a_profile_knows_static_functions_wherever_the_tree_is() {
    let yard = Yard::new();
    let with_static = "static __attribute__((noinline)) long step(long i) { return i % 3 == 0 ? i : 1; }\n\
                       long work(long rounds) { long sum = 0; for (long i = 1; i <= rounds; i++) sum += step(i); return sum; }\n";
    yard.write("work.c", with_static);
    let feedback = [("compiler", "clang-19"), ("pgo", "oltp_read_only")];
    yard.build(&feedback).expect("built");
    let list = yard.store().list().expect("readable");
    let mut profiles = list
        .iter()
        .filter(|build| build.record.kind == BuildKind::Profile);
    let counted = profiles
        .next()
        .expect("a profile")
        .folder
        .join("merged.profdata");
    assert!(functions_of(&counted).contains("\n  work.c;step:\n"));
    let shipped = functions_of(&shipped_profile(&yard));
    let is_static = |line: &&str| line.contains(';') && line.ends_with(':');
    assert!(shipped.lines().filter(is_static).count() > 1000);
    assert!(
        !shipped
            .lines()
            .filter(is_static)
            .any(|line| line.contains('/'))
    );
}

#[test]
fn a_built_server_knows_its_source() {
    let yard = Yard::new();
    let built = yard.build(&[]).expect("built");
    let store = yard.store();
    assert_eq!(store.source_of(&built.install.server), Some(yard.tree()));
    assert_eq!(store.source_of(Path::new("/bin/sh")), None);
}

#[test]
fn an_interrupted_build_continues() {
    let yard = Yard::new();
    fs::remove_file(yard.go()).expect("was there");
    // ninja says "1 of 5" when the first step is done; the second waits for a file that is not there.
    let stopped = yard
        .build_until(&[], &|text| text.contains(" 1 of"))
        .expect_err("stopped");
    assert!(stopped.is::<BuildStopped>(), "{stopped:#}");
    let list = yard.store().list().expect("readable");
    assert!(list.len() == 1 && !list[0].finished);
    assert!(list[0].folder.join("ninja/build.ninja").is_file());
    let waits = format!("test -e {}", yard.go().display());
    let waiting = Command::new("pgrep").args(["-f", &waits]).output();
    let waiting = waiting.expect("pgrep: scripts/setup test installs it");
    assert_eq!(waiting.status.code(), Some(1), "its commands went with it");
    fs::write(yard.go(), "").expect("written");
    let built = yard.build(&[]).expect("continues");
    assert!(!built.was_there && says_its_version(&built.install.server));
    let steps = fs::read_to_string(yard.folder.path().join("steps")).expect("the first step ran");
    assert_eq!(steps, "first\n", "what was built before is not built again");
}

#[test]
fn a_failure_names_the_first_error_and_the_log() {
    let yard = Yard::new();
    yard.write("work.c", "long work(long rounds) { return ronds; }\n");
    let error = yard
        .build(&[])
        .expect_err("does not compile")
        .explain()
        .to_string();
    assert!(
        error.contains("work.c:1:33: error: ") && error.contains("ronds"),
        "{error}"
    );
    let log = error
        .lines()
        .find_map(|line| line.strip_prefix("log: "))
        .expect("names the log");
    assert!(fs::read_to_string(log).expect("a log").contains("FAILED"));
    yard.write("work.c", TREE[3].1);
    yard.build(&[]).expect("compiles now");
    let error = yard
        .build(&[("cmake.CMAKE_TOOLCHAIN_FILE", "/no/such")])
        .expect_err("no file")
        .explain()
        .to_string();
    assert!(error.contains("cmake failed"), "{error}");
}

#[test]
fn a_profile_is_made_once_and_serves_builds_that_differ_in_lto() {
    let yard = Yard::new();
    let pgo = yard.build(&[("pgo", "oltp_read_only")]).expect("built");
    assert!(says_its_version(&pgo.install.server));
    let profile = pgo.build.record.profile.as_ref().expect("a profile");
    assert_eq!((profile.known, profile.executed), (3, 3));
    let both = yard
        .build(&[("pgo", "oltp_read_only"), ("lto", "full")])
        .expect("built");
    assert!(says_its_version(&both.install.server));
    let kinds: Vec<BuildKind> = yard
        .store()
        .list()
        .expect("readable")
        .iter()
        .map(|build| build.record.kind)
        .collect();
    let count = |wanted: BuildKind| kinds.iter().filter(|kind| **kind == wanted).count();
    assert_eq!(
        (
            count(BuildKind::Instrumented),
            count(BuildKind::Profile),
            count(BuildKind::Server)
        ),
        (1, 1, 2)
    );
}

/// One instrumented server is trained as often as something else is asked for, and serves builds when it is gone itself.
fn an_instrumented_server_serves_every_training(compiler: &str) {
    let yard = Yard::new();
    let of = |training: &str, more: &[(&str, &str)]| {
        let settings = [&[("compiler", compiler), ("pgo", training)], more].concat();
        let built = yard.build(&settings).expect("built");
        assert!(says_its_version(&built.install.server));
        let profile = built.build.record.profile.as_ref().expect("a profile");
        assert!(profile.executed > 0, "{profile}");
    };
    let kept = |wanted: BuildKind| {
        let list = yard.store().list().expect("readable");
        let keys = list.into_iter().map(|build| build.record);
        keys.filter(|record| record.kind == wanted)
            .map(|record| record.key)
            .collect::<Vec<_>>()
    };
    of("oltp_read_only", &[]);
    of("oltp_point_select", &[]);
    let instrumented = kept(BuildKind::Instrumented);
    assert_eq!((instrumented.len(), kept(BuildKind::Profile).len()), (1, 2));
    yard.store().remove(&instrumented[0]).expect("removed");
    of("oltp_read_only", &[("lto", "full")]);
    assert_eq!(
        (
            kept(BuildKind::Instrumented).len(),
            kept(BuildKind::Profile).len()
        ),
        (0, 2)
    );
    let left = yard.store().unreadable();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_instrumented_server_by_gcc_serves_every_training() {
    an_instrumented_server_serves_every_training("gcc");
}

#[test]
#[ignore = "needs clang, which `make test-builds` installs"]
fn an_instrumented_server_by_clang_serves_every_training() {
    an_instrumented_server_serves_every_training("clang");
}

/// A file to train on, outside of the tree.
fn file(yard: &Yard, name: &str, text: &str) -> String {
    let path = yard.folder.path().join(name);
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(&path, text).expect("written");
    path.display().to_string()
}

const SHOP: &str = include_str!("../../../docs/examples/shop.toml");

/// A build with feedback whose training is a file of the user's, from source to server.
fn is_known_by_content(compiler: &str) {
    let yard = Yard::new();
    let of = |path: &str, more: &[(&str, &str)]| {
        let settings = [&[("compiler", compiler), ("pgo", path)], more].concat();
        let built = yard.build(&settings).expect("built");
        assert!(says_its_version(&built.install.server));
        let profile = built.build.record.profile.as_ref().expect("a profile");
        assert!(profile.executed > 0, "{profile}");
        (built.was_there, built.build.record.key.clone())
    };
    let (was_there, shop) = of(&file(&yard, "shop.toml", SHOP), &[]);
    assert!(!was_there);
    // The same file elsewhere is the same training; another file at the same place is another.
    assert_eq!(
        of(&file(&yard, "b/other.toml", SHOP), &[]),
        (true, shop.clone())
    );
    let changed = format!("{SHOP}# changed\n");
    let (was_there, other) = of(&file(&yard, "shop.toml", &changed), &[]);
    assert!(!was_there && other != shop);
    let numbers = of(
        &file(&yard, "shop.toml", SHOP),
        &[("pgo.set.customers", "5")],
    );
    assert!(!numbers.0 && numbers.1 != shop);
    let list = of(&format!("{},report", file(&yard, "shop.toml", SHOP)), &[]);
    assert!(!list.0);
}

#[test]
fn a_build_trained_on_a_file_is_known_by_its_content() {
    is_known_by_content("gcc");
}

#[test]
#[ignore = "needs clang, which `make test-builds` installs"]
fn a_build_by_clang_trained_on_a_file_is_known_by_its_content() {
    is_known_by_content("clang");
}

#[test]
fn a_build_trained_on_a_script_is_known_by_what_it_requires() {
    niagara_script::install();
    let yard = Yard::new();
    let script = file(
        &yard,
        "own.lua",
        "local own = require(\"own\" .. \"_module\")\nfunction event() own() end\n",
    );
    file(&yard, "own_module.lua", "return function() end\n");
    let key = || {
        let built = yard.build(&[("pgo", &script)]).expect("built");
        (built.was_there, built.build.record.key.clone())
    };
    let first = key();
    assert!(!first.0);
    assert_eq!(key(), (true, first.1.clone()));
    file(&yard, "own_module.lua", "return function() return 1 end\n");
    let second = key();
    assert!(!second.0 && second.1 != first.1);
}

#[test]
fn the_part_of_a_capture_that_trains_is_part_of_what_a_build_is_known_by() {
    let yard = Yard::new();
    // The trainer of these tests asks nothing of it.
    let capture = file(&yard, "shop.capture", "known by its bytes");
    let key = |more: &[(&str, &str)]| {
        let settings = [&[("pgo", capture.as_str())], more].concat();
        let built = yard.build(&settings).expect("built");
        let line = built.build.record.recipe.one_line();
        (built.build.record.key.clone(), line)
    };
    let (half, line) = key(&[]);
    assert!(
        line.contains("the first 50 % of the transactions"),
        "{line}"
    );
    assert_eq!(key(&[("pgo.part", "first:50%")]).0, half);
    let (third, line) = key(&[("pgo.part", "sessions:30%")]);
    assert_ne!(third, half);
    assert!(line.contains("30 % of the sessions"), "{line}");
    assert_ne!(key(&[("pgo.tables_of", "tpcc")]).0, half);
}

#[test]
fn an_empty_profile_is_an_error() {
    let yard = Yard {
        runs: 0,
        ..Yard::new()
    };
    let error = yard
        .build(&[("pgo", "oltp_read_only")])
        .expect_err("nothing was run")
        .explain()
        .to_string();
    assert!(
        error.contains("is empty") && error.contains("remedy"),
        "{error}"
    );
}

#[test]
fn a_patch_makes_a_tree_of_its_own() {
    let yard = Yard::new();
    let plain = yard.build(&[]).expect("built");
    let patched = yard.build(&[("patches", "sum")]).expect("built");
    assert!(!patched.was_there && patched.build.record.key != plain.build.record.key);
    let work = fs::read_to_string(yard.tree().join("work.c")).expect("there");
    assert_eq!(work, TREE[3].1, "the tree itself stays as it is");
    yard.write("work.c", "long work(long rounds) { return rounds; }\n");
    let error = yard
        .build(&[("patches", "sum")])
        .expect_err("does not fit")
        .explain()
        .to_string();
    assert!(
        error.contains("the patch sum does not apply") && error.contains("work.c: Hunk #1 FAILED"),
        "{error}"
    );
}

#[test]
#[ignore = "needs clang, lld and BOLT, which `make test-builds` installs"]
fn every_way_to_build_makes_a_server_that_runs() {
    let yard = Yard::new();
    let pgo = ("pgo", "oltp_read_only");
    let bolt = ("bolt", "oltp_read_only");
    for settings in [
        &[("compiler", "clang")][..],
        &[("compiler", "clang"), ("lto", "thin")],
        &[("compiler", "clang"), ("lto", "full"), pgo],
        &[("compiler", "clang"), ("lto", "thin"), pgo, bolt],
        &[("linker", "lld")],
        &[("lto", "thin"), pgo, bolt],
        &[bolt],
        &[bolt, ("bolt_profile", "samples")],
        &[("static_libraries", "cxx")],
    ] {
        let built = yard.build(settings).expect("built");
        assert!(says_its_version(&built.install.server), "{settings:?}");
        let asked = &built.build.record.recipe;
        if asked.pgo.is_some() || asked.bolt.is_some() {
            let profile = built.build.record.profile.as_ref().expect("a profile");
            assert!(profile.executed > 0, "{settings:?}: {profile}");
        }
    }
}

#[test]
#[ignore = "needs BOLT, which `make test-builds` installs"]
fn libraries_that_a_build_makes_go_with_what_bolt_makes_of_it() {
    let yard = Yard::new();
    with_libraries(&yard);
    let bolt = [RPATH, ("bolt", "oltp_insert"), ("bolt_profile", "counters")];
    has_its_libraries(&yard.build(&bolt).expect("built"));
}

#[test]
#[ignore = "needs BOLT, which `make test-builds` installs"]
fn bolts_profile_is_used_again_for_its_own_binary_only() {
    let mut yard = Yard::new();
    let bolt = [("bolt", "oltp_read_only"), ("bolt_profile", "counters")];
    let folder = yard.build(&bolt).expect("built").build.folder;
    let half_finished = || fs::remove_file(folder.join("recipe.json")).expect("was there");
    // A training now leaves nothing.
    yard.runs = 0;
    half_finished();
    yard.build(&bolt).expect("by the profile that is there");
    half_finished();
    fs::write(folder.join("bolt.base"), "another binary").expect("written");
    let error = yard
        .build(&bolt)
        .expect_err("trained again")
        .explain()
        .to_string();
    assert!(error.contains("left no profile"), "{error}");
}

#[test]
#[ignore = "needs BOLT, which `make test-builds` installs"]
fn what_earlier_attempts_at_bolt_took_counts() {
    let mut yard = Yard::new();
    let bolt = [("bolt", "oltp_read_only"), ("bolt_profile", "counters")];
    yard.runs = 0;
    yard.build(&bolt)
        .expect_err("a training that leaves nothing");
    let list = yard.store().list().expect("readable");
    let attempt = list.iter().find(|build| !build.finished);
    let attempt = attempt.expect("a half-finished build");
    let mut asked = attempt.record.clone();
    let spent = asked.seconds["bolt"];
    assert!(spent > 0.0, "{spent}");
    asked.seconds.insert("bolt".to_owned(), 1000.0);
    let text = serde_json::to_vec(&asked).expect("plain data");
    fs::write(attempt.folder.join("asked.json"), text).expect("written");
    yard.runs = 3;
    let built = yard.build(&bolt).expect("built");
    let seconds = built.build.record.seconds["bolt"];
    assert!(seconds > 1000.0, "{seconds}");
}

/// The profile that comes with the program, unpacked.
fn shipped_profile(yard: &Yard) -> PathBuf {
    let packed = include_bytes!("../../../data/pgo-profiles/mariadb-10.11-clang-19.profdata.zst");
    let profile = yard.folder.path().join("shipped.profdata");
    fs::write(&profile, zstd::decode_all(&packed[..]).expect("packed")).expect("written");
    profile
}

/// The functions of clang's profile, as it lists them.
fn functions_of(profile: &Path) -> String {
    let told = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output();
        let output = output.expect("make test-builds installs clang");
        assert!(output.status.success(), "{program}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let profdata = told("clang-19", &["-print-prog-name=llvm-profdata"]);
    let profile = profile.display().to_string();
    told(profdata.trim(), &["show", "--all-functions", &profile])
}

/// Functions of the profile that comes with the program, enough of them to be more than fit, each of which is another here.
fn other_functions(yard: &Yard) -> String {
    let text = functions_of(&shipped_profile(yard));
    let names = text.lines().filter_map(|line| {
        let name = line.strip_prefix("  ")?.strip_suffix(':')?;
        let is_plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        (is_plain && name.starts_with("_Z")).then_some(name)
    });
    let body = "(long n) { for (long i = 0; i < n; i++) { if (n % 7 == i) n += 3; else if (n % 5 == i) n -= 2; } return n; }";
    // Some are there more than once, counted with other bodies.
    let names: BTreeSet<&str> = names.collect();
    let names = names.into_iter().take(2000);
    names.map(|name| format!("long {name}{body}\n")).collect()
}

#[test]
#[ignore = "needs clang-19, which `make test-builds` installs"]
fn a_shipped_profile_that_does_not_fit_is_tried_once_for_a_source() {
    let yard = Yard::with_package();
    let list = TREE[1].1.replace("main.c work.c", "main.c work.c others.c");
    yard.write("CMakeLists.txt", &list);
    yard.write("others.c", &other_functions(&yard));
    yard.fetch("10.11.98");
    let shipped = ("pgo", "oltp_read_only:2/oltp_read_write");
    let plain = [("compiler", "clang-19"), shipped];
    let tried = |told: &[String]| told.iter().any(|line| line.contains("no longer fits"));
    let (first, told) = yard.build_package(&plain);
    assert!(tried(&told), "{told:?}");
    assert!(says_its_version(&first.install.server));
    let record = &first.build.record;
    let profile = record.profile.as_ref().expect("a profile");
    assert!(record.shipped.is_none() && profile.executed > 0 && profile.known < 10_000);
    assert!(record.seconds["in vain"] > 0.0, "{:?}", record.seconds);
    // What was asked for stands in the record, and is found again.
    assert_eq!(record.recipe, package(&plain));
    assert!(yard.build_package(&plain).0.was_there);
    let forecasts = |settings: &[(&str, &str)]| {
        let store = yard.store();
        store.forecasts(&yard.catalog, PACKAGE, &[&package(settings)])[0]
    };
    assert_eq!(forecasts(&plain), Forecast::There);
    // Another build of the source does not try it again, and the forecast knows that.
    let other = [&plain[..], &[("flags", "-O3")]].concat();
    let training = f64::from(record.recipe.pgo.as_ref().expect("asked for").seconds);
    assert!(forecasts(&other).seconds() > Some(training));
    let (second, told) = yard.build_package(&other);
    assert!(!tried(&told), "{told:?}");
    assert!(second.build.record.shipped.is_none());
    // One that differs in how it is linked shares the profile that was counted here.
    let linked = [&plain[..], &[("link_flags", "-Wl,--as-needed")]].concat();
    assert!(forecasts(&linked).seconds() < Some(training));
    let (_, told) = yard.build_package(&linked);
    assert!(
        !told.iter().any(|line| line.contains("instrumented")),
        "{told:?}"
    );
}
