//! The server of a package that is installed on this host.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that list a package's files.
const LISTS: [(&str, &str); 2] = [("dpkg", "-L"), ("rpm", "-ql")];
/// What servers are called.
const SERVERS: [&str; 2] = ["mariadbd", "mysqld"];

/// The binary of the package of this name, or of a package `NAME-core` or `NAME-server` of it, as distributions split them; none where
/// no such package is installed.
pub(super) fn server_of(name: &str) -> Option<PathBuf> {
    let letters = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if name.is_empty() || name.starts_with('-') || !name.chars().all(letters) {
        return None;
    }
    let names = [name.to_owned(), core_of(name)];
    names.iter().find_map(|name| {
        let mut lists = LISTS.iter();
        lists.find_map(|(program, option)| {
            let output = Command::new(program)
                .args([*option, name.as_str()])
                .output()
                .ok()?;
            output.status.success().then_some(())?;
            server_in(&String::from_utf8_lossy(&output.stdout))
        })
    })
}

/// `mariadb-server-core-10.6` of `mariadb-server-10.6`, `mysql-server-core` of `mysql-server`.
fn core_of(name: &str) -> String {
    match name.split_once("-server") {
        Some((before, after)) => format!("{before}-server-core{after}"),
        None => format!("{name}-server"),
    }
}

/// The server among a package's files.
fn server_in(files: &str) -> Option<PathBuf> {
    let mut files = files.lines().map(Path::new);
    let is_server = |path: &&Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| SERVERS.contains(&name)) && path.is_file()
    };
    files.find(is_server).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_packages_have_the_server() {
        assert_eq!(core_of("mysql-server"), "mysql-server-core");
        assert_eq!(core_of("mariadb-server-10.6"), "mariadb-server-core-10.6");
        assert_eq!(core_of("percona-server"), "percona-server-core");
    }

    #[test]
    fn options_are_no_packages() {
        assert_eq!(server_of("--version"), None);
        assert_eq!(server_of("no such package"), None);
    }
}
