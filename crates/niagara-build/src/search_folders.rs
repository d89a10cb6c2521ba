//! Where a built server has its libraries looked for: not in the folders in which it was linked.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_server::search_path;

/// Where libraries of a build lie, from the binary on.
const BESIDE: &str = "$ORIGIN/../lib";

/// Takes out of a binary's search path what only held where it was linked: folders in the tree of its build, which is `known_as`
/// these paths, and relative and empty ones, which begin at the working directory: whoever may write there would have the server load what they like.
///
/// It is cut where such folders end it, as cmake's do; another one gives way to the folder beside the binary, with as many slashes
/// behind it as it was longer. So the string stays where it is.
///
/// # Errors
/// The binary cannot be read or written; a folder is too short for that.
pub(crate) fn leave_build(binary: &Path, known_as: &[PathBuf]) -> Result<()> {
    let cannot = |what: &str| {
        format!(
            "cannot {what} where {} looks for its libraries",
            binary.display()
        )
    };
    let Some(path) = search_path(binary).with_context(|| cannot("read"))? else {
        return Ok(());
    };
    let folders = without_build(&path.folders, known_as).with_context(|| cannot("change"))?;
    if folders == path.folders {
        return Ok(());
    }
    let file = OpenOptions::new().write(true).open(binary);
    file.and_then(|file| file.write_all_at(format!("{folders}\0").as_bytes(), path.offset))
        .with_context(|| cannot("change"))
}

/// The folders without those of the build, in no more letters.
fn without_build(folders: &str, known_as: &[PathBuf]) -> Result<String> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // Linked by the way of a link, or by another name of the same folder.
    let is_in_build = |folder: &Path| {
        let is_in =
            |build: &PathBuf| folder.starts_with(build) || real(folder).starts_with(real(build));
        known_as.iter().any(is_in)
    };
    let is_of_build = |folder: &str| {
        !is_beside(folder) && (Path::new(folder).is_relative() || is_in_build(Path::new(folder)))
    };
    let mut kept: Vec<&str> = folders.split(':').collect();
    while kept.last().is_some_and(|folder| is_of_build(folder)) {
        kept.pop();
    }
    let kept: Result<Vec<String>> = kept
        .into_iter()
        .map(|folder| match is_of_build(folder) {
            false => Ok(folder.to_owned()),
            true if folder.len() < BESIDE.len() => bail!(
                "`{folder}` is one of its folders: {folders}";
                remedy: "CMAKE_BUILD_RPATH = \"{BESIDE}\" alone in [build.cmake] of the server's file"
            ),
            true => Ok(format!("{BESIDE:/<width$}", width = folder.len())),
        })
        .collect();
    Ok(kept?.join(":"))
}

fn is_beside(folder: &str) -> bool {
    folder.starts_with("$ORIGIN") || folder.starts_with("${ORIGIN}")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn folders_that_a_server_was_linked_in_are_not_searched() {
        let known_as = ["/home/alice/ninja", "/home/alice/places/1/ninja"].map(PathBuf::from);
        let is = |folders: &str| without_build(folders, &known_as);
        for (before, after) in [
            ("$ORIGIN/../lib:/home/alice/ninja/lib:", "$ORIGIN/../lib"),
            ("$ORIGIN/../lib:$ORIGIN:", "$ORIGIN/../lib:$ORIGIN"),
            (
                "$ORIGIN/../lib:${ORIGIN}/lib",
                "$ORIGIN/../lib:${ORIGIN}/lib",
            ),
            ("/home/alice/ninja/lib:lib", ""),
            // By the path of a link that is gone.
            (
                "$ORIGIN/../lib:/home/alice/places/1/ninja/lib",
                "$ORIGIN/../lib",
            ),
            // A library of another place is where it was.
            ("/opt/openssl/lib:/home/alice/ninja/lib", "/opt/openssl/lib"),
            (
                "/home/alice/ninja/lib:/opt/openssl/lib",
                "$ORIGIN/../lib///////:/opt/openssl/lib",
            ),
        ] {
            assert_eq!(is(before).expect(before), after);
        }
        let error = is(":/opt/openssl/lib").expect_err("no room");
        assert!(error.explain().to_string().contains("remedy: "), "{error}");
    }

    #[test]
    fn a_binary_is_changed_in_its_place() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let library = folder.path().join("lib.so");
        let linked = format!("$ORIGIN/../lib:{}/ninja:", folder.path().display());
        let status = Command::new("cc")
            .args(["-shared", "-x", "c", "/dev/null", "-o"])
            .arg(&library)
            .arg(format!("-Wl,-rpath,{linked}"))
            .status();
        assert!(status.expect("cc is there").success());
        let folders = || {
            search_path(&library)
                .expect("readable")
                .expect("there")
                .folders
        };
        assert_eq!(folders(), linked);
        leave_build(&library, &[folder.path().to_owned()]).expect("changed");
        assert_eq!(folders(), "$ORIGIN/../lib");
    }
}
