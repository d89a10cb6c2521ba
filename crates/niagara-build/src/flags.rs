//! From a recipe to the words that cmake gets: pure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use niagara_error::bail;

use crate::recipe::{Linker, Lto, Recipe, StaticLibrary};
use crate::toolchain::{JEMALLOC, LinkerFound, Toolchain};
use niagara_server::BuildDescription;

/// The options that have a program run before the compiler.
pub(crate) const LAUNCHERS: [&str; 2] =
    ["CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"];

/// clang's profile knows a static function by its file's name alone, as wherever the tree is: with the whole path, a profile that
/// was counted in another folder (another user's, a patched tree's, the program's own) would know none of them. By `-Xclang`, for links
/// are given the flags too, and clang warns of `-mllvm` there: cmake's questions for flags may take that for a no.
const NAMES_WITHOUT_FOLDERS: [&str; 4] = [
    "-Xclang",
    "-mllvm",
    "-Xclang",
    "-static-func-full-module-prefix=false",
];

/// Which of the builds that a recipe takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage<'a> {
    /// As the recipe says, without feedback.
    Plain,
    /// Counts what it runs; without LTO, which its profile does not depend on.
    Instrumented,
    /// By this profile, and counts what it runs once more, after inlining: clang alone. With LTO, for inlining goes across
    /// files.
    Contexts(&'a Path),
    /// By the profile: for gcc the counts lie beside the objects, for clang in this file.
    Optimised(Option<&'a Path>),
}

impl Stage<'_> {
    /// Whether another build's objects can be this one's: gcc's profile and the place of its objects decide each other, and so do
    /// an instrumented object and where it counts to.
    fn has_known_objects(&self) -> bool {
        match self {
            Stage::Plain | Stage::Optimised(Some(_)) => true,
            Stage::Optimised(None) | Stage::Instrumented | Stage::Contexts(_) => false,
        }
    }
}

/// That no option of cmake takes the place of what Niagara gives cmake itself: the profile's flags would be gone, and the
/// build kept under a recipe that it was not made by. And that the compiler has what is asked of it.
///
/// # Errors
/// The first that does, with the recipe's own key for it.
pub(crate) fn check_options(recipe: &Recipe) -> Result<()> {
    if recipe.compiler.is_gcc() && recipe.has_two_rounds() {
        bail!(
            "gcc has no profile by contexts";
            remedy: "leave pgo.contexts out, or build with clang (compiler = \"clang\")"
        );
    }
    for option in recipe.cmake.keys() {
        if let Some(key) = own_key(option) {
            bail!(
                "the option {option} would replace what Niagara gives cmake: the package's flags, those of LTO and of \
                 the profile";
                remedy: "give it as {key}"
            );
        }
    }
    Ok(())
}

