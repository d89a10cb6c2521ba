//! The options of `niagara bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use niagara_load::{CoalescingChoice, IoChoice, Schedule, TlsMode};

use crate::load_args::LoadArgs;
use crate::shared_args::{HelpArgs, OriginArgs, PLAIN_EXIT_CODES, duration};

/// Where servers listen unless told otherwise.
const DEFAULT_PORT: u16 = 3306;
/// Counted time when none is asked for.
const DEFAULT_TIME: Duration = Duration::from_secs(10);

/// One workload against one server, private or already running
///
/// Without an address a private server is fetched, started on its own data, loaded and thrown away.
/// With --socket or --host the load goes to a server that is there: `prepare` makes the tables,
/// `run` measures, `cleanup` drops them. Nothing else of that server is changed. The password comes
/// from --password-file, NIAGARA_PASSWORD, MYSQL_PWD, or is asked for on the terminal.
///
/// The report has throughput, latency, errors and what the load cost the server; docs/bench.md says
/// what each figure means. Ctrl-C keeps what was measured and prints the report.
#[derive(Debug, Args)]
#[command(after_help = PLAIN_EXIT_CODES, disable_help_flag = true)]
#[command(mut_arg("workload", |arg| arg.long(None).visible_alias(None).index(1).value_name("WORKLOAD")))]
#[command(before_help = "Examples:
  niagara bench oltp_read_only
  niagara bench oltp_read_write --server mysql-9.7 --threads 64 --time 1m
  niagara bench oltp_read_write --variant malloc=jemalloc,cfg.innodb_io_capacity=400
  niagara bench oltp_read_write --rate-steps 500,1000,2000,4000
  niagara bench tpcc --warehouses 5 --threads 16
  niagara bench ./shop.capture --tables-of oltp_read_write --speed 2
  niagara bench oltp_read_only prepare --socket /run/mysqld/mysqld.sock --table-size 1000000
  niagara bench oltp_read_only --socket /run/mysqld/mysqld.sock --table-size 1000000 --json
  niagara bench oltp_read_only --host db1 --user app --tls verify-ca --tls-ca ca.pem")]
pub struct BenchArgs {
    #[command(flatten)]
    pub load: LoadArgs,
    /// For a running server; a private one needs only `run`
    #[arg(index = 2, value_enum, default_value_t = Action::Run)]
    pub action: Action,
    #[command(flatten)]
    pub run: RunArgs,
    #[command(flatten)]
    pub private: PrivateArgs,
    #[command(flatten)]
    pub origin: OriginArgs,
    #[command(flatten)]
    pub connect: ConnectArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub help: HelpArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Action {
    /// Make the tables and fill them
    Prepare,
    /// Measure
    Run,
    /// Drop the tables
    Cleanup,
    /// Look whether the consistency conditions of tpcc hold
    Check,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Run")]
pub struct RunArgs {
    /// Counted time, for every rate [default: 10s, or the length of --rate's phases]
    #[arg(long, value_parser = duration)]
    pub time: Option<Duration>,
    /// Load before counted time, 0 for none
    #[arg(long, default_value = "2s", value_parser = duration_or_none)]
    pub warm_up: Duration,
    /// Seed of everything that is drawn
    #[arg(long, default_value_t = 1, hide_short_help = true)]
    pub seed: u64,
    /// Open loop: transactions per second, or phases: 500@30,500-2000@60
    ///
    /// Transactions arrive as a Poisson process, whether or not the server keeps up. A ramp is FROM-TO@SECONDS.
    #[arg(long, value_name = "RATE", conflicts_with = "rate_steps")]
    pub rate: Option<Schedule>,
    /// Open loop, one measurement per rate
    #[arg(long, value_name = "RATE,…", value_delimiter = ',', value_parser = rate)]
    pub rate_steps: Vec<f64>,
    /// Input and output of the load generator: epoll, uring or auto
    ///
    /// uring is io_uring, Linux 6.1 or newer. auto chooses it where the kernel allows it and connections are not encrypted.
    #[arg(long, default_value_t, value_name = "HOW", hide_short_help = true)]
    pub io: IoChoice,
    /// Wake-up coalescing: a time as 50us, off, or auto
    ///
    /// So long may the load generator wait for further answers (io_uring, closed loop). The default auto is 100us for
    /// every 32 connections, where that does not keep the server waiting (docs/load.md).
    #[arg(
        long,
        alias = "patience",
        default_value_t,
        value_name = "TIME",
        hide_short_help = true
    )]
    pub coalescing: CoalescingChoice,
    /// How often a line is printed and an interval kept
    #[arg(long, default_value = "1s", value_parser = interval, value_name = "TIME")]
    pub report_interval: Duration,
    /// Keep the server's counters for every interval (in --json)
    ///
    /// SHOW GLOBAL STATUS takes locks in the server for a moment.
    #[arg(long, hide_short_help = true)]
    pub interval_status: bool,
}

impl RunArgs {
    /// Counted time of a run.
    pub fn length(&self) -> Duration {
        let of_phases = match &self.rate {
            // A single rate has no length of its own.
            Some(schedule) if schedule_text(schedule).contains('@') => {
                Duration::try_from_secs_f64(schedule.seconds()).ok()
            }
            _ => None,
        };
        self.time.or(of_phases).unwrap_or(DEFAULT_TIME)
    }
}

