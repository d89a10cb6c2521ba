//! A connected socket of either family: during set-up it blocks, every wait bounded; under load it does not.

use crate::net::endpoint::Transport;
use socket2::{Domain, SockAddr, TcpKeepalive, Type};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a connection to another host is idle before it is looked whether that is still there, and how often again: no
/// firewall is known to forget one sooner than after some minutes.
const KEPT_ALIVE: Duration = Duration::from_secs(60);
const KEPT_ALIVE_AGAIN: Duration = Duration::from_secs(10);

/// A connected socket, Unix or TCP.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: socket2::Socket,
    is_unix: bool,
}

/// Why a host cannot be reached by its name, within an I/O error of its kind.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    #[error("cannot resolve '{0}': {1}")]
    Unresolved(String, io::Error),
    #[error("the name '{0}' has no address")]
    NoAddress(String),
    #[error("{0}: {1}")]
    At(SocketAddr, io::Error),
}

impl Socket {
    /// Connects before `deadline`. Names are resolved again; the resolver has bounds of its own.
    pub(crate) fn connect(transport: &Transport, deadline: Instant) -> io::Result<Self> {
        match transport {
            Transport::Unix(path) => Self::unix(path, deadline),
            Transport::Tcp(address) => Self::tcp(*address, time_left(deadline)?),
            Transport::Host { name, port } => {
                let resolved = (name.as_str(), *port).to_socket_addrs().map_err(|error| {
                    io::Error::new(error.kind(), HostError::Unresolved(name.clone(), error))
                })?;
                let addresses: Vec<SocketAddr> = resolved.collect();
                let no_address = HostError::NoAddress(name.clone());
                let mut last = io::Error::new(io::ErrorKind::NotFound, no_address);
                for (index, address) in addresses.iter().enumerate() {
                    // One address that never answers must not take the time of the others.
                    let share = (addresses.len() - index) as u32;
                    match Self::tcp(*address, time_left(deadline)? / share) {
                        Ok(socket) => return Ok(socket),
                        Err(error) => {
                            last = io::Error::new(error.kind(), HostError::At(*address, error))
                        }
                    }
                }
                Err(last)
            }
        }
    }

    fn unix(path: &Path, deadline: Instant) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let path = SockAddr::unix(path)?;
        loop {
            // Bounds the connect too, which else waits for ever at a stopped server whose backlog is full.
            socket.set_write_timeout(Some(time_left(deadline)?))?;
            match socket.connect(&path) {
                Ok(()) => break,
                // A Unix socket is not half connected: what was interrupted has not begun.
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Socket {
            socket,
            is_unix: true,
        })
    }

    fn tcp(address: SocketAddr, timeout: Duration) -> io::Result<Self> {
        let socket = socket2::Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.connect_timeout(&address.into(), timeout.max(Duration::from_millis(1)))?;
        socket.set_tcp_nodelay(true)?;
        if !address.ip().is_loopback() {
            // While a report of many minutes runs nothing is sent, and what stands between hosts forgets a connection.
            let keepalive = TcpKeepalive::new()
                .with_time(KEPT_ALIVE)
                .with_interval(KEPT_ALIVE_AGAIN);
            socket.set_tcp_keepalive(&keepalive)?;
        }
        Ok(Socket {
            socket,
            is_unix: false,
        })
    }

    /// Whether both ends are on this machine, with nobody in between.
    pub(crate) fn is_unix(&self) -> bool {
        self.is_unix
    }

    /// Bounds the next reads and writes of a blocking socket, each by the time left.
    pub(crate) fn set_deadline(&self, deadline: Instant) -> io::Result<()> {
        let left = Some(time_left(deadline)?);
        self.socket.set_read_timeout(left)?;
        self.socket.set_write_timeout(left)
    }

    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        self.socket.set_nonblocking(true)
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is left until `deadline`; nothing left is an error.
fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    // The system counts in microseconds, and takes zero for no bound at all.
    Ok(left.max(Duration::from_micros(1)))
}
