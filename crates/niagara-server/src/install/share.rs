//! Where a server's messages, character sets and SQL files are: below what it was installed in, or in the tree that it was built in.

use std::fs;
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
        // A tree of MariaDB's, built and not installed.
        "sql/share",
    ]
    .iter()
    .map(|folder| basedir.join(folder))
    .find(|folder| folder.join("english/errmsg.sys").is_file())
}

/// The first of these SQL files that is there: in the share folder, among the scripts of a build tree, or among those of its source.
pub fn sql_file(basedir: &Path, names: &[impl AsRef<str>]) -> Option<PathBuf> {
    let scripts = |tree: PathBuf| tree.join("scripts");
    let folders = share_folder(basedir)
        .into_iter()
        .chain([scripts(basedir.to_owned())])
        .chain(source_of(basedir).map(scripts));
    let paths = folders.flat_map(|folder| {
        let names = names.iter();
        names.map(move |name| folder.join(name.as_ref()))
    });
    paths.into_iter().find(|path| path.is_file())
}

/// The folder with the definitions of character sets; none when the server's compiled-in ones must do.
pub(crate) fn charsets_folder(basedir: &Path) -> Option<PathBuf> {
    let of_source = source_of(basedir).map(|source| source.join("sql/share"));
    let folders = share_folder(basedir).into_iter().chain(of_source);
    folders
        .map(|folder| folder.join("charsets"))
        .find(|charsets| charsets.is_dir())
}

/// The source of a build tree, as cmake's cache names it.
fn source_of(tree: &Path) -> Option<PathBuf> {
    let cache = fs::read_to_string(tree.join("CMakeCache.txt")).ok()?;
    let mut lines = cache.lines();
    lines.find_map(|line| {
        line.strip_prefix("CMAKE_HOME_DIRECTORY:INTERNAL=")
            .map(PathBuf::from)
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path) {
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, "").expect("written");
    }

    #[test]
    fn a_tree_that_is_not_installed_has_its_files_in_two_places() {
        let folder = tempfile::tempdir().expect("a folder");
        let (tree, source) = (folder.path().join("build"), folder.path().join("source"));
        write(&tree.join("sql/share/english/errmsg.sys"));
        write(&tree.join("scripts/mysql_sys_schema.sql"));
        write(&source.join("scripts/mysql_system_tables.sql"));
        write(&source.join("sql/share/charsets/Index.xml"));
        let find =
            |name: &str| sql_file(&tree, &[format!("mariadb_{name}"), format!("mysql_{name}")]);
        assert_eq!(find("system_tables.sql"), None);
        assert_eq!(charsets_folder(&tree), None);
        let cache = format!(
            "//The source\nCMAKE_HOME_DIRECTORY:INTERNAL={}\n",
            source.display()
        );
        fs::write(tree.join("CMakeCache.txt"), cache).expect("written");
        assert_eq!(share_folder(&tree), Some(tree.join("sql/share")));
        assert_eq!(
            find("system_tables.sql"),
            Some(source.join("scripts/mysql_system_tables.sql"))
        );
        assert_eq!(
            find("sys_schema.sql"),
            Some(tree.join("scripts/mysql_sys_schema.sql"))
        );
        assert_eq!(
            charsets_folder(&tree),
            Some(source.join("sql/share/charsets"))
        );
    }
}
