//! Which server people mean by what they write: a name of the catalogue, a path, a tarball, a package that is installed, the folder
//! of an image. Whatever is no server that can be started is told for what it is, with what to give instead.

pub(crate) mod kind;
mod package;
mod tarball;

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_error::{Problem, bail, problem};

use self::kind::Archive;
use crate::cache::Cache;
use crate::install::binary_in;
use crate::obtain::catalog::is_shipped;

/// The server that `text` stands for: a name as it is, or the path of a binary or of its folder, absolute and behind all links, so
/// that it means the same from any folder. A tarball is unpacked into the cache, and its server's path comes back.
///
/// # Errors
/// It is a running server's address; a file that is no server; a tarball without one.
pub fn server_named(text: &str) -> Result<String> {
    let path = Path::new(text);
    if is_address(text) {
        bail!(running_server(text));
    }
    let is_path = text.contains('/') || !is_shipped(text) && is_server_here(path);
    if is_path {
        return Ok(server_at(path)?.display().to_string());
    }
    if !is_shipped(text)
        && let Some(binary) = package::server_of(text)
    {
        return Ok(server_at(&binary)?.display().to_string());
    }
    Ok(text.to_owned())
}

/// The path of a server as studies keep it.
fn server_at(path: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let Ok(direct) = path.canonicalize() else {
        // What is not there is told when it is asked for its version.
        return Ok(path);
    };
    let kind = direct.metadata()?.file_type();
    if kind.is_socket() {
        bail!(running_server(&path.display().to_string()));
    }
    match Archive::of(&direct) {
        Some(Archive::Tarball) => tarball::unpacked(&Cache::open()?, &direct),
        Some(package) => bail!(package.instead(&path)),
        None => Ok(direct),
    }
}

/// Whether a word that names no server of the catalogue is one of this folder: `mariadb-11.4.5-linux-systemd-x86_64`, or a tarball.
fn is_server_here(path: &Path) -> bool {
    match path.metadata() {
        Ok(found) if found.is_dir() => binary_in(path).is_ok(),
        Ok(found) => found.is_file() && (Archive::of(path).is_some() || kind::is_program(path)),
        Err(_) => false,
    }
}

/// Whether it is the address of a server that runs: `localhost:3306`, `app@db1`, `192.0.2.1`, `[::1]:3306`.
fn is_address(text: &str) -> bool {
    if text.contains('/') {
        return text.starts_with("mysql://") || text.starts_with("mariadb://");
    }
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    let has_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    has_port && !host.is_empty()
        || text.contains('@')
        || text.eq_ignore_ascii_case("localhost")
        || text.parse::<std::net::IpAddr>().is_ok()
}

/// What to do with a server that runs: Niagara starts servers of its own, and takes traffic and settings from that one.
pub fn running_server(address: &str) -> Problem {
    let is_socket = address.contains('/') && !address.contains("://");
    let bare = address.rsplit_once("://").map_or(address, |(_, rest)| rest);
    let bare = bare
        .split('/')
        .next()
        .filter(|_| !is_socket)
        .unwrap_or(bare);
    let (user, place) = bare.rsplit_once('@').unwrap_or(("", bare));
    let account = match user.split(':').next() {
        Some(name) if !name.is_empty() => format!(" --config-user {name}"),
        _ => String::new(),
    };
    let reached = match (is_socket, place.rsplit_once(':')) {
        (true, _) => format!("--socket {place}"),
        (false, Some((host, port))) if !port.contains(']') => {
            format!("--host {host} --port {port}")
        }
        _ => format!("--host {place}"),
    };
    let what = if is_socket {
        "the socket"
    } else {
        "the address"
    };
    problem!(
        "{place} is {what} of a server that runs; Niagara starts private servers of its own and leaves that one alone";
        remedy: "take its settings: `niagara tune SERVER --config-from {place}{account}`, and its traffic: `niagara capture start {reached}`; \
         SERVER is the same release by its name (niagara server list) or its binary's path"
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn addresses_are_told_from_names_and_paths() {
        for address in [
            "localhost:3306",
            "db1:3307",
            "app@db1",
            "localhost",
            "192.0.2.1",
            "[::1]:3306",
            "mysql://app@db1/shop",
        ] {
            assert!(is_address(address), "{address}");
        }
        for other in [
            "mariadb-10.11",
            "/usr/sbin/mysqld",
            "./a:1/mysqld",
            "mysql-server",
        ] {
            assert!(!is_address(other), "{other}");
        }
    }

    #[test]
    fn a_running_server_is_answered_with_two_commands() {
        let error = server_named("db1:3307")
            .expect_err("an address")
            .explain()
            .to_string();
        assert!(error.contains("--config-from db1:3307"), "{error}");
        assert!(
            error.contains("capture start --host db1 --port 3307"),
            "{error}"
        );
        let error = server_named("mysql://app:x@db1/shop")
            .expect_err("an address")
            .explain()
            .to_string();
        assert!(
            error.contains("--config-from db1 --config-user app") && !error.contains(":x"),
            "{error}"
        );
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("mysqld.sock");
        let _listening = UnixListener::bind(&socket).expect("a socket");
        let error = server_named(&socket.display().to_string())
            .expect_err("a socket")
            .explain()
            .to_string();
        assert!(
            error.contains(&format!("capture start --socket {}", socket.display())),
            "{error}"
        );
    }

    #[test]
    fn links_lead_to_the_binary_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a path");
        fs::create_dir(folder.join("bin")).expect("made");
        let server = folder.join("bin/mariadbd");
        fs::write(&server, "#!/bin/sh\n").expect("written");
        fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).expect("executable");
        let link = folder.join("db");
        symlink("bin/mariadbd", &link).expect("a link");
        let named = server_named(&link.display().to_string()).expect("a path");
        assert_eq!(named, server.display().to_string());
        let gone = server_named("/nowhere/mysqld").expect("told later");
        assert_eq!(gone, "/nowhere/mysqld");
    }

    #[test]
    fn packages_are_told_for_what_they_are() {
        let folder = tempfile::tempdir().expect("a folder");
        let deb = folder.path().join("mysql-server-core.deb");
        fs::write(&deb, "!<arch>\ndebian-binary   ").expect("written");
        let error = server_named(&deb.display().to_string())
            .expect_err("a package")
            .explain()
            .to_string();
        assert!(error.contains("dpkg-deb -x"), "{error}");
    }
}
