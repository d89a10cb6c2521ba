//! Every TLS mode against real servers of both families: what must be encrypted is, what must be refused is.

mod families;

use families::{
    Authority, MARIADB, MYSQL, Server, endpoint, loads, refused, spec, sysbench, try_load, with_tls,
};
use niagara_load::{
    Driver, DriverOptions, Endpoint, RunOptions, Sysbench, TlsMode, TlsOptions, WorkloadSpec,
};
use std::path::Path;

/// Its certificate names `localhost`, but not 127.0.0.1.
fn server(name: &str, authority: &Authority, more: &[(&str, &str)]) -> Server {
    let (certificate, key) = authority.sign("server", &["localhost"]);
    let files = [&authority.certificate, &certificate, &key].map(|path| path.display().to_string());
    let mut variables = vec![
        ("ssl_ca", files[0].as_str()),
        ("ssl_cert", files[1].as_str()),
        ("ssl_key", files[2].as_str()),
    ];
    variables.extend(more);
    let server = Server::start(name, &variables).prepared();
    server.account("clear", "IDENTIFIED BY 'falls'");
    server.account("sealed", "IDENTIFIED BY 'falls' REQUIRE SSL");
    server.account("proven", "IDENTIFIED BY 'falls' REQUIRE X509");
    server
}

fn modes(name: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "authority");
    let stranger = Authority::new(folder.path(), "stranger");
    let server = server(name, &authority, &[]);
    let ca = Some(authority.certificate.as_path());
    let wrong_ca = Some(stranger.certificate.as_path());
    let sealed = |transport| endpoint(transport, "sealed", "falls");
    let ways = || [server.tcp(), server.named(), server.unix()];

    // The account insists on TLS: to log in is to be encrypted.
    for way in ways() {
        refused(&sealed(way.clone()), "Access denied");
        loads(&endpoint(way.clone(), "clear", "falls"));
        for mode in [TlsMode::Required, TlsMode::VerifyCa] {
            loads(&with_tls(sealed(way.clone()), mode, ca));
        }
        // Without verification a CA is not read.
        loads(&with_tls(sealed(way.clone()), TlsMode::Required, wrong_ca));
        for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
            let words = format!(
                "is not signed by a CA in {}",
                stranger.certificate.display()
            );
            refused(&with_tls(sealed(way.clone()), mode, wrong_ca), &words);
            let words = format!("the mode {mode} needs a file with the CA");
            refused(&with_tls(sealed(way.clone()), mode, None), &words);
        }
    }
    for way in [server.tcp(), server.named()] {
        loads(&with_tls(sealed(way), TlsMode::Preferred, None));
    }
    let preferred = with_tls(sealed(server.unix()), TlsMode::Preferred, None);
    refused(&preferred, "Access denied");
    for way in [server.named(), server.unix()] {
        loads(&with_tls(sealed(way), TlsMode::VerifyIdentity, ca));
    }
    refused(
        &with_tls(sealed(server.tcp()), TlsMode::VerifyIdentity, ca),
        "does not name '127.0.0.1'",
    );

    // A client's certificate.
    let (certificate, key) = authority.sign("client", &[]);
    let (other, other_key) = stranger.sign("other", &[]);
    let proven = |certificate: Option<&Path>, key: Option<&Path>| Endpoint {
        tls: TlsOptions {
            mode: TlsMode::VerifyCa,
            ca: ca.map(Path::to_path_buf),
            certificate: certificate.map(Path::to_path_buf),
            key: key.map(Path::to_path_buf),
        },
        ..endpoint(server.tcp(), "proven", "falls")
    };
    loads(&proven(Some(&certificate), Some(&key)));
    refused(&proven(None, None), "Access denied");
    refused(&proven(Some(&certificate), None), "go together");
    refused(
        &proven(Some(&certificate), Some(&other_key)),
        "other-key.pem",
    );
    refused(&proven(Some(&key), Some(&key)), "cannot read certificates");
    refused(
        &proven(Some(&certificate), Some(&certificate)),
        "cannot read a private key",
    );
    // The server ends the handshake at a stranger's certificate.
    refused(&proven(Some(&other), Some(&other_key)), "");
    refused(
        &with_tls(
            sealed(server.tcp()),
            TlsMode::VerifyCa,
            Some(&folder.path().join("missing.pem")),
        ),
        "missing.pem",
    );
}

