//! `niagara profile --socket PATH` and `--pid PID`: a server that runs already, read only.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use niagara_error::Explain as _;
use niagara_lab::{LiveSubject, profile_live};
use niagara_load::Admin;
use niagara_profile::LiveGap;
use niagara_server::machine::Fingerprint;
use niagara_server::{Cancelled, LiveProcess};
use serde::Serialize;

use super::{ProfileArgs, chosen_views, discard, folder, kept, options, results, show};
use crate::cmd::bench::args::{ConnectArgs, connect_args};
use crate::cmd::bench::connect::connect_within;
use crate::cmd::bench::naming::Naming;
use crate::interrupt::{exit_code, on_ctrl_c};
use crate::progress::Terminal;

/// Bound on the login and on each answer.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
#[command(next_help_heading = "Server that is already running")]
pub struct LiveArgs {
    /// Its process: observe it where it runs, change nothing
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), group = "live")]
    pub pid: Option<i32>,
    /// The same, by its Unix socket
    #[arg(long, value_name = "PATH", group = "live")]
    pub socket: Option<PathBuf>,
    /// The account that reads its counters [default with --socket: the user who runs this]
    ///
    /// Figures per query and its own account of locks need one. The password comes from --password-file, NIAGARA_PASSWORD, MYSQL_PWD,
    /// or is asked for on the terminal.
    #[arg(long, requires = "live")]
    pub user: Option<String>,
    /// File whose first line is the password [default: NIAGARA_PASSWORD or MYSQL_PWD, else asked for]
    #[arg(long, value_name = "FILE", requires = "live", hide_short_help = true)]
    pub password_file: Option<PathBuf>,
}

impl LiveArgs {
    /// The server that they name, if they name one.
    pub fn process(&self) -> Option<Result<LiveProcess>> {
        match (self.pid, &self.socket) {
            (Some(pid), _) => Some(LiveProcess::of(pid)),
            (None, socket) => socket.as_deref().map(LiveProcess::behind),
        }
    }

    /// A connection to the server for its counters, where its socket or an account was named.
    fn connection(&self, process: &LiveProcess) -> Result<Result<Admin, LiveGap>> {
        let asked_for =
            self.socket.is_some() || self.user.is_some() || self.password_file.is_some();
        let Some(socket) = process.socket.clone().filter(|_| asked_for) else {
            return Ok(Err(LiveGap::Queries { error: None }));
        };
        let at = ConnectArgs {
            socket: Some(socket),
            user: self.user.clone(),
            password_file: self.password_file.clone(),
            ..connect_args()
        };
        match connect_within(&at, Naming::Options, TIMEOUT) {
            Ok((_, admin)) => Ok(Ok(admin)),
            Err(error) if error.has::<Cancelled>() => Err(error),
            Err(error) => Ok(Err(LiveGap::Queries {
                error: Some(error.explain()),
            })),
        }
    }
}

/// What decides what a profile of a live server observes.
#[derive(Serialize)]
struct Plan {
    pid: i32,
    program: PathBuf,
    views: Vec<&'static str>,
    seconds: f64,
    slice_seconds: f64,
}

/// Profiles the server that the options name.
///
/// # Errors
/// It has ended, or shows no view; results that cannot be written.
pub fn run(args: &ProfileArgs, process: LiveProcess) -> Result<ExitCode> {
    let name = format!("profile-{}-{}", process.name(), process.pid);
    let folder = folder(args.out.as_deref(), &name)?;
    let cancel = on_ctrl_c()?;
    let connection = args.live.connection(&process)?;
    let views = chosen_views(args);
    let options = options(args, views);
    let plan = serde_json::to_value(Plan {
        pid: process.pid,
        program: process.program.clone(),
        views: options.views.iter().map(|view| view.name()).collect(),
        seconds: options.seconds,
        slice_seconds: options.slice_seconds,
    })?;
    let machine = Fingerprint::read(Path::new("/"));
    let store = results(&folder, plan, &machine, options.seed)?;
    let mut terminal = Terminal::new(args.seconds * options.views.len() as u32);
    terminal.line(&format!(
        "process {} ({}): its own load, read only",
        process.pid,
        process.program.display()
    ));
    let subject = LiveSubject {
        process,
        connection,
    };
    let found = profile_live(subject, &options, &cancel, &mut terminal);
    terminal.finish();
    let found = match found {
        Ok(found) => found,
        Err(error) => {
            discard(store, &folder);
            return Err(error);
        }
    };
    store.set_profile(&kept::record(1, &found)?)?;
    show(&store, &folder, args.json)?;
    let whole = args.views.iter().all(|view| view.is_in(&found));
    Ok(exit_code(cancel.is_cancelled(), whole))
}
