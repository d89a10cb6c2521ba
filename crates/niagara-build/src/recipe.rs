//! How a server's binary is made: what a study file, a lever or a command line asks for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use niagara_load::{WorkloadSpec, content_of_file};
use niagara_toml::{Scalar, Text, TextOr};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::training::Training;

/// How a server is built. The default is what the distribution does: its compiler, `-O2`, its hardening.
///
/// What it is built *from* is the server that it stands beside (a variant's, or the one named to
/// `niagara server build`), by the source package of the server's own archive, unless `source` names a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Recipe {
    /// A source tree on this machine, in a file by its path from the file's folder; none is the server's source package.
    #[schemars(with = "Text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<PathBuf>,
    /// `gcc`, `clang`, or one of a version: `clang-19`.
    #[schemars(with = "Text")]
    #[serde(skip_serializing_if = "Compiler::is_default")]
    pub compiler: Compiler,
    /// Flags for C and C++, behind the distribution's own.
    #[schemars(with = "TextOr<Vec<Text>>")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Flags for C alone.
    #[schemars(with = "TextOr<Vec<Text>>")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub c_flags: Vec<String>,
    /// Flags for C++ alone.
    #[schemars(with = "TextOr<Vec<Text>>")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cxx_flags: Vec<String>,
    /// Flags for linking.
    #[schemars(with = "TextOr<Vec<Text>>")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub link_flags: Vec<String>,
    /// The linker; none is the compiler's own (lld where clang optimises while linking).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linker: Option<Linker>,
    /// Options for cmake, without the leading `-D`.
    #[schemars(with = "BTreeMap<String, Scalar>")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cmake: BTreeMap<String, String>,
    /// Optimisation over the whole program while linking.
    #[serde(skip_serializing_if = "Lto::is_none")]
    pub lto: Lto,
    /// Profile feedback, an instrumented build is trained, then built again: the workloads to train on, as in
    /// `oltp_read_only:2/oltp_read_write`.
    #[schemars(with = "TextOr<Training>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pgo: Option<Training>,
    /// The finished binary laid out again by its own profile: the workloads to train on.
    #[schemars(with = "TextOr<Training>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bolt: Option<Training>,
    /// How the profile for that is taken; none is by branch records where the machine has them, else by counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bolt_profile: Option<BoltProfile>,
    /// Source changes, by the names of `patches/`.
    #[schemars(with = "TextOr<Vec<Text>>")]
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub patches: BTreeSet<String>,
    /// Libraries linked into the binary rather than loaded at its start: cxx, ssl, zlib, jemalloc.
    #[schemars(with = "TextOr<Vec<Text>>")]
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub static_libraries: BTreeSet<StaticLibrary>,
}

/// Optimisation while linking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lto {
    /// Every file on its own.
    #[default]
    None,
    /// In parts: clang's ThinLTO, gcc's partitioned mode.
    Thin,
    /// The program as one piece.
    Full,
}

/// How BOLT's profile is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BoltProfile {
    /// By counters that BOLT puts into the binary: exact, on every machine, with a server that is slow meanwhile.
    Counters,
    /// By the processor's records of the branches taken last, which perf samples.
    Branches,
    /// By samples without branches: on every machine with perf, and the least exact.
    Samples,
}

/// A linker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Linker {
    /// GNU ld.
    Bfd,
    /// GNU gold.
    Gold,
    /// LLVM's.
    Lld,
    /// mold.
    Mold,
}

/// A library that can be linked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StaticLibrary {
    /// The compiler's C++ library and runtime.
    Cxx,
    /// OpenSSL.
    Ssl,
    /// zlib.
    Zlib,
    /// jemalloc, in place of the C library's malloc; then no other can be preloaded.
    Jemalloc,
}

/// A family of compilers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum CompilerFamily {
    /// GNU.
    #[default]
    Gcc,
    /// LLVM.
    Clang,
}

