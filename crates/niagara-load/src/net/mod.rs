//! Ways to a server: addresses, sockets, TLS, waiting for many sockets at once, a blocking session. Knows the protocol,
//! and nothing of loads.

pub mod admin;
pub mod endpoint;
pub mod event;
pub mod io;
pub mod io_choice;
pub mod poll;
pub mod session;
pub mod socket;
pub mod stream;
pub mod tls;
pub mod uring;
