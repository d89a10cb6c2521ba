//! `niagara` alone: what this machine is like, what is here already, what to do first.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::CommandFactory;
use niagara_lab::{Inventory, RESULTS_FILE};
use niagara_report::wrapped;
use niagara_server::installed;
use niagara_server::machine::{MachineState, Tools};
use niagara_store::Store;

use crate::args::Cli;
use crate::cmd::profile::kept;
use crate::cmd::report::newest;
use crate::command_line::VERSION;
use crate::doctor;
use crate::progress::{colour_on_stdout, columns_of_stdout, in_columns};

/// How long the machine is watched for what else it does.
const WATCH: Duration = Duration::from_millis(500);
/// Exit code of a command line without a command, as clap's own.
const USAGE: u8 = 2;

/// On a terminal a first screen; elsewhere, where a script forgot the command, the usage as an error.
pub fn run() -> Result<ExitCode> {
    if !std::io::stdout().is_terminal() {
        tell!("{}", Cli::command().render_help());
        return Ok(ExitCode::from(USAGE));
    }
    say_text!("{}", screen()?);
    Ok(ExitCode::SUCCESS)
}

fn screen() -> Result<String> {
    let inventory = Inventory::open(&[], &[])?;
    let fingerprint = inventory.fingerprint()?;
    let now = MachineState::watch(&inventory.cache.work()?, WATCH)?;
    let found = doctor::in_short(&fingerprint, &now, &Tools::find(), colour_on_stdout());
    let servers: Vec<String> = installed(&inventory.cache)?
        .into_iter()
        .map(|install| format!("{} ({})", install.name, install.version_string))
        .collect();
    let servers = match servers.is_empty() {
        true => "none yet; the first tuning fetches one (some 100 MB)".to_owned(),
        false => servers.join(", "),
    };
    let last = last_result().unwrap_or_else(|| "none in this folder".to_owned());
    let width = columns_of_stdout();
    Ok(format!(
        "Niagara {}: finds what makes a MySQL-family server faster here, and proves it.\n\n\
         {}\n\n\
         {}\n\
         {}\n\n\
         What to do first:\n{FIRST}\n",
        VERSION,
        in_columns(&found, width),
        wrapped("Servers here: ", &servers, width),
        wrapped("Last result:  ", &last, width),
    ))
}

/// What a newcomer may type, in 80 columns.
const FIRST: &str = "  \
    sudo niagara checkup               on your server: ten seconds, read only\n  \
    sudo niagara pack --schema shop    on your server: traffic, data and settings\n  \
    niagara advise shop.niagara        elsewhere: indexes that statements need\n  \
    niagara tune shop.niagara          elsewhere: settings, proven; or mariadb-10.11\n  \
    niagara --help                     all commands";

/// The newest study's finding and its folder; nothing where there is none, or it cannot be read.
fn last_result() -> Option<String> {
    let folder = newest().ok()?;
    let store = Store::open_read_only(&folder.join(RESULTS_FILE)).ok()?;
    let found = match store.summary().ok()? {
        Some(summary) => niagara_report::headline(&summary),
        None if store.study().ok()?.kind == kept::KIND => {
            let diagnosed = niagara_report::diagnosed_profiles(&store).ok()?;
            let profiles: Vec<_> = diagnosed.into_iter().map(|one| one.profile).collect();
            niagara_report::profile_headline(&profiles)
        }
        None => "stopped before there was anything to sum up".to_owned(),
    };
    Some(format!("{found} (niagara report {})", folder.display()))
}
