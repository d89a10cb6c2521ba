//! Profiles that come with the program: `data/pgo-profiles/NAME.toml` with `data/pgo-profiles/NAME.profdata.zst`. With one that fits, a build
//! with profile feedback takes one compilation instead of two and a training.

use std::path::PathBuf;

use anyhow::{Context, Result};
use include_dir::{Dir, include_dir};
use niagara_server::{create_private, write_private};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::compiler_profile::ProfileSummary;
use crate::recipe::{CompilerFamily, Recipe};
use crate::source::Source;
use crate::store;
use crate::training::Training;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data/pgo-profiles");

/// How many of the functions that a shipped profile counted may be others in the source at hand: releases of one series
/// change a few hundred of some thirty thousand, and each of those is compiled as if it had not been counted.
pub(crate) const MAX_STALE_SHARE: f64 = 0.05;

/// What `data/pgo-profiles/NAME.toml` says of a profile.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShippedProfile {
    /// The server of the catalogue that it was counted on.
    pub server: String,
    /// The compiler's name and major version: `clang-19`. Its counts mean nothing to another one.
    pub compiler: String,
    /// The source that was instrumented.
    pub source: String,
    /// What it was trained on.
    pub training: Training,
    /// What it speaks of.
    pub profile: ProfileSummary,
    /// The command that made it.
    pub made_by: String,
    /// Name of its files.
    #[serde(skip)]
    name: String,
}

impl ShippedProfile {
    /// The profile in the form that the compiler reads.
    ///
    /// # Errors
    /// The program was put together without it, or with a damaged one.
    pub(crate) fn content(&self) -> Result<Vec<u8>> {
        let path = format!("{}.profdata.zst", self.name);
        let packed = BUILT_IN
            .get_file(&path)
            .with_context(|| format!("data/pgo-profiles/{path} is missing"))?;
        zstd::decode_all(packed.contents()).with_context(|| format!("data/pgo-profiles/{path} is damaged"))
    }

    /// Stands for the content.
    pub(crate) fn digest(&self) -> String {
        use sha2::{Digest, Sha256};
        let packed = BUILT_IN.get_file(format!("{}.profdata.zst", self.name));
        hex::encode(&Sha256::digest(packed.map_or(&[][..], |file| file.contents()))[..8])
    }
}

impl ShippedProfile {
    /// Whether a build of `recipe` from `source` has found that it does not fit.
    pub(crate) fn is_stale_for(&self, source: &Source, recipe: &Recipe) -> bool {
        // What does not fit the code as it is by default fits it no better by flags of one's own.
        let plain = Recipe {
            cmake: recipe.cmake.clone(),
            ..Recipe::default()
        };
        [&plain, recipe]
            .into_iter()
            .any(|recipe| self.mark(source, recipe).is_ok_and(|mark| mark.exists()))
    }

    /// Keeps in mind, beside the source, that it does not fit what is compiled from it.
    ///
    /// # Errors
    /// The mark cannot be written.
    pub(crate) fn note_stale_for(&self, source: &Source, recipe: &Recipe) -> Result<()> {
        let mark = self.mark(source, recipe)?;
        let why = format!(
            "more functions than fit are others than those of {}\n",
            self.source
        );
        if let Some(folder) = mark.parent() {
            create_private(folder)?;
        }
        write_private(&mark, why.as_bytes())
    }

    /// The file that says so: what is compiled depends on the source, on the options of cmake, which take parts of it out, and on
    /// flags (`-DNAME`); what patches change of it is little.
    fn mark(&self, source: &Source, recipe: &Recipe) -> Result<PathBuf> {
        let flags = [&recipe.flags, &recipe.c_flags, &recipe.cxx_flags];
        let of = store::digest(&(self.digest(), &source.digest, &recipe.cmake, flags))?;
        Ok(source.tree.with_file_name("stale-profiles").join(of))
    }
}

/// All that come with the program.
///
/// # Errors
/// A file that cannot be read, with its place.
pub fn shipped_profiles() -> Result<Vec<ShippedProfile>> {
    let files = BUILT_IN.files().filter_map(|file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(".toml")?;
        Some((name.to_owned(), file.contents_utf8().unwrap_or_default()))
    });
    files
        .map(|(name, text)| {
            let file = format!("data/pgo-profiles/{name}.toml");
            let profile: ShippedProfile =
                niagara_toml::read(&file, text, "data/pgo-profiles/README.md shows the format", &[])?;
            Ok(ShippedProfile { name, ..profile })
        })
        .collect()
}

