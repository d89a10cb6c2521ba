//! The compilers and tools of this machine: found, told apart by their versions, or named with the command that
//! installs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use niagara_error::{anyhow, bail};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::recipe::{BoltProfile, Compiler, CompilerFamily, Linker, Lto, Recipe, StaticLibrary};
use crate::sampling;
use niagara_server::machine::in_path;

/// jemalloc as position-independent objects.
pub(crate) const JEMALLOC: &str = "libjemalloc_pic.a";

/// The version of clang and its tools that remedies name: the newest that Debian 12 and 13 both have.
const CLANG_TO_INSTALL: u32 = 19;

/// What a recipe is carried out with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Toolchain {
    /// C compiler.
    pub cc: PathBuf,
    /// C++ compiler.
    pub cxx: PathBuf,
    /// `gcc (Debian 12.2.0-14+deb12u1) 12.2.0`: first line of `--version`.
    pub compiler: String,
    /// The archiver that understands the compiler's own object files.
    pub ar: PathBuf,
    /// Its index maker.
    pub ranlib: PathBuf,
    /// The linker, where one is asked for: its name for `-fuse-ld=`, the folder it is in, and its version line.
    pub linker: Option<LinkerFound>,
    /// `llvm-profdata`, for clang's profiles.
    pub profdata: Option<PathBuf>,
    /// `llvm-bolt` and its version line.
    pub bolt: Option<(PathBuf, String)>,
    /// How BOLT's profile is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bolt_profile: Option<BoltProfile>,
    /// The libraries that are linked in, each file with the digest of its content: `libssl.a 1f0e…`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub linked_in: Vec<String>,
    /// ccache, where installed.
    pub ccache: Option<PathBuf>,
}

/// A linker of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkerFound {
    /// As asked for.
    pub linker: Linker,
    /// The folder with `ld.NAME`.
    pub folder: PathBuf,
    /// First line of `--version`.
    pub version: String,
}

impl Toolchain {
    /// Finds what `recipe` takes.
    ///
    /// # Errors
    /// What is missing, with the command that installs it.
    pub fn find(recipe: &Recipe) -> Result<Toolchain> {
        for (tool, package) in [("cmake", "cmake"), ("ninja", "ninja-build")] {
            if in_path(tool).is_none() {
                bail!("building takes {tool}, which is not here"; remedy: "apt install {package}");
            }
        }
        let mut found = Toolchain::of_compiler(recipe.compiler)?;
        // What clang leaves to the linker (bitcode) only lld reads without plugins; and a library that has no function, and so no
        // counts, but needs two that have cannot be linked by bfd (MySQL's libabsl_string_view.so: "undefined reference to
        // `__start___llvm_prf_data'").
        let clangs_own = recipe.lto != Lto::None || recipe.pgo.is_some();
        let default = (!recipe.compiler.is_gcc() && clangs_own).then_some(Linker::Lld);
        if let Some(linker) = recipe.linker.or(default) {
            found.linker = Some(find_linker(linker, &found.cc)?);
        }
        for library in &recipe.static_libraries {
            found.linked_in.extend(linked_in(&found.cc, *library)?);
        }
        if recipe.bolt.is_some() {
            found.bolt = Some(bolt()?);
            found.bolt_profile = Some(sampling::way(recipe.bolt_profile)?);
        }
        if recipe.pgo.is_some() && !recipe.compiler.is_gcc() {
            let profdata = found.cc.with_file_name("llvm-profdata");
            if !profdata.is_file() {
                let version = llvm_version(&found.cc).unwrap_or(CLANG_TO_INSTALL);
                bail!(
                    "clang's profiles take {}, which is not here", profdata.display();
                    remedy: "apt install llvm-{version}"
                );
            }
            check_profile_runtime(&found.cc)?;
            found.profdata = Some(profdata);
        }
        Ok(found)
    }

    /// Finds a compiler, with what always goes with it.
    ///
    /// # Errors
    /// What is missing, with the command that installs it.
    pub(crate) fn of_compiler(compiler: Compiler) -> Result<Toolchain> {
        match compiler.family {
            CompilerFamily::Gcc => gcc(compiler),
            CompilerFamily::Clang => clang(compiler),
        }
    }
}