/// A compiler as asked for: a family, and a version where it matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Compiler {
    /// Whose.
    pub family: CompilerFamily,
    /// The major version; none is gcc's default, and clang's newest that is installed.
    pub version: Option<u32>,
}

/// What can be given by [`Recipe::set`], for messages.
pub(crate) const RECIPE_KEYS: &str = "compiler, flags, c_flags, cxx_flags, link_flags, linker, lto, pgo, pgo.threads, \
     pgo.seconds, pgo.tables, pgo.table_size, pgo.here, pgo.contexts, pgo.set.NAME, pgo.part, pgo.tables_of, pgo.data, pgo.schema, bolt, bolt.threads, …, \
     bolt_profile, patches, static_libraries, cmake.NAME, source";

impl Recipe {
    /// Changes one part as it is written after `build.` in a variant or in a lever: `lto` = `thin`,
    /// `pgo` = `oltp_read_only:2/oltp_read_write:1`, `flags` = `-O3 -march=native`, `cmake.WITH_WSREP` = `OFF`.
    /// Lists grow; everything else is replaced.
    ///
    /// # Errors
    /// An unknown key, or a value that its key does not take.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let words = || value.split_whitespace().map(str::to_owned);
        let names = || {
            value
                .split(['/', ',', '+', ' '])
                .map(str::trim)
                .filter(|n| !n.is_empty())
        };
        match key {
            "source" => self.source = Some(PathBuf::from(value)),
            "compiler" => self.compiler = value.parse()?,
            "flags" => self.flags.extend(words()),
            "c_flags" => self.c_flags.extend(words()),
            "cxx_flags" => self.cxx_flags.extend(words()),
            "link_flags" => self.link_flags.extend(words()),
            "linker" => self.linker = Some(value.parse()?),
            "lto" => self.lto = value.parse()?,
            "patches" => self.patches.extend(names().map(str::to_owned)),
            "static_libraries" => {
                for name in names() {
                    self.static_libraries.insert(name.parse()?);
                }
            }
            "pgo" => set_training(&mut self.pgo, None, value)?,
            "bolt" => set_training(&mut self.bolt, None, value)?,
            "bolt_profile" => self.bolt_profile = Some(value.parse()?),
            _ => match key.split_once('.') {
                Some(("cmake", name)) if !name.is_empty() => {
                    self.cmake.insert(name.to_owned(), value.to_owned());
                }
                Some(("pgo", part)) => set_training(&mut self.pgo, Some(part), value)?,
                Some(("bolt", part)) => set_training(&mut self.bolt, Some(part), value)?,
                _ => bail!("a build has no `{key}`; it has: {RECIPE_KEYS}"),
            },
        }
        Ok(())
    }

    /// The one form of all recipes that mean the same: of repeated flags the last stays, weights have no common factor,
    /// and without BOLT there is no way to take its profile.
    pub fn normal(&self) -> Recipe {
        let mut recipe = self.clone();
        for flags in [
            &mut recipe.flags,
            &mut recipe.c_flags,
            &mut recipe.cxx_flags,
            &mut recipe.link_flags,
        ] {
            last_of_each(flags);
        }
        for training in recipe.pgo.iter_mut().chain(recipe.bolt.iter_mut()) {
            *training = training.normal();
        }
        recipe.bolt_profile = recipe.bolt.as_ref().and(recipe.bolt_profile);
        recipe
    }

    /// The same, trained on this machine rather than by a profile that comes with the program.
    pub(crate) fn train_here(&mut self) {
        if let Some(training) = &mut self.pgo {
            training.here = true;
        }
    }

    /// The recipe of the server that counts for this one's profile, which the profile is known by: neither LTO nor the linker nor
    /// what is only linked in has a say in what is counted, but for two rounds, where inlining goes across files; nor has a flag that
    /// says how a profile is used. Everything else has.
    pub(crate) fn counted(&self) -> Recipe {
        let mut recipe = match self.has_two_rounds() {
            true => self.before_bolt(),
            false => Recipe {
                lto: Lto::None,
                ..self.objects()
            },
        };
        for flags in [
            &mut recipe.flags,
            &mut recipe.c_flags,
            &mut recipe.cxx_flags,
        ] {
            flags.retain(|flag| flag != PARTIAL_TRAINING);
        }
        recipe
    }

    /// The recipe of the same objects, linked by the default linker and with nothing linked in that changes none of them.
    pub(crate) fn objects(&self) -> Recipe {
        let mut recipe = self.before_bolt();
        recipe.linker = None;
        recipe.link_flags.clear();
        recipe.static_libraries.remove(&StaticLibrary::Cxx);
        recipe.static_libraries.remove(&StaticLibrary::Jemalloc);
        recipe
    }

    /// The recipe of an instrumented server, of a [counted](Recipe::counted) one: what it is trained on has no say in what it is.
    pub(crate) fn instrumented(&self) -> Recipe {
        Recipe {
            pgo: None,
            ..self.clone()
        }
    }

    /// The same with the first round of its profile feedback alone.
    pub(crate) fn first_round(&self) -> Recipe {
        let mut recipe = self.clone();
        if let Some(training) = &mut recipe.pgo {
            training.contexts = false;
        }
        recipe
    }

    /// Whether its profile is counted in two rounds.
    pub(crate) fn has_two_rounds(&self) -> bool {
        let training = self.pgo.as_ref();
        training.is_some_and(|training| training.contexts)
    }

    /// The same without BOLT: the recipe of the binary that BOLT begins with.
    pub(crate) fn before_bolt(&self) -> Recipe {
        Recipe {
            bolt: None,
            bolt_profile: None,
            ..self.clone()
        }
    }

    /// The same of a source that nobody changed.
    pub(crate) fn without_patches(&self) -> Recipe {
        Recipe {
            patches: BTreeSet::new(),
            ..self.clone()
        }
    }

    /// Whether a malloc can be preloaded: the program's own functions come before those of any library.
    pub(crate) fn takes_other_mallocs(&self) -> bool {
        !self.static_libraries.contains(&StaticLibrary::Jemalloc)
    }

    /// Whether the compiler is asked for code that only this machine's kind of CPU runs.
    pub(crate) fn is_native(&self) -> bool {
        let native = |flag: &String| {
            let flag = flag.as_str();
            matches!(flag, "-march=native" | "-mcpu=native" | "-mtune=native")
        };
        [&self.flags, &self.c_flags, &self.cxx_flags]
            .iter()
            .any(|flags| flags.iter().any(native))
    }

    /// The workloads that it was trained on, for PGO or BOLT: names, paths of files, and of a capture the part of it that trained.
    pub fn trained_on_in_words(&self) -> BTreeSet<String> {
        let words = |training: &Training, name: String| match name.ends_with(".capture") {
            true => format!("{name} ({})", training.trained_part().words()),
            false => name,
        };
        self.trainings()
            .flat_map(|training| {
                let shares = training.shares().into_iter();
                shares.map(|(name, _)| words(training, name))
            })
            .collect()
    }

    /// Whether it was trained on what `workload` is: one of the same name or content, and of a capture not on its other part.
    pub fn is_trained_on(&self, workload: &WorkloadSpec) -> bool {
        self.trainings().any(|training| {
            if let Some(kind) = workload.kind() {
                return training
                    .shares()
                    .iter()
                    .any(|(name, _)| name == kind.name());
            }
            let content = workload.content();
            let is_same = training.files().any(|name| {
                let known = training.content.get(name).cloned();
                known.or_else(|| content_of_file(Path::new(name)).ok()) == content
            });
            let other_part = workload.capture().is_some_and(|capture| {
                capture.part() == Some(training.trained_part().complement())
            });
            is_same && !other_part
        })
    }

    /// Its trainings: for feedback to the compiler, for BOLT.
    pub(crate) fn trainings(&self) -> impl Iterator<Item = &Training> {
        self.pgo.iter().chain(self.bolt.iter())
    }

    /// As it stands in a build's key: what it is trained on by its content.
    pub(crate) fn keyed(&self) -> Recipe {
        let mut recipe = self.clone();
        for training in recipe.pgo.iter_mut().chain(recipe.bolt.iter_mut()) {
            *training = training.keyed();
        }
        recipe
    }

    /// For people: `gcc -O3, LTO thin, PGO on oltp_read_only`.
    pub fn one_line(&self) -> String {
        let mut head = self.compiler.to_string();
        for flag in self
            .flags
            .iter()
            .chain(&self.c_flags)
            .chain(&self.cxx_flags)
            .chain(&self.link_flags)
        {
            head.push(' ');
            head.push_str(flag);
        }
        let mut parts = vec![head];
        parts.extend(self.linker.map(|linker| linker.to_string()));
        match self.lto {
            Lto::None => {}
            lto => parts.push(format!("LTO {lto}")),
        }
        parts.extend(self.pgo.iter().map(|t| format!("PGO on {}", t.words())));
        parts.extend(self.bolt.iter().map(|t| match self.bolt_profile {
            Some(way) => format!("BOLT on {} by {way}", t.words()),
            None => format!("BOLT on {}", t.words()),
        }));
        parts.extend(self.patches.iter().map(|name| format!("patch {name}")));
        parts.extend(
            self.static_libraries
                .iter()
                .map(|library| format!("static {library}")),
        );
        parts.extend(
            self.cmake
                .iter()
                .map(|(name, value)| format!("{name}={value}")),
        );
        parts.extend(
            self.source
                .iter()
                .map(|source| format!("from {}", source.display())),
        );
        parts.join(", ")
    }
}

