//! By which way clients come to the server: its Unix socket, or the network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A client's way to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The server's Unix socket.
    Socket,
    /// TCP, also from the server's own host.
    Network,
}

impl Way {
    /// From a slow log's `localhost []`: a client on the socket has no address.
    pub(crate) fn of_host(host: &[u8]) -> Way {
        match host.trim_ascii() == b"localhost []" {
            true => Way::Socket,
            false => Way::Network,
        }
    }
}

/// What came by which way: statements of a slow log or of recorded traffic, logins of a general log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Ways {
    /// By the socket.
    pub socket: u64,
    /// By the network.
    pub network: u64,
}

/// Of all that came, what may have come by the network where the application is on the socket: monitoring, an administrator.
const OTHERS: f64 = 0.1;

impl Ways {
    pub(crate) fn add(&mut self, way: Way) {
        match way {
            Way::Socket => self.socket += 1,
            Way::Network => self.network += 1,
        }
    }

    /// Whether the application connects by the socket.
    pub fn is_socket(&self) -> bool {
        let all = self.socket + self.network;
        all > 0 && self.network as f64 <= OTHERS * all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_an_address_is_on_the_socket() {
        for (host, way) in [
            (&b"localhost []"[..], Way::Socket),
            (b" localhost []", Way::Socket),
            (b"localhost [127.0.0.1]", Way::Network),
            (b" [10.0.3.4]", Way::Network),
        ] {
            assert_eq!(Way::of_host(host), way, "{host:?}");
        }
    }

    #[test]
    fn few_others_leave_an_application_on_the_socket() {
        let ways = |socket, network| Ways { socket, network };
        assert!(ways(9, 1).is_socket());
        assert!(!ways(8, 2).is_socket());
        assert!(!ways(0, 0).is_socket());
    }
}
