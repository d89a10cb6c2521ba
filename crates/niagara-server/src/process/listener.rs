//! Which process of this machine is behind a server's address.

use std::collections::HashSet;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

/// Beginnings of the names of servers' processes.
const SERVERS: [&str; 3] = ["mariadbd", "mysqld", "ps-mysqld"];

/// The server that listens on a Unix socket, by the credentials the kernel hands to who connects (unix(7),
/// SO_PEERCRED).
///
/// # Errors
/// Nobody listens there, or the listener is no server that can be seen from here; the message says which.
pub fn server_behind_socket(path: &Path) -> Result<i32> {
    let stream = UnixStream::connect(path)
        .with_context(|| format!("cannot connect to {}", path.display()))?;
    let pid = getsockopt(&stream, PeerCredentials)
        .context("the kernel does not name the process behind the socket")?
        .pid();
    // Processes of a namespace that is not below ours have no number here.
    if pid == 0 {
        bail!("the server runs in another PID namespace (a container)");
    }
    check_name(pid)
}

/// The server of this machine that listens on a TCP address.
///
/// # Errors
/// The address is not loopback, nobody listens there, or the listener is no server that can be seen from here; the
/// message says which.
pub fn server_behind_address(address: SocketAddr) -> Result<i32> {
    if !address.ip().is_loopback() {
        bail!(
            "{address} may be another machine: only a Unix socket or a loopback address is surely this one"
        );
    }
    let mut inodes = HashSet::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        if let Ok(text) = fs::read_to_string(table) {
            inodes.extend(listening_inodes(&text, address.port()));
        }
    }
    if inodes.is_empty() {
        bail!(
            "no process of this network namespace listens on port {}",
            address.port()
        );
    }
    match holder_of(&inodes)? {
        Some(pid) => check_name(pid),
        None => bail!(
            "the process that listens on port {} belongs to another user or namespace",
            address.port()
        ),
    }
}

fn check_name(pid: i32) -> Result<i32> {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = name.trim();
    let program = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    let is_server = |name: &str| SERVERS.iter().any(|server| name.starts_with(server));
    if is_server(name) || is_server(&program) {
        return Ok(pid);
    }
    bail!(
        "the listener is process {pid} ({name}), which is not a server: a proxy or systemd stands before it"
    )
}

/// Inodes of the listening sockets with local port `port` in `/proc/net/tcp` or `tcp6` (proc_net(5)).
fn listening_inodes(table: &str, port: u16) -> Vec<u64> {
    const LISTEN: &str = "0A";
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
            let matches = u16::from_str_radix(local_port, 16).ok()? == port;
            (matches && *fields.get(3)? == LISTEN).then(|| fields.get(9)?.parse().ok())?
        })
        .collect()
}

/// A process that has one of these sockets open; processes whose descriptors may not be seen are passed over.
fn holder_of(inodes: &HashSet<u64>) -> Result<Option<i32>> {
    for entry in fs::read_dir("/proc").context("cannot read /proc")? {
        let Ok(entry) = entry else { continue };
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<i32>().ok())
        else {
            continue;
        };
        let Ok(descriptors) = fs::read_dir(entry.path().join("fd")) else {
            continue;
        };
        let holds = descriptors.flatten().any(|descriptor| {
            fs::read_link(descriptor.path()).is_ok_and(|target| {
                target
                    .to_str()
                    .and_then(|text| {
                        text.strip_prefix("socket:[")?
                            .strip_suffix(']')?
                            .parse()
                            .ok()
                    })
                    .is_some_and(|inode: u64| inodes.contains(&inode))
            })
        });
        if holds {
            return Ok(Some(pid));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn the_table_of_sockets_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 23456 1 0 100\n\
             1: 0100007F:0CEA 0100007F:B0E2 01 00000000:00000000 00:00000000 00000000   999        0 23457 1 0 100\n";
        assert_eq!(listening_inodes(table, 3306), [23456]);
        assert_eq!(listening_inodes(table, 3307), Vec::<u64>::new());
        assert_eq!(listening_inodes("garbage\n: x\n", 1), Vec::<u64>::new());
    }

    #[test]
    fn a_listener_that_is_no_server_is_named_as_what_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).expect("a socket");
        let error = server_behind_socket(&path).expect_err("a test is not a server");
        assert!(error.to_string().contains("not a server"), "{error}");

        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let error = server_behind_address(address).expect_err("a test is not a server");
        let own = format!("process {}", std::process::id());
        assert!(error.to_string().contains(&own), "{error}");
        drop(listener);
        let error = server_behind_address(address).expect_err("nobody listens");
        assert!(error.to_string().contains("no process"), "{error}");
        let far = server_behind_address("192.0.2.1:3306".parse().expect("an address"));
        assert!(
            far.expect_err("far away")
                .to_string()
                .contains("another machine")
        );
    }
}