/// A schedule as a user writes it: a single rate without its seconds.
pub fn schedule_text(schedule: &Schedule) -> String {
    match schedule.phases() {
        [only] if only.from == only.to && only.seconds == 1.0 => only.from.to_string(),
        _ => schedule.to_string(),
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Private server")]
pub struct PrivateArgs {
    /// A server of `niagara server list`, or a path [default: mariadb-10.11]
    #[arg(long, conflicts_with_all = ["socket", "host"])]
    pub server: Option<String>,
    /// Changes to it, as in `compare`: malloc=jemalloc,cfg.NAME=VALUE
    #[arg(long, value_name = "CHANGES", conflicts_with_all = ["socket", "host"])]
    pub variant: Option<String>,
    /// How the load reaches it [default: tcp, or what --variant says]
    #[arg(long, value_enum, conflicts_with_all = ["socket", "host"], hide_short_help = true)]
    pub transport: Option<TransportArg>,
    /// Further folders with levers (`*.toml`)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub levers: Vec<PathBuf>,
    /// Further folders with servers (`*.toml`)
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub servers: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TransportArg {
    /// Loopback
    Tcp,
    /// Unix socket
    Unix,
    /// Loopback, encrypted
    Tls,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Server that is already running")]
pub struct ConnectArgs {
    /// Its Unix socket
    #[arg(long, value_name = "PATH", conflicts_with_all = ["host", "port"])]
    pub socket: Option<PathBuf>,
    /// Its host, name or IP address
    #[arg(long)]
    pub host: Option<String>,
    /// Its TCP port
    #[arg(long, default_value_t = DEFAULT_PORT, requires = "host")]
    pub port: u16,
    /// The account [default: the name of the user who runs this]
    #[arg(long)]
    pub user: Option<String>,
    /// File whose first line is the password [default: NIAGARA_PASSWORD or MYSQL_PWD, else asked for]
    #[arg(long, value_name = "FILE")]
    pub password_file: Option<PathBuf>,
    /// The database that holds the tables
    #[arg(long, default_value = "sbtest")]
    pub database: String,
    /// With `prepare`: drop existing tables of these names first
    #[arg(long)]
    pub replace: bool,
    /// Agree beforehand to dropping tables, or to sending a capture
    ///
    /// With `cleanup` and `prepare --replace`: the listed tables are dropped. With `run` of a capture: its statements are sent to
    /// this server, DROP and TRUNCATE, too.
    #[arg(long)]
    pub yes: bool,
    /// disabled, preferred, required, verify-ca, verify-identity
    #[arg(long, value_name = "MODE", default_value = "preferred")]
    pub tls: TlsMode,
    /// Certificates of the trusted authorities (PEM)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub tls_ca: Option<PathBuf>,
    /// The client's certificate (PEM)
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_key",
        hide_short_help = true
    )]
    pub tls_cert: Option<PathBuf>,
    /// The key of the client's certificate (PEM)
    #[arg(
        long,
        value_name = "FILE",
        requires = "tls_cert",
        hide_short_help = true
    )]
    pub tls_key: Option<PathBuf>,
}

/// The options of a server that is already running, none given.
pub fn connect_args() -> ConnectArgs {
    ConnectArgs {
        socket: None,
        host: None,
        port: DEFAULT_PORT,
        user: None,
        password_file: None,
        database: "sbtest".to_owned(),
        replace: false,
        yes: false,
        tls: TlsMode::Preferred,
        tls_ca: None,
        tls_cert: None,
        tls_key: None,
    }
}

impl ConnectArgs {
    /// Whether the options speak of a server that is already running.
    pub fn is_foreign(&self) -> bool {
        self.socket.is_some() || self.host.is_some()
    }

    /// An option that means nothing without such a server, if one was given.
    pub fn stray(&self) -> Option<&'static str> {
        [
            ("--user", self.user.is_some()),
            ("--password-file", self.password_file.is_some()),
            ("--replace", self.replace),
            ("--yes", self.yes),
            ("--tls-ca", self.tls_ca.is_some()),
            ("--tls-cert", self.tls_cert.is_some()),
        ]
        .into_iter()
        .find_map(|(name, given)| given.then_some(name))
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print the result as JSON (docs/bench.md)
    #[arg(long)]
    pub json: bool,
    /// Print the result as OpenMetrics text, as Prometheus reads it
    #[arg(long, conflicts_with = "json")]
    pub openmetrics: bool,
    /// Write latencies by interval in the HdrHistogram log format
    #[arg(long, value_name = "FILE")]
    pub hdr_log: Option<PathBuf>,
}

/// As `duration`, and 0.
fn duration_or_none(text: &str) -> Result<Duration, String> {
    match text {
        "0" | "0s" => Ok(Duration::ZERO),
        text => duration(text),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = duration(text)?;
    if interval < Duration::from_millis(100) {
        return Err("expected 100ms or more".to_owned());
    }
    Ok(interval)
}

fn rate(text: &str) -> Result<f64, String> {
    text.trim()
        .parse::<f64>()
        .ok()
        .filter(|rate| *rate > 0.0 && rate.is_finite())
        .ok_or_else(|| "expected transactions per second, such as 1000".to_owned())
}
