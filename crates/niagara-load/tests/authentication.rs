//! Every authentication method of both families, over every transport, against real servers.

mod families;

use families::{MARIADB, MYSQL, Server, ed25519_folder, endpoint, loads, refused, with_tls};
use niagara_load::{Endpoint, TlsMode};

/// TCP in clear, TCP under TLS, a name instead of an address, a Unix socket.
fn ways(server: &Server, user: &str, password: &str) -> [Endpoint; 4] {
    [
        endpoint(server.tcp(), user, password),
        with_tls(
            endpoint(server.tcp(), user, password),
            TlsMode::Required,
            None,
        ),
        endpoint(server.named(), user, password),
        endpoint(server.unix(), user, password),
    ]
}

fn system_user() -> String {
    nix::unistd::User::from_uid(nix::unistd::geteuid())
        .expect("the user database")
        .expect("this user has a name")
        .name
}

#[test]
fn mariadb_methods() {
    let plugins = ed25519_folder().display().to_string();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let authority = families::Authority::new(folder.path(), "authority");
    let (certificate, key) = authority.sign("server", &["localhost"]);
    let server = Server::start(
        MARIADB,
        &[
            ("plugin_dir", &plugins),
            ("ssl_cert", &certificate.display().to_string()),
            ("ssl_key", &key.display().to_string()),
        ],
    )
    .prepared();
    server.query("INSTALL SONAME 'auth_ed25519'");
    let long = "p\u{e4}ss w\u{f6}rd ".repeat(5);
    for (user, plugin, password) in [
        ("native", "mysql_native_password", "falls"),
        ("native_long", "mysql_native_password", long.as_str()),
        ("ed", "ed25519", "falls"),
        ("ed_long", "ed25519", long.as_str()),
    ] {
        server.account(
            user,
            &format!("IDENTIFIED VIA {plugin} USING PASSWORD('{password}')"),
        );
        for way in ways(&server, user, password) {
            loads(&way);
            for wrong in ["wrong", ""] {
                refused(
                    &Endpoint {
                        password: wrong.into(),
                        ..way.clone()
                    },
                    &format!("Access denied for user '{user}'"),
                );
            }
        }
    }
    server.account("empty", "IDENTIFIED VIA mysql_native_password");
    for way in ways(&server, "empty", "") {
        loads(&way);
    }
    // One account, two methods: the server asks to switch until one fits.
    server.account(
        "either",
        "IDENTIFIED VIA ed25519 USING PASSWORD('one') OR mysql_native_password USING PASSWORD('two')",
    );
    for password in ["one", "two"] {
        for way in ways(&server, "either", password) {
            loads(&way);
        }
    }
    let user = system_user();
    server.account(&user, "IDENTIFIED VIA unix_socket");
    loads(&endpoint(server.unix(), &user, ""));
    refused(&endpoint(server.tcp(), &user, ""), "Access denied");
}

#[test]
fn mysql_methods() {
    // The server makes a certificate and an RSA key of its own.
    let server = Server::start(MYSQL, &[]).prepared();
    let long = "p\u{e4}ss w\u{f6}rd ".repeat(5);
    let mut plugins = vec!["caching_sha2_password"];
    let sha256 = server.ask(
        "SELECT COUNT(*) FROM information_schema.plugins WHERE plugin_name = 'sha256_password' AND plugin_status = 'ACTIVE'",
    );
    if sha256 == "1" {
        plugins.push("sha256_password");
    }
    println!("plugins: {plugins:?}");
    for plugin in plugins {
        for (name, password) in [("short", "falls"), ("long", long.as_str())] {
            // An account for every way: the server sees each password for the first time, and checks it in full.
            for (number, way) in ways(&server, "", password).into_iter().enumerate() {
                let user = format!("{}_{name}_{number}", &plugin[..7]);
                server.account(&user, &format!("IDENTIFIED WITH {plugin} BY '{password}'"));
                let way = Endpoint {
                    user: user.clone(),
                    ..way
                };
                let wrong = |password: &str| {
                    refused(
                        &Endpoint {
                            password: password.into(),
                            ..way.clone()
                        },
                        &format!("Access denied for user '{user}'"),
                    );
                };
                wrong("wrong");
                loads(&way);
                // now against the hash that the server has kept
                loads(&way);
                wrong("wrong");
                wrong("");
                // and in full again
                server.query("FLUSH PRIVILEGES");
                wrong("wrong");
                loads(&way);
            }
        }
        let user = format!("{}_empty", &plugin[..7]);
        server.account(&user, &format!("IDENTIFIED WITH {plugin} BY ''"));
        for way in ways(&server, &user, "") {
            loads(&way);
        }
    }
}
