//! The `--mysql-…` options: where to connect, and what is not supported.

use crate::failure::Failure;
use crate::values::Values;
use niagara_load::{Endpoint, IgnoredErrors, LoadError, TlsMode, TlsOptions, Transport, refusal};
use niagara_script::place;
use std::path::PathBuf;

/// Where Debian's client library looks for the server of `localhost`; the variable goes before.
const DEFAULT_SOCKET: &str = "/run/mysqld/mysqld.sock";
const SOCKET_VARIABLE: &str = "MYSQL_UNIX_PORT";

/// Refuses what was asked for and cannot be had.
pub fn refuse(values: &Values) -> Result<(), Failure> {
    refuse_driver(values)?;
    if let Some(name) = values.given_names().find(|name| name.starts_with("pgsql_")) {
        return Err(Failure::refused(
            &format!("--{}", name.replace('_', "-")),
            "Niagara speaks to servers of the MySQL family only",
        ));
    }
    refuse_options(values)
}

fn refuse_driver(values: &Values) -> Result<(), Failure> {
    match values.text("db-driver") {
        None | Some("mysql") => {}
        Some("pgsql") => {
            return Err(Failure::refused(
                "--db-driver=pgsql",
                "Niagara speaks to servers of the MySQL family only",
            ));
        }
        Some(other) => {
            return Err(Failure::fatal(format!(
                "invalid database driver name: '{other}'"
            )));
        }
    }
    Ok(())
}

/// The same but for the driver's name: scripts say themselves that they do not know it.
pub fn refuse_options(values: &Values) -> Result<(), Failure> {
    if values.text("db-driver") == Some("pgsql") {
        return refuse_driver(values);
    }
    for (name, why) in [
        (
            "mysql-compression",
            "the load generator does not speak the compressed protocol",
        ),
        (
            "mysql-debug",
            "there is no client library whose calls could be traced",
        ),
        (
            "db-debug",
            "there is no client library whose calls could be timed",
        ),
    ] {
        if values.flag(name) {
            return Err(Failure::refused(&format!("--{name}"), why));
        }
    }
    if let Some(mode) = values.text("db-ps-mode")
        && !["auto", "disable"].contains(&mode)
    {
        return Err(Failure::fatal(format!(
            "Invalid value for db-ps-mode: {mode}"
        )));
    }
    if values.text("mysql-ssl-cipher").is_some() {
        return Err(Failure::refused(
            "--mysql-ssl-cipher",
            "the best cipher that both sides have is always taken; leave it out",
        ));
    }
    Ok(())
}

/// Refuses to pretend a server for the workloads that are built in.
pub fn refuse_dry_run(values: &Values) -> Result<(), Failure> {
    match values.flag("mysql-dry-run") {
        true => Err(Failure::refused(
            "--mysql-dry-run",
            "it tells what a script costs, and this workload is none; name a script by its path, or a server",
        )),
        false => Ok(()),
    }
}

/// All servers that are named; connections go to them in turn.
pub fn endpoints(values: &Values) -> Result<Vec<Endpoint>, Failure> {
    let tls = tls(values)?;
    let mut transports = transports(values)?;
    // `localhost` with several ports is the same socket several times.
    transports.dedup();
    let text = |name| values.text(name).unwrap_or_default().to_owned();
    Ok(transports
        .into_iter()
        .map(|transport| Endpoint {
            transport,
            user: text("mysql-user"),
            password: text("mysql-password"),
            database: text("mysql-db"),
            tls: tls.clone(),
        })
        .collect())
}

/// Sockets if there are any; else every port of every host.
fn transports(values: &Values) -> Result<Vec<Transport>, Failure> {
    let sockets = values.list("mysql-socket");
    if !sockets.is_empty() {
        return Ok(sockets
            .iter()
            .map(|socket| Transport::Unix(PathBuf::from(socket)))
            .collect());
    }
    let (hosts, ports) = (values.list("mysql-host"), values.list("mysql-port"));
    for (list, what) in [(hosts, "hosts"), (ports, "ports")] {
        if list.is_empty() {
            return Err(Failure::fatal(format!(
                "No MySQL {what} specified, aborting"
            )));
        }
    }
    let mut transports = Vec::new();
    for name in hosts {
        for port in ports {
            let port: u16 = port
                .parse()
                .map_err(|_| Failure::fatal(format!("Invalid value for --mysql-port: '{port}'")))?;
            // The client library takes this word for the socket, whatever the port.
            transports.push(if name == "localhost" {
                let socket = std::env::var_os(SOCKET_VARIABLE).unwrap_or(DEFAULT_SOCKET.into());
                Transport::Unix(socket.into())
            } else {
                let name = name.clone();
                Transport::Host { name, port }
            });
        }
    }
    Ok(transports)
}

