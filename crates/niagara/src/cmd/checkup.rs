//! `niagara checkup`: ten seconds on a live server, read only.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use jiff::Zoned;
use jiff::civil::Date;
use niagara_checkup::{Checkup, Look, Request, checkup, html, read, screen};
use niagara_error::bail;
use niagara_lab::lever;
use niagara_load::{TlsMode, Transport};
use niagara_server::{Catalog, ServerDescription, listening_servers};

use crate::cmd::bench::args::ConnectArgs;
use crate::cmd::bench::connect::connect_within;
use crate::cmd::bench::naming::Naming;
use crate::cmd::capture::stop_flag;
use crate::command_line::VERSION;
use crate::json::{self, Document, Printed};
use crate::origin::at_address;
use crate::progress::{colour_on_stdout, columns_of_stdout};
use crate::shared_args::{EXIT_CODES, duration};
use crate::whole_file;

impl Printed for Checkup {
    const DOCUMENT: Document = Document::Checkup;
}

/// Bound on the login and on each wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Where servers listen that packages have installed.
const USUAL_SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/var/run/mysqld/mysqld.sock",
    "/tmp/mysql.sock",
];

/// A live server in ten seconds, read only: where its time goes, what is wrong, and how to prove it
///
/// It sends SELECT and SHOW only, in a session that is read only. The server ends a SELECT after 2 s, and opens few tables; a release
/// without that limit is not asked about tables. Each finding rests on what this server shows, and ends with the command that proves
/// it on copies. None promises a gain. It uses the privileges that the account has and says what more would add. docs/slow.md shows a
/// result.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
#[command(mut_arg("database", |arg| arg.hide(true)), mut_arg("replace", |arg| arg.hide(true)), mut_arg("yes", |arg| arg.hide(true)))]
#[command(before_help = "Examples:
  sudo niagara checkup
  sudo niagara checkup /run/mysqld/mysqld.sock --user root
  niagara checkup db1:3306 --user monitor --html checkup.html")]
pub struct CheckupArgs {
    /// Its socket or HOST:PORT [default: the server that runs on this machine]
    #[arg(value_name = "ADDRESS", conflicts_with_all = ["socket", "host"])]
    pub address: Option<String>,
    /// How long the checkup takes
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = length)]
    pub length: Duration,
    /// The day that releases are past their end on
    #[arg(long, value_name = "DATE", hide = true)]
    pub today: Option<Date>,
    /// Show each lever and how the server is set
    #[arg(long)]
    pub levers: bool,
    /// Write the result as a page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

/// Shorter ones see nothing, longer ones are for monitoring.
fn length(text: &str) -> Result<Duration, String> {
    let bounds = Duration::from_secs(1)..=Duration::from_secs(600);
    duration(text)
        .ok()
        .filter(|length| bounds.contains(length))
        .ok_or_else(|| "expected a time from 1s to 10m".to_owned())
}

pub fn run(args: CheckupArgs) -> Result<ExitCode> {
    let levers = lever::load(&[])?;
    let servers: Vec<String> = Catalog::load(&[])?
        .iter()
        .map(|server: &ServerDescription| server.name.clone())
        .collect();
    let (at, naming) = the_server(args.address.as_deref(), args.connect)?;
    let (endpoint, mut admin) = connect_within(&at, naming, TIMEOUT)?;
    let stop = stop_flag("stopping")?;
    let address = match &endpoint.transport {
        Transport::Unix(path) => path.display().to_string(),
        other => other.to_string(),
    };
    let request = Request {
        address: &address,
        login: &login(&at),
        transport: &endpoint.transport,
        today: args.today.unwrap_or_else(|| Zoned::now().date()),
        length: args.length,
        stop: &stop,
    };
    let facts = read(&mut admin, &request);
    // The server counts a client that goes without a word.
    admin.quit();
    let facts = facts?;
    let checkup = checkup(facts, &levers, &servers)?;
    if let Some(path) = &args.html {
        whole_file::write(path, &html(&checkup, VERSION))?;
    }
    match args.json {
        true => json::print(&checkup)?,
        false => {
            let look = Look {
                colour: colour_on_stdout(),
                width: columns_of_stdout(),
                levers: args.levers,
            };
            say_text!("{}", screen(&checkup, look));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The options by which another command logs in as this one.
fn login(at: &ConnectArgs) -> Vec<String> {
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let tls = (at.tls != TlsMode::Preferred).then(|| at.tls.to_string());
    let options = [
        ("--user", at.user.clone()),
        ("--password-file", path(&at.password_file)),
        ("--tls", tls),
        ("--tls-ca", path(&at.tls_ca)),
        ("--tls-cert", path(&at.tls_cert)),
        ("--tls-key", path(&at.tls_key)),
    ];
    let given = options
        .into_iter()
        .filter_map(|(name, value)| Some([name.to_owned(), value?]));
    given.flatten().collect()
}

/// The server at `address`, or that of the options, or the only one of this machine; and which of these it is.
///
/// # Errors
/// None is named, and there is none, or there are several.
pub fn the_server(address: Option<&str>, connect: ConnectArgs) -> Result<(ConnectArgs, Naming)> {
    Ok(match (address, connect.is_foreign()) {
        (Some(address), _) => (at_address(address, connect)?, Naming::Address),
        (None, true) => (connect, Naming::Options),
        (None, false) => {
            let at = ConnectArgs {
                socket: Some(found(listening_servers())?),
                ..connect
            };
            (at, Naming::Found)
        }
    })
}

/// The socket of the only server of this machine.
fn found(running: Vec<(i32, PathBuf)>) -> Result<PathBuf> {
    match running.as_slice() {
        [(_, path)] => Ok(path.clone()),
        [] => {
            let mut usual = USUAL_SOCKETS.iter().map(Path::new);
            match usual.find(|path| path.exists()) {
                Some(path) => Ok(path.to_path_buf()),
                None => bail!(
                    "no server was found on this machine";
                    remedy: "name its socket or HOST:PORT, as in niagara checkup db1:3306"
                ),
            }
        }
        several => {
            let sockets: Vec<String> = several
                .iter()
                .map(|(pid, path)| format!("{} (process {pid})", path.display()))
                .collect();
            bail!(
                "several servers run on this machine: {}", sockets.join(", ");
                remedy: "name one, as in niagara checkup {}", several[0].1.display()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;
    use crate::cmd::bench::args::connect_args;

    #[test]
    fn one_running_server_is_found_several_are_named() {
        let server = |pid: i32, path: &str| (pid, PathBuf::from(path));
        let one = found(vec![server(7, "/a.sock")]).expect("one");
        assert_eq!(one, PathBuf::from("/a.sock"));
        let several = found(vec![server(7, "/a.sock"), server(8, "/b.sock")]);
        let text = several.expect_err("two").explain().to_string();
        assert!(
            text.contains("/b.sock (process 8)") && text.contains("remedy"),
            "{text}"
        );
    }

    #[test]
    fn other_commands_log_in_likewise() {
        let plain = connect_args();
        assert_eq!(login(&plain), [""; 0]);
        let at = ConnectArgs {
            user: Some("app".to_owned()),
            tls: TlsMode::VerifyCa,
            tls_ca: Some(PathBuf::from("/ca.pem")),
            ..plain
        };
        let words = ["--user", "app", "--tls", "verify_ca", "--tls-ca", "/ca.pem"];
        assert_eq!(login(&at), words);
    }

    #[test]
    fn the_time_is_bounded() {
        assert_eq!(length("2s"), Ok(Duration::from_secs(2)));
        assert!(length("500ms").is_err() && length("1h").is_err());
    }
}
