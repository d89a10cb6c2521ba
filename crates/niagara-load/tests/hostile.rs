//! A server that is broken or hostile gets an error, in bounded time and memory: no panic, no hang.
//!
//! This is the one place with a made-up server: no real one sends what is sent here.

use niagara_load::{
    Driver, DriverOptions, Endpoint, IoChoice, LoadError, SliceOptions, Sysbench, SysbenchTest,
    TlsMode, TlsOptions, Transport, WorkloadSpec,
};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What a login or a prepare is given here.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Everything must be over by then, on a busy machine too.
const BOUND: Duration = Duration::from_secs(30);

/// Longer than any test: another bound must come first.
const LONG: Duration = Duration::from_secs(60);

const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
const DEPRECATE_EOF: u32 = 1 << 24;
const CAPABILITIES: u32 =
    1 | 1 << 3 | PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | DEPRECATE_EOF;

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
const DEFINITION: &[u8] =
    b"\x03def\x06sbtest\x01t\x01t\x01c\x01c\x0c\x2d\0\x78\0\0\0\xfe\0\0\0\0\0";
const ROW: &[u8] = b"\0\0\x03row";
const NATIVE_SWITCH: &[u8] = b"\xfemysql_native_password\x0001234567890123456789\0";

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

/// Packets numbered from `first`.
fn packets(first: u8, payloads: &[&[u8]]) -> Vec<u8> {
    let numbered = payloads.iter().enumerate();
    numbered
        .flat_map(|(index, payload)| packet(first.wrapping_add(index as u8), payload))
        .collect()
}

fn greeting(capabilities: u32) -> Vec<u8> {
    let mut payload = b"\x0a9.7.0\0\x07\0\0\0abcdefgh\0".to_vec();
    payload.extend_from_slice(&(capabilities as u16).to_le_bytes());
    payload.extend_from_slice(&[45, 2, 0]);
    payload.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"ijklmnopqrst\0caching_sha2_password\0");
    packet(0, &payload)
}

/// One packet of the client; `None` once it has left.
fn hear(stream: &mut UnixStream) -> Option<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let length = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; length as usize];
    stream.read_exact(&mut payload).ok()?;
    Some(payload)
}

/// Says this; whether the client has heard it does not matter.
fn say(stream: &mut UnixStream, bytes: &[u8]) {
    let _ = stream.write_all(bytes);
}

/// Listens without a word until the client leaves.
fn wait(stream: &mut UnixStream) {
    let _ = std::io::copy(stream, &mut std::io::sink());
}