fn tls(values: &Values) -> Result<TlsOptions, Failure> {
    let path = |name| values.text(name).map(PathBuf::from);
    let ca = path("mysql-ssl-ca");
    let given = values.given("mysql-ssl");
    let mode = match values.text("mysql-ssl") {
        None if !given => TlsMode::Disabled,
        Some("off" | "false" | "0") => TlsMode::Disabled,
        // Somebody who names an authority wants the server to be known to it.
        None | Some("on" | "true" | "1") if ca.is_some() => TlsMode::VerifyCa,
        None | Some("on" | "true" | "1") => TlsMode::Required,
        Some(mode) => mode
            .parse()
            .map_err(|_| Failure::fatal(format!("Invalid value for --mysql-ssl: '{mode}'")))?,
    };
    if mode == TlsMode::Disabled {
        // As with the client library, the files are for nothing then.
        return Ok(TlsOptions::default());
    }
    Ok(TlsOptions {
        mode,
        ca,
        certificate: path("mysql-ssl-cert"),
        key: path("mysql-ssl-key"),
    })
}

/// Errors after which a transaction begins again.
pub fn ignored_errors(values: &Values) -> Result<IgnoredErrors, Failure> {
    let list = values.list("mysql-ignore-errors");
    if list.iter().any(|error| error == "all") {
        return Ok(IgnoredErrors::All);
    }
    list.join(",").parse().map_err(|error| {
        Failure::fatal(format!("Invalid value for --mysql-ignore-errors: {error}"))
    })
}

/// Why a command could not begin, in sysbench's words where it has some.
pub(crate) fn not_started(error: &LoadError, endpoints: &[Endpoint]) -> Failure {
    if let LoadError::Query {
        code,
        message,
        statement,
    } = error
    {
        return Failure::fatal("mysql_stmt_prepare() failed")
            .and(format!("MySQL error: {code} \"{message}\""))
            .and(format!("the statement was: {statement}"));
    }
    let LoadError::Connect { endpoint, .. } = error else {
        return Failure::of_load(error);
    };
    let failed = endpoints.iter().find(|one| one.to_string() == *endpoint);
    let Some(endpoint) = failed.or(endpoints.first()) else {
        return Failure::of_load(error);
    };
    let refusal = refusal(error, &endpoint.transport);
    Failure::fatal(format!(
        "unable to connect to MySQL server on {}, aborting...",
        place(&endpoint.transport)
    ))
    .and(format!("error {}: {}", refusal.code, refusal.message))
}

#[cfg(test)]
mod tests {
    use niagara_load::Obstacle;

    use super::*;
    use crate::command_line;

    fn values(words: &str) -> Values {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        command_line::parse(&words, &|_| Err(std::io::ErrorKind::NotFound.into()))
            .unwrap()
            .values
    }

    fn places(words: &str) -> Vec<String> {
        let endpoints = endpoints(&values(words)).unwrap();
        endpoints
            .iter()
            .map(|endpoint| place(&endpoint.transport))
            .collect()
    }

    #[test]
    fn sockets_go_before_hosts_and_ports_within_hosts() {
        assert_eq!(
            places("--mysql-socket=/a,/b --mysql-host=h"),
            ["socket '/a'", "socket '/b'"]
        );
        assert_eq!(
            places("--mysql-host=h,i --mysql-port=1,2"),
            [
                "host 'h', port 1",
                "host 'h', port 2",
                "host 'i', port 1",
                "host 'i', port 2"
            ]
        );
        assert!(
            places("")[0].starts_with("socket '"),
            "localhost is a socket"
        );
        assert_eq!(places("--mysql-port=1,2").len(), 1);
        assert!(endpoints(&values("--mysql-port=70000 --mysql-host=h")).is_err());
        assert!(endpoints(&values("--mysql-host=")).is_err());
    }

