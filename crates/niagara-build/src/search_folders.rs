//! Where a built server has its libraries looked for: beside itself and nowhere else, wherever it was linked.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use niagara_server::search_path;

/// Ends a binary's search path behind the folders that are given by where it lies. cmake adds those that it was linked in, and an
/// empty one, which is the working directory: whoever may write there would have the server load what they like.
///
/// One byte is changed, for other strings may share the end of this one.
///
/// # Errors
/// The binary cannot be read or written; a folder beside it comes behind another one.
pub(crate) fn keep_beside(binary: &Path) -> Result<()> {
    let cannot = |what: &str| {
        format!(
            "cannot {what} where {} looks for its libraries",
            binary.display()
        )
    };
    let Some(path) = search_path(binary).with_context(|| cannot("read"))? else {
        return Ok(());
    };
    let folders: Vec<&str> = path.folders.split(':').collect();
    let kept = folders
        .iter()
        .take_while(|folder| is_beside(folder))
        .count();
    if kept == folders.len() {
        return Ok(());
    }
    if folders[kept..].iter().any(|folder| is_beside(folder)) {
        bail!(
            "{} looks for its libraries in {}, beside itself only after other places\n\
             remedy: CMAKE_BUILD_RPATH in [build.cmake] of the server's file is to begin with $ORIGIN",
            binary.display(),
            path.folders
        );
    }
    let length = folders[..kept].join(":").len() as u64;
    let file = OpenOptions::new().write(true).open(binary);
    file.and_then(|file| file.write_all_at(&[0], path.offset + length))
        .with_context(|| cannot("change"))
}

fn is_beside(folder: &str) -> bool {
    folder.starts_with("$ORIGIN") || folder.starts_with("${ORIGIN}")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The search path of a library that was linked with this one, once it has been through [`keep_beside`].
    fn kept(folders: &str) -> Result<Option<String>> {
        let folder = tempfile::tempdir()?;
        let library = folder.path().join("lib.so");
        let status = Command::new("cc")
            .args(["-shared", "-x", "c", "/dev/null", "-o"])
            .arg(&library)
            .arg(format!("-Wl,-rpath,{folders}"))
            .status()?;
        assert!(status.success());
        assert_eq!(
            search_path(&library)?.map(|path| path.folders),
            Some(folders.to_owned())
        );
        keep_beside(&library)?;
        Ok(search_path(&library)?.map(|path| path.folders))
    }

    #[test]
    fn folders_that_a_server_was_linked_in_are_not_searched() {
        let is = |folders: &str| kept(folders).expect("kept").expect("there");
        assert_eq!(
            is("$ORIGIN/../lib:/home/alice/ninja/lib:"),
            "$ORIGIN/../lib"
        );
        assert_eq!(
            is("$ORIGIN/../lib:${ORIGIN}/lib"),
            "$ORIGIN/../lib:${ORIGIN}/lib"
        );
        assert_eq!(is("/home/alice/ninja/lib"), "");
        let error = kept("/usr/local/lib:$ORIGIN/../lib").expect_err("refused");
        assert!(error.to_string().contains("remedy: "), "{error}");
    }
}
