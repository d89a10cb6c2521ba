//! What a command calls the options that name a running server. An error about an unreachable server speaks of these.

use niagara_load::Transport;

/// How the user names a running server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// By `--socket`, or `--host` and `--port`, with the `--database` of a load.
    Load,
    /// By `--socket`, or `--host` and `--port`.
    Options,
    /// By the argument ADDRESS.
    Address,
    /// Not at all: it was found on this machine, and ADDRESS would name it.
    Found,
    /// By `--share-host-with`.
    ShareHostWith,
    /// By `--config-from`, its account by `--config-user`.
    ConfigFrom,
}

impl Naming {
    /// Whether the load has a database on it.
    pub fn has_database(self) -> bool {
        self == Self::Load
    }

    /// What says where the server is.
    pub fn place(self, transport: &Transport) -> &'static str {
        match (self, transport) {
            (Self::Load | Self::Options, Transport::Unix(_)) => "--socket",
            (Self::Load | Self::Options, _) => "--host and --port",
            (Self::Address | Self::Found, _) => "ADDRESS",
            (Self::ShareHostWith, _) => "--share-host-with",
            (Self::ConfigFrom, _) => "--config-from",
        }
    }

    /// What to do about a place where nothing answers.
    pub fn check_place(self, transport: &Transport) -> String {
        let place = self.place(transport);
        match (self, transport) {
            (Self::Found, _) => format!(
                "check that the server runs, or name another by {place}, its socket or HOST:PORT"
            ),
            (_, Transport::Unix(_)) => format!(
                "check {place}, and that the server runs (`SELECT @@socket` on it says where it listens)"
            ),
            _ => format!(
                "check {place}, that the server runs, and that it listens on TCP (bind_address, skip_networking)"
            ),
        }
    }

    /// What to do about a host whose name nobody knows.
    pub fn check_host(self, name: &str, transport: &Transport) -> String {
        let by_options = matches!(self, Self::Load | Self::Options);
        match name.split_once(':') {
            Some((host, port)) if by_options && name.matches(':').count() == 1 => {
                format!("write --host {host} --port {port}")
            }
            _ if by_options => "check the spelling of --host".to_owned(),
            _ => format!("check the spelling of {}", self.place(transport)),
        }
    }

    /// What to do about a host that the account may not connect from.
    pub fn by_socket(self) -> String {
        let socket = match self {
            Self::Load | Self::Options => "use --socket".to_owned(),
            Self::Address | Self::Found => "give its socket as ADDRESS".to_owned(),
            Self::ShareHostWith => "give its socket to --share-host-with".to_owned(),
            Self::ConfigFrom => "give its socket to --config-from".to_owned(),
        };
        format!("the account may not connect from this host: grant it, or {socket}")
    }

    /// What to do about an account that is refused.
    pub fn check_account(self) -> &'static str {
        match self {
            Self::ConfigFrom => {
                "check --config-user and the password (NIAGARA_PASSWORD or MYSQL_PWD)"
            }
            _ => "check --user and the password (--password-file, NIAGARA_PASSWORD or MYSQL_PWD)",
        }
    }

    /// What to do about a server that takes no more connections.
    pub fn fewer_connections(self) -> &'static str {
        match self {
            Self::Load => "raise the server's max_connections, or take fewer --threads",
            _ => "try again when it has fewer connections, or raise its max_connections",
        }
    }
}
