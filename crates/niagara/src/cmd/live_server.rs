//! The server that is already running which a command is about: named, or the only one of this machine.

use std::path::{Path, PathBuf};

use anyhow::Result;
use niagara_error::bail;
use niagara_server::listening_servers;

use crate::cmd::bench::args::ConnectArgs;
use crate::cmd::bench::naming::Naming;
use crate::origin::at_address;

/// Where servers listen that packages have installed.
const USUAL_SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/var/run/mysqld/mysqld.sock",
    "/tmp/mysql.sock",
];

/// The server at `address`, or that of the options, or the only one of this machine; and which of these it is.
///
/// # Errors
/// None is named, and there is none, or there are several.
pub fn the_server(address: Option<&str>, connect: ConnectArgs) -> Result<(ConnectArgs, Naming)> {
    Ok(match (address, connect.is_foreign()) {
        (Some(address), _) => (at_address(address, connect)?, Naming::Address),
        (None, true) => (connect, Naming::Options),
        (None, false) => {
            let at = ConnectArgs {
                socket: Some(found(listening_servers())?),
                ..connect
            };
            (at, Naming::Found)
        }
    })
}

/// The socket of the only server of this machine.
fn found(running: Vec<(i32, PathBuf)>) -> Result<PathBuf> {
    match running.as_slice() {
        [(_, path)] => Ok(path.clone()),
        [] => {
            let mut usual = USUAL_SOCKETS.iter().map(Path::new);
            match usual.find(|path| path.exists()) {
                Some(path) => Ok(path.to_path_buf()),
                None => bail!(
                    "no server was found on this machine";
                    remedy: "name it: --socket PATH, or --host NAME"
                ),
            }
        }
        several => {
            let sockets: Vec<String> = several
                .iter()
                .map(|(pid, path)| format!("{} (process {pid})", path.display()))
                .collect();
            bail!(
                "several servers run on this machine: {}", sockets.join(", ");
                remedy: "name one: --socket {}", several[0].1.display()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn one_running_server_is_found_several_are_named() {
        let server = |pid: i32, path: &str| (pid, PathBuf::from(path));
        let one = found(vec![server(7, "/a.sock")]).expect("one");
        assert_eq!(one, PathBuf::from("/a.sock"));
        let several = found(vec![server(7, "/a.sock"), server(8, "/b.sock")]);
        let text = several.expect_err("two").explain().to_string();
        assert!(
            text.contains("/b.sock (process 8)") && text.contains("remedy"),
            "{text}"
        );
    }
}
