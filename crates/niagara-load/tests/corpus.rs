//! Records what real servers say, as first inputs for the fuzzer: `make corpus`.

mod families;

use families::{
    Authority, MARIADB, MYSQL, Server, ed25519_folder, endpoint, refused, sysbench, try_load,
};
use niagara_load::{Admin, Endpoint, Sysbench, SysbenchTest, Transport, WorkloadSpec};
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Longer recordings are left out: the fuzzer likes short inputs.
const LONGEST: usize = 3000;

/// What the client said and what the server said to it; the first one is the greeting.
#[derive(Debug, Default)]
struct Exchange {
    client: Vec<u8>,
    server: Vec<u8>,
}

type Recording = Arc<Mutex<Vec<Exchange>>>;

/// Passes bytes on until one end closes, showing them to `see` first, which may change them.
fn pass_on(mut from: impl Read, mut to: impl Write, mut see: impl FnMut(&mut [u8])) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        see(&mut buffer[..count]);
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
}

/// Clears CLIENT_DEPRECATE_EOF in a greeting, so that the server talks as those before 5.7 did.
fn without_deprecate_eof(greeting: &mut [u8]) {
    let version = 5 + greeting[5..]
        .iter()
        .position(|&byte| byte == 0)
        .expect("a greeting");
    // NUL, connection id, random bytes, filler, lower flags, collation, status, upper flags
    let upper = version + 1 + 4 + 8 + 1 + 2 + 1 + 2;
    greeting[upper + 1] &= !1;
}

/// Carries one connection between `client` and `server` and records it.
macro_rules! carry {
    ($client:expr, $server:expr, $recording:expr, $old:expr) => {{
        let (client, server, recording, old) = ($client, $server, $recording, $old);
        let (client_in, server_out) = (client.try_clone(), server.try_clone());
        let heard = Arc::clone(&recording);
        let upstream = std::thread::spawn(move || {
            let server = server_out.expect("a handle");
            pass_on(client_in.expect("a handle"), &server, |bytes| {
                heard.lock().expect("no panic").push(Exchange {
                    client: bytes.to_vec(),
                    server: Vec::new(),
                });
            });
            let _ = server.shutdown(Shutdown::Both);
        });
        let mut is_first = true;
        pass_on(&server, &client, |bytes| {
            if std::mem::take(&mut is_first) && old {
                without_deprecate_eof(bytes);
            }
            let mut exchanges = recording.lock().expect("no panic");
            if let Some(exchange) = exchanges.last_mut() {
                exchange.server.extend_from_slice(bytes);
            }
        });
        let _ = client.shutdown(Shutdown::Both);
        upstream.join().expect("no panic");
    }};
}

/// Runs `talk` with an endpoint that leads to `real` and records one connection.
fn record(real: &Endpoint, old: bool, talk: impl FnOnce(&Endpoint)) -> Vec<Exchange> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recording: Recording = Arc::new(Mutex::new(vec![Exchange::default()]));
    let kept = Arc::clone(&recording);
    let (transport, carrier) = match real.transport.clone() {
        Transport::Unix(path) => {
            let own = folder.path().join("s");
            let listener = UnixListener::bind(&own).expect("a socket");
            let carrier = std::thread::spawn(move || {
                let (client, _) = listener.accept().expect("a client");
                let server = UnixStream::connect(path).expect("the server");
                carry!(client, server, recording, old);
            });
            (Transport::Unix(own), carrier)
        }
        Transport::Tcp(address) => {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let own = listener.local_addr().expect("an address");
            let carrier = std::thread::spawn(move || {
                let (client, _) = listener.accept().expect("a client");
                let server = TcpStream::connect(address).expect("the server");
                carry!(client, server, recording, old);
            });
            (Transport::Tcp(own), carrier)
        }
        Transport::Host { .. } => panic!("an address is wanted"),
    };
    talk(&Endpoint {
        transport,
        ..real.clone()
    });
    carrier.join().expect("no panic");
    std::mem::take(&mut *kept.lock().expect("no panic"))
}

/// Where inputs go, and which there are.
struct Corpus {
    folder: PathBuf,
    server: &'static str,
    /// Situation and length: what agrees in both differs in ids and random bytes only.
    seen: BTreeSet<(u8, usize)>,
}

impl Corpus {
    fn add(&mut self, situation: u8, bytes: &[u8]) {
        let input = [&[situation], bytes].concat();
        if input.len() > LONGEST || !self.seen.insert((situation, input.len())) {
            return;
        }
        let kind = match situation {
            b'l' => "login-tcp",
            b's' => "login-socket",
            b't' => "login-tls",
            b'p' => "prepare",
            b'P' => "prepare-eof",
            b'q' => "rows",
            b'Q' => "rows-eof",
            b'r' => "answer",
            _ => "answer-eof",
        };
        let name = format!("{}-{kind}-{:02}", self.server, self.seen.len());
        std::fs::write(self.folder.join(name), input).expect("the corpus folder");
    }