fn gcc(compiler: Compiler) -> Result<Toolchain> {
    let suffix = compiler.version.map_or(String::new(), |v| format!("-{v}"));
    let tools = ["gcc", "g++", "gcc-ar", "gcc-ranlib"]
        .map(|tool| itself_in_path(&format!("{tool}{suffix}")));
    let [Some(cc), Some(cxx), Some(ar), Some(ranlib)] = tools else {
        bail!(
            "{compiler} is not here";
            remedy: "apt install gcc{suffix} g++{suffix}, or another compiler"
        );
    };
    Ok(Toolchain {
        compiler: version_line(&cc)?,
        cc,
        cxx,
        ar,
        ranlib,
        linker: None,
        profdata: None,
        bolt: None,
        bolt_profile: None,
        linked_in: Vec::new(),
        ccache: in_path("ccache"),
    })
}

/// The program of this name in `PATH`. Where ccache is put before the compilers (`PATH=/usr/lib/ccache:…`), a compiler's name is ccache's first, which
/// would look at its own content to tell an upgraded compiler from the one before.
fn itself_in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .filter(|program| program.is_file())
        .find(|program| !is_ccache(program))
}

fn is_ccache(program: &Path) -> bool {
    let target = fs::canonicalize(program);
    target.is_ok_and(|target| target.file_name().is_some_and(|name| name == "ccache"))
}

fn clang(compiler: Compiler) -> Result<Toolchain> {
    let wanted = compiler.version;
    let Some(folder) = llvm_folder("clang", wanted) else {
        let version = wanted.unwrap_or(CLANG_TO_INSTALL);
        bail!(
            "{compiler} is not here";
            remedy: "apt install clang-{version} llvm-{version} lld-{version}"
        );
    };
    let cc = folder.join("clang");
    let version = wanted.or(llvm_version(&cc)).unwrap_or(CLANG_TO_INSTALL);
    let llvm = |tool: &str| {
        let path = folder.join(tool);
        match path.is_file() {
            true => Ok(path),
            false => Err(
                anyhow!("{compiler} has no {}", path.display(); remedy: "apt install llvm-{version}"),
            ),
        }
    };
    Ok(Toolchain {
        compiler: version_line(&cc)?,
        cxx: folder.join("clang++"),
        ar: llvm("llvm-ar")?,
        ranlib: llvm("llvm-ranlib")?,
        cc,
        linker: None,
        profdata: None,
        bolt: None,
        bolt_profile: None,
        linked_in: Vec::new(),
        ccache: in_path("ccache"),
    })
}

/// clang links its counters from a library that Debian ships on its own.
fn check_profile_runtime(cc: &Path) -> Result<()> {
    let output = Command::new(cc).arg("-print-resource-dir").output()?;
    let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).join("lib");
    let runtime = |entry: fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with("libclang_rt.profile")
    };
    // One folder per system, or per target.
    let there = fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| fs::read_dir(entry.path()).ok())
        .any(|entries| entries.flatten().any(runtime));
    if !there {
        let version = llvm_version(cc).unwrap_or(CLANG_TO_INSTALL);
        bail!(
            "clang's counters take libclang_rt.profile, which is not in {}", folder.display();
            remedy: "apt install libclang-rt-{version}-dev"
        );
    }
    Ok(())
}

/// The version of LLVM in whose folder (`/usr/lib/llvm-19/bin`) a program lies.
fn llvm_version(program: &Path) -> Option<u32> {
    let mut folders = program.ancestors();
    folders.find_map(|folder| {
        let name = folder.file_name()?.to_str()?;
        name.strip_prefix("llvm-")?.parse().ok()
    })
}

fn find_linker(linker: Linker, cc: &Path) -> Result<LinkerFound> {
    let name = format!("ld.{linker}");
    let beside = cc.with_file_name(&name);
    let llvm = || llvm_folder(&name, None).map(|folder| folder.join(&name));
    let path = beside
        .is_file()
        .then_some(beside)
        .or_else(|| in_path(&name))
        .or_else(llvm);
    let Some(path) = path else {
        let package = match linker {
            Linker::Bfd | Linker::Gold => "binutils".to_owned(),
            Linker::Lld => format!("lld-{}", llvm_version(cc).unwrap_or(CLANG_TO_INSTALL)),
            Linker::Mold => "mold".to_owned(),
        };
        bail!("the linker {linker} is not here"; remedy: "apt install {package}");
    };
    Ok(LinkerFound {
        linker,
        version: version_line(&path)?,
        folder: path.parent().unwrap_or(Path::new("/usr/bin")).to_path_buf(),
    })
}