/// Says one byte after the other until the client leaves.
fn dribble(stream: &mut UnixStream, bytes: &[u8]) {
    for byte in bytes {
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    wait(stream);
}

fn log_in(stream: &mut UnixStream) {
    say(stream, &greeting(CAPABILITIES));
    hear(stream);
    say(stream, &packet(2, OK));
}

/// The answer to a prepare, with as many parameters as the statement has.
fn prepared(sql: &[u8]) -> Vec<u8> {
    let parameters = sql.iter().filter(|&&byte| byte == b'?').count();
    let columns = usize::from(sql.starts_with(b"SELECT"));
    let head = [
        0,
        1,
        0,
        0,
        0,
        columns as u8,
        0,
        parameters as u8,
        0,
        0,
        0,
        0,
    ];
    let mut payloads: Vec<&[u8]> = vec![&head];
    payloads.extend(vec![DEFINITION; parameters + columns]);
    packets(1, &payloads)
}

/// A server that follows the protocol but for the answers to what it is asked to execute.
fn serve(stream: &mut UnixStream, execute: impl Fn(&mut UnixStream)) {
    log_in(stream);
    while let Some(command) = hear(stream) {
        match command.split_first() {
            Some((0x16, sql)) => say(stream, &prepared(sql)),
            Some((0x17, _)) => execute(stream),
            _ => return,
        }
    }
}

/// Loads a server that talks as `talk` does; the error that must come of it, within its bound.
fn load(tls: TlsMode, talk: impl Fn(&mut UnixStream) + Send + 'static) -> LoadError {
    load_with(tls, TIMEOUT, LONG, talk)
}

fn load_with(
    tls: TlsMode,
    stall_timeout: Duration,
    drain_timeout: Duration,
    talk: impl Fn(&mut UnixStream) + Send + 'static,
) -> LoadError {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s");
    let talk = Arc::new(Mutex::new(talk));
    let [epoll, uring] = [IoChoice::Epoll, IoChoice::Auto].map(|io| {
        let error = load_by(
            io,
            &path,
            tls,
            stall_timeout,
            drain_timeout,
            Arc::clone(&talk),
        );
        std::fs::remove_file(&path).expect("the socket's name");
        error
    });
    assert_eq!(epoll.to_string(), uring.to_string());
    epoll
}

fn load_by(
    io: IoChoice,
    path: &Path,
    tls: TlsMode,
    stall_timeout: Duration,
    drain_timeout: Duration,
    talk: Arc<Mutex<impl Fn(&mut UnixStream) + Send + 'static>>,
) -> LoadError {
    let listener = UnixListener::bind(path).expect("a socket in a new folder");
    let server = std::thread::spawn(move || {
        // One connection is all the client makes.
        if let Ok((mut stream, _)) = listener.accept() {
            talk.lock().expect("one server after the other")(&mut stream);
        }
    });
    let endpoint = Endpoint {
        transport: Transport::Unix(path.to_owned()),
        user: "niagara".into(),
        password: "falls".into(),
        database: "sbtest".into(),
        tls: TlsOptions {
            mode: tls,
            ..TlsOptions::default()
        },
    };
    let spec = WorkloadSpec::of(Sysbench {
        test: SysbenchTest::OltpPointSelect,
        table_size: 10,
        ..Sysbench::default()
    });
    let options = DriverOptions {
        connect_timeout: TIMEOUT,
        stall_timeout,
        io,
        ..DriverOptions::default()
    };
    let slice = SliceOptions {
        duration: Duration::from_millis(200),
        drain_timeout,
        ..SliceOptions::default()
    };
    let start = Instant::now();
    let error = Driver::connect(&[endpoint], &spec, &options)
        .and_then(|mut driver| driver.slice(0, &slice))
        .expect_err("an error");
    assert!(start.elapsed() < BOUND, "{:?}: {error}", start.elapsed());
    server.join().expect("the made-up server");
    error
}

/// The login must fail with these words.
fn login_fails(words: &str, talk: impl Fn(&mut UnixStream) + Send + 'static) {
    let error = load(TlsMode::Disabled, talk);
    assert!(matches!(error, LoadError::Connect { .. }), "{error}");
    assert!(
        error.to_string().contains(words),
        "{error} has no '{words}'"
    );
}

#[test]
fn timeouts_end_the_run() {
    login_fails("no answer within", wait);
    login_fails("no answer within", |stream| {
        dribble(stream, &greeting(CAPABILITIES));
    });
    login_fails("no answer within", |stream| {
        say(stream, &greeting(CAPABILITIES));
        wait(stream);
    });
    login_fails("no answer within", |stream| {
        say(stream, &greeting(CAPABILITIES));
        dribble(stream, &packet(2, &[0; 1000]));
    });
}

#[test]
fn closed_connections() {
    login_fails("closed the connection", |_| ());
    for length in [1, 4, 20] {
        login_fails("closed the connection", move |stream| {
            say(stream, &greeting(CAPABILITIES)[..length]);
        });
    }
    login_fails("closed the connection", |stream| {
        say(stream, &greeting(CAPABILITIES));
        hear(stream);
    });
}

#[test]
fn invalid_greetings_are_errors() {
    for (words, bytes) in [
        (
            "not the MySQL protocol",
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        ),
        ("not the MySQL protocol", vec![0xff; 10]),
        ("not the MySQL protocol", vec![0; 10]),
        ("not the MySQL protocol", packet(7, b"\x0a9.7.0\0")),
        ("not the MySQL protocol", packet(0, b"\x0a9.7.0\0")),
        ("protocol version 9", packet(0, b"\x095.5\0")),
        (
            "Too many connections",
            packet(0, b"\xff\x10\x04Too many connections"),
        ),
        (
            "is not allowed",
            packet(1, b"\xff\x6a\x04#HY000Host 'x' is not allowed"),
        ),
        ("not the MySQL protocol", packet(0, b"\xff\x10")),
    ] {
        login_fails(words, move |stream| {
            say(stream, &bytes);
            wait(stream);
        });
    }
}

#[test]
fn answers_to_the_login() {
    let key = b"\x01-----BEGIN PUBLIC KEY-----\nMAwwDQYJKoZIhvcNAQEB\n-----END PUBLIC KEY-----\n";
    for (words, payloads) in [
        (
            "Access denied for user",
            &[&b"\xff\x15\x04#28000Access denied for user"[..]][..],
        ),
        ("'dialog'", &[b"\xfedialog\0"]),
        ("random bytes", &[b"\xfemysql_native_password\0short\0"]),
        ("before MySQL 4.1", &[&[0xfe]]),
        ("unknown authentication step", &[&[1, 77]]),
        ("empty packet", &[&[]]),
        ("RSA public key", &[key]),
        ("unknown answer", &[&[2]]),
    ] {
        let bytes = packets(2, payloads);
        login_fails(words, move |stream| {
            say(stream, &greeting(CAPABILITIES));
            hear(stream);
            say(stream, &bytes);
            wait(stream);
        });
    }
    // without an end, with and without an answer of the client
    for payload in [&[1, 3][..], NATIVE_SWITCH] {
        login_fails("circles", move |stream| {
            say(stream, &greeting(CAPABILITIES));
            let mut sequence = 2u8;
            hear(stream);
            while stream.write_all(&packet(sequence, payload)).is_ok() {
                sequence = sequence.wrapping_add(1);
                if payload == NATIVE_SWITCH {
                    if hear(stream).is_none() {
                        return;
                    }
                    sequence = sequence.wrapping_add(1);
                }
            }
        });
    }
    login_fails("follow a complete answer", |stream| {
        say(stream, &greeting(CAPABILITIES));
        hear(stream);
        say(stream, &packets(2, &[OK, OK]));
        wait(stream);
    });
}

#[test]
fn an_invalid_tls_handshake_is_an_error() {
    let fails = |words: &str, capabilities: u32, after: fn(&mut UnixStream)| {
        let error = load(TlsMode::Required, move |stream| {
            say(stream, &greeting(capabilities));
            hear(stream);
            after(stream);
            wait(stream);
        });
        assert!(matches!(error, LoadError::Connect { .. }), "{error}");
        assert!(
            error.to_string().contains(words),
            "{error} has no '{words}'"
        );
    };
    fails("offers no TLS", CAPABILITIES, |_| ());
    fails("no answer within", CAPABILITIES | SSL, |_| ());
    fails("no answer within", CAPABILITIES | SSL, |stream| {
        // the head of a TLS record, and then ever less of it
        dribble(
            stream,
            &[&[0x16, 3, 3, 0x3f, 0xff][..], &[2; 1000]].concat(),
        );
    });
    fails("TLS", CAPABILITIES | SSL, |stream| {
        say(stream, &packet(2, OK))
    });
    fails("TLS", CAPABILITIES | SSL, |stream| {
        say(stream, &[0x80; 4096])
    });
    fails("closed", CAPABILITIES | SSL, |stream| {
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
    // Clear text sent ahead must not pass for encrypted.
    let error = load(TlsMode::Required, |stream| {
        say(
            stream,
            &[greeting(CAPABILITIES | SSL), packet(2, OK)].concat(),
        );
        wait(stream);
    });
    assert!(
        error.to_string().contains("follow a complete answer"),
        "{error}"
    );
}

#[test]
fn answers_to_a_prepare() {
    let head = |columns: u16, parameters: u16| {
        let mut head = vec![0, 1, 0, 0, 0];
        head.extend_from_slice(&columns.to_le_bytes());
        head.extend_from_slice(&parameters.to_le_bytes());
        head.extend_from_slice(&[0, 0, 0]);
        head
    };
    let refusal = b"\xff\x7a\x04#42S02Table 'sbtest1' doesn't exist";
    let answering = |bytes: Vec<u8>| {
        move |stream: &mut UnixStream| {
            log_in(stream);
            hear(stream);
            say(stream, &bytes);
            wait(stream);
        }
    };
    for bytes in [
        packets(1, &[refusal]),
        packets(1, &[&head(1, 1), DEFINITION, refusal]),
    ] {
        let error = load(TlsMode::Disabled, answering(bytes));
        assert!(
            matches!(&error, LoadError::Query { code: 1146, message, .. } if message.contains("doesn't exist")),
            "{error}"
        );
    }
    for (words, bytes) in [
        ("no answer within", packets(1, &[&head(1, 1), DEFINITION])),
        ("no answer within", packets(1, &[&head(65_535, 65_535)])),
        ("must start with 0", packets(1, &[&[1; 12]])),
        ("ends", packets(1, &[&[0; 5]])),
        ("empty packet", packets(1, &[&head(1, 1), &[]])),
        ("EOF", packets(1, &[&head(1, 1), END])),
        (
            "follow a complete answer",
            packets(1, &[&head(1, 1), DEFINITION, DEFINITION, OK]),
        ),
        ("0 parameters", packets(1, &[&head(0, 0)])),
        ("number 9", packets(9, &[&head(1, 1)])),
        ("are the most", vec![0xff, 0xff, 0xff, 1, 0]),
    ] {
        login_fails(words, answering(bytes));
    }
}

/// The side must be lost with these words.
fn load_fails(words: &str, execute: impl Fn(&mut UnixStream) + Send + 'static) {
    let error = load(TlsMode::Disabled, move |stream| serve(stream, &execute));
    assert!(
        matches!(error, LoadError::ServerLost { side: 0, .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains(words),
        "{error} has no '{words}'"
    );
}

#[test]
fn answers_to_an_execute() {
    for (words, bytes) in [
        ("asks for a local file", packets(1, &[b"\xfb/etc/passwd"])),
        ("0 columns", packets(1, &[&[0xfc, 0, 0]])),
        ("65535 columns", packets(1, &[&[0xfc, 0xff, 0xff]])),
        ("number 9", packets(9, &[OK])),
        ("empty packet", packets(1, &[&[]])),
        ("cannot start with an EOF", packets(1, &[END])),
        ("follow a complete answer", packets(1, &[OK, OK])),
        (
            "follow a complete answer",
            packets(1, &[&[1], DEFINITION, ROW, END, ROW]),
        ),
        (
            "number 5",
            [packets(1, &[&[1], DEFINITION]), packet(5, ROW)].concat(),
        ),
        ("no answer on", packets(1, &[&[1], DEFINITION, ROW])),
        ("no answer on", vec![0xff, 0xff, 0xff, 1, 0]),
        ("no answer on", vec![1]),
        // unasked, and numbered from 0: why the server is about to close
        (
            "idle",
            packets(0, &[b"\xff\xbf\x0f#HY000idle for too long"]),
        ),
        ("not the MySQL protocol", packets(1, &[&[0xff, 1]])),
    ] {
        load_fails(words, move |stream| say(stream, &bytes));
    }
    load_fails("closed the connection", |stream| {
        say(stream, &packets(1, &[&[1], DEFINITION, ROW]));
        let _ = stream.shutdown(std::net::Shutdown::Both);
    });
}

#[test]
fn errors_in_the_middle_of_a_result() {
    let killed = b"\xff\x25\x05#70100Query execution was interrupted";
    for payloads in [
        &[&[2u8][..], DEFINITION, killed][..],
        &[&[1], DEFINITION, ROW, ROW, killed],
    ] {
        let bytes = packets(1, payloads);
        let error = load(TlsMode::Disabled, move |stream| {
            serve(stream, |stream| say(stream, &bytes));
        });
        assert!(
            matches!(&error, LoadError::Statement { code: 1317, message, .. } if message.contains("interrupted")),
            "{error}"
        );
    }
}

#[test]
fn endless_result_sets_are_errors() {
    // slowly: given up when the drain is over
    let error = load_with(TlsMode::Disabled, LONG, TIMEOUT, |stream| {
        serve(stream, |stream| {
            say(stream, &packets(1, &[&[1], DEFINITION]));
            dribble(stream, &packet(3, &[0; 60_000]));
        });
    });
    assert!(error.to_string().contains("were not finished"), "{error}");
    // as fast as the socket takes them: given up when they pass every bound
    load_fails("an answer of more than", |stream| {
        say(stream, &packets(1, &[&[1], DEFINITION]));
        let row = vec![0; 1 << 20];
        let mut sequence = 3u8;
        while stream.write_all(&packet(sequence, &row)).is_ok() {
            sequence = sequence.wrapping_add(1);
        }
    });
}

#[test]
fn a_slow_server_that_follows_the_protocol_is_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket in a new folder");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().expect("a client");
                serve(&mut stream, |stream| {
                    for byte in packets(1, &[&[1], DEFINITION, ROW, END]) {
                        if stream.write_all(&[byte]).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        let endpoint = Endpoint {
            transport: Transport::Unix(path.clone()),
            user: "niagara".into(),
            password: "falls".into(),
            database: "sbtest".into(),
            tls: TlsOptions::default(),
        };
        let spec = WorkloadSpec::of(Sysbench {
            test: SysbenchTest::OltpPointSelect,
            table_size: 10,
            ..Sysbench::default()
        });
        for io in [IoChoice::Epoll, IoChoice::Auto] {
            let options = DriverOptions {
                io,
                ..DriverOptions::default()
            };
            let mut driver = Driver::connect(std::slice::from_ref(&endpoint), &spec, &options)
                .expect("a connection");
            let stats = driver
                .slice(0, &SliceOptions::default())
                .expect("byte by byte is the protocol too");
            assert!(stats.transactions > 0);
        }
    });
}
