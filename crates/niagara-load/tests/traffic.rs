//! What a real client and a real server say to each other, recorded between them, written as packets that come twice, late
//! and overlapping, and imported.

mod common;

use common::{PASSWORD, Server, USER};
use etherparse::PacketBuilder;
use mysql::prelude::Queryable;
use niagara_capture::dropped::Cause;
use niagara_capture::file::Summary;
use niagara_capture::log::ReadOptions;
use niagara_capture::{Import, export, import};
use niagara_load::Transport;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes that went one way at a time.
struct Piece {
    to_server: bool,
    at_us: u64,
    bytes: Vec<u8>,
}

/// Passes one connection on to the server and keeps what went through.
struct Recorder {
    port: u16,
    pieces: Arc<Mutex<Vec<Piece>>>,
    thread: JoinHandle<()>,
}

fn pass_on(mut from: TcpStream, mut to: TcpStream, to_server: bool, pieces: &Mutex<Vec<Piece>>) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970");
        pieces.lock().expect("nobody panicked").push(Piece {
            to_server,
            at_us: now.as_micros() as u64,
            bytes: buffer[..count].to_vec(),
        });
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

impl Recorder {
    fn start(server: &Server) -> Recorder {
        let Transport::Tcp(address) = server.tcp().transport else {
            panic!("an address");
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let pieces = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&pieces);
        let thread = std::thread::spawn(move || {
            let (client, _) = listener.accept().expect("a client");
            let server = TcpStream::connect(address).expect("the server");
            for stream in [&client, &server] {
                stream.set_nodelay(true).expect("a socket");
            }
            let back = (
                server.try_clone().expect("a socket"),
                client.try_clone().expect("a socket"),
                Arc::clone(&kept),
            );
            let answers = std::thread::spawn(move || pass_on(back.0, back.1, false, &back.2));
            pass_on(client, server, true, &kept);
            answers.join().expect("a thread that ends");
        });
        Recorder {
            port,
            pieces,
            thread,
        }
    }

    fn client(&self) -> mysql::Conn {
        let options = mysql::OptsBuilder::new()
            .ip_or_hostname(Some("127.0.0.1"))
            .tcp_port(self.port)
            .prefer_socket(false)
            .user(Some(USER))
            .pass(Some(PASSWORD))
            .db_name(Some("shop"));
        mysql::Conn::new(options).expect("a connection")
    }

    fn end(self) -> Vec<Piece> {
        self.thread.join().expect("a thread that ends");
        std::mem::take(&mut *self.pieces.lock().expect("nobody panicked"))
    }
}

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 7], 40_001);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 3306);

/// Packets with their times, as `tcpdump` would have them on a line that repeats and reorders.
fn packets(pieces: &[Piece], begins: bool) -> Vec<(u64, Vec<u8>)> {
    let mut numbers = [u32::MAX - 500, 7000];
    let mut all = Vec::new();
    // `known` is the number up to which the sender has what the other side said.
    let mut packet =
        |at_us, to_server: bool, [number, known]: [u32; 2], syn: bool, fin: bool, bytes: &[u8]| {
            let (from, to) = if to_server {
                (CLIENT, SERVER)
            } else {
                (SERVER, CLIENT)
            };
            let mut builder = PacketBuilder::ethernet2([1; 6], [2; 6])
                .ipv4(from.0, to.0, 64)
                .tcp(from.1, to.1, number, 1000);
            builder = match (syn, to_server) {
                (true, true) => builder.syn(),
                (true, false) => builder.syn().ack(known),
                _ => builder.ack(known),
            };
            if fin {
                builder = builder.fin();
            }
            let mut data = Vec::new();
            builder.write(&mut data, bytes).expect("memory");
            all.push((at_us, data));
        };
    let first_us = pieces.first().expect("something was said").at_us;
    if begins {
        packet(first_us - 20, true, [numbers[0], 0], true, false, b"");
        // Nobody answers at once.
        packet(first_us - 15, true, [numbers[0], 0], true, false, b"");
        let known = numbers[0].wrapping_add(1);
        packet(first_us - 10, false, [numbers[1], known], true, false, b"");
        numbers = numbers.map(|number| number.wrapping_add(1));
    }
    for piece in pieces {
        let [place, other] = [usize::from(!piece.to_server), usize::from(piece.to_server)];
        let known = numbers[other];
        let number = &mut numbers[place];
        let chunks: Vec<(u32, &[u8])> = piece
            .bytes
            .chunks(40)
            .scan(*number, |at, chunk| {
                let here = *at;
                *at = at.wrapping_add(chunk.len() as u32);
                Some((here, chunk))
            })
            .collect();
        // Each pair turned round, every third sent twice.
        for pair in chunks.chunks(2) {
            for (place, (at, chunk)) in pair.iter().rev().enumerate() {
                packet(
                    piece.at_us,
                    piece.to_server,
                    [*at, known],
                    false,
                    false,
                    chunk,
                );
                if place == 1 && at % 3 == 0 {
                    packet(
                        piece.at_us,
                        piece.to_server,
                        [*at, known],
                        false,
                        false,
                        chunk,
                    );
                }
            }
        }
        *number = number.wrapping_add(piece.bytes.len() as u32);
    }
    let last_us = pieces.last().expect("something was said").at_us;
    packet(last_us, true, numbers, false, true, b"");
    all
}

