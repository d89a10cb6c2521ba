//! What a build changes of its distribution's package, for whoever makes packages: flags, options of cmake, source changes and the
//! profile.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_error::{anyhow, bail};

use crate::flags::{Stage, added_compile_flags, choice_of, static_link_flags, static_options};
use crate::recipe::{Lto, Recipe};
use crate::store::{BuildKind, BuildRecord, BuildStore};
use crate::toolchain::Toolchain;

/// What flags call the profile, whose place only the packager knows.
pub const PROFILE_PLACE: &str = "NIAGARA_PROFILE";
/// How a build is told its profile.
const USE: &str = "-fprofile-use=";

/// The changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageChanges {
    /// What it is made from, with its version.
    pub source: String,
    /// The release, as the server prints it.
    pub version: String,
    /// The recipe in a line.
    pub recipe: String,
    /// First line of the compiler's `--version`.
    pub compiler: String,
    /// Paths of programs, by the names that `make` has for them: `CC`, `CXX`, `AR`, `RANLIB`.
    pub programs: BTreeMap<&'static str, String>,
    /// Flags for C, behind the package's; the profile's place is [`PROFILE_PLACE`].
    pub c_flags: Vec<String>,
    /// The same for C++.
    pub cxx_flags: Vec<String>,
    /// Flags for linking, behind the package's.
    pub link_flags: Vec<String>,
    /// Options of cmake, without `-D`.
    pub cmake: BTreeMap<String, String>,
    /// The profile's file here.
    pub profile: Option<PathBuf>,
    /// Names of source changes.
    pub patches: Vec<String>,
    /// Files that are linked in, with digests.
    pub linked_in: Vec<String>,
    /// Whether a flag asks for this machine's kind of CPU.
    pub for_this_cpu: bool,
    /// Whether BOLT lays the finished program out, which no flag does.
    pub laid_out: bool,
}

impl PackageChanges {
    /// Those of the finished build whose key begins like this.
    ///
    /// # Errors
    /// There is none, or several; a profile of gcc, which belongs to the objects of one folder.
    pub fn of(store: &BuildStore, key: &str) -> Result<Self> {
        let (key, _) = store.beginning_with(key)?;
        let build = store.find(&key);
        let build = build.filter(|build| build.record.kind == BuildKind::Server);
        let Some(build) = build else {
            bail!(
                "the build {key} is no finished server";
                remedy: "give the key of one, as `niagara server build list` shows it"
            );
        };
        Self::of_record(&build.record)
    }

    fn of_record(record: &BuildRecord) -> Result<Self> {
        let (recipe, tools) = (&record.recipe, &record.toolchain);
        if recipe.compiler.is_gcc() && recipe.pgo.is_some() {
            bail!(
                "gcc's profile belongs to the object files of one folder, so a package cannot be built by it";
                remedy: "build with --compiler clang, whose profile is one file"
            );
        }
        let profile = match &recipe.pgo {
            None => None,
            Some(_) => Some(profile_of(record)?),
        };
        let stage = match profile {
            None => Stage::Plain,
            Some(_) => Stage::Optimised(Some(Path::new(PROFILE_PLACE))),
        };
        let both = added_compile_flags(recipe, &stage);
        let with = |own: &[String]| [both.as_slice(), own].concat();
        // Where the linker is here says nothing of another machine.
        let linker = tools.linker.iter().map(choice_of);
        let link_flags = linker
            .chain(static_link_flags(recipe))
            .chain(recipe.link_flags.clone())
            .collect();
        let (c_flags, cxx_flags) = (with(&recipe.c_flags), with(&recipe.cxx_flags));
        let asks_for_this_cpu = |flag: &String| flag.ends_with("=native");
        Ok(Self {
            source: record.source.clone(),
            version: record.version.clone(),
            recipe: recipe.one_line(),
            compiler: tools.compiler.clone(),
            programs: programs(recipe, tools),
            link_flags,
            cmake: static_options(recipe)
                .map(|option| (option.to_owned(), "TRUE".to_owned()))
                .chain(recipe.cmake.clone())
                .collect(),
            profile,
            patches: recipe.patches.iter().cloned().collect(),
            linked_in: tools.linked_in.clone(),
            for_this_cpu: c_flags.iter().chain(&cxx_flags).any(asks_for_this_cpu),
            laid_out: recipe.bolt.is_some(),
            c_flags,
            cxx_flags,
        })
    }
}

/// The programs that differ from those of a package that gcc builds. With their folders: clang's is the only one whose programs read its
/// profile, and cmake takes a mere name of an archiver for a file of the build's folder.
fn programs(recipe: &Recipe, tools: &Toolchain) -> BTreeMap<&'static str, String> {
    let own_compiler = !recipe.compiler.is_gcc() || recipe.compiler.version.is_some();
    let own_objects = own_compiler || recipe.lto != Lto::None;
    let all = [
        ("CC", &tools.cc, own_compiler),
        ("CXX", &tools.cxx, own_compiler),
        ("AR", &tools.ar, own_objects),
        ("RANLIB", &tools.ranlib, own_objects),
    ];
    all.into_iter()
        .filter(|(_, _, differs)| *differs)
        .map(|(name, path, _)| (name, path.display().to_string()))
        .collect()
}

