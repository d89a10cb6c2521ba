//! What a loop hears of its sockets, and how long it lets answers gather.

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

/// How long answers may gather before they are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gather {
    /// So many are taken at once.
    pub want: usize,
    /// Fewer are after this time.
    pub patience: Duration,
}

/// Answers gather up to one in so many of those that are expected: the others' statements keep the server busy.
const GATHERED_OF: usize = 2;
/// And no more than this: there are buffers for twice as many.
const MAX_GATHERED: usize = 32;

impl Gather {
    /// Up to half of the answers `expected`.
    pub(crate) fn half_of(expected: usize, patience: Duration) -> Gather {
        Gather {
            want: (expected / GATHERED_OF).clamp(1, MAX_GATHERED),
            patience,
        }
    }

    /// Whatever comes is taken at once.
    pub(crate) const NOTHING: Gather = Gather {
        want: 1,
        patience: Duration::ZERO,
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_answers_gather() {
        let patience = Duration::from_micros(50);
        let want = |expected| Gather::half_of(expected, patience).want;
        assert_eq!([0, 1, 2, 32, 64, 4096].map(want), [1, 1, 1, 16, 32, 32]);
    }
}