/// The older format, in microseconds.
fn pcap(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    for number in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 262_144, 1] {
        file.extend(number.to_le_bytes());
    }
    for (at_us, data) in packets {
        let length = data.len() as u32;
        for number in [
            (at_us / 1_000_000) as u32,
            (at_us % 1_000_000) as u32,
            length,
            length,
        ] {
            file.extend(number.to_le_bytes());
        }
        file.extend(data);
    }
    file
}

/// The newer format, in nanoseconds.
fn pcapng(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = (body.len() + 12) as u32;
        file.extend(kind.to_le_bytes());
        file.extend(length.to_le_bytes());
        file.extend(body);
        file.extend(length.to_le_bytes());
    };
    block(
        0x0a0d_0d0a,
        &[
            &0x1a2b_3c4d_u32.to_le_bytes()[..],
            &[1, 0, 0, 0],
            &[0xff; 8],
        ]
        .concat(),
    );
    // Ethernet; if_tsresol: 10⁻⁹ s; the end of the options.
    block(
        1,
        &[1, 0, 0, 0, 0, 0, 4, 0, 9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0],
    );
    for (at_us, data) in packets {
        let units = at_us * 1000;
        let length = data.len() as u32;
        let head = [0, (units >> 32) as u32, units as u32, length, length];
        let head: Vec<u8> = head
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        block(6, &[&head[..], data].concat());
    }
    file
}

fn imported(folder: &Path, name: &str, bytes: &[u8]) -> (Summary, Vec<serde_json::Value>) {
    let file: PathBuf = folder.join(name);
    std::fs::write(&file, bytes).expect("a file");
    let output = file.with_extension("capture");
    let order = Import {
        files: vec![file],
        read: ReadOptions::default(),
        output: output.clone(),
        replace: true,
        clients: Vec::new(),
        counted: None,
        stored: None,
    };
    let summary = import(&order, &AtomicBool::new(false), |_| {}).expect("recorded traffic");
    let mut lines = Vec::new();
    export(&output, &mut lines, true, Path::new("lines")).expect("lines");
    let lines = lines
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    (summary, lines)
}

fn said(server: &Server) -> Vec<Piece> {
    let mut root = server.root();
    for statement in [
        "CREATE DATABASE IF NOT EXISTS shop",
        "CREATE OR REPLACE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(40), price DOUBLE, seen DATETIME(6))",
    ] {
        root.query_drop(statement).expect("tables");
    }
    let recorder = Recorder::start(server);
    let mut client = recorder.client();
    client.query_drop("BEGIN").expect("a transaction");
    let insert = "INSERT INTO item VALUES (?, ?, ?, ?)";
    for number in 1..=3 {
        let name = format!("it's \\ {number}");
        let seen = "2026-11-23 08:09:10.000011";
        client
            .exec_drop(insert, (number, name, 1.5, seen))
            .expect("a row");
    }
    client
        .exec_drop(insert, (4, mysql::Value::NULL, 2.0, mysql::Value::NULL))
        .expect("a row");
    client.query_drop("COMMIT").expect("the end");
    let names: Vec<Option<String>> = client
        .query("SELECT name FROM item ORDER BY id")
        .expect("rows");
    assert_eq!(names.len(), 4);
    client
        .query_drop("SELECT nothing FROM item")
        .expect_err("no such column");
    // Longer than a segment.
    client
        .query_drop(format!("SELECT '{}'", "long ".repeat(5000)))
        .expect("a row");
    drop(client);
    recorder.end()
}