fn set_training(training: &mut Option<Training>, part: Option<&str>, value: &str) -> Result<()> {
    match part {
        None if matches!(value, "off" | "none") => *training = None,
        None => training.get_or_insert_default().train_on(value)?,
        Some(part) => training.get_or_insert_default().set(part, value)?,
    }
    Ok(())
}

/// Flags whose operand is the next word.
const WITH_OPERAND: [&str; 17] = [
    "-mllvm",
    "-Xclang",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "--param",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-I",
    "-L",
    "-l",
    "-D",
    "-U",
    "-z",
];

/// What the training never ran is compiled as if there were no profile: said to the compiler that uses a profile, and nothing to the
/// one that builds the counting server (gcc's manual).
const PARTIAL_TRAINING: &str = "-fprofile-partial-training";

/// Flags that hand one word on to another program: a flag with an operand goes there as two of them, `-Xclang -mllvm -Xclang -x`.
const HANDED_ON: [&str; 4] = ["-Xclang", "-Xlinker", "-Xassembler", "-Xpreprocessor"];

/// Of flags that are repeated word for word, those with their operands, only the last has a say.
fn last_of_each(flags: &mut Vec<String>) {
    let mut words = std::mem::take(flags).into_iter();
    let mut all: Vec<Vec<String>> = Vec::new();
    while let Some(flag) = words.next() {
        let operand = match WITH_OPERAND.contains(&flag.as_str()) {
            true => words.next(),
            false => None,
        };
        // What is handed on word by word stays together: which words are operands there, the other program knows.
        let run = all.last_mut().filter(|run| run[0] == flag);
        match (run, operand) {
            (Some(run), Some(operand)) if HANDED_ON.contains(&flag.as_str()) => {
                run.extend([flag, operand]);
            }
            (_, operand) => all.push(std::iter::once(flag).chain(operand).collect()),
        }
    }
    let mut seen = BTreeSet::new();
    all.reverse();
    all.retain(|flag| seen.insert(flag.clone()));
    *flags = all.into_iter().rev().flatten().collect();
}

