//! Where a server's messages, character sets and SQL files are.

use std::path::{Path, PathBuf};

use super::Install;

/// Where MySQL's servers look for the data of an ICU of their own, below what they were installed in: `INSTALL_PRIV_LIBDIR`
/// of cmake's default layout.
pub const PRIVATE_LIB: &str = "lib/private";

/// The folder with `english/errmsg.sys`; none when the server's compiled-in one must do.
pub fn share_folder(basedir: &Path) -> Option<PathBuf> {
    [
        "share/mariadb",
        "share/mysql",
        "share/mysql-8.4",
        "share/mysql-8.0",
        "share",
    ]
    .iter()
    .map(|folder| basedir.join(folder))
    .find(|folder| folder.join("english/errmsg.sys").is_file())
}

/// The folder where a server looks for plugins, where it has one.
pub fn plugin_folder_of(install: &Install) -> Option<PathBuf> {
    plugin_folder(&install.basedir)
}

/// The folder with the server's plugins.
pub(crate) fn plugin_folder(basedir: &Path) -> Option<PathBuf> {
    let mut candidates = vec![
        "lib/mysql/plugin".to_owned(),
        "lib/mariadb/plugin".to_owned(),
        "lib/plugin".to_owned(),
    ];
    candidates.extend(["lib64/mysql/plugin", "lib64/mariadb/plugin"].map(str::to_owned));
    candidates.push(format!(
        "lib/{}-linux-gnu/mariadb19/plugin",
        std::env::consts::ARCH
    ));
    candidates
        .iter()
        .map(|folder| basedir.join(folder))
        .find(|folder| folder.is_dir())
}