#[test]
fn what_went_over_the_line_is_captured_whatever_became_of_its_packets() {
    let server = Server::start();
    if !server.is_mariadb {
        // A client of MySQL encrypts.
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let pieces = said(&server);
    let recorded = packets(&pieces, true);
    for (name, bytes) in [("a.pcap", pcap(&recorded)), ("b.pcapng", pcapng(&recorded))] {
        let (summary, lines) = imported(folder.path(), name, &bytes);
        println!("{summary:?}");
        assert!(summary.exact_times && summary.has_connects && summary.has_durations);
        assert!(
            summary.sources[0]
                .version
                .as_ref()
                .is_some_and(|version| version.contains("MariaDB"))
        );
        assert_eq!(summary.sessions, 1);
        let of = |kind: &str| -> Vec<&serde_json::Value> {
            lines.iter().filter(|line| line["kind"] == kind).collect()
        };
        assert_eq!(
            (of("connect").len(), of("disconnect").len()),
            (1, 1),
            "{lines:?}"
        );
        assert_eq!(of("connect")[0]["user"], USER);
        let texts: Vec<&str> = of("execute")
            .iter()
            .filter_map(|line| line["statement"].as_str())
            .collect();
        assert_eq!(texts.len(), 4, "{texts:?}");
        assert_eq!(
            texts[1],
            r"INSERT INTO item VALUES (2, 'it''s \\ 2', 1.5e0, '2026-11-23 08:09:10.000011')"
        );
        assert_eq!(texts[3], "INSERT INTO item VALUES (4, NULL, 2e0, NULL)");
        let find = |words: &str| {
            let mut found = lines.iter().filter(|line| {
                line["statement"]
                    .as_str()
                    .is_some_and(|text| text.starts_with(words))
            });
            found.next().unwrap_or_else(|| panic!("{words}: {lines:?}"))
        };
        let select = find("SELECT name");
        assert_eq!(
            (&select["rows_sent"], &select["error"]),
            (&4.into(), &0.into())
        );
        assert_eq!(select["database"], "shop");
        assert_eq!(find("SELECT nothing")["error"], 1054);
        assert_eq!(
            find("SELECT 'long")["statement"].as_str().map(str::len),
            Some(25_009)
        );
        assert_eq!(find("INSERT INTO item VALUES (3")["rows_affected"], 1);
    }
    // The connection was there before the recording: what was prepared then is not known.
    let late = pieces
        .iter()
        .position(|piece| {
            piece.to_server
                && piece
                    .bytes
                    .windows(7)
                    .any(|words| words == b"COMMIT\0" || words.ends_with(b"COMMIT"))
        })
        .expect("a commit");
    let (summary, lines) = imported(
        folder.path(),
        "late.pcap",
        &pcap(&packets(&pieces[late..], false)),
    );
    let texts: Vec<&str> = lines
        .iter()
        .filter_map(|line| line["statement"].as_str())
        .collect();
    assert_eq!((texts.len(), texts[0]), (4, "COMMIT"), "{summary:?}");
}

#[test]
fn what_cannot_be_read_is_counted() {
    let server = Server::start();
    if !server.is_mariadb {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let pieces = said(&server);
    let recorded = packets(&pieces, true);
    let dropped = |name: &str, packets: &[(u64, Vec<u8>)]| {
        let (summary, _) = imported(folder.path(), name, &pcap(packets));
        summary.dropped
    };
    // Not all of a packet was recorded: one of a statement, one of an answer.
    let full = |(_, data): &&(u64, Vec<u8>)| {
        data.len() == 54 + 40 && data.windows(10).any(|words| words == b"long long ")
    };
    let asked = recorded.iter().find(full).expect("in a statement");
    let answered = recorded.iter().rfind(full).expect("in an answer");
    for (name, long, is_known) in [
        ("asked.pcap", asked, false),
        ("answered.pcap", answered, true),
    ] {
        let mut cut = recorded.clone();
        // Sent twice, it may come whole the second time.
        for packet in cut.iter_mut().filter(|packet| *packet == long) {
            packet.1.truncate(60);
        }
        let (summary, lines) = imported(folder.path(), name, &pcap(&cut));
        let dropped = &summary.dropped;
        assert_eq!(dropped.count(Cause::Gap), 1, "{name}: {dropped:?}");
        let find = |words: &str| {
            let mut lines = lines.iter();
            lines.find(|line| {
                let text = line["statement"].as_str();
                text.is_some_and(|text| text.starts_with(words))
            })
        };
        assert!(find("SELECT nothing").is_some(), "{name}");
        let long = find("SELECT 'long");
        assert_eq!(long.is_some(), is_known, "{name}");
        assert!(
            long.is_none_or(|long| long["rows_sent"].is_null()),
            "{name}"
        );
    }
    // The client wants TLS: the bit in its first packet, and nothing behind it.
    let mut tls = Vec::new();
    for piece in &pieces {
        let mut bytes = piece.bytes.clone();
        if piece.to_server {
            bytes.truncate(36);
            // Three bytes say the length: with a long path among the client's attributes a login is longer than one can say.
            bytes[..3].copy_from_slice(&[32, 0, 0]);
            bytes[5] |= 8;
        }
        tls.push(Piece { bytes, ..*piece });
        if piece.to_server {
            break;
        }
    }
    let left_out = dropped("tls.pcap", &packets(&tls, true));
    // What was said differs from run to run: the server's salt, its numbers, the pieces in which it came.
    let said: Vec<_> = tls
        .iter()
        .map(|piece| (piece.to_server, piece.at_us, &piece.bytes))
        .collect();
    assert_eq!(
        left_out.count(Cause::Encrypted),
        1,
        "{left_out:?}\n{said:?}"
    );
    // A file that ends in the middle, wherever, is read up to there.
    let bytes = pcap(&recorded);
    for at in (24..bytes.len()).step_by(211) {
        let (summary, _) = imported(folder.path(), "short.pcap", &bytes[..at]);
        assert!(summary.dropped.count(Cause::CutTail) <= 1, "{at}");
    }
}
