//! What a loop hears of its sockets, and how long wake-ups for answers may be coalesced.

use std::time::Duration;

/// What a loop hears.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// Another thread has something to say.
    Wake,
    /// A socket can be read or written; only by epoll.
    Ready(u32),
    /// Bytes have come: [`Io::bytes`](crate::net::io::Io::bytes) has them, [`Io::give`](crate::net::io::Io::give) gives the buffer back.
    Received {
        token: u32,
        buffer: u16,
        length: u32,
    },
    /// The other end has closed the connection (`error` is 0), or an error of the system.
    Ended { token: u32, error: i32 },
    /// Of a command only this much could be sent.
    Short { token: u32, sent: u32 },
    /// A socket has room again; only by io_uring.
    Writable(u32),
}

impl Event {
    /// The connection that it is about.
    #[inline]
    pub(crate) fn token(&self) -> Option<u32> {
        match *self {
            Event::Wake => None,
            Event::Ready(token)
            | Event::Received { token, .. }
            | Event::Ended { token, .. }
            | Event::Short { token, .. }
            | Event::Writable(token) => Some(token),
        }
    }
}

/// Wake-ups for answers coalesced into one: a loop that waits is woken for several at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Coalescing {
    /// Answers that wake the loop at once.
    pub want: usize,
    /// Fewer wake it after this time.
    pub max_delay: Duration,
}

/// Wake-ups are coalesced for at most one in this many of the answers expected: the others' statements keep the server busy.
const COALESCED_OF: usize = 2;
/// And no more than this: there are buffers for twice as many.
const MAX_COALESCED: usize = 32;

impl Coalescing {
    /// Up to half of the answers `expected`.
    pub(crate) fn half_of(expected: usize, max_delay: Duration) -> Coalescing {
        Coalescing {
            want: (expected / COALESCED_OF).clamp(1, MAX_COALESCED),
            max_delay,
        }
    }

    /// Whatever comes is taken at once.
    pub(crate) const NONE: Coalescing = Coalescing {
        want: 1,
        max_delay: Duration::ZERO,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wake_ups_are_coalesced_for_half_of_the_answers_expected() {
        let max_delay = Duration::from_micros(50);
        let want = |expected| Coalescing::half_of(expected, max_delay).want;
        assert_eq!([0, 1, 2, 32, 64, 4096].map(want), [1, 1, 1, 16, 32, 32]);
    }
}