/// The key of the recipe that says what this option of cmake would.
fn own_key(option: &str) -> Option<&'static str> {
    // With a type it is the same option: `CMAKE_C_FLAGS:STRING`.
    let name = option.split(':').next().unwrap_or(option);
    let flags_of = |language: &str| {
        let rest = name.strip_prefix(&format!("CMAKE_{language}_FLAGS"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    match name {
        "CMAKE_C_COMPILER" | "CMAKE_CXX_COMPILER" => Some("compiler"),
        // MySQL's own ways to the same: with both, a build would be counted and optimised at once, or twice.
        "FPROFILE_GENERATE" | "FPROFILE_USE" | "FPROFILE_DIR" => Some("pgo"),
        "WITH_LTO" | "CMAKE_INTERPROCEDURAL_OPTIMIZATION" => Some("lto"),
        _ if flags_of("C") => Some("flags, or c_flags for C alone"),
        _ if flags_of("CXX") => Some("flags, or cxx_flags for C++ alone"),
        _ if name.starts_with("CMAKE_") && name.contains("_LINKER_FLAGS") => Some("link_flags"),
        _ => None,
    }
}

/// The options of cmake (`-D` left out) for this stage.
pub(crate) fn cmake_options(
    build: &BuildDescription,
    recipe: &Recipe,
    tools: &Toolchain,
    stage: &Stage,
) -> BTreeMap<String, String> {
    let mut options = build.cmake.clone();
    for plugin in &build.plugins_off {
        options.insert(format!("PLUGIN_{plugin}"), "NO".to_owned());
    }
    let mut set = |name: &str, value: String| {
        options.insert(name.to_owned(), value);
    };
    let compile = [build.flags.clone(), added_compile_flags(recipe, stage)].concat();
    set("CMAKE_C_FLAGS", joined(&[&compile, &recipe.c_flags]));
    set("CMAKE_CXX_FLAGS", joined(&[&compile, &recipe.cxx_flags]));
    // cmake's own would come last, and bring -O2 -g with them.
    for language in ["C", "CXX"] {
        set(
            &format!("CMAKE_{language}_FLAGS_RELWITHDEBINFO"),
            "-DNDEBUG".to_owned(),
        );
    }
    let linker: Vec<String> = tools.linker.iter().flat_map(linker_flags).collect();
    let link = joined(&[
        &build.link_flags,
        &[FOR_BOLT.to_owned()],
        &linker,
        &static_link_flags(recipe),
        &recipe.link_flags,
    ]);
    set("CMAKE_EXE_LINKER_FLAGS", link);
    // Libraries that the build makes for itself (MySQL: abseil, protobuf, ICU) are of the same objects.
    if let Some(found) = &tools.linker {
        for kind in ["SHARED", "MODULE"] {
            let linker = linker_flags(found).join(" ");
            set(&format!("CMAKE_{kind}_LINKER_FLAGS"), linker);
        }
    }
    set("CMAKE_C_COMPILER", tools.cc.display().to_string());
    set("CMAKE_CXX_COMPILER", tools.cxx.display().to_string());
    if recipe.lto != Lto::None || !recipe.compiler.is_gcc() {
        for (name, tool) in [("AR", &tools.ar), ("RANLIB", &tools.ranlib)] {
            set(&format!("CMAKE_{name}"), tool.display().to_string());
        }
    }
    if let Some(ccache) = tools.ccache.as_ref().filter(|_| stage.has_known_objects()) {
        for launcher in LAUNCHERS {
            set(launcher, ccache.display().to_string());
        }
    }
    for option in static_options(recipe) {
        set(option, "TRUE".to_owned());
    }
    options.extend(recipe.cmake.clone());
    options
}

/// Options of cmake that have it link archives rather than shared libraries, where it looks for them itself.
pub(crate) fn static_options(recipe: &Recipe) -> impl Iterator<Item = &'static str> {
    let options = [
        (StaticLibrary::Ssl, "OPENSSL_USE_STATIC_LIBS"),
        (StaticLibrary::Zlib, "ZLIB_USE_STATIC_LIBS"),
    ];
    options
        .into_iter()
        .filter(move |(library, _)| recipe.static_libraries.contains(library))
        .map(|(_, option)| option)
}

/// Has a link by ThinLTO keep in `folder` the machine code that it makes: it is most of the link, and the next one takes from there what is the
/// same. lld's, which clang's builds are linked by unless another linker was asked for. So too of the libraries that a build makes for itself: MySQL's protobuf alone links for three
/// quarters of a minute.
pub(crate) fn keep_links(
    options: &mut BTreeMap<String, String>,
    recipe: &Recipe,
    tools: &Toolchain,
    folder: &Path,
) {
    let lld = tools.linker.as_ref().map(|found| found.linker) == Some(Linker::Lld);
    // The linker tells code apart by everything that makes it but the counts of a second round (LLVM's `computeLTOCacheKey`), so it would
    // take what another build's link made without them.
    let is_told_apart = !recipe.has_two_rounds();
    if recipe.lto == Lto::Thin && !recipe.compiler.is_gcc() && lld && is_told_apart {
        for kind in ["EXE", "SHARED", "MODULE"] {
            let flags = options
                .entry(format!("CMAKE_{kind}_LINKER_FLAGS"))
                .or_default();
            flags.push_str(&format!(
                " -Wl,--thinlto-cache-dir={} -Wl,--thinlto-cache-policy=cache_size_bytes=2g",
                folder.display()
            ));
        }
    }
}

/// Flags for both languages behind the distribution's: the recipe's, then what the stage takes.
pub(crate) fn added_compile_flags(recipe: &Recipe, stage: &Stage) -> Vec<String> {
    let mut flags = recipe.flags.clone();
    let gcc = recipe.compiler.is_gcc();
    let mut add = |words: &[&str]| flags.extend(words.iter().map(|word| (*word).to_owned()));
    match (stage, recipe.lto, gcc) {
        (Stage::Instrumented, ..) | (_, Lto::None, _) => {}
        (_, Lto::Thin, true) => add(&["-flto=auto", "-fno-fat-lto-objects"]),
        (_, Lto::Full, true) => add(&["-flto=auto", "-fno-fat-lto-objects", "-flto-partition=one"]),
        (_, Lto::Thin, false) => add(&["-flto=thin"]),
        (_, Lto::Full, false) => add(&["-flto=full"]),
    }
    if !gcc && *stage != Stage::Plain {
        add(&NAMES_WITHOUT_FOLDERS);
    }
    match (stage, gcc) {
        (Stage::Plain, _) => {}
        (Stage::Contexts(first), _) => {
            flags.push(format!("-fprofile-use={}", first.display()));
            flags.extend(["-fcs-profile-generate", "-fprofile-update=atomic"].map(str::to_owned));
        }
        // Many threads count: without atomics counts are lost, and what is left contradicts itself.
        (Stage::Instrumented, true) => {
            add(&["-fprofile-generate", "-fprofile-update=prefer-atomic"])
        }
        (Stage::Instrumented, false) => add(&["-fprofile-generate", "-fprofile-update=atomic"]),
        // A function in flight while the counts are written leaves them slightly off: corrected. A function that is
        // not the one that was counted is an error.
        (Stage::Optimised(_), true) => add(&[
            "-fprofile-use",
            "-fprofile-correction",
            "-Wno-missing-profile",
            "-Werror=coverage-mismatch",
        ]),
        // What clang says of a function that is not the one that was counted is a warning of the same name as much that
        // is harmless, so its words are read instead (`compiler_profile::check_warnings`).
        (Stage::Optimised(profile), false) => {
            if let Some(profile) = profile {
                flags.push(format!("-fprofile-use={}", profile.display()));
            }
        }
    }
    flags
}

/// Keeps the relocations in the file (they are not loaded): BOLT can take any build as it is.
const FOR_BOLT: &str = "-Wl,--emit-relocs";

/// Flags of the link for what is linked in.
pub(crate) fn static_link_flags(recipe: &Recipe) -> Vec<String> {
    let mut flags = Vec::new();
    if recipe.static_libraries.contains(&StaticLibrary::Cxx) {
        flags.extend(["-static-libstdc++", "-static-libgcc"].map(str::to_owned));
    }
    if recipe.static_libraries.contains(&StaticLibrary::Jemalloc) {
        // The flags stand in front of the objects: the linker is told that malloc will be wanted.
        let library = format!("-l:{JEMALLOC}");
        flags.extend(["-Wl,-u,malloc", &library, "-lm"].map(str::to_owned));
    }
    flags
}

fn linker_flags(found: &LinkerFound) -> [String; 2] {
    [choice_of(found), format!("-B{}", found.folder.display())]
}

/// The flag that names the linker.
pub(crate) fn choice_of(found: &LinkerFound) -> String {
    format!("-fuse-ld={}", found.linker)
}

fn joined(parts: &[&[String]]) -> String {
    parts.concat().join(" ")
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;
    use niagara_server::Catalog;

    fn options(settings: &[(&str, &str)], stage: &Stage) -> BTreeMap<String, String> {
        let mut recipe = Recipe::default();
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        let catalog = Catalog::load(&[]).expect("valid files");
        let server = catalog.get("mariadb-10.11").expect("known");
        let build = server.build.as_ref().expect("can be built");
        cmake_options(build, &recipe, &tools(), stage)
    }

    fn tools() -> Toolchain {
        Toolchain {
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
            ccache: Some("/bin/ccache".into()),
        }
    }

    #[test]
    fn the_recipes_flags_have_the_last_word() {
        let plain = options(&[], &Stage::Plain);
        assert_eq!(
            plain["CMAKE_CXX_FLAGS"],
            "-O2 -fstack-protector-strong -D_FORTIFY_SOURCE=2"
        );
        assert_eq!(plain["CMAKE_CXX_FLAGS_RELWITHDEBINFO"], "-DNDEBUG");
        assert_eq!(plain["PLUGIN_ROCKSDB"], "NO");
        assert_eq!(plain["CMAKE_C_COMPILER_LAUNCHER"], "/bin/ccache");
        let own = options(
            &[
                ("flags", "-O3"),
                ("cxx_flags", "-fno-plt"),
                ("cmake.WITH_SSL", "bundled"),
            ],
            &Stage::Plain,
        );
        assert!(own["CMAKE_CXX_FLAGS"].ends_with("-O3 -fno-plt"));
        assert!(own["CMAKE_C_FLAGS"].ends_with("-O3"));
        assert_eq!(own["WITH_SSL"], "bundled");
    }

    #[test]
    fn options_that_would_replace_the_profiles_flags_are_refused() {
        let check = |option: &str| {
            let mut recipe = Recipe::default();
            recipe
                .set(&format!("cmake.{option}"), "-O3")
                .expect("valid");
            check_options(&recipe)
        };
        for (option, key) in [
            ("CMAKE_C_FLAGS", "c_flags"),
            ("CMAKE_CXX_FLAGS:STRING", "cxx_flags"),
            ("CMAKE_CXX_FLAGS_RELWITHDEBINFO", "cxx_flags"),
            ("CMAKE_EXE_LINKER_FLAGS", "link_flags"),
            ("CMAKE_SHARED_LINKER_FLAGS_RELEASE", "link_flags"),
            ("CMAKE_CXX_COMPILER", "compiler"),
            ("FPROFILE_USE", "pgo"),
            ("FPROFILE_GENERATE:BOOL", "pgo"),
            ("WITH_LTO", "lto"),
        ] {
            let error = check(option).expect_err(option).explain().to_string();
            assert!(error.contains(option) && error.contains(key), "{error}");
        }
        for option in [
            "WITH_WSREP",
            "CMAKE_C_COMPILER_LAUNCHER",
            "CMAKE_C_STANDARD",
        ] {
            check(option).expect("its own");
        }
    }

    /// What MySQL's own cmake would add for a profile is not asked for: the flags are the recipe's alone.
    #[test]
    fn every_server_is_given_the_same_flags_for_feedback() {
        let catalog = Catalog::load(&[]).expect("valid files");
        for server in ["mariadb-10.11", "mariadb-11.8", "mysql-9.7"] {
            let described = catalog.get(server).expect("known");
            let build = described.build.as_ref().expect("can be built");
            for (compiler, stage, flag) in [
                ("gcc", Stage::Instrumented, "-fprofile-generate"),
                ("gcc", Stage::Optimised(None), "-fprofile-use"),
                ("clang", Stage::Instrumented, "-fprofile-generate"),
            ] {
                let mut recipe = Recipe::default();
                for (key, value) in [("compiler", compiler), ("pgo", "mixed"), ("lto", "thin")] {
                    recipe.set(key, value).expect("valid");
                }
                let tools = tools();
                let options = cmake_options(build, &recipe, &tools, &stage);
                for language in ["C", "CXX"] {
                    let flags = &options[&format!("CMAKE_{language}_FLAGS")];
                    assert_eq!(flags.matches(flag).count(), 1, "{server}: {flags}");
                }
                assert!(!options.keys().any(|name| name.starts_with("FPROFILE")));
                assert_ne!(options.get("WITH_LTO").map(String::as_str), Some("ON"));
            }
        }
    }

    #[test]
    fn lto_comes_with_the_build_that_is_kept() {
        let settings = [("lto", "thin"), ("pgo", "oltp_read_only")];
        let instrumented = options(&settings, &Stage::Instrumented);
        assert!(!instrumented["CMAKE_C_FLAGS"].contains("lto"));
        assert!(instrumented["CMAKE_C_FLAGS"].contains("-fprofile-generate"));
        assert!(!instrumented.contains_key("CMAKE_C_COMPILER_LAUNCHER"));
        let optimised = options(&settings, &Stage::Optimised(None));
        assert!(optimised["CMAKE_C_FLAGS"].contains("-flto=auto"));
        assert!(optimised["CMAKE_C_FLAGS"].contains("-Werror=coverage-mismatch"));
        assert_eq!(optimised["CMAKE_AR"], "/bin/ar");
        let clang = options(
            &[
                ("compiler", "clang"),
                ("lto", "full"),
                ("pgo", "oltp_insert"),
            ],
            &Stage::Optimised(Some(Path::new("/p"))),
        );
        let flags = &clang["CMAKE_C_FLAGS"];
        assert!(
            flags.contains("-flto=full") && flags.ends_with("-fprofile-use=/p"),
            "{flags}"
        );
        assert!(flags.contains("-static-func-full-module-prefix=false"));
        assert_eq!(clang["CMAKE_CXX_COMPILER_LAUNCHER"], "/bin/ccache");
    }

    #[test]
    fn links_are_kept_where_the_linker_tells_their_code_apart() {
        let kept = |settings: &[(&str, &str)]| {
            let mut recipe = Recipe::default();
            for (key, value) in settings {
                recipe.set(key, value).expect("valid");
            }
            let tools = Toolchain {
                linker: Some(LinkerFound {
                    linker: recipe.linker.unwrap_or(Linker::Lld),
                    folder: "/bin".into(),
                    version: "LLD 1".into(),
                }),
                ..tools()
            };
            let mut options = BTreeMap::new();
            keep_links(&mut options, &recipe, &tools, Path::new("/links"));
            let kept: Vec<bool> = ["EXE", "SHARED", "MODULE"]
                .map(|kind| options.get(&format!("CMAKE_{kind}_LINKER_FLAGS")))
                .map(|flags| {
                    flags.is_some_and(|flags| flags.contains("--thinlto-cache-dir=/links"))
                })
                .to_vec();
            assert!(kept.iter().all(|one| *one == kept[0]), "{options:?}");
            kept[0]
        };
        let thin = [
            ("compiler", "clang"),
            ("lto", "thin"),
            ("pgo", "oltp_insert"),
        ];
        assert!(kept(&thin));
        // The counts of a second round stand in no key of the linker's.
        assert!(!kept(&[&thin[..], &[("pgo.contexts", "yes")]].concat()));
        assert!(!kept(&[&thin[..], &[("linker", "gold")]].concat()));
        assert!(!kept(&[("compiler", "clang"), ("lto", "full")]));
        assert!(!kept(&[("lto", "thin")]));
    }
}
