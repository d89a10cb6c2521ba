//! From a build folder to a prefix that a server runs from: the binary, libraries of its own and their data, its messages,
//! character sets and bootstrap SQL.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use niagara_server::PRIVATE_LIB;

use crate::bundled_libraries::take_along;

/// Copies what a server needs from the source `tree` and the `build` folder into `usr` (which is made).
pub(crate) fn assemble(tree: &Path, build: &Path, binary: &Path, usr: &Path) -> Result<()> {
    if usr.exists() {
        fs::remove_dir_all(usr)?;
    }
    let share = usr.join("share/mysql");
    fs::create_dir_all(usr.join("sbin"))?;
    fs::create_dir_all(usr.join("lib/mysql/plugin"))?;
    fs::create_dir_all(&share)?;
    let name = binary.file_name().unwrap_or(binary.as_os_str());
    let from = build.join(binary);
    let server = usr.join("sbin").join(name);
    fs::copy(&from, &server).with_context(|| format!("cannot copy {}", from.display()))?;
    take_along(build, &server, usr)?;
    // MariaDB has them in sql/share, MySQL in share; the compiled messages are in the build folder.
    for part in ["sql/share", "share"] {
        copy_messages(&build.join(part), &share)?;
        let charsets = tree.join(part).join("charsets");
        if charsets.is_dir() {
            copy_folder(&charsets, &share.join("charsets"))?;
        }
    }
    for scripts in [tree.join("scripts"), build.join("scripts")] {
        copy_sql(&scripts, &share)?;
    }
    copy_icu_data(build, &usr.join(PRIVATE_LIB))
}

/// The data of ICU, without which regular expressions fail, where a build has an ICU of its own: cmake leaves
/// `icudt77l.lnk`, which holds the path of the folder that `icudt77l` lies in.
fn copy_icu_data(build: &Path, private: &Path) -> Result<()> {
    for entry in fs::read_dir(build).into_iter().flatten().flatten() {
        let link = entry.path();
        let name = link.file_stem().unwrap_or_default().to_owned();
        let is_icu = name.to_string_lossy().starts_with("icudt");
        if is_icu && link.extension().is_some_and(|extension| extension == "lnk") {
            let from = fs::read_to_string(&link)
                .with_context(|| format!("cannot read {}", link.display()))?;
            copy_folder(&Path::new(from.trim()).join(&name), &private.join(&name))?;
        }
    }
    Ok(())
}

/// `LANGUAGE/errmsg.sys` of every language.
fn copy_messages(from: &Path, share: &Path) -> Result<()> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let messages = entry.path().join("errmsg.sys");
        if messages.is_file() {
            let language = share.join(entry.file_name());
            fs::create_dir_all(&language)?;
            fs::copy(&messages, language.join("errmsg.sys"))?;
        }
    }
    Ok(())
}

fn copy_sql(from: &Path, share: &Path) -> Result<()> {
    for entry in fs::read_dir(from).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "sql") && path.is_file() {
            fs::copy(&path, share.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// A folder and all in it, for everybody to read: unlike a clone of data it may be handed over.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