#[test]
fn mariadb_modes() {
    modes(MARIADB);
}

#[test]
fn mysql_modes() {
    modes(MYSQL);
}

/// Under load: many connections, answers of many TLS records.
fn load(name: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "authority");
    let ca = Some(authority.certificate.as_path());
    for version in ["TLSv1.2", "TLSv1.3"] {
        let server = server(name, &authority, &[("tls_version", version)]);
        for way in [server.named(), server.unix()] {
            let endpoint = with_tls(
                endpoint(way, "sealed", "falls"),
                TlsMode::VerifyIdentity,
                ca,
            );
            for range_size in [1, 100, 2000] {
                let spec = WorkloadSpec::of(Sysbench {
                    range_size,
                    ..sysbench()
                });
                if let Err(error) = try_load(&endpoint, &spec, 8) {
                    panic!("{version}: {error}");
                }
            }
        }
    }
}

#[test]
fn mariadb_under_load() {
    load(MARIADB);
}

#[test]
fn mysql_under_load() {
    load(MYSQL);
}

/// Connections that come and go: each is encrypted, or the account would not be let in.
fn renewed(name: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "authority");
    let server = server(name, &authority, &[]);
    let sealed = endpoint(server.tcp(), "sealed", "falls");
    let endpoint = with_tls(sealed, TlsMode::Required, None);
    let options = DriverOptions {
        connections: 4,
        reconnect_after: Some(2),
        ..DriverOptions::default()
    };
    let mut driver = Driver::connect(&[endpoint], &spec(), &options).expect("connections");
    let run = RunOptions {
        duration: None,
        events: Some(100),
        ..RunOptions::default()
    };
    let whole = driver.run(0, &run, &mut |_| true).expect("a run");
    assert_eq!((whole.transactions, whole.reconnects), (100, 0));
    assert!(whole.renewals >= 46, "{}", whole.renewals);
}

#[test]
fn mariadb_renews_encrypted_connections() {
    renewed(MARIADB);
}

#[test]
fn mysql_renews_encrypted_connections() {
    renewed(MYSQL);
}

#[test]
fn a_server_without_tls() {
    // MariaDB 10.11 has no certificate unless it is given one.
    let server = Server::start(MARIADB, &[]).prepared();
    server.account("clear", "IDENTIFIED BY 'falls'");
    for way in [server.tcp(), server.unix()] {
        let endpoint = endpoint(way, "clear", "falls");
        loads(&with_tls(endpoint.clone(), TlsMode::Preferred, None));
        refused(
            &with_tls(endpoint, TlsMode::Required, None),
            "offers no TLS",
        );
    }
}

#[test]
fn a_server_without_a_cipher_in_common() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let authority = Authority::new(folder.path(), "authority");
    // As MySQL's own builds before 8.0.16 have them: without elliptic curves.
    let old = [
        ("tls_version", "TLSv1.2"),
        ("ssl_cipher", "DHE-RSA-AES256-GCM-SHA384"),
    ];
    let server = server(MARIADB, &authority, &old);
    let endpoint = endpoint(server.tcp(), "clear", "falls");
    loads(&with_tls(endpoint.clone(), TlsMode::Preferred, None));
    for mode in [TlsMode::Required, TlsMode::VerifyCa] {
        let ca = Some(authority.certificate.as_path());
        refused(
            &with_tls(endpoint.clone(), mode, ca),
            "none of what is spoken here",
        );
    }
    // An account that insists on TLS is not let in without.
    let sealed = with_tls(
        Endpoint {
            user: "sealed".into(),
            ..endpoint
        },
        TlsMode::Preferred,
        None,
    );
    refused(&sealed, "Access denied");
}
