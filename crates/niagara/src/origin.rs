//! From the command line to what of the user's own server is the start.

use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use niagara_lab::lever::ProductionMachine;
use niagara_lab::{Data, Origin};
use niagara_origin::configuration::{ConfigSource, running_config};
use niagara_origin::data::DataSource;

use crate::cmd::bench::args::{ConnectArgs, connect_args};
use crate::cmd::bench::connect::connect;
use crate::cmd::bench::naming::Naming;
use crate::pack;
use crate::shared_args::OriginArgs;

/// What the options name; a running server is asked now, once.
///
/// # Errors
/// A file that cannot be read, a server that cannot be reached, data that cannot be used, a database without data.
pub fn origin(args: &OriginArgs) -> Result<Origin> {
    args.over(Origin::default())
}

/// What the options themselves name.
fn given(args: &OriginArgs) -> Result<Origin> {
    if let (Some(path), None) = (&args.pack, &args.packed_config) {
        let mut args = args.clone();
        args.packed_config = Some(pack::take(path, &mut args)?.config()?);
        return given(&args);
    }
    let config = match (&args.config, &args.config_from) {
        (Some(path), _) => Some(ConfigSource::file(path)?),
        (None, Some(address)) => Some(running(address, args.config_user.as_deref())?),
        (None, None) => args.packed_config.clone(),
    };
    let data = match &args.data {
        None => None,
        Some(path) => Some(Data {
            source: DataSource::open(path)?,
            database: args.schema.clone(),
        }),
    };
    Ok(Origin {
        config,
        data,
        machine: ProductionMachine {
            memory: args.memory,
            cpus: args.cpus,
        },
    })
}

impl OriginArgs {
    /// What the options name on top of what a study file says.
    ///
    /// # Errors
    /// As [`origin`].
    pub fn over(&self, file: Origin) -> Result<Origin> {
        let given = given(self)?;
        if self.schema.is_some() && given.data.is_none() && file.data.is_none() {
            bail!(
                "--schema names a database of your data, and there are none";
                remedy: "name them by --data"
            );
        }
        Ok(Origin {
            config: given.config.or(file.config),
            data: given.data.or(file.data).map(|data| Data {
                database: self.schema.clone().or(data.database),
                ..data
            }),
            machine: ProductionMachine {
                memory: given.machine.memory.or(file.machine.memory),
                cpus: given.machine.cpus.or(file.machine.cpus),
            },
        })
    }
}

fn running(address: &str, user: Option<&str>) -> Result<ConfigSource> {
    let mut at = connect_args();
    at.user = user.map(str::to_owned);
    let at = at_address(address, at)?;
    let (endpoint, mut admin) = connect(&at, Naming::ConfigFrom)?;
    let running = running_config(&mut admin, address, Some(&endpoint.transport))?;
    Ok(ConfigSource::Running(running))
}

/// Whether a socket is there; a host may have any name without a slash.
fn is_socket(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.file_type().is_socket())
}

/// Options of a running server that is named by the path of its socket or by HOST:PORT.
///
/// # Errors
/// A port that is none.
pub fn at_address(address: &str, mut at: ConnectArgs) -> Result<ConnectArgs> {
    if address.contains('/') || is_socket(Path::new(address)) {
        at.socket = Some(PathBuf::from(address));
    } else if let Ok(address) = address.parse::<SocketAddr>() {
        at.host = Some(address.ip().to_string());
        at.port = address.port();
    } else {
        let (host, port) = match address.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        };
        at.host = Some(host.to_owned());
        if let Some(port) = port {
            at.port = port
                .parse()
                .with_context(|| format!("{address}: {port} is no port"))
                .remedy("HOST:PORT with a number up to 65535, or the path of its socket")?;
        }
    }
    Ok(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_slash_is_a_socket_where_one_is() {
        // In the current folder, where the user names it by its name alone.
        let name = format!("niagara-{}.sock", std::process::id());
        let host = at_address(&name, connect_args()).expect("an address");
        assert_eq!((host.socket, host.host), (None, Some(name.clone())));
        let listener = std::os::unix::net::UnixListener::bind(&name);
        let socket = at_address(&name, connect_args());
        std::fs::remove_file(&name).expect("removed");
        drop(listener);
        assert_eq!(
            socket.expect("an address").socket,
            Some(PathBuf::from(name))
        );
    }
}