/// The file that the build was optimised by.
fn profile_of(record: &BuildRecord) -> Result<PathBuf> {
    let flags = record.cmake.get("CMAKE_CXX_FLAGS");
    let mut words = flags.iter().flat_map(|flags| flags.split_whitespace());
    let path = words.find_map(|word| word.strip_prefix(USE));
    let path = path.map(PathBuf::from).filter(|path| path.is_file());
    path.ok_or_else(|| {
        anyhow!(
            "the profile of the build {} is not here any more", record.key;
            remedy: "niagara server build remove {}, and build it again", record.key
        )
    })
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;
    use crate::recipe::Linker;
    use crate::toolchain::LinkerFound;

    fn record(settings: &[(&str, &str)], profile: Option<&Path>) -> BuildRecord {
        let mut recipe = Recipe::default();
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        let flags = profile.map(|path| format!("-O2 {USE}{}", path.display()));
        BuildRecord {
            key: "0123".into(),
            kind: BuildKind::Server,
            server: "mariadb-10.11".into(),
            source: "mariadb 1:10.11.18-0+deb12u1".into(),
            recipe,
            toolchain: Toolchain {
                cc: "/usr/lib/llvm-19/bin/clang".into(),
                cxx: "/usr/lib/llvm-19/bin/clang++".into(),
                compiler: "clang version 19.1.4".into(),
                ar: "/usr/lib/llvm-19/bin/llvm-ar".into(),
                ranlib: "/usr/lib/llvm-19/bin/llvm-ranlib".into(),
                linker: Some(LinkerFound {
                    linker: Linker::Lld,
                    folder: "/usr/lib/llvm-19/bin".into(),
                    version: "LLD 19".into(),
                }),
                profdata: None,
                bolt: None,
                bolt_profile: None,
                linked_in: Vec::new(),
                ccache: None,
            },
            cmake: flags
                .into_iter()
                .map(|flags| ("CMAKE_CXX_FLAGS".to_owned(), flags))
                .collect(),
            version: "10.11.18-MariaDB".into(),
            seconds: BTreeMap::new(),
            cpu_seconds: BTreeMap::new(),
            profile: None,
            shipped: None,
            instrumented: None,
            begun: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn flags_are_the_builds_without_those_of_the_package() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let settings = [
            ("compiler", "clang-19"),
            ("lto", "thin"),
            ("pgo", "oltp_read_only"),
            ("flags", "-march=native"),
            ("cxx_flags", "-fno-plt"),
        ];
        let found = PackageChanges::of_record(&record(&settings, Some(file.path()))).expect("made");
        assert_eq!(found.profile.as_deref(), Some(file.path()));
        assert!(found.for_this_cpu && !found.laid_out);
        let of_profile = format!("{USE}{PROFILE_PLACE}");
        for flags in [&found.c_flags, &found.cxx_flags] {
            for flag in ["-march=native", "-flto=thin", &of_profile] {
                assert!(flags.iter().any(|own| own == flag), "{flag}: {flags:?}");
            }
            assert!(!flags.iter().any(|flag| flag == "-O2"), "{flags:?}");
        }
        assert!(found.cxx_flags.ends_with(&["-fno-plt".to_owned()]));
        assert!(!found.c_flags.contains(&"-fno-plt".to_owned()));
        assert!(found.link_flags.contains(&"-fuse-ld=lld".to_owned()));
        assert!(!found.link_flags.iter().any(|flag| flag.starts_with("-B")));
        assert_eq!(found.programs["CXX"], "/usr/lib/llvm-19/bin/clang++");
    }

    #[test]
    fn archives_and_patches_are_the_builds() {
        let settings = [
            ("lto", "thin"),
            ("static_libraries", "ssl"),
            ("patches", "one,another"),
            ("cmake.WITH_WSREP", "OFF"),
        ];
        let found = PackageChanges::of_record(&record(&settings, None)).expect("made");
        let cmake = [("OPENSSL_USE_STATIC_LIBS", "TRUE"), ("WITH_WSREP", "OFF")];
        let cmake = cmake.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(found.cmake, BTreeMap::from(cmake));
        assert_eq!(found.patches, ["another", "one"]);
        // The package's compiler, whose own archiver reads what it compiled for the link.
        let programs: Vec<_> = found.programs.keys().copied().collect();
        assert_eq!(programs, ["AR", "RANLIB"]);
    }

    #[test]
    fn profiles_that_no_package_can_use_are_refused() {
        let of_gcc = [("compiler", "gcc"), ("pgo", "oltp_read_only")];
        let error = PackageChanges::of_record(&record(&of_gcc, None)).expect_err("gcc's");
        assert!(error.explain().to_string().contains("--compiler clang"));
        let gone = [("compiler", "clang"), ("pgo", "oltp_read_only")];
        let error = PackageChanges::of_record(&record(&gone, Some(Path::new("/not/here"))));
        let error = error.expect_err("no profile").explain().to_string();
        assert!(error.contains("not here any more"), "{error}");
    }
}