/// The profile that spares `recipe` of `server` its own training: counted for the same compiler on the same workloads.
/// `None` as well where the recipe wants to be trained on this machine. `compiler_version` is what the compiler at hand
/// says of itself, where that is known.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn fitting(
    server: &str,
    recipe: &Recipe,
    compiler_version: Option<&str>,
) -> Result<Option<ShippedProfile>> {
    let Some(training) = recipe.pgo.as_ref().filter(|training| !training.here) else {
        return Ok(None);
    };
    // Who says how long or on how many rows wants a training of their own.
    let plain = Training {
        workloads: training.workloads.clone(),
        content: training.content.clone(),
        ..Training::default()
    };
    if *training != plain {
        return Ok(None);
    }
    // gcc's counts lie beside objects, by the path of their folder.
    if recipe.compiler.family != CompilerFamily::Clang {
        return Ok(None);
    }
    let training = training.normal();
    let fits = |profile: &ShippedProfile| {
        let major = profile.compiler.rsplit('-').next().unwrap_or_default();
        let asked = recipe.compiler.version.map(|version| version.to_string());
        let found = compiler_version.and_then(major_version);
        profile.server == server
            && profile.training.normal().workloads == training.workloads
            && asked.is_none_or(|asked| asked == major)
            && found.is_none_or(|found| found == major)
    };
    Ok(shipped_profiles()?.into_iter().find(fits))
}

/// What a profile for this server and compiler that comes with the program was trained on, where `recipe` asks for another
/// training.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn of_another_training(server: &str, recipe: &Recipe) -> Result<Option<String>> {
    let Some(training) = recipe.pgo.as_ref().filter(|training| !training.here) else {
        return Ok(None);
    };
    if recipe.source.is_some() || recipe.compiler.family != CompilerFamily::Clang {
        return Ok(None);
    }
    let asked = training.normal().workloads;
    let of_server = shipped_profiles()?
        .into_iter()
        .find(|profile| profile.server == server);
    Ok(of_server
        .filter(|profile| profile.training.normal().workloads != asked)
        .map(|profile| profile.training.names()))
}

/// `19` of `Debian clang version 19.1.4 (1~deb12u1)`.
fn major_version(line: &str) -> Option<&str> {
    let (_, behind) = line.split_once("version ")?;
    behind.split('.').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_profile_is_whole() {
        for profile in shipped_profiles().expect("valid files") {
            let content = profile.content().expect("packed");
            // "\xfflprofi\x81": the indexed form of LLVM's profiles, little-endian.
            assert_eq!(
                content.get(..8),
                Some(&b"\xfflprofi\x81"[..]),
                "{}",
                profile.name
            );
            assert!(profile.profile.executed > 1000, "{}", profile.name);
            // Without it the command would take the very profile that it is to make.
            let made_by = &profile.made_by;
            assert!(
                made_by.starts_with("niagara server build ") && made_by.contains(" --train-here"),
                "{}: {made_by}",
                profile.name
            );
        }
    }

    #[test]
    fn a_profile_is_for_its_compiler_its_server_and_its_training() {
        for shipped in shipped_profiles().expect("valid files") {
            let recipe = |compiler: &str, here: &str| {
                let mut recipe = Recipe::default();
                for (key, value) in [
                    ("compiler", compiler),
                    ("pgo", &shipped.training.names()),
                    ("pgo.here", here),
                ] {
                    recipe.set(key, value).expect("valid");
                }
                recipe
            };
            let major = shipped.compiler.trim_start_matches("clang-");
            let version = format!("Debian clang version {major}.1.4 (1)");
            let fits = |server: &str, recipe: &Recipe, version: Option<&str>| {
                fitting(server, recipe, version)
                    .expect("valid files")
                    .is_some()
            };
            assert!(fits(&shipped.server, &recipe("clang", "no"), None));
            assert!(fits(
                &shipped.server,
                &recipe("clang", "no"),
                Some(&version)
            ));
            assert!(fits(
                &shipped.server,
                &recipe(&shipped.compiler, "no"),
                None
            ));
            assert!(!fits(&shipped.server, &recipe("clang", "yes"), None));
            assert!(!fits(&shipped.server, &recipe("clang-7", "no"), None));
            assert!(!fits(
                &shipped.server,
                &recipe("clang", "no"),
                Some("clang version 7.0")
            ));
            assert!(!fits(&shipped.server, &recipe("gcc", "no"), None));
            assert!(!fits("mysql-5.0", &recipe("clang", "no"), None));
        }
        assert_eq!(major_version("Debian clang version 19.1.4 (1)"), Some("19"));
        assert_eq!(major_version("gcc 12"), None);
    }
}
