//! Where a server is, in sysbench's words.

use niagara_load::Transport;

/// `socket '/run/a.sock'`, `host 'db', port 3306`.
pub fn place(transport: &Transport) -> String {
    match transport {
        Transport::Unix(path) => format!("socket '{}'", path.display()),
        Transport::Tcp(address) => format!("host '{}', port {}", address.ip(), address.port()),
        Transport::Host { name, port } => format!("host '{name}', port {port}"),
    }
}
