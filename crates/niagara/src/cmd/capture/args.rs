//! The options of `niagara capture`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, Args, Subcommand, ValueEnum};
use jiff::tz::TimeZone;
use niagara_capture::client::{
    ClientSettings, ClientsOfUser, Knowledge, UnknownCharset, UnknownFlag,
};
use niagara_capture::info::Sort;
use niagara_capture::sql::SqlMode;
use niagara_lab::quantity::bytes;

use crate::cmd::bench::args::ConnectArgs;
use crate::shared_args::duration;

/// What `--yes` agrees to of `start`.
const YES: &str = "Capture although it reaches the server's own logs: a slow log that is on gets every statement of connections that outlast the \
    capture, a general log that goes to a table goes to a file meanwhile";

/// Your own traffic: from a running server, from its slow or general logs, or from recorded packets (pcap)
///
/// A capture is one file (shop.capture), readable by you only. It holds what the logs say: sessions, transactions,
/// statements with their literals, times, rows. Literals are hidden in everything that is shown, unless asked for;
/// statements about accounts are dropped. docs/capture.md has the format, and what each source can show.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
#[command(before_help = "Examples:
  niagara capture import /var/log/mysql/slow.log* -o shop.capture
  niagara capture start --socket /run/mysqld/mysqld.sock --for 10m -o shop.capture")]
pub struct CaptureArgs {
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    Import(ImportArgs),
    Info(InfoArgs),
    Filter(FilterArgs),
    Export(ExportArgs),
    Advise(AdviseArgs),
    Start(Box<StartArgs>),
    Stop(StopArgs),
    /// Watch over a server's settings (started by `capture start`)
    #[command(hide = true)]
    Guard,
}

/// Make a capture from slow logs, from general logs, or from recorded packets (pcap, pcapng); of one kind at a time
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara capture import /var/log/mysql/slow.log* -o shop.capture
  niagara capture import general.log.1.gz general.log -o shop.capture --time-zone Europe/Vienna
  niagara capture import shop.pcap -o shop.capture")]
pub struct ImportArgs {
    /// The logs or recordings, in any order: rotated, compressed (gzip, zstd, xz)
    #[arg(required = true, value_name = "LOG")]
    pub logs: Vec<PathBuf>,
    #[command(flatten)]
    pub output: NewFile,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// A dump with the functions, triggers and views of the server's databases, or a folder of mydumper's: general logs have their
    /// statements too, and a replay would execute them twice (mariadb-dump --no-data --routines --triggers)
    #[arg(long, value_name = "DUMP")]
    pub routines: Vec<PathBuf>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
}

/// The file that is made.
#[derive(Debug, Args)]
pub struct NewFile {
    /// The capture to make
    #[arg(
        short,
        long,
        visible_alias = "out",
        value_name = "FILE",
        default_value = "shop.capture"
    )]
    pub output: PathBuf,
    /// Replace a file of that name
    #[arg(long)]
    pub force: bool,
    /// It goes into a pack, and nobody will find it under its name
    #[arg(skip)]
    pub for_pack: bool,
}

/// What a log does not say about itself.
#[derive(Debug, Args)]
pub struct ReadingArgs {
    /// The server's time zone, for logs in local time (MariaDB's general log) [default: this machine's]
    #[arg(long, value_name = "ZONE", value_parser = time_zone)]
    pub time_zone: Option<TimeZone>,
    /// The server's sql_mode for new sessions, as @@sql_mode shows it; ANSI_QUOTES and NO_BACKSLASH_ESCAPES matter [default:
    /// none of these; of a capture on a running server, what that says]
    #[arg(long, value_name = "MODES")]
    pub sql_mode: Option<SqlMode>,
    /// Flags that clients negotiated at their logins, of all users or of one: found_rows (JDBC, Rails, Django, SQLAlchemy),
    /// multi_statements, ignore_space, interactive, no_schema, local_files, session_track, or none [default: what recorded logins say,
    /// or statements show]
    #[arg(long, value_name = "[USER=]FLAGS", value_parser = client_flags)]
    pub client_flags: Vec<ClientsOfUser>,
    /// The character set that clients negotiated at their logins, of all users or of one, such as latin1 or web=gbk [default: what
    /// recorded logins or a running server say, or statements show; else utf8mb4]
    #[arg(long, value_name = "[USER=]NAME", value_parser = charset)]
    pub charset: Vec<ClientsOfUser>,
    /// Exit with 0 although up to this share of the source, by entries and by bytes, was not understood; 100 for whatever is lost
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    pub max_loss: f64,
}

