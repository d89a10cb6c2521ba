//! From the command line to the client host.

use std::sync::Arc;

use anyhow::Result;
use niagara_error::{anyhow, bail};
use niagara_lab::{ClientHost, ClientHostOptions, Event, Observer, RemoteShell, SSH_VARIABLE};
use niagara_server::Cancel;

use crate::progress::Terminal;
use crate::shared_args::ClientArgs;

/// The client host that the options name, its agent under way.
///
/// # Errors
/// It cannot be had, or options speak of one that is not named.
pub fn open(
    args: &ClientArgs,
    cancel: &Cancel,
    terminal: &mut Terminal,
) -> Result<Option<Arc<ClientHost>>> {
    let Some(host) = &args.client_host else {
        for (option, given) in [
            ("--server-address", args.server_address.is_some()),
            ("--ssh", args.ssh.is_some()),
        ] {
            if given {
                bail!(
                    "{option} requires a client host";
                    remedy: "name it with --client-host, or leave {option} out"
                );
            }
        }
        return Ok(None);
    };
    let options = ClientHostOptions {
        host: host.clone(),
        shell: shell(args)?,
        server_address: args.server_address,
    };
    let client = ClientHost::open(&options, cancel, &mut |text| {
        terminal.see(Event::SettingUp(text));
    })?;
    let record = client.record();
    terminal.line(&format!(
        "load from {host}, {}; its connections go from {} to {}",
        record.machine, record.address, record.server_address
    ));
    Ok(Some(Arc::new(client)))
}

fn shell(args: &ClientArgs) -> Result<RemoteShell> {
    if let Some(shell) = &args.ssh {
        return Ok(shell.clone());
    }
    match std::env::var(SSH_VARIABLE) {
        Ok(text) => text.parse().map_err(|error| {
            anyhow!("{SSH_VARIABLE}=`{text}`: {error}"; remedy: "set it to one, or unset it")
        }),
        Err(_) => Ok(RemoteShell::default()),
    }
}
