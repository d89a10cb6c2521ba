//! `niagara server build package`: what a build changes of its distribution's package, as files for a packager.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_build::{BuildStore, PROFILE_PLACE, PackageChanges, patch_text};
use niagara_error::{Remedy as _, bail};

/// What `debian/rules` includes.
const RULES: &str = "flags.mk";
/// What a spec file includes.
const SPEC: &str = "flags.inc";
/// The profile.
const PROFILE: &str = "server.profdata";
/// Source changes.
const PATCHES: &str = "patches";

/// Writes the files into a new folder.
pub fn write(store: &BuildStore, key: &str, to: &Path) -> Result<()> {
    let changes = PackageChanges::of(store, key)?;
    if to.exists() {
        bail!("{} is there already", to.display(); remedy: "name a new folder by --to");
    }
    fs::create_dir_all(to)
        .with_context(|| format!("cannot make {}", to.display()))
        .remedy("name a folder by --to that you may write")?;
    let put = |name: &str, text: &str| {
        let path = to.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    put("README.md", &readme(&changes))?;
    put(RULES, &rules(&changes))?;
    put(SPEC, &spec(&changes))?;
    if let Some(profile) = &changes.profile {
        fs::copy(profile, to.join(PROFILE))
            .with_context(|| format!("cannot copy {}", profile.display()))?;
    }
    if !changes.patches.is_empty() {
        fs::create_dir(to.join(PATCHES))?;
    }
    for name in &changes.patches {
        put(&format!("{PATCHES}/{name}.patch"), patch_text(name)?)?;
    }
    say!("{}: README.md says how a package takes them", to.display());
    Ok(())
}

/// Flags with the profile at `place`.
fn placed(flags: &[String], place: &str) -> String {
    flags.join(" ").replace(PROFILE_PLACE, place)
}

/// Options of cmake: the recipe's own, and the tools that no flag names.
fn cmake(changes: &PackageChanges) -> String {
    let tools = ["AR", "RANLIB"].into_iter();
    let tools =
        tools.filter_map(|name| Some((format!("CMAKE_{name}"), changes.programs.get(name)?)));
    let own = changes
        .cmake
        .iter()
        .map(|(name, value)| (name.clone(), value));
    let all: Vec<String> = tools
        .chain(own)
        .map(|(name, value)| format!("-D{name}={value}"))
        .collect();
    all.join(" ")
}

/// For `make`: what dpkg-buildflags and cmake take.
fn rules(changes: &PackageChanges) -> String {
    let place = format!("$(NIAGARA){PROFILE}");
    let mut text = format!(
        "# {}, {}\nNIAGARA := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))\n",
        changes.source, changes.recipe
    );
    for name in ["CC", "CXX"] {
        if let Some(program) = changes.programs.get(name) {
            text.push_str(&format!("export {name} := {program}\n"));
        }
    }
    for (name, flags) in [
        ("CFLAGS", &changes.c_flags),
        ("CXXFLAGS", &changes.cxx_flags),
        ("LDFLAGS", &changes.link_flags),
    ] {
        let flags = placed(flags, &place);
        text.push_str(&format!("export DEB_{name}_MAINT_APPEND += {flags}\n"));
    }
    text.push_str(&format!("NIAGARA_CMAKE := {}\n", cmake(changes)));
    text
}

/// For rpmbuild.
fn spec(changes: &PackageChanges) -> String {
    let place = format!("%{{_sourcedir}}/{PROFILE}");
    let mut tools = String::new();
    for (name, option) in [("CC", "CMAKE_C_COMPILER"), ("CXX", "CMAKE_CXX_COMPILER")] {
        if let Some(program) = changes.programs.get(name) {
            tools.push_str(&format!("-D{option}={program} "));
        }
    }
    format!(
        "# {}, {}\n\
         %global build_cflags %{{build_cflags}} {}\n\
         %global build_cxxflags %{{build_cxxflags}} {}\n\
         %global build_ldflags %{{build_ldflags}} {}\n\
         %global niagara_cmake {tools}{}\n",
        changes.source,
        changes.recipe,
        placed(&changes.c_flags, &place),
        placed(&changes.cxx_flags, &place),
        placed(&changes.link_flags, &place),
        cmake(changes)
    )
}

/// For the packager.
fn readme(changes: &PackageChanges) -> String {
    let names = changes.patches.iter();
    let names: Vec<String> = names.map(|name| format!("{name}.patch")).collect();
    let mut page = format!(
        "# A package built as Niagara built {}\n\n\
         Source: {}. Compiler: {}. Recipe: {}.\n\n\
         These files have what the build adds to the package's own flags. Niagara tried the server that they make, and not the \
         package.\n\n\
         |file|what|\n|---|---|\n\
         |{RULES}|compiler, flags and options for debian/rules|\n\
         |{SPEC}|the same as macros for a spec file|\n",
        changes.version, changes.source, changes.compiler, changes.recipe
    );
    if changes.profile.is_some() {
        page.push_str(&format!(
            "|{PROFILE}|what the training counted, for clang|\n"
        ));
    }
    if !changes.patches.is_empty() {
        page.push_str(&format!("|{PATCHES}/|changes of the source|\n"));
    }
    page.push_str(&format!(
        "\n## Debian, Ubuntu\n\n\
         1. Copy this folder into the source package, as debian/niagara.\n\
         2. In debian/rules, behind the lines that set variables: `include debian/niagara/{RULES}`. Add `$(NIAGARA_CMAKE)` to the \
         options of `dh_auto_configure`.\n"
    ));
    if !changes.patches.is_empty() {
        page.push_str(&format!(
            "3. `cp debian/niagara/{PATCHES}/*.patch debian/patches/`. At the end of debian/patches/series, in this order: {}.\n",
            names.join(", ")
        ));
    }
    page.push_str(&format!(
        "\n## RPM\n\n\
         1. Copy the files into SOURCES. In the spec file, above `%prep`: `%include %{{_sourcedir}}/{SPEC}`.\n\
         2. Add `%niagara_cmake` to the options of cmake.\n"
    ));
    if !changes.patches.is_empty() {
        page.push_str(&format!(
            "3. A `Patch` line for each file of {PATCHES} in the order {}, applied by `-p1`.\n",
            names.join(", ")
        ));
    }
    page.push_str("\n## To know\n\n");
    let mut know = |text: &str| page.push_str(&format!("- {text}\n"));
    if let Some(program) = changes.programs.get("CC") {
        know(&format!(
            "The build needs {program}, the compiler above. It stops at flags that only gcc knows: take those out of the package's."
        ));
    }
    if changes.profile.is_some() {
        know(
            "The profile is of this release. Functions that another one has changed are compiled without it, with a warning: train \
             anew for each release.",
        );
    }
    if changes.for_this_cpu {
        know(
            "A flag asks for this machine's kind of CPU. On an older one the server ends with an illegal instruction.",
        );
    }
    if !changes.linked_in.is_empty() {
        know(&format!(
            "Linked in, and updated with the package alone: {}.",
            changes.linked_in.join(", ")
        ));
    }
    if changes.laid_out {
        know(
            "BOLT laid the finished program out anew. That is a step behind the link, and not among these files.",
        );
    }
    know(
        "Ask the package's server before you ship it: `niagara server check /path/to/it`, then `niagara compare PACKAGED /path/to/it`.",
    );
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::process::Command;

    use super::*;

    fn changes() -> PackageChanges {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        PackageChanges {
            source: "mariadb 1:10.11.18-0+deb12u1".into(),
            version: "10.11.18-MariaDB".into(),
            recipe: "clang, thin LTO, PGO".into(),
            compiler: "clang version 19.1.4".into(),
            programs: BTreeMap::from([("CC", "clang-19".into()), ("AR", "llvm-ar-19".into())]),
            c_flags: words("-flto=thin -fprofile-use=NIAGARA_PROFILE"),
            cxx_flags: words("-flto=thin -fprofile-use=NIAGARA_PROFILE -fno-plt"),
            link_flags: words("-fuse-ld=lld"),
            cmake: BTreeMap::from([("WITH_WSREP".to_owned(), "OFF".to_owned())]),
            profile: Some("/somewhere".into()),
            patches: vec!["socket-reads-buffered".into()],
            linked_in: Vec::new(),
            for_this_cpu: false,
            laid_out: false,
        }
    }

    /// `make` itself reads it: flags come behind the package's, the profile is found from wherever the file is.
    #[test]
    fn rules_of_debian_take_the_flags() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join(RULES), rules(&changes())).expect("written");
        let own = format!(
            "DEB_CXXFLAGS_MAINT_APPEND = -Wall\ninclude {}\nall:\n\t@echo \"$$CC|$$DEB_CXXFLAGS_MAINT_APPEND|$(NIAGARA_CMAKE)\"\n",
            folder.path().join(RULES).display()
        );
        fs::write(folder.path().join("rules"), own).expect("written");
        let done = Command::new("make")
            .args(["-s", "-f"])
            .arg(folder.path().join("rules"))
            .output()
            .expect("make");
        let said = String::from_utf8_lossy(&done.stdout);
        let expected = format!(
            "clang-19|-Wall -flto=thin -fprofile-use={}/{PROFILE} -fno-plt|-DCMAKE_AR=llvm-ar-19 -DWITH_WSREP=OFF",
            folder.path().display()
        );
        assert_eq!(said.trim(), expected, "{done:?}");
    }

    #[test]
    fn a_spec_file_has_the_flags_behind_its_own() {
        let text = spec(&changes());
        assert!(text.contains(
            "%global build_cxxflags %{build_cxxflags} -flto=thin -fprofile-use=%{_sourcedir}/server.profdata -fno-plt\n"
        ));
        assert!(text.contains("%global niagara_cmake -DCMAKE_C_COMPILER=clang-19 -DCMAKE_AR=llvm-ar-19 -DWITH_WSREP=OFF\n"));
    }

    #[test]
    fn the_page_names_what_a_packager_has_to_know() {
        let page = readme(&PackageChanges {
            for_this_cpu: true,
            laid_out: true,
            linked_in: vec!["libssl.a 1f0e".into()],
            ..changes()
        });
        for words in [
            "illegal instruction",
            "BOLT",
            "libssl.a 1f0e",
            "debian/patches/series, in this order: socket-reads-buffered.patch",
            "train anew",
            "clang-19",
        ] {
            assert!(page.contains(words), "{words}: {page}");
        }
        let plain = readme(&PackageChanges {
            profile: None,
            patches: Vec::new(),
            programs: BTreeMap::new(),
            ..changes()
        });
        for words in ["illegal", "BOLT", "patches", "server.profdata", "only gcc"] {
            assert!(!plain.contains(words), "{words}: {plain}");
        }
    }
}
