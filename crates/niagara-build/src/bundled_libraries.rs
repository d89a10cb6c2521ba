//! Shared libraries that a build makes for its server (MySQL: ICU, protobuf): they go with it. Where they are found is the
//! binary's own business: it is linked to look in `../lib` of its folder (`CMAKE_BUILD_RPATH` in `[build.cmake]`).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use niagara_error::bail;

use crate::place::configured_at;
use crate::search_folders::leave_build;
use niagara_server::linked_libraries;

/// Copies into `usr/lib` what the server there needs of the libraries in the `build` folder, and what those need; none of them is
/// then looked for in the build folder.
///
/// # Errors
/// The server would not find them there: it would run for as long as the build folder exists only.
pub(crate) fn take_along(build: &Path, server: &Path, usr: &Path) -> Result<()> {
    let mut made = BTreeMap::new();
    libraries(build, &mut made)?;
    // What was compiled by gcc's counts was linked by the path of what counted, a link that is gone by now.
    let known_as: Vec<PathBuf> = configured_at(build)
        .into_iter()
        .chain([build.to_owned()])
        .collect();
    let lib = usr.join("lib");
    let mut taken = Vec::new();
    let mut open = vec![server.to_owned()];
    while let Some(object) = open.pop() {
        leave_build(&object, &known_as)?;
        let needed = linked_libraries(&object)
            .with_context(|| format!("cannot read what {} needs", object.display()))?;
        for name in needed {
            if let Some(from) = made.remove(&name) {
                let to = lib.join(&name);
                fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
                open.push(to);
                taken.push(name);
            }
        }
    }
    if taken.is_empty() {
        return Ok(());
    }
    let lost = found_elsewhere(&loader_says(server)?, &taken, &lib);
    if !lost.is_empty() {
        bail!(
            "the server needs libraries of its own build and does not look for them beside itself: {}",
            lost.join(", ");
            remedy: "CMAKE_BUILD_RPATH = \"$ORIGIN/../lib\" in [build.cmake] of the server's file, as in \
             data/servers/mysql-9.7.toml"
        );
    }
    Ok(())
}

/// The shared libraries below `folder`, by name.
fn libraries(folder: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<()> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            libraries(&entry.path(), found)?;
        } else if name.ends_with(".so") || name.contains(".so.") {
            found.insert(name, entry.path());
        }
    }
    Ok(())
}

/// What the loader would load for `server`, a line each: `libz.so.1 => /lib/libz.so.1 (0x00007f…)`. Nothing of it runs.
fn loader_says(server: &Path) -> Result<String> {
    let output = Command::new(server)
        .env_clear()
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .output()
        .with_context(|| format!("cannot ask the loader about {}", server.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Those of `names` that the loader would not take from `lib`.
fn found_elsewhere<'a>(said: &str, names: &'a [String], lib: &Path) -> Vec<&'a str> {
    let lib = lib.canonicalize().unwrap_or_else(|_| lib.to_owned());
    let from_lib = |name: &str| {
        said.lines()
            .filter_map(|line| line.trim().split_once(" => "))
            .filter(|(found, _)| *found == name)
            .filter_map(|(_, place)| place.rsplit_once(" ("))
            .filter_map(|(path, _)| Path::new(path).canonicalize().ok())
            .any(|path| path.starts_with(&lib))
    };
    names
        .iter()
        .map(String::as_str)
        .filter(|name| !from_lib(name))
        .collect()
}
