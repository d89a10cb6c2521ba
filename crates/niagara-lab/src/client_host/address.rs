//! By which addresses the two hosts reach each other: found by trying, so that no guess is measured with.

use std::io::{self, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::Result;
use niagara_error::{anyhow, bail};
use niagara_load::LoadError;
use niagara_load::remote::RemoteAgent;

use super::ClientHostOptions;
use niagara_server::{Cancel, Cancelled};

/// Bound on hearing who knocked.
const TOKEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The address of this host that the client host reaches, and the one it comes from.
pub(super) fn meet(
    options: &ClientHostOptions,
    agent: &RemoteAgent,
    cancel: &Cancel,
) -> Result<(IpAddr, IpAddr)> {
    let host = &options.host;
    let listen = match options.server_address {
        Some(address) => address,
        None => found(options, agent).ok_or_else(|| {
            anyhow!(
                "it cannot be told by which address {host} reaches this host";
                remedy: "name that address with --server-address (`ip address` lists this host's)"
            )
        })?,
    };
    if listen.is_unspecified() || listen.is_multicast() {
        bail!(
            "--server-address {listen}: servers listen on one address, not on all";
            remedy: "name the one that {host} reaches"
        );
    }
    let listener = TcpListener::bind((listen, 0)).map_err(|error| {
        anyhow!(
            "servers cannot listen on {listen}: {error}";
            remedy: "name an address that this host has with --server-address (`ip address` lists them)"
        )
    })?;
    let address = listener.local_addr()?;
    let token = format!("{:032x}", rand::random::<u128>());
    match agent.knock(address, &token, &cancel.flag()) {
        Ok(()) => {}
        Err(LoadError::Cancelled) => return Err(Cancelled.into()),
        Err(error @ LoadError::AgentLost { .. }) => return Err(error.into()),
        Err(error) => bail!(
            "{host} does not reach this host at {address}: {error}";
            remedy: "let {host} through to the ports that this system gives out (sysctl net.ipv4.ip_local_port_range), or name \
             another of this host's addresses with --server-address"
        ),
    }
    let client = who_knocked(&listener, &token, TOKEN_TIMEOUT)
        .map_err(|error| anyhow!("{host} reached this host at {address}, but: {error}"))?;
    Ok((listen, client))
}

/// Where the one comes from who says `token`; others may have found the port.
fn who_knocked(listener: &TcpListener, token: &str, timeout: Duration) -> io::Result<IpAddr> {
    let deadline = Instant::now() + timeout;
    listener.set_nonblocking(true)?;
    loop {
        let (mut stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            // The agent's word can overtake its connection.
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline =>
            {
                std::thread::sleep(Duration::from_millis(10));
                continue;
            }
            Err(error) => return Err(error),
        };
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(timeout))?;
        let mut said = vec![0; token.len()];
        if stream.read_exact(&mut said).is_ok() && said == token.as_bytes() {
            return Ok(from.ip());
        }
    }
}

/// The address that nobody gave: where the remote shell's connection came from, else the one that packets to the host leave
/// from.
fn found(options: &ClientHostOptions, agent: &RemoteAgent) -> Option<IpAddr> {
    let connection = agent.greeting().ssh_connection.as_deref();
    let seen = connection
        .and_then(near_end)
        .filter(|address| is_ours(*address));
    seen.or_else(|| route_to(&options.host))
}

/// This host's end of `SSH_CONNECTION`, which tells the client's first.
fn near_end(connection: &str) -> Option<IpAddr> {
    connection.split_whitespace().next()?.parse().ok()
}

/// Behind an address translation, or through a host in between, it is another's.
fn is_ours(address: IpAddr) -> bool {
    TcpListener::bind((address, 0)).is_ok()
}

/// The address that packets to `host` leave from. Nothing is sent.
fn route_to(host: &str) -> Option<IpAddr> {
    let name = host.rsplit_once('@').map_or(host, |(_, name)| name);
    let any_port = 9;
    let there = (name, any_port).to_socket_addrs().ok()?.next()?;
    let any: SocketAddr = match there {
        SocketAddr::V4(_) => ([0, 0, 0, 0], 0).into(),
        SocketAddr::V6(_) => ([0_u16; 8], 0).into(),
    };
    let socket = UdpSocket::bind(any).ok()?;
    socket.connect(there).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpStream;

    #[test]
    fn ssh_tells_our_end_first() {
        let ours: IpAddr = "192.0.2.1".parse().expect("an address");
        assert_eq!(near_end("192.0.2.1 50022 192.0.2.2 22"), Some(ours));
        assert_eq!(near_end(""), None);
        // TEST-NET-3: nobody's.
        assert!(!is_ours("203.0.113.7".parse().expect("an address")));
    }

    #[test]
    fn the_route_to_a_host_begins_at_an_address_of_ours() {
        let loopback: IpAddr = "127.0.0.1".parse().expect("an address");
        assert_eq!(route_to("me@127.0.0.1"), Some(loopback));
        assert_eq!(route_to("no.such.host.invalid"), None);
    }

    #[test]
    fn a_stranger_is_not_taken_for_the_client() -> Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        TcpStream::connect(address)?.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
        TcpStream::connect(address)?.write_all(b"0123456789abcdef")?;
        assert!(who_knocked(&listener, "0123456789abcdef", TOKEN_TIMEOUT)?.is_loopback());
        assert!(who_knocked(&listener, "another", Duration::ZERO).is_err());
        Ok(())
    }
}
