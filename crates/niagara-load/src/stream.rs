//! A byte stream to a server over either transport, as it is during set-up (blocking, with timeouts)
//! and under load (non-blocking, registered with a poll).

use crate::endpoint::Transport;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Blocking, every wait bounded by a timeout.
#[derive(Debug)]
pub enum BlockingStream {
    Unix(std::os::unix::net::UnixStream),
    Tcp(std::net::TcpStream),
}

/// Non-blocking.
#[derive(Debug)]
pub enum Stream {
    Unix(mio::net::UnixStream),
    Tcp(mio::net::TcpStream),
}

impl BlockingStream {
    /// Connects within `timeout`, which then also bounds every single read and write.
    pub fn connect(transport: &Transport, timeout: Duration) -> io::Result<Self> {
        let timeout = timeout.max(Duration::from_millis(1));
        match transport {
            Transport::Unix(path) => {
                // A blocking connect would wait for ever at a stopped server whose backlog is full.
                let deadline = Instant::now() + timeout;
                let stream = loop {
                    match mio::net::UnixStream::connect(path) {
                        Ok(stream) => break stream,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                            if Instant::now() >= deadline {
                                return Err(io::Error::new(
                                    io::ErrorKind::TimedOut,
                                    "the server accepts no connections",
                                ));
                            }
                            std::thread::sleep(Duration::from_millis(2));
                        }
                        Err(error) => return Err(error),
                    }
                };
                let stream = std::os::unix::net::UnixStream::from(OwnedFd::from(stream));
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                Ok(BlockingStream::Unix(stream))
            }
            Transport::Tcp(address) => {
                let stream = std::net::TcpStream::connect_timeout(address, timeout)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))?;
                Ok(BlockingStream::Tcp(stream))
            }
        }
    }

    /// Changes the bound on every single read and write.
    pub fn set_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            BlockingStream::Unix(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
            BlockingStream::Tcp(stream) => {
                stream.set_read_timeout(Some(timeout))?;
                stream.set_write_timeout(Some(timeout))
            }
        }
    }

    /// Whether nobody on a network can listen in, so that a password may pass in clear.
    pub fn is_local(&self) -> bool {
        matches!(self, BlockingStream::Unix(_))
    }

    /// Makes the stream non-blocking.
    pub fn into_stream(self) -> io::Result<Stream> {
        Ok(match self {
            BlockingStream::Unix(stream) => {
                stream.set_nonblocking(true)?;
                Stream::Unix(mio::net::UnixStream::from_std(stream))
            }
            BlockingStream::Tcp(stream) => {
                stream.set_nonblocking(true)?;
                Stream::Tcp(mio::net::TcpStream::from_std(stream))
            }
        })
    }
}

impl Read for BlockingStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            BlockingStream::Unix(stream) => stream.read(buffer),
            BlockingStream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for BlockingStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            BlockingStream::Unix(stream) => stream.write(buffer),
            BlockingStream::Tcp(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Unix(stream) => stream.as_fd(),
            Stream::Tcp(stream) => stream.as_fd(),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(buffer),
            Stream::Tcp(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
