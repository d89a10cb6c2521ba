//! How the load and the checks reach a server that was started here.

use std::path::PathBuf;

use niagara_load::{Endpoint, TlsOptions, Transport};
use niagara_server::RunningServer;

/// The database that workloads are in.
pub(crate) const LOAD_DATABASE: &str = "sbtest";

/// Over its Unix socket.
pub(crate) fn over_socket(server: &RunningServer, database: &str) -> Endpoint {
    endpoint(
        server,
        Transport::Unix(PathBuf::from(server.socket())),
        database,
    )
}

/// Over TCP: on the loopback, or where another host is to reach it.
pub(crate) fn over_tcp(server: &RunningServer, database: &str) -> Endpoint {
    endpoint(server, Transport::Tcp(server.tcp()), database)
}

fn endpoint(server: &RunningServer, transport: Transport, database: &str) -> Endpoint {
    Endpoint {
        transport,
        user: server.user().to_owned(),
        password: server.password().to_owned(),
        database: database.to_owned(),
        tls: TlsOptions::default(),
    }
}
