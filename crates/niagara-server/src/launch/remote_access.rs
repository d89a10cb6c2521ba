//! From where a server can be reached: from this host alone, unless somebody asks for more.

use std::net::{IpAddr, Ipv4Addr, TcpListener};

use anyhow::Result;
use niagara_error::problem;

use super::start_obstacle::{Around, AroundServer};

/// One other host that may reach a server, and where it finds it. The server then listens on that address of this host in
/// place of the loopback, and lets nobody in from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteAccess {
    /// The address of this host that the server listens on.
    pub listen: IpAddr,
    /// The address that the other host comes from: it gets an account.
    pub client: IpAddr,
    /// The one database that this account may use.
    pub database: String,
}

/// Where a server listens.
pub(crate) fn listen_address(remote: Option<&RemoteAccess>) -> IpAddr {
    remote.map_or(Ipv4Addr::LOCALHOST.into(), |remote| remote.listen)
}

/// A port of `address` that nobody listens on now.
pub(crate) fn free_port(address: IpAddr) -> Result<u16> {
    let listener = TcpListener::bind((address, 0)).map_err(|error| {
        let told = match error.kind() {
            std::io::ErrorKind::AddrNotAvailable => problem!(
                "{address} is not an address of this host";
                remedy: "name one that it has (`ip address` lists them)"
            ),
            _ => problem!("no free TCP port on {address}: {error}"),
        };
        AroundServer::new(Around::Port, told)
    })?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[test]
    fn only_addresses_of_this_host_have_free_ports() -> Result<()> {
        assert!(free_port(listen_address(None))? > 0);
        // TEST-NET-3: nobody's.
        let error = free_port("203.0.113.7".parse()?).expect_err("not of this host");
        assert!(error.explain().to_string().contains("remedy"), "{error}");
        assert_eq!(Around::of(&error), Some(Around::Port));
        Ok(())
    }
}
