//! Which process of this machine is behind a server's address.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use niagara_load::Transport;
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use crate::process::by_folder::{is_server_name, program_of};

/// The server of this machine that a transport leads to.
///
/// # Errors
/// As [`server_behind_socket`] and [`server_behind_address`]; a host that has no address.
pub fn server_behind(transport: &Transport) -> Result<i32> {
    match transport {
        Transport::Unix(path) => server_behind_socket(path),
        Transport::Tcp(address) => server_behind_address(*address),
        Transport::Host { name, port } => {
            let mut addresses = (name.as_str(), *port)
                .to_socket_addrs()
                .with_context(|| format!("cannot resolve {name}"))?;
            let address = addresses.next();
            server_behind_address(address.with_context(|| format!("{name} has no address"))?)
        }
    }
}

/// Sockets on which servers of this machine listen, with their processes: those that this user may look at, and others by
/// their command lines.
pub fn listening_servers() -> Vec<(i32, PathBuf)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mut found = Vec::new();
    for pid in pids.filter(|pid| is_server(*pid)) {
        let path = socket_of(pid).or_else(|| {
            let command = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
            socket_option(&String::from_utf8_lossy(&command))
        });
        found.extend(path.map(|path| (pid, path)));
    }
    found.sort();
    found
}

/// The Unix socket on which a process listens for the protocol; that of MySQL's X plugin is passed over.
pub(crate) fn socket_of(pid: i32) -> Option<PathBuf> {
    let table = fs::read_to_string(format!("/proc/{pid}/net/unix")).ok()?;
    let inodes = inodes_of(pid);
    listening_paths(&table)
        .find(|(inode, path)| inodes.contains(inode) && !path.ends_with("mysqlx.sock"))
        .map(|(_, path)| PathBuf::from(path))
}

/// Inodes and paths of listening sockets in `/proc/net/unix` (proc_net(5)).
fn listening_paths(table: &str) -> impl Iterator<Item = (u64, &str)> {
    /// `__SO_ACCEPTCON`.
    const LISTENS: u32 = 1 << 16;
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
        let inode = fields.nth(2)?.parse().ok()?;
        let path = fields.next().filter(|path| path.starts_with('/'))?;
        (flags & LISTENS != 0).then_some((inode, path))
    })
}

/// `--socket=PATH` of a command line, whose words end with zeros.
fn socket_option(command: &str) -> Option<PathBuf> {
    let mut words = command.split('\0');
    words.find_map(|word| word.strip_prefix("--socket=").map(PathBuf::from))
}

/// The server that listens on a Unix socket, by the credentials the kernel hands to who connects (unix(7),
/// SO_PEERCRED).
///
/// # Errors
/// Nobody listens there, or the listener is no server that can be seen from here; the message says which.
pub fn server_behind_socket(path: &Path) -> Result<i32> {
    let stream = UnixStream::connect(path)
        .with_context(|| format!("cannot connect to {}", path.display()))
        .remedy("check the path, that the server runs, and that this user may connect")?;
    let pid = getsockopt(&stream, PeerCredentials)
        .context("the kernel does not name the process behind the socket")?
        .pid();
    // Processes of a namespace that is not below ours have no number here.
    if pid == 0 {
        bail!(
            "the server runs in another PID namespace (a container)";
            remedy: "run niagara on the host of the containers, or in that container"
        );
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
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"]
        .map(|table| fs::read_to_string(table).unwrap_or_default());
    let inodes = inodes_behind(&tables, address);
    if inodes.is_empty() {
        bail!("no process of this network namespace listens on {address}");
    }
    match holder_of(&inodes)? {
        Some(pid) => check_name(pid),
        None => bail!("the process that listens on {address} belongs to another user or namespace"),
    }
}

/// Whether a process is a server by its name or its program's.
pub(crate) fn is_server(pid: i32) -> bool {
    let program = program_of(pid).unwrap_or_default();
    let program = program.file_name().unwrap_or_default().to_string_lossy();
    is_server_name(&name_of(pid)) || is_server_name(&program)
}

/// The name that the kernel knows a process by; empty where there is none.
pub(crate) fn name_of(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim().to_owned()
}

fn check_name(pid: i32) -> Result<i32> {
    match is_server(pid) {
        true => Ok(pid),
        false => bail!(
            "the listener is process {pid} ({}), which is not a server: a proxy or systemd stands before it", name_of(pid);
            remedy: "name the server's own socket"
        ),
    }
}

/// Inodes of the sockets that the kernel hands a connection to `address`, by its tables: several servers may listen on one port, each
/// on an address of its own, and one that listens on this very address comes before those that listen on all.
fn inodes_behind(tables: &[String], address: SocketAddr) -> HashSet<u64> {
    let listeners = tables
        .iter()
        .flat_map(|table| listeners(table, address.port()));
    let fitting: Vec<(u8, u64)> = listeners
        .filter_map(|(ip, inode)| Some((nearness(ip, address.ip())?, inode)))
        .collect();
    let nearest = fitting.iter().map(|(nearness, _)| *nearness).max();
    let behind = fitting
        .into_iter()
        .filter(|(nearness, _)| Some(*nearness) == nearest);
    behind.map(|(_, inode)| inode).collect()
}

/// How closely a listener's address fits one that is connected to; none where it does not.
fn nearness(listener: IpAddr, address: IpAddr) -> Option<u8> {
    // An IPv4 address as a socket for both kinds has it.
    let (listener, address) = (listener.to_canonical(), address.to_canonical());
    match (listener, address) {
        _ if listener == address => Some(3),
        _ if !listener.is_unspecified() => None,
        (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => Some(2),
        (IpAddr::V6(_), IpAddr::V4(_)) => Some(1),
        (IpAddr::V4(_), IpAddr::V6(_)) => None,
    }
}

/// Addresses and inodes of the listening sockets with local port `port` in `/proc/net/tcp` or `tcp6` (proc_net(5)).
fn listeners(table: &str, port: u16) -> Vec<(IpAddr, u64)> {
    const LISTEN: &str = "0A";
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (ip, local_port) = fields.get(1)?.rsplit_once(':')?;
            let matches = u16::from_str_radix(local_port, 16).ok()? == port;
            (matches && *fields.get(3)? == LISTEN)
                .then(|| Some((ip_in_hexadecimal(ip)?, fields.get(9)?.parse().ok()?)))?
        })
        .collect()
}

