//! The server under load: a private one that is made for the run, or one that is already running.

use std::time::Duration;

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, anyhow};
use niagara_lab::{Inventory, Load, Variant, Workbench, server_name, variant_of};
use niagara_load::{Admin, Endpoint, LoadError, Transport};
use niagara_server::Cancel;
use niagara_server::{RunningServer, TransportKind, UsageMeter, WorkFolder, server_behind};

use super::args::{BenchArgs, ConnectArgs, PrivateArgs, TransportArg};
use super::connect::{ADMIN_TIMEOUT, connect, unreachable};
use super::naming::Naming;
use crate::load_args::check_data;
use crate::origin::origin;
use crate::progress::Terminal;

/// The server when none is named.
const DEFAULT_SERVER: &str = "mariadb-10.11";

/// A server that can be loaded, and what is known of it.
pub struct Target {
    /// The way to it.
    pub endpoint: Endpoint,
    /// A connection for everything but the load.
    pub admin: Admin,
    /// What it calls itself: `10.11.19-MariaDB`.
    pub version: String,
    /// The kernel's counters of its process, or why they cannot be had.
    pub meter: Result<UsageMeter, String>,
    /// What a private server is called: its name, and what was changed on it.
    pub private: Option<String>,
    server: Option<RunningServer>,
    // Dropped after the server: its folder goes when nothing uses it any more.
    _clone: Option<WorkFolder>,
}

impl Target {
    /// Starts a private server on a clone of the dataset, all of it read once.
    ///
    /// # Errors
    /// It cannot be fetched, filled or started.
    pub fn private(args: &BenchArgs, load: &Load, cancel: &Cancel) -> Result<Target> {
        let name = args.private.server.as_deref().unwrap_or(DEFAULT_SERVER);
        let name = server_name(name)?;
        let origin = origin(&args.origin)?;
        check_data(&load.workload, &origin)?;
        let inventory = Inventory::open(&args.private.servers, &args.private.levers)?;
        let mut terminal = Terminal::new(Duration::ZERO);
        let mut bench = inventory
            .workbench(load.clone(), cancel.clone())
            .starting_from(&origin);
        let started = variant(&args.private, &name, &inventory, &mut bench, &mut terminal)
            .and_then(|variant| Ok((start(&bench, &variant, &mut terminal)?, variant)));
        terminal.finish();
        let ((server, clone), variant) = started?;
        cancel.check()?;
        let endpoint = bench.endpoint(&server, &variant);
        let mut admin = Admin::connect(&endpoint, ADMIN_TIMEOUT)?;
        Ok(Target {
            version: version(&mut admin)?,
            meter: UsageMeter::new(server.pid()).map_err(|error| format!("{error:#}")),
            endpoint,
            admin,
            private: Some(variant.label()),
            server: Some(server),
            _clone: Some(clone),
        })
    }

    /// Connects to a server that is already running.
    ///
    /// # Errors
    /// It is not there or refuses the account.
    pub fn running(args: &ConnectArgs, naming: Naming) -> Result<Target> {
        let (endpoint, mut admin) = connect(args, naming)?;
        Ok(Target {
            version: version(&mut admin)?,
            meter: meter_of(&endpoint.transport),
            endpoint,
            admin,
            private: None,
            server: None,
            _clone: None,
        })
    }

    /// For people: `MariaDB 10.11.19 (private mariadb-10.11, 127.0.0.1:4711)`.
    pub fn title(&self) -> String {
        let place = match &self.private {
            Some(name) => format!("private {name}, {}", self.endpoint.transport),
            None => self.endpoint.transport.to_string(),
        };
        format!("{} ({place})", self.version)
    }

    /// An error of the load in words for who sees one server only, with the log of a private one that has ended.
    pub fn explain(&self, error: LoadError) -> anyhow::Error {
        let explained = match &error {
            LoadError::ServerLost { cause, .. } => anyhow!(
                "the load on the server at {} was given up: {cause}",
                self.endpoint.transport
            ),
            LoadError::Statement {
                code,
                message,
                statement,
                ..
            } => {
                anyhow!("the server refused a statement with error {code} ({message}): {statement}")
            }
            LoadError::Data {
                cause, statement, ..
            } => anyhow!(
                "{cause}, says the answer to: {statement}";
                remedy: "`prepare --replace` with the options of the run loads the tables again"
            ),
            LoadError::Connect { .. } => unreachable(&error, &self.endpoint, Naming::Load),
            _ => anyhow!(error),
        };
        match &self.server {
            Some(server) if !server.is_alive() => explained.context(format!(
                "the private server has ended; last lines of its log:\n{}",
                server.log_tail(20)
            )),
            _ => explained,
        }
    }
}

/// What the options ask for, set up on `bench`.
fn variant(
    args: &PrivateArgs,
    server: &str,
    inventory: &Inventory,
    bench: &mut Workbench,
    terminal: &mut Terminal,
) -> Result<Variant> {
    let changes = args.variant.as_deref().unwrap_or("base");
    let mut variant = variant_of(changes, server, inventory, bench, terminal)?;
    if let Some(transport) = args.transport {
        variant.runtime.transport = match transport {
            TransportArg::Tcp => None,
            TransportArg::Unix => Some(TransportKind::Unix),
            TransportArg::Tls => Some(TransportKind::Tls),
        };
    }
    Ok(variant)
}

fn start(
    bench: &Workbench,
    variant: &Variant,
    terminal: &mut Terminal,
) -> Result<(RunningServer, WorkFolder)> {
    use niagara_lab::{Event, Observer};
    terminal.see(Event::SettingUp(&format!("starting {}", variant.server)));
    if bench.load().workload.is_job() {
        return bench.start_cold(variant);
    }
    let clone = bench.clone_for(variant)?;
    bench.cancel().check()?;
    let server = bench.spawn(variant, &clone)?.wait_ready()?;
    bench.cancel().check()?;
    // What fits into the buffer pool is in it before any load, as in duels.
    bench.read_tables(&server, variant, bench.load())?;
    Ok((server, clone))
}

fn version(admin: &mut Admin) -> Result<String> {
    let version = admin
        .value("SELECT VERSION()")?
        .context("the server does not say its version")
        .remedy("check that it is a server of the MySQL family")?;
    let number: String = version
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let comment = admin.value("SELECT @@version_comment")?.unwrap_or_default();
    let name = if version.contains("MariaDB") {
        "MariaDB"
    } else if comment.contains("Percona") {
        "Percona Server"
    } else {
        "MySQL"
    };
    Ok(format!("{name} {number}"))
}

/// The kernel's counters of the process behind an address of this machine, or why they cannot be had.
fn meter_of(transport: &Transport) -> Result<UsageMeter, String> {
    server_behind(transport)
        .and_then(UsageMeter::new)
        .map_err(|error| format!("{error:#}"))
}