    #[test]
    fn accounts() {
        let endpoint = &endpoints(&values("--mysql-user=u --mysql-password=p")).unwrap()[0];
        assert_eq!(
            (
                endpoint.user.as_str(),
                endpoint.password.as_str(),
                endpoint.database.as_str()
            ),
            ("u", "p", "sbtest")
        );
        assert_eq!(endpoint.tls, TlsOptions::default());
    }

    #[test]
    fn encryption() {
        for (words, mode) in [
            ("", TlsMode::Disabled),
            ("--mysql-ssl=off --mysql-ssl-ca=ca.pem", TlsMode::Disabled),
            ("--mysql-ssl", TlsMode::Required),
            ("--mysql-ssl=on", TlsMode::Required),
            ("--mysql-ssl=on --mysql-ssl-ca=ca.pem", TlsMode::VerifyCa),
            ("--mysql-ssl --mysql-ssl-ca=ca.pem", TlsMode::VerifyCa),
            ("--mysql-ssl=PREFERRED", TlsMode::Preferred),
        ] {
            assert_eq!(tls(&values(words)).unwrap().mode, mode, "{words}");
        }
        assert!(tls(&values("--mysql-ssl=perhaps")).is_err());
    }

    #[test]
    fn unsupported_options_are_refused_with_the_reason() {
        for words in [
            "--mysql-compression",
            "--mysql-compression=on",
            "--mysql-debug=on",
            "--db-debug=on",
            "--db-driver=pgsql",
            "--pgsql-host=x",
            "--mysql-ssl-cipher=AES",
        ] {
            let message = refuse(&values(words)).unwrap_err().to_string();
            let name = words.split('=').next().unwrap();
            assert!(
                message.contains(name) && message.contains("is not supported: "),
                "{message}"
            );
        }
        refuse(&values("--mysql-compression=off --db-driver=mysql")).unwrap();
        refuse(&values("--db-ps-mode=disable")).unwrap();
        assert_eq!(
            refuse(&values("--db-ps-mode=off")).unwrap_err().lines,
            ["Invalid value for db-ps-mode: off"]
        );
        assert_eq!(
            refuse(&values("--db-driver=x")).unwrap_err().lines,
            ["invalid database driver name: 'x'"]
        );
    }

    #[test]
    fn reasons_are_in_sysbenchs_words() {
        let endpoint = &endpoints(&values("--mysql-socket=/s")).unwrap();
        for (obstacle, lines) in [
            (
                Obstacle::Login {
                    code: 1049,
                    message: "Unknown database 'sbtest'".into(),
                },
                [
                    "unable to connect to MySQL server on socket '/s', aborting...",
                    "error 1049: Unknown database 'sbtest'",
                ],
            ),
            (
                Obstacle::System(2),
                [
                    "unable to connect to MySQL server on socket '/s', aborting...",
                    "error 2002: Can't connect to local server through socket '/s' (2)",
                ],
            ),
        ] {
            let error = LoadError::Connect {
                endpoint: String::new(),
                cause: Box::default(),
                obstacle,
            };
            assert_eq!(not_started(&error, endpoint).lines[..2], lines);
        }
        let refused = LoadError::Query {
            code: 1146,
            message: "Table 'sbtest.sbtest1' doesn't exist".into(),
            statement: "SELECT 1".into(),
        };
        assert_eq!(
            not_started(&refused, endpoint).lines[..2],
            [
                "mysql_stmt_prepare() failed",
                "MySQL error: 1146 \"Table 'sbtest.sbtest1' doesn't exist\""
            ]
        );
    }

    #[test]
    fn errors_to_ignore() {
        assert_eq!(
            ignored_errors(&values("")).unwrap(),
            IgnoredErrors::These(vec![1213, 1020, 1205])
        );
        assert_eq!(
            ignored_errors(&values("--mysql-ignore-errors=1062,all")).unwrap(),
            IgnoredErrors::All
        );
        assert!(ignored_errors(&values("--mysql-ignore-errors=x")).is_err());
    }
}