impl Compiler {
    fn is_default(&self) -> bool {
        *self == Compiler::default()
    }

    /// gcc's family.
    pub(crate) fn is_gcc(self) -> bool {
        self.family == CompilerFamily::Gcc
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.family {
            CompilerFamily::Gcc => "gcc",
            CompilerFamily::Clang => "clang",
        })?;
        self.version
            .map_or(Ok(()), |version| write!(f, "-{version}"))
    }
}

impl FromStr for Compiler {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Compiler> {
        let (family, version) = match text.split_once('-') {
            Some((family, version)) => (family, Some(version)),
            None => (text, None),
        };
        let version = version.map(str::parse::<u32>);
        let family = match family {
            "gcc" => CompilerFamily::Gcc,
            "clang" => CompilerFamily::Clang,
            _ => bail!(
                "`{text}` is not a compiler that Niagara builds with; write gcc, clang, or one of a version: clang-19"
            ),
        };
        match version.transpose() {
            Ok(version) => Ok(Compiler { family, version }),
            Err(_) => bail!("`{text}` has no version number behind the dash; write as in clang-19"),
        }
    }
}

impl From<Compiler> for String {
    fn from(compiler: Compiler) -> String {
        compiler.to_string()
    }
}

impl TryFrom<String> for Compiler {
    type Error = anyhow::Error;