/// The files of a library that can be linked in, with the package of Debian's that has them.
fn files_of(library: StaticLibrary) -> (&'static [&'static str], &'static str) {
    match library {
        StaticLibrary::Cxx => (&["libstdc++.a", "libgcc.a", "libgcc_eh.a"], "g++"),
        StaticLibrary::Ssl => (&["libssl.a", "libcrypto.a"], "libssl-dev"),
        StaticLibrary::Zlib => (&["libz.a"], "zlib1g-dev"),
        StaticLibrary::Jemalloc => (&[JEMALLOC], "libjemalloc-dev"),
    }
}

/// What is linked in of a library: what a newer package of it brings makes another build.
fn linked_in(cc: &Path, library: StaticLibrary) -> Result<Vec<String>> {
    let (names, package) = files_of(library);
    let digest = |name: &&str| {
        let output = Command::new(cc)
            .arg(format!("-print-file-name={name}"))
            .output()
            .with_context(|| format!("cannot run {}", cc.display()))?;
        let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        // What it does not find it prints as it is.
        if !path.contains('/') {
            bail!(
                "linking {library} in takes {name}, which is not here";
                remedy: "apt install {package}, or leave {library} out"
            );
        }
        let content = fs::read(&path).with_context(|| format!("cannot read {path}"))?;
        Ok(format!(
            "{name} {}",
            hex::encode(&Sha256::digest(&content)[..8])
        ))
    };
    names.iter().map(digest).collect()
}

/// llvm-bolt looks for its runtime beside the path it is called by, so it is called in its own folder.
fn bolt() -> Result<(PathBuf, String)> {
    let Some(folder) = llvm_folder("llvm-bolt", None) else {
        bail!("BOLT is not here"; remedy: "apt install bolt-{CLANG_TO_INSTALL}");
    };
    let path = folder.join("llvm-bolt");
    let output = Command::new(&path).arg("--version").output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.lines().find(|line| line.contains("version"));
    Ok((
        path,
        version.unwrap_or("of unknown version").trim().to_owned(),
    ))
}

/// The `bin` folder of the LLVM of this version (else of the newest) that has `tool`.
fn llvm_folder(tool: &str, version: Option<u32>) -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib")
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let number: u32 = name.strip_prefix("llvm-")?.parse().ok()?;
            Some((number, entry.path().join("bin")))
        })
        .filter(|(number, folder)| {
            version.is_none_or(|wanted| wanted == *number) && folder.join(tool).is_file()
        })
        .collect();
    found.sort();
    let newest = found.pop().map(|(_, folder)| folder);
    // Elsewhere than on Debian the tools are where everything is.
    newest.or_else(|| {
        let name = version.map_or(tool.to_owned(), |version| format!("{tool}-{version}"));
        in_path(&name).and_then(|path| path.parent().map(Path::to_path_buf))
    })
}

/// Which of these Debian packages are not installed; none where no dpkg tells.
pub(crate) fn missing_packages(needed: &[String]) -> Vec<String> {
    let Ok(output) = Command::new("dpkg-query")
        .args(["-W", "-f", "${db:Status-Status} ${binary:Package}\n"])
        .args(needed)
        .output()
    else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let installed: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("installed "))
        .map(|name| name.split(':').next().unwrap_or(name))
        .collect();
    needed
        .iter()
        .filter(|name| !installed.contains(&name.as_str()))
        .cloned()
        .collect()
}

fn version_line(program: &Path) -> Result<String> {
    let output = Command::new(program)
        .arg("--version")
        .env("LC_ALL", "C")
        .output();
    let output = match output {
        Ok(output) if output.status.success() => output,
        Ok(output) => bail!(
            "{} --version ended with {}",
            program.display(),
            output.status
        ),
        Err(error) => bail!("cannot run {}: {error}", program.display()),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or("unknown").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_command_that_installs_it() {
        let mut recipe = Recipe::default();
        recipe.set("compiler", "clang-3").expect("valid");
        let error = Toolchain::find(&recipe)
            .expect_err("not here")
            .explain()
            .to_string();
        assert!(
            error.contains("apt install clang-3 ") && !error.contains("scripts/setup"),
            "{error}"
        );
        if in_path("ld.mold").is_none() {
            let error = find_linker(Linker::Mold, Path::new("/usr/bin/gcc"))
                .expect_err("not here")
                .explain()
                .to_string();
            assert!(error.ends_with("remedy: apt install mold"), "{error}");
        }
        let missing = missing_packages(&["no-such-package-at-all".to_owned()]);
        assert!(missing.len() <= 1);
    }
}