impl ReadingArgs {
    /// What was said of the clients.
    pub fn clients(&self) -> Vec<ClientsOfUser> {
        [&self.client_flags[..], &self.charset[..]].concat()
    }
}

/// What is in a capture: digests by share of time, sessions, transactions, concurrency, what was dropped
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara capture info shop.capture
  niagara capture info shop.capture --sort rows
  niagara capture info shop.capture 5f3c            (one statement, by the beginning of its digest)
  niagara capture info shop.capture --json | jq '.digests[0]'")]
pub struct InfoArgs {
    /// The capture
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,
    /// Everything about one statement: its digest, or the beginning of it
    #[arg(value_name = "DIGEST")]
    pub digest: Option<String>,
    /// The order of the digests
    #[arg(long, value_enum, default_value_t = SortArg::Time)]
    pub sort: SortArg,
    /// How many digests are shown
    #[arg(long, default_value_t = 20)]
    pub top: usize,
    /// With a digest: show samples as they were sent, with what people typed, names, addresses
    #[arg(long, requires = "digest")]
    pub literals: bool,
    /// With a digest: write a file of a statement in its place, to be edited for `niagara compare base rewrite=FILE`
    #[arg(long, requires = "digest", conflicts_with_all = ["json", "literals"])]
    pub as_rewrite: bool,
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// What digests are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    /// Most time first
    Time,
    /// Most rows read first
    Rows,
    /// Most executions first
    Calls,
}

impl From<SortArg> for Sort {
    fn from(arg: SortArg) -> Sort {
        match arg {
            SortArg::Time => Sort::Time,
            SortArg::Rows => Sort::Rows,
            SortArg::Calls => Sort::Calls,
        }
    }
}

/// A part of a capture, as a capture
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara capture filter shop.capture -o reads.capture --database shop --read-only
  niagara capture filter shop.capture -o noon.capture --from +10m --to +20m")]
pub struct FilterArgs {
    /// The capture
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,
    /// The capture to make
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Replace a file of that name
    #[arg(long)]
    pub force: bool,
    /// What begins at this time or later: 2026-11-22T20:00:00Z, or +10m from the capture's beginning
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// What begins before this time
    #[arg(long, value_name = "TIME")]
    pub to: Option<String>,
    /// Only with these databases in use, comma-separated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub database: Vec<String>,
    /// Only by these users, comma-separated
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub user: Vec<String>,
    /// Only these digests (the beginning of their number is enough), comma-separated
    #[arg(long, value_name = "DIGEST", value_delimiter = ',')]
    pub digest: Vec<String>,
    /// Only what changes nothing
    #[arg(long)]
    pub read_only: bool,
}

/// A capture as JSON lines
#[derive(Debug, Args)]
#[command(before_help = "Examples:
  niagara capture export shop.capture | head
  niagara capture export shop.capture --literals -o shop.jsonl")]
pub struct ExportArgs {
    /// The capture
    #[arg(value_name = "CAPTURE")]
    pub capture: PathBuf,
    /// Write to this file, readable by you only, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Statements as they were sent: with what people typed, names, addresses
    #[arg(long)]
    pub literals: bool,
}

/// What to set on a running server for the time of a capture, and how to undo it; changes nothing
#[derive(Debug, Args)]
#[command(mut_arg("database", |arg| arg.hide(true)), mut_arg("replace", |arg| arg.hide(true)), mut_arg("yes", |arg| arg.hide(true)))]
#[command(before_help = "Examples:
  niagara capture advise --socket /run/mysqld/mysqld.sock
  niagara capture advise --host db1 --user admin --json")]