    fn try_from(text: String) -> Result<Compiler> {
        text.parse()
    }
}

impl Lto {
    fn is_none(&self) -> bool {
        *self == Lto::None
    }
}

/// `Display` and `FromStr` of an enumeration by the words it is written with.
macro_rules! words {
    ($type:ty, $what:literal, $($variant:path => $word:literal),+) => {
        impl $type {
            /// How its values are written.
            pub const WORDS: &'static [&'static str] = &[$($word),+];
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $($variant => $word),+ })
            }
        }

        impl FromStr for $type {
            type Err = anyhow::Error;

            fn from_str(text: &str) -> Result<Self> {
                $(if text == $word { return Ok($variant); })+
                bail!("`{text}` is not a {}; there are: {}", $what, Self::WORDS.join(", "))
            }
        }
    };
}

words!(Lto, "kind of LTO", Lto::None => "none", Lto::Thin => "thin", Lto::Full => "full");
words!(Linker, "linker", Linker::Bfd => "bfd", Linker::Gold => "gold", Linker::Lld => "lld", Linker::Mold => "mold");
words!(BoltProfile, "way to take BOLT's profile", BoltProfile::Counters => "counters", BoltProfile::Branches => "branches", BoltProfile::Samples => "samples");
words!(StaticLibrary, "library that can be linked in", StaticLibrary::Cxx => "cxx", StaticLibrary::Ssl => "ssl", StaticLibrary::Zlib => "zlib", StaticLibrary::Jemalloc => "jemalloc");

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(settings: &[(&str, &str)]) -> Recipe {
        let mut recipe = Recipe::default();
        for (key, value) in settings {
            recipe.set(key, value).expect("valid");
        }
        recipe
    }

    #[test]
    fn flags_stay_with_their_operands() {
        let flags = "-mllvm -a -O2 -mllvm -b --param x=1 -O3 --param y=2 -O2 -mllvm -a";
        let written = recipe(&[("flags", flags)]).normal();
        assert_eq!(
            written.flags.join(" "),
            "-mllvm -b --param x=1 -O3 --param y=2 -O2 -mllvm -a"
        );
        let handed_on = "-Xclang -mllvm -Xclang -a -O2 -Xclang -mllvm -Xclang -b -O2";
        assert_eq!(
            recipe(&[("flags", handed_on)]).normal().flags.join(" "),
            "-Xclang -mllvm -Xclang -a -Xclang -mllvm -Xclang -b -O2"
        );
    }

    #[test]
    fn what_says_how_a_profile_is_used_is_not_counted_again() {
        let plain = [("lto", "thin"), ("flags", "-O3"), ("pgo", "report")];
        let sparing = recipe(&[
            plain[0],
            ("flags", "-O3 -fprofile-partial-training"),
            plain[2],
        ]);
        assert_eq!(sparing.counted(), recipe(&plain).counted());
        assert_ne!(sparing.keyed(), recipe(&plain).keyed());
        assert_eq!(sparing.counted().flags, ["-O3"]);
    }

    #[test]
    fn a_recipe_is_written_in_words_or_as_a_table() {
        let written = recipe(&[
            ("compiler", "clang-19"),
            ("lto", "thin"),
            ("flags", "-O3 -march=native"),
            ("pgo", "oltp_read_only:2/oltp_read_write:1"),
            ("pgo.threads", "32"),
            ("bolt", "report"),
            ("bolt_profile", "samples"),
            ("cmake.WITH_WSREP", "OFF"),
            ("patches", "b/a"),
            ("static_libraries", "ssl"),
        ]);
        let table: Recipe = toml::from_str(
            "compiler = \"clang-19\"\nlto = \"thin\"\nflags = [\"-O3\", \"-march=native\"]\n\
             pgo = { workloads = { oltp_read_only = 2, oltp_read_write = 1 }, threads = 32 }\n\
             bolt = { workloads = [\"report\"] }\nbolt_profile = \"samples\"\n\
             patches = [\"a\", \"b\"]\nstatic_libraries = [\"ssl\"]\n[cmake]\nWITH_WSREP = \"OFF\"\n",
        )
        .expect("valid");
        assert_eq!(written, table);
        assert!(written.is_native());
        let json = serde_json::to_string(&written).expect("plain data");
        assert_eq!(
            serde_json::from_str::<Recipe>(&json).expect("valid"),
            written
        );
        assert_eq!(
            written.one_line(),
            "clang-19 -O3 -march=native, LTO thin, PGO on oltp_read_only:2/oltp_read_write, \
             BOLT on report by samples, patch a, patch b, static ssl, WITH_WSREP=OFF"
        );
        let default = serde_json::to_string(&Recipe::default()).expect("plain data");
        assert_eq!(default, "{}");
    }

    #[test]
    fn recipes_that_mean_the_same_have_one_form() {
        let one = recipe(&[
            ("flags", "-O3 -O2 -O3"),
            ("pgo", "oltp_read_only:4/oltp_insert:2"),
        ]);
        let other = recipe(&[
            ("flags", "-O2"),
            ("flags", "-O3"),
            ("pgo", "oltp_insert/oltp_read_only:2"),
        ]);
        assert_ne!(one, other);
        assert_eq!(one.normal(), other.normal());
        assert_ne!(
            recipe(&[("flags", "-O3 -O2")]).normal(),
            recipe(&[("flags", "-O2 -O3")]).normal()
        );
        let without_bolt = recipe(&[("bolt_profile", "samples")]);
        assert_eq!(without_bolt.normal(), Recipe::default());
    }

    #[test]
    fn mistakes_name_what_there_is() {
        let mistake = |key: &str, value: &str| {
            Recipe::default()
                .set(key, value)
                .expect_err("a mistake")
                .to_string()
        };
        assert!(mistake("lto", "fat").contains("none, thin, full"));
        assert!(mistake("compiler", "icc").contains("gcc, clang"));
        assert!(mistake("compiler", "clang-x").contains("clang-19"));
        assert!(mistake("pgo.hours", "2").contains("seconds"));
        assert!(
            mistake("pgo.seconds", "0").contains("pgo.seconds")
                || mistake("pgo.seconds", "0").contains("seconds")
        );
        assert!(mistake("pgo", "oltp_read_only:x").contains("weight"));
        assert!(mistake("colour", "red").contains("it has: compiler"));
    }
}
