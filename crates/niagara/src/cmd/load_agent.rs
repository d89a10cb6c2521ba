//! `niagara load-agent`: the end of a two-machine study that drives the load. Nobody types it.

use std::io::{IsTerminal, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};
use niagara_error::bail;
use niagara_load::remote::{Greeting, serve};
use niagara_server::machine::Fingerprint;

pub fn run() -> Result<ExitCode> {
    if stdin().is_terminal() {
        bail!(
            "the load agent is started over ssh, by a study on another host";
            remedy: "there, say `niagara compare … --client-host` with this host's name"
        );
    }
    let greeting = Greeting {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        binary: niagara_lab::own_hash()?,
        machine: Fingerprint::read(Path::new("/")).one_line(),
        ssh_connection: std::env::var("SSH_CONNECTION").ok(),
    };
    // Nothing outlives the study: whatever runs here ends with this process.
    let gone = || std::process::exit(0);
    serve(stdin(), stdout().lock(), &greeting, gone).context("the load agent")?;
    Ok(ExitCode::SUCCESS)
}
