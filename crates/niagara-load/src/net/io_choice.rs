//! How the load generator asks the system for input and output.

use crate::net::endpoint::{Endpoint, TlsMode, Transport};
use crate::net::uring::Ring;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io;
use std::str::FromStr;
use std::thread;

/// How the load generator asks the system for input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoChoice {
    /// io_uring where the kernel allows it and the connections are not encrypted, else epoll.
    #[default]
    Auto,
    /// A system call for every read and every write.
    Epoll,
    /// One system call for all that is sent together and the wait for what comes next. Linux 6.1 or newer.
    Uring,
}

impl IoChoice {
    /// As on the command line.
    pub(crate) const NAMES: [&'static str; 3] = ["auto", "epoll", "uring"];
}

impl IoChoice {
    /// What it comes to, once for all sides and loops: of two servers that are compared one must not be waited for
    /// otherwise than the other. There will be this many `rings`, each for up to `tokens` connections.
    pub fn settled<'e>(
        self,
        mut servers: impl Iterator<Item = &'e Endpoint>,
        rings: usize,
        tokens: usize,
    ) -> IoChoice {
        if self != IoChoice::Auto {
            return self;
        }
        if servers.any(is_encrypted) || !allowed(rings, tokens) {
            IoChoice::Epoll
        } else {
            IoChoice::Uring
        }
    }
}

/// Whether there can be this many rings, all at once: what the kernel allows of one it may not allow of many.
///
/// On a thread of its own: the kernel takes a ring down some time after it was dropped, and interrupts whatever system
/// call the thread that made it is then in.
fn allowed(rings: usize, tokens: usize) -> bool {
    let all = move || {
        (0..rings)
            .map(|_| Ring::new(tokens))
            .collect::<io::Result<Vec<_>>>()
            .is_ok()
    };
    thread::Builder::new()
        .spawn(all)
        .is_ok_and(|probe| probe.join().unwrap_or(false))
}

/// Whether connections to `server` may be encrypted.
pub(crate) fn is_encrypted(server: &Endpoint) -> bool {
    match server.tls.mode {
        TlsMode::Disabled => false,
        TlsMode::Preferred => !matches!(server.transport, Transport::Unix(_)),
        _ => true,
    }
}

impl fmt::Display for IoChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::NAMES[*self as usize])
    }
}

impl FromStr for IoChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(IoChoice::Auto),
            "epoll" => Ok(IoChoice::Epoll),
            "uring" => Ok(IoChoice::Uring),
            _ => Err(format!("'{text}' is not one of {}", Self::NAMES.join(", "))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_by_name() {
        for name in IoChoice::NAMES {
            assert_eq!(name.parse::<IoChoice>().unwrap().to_string(), name);
        }
        assert!("iocp".parse::<IoChoice>().is_err());
    }
}