    /// Takes a connection apart: the login, and the first answer to every statement.
    fn take(&mut self, exchanges: &[Exchange], is_unix: bool, old: bool) {
        // A command starts a new numbering; within the login numbers continue.
        let is_command = |exchange: &&Exchange| exchange.client.get(3) == Some(&0);
        let login: Vec<u8> = exchanges
            .iter()
            .take_while(|exchange| !is_command(exchange))
            .flat_map(|exchange| exchange.server.clone())
            .collect();
        if is_unix {
            self.add(b's', &login);
        } else {
            self.add(b'l', &login);
            self.add(b't', &login);
        }
        let mut statements = BTreeSet::new();
        for Exchange { client, server } in exchanges.iter().filter(is_command) {
            match client[4] {
                0x16 => self.add(if old { b'P' } else { b'p' }, server),
                0x17 if statements.insert(client[4..9.min(client.len())].to_vec()) => {
                    self.add(if old { b'R' } else { b'r' }, server);
                }
                0x03 => {
                    self.add(if old { b'R' } else { b'r' }, server);
                    self.add(if old { b'Q' } else { b'q' }, server);
                }
                _ => {}
            }
        }
    }
}

#[test]
#[ignore = "writes into fuzz/corpus; run by hand: make corpus"]
fn conversations_of_real_servers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/decode");
    std::fs::create_dir_all(&folder).expect("the corpus folder");
    let certificates = tempfile::tempdir().expect("a temporary folder");
    let authority = Authority::new(certificates.path(), "authority");
    let (certificate, key) = authority.sign("server", &["localhost"]);
    let plugins = ed25519_folder().display().to_string();
    for name in [MARIADB, MYSQL] {
        let mut variables = vec![
            ("ssl_cert", certificate.to_str().expect("plain")),
            ("ssl_key", key.to_str().expect("plain")),
        ];
        if name == MARIADB {
            variables.push(("plugin_dir", &plugins));
        }
        let server = Server::start(name, &variables).prepared();
        let mut corpus = Corpus {
            folder: folder.clone(),
            server: if name == MARIADB { "mariadb" } else { "mysql" },
            seen: BTreeSet::new(),
        };
        let accounts = if name == MARIADB {
            server.query("INSTALL SONAME 'auth_ed25519'");
            vec![
                (
                    "native",
                    "IDENTIFIED VIA mysql_native_password USING PASSWORD('falls')",
                ),
                ("ed", "IDENTIFIED VIA ed25519 USING PASSWORD('falls')"),
            ]
        } else {
            vec![(
                "caching",
                "IDENTIFIED WITH caching_sha2_password BY 'falls'",
            )]
        };
        let load = WorkloadSpec::of(Sysbench {
            test: SysbenchTest::OltpReadWrite,
            range_size: 3,
            ..sysbench()
        });
        for (user, by) in accounts {
            server.account(user, by);
            for way in [server.tcp(), server.unix()] {
                let is_unix = matches!(way, Transport::Unix(_));
                let real = endpoint(way, user, "falls");
                for old in [false, true] {
                    if name == MYSQL {
                        // so that the password is checked in full again
                        server.query("FLUSH PRIVILEGES");
                    }
                    let whole = record(&real, old, |endpoint| {
                        try_load(endpoint, &load, 1).expect("an answer to everything");
                    });
                    corpus.take(&whole, is_unix, old);
                    let asked = record(&real, old, |endpoint| {
                        let mut admin =
                            Admin::connect(endpoint, Duration::from_secs(10)).expect("a login");
                        for sql in [
                            "SELECT 1, NULL, '', REPEAT('x', 300)",
                            "SHOW GLOBAL STATUS LIKE 'Com_stmt%'",
                            "SELECT 1 WHERE 1 = 0",
                            "SET @a = 1",
                        ] {
                            admin.rows(sql).expect("an answer");
                        }
                        admin.rows("SELECT nothing").expect_err("no such column");
                    });
                    corpus.take(&asked, is_unix, old);
                }
                let wrong = Endpoint {
                    password: "wrong".into(),
                    ..real.clone()
                };
                let denied = record(&wrong, false, |endpoint| refused(endpoint, "Access denied"));
                corpus.take(&denied, is_unix, false);
                let missing = WorkloadSpec::of(Sysbench {
                    tables: 2,
                    ..sysbench()
                });
                let refusal = record(&real, false, |endpoint| {
                    try_load(endpoint, &missing, 1).expect_err("there is one table only");
                });
                corpus.take(&refusal, is_unix, false);
            }
        }
        println!("{name}: {} inputs", corpus.seen.len());
    }
}
