//! The way to a server that is already running.

use std::time::Duration;

use anyhow::Result;
use niagara_error::{anyhow, bail};
use niagara_load::{Admin, Endpoint, LoadError, Obstacle, TlsMode, TlsOptions, Transport};

use super::args::ConnectArgs;
use super::naming::Naming;
use super::password;

/// Bound on every wait for an answer to a statement outside of the load.
pub const ADMIN_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the options say that the server is, and a connection to it.
///
/// # Errors
/// It is not there or refuses the account.
pub fn connect(args: &ConnectArgs, naming: Naming) -> Result<(Endpoint, Admin)> {
    connect_within(args, naming, ADMIN_TIMEOUT)
}

/// The same with another bound on every wait.
///
/// # Errors
/// As [`connect`].
pub fn connect_within(
    args: &ConnectArgs,
    naming: Naming,
    timeout: Duration,
) -> Result<(Endpoint, Admin)> {
    let mut endpoint = endpoint(args)?;
    if !naming.has_database() {
        endpoint.database.clear();
    }
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
    let admin = connected.map_err(|error| unreachable(&error, &endpoint, naming))?;
    if let Some(why) = admin.unencrypted() {
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
pub fn unreachable(error: &LoadError, endpoint: &Endpoint, naming: Naming) -> anyhow::Error {
    let text = error.to_string();
    let is = |codes: &[u16]| {
        error
            .server_code()
            .is_some_and(|code| codes.contains(&code))
    };
    let obstacle = match error {
        LoadError::Connect { obstacle, .. } => obstacle,
        _ => &Obstacle::Other,
    };
    let transport = &endpoint.transport;
    let remedy = if error.is_access_denied() {
        naming.check_account().to_owned()
    } else if is(&[1044, 1049]) && naming.has_database() {
        format!(
            "`niagara bench WORKLOAD prepare` makes the database {} where the account may; else make it, or name another with --database",
            endpoint.database
        )
    } else if is(&[1040]) {
        naming.fewer_connections().to_owned()
    } else if is(&[1130]) {
        naming.by_socket()
    } else if *obstacle == Obstacle::UnknownHost {
        match transport {
            Transport::Host { name, .. } => naming.check_host(name, transport),
            _ => naming.check_place(transport),
        }
    } else if matches!(
        obstacle,
        Obstacle::NoAnswer | Obstacle::System(nix::libc::ENOENT | nix::libc::ECONNREFUSED)
    ) {
        naming.check_place(transport)
    } else {
        // What is to be done is known from the error itself, if at all.
        return anyhow::Error::new(error.clone());
    };
    anyhow!("{text}"; remedy: "{remedy}")
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;
    use crate::cmd::bench::args::connect_args;

    #[test]
    fn remedies_name_what_the_user_gave() {
        let told = |naming: Naming, cause: &str, obstacle: Obstacle| {
            let args = ConnectArgs {
                socket: Some("/no/such.sock".into()),
                user: Some("shop".to_owned()),
                ..connect_args()
            };
            let mut endpoint = endpoint(&args).expect("named");
            if !naming.has_database() {
                endpoint.database.clear();
            }
            let error = LoadError::Connect {
                endpoint: endpoint.to_string(),
                cause: Box::new(cause.into()),
                obstacle,
            };
            unreachable(&error, &endpoint, naming).explain().to_string()
        };
        let (gone, denied) = ("No such file or directory", "Access denied");
        for (naming, place, account) in [
            (Naming::Load, "check --socket,", "check --user"),
            (Naming::Options, "check --socket,", "check --user"),
            (Naming::Address, "check ADDRESS,", "check --user"),
            (Naming::Found, "name another by ADDRESS", "check --user"),
            (
                Naming::ShareHostWith,
                "check --share-host-with,",
                "check --user",
            ),
            (
                Naming::ConfigFrom,
                "check --config-from,",
                "check --config-user",
            ),
        ] {
            let told_of_place = told(naming, gone, Obstacle::System(nix::libc::ENOENT));
            assert!(told_of_place.contains(place), "{told_of_place}");
            let told_of_account = told(
                naming,
                denied,
                Obstacle::Login {
                    code: 1045,
                    message: denied.to_owned(),
                },
            );
            assert!(told_of_account.contains(account), "{told_of_account}");
            for text in [told_of_place, told_of_account] {
                assert_eq!(
                    text.contains("sbtest"),
                    naming == Naming::Load,
                    "{naming:?}: {text}"
                );
            }
        }
    }
}
