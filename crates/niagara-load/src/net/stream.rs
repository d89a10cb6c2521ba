//! A byte stream to a server, plain or under TLS: blocking during set-up, every wait bounded; non-blocking under
//! load.

use crate::net::endpoint::Transport;
use crate::net::socket::Socket;
use crate::net::tls::{TlsClient, TlsStream};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Plain or encrypted.
///
/// A non-blocking write that would block has to be repeated with the same bytes: TLS has encrypted them already.
#[derive(Debug)]
pub(crate) enum Stream {
    Plain(Socket),
    Tls(Box<TlsStream>),
}

impl Stream {
    /// Connects before `deadline`.
    pub(crate) fn connect(transport: &Transport, deadline: Instant) -> io::Result<Self> {
        Ok(Stream::Plain(Socket::connect(transport, deadline)?))
    }

    /// Shakes hands before `deadline`; what is encrypted already stays as it is.
    pub(crate) fn encrypt(self, client: &TlsClient, deadline: Instant) -> io::Result<Self> {
        match self {
            Stream::Plain(socket) => Ok(Stream::Tls(Box::new(TlsStream::shake_hands(
                socket, client, deadline,
            )?))),
            Stream::Tls(_) => Ok(self),
        }
    }

    fn socket(&self) -> &Socket {
        match self {
            Stream::Plain(socket) => socket,
            Stream::Tls(stream) => stream.socket(),
        }
    }

    /// Whether this is a Unix socket.
    pub(crate) fn is_unix(&self) -> bool {
        self.socket().is_unix()
    }

    /// Reads what comes first, blocking until `deadline`; an end of the stream is an error.
    pub(crate) fn read_before(
        &mut self,
        deadline: Instant,
        buffer: &mut [u8],
    ) -> io::Result<usize> {
        loop {
            self.socket().set_deadline(deadline)?;
            match self.read(buffer) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    /// Writes everything, blocking until `deadline`.
    pub(crate) fn write_before(&mut self, deadline: Instant, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            self.socket().set_deadline(deadline)?;
            match self.write(bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What ends the stream from another thread.
    pub(crate) fn hangup(&self) -> io::Result<Hangup> {
        Ok(Hangup(self.as_fd().try_clone_to_owned()?.into()))
    }

    /// Makes the stream non-blocking.
    pub(crate) fn into_nonblocking(self) -> io::Result<Self> {
        self.socket().set_nonblocking()?;
        Ok(self)
    }
}

/// Ends a stream that another thread reads or writes.
#[derive(Debug)]
pub(crate) struct Hangup(socket2::Socket);

impl Hangup {
    /// Whoever waits on the stream is told that it has ended.
    pub(crate) fn hang_up(&self) {
        // It fails where the other end was faster.
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket().as_fd()
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
