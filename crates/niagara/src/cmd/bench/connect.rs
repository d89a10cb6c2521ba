//! The way to a server that is already running.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use niagara_load::{Admin, Endpoint, LoadError, TlsMode, TlsOptions, Transport};

use super::args::ConnectArgs;
use super::password;

/// Bound on every wait for an answer to a statement outside of the load.
pub const ADMIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the options say that the server is, and a connection to it.
///
/// # Errors
/// It is not there or refuses the account.
pub fn connect(args: &ConnectArgs) -> Result<(Endpoint, Admin)> {
    connect_within(args, ADMIN_TIMEOUT)
}

/// The same with another bound on every wait.
///
/// # Errors
/// As [`connect`].
pub fn connect_within(args: &ConnectArgs, timeout: Duration) -> Result<(Endpoint, Admin)> {
    let mut endpoint = endpoint(args)?;
    let given = password::given(args.password_file.as_deref())?;
    endpoint.password = given.clone().unwrap_or_default();
    let connected = match Admin::connect(&endpoint, timeout) {
        Err(error) if given.is_none() && error.is_access_denied() => {
            match password::ask(&endpoint.user)? {
                Some(password) => {
                    endpoint.password = password;
                    Admin::connect(&endpoint, timeout)
                }
                None => Err(error),
            }
        }
        connected => connected,
    };
    let admin = connected.map_err(|error| unreachable(&error, &endpoint))?;
    if let Some(why) = admin.unencrypted() {
        let why = why.lines().next().unwrap_or_default();
        tell!("not encrypted, which was preferred: {why}");
        // Or each connection of a load would try again.
        endpoint.tls.mode = TlsMode::Disabled;
    }
    Ok((endpoint, admin))
}

fn endpoint(args: &ConnectArgs) -> Result<Endpoint> {
    let transport = match (&args.socket, &args.host) {
        (Some(path), _) => Transport::Unix(std::path::absolute(path)?),
        (None, Some(name)) => Transport::Host {
            name: name.clone(),
            port: args.port,
        },
        (None, None) => bail!("name the server with --socket or --host"),
    };
    let user = match &args.user {
        Some(user) => user.clone(),
        None => std::env::var("USER")
            .or_else(|_| std::env::var("LOGNAME"))
            .ok()
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "root".to_owned()),
    };
    Ok(Endpoint {
        transport,
        user,
        password: String::new(),
        database: args.database.clone(),
        tls: TlsOptions {
            mode: args.tls,
            ca: args.tls_ca.clone(),
            certificate: args.tls_cert.clone(),
            key: args.tls_key.clone(),
        },
    })
}

/// Why a server could not be connected to, with what can be done about it.
pub fn unreachable(error: &LoadError, endpoint: &Endpoint) -> anyhow::Error {
    let text = error.to_string();
    let is = |codes: &[u16]| {
        error
            .server_code()
            .is_some_and(|code| codes.contains(&code))
    };
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let remedy = if error.is_access_denied() {
        "check --user and the password (--password-file, NIAGARA_PASSWORD or MYSQL_PWD)".to_owned()
    } else if is(&[1044, 1049]) {
        format!(
            "`niagara bench WORKLOAD prepare` makes the database {} where the account may; else make it, or name another with --database",
            endpoint.database
        )
    } else if is(&[1040]) {
        "raise the server's max_connections, or take fewer --threads".to_owned()
    } else if is(&[1130]) {
        "the account may not connect from this host: grant it, or use --socket".to_owned()
    } else if has(&["resolve", "lookup", "not known"]) {
        match &endpoint.transport {
            Transport::Host { name, .. } if name.matches(':').count() == 1 => {
                let (host, port) = name.split_once(':').unwrap_or((name, ""));
                format!("write --host {host} --port {port}")
            }
            _ => "check the spelling of --host".to_owned(),
        }
    } else if has(&[
        "refused",
        "No such file",
        "os error 2",
        "no answer",
        "timed out",
    ]) {
        match &endpoint.transport {
            Transport::Unix(_) => "check --socket, and that the server runs (`SELECT @@socket` on it says where it listens)".to_owned(),
            _ => "check --host and --port, that the server runs, and that it listens on TCP (bind_address, skip_networking)".to_owned(),
        }
    } else {
        // What is to be done is known from the error itself, if at all.
        return anyhow::Error::new(error.clone());
    };
    anyhow!("{text}\nremedy: {remedy}")
}