/// An address as these tables have it: words of 32 bits, each as this machine reads the bytes of the address.
fn ip_in_hexadecimal(text: &str) -> Option<IpAddr> {
    const DIGITS: usize = 8;
    let words = text.as_bytes().chunks(DIGITS).map(|digits| {
        let digits = std::str::from_utf8(digits).ok()?;
        let word = u32::from_str_radix(digits, 16).ok()?;
        (digits.len() == DIGITS).then_some(word.to_ne_bytes())
    });
    let bytes = words.collect::<Option<Vec<[u8; 4]>>>()?.concat();
    let four = <[u8; 4]>::try_from(bytes.as_slice()).map(IpAddr::from);
    let sixteen = || <[u8; 16]>::try_from(bytes.as_slice()).map(IpAddr::from);
    four.or_else(|_| sixteen()).ok()
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
        if !inodes_of(pid).is_disjoint(inodes) {
            return Ok(Some(pid));
        }
    }
    Ok(None)
}

/// Inodes of the sockets that a process has open; none of one whose descriptors may not be seen.
fn inodes_of(pid: i32) -> HashSet<u64> {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
    let targets = descriptors
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
    let inode = |target: PathBuf| {
        let text = target.to_str()?.strip_prefix("socket:[")?;
        text.strip_suffix(']')?.parse().ok()
    };
    targets.filter_map(inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
    use std::os::unix::net::UnixListener;

    #[test]
    fn the_table_of_sockets_is_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000   999        0 23456 1 0 100\n\
             1: 0100007F:0CEA 0100007F:B0E2 01 00000000:00000000 00:00000000 00000000   999        0 23457 1 0 100\n";
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        if cfg!(target_endian = "little") {
            assert_eq!(listeners(table, 3306), [(here, 23456)]);
        }
        assert_eq!(listeners(table, 3307), []);
        assert_eq!(listeners("garbage\n: x\n", 1), []);
        assert_eq!(ip_in_hexadecimal("0100007"), None);
        assert_eq!(ip_in_hexadecimal("0100007F0100007F"), None);
        assert_eq!(
            ip_in_hexadecimal(&"0".repeat(32)),
            Some(Ipv6Addr::UNSPECIFIED.into())
        );
    }

    #[test]
    fn listening_sockets_have_paths() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 4711 /run/mysqld/mysqld.sock\n\
             0000000000000000: 00000003 00000000 00000000 0001 03 4712 /run/mysqld/mysqld.sock\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 4713 @abstract\n\
             0000000000000000: 00000002 00000000 00010000 0001 01 4714\n: x\n";
        let found: Vec<_> = listening_paths(table).collect();
        assert_eq!(found, [(4711, "/run/mysqld/mysqld.sock")]);
        let command = "/usr/sbin/mysqld\0--socket=/tmp/m.sock\0--port=1\0";
        assert_eq!(socket_option(command), Some(PathBuf::from("/tmp/m.sock")));
    }

    #[test]
    fn of_several_listeners_on_one_port_the_one_on_the_address_is_meant() {
        let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let line = |ip: &str, inode: u64| {
            format!("\n 0: {ip}:0CEA 0:0 0A 0:0 0:0 0 999 0 {inode} 1 0 100")
        };
        let zero = [0; 4];
        let four = [
            "",
            &line(&word([127, 0, 0, 2]), 2),
            &line(&word([127, 0, 0, 3]), 3),
        ]
        .concat();
        let all_of_four = [&*four, &line(&word(zero), 4)].concat();
        let all_of_six = line(&word(zero).repeat(4), 6);
        let mapped = line(
            &[
                word(zero),
                word(zero),
                word([0, 0, 255, 255]),
                word([127, 0, 0, 3]),
            ]
            .concat(),
            7,
        );
        for (tables, address, expected) in [
            ([&*four, ""], "127.0.0.2:3306", vec![2]),
            ([&*all_of_four, &all_of_six], "127.0.0.2:3306", vec![2]),
            ([&*all_of_four, &all_of_six], "127.0.0.1:3306", vec![4]),
            ([&*all_of_four, &all_of_six], "[::1]:3306", vec![6]),
            ([&*four, &all_of_six], "127.0.0.1:3306", vec![6]),
            ([&*all_of_four, &mapped], "127.0.0.3:3306", vec![3, 7]),
            ([&*four, ""], "127.0.0.1:3306", vec![]),
            ([&*all_of_four, ""], "[::1]:3306", vec![]),
            ([&*all_of_four, &all_of_six], "127.0.0.2:3307", vec![]),
        ] {
            let tables = tables.map(str::to_owned);
            let address = address.parse().expect("an address");
            let mut found: Vec<u64> = inodes_behind(&tables, address).into_iter().collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{address}");
        }
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
