//! Ways to a server: addresses, sockets, TLS, waiting for many sockets at once, a blocking session. Knows the protocol,
//! and nothing of loads.

pub(crate) mod admin;
pub(crate) mod endpoint;
pub(crate) mod event;
pub(crate) mod io;
pub(crate) mod io_choice;
pub(crate) mod poll;
pub(crate) mod session;
pub(crate) mod socket;
pub(crate) mod stream;
pub(crate) mod tls;
pub(crate) mod uring;
