//! From the command line to what of the user's own server is the start.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Result;
use niagara_lab::Origin;
use niagara_lab::lever::ProductionMachine;
use niagara_origin::configuration::{ConfigSource, running_config};

use crate::cmd::bench::{Target, connect_args};
use crate::shared_args::OriginArgs;

/// What the options name; a running server is asked now, once.
///
/// # Errors
/// A file that cannot be read, a server that cannot be reached.
pub fn origin(args: &OriginArgs) -> Result<Origin> {
    let config = match (&args.config, &args.config_from) {
        (Some(path), _) => Some(ConfigSource::file(path)?),
        (None, Some(address)) => Some(running(address, args.config_user.as_deref())?),
        (None, None) => None,
    };
    Ok(Origin {
        config,
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
        let given = origin(self)?;
        Ok(Origin {
            config: given.config.or(file.config),
            machine: ProductionMachine {
                memory: given.machine.memory.or(file.machine.memory),
                cpus: given.machine.cpus.or(file.machine.cpus),
            },
        })
    }
}

fn running(address: &str, user: Option<&str>) -> Result<ConfigSource> {
    let mut connect = connect_args();
    connect.user = user.map(str::to_owned);
    if address.contains('/') {
        connect.socket = Some(PathBuf::from(address));
    } else if let Ok(address) = address.parse::<SocketAddr>() {
        connect.host = Some(address.ip().to_string());
        connect.port = address.port();
    } else {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        connect.host = Some(host.to_owned());
        connect.port = port.parse().unwrap_or(connect.port);
    }
    let mut target = Target::running(&connect)?;
    Ok(ConfigSource::Running(running_config(
        &mut target.admin,
        address,
    )?))
}