pub struct AdviseArgs {
    /// Where the server would write the log [default: a file in its data directory]
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

/// Have a running server log every statement, for a time or until `capture stop`
///
/// Sets what `capture advise` prints and sets it back at the end: when the time is over, on Ctrl-C, when this command is
/// killed, when the log is as long as it may be or the disk is nearly full. A process of its own watches over it.
/// Connections that are opened meanwhile keep long_query_time = 0 until they close: where the slow log is on already, --yes is
/// asked for, and the end says how many are left.
#[derive(Debug, Args)]
#[command(mut_arg("database", |arg| arg.hide(true)), mut_arg("replace", |arg| arg.hide(true)), mut_arg("yes", |arg| arg.help(YES).long_help(None)))]
#[command(before_help = "Examples:
  niagara capture start --socket /run/mysqld/mysqld.sock --for 10m -o shop.capture
  niagara capture start --socket /run/mysqld/mysqld.sock --max-size 4G   (until `niagara capture stop`)")]
#[command(mut_args(with_length))]
pub struct StartArgs {
    /// Capture for this long, then make the capture; without it the capture continues until `capture stop`, which names the file
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    pub length: Option<Duration>,
    #[command(flatten)]
    pub output: NewFile,
    #[command(flatten)]
    pub limits: LimitArgs,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Keep the server's log beside the capture
    #[arg(long)]
    pub keep_log: bool,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

/// Options for the file that a capture becomes: without its length `capture stop` makes that.
const OF_THE_FILE: [&str; 8] = [
    "output",
    "force",
    "keep_log",
    "time_zone",
    "sql_mode",
    "client_flags",
    "charset",
    "max_loss",
];

/// Refuses these options without the length.
fn with_length(arg: Arg) -> Arg {
    match OF_THE_FILE.contains(&arg.get_id().as_str()) {
        true => arg.requires("length"),
        false => arg,
    }
}

/// What a capture may take.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// Where the server writes the log: a new file [default: one in its data directory]
    #[arg(long, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
    /// Longest log; the capture ends there
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = bytes)]
    pub max_size: u64,
    /// Free space that stays on the log's disk; the capture ends there
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    pub min_free: u64,
    /// Longest time of a capture without --for, and of a pack's dump
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub max_time: Duration,
}

/// End a capture that was started without --for, or one whose processes were all killed
#[derive(Debug, Args)]
#[command(mut_arg("database", |arg| arg.hide(true)), mut_arg("replace", |arg| arg.hide(true)), mut_arg("yes", |arg| arg.hide(true)))]
#[command(before_help = "Examples:
  niagara capture stop --socket /run/mysqld/mysqld.sock -o shop.capture
  niagara capture stop --socket /run/mysqld/mysqld.sock --no-import")]
pub struct StopArgs {
    #[command(flatten)]
    pub output: NewFile,
    #[command(flatten)]
    pub reading: ReadingArgs,
    /// Only set everything back; the log stays where it is
    #[arg(long)]
    pub no_import: bool,
    /// Keep the server's log beside the capture
    #[arg(long)]
    pub keep_log: bool,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

/// `found_rows`, `web=found_rows,interactive`.
fn client_flags(text: &str) -> Result<ClientsOfUser, String> {
    let (user, flags) = of_user(text);
    let flags = flags
        .parse()
        .map_err(|error: UnknownFlag| error.to_string())?;
    let flags = Some(flags);
    Ok(given(
        user,
        ClientSettings {
            flags,
            charset: None,
        },
    ))
}

/// `latin1`, `web=gbk`.
fn charset(text: &str) -> Result<ClientsOfUser, String> {
    let (user, name) = of_user(text);
    let charset = name
        .parse()
        .map_err(|error: UnknownCharset| error.to_string())?;
    let charset = Some(charset);
    Ok(given(
        user,
        ClientSettings {
            flags: None,
            charset,
        },
    ))
}

/// A user, if one is named, and what is said of it.
fn of_user(text: &str) -> (Option<&str>, &str) {
    match text.rsplit_once('=') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, text),
    }
}

fn given(user: Option<&str>, settings: ClientSettings) -> ClientsOfUser {
    ClientsOfUser {
        user: user.map(str::to_owned),
        settings,
        known: Knowledge::Given,
        statements: 0,
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).parse::<f64>().ok();
    number
        .filter(|number| (0.0..=100.0).contains(number))
        .ok_or_else(|| "expected a share from 0 to 100".to_owned())
}

fn time_zone(text: &str) -> Result<TimeZone, String> {
    TimeZone::get(text).map_err(|_| "expected a time zone such as Europe/Vienna or UTC".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_read() {
        let shown = |one: ClientsOfUser| (one.user, one.settings.to_string());
        assert_eq!(
            client_flags("found_rows").map(shown),
            Ok((None, "flags=found_rows".to_owned()))
        );
        assert_eq!(
            charset("a=b=latin1").map(shown),
            Ok((Some("a=b".to_owned()), "charset=latin1".to_owned()))
        );
        assert!(client_flags("web=x").is_err() && charset("x").is_err());
        assert_eq!(percent("1.5%"), Ok(1.5));
        assert!(percent("-1").is_err() && percent("x").is_err());
    }
}
