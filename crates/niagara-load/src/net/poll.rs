//! Waiting for sockets: epoll, edge-triggered, with timeouts in nanoseconds (an open loop starts transactions at
//! moments of its own, for which epoll's milliseconds are too coarse).

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

pub(crate) use rustix::event::epoll::Event;

/// The token of [`Waker`]s; sockets have smaller ones.
pub(crate) const WAKE: u64 = u64::MAX;

/// A set of sockets that is waited for.
#[derive(Debug)]
pub(crate) struct Poll {
    epoll: OwnedFd,
}

impl Poll {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Poll {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
        })
    }

    /// Reports `source` under `token` whenever something new can be read. Closing it ends that.
    pub(crate) fn add(&self, source: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(token),
            flags,
        )?)
    }

    /// Also reports when it can be written to, or no longer does.
    pub(crate) fn want_writable(
        &self,
        source: impl AsFd,
        token: u64,
        writable: bool,
    ) -> io::Result<()> {
        let mut flags = EventFlags::IN | EventFlags::RDHUP | EventFlags::ET;
        flags.set(EventFlags::OUT, writable);
        Ok(epoll::modify(
            &self.epoll,
            source,
            EventData::new_u64(token),
            flags,
        )?)
    }

    /// Waits for at most `timeout`; `events` then holds what happened, as many as its capacity.
    pub(crate) fn wait(&self, events: &mut Vec<Event>, timeout: Duration) -> io::Result<()> {
        events.clear();
        let timeout = Timespec {
            tv_sec: timeout.as_secs().min(1 << 30) as i64,
            tv_nsec: timeout.subsec_nanos().into(),
        };
        match epoll::wait(&self.epoll, spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.counter.as_fd()
    }
}

/// Ends a wait from another thread.
#[derive(Debug)]
pub(crate) struct Waker {
    counter: OwnedFd,
}

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Waker {
            counter: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        })
    }

    /// Makes `poll` report [`WAKE`] after every [`wake`](Self::wake). Edge-triggered, so nobody has to read the counter.
    pub(crate) fn register(&self, poll: &Poll) -> io::Result<()> {
        poll.add(&self.counter, WAKE)
    }

    pub(crate) fn wake(&self) {
        // It could only fail after 2^64 wake-ups.
        let _ = rustix::io::write(&self.counter, &1u64.to_ne_bytes());
    }
}
