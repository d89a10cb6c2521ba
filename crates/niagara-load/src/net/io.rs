//! How a loop waits for its sockets: by epoll, or by io_uring where the kernel allows it.

use crate::error::LoadError;
use crate::net::endpoint::Endpoint;
use crate::net::event::{Coalescing, Event};
use crate::net::io_choice::{IoChoice, is_encrypted};
use crate::net::poll::{self, Poll, Waker};
use crate::net::uring::Ring;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// The sockets of one side on one loop. It belongs to the thread that made it.
pub(crate) enum Io {
    Epoll { poll: Poll, ready: Vec<poll::Event> },
    Uring(Box<Ring>),
}

/// The most that is taken from epoll at once: answers are sent on after all of a batch have been taken, so the server
/// would have to wait for a longer one.
const MAX_EVENTS: usize = 64;

impl Io {
    /// For tokens below `tokens`, of connections to `servers`.
    pub(crate) fn new(
        choice: IoChoice,
        servers: &[Endpoint],
        tokens: usize,
    ) -> Result<Self, LoadError> {
        let encrypted = servers.iter().any(is_encrypted);
        if choice == IoChoice::Uring && encrypted {
            return Err(LoadError::invalid(
                "encrypted connections do without io_uring: take epoll or auto, or disable TLS",
            ));
        }
        if choice != IoChoice::Epoll && !encrypted {
            match Ring::new(tokens) {
                Ok(ring) => return Ok(Io::Uring(Box::new(ring))),
                Err(error) if choice == IoChoice::Uring => {
                    return Err(LoadError::Client(format!(
                        "io_uring cannot be used ({error}): it takes Linux 6.1, /proc/sys/kernel/io_uring_disabled = 0, and \
                         a container that allows it; epoll does without"
                    )));
                }
                Err(_) => {}
            }
        }
        Ok(Io::Epoll {
            poll: Poll::new()
                .map_err(|error| LoadError::Client(format!("making a poll: {error}")))?,
            ready: Vec::with_capacity(tokens.clamp(16, MAX_EVENTS)),
        })
    }

    /// What it came to.
    #[cfg(test)]
    pub(crate) fn choice(&self) -> IoChoice {
        match self {
            Io::Epoll { .. } => IoChoice::Epoll,
            Io::Uring(_) => IoChoice::Uring,
        }
    }

    /// Reports whatever comes on `socket`.
    pub(crate) fn watch(&mut self, socket: impl AsFd, token: u32) -> io::Result<()> {
        match self {
            Io::Epoll { poll, .. } => poll.add(socket, token.into()),
            Io::Uring(ring) => ring.watch(socket, token),
        }
    }

    /// Has to be called before a watched socket is closed.
    pub(crate) fn forget(&mut self, token: u32) -> io::Result<()> {
        match self {
            // Closing takes it off the poll.
            Io::Epoll { .. } => Ok(()),
            Io::Uring(ring) => ring.forget(token),
        }
    }

    /// Reports [`Event::Wake`] after every [`Waker::wake`].
    pub(crate) fn wake_by(&mut self, waker: &Waker) -> io::Result<()> {
        match self {
            Io::Epoll { poll, .. } => waker.register(poll),
            Io::Uring(ring) => ring.wake_by(waker),
        }
    }

    /// Reports when a socket has room, or no longer does.
    pub(crate) fn want_writable(
        &mut self,
        socket: impl AsFd,
        token: u32,
        writable: bool,
    ) -> io::Result<()> {
        match self {
            Io::Epoll { poll, .. } => poll.want_writable(socket, token.into(), writable),
            // It reports once.
            Io::Uring(ring) if writable => ring.want_writable(token),
            Io::Uring(_) => Ok(()),
        }
    }

    /// What sends commands with the next [`wait`](Self::wait); where there is none, they are written to the socket.
    #[inline]
    pub(crate) fn ring(&mut self) -> Option<&mut Ring> {
        match self {
            Io::Epoll { .. } => None,
            Io::Uring(ring) => Some(ring),
        }
    }

    /// Waits for at most `timeout`; `events` then holds what happened.
    pub(crate) fn wait(
        &mut self,
        events: &mut Vec<Event>,
        coalescing: Coalescing,
        timeout: Duration,
    ) -> io::Result<()> {
        match self {
            Io::Epoll { poll, ready } => {
                poll.wait(ready, timeout)?;
                events.clear();
                events.extend(ready.iter().map(|event| match event.data.u64() {
                    poll::WAKE => Event::Wake,
                    token => Event::Ready(token as u32),
                }));
                Ok(())
            }
            Io::Uring(ring) => ring.wait(events, coalescing.want, coalescing.max_delay, timeout),
        }
    }

    /// What came in an [`Event::Received`].
    pub(crate) fn bytes(&self, buffer: u16, length: u32) -> &[u8] {
        match self {
            Io::Epoll { .. } => &[],
            Io::Uring(ring) => ring.bytes(buffer, length),
        }
    }

    /// Gives the buffer of an [`Event::Received`] back.
    pub(crate) fn give(&mut self, buffer: u16) {
        if let Io::Uring(ring) = self {
            ring.give(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::endpoint::{TlsMode, TlsOptions, Transport};

    fn endpoint(transport: Transport, mode: TlsMode) -> Endpoint {
        Endpoint {
            transport,
            user: String::new(),
            password: String::new(),
            database: String::new(),
            tls: TlsOptions {
                mode,
                ..TlsOptions::default()
            },
        }
    }

    #[test]
    fn encrypted_connections_are_waited_for_by_epoll() {
        let unix = || Transport::Unix("/s".into());
        let tcp = || Transport::Tcp(([127, 0, 0, 1], 3306).into());
        let get = |transport, mode, choice| Io::new(choice, &[endpoint(transport, mode)], 4);
        for mode in [TlsMode::Required, TlsMode::VerifyIdentity] {
            let auto = get(unix(), mode, IoChoice::Auto).unwrap();
            assert_eq!(auto.choice(), IoChoice::Epoll);
        }
        assert!(get(tcp(), TlsMode::Preferred, IoChoice::Uring).is_err());
        assert_eq!(
            get(tcp(), TlsMode::Disabled, IoChoice::Epoll)
                .unwrap()
                .choice(),
            IoChoice::Epoll
        );
        // A Unix socket is not encrypted where that is merely preferred.
        let preferred = get(unix(), TlsMode::Preferred, IoChoice::Auto).unwrap();
        let disabled = get(unix(), TlsMode::Disabled, IoChoice::Auto).unwrap();
        assert_eq!(preferred.choice(), disabled.choice());
    }

    #[test]
    fn all_sides_are_waited_for_alike() {
        let sides = [TlsMode::Disabled, TlsMode::Required]
            .map(|mode| endpoint(Transport::Unix("/s".into()), mode));
        let settled = |choice: IoChoice, sides: &[Endpoint]| choice.settled(sides.iter(), 2, 4);
        assert_eq!(settled(IoChoice::Auto, &sides), IoChoice::Epoll);
        // Whatever this kernel allows, it is the same for both.
        let open = [sides[0].clone(), sides[0].clone()];
        let one = Io::new(IoChoice::Auto, &open, 4).unwrap().choice();
        assert_eq!(settled(IoChoice::Auto, &open), one);
        for choice in [IoChoice::Epoll, IoChoice::Uring] {
            assert_eq!(settled(choice, &sides), choice);
        }
    }
}
