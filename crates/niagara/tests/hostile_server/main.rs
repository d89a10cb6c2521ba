//! A server that is hostile, against each command that connects to a server: it ends in time and with little memory, says what
//! to do, and sends nothing of this machine.
//!
//! Real servers do none of this, so the server is made up.

#[path = "../common/mod.rs"]
mod common;
mod fake;
mod misdeeds;

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use common::Place;
use fake::Fake;
use misdeeds::{MISDEEDS, Misdeed};
use niagara_load::{
    DriverOptions, Endpoint, Sysbench, SysbenchTest, TlsMode, TlsOptions, Transport, WorkloadSpec,
};

/// A command that runs longer is ended by the test, which fails.
const BOUND: Duration = Duration::from_secs(300);
/// Statements on tables may take an hour, for an index is made so long: after this time Ctrl-C has to end them.
const PATIENCE: Duration = Duration::from_secs(30);
/// More memory than any command takes that reads what a server says.
const MEMORY: u64 = 512 << 20;
/// Commands at once: most wait for bytes that do not come.
const AT_ONCE: usize = 24;
/// A file that a server asks for, and what is in it.
pub const SECRET_FILE: &str = "secret.txt";
const SECRET: &str = "canary-of-a-file";
/// The password, which no server is told in clear.
const PASSWORD: &str = "canary-of-a-password";

/// A command that connects.
struct Victim {
    name: &'static str,
    words: &'static [&'static str],
    /// How the server is named.
    server: Server,
}

enum Server {
    /// `--host 127.0.0.1 --port N`.
    Options,
    /// sysbench's own options.
    Sysbench,
    /// `--config-from 127.0.0.1:N`.
    ConfigFrom,
    /// A request on standard input.
    Agent,
}

const VICTIMS: &[Victim] = &[
    Victim {
        name: "bench",
        words: &[
            "bench",
            "oltp_point_select",
            "--time",
            "1s",
            "--warm-up",
            "0",
            "--threads",
            "2",
        ],
        server: Server::Options,
    },
    Victim {
        name: "bench prepare",
        words: &[
            "bench",
            "oltp_point_select",
            "prepare",
            "--table-size",
            "10",
        ],
        server: Server::Options,
    },
    Victim {
        name: "sysbench run",
        words: &[
            "sysbench",
            "oltp_point_select",
            "run",
            "--time=1",
            "--threads=2",
            "--forced-shutdown=3",
        ],
        server: Server::Sysbench,
    },
    Victim {
        name: "sysbench prepare",
        words: &[
            "sysbench",
            "oltp_point_select",
            "prepare",
            "--table-size=10",
        ],
        server: Server::Sysbench,
    },
    Victim {
        name: "capture start",
        words: &["capture", "start", "--for", "1s", "-o", "x.capture"],
        server: Server::Options,
    },
    Victim {
        name: "capture advise",
        words: &["capture", "advise"],
        server: Server::Options,
    },
    Victim {
        name: "--config-from",
        words: &[
            "compare",
            "base",
            "base",
            "--budget",
            "1m",
            "--out",
            "study",
            "--table-size",
            "10",
        ],
        server: Server::ConfigFrom,
    },
    Victim {
        name: "load-agent",
        words: &["load-agent"],
        server: Server::Agent,
    },
];

/// A request to the agent, as the other end writes it: connect.
fn request(port: u16) -> Vec<u8> {
    let endpoint = Endpoint {
        transport: Transport::Host {
            name: "127.0.0.1".into(),
            port,
        },
        user: "u".into(),
        password: PASSWORD.into(),
        database: "sbtest".into(),
        tls: TlsOptions {
            mode: TlsMode::Preferred,
            ..TlsOptions::default()
        },
    };
    let spec = WorkloadSpec::of(Sysbench {
        test: SysbenchTest::OltpPointSelect,
        ..Sysbench::default()
    });
    let options = DriverOptions::default();
    let request = serde_json::json!({
        "connect": {"endpoints": [endpoint], "spec": spec, "options": options}
    });
    let text = request.to_string();
    let mut frame = (text.len() as u32).to_be_bytes().to_vec();
    frame.extend_from_slice(text.as_bytes());
    frame
}

/// What became of a command.
struct Outcome {
    code: Option<i32>,
    took: Duration,
    memory: u64,
    output: String,
    heard: Vec<u8>,
    /// Ctrl-C was typed.
    interrupted: bool,
}

fn suffer(victim: &Victim, misdeed: &Misdeed) -> Outcome {
    let fake = Fake::start(misdeed.act);
    let place = Place::new();
    std::fs::write(place.folder.path().join(SECRET_FILE), SECRET).expect("a file");
    let mut command = place.niagara(victim.words);
    let port = fake.port.to_string();
    match victim.server {
        Server::Options => {
            command.args(["--host", "127.0.0.1", "--port", &port, "--user", "u"]);
        }
        Server::Sysbench => {
            command.args([
                "--mysql-host=127.0.0.1",
                "--mysql-user=u",
                &format!("--mysql-port={port}"),
                &format!("--mysql-password={PASSWORD}"),
            ]);
        }
        Server::ConfigFrom => {
            command.args([
                "--config-from",
                &format!("127.0.0.1:{port}"),
                "--config-user",
                "u",
            ]);
        }
        Server::Agent => {}
    }
    command
        .env("NIAGARA_PASSWORD", PASSWORD)
        .env("XDG_STATE_HOME", place.folder.path().join("state"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if matches!(victim.server, Server::Agent) {
        command.stdin(Stdio::piped());
    }
    let interrupts = victim.words.contains(&"prepare");
    let outcome = watch(&mut command, &request(fake.port), interrupts);
    Outcome {
        heard: fake.heard(),
        ..outcome
    }
}

/// Runs a command to its end, or ends it.
fn watch(command: &mut Command, input: &[u8], interrupts: bool) -> Outcome {
    let began = Instant::now();
    let mut interrupted = false;
    let mut child = command.spawn().expect("niagara starts");
    let stdin = child.stdin.take().map(|mut stdin| {
        let _ = stdin.write_all(input);
        stdin
    });
    let readers = [
        reader(child.stdout.take().expect("piped")),
        reader(child.stderr.take().expect("piped")),
    ];
    let mut memory = 0;
    let mut stdin = stdin;
    let code = loop {
        memory = peak(&child).unwrap_or(memory).max(memory);
        if let Some(status) = child.try_wait().expect("a child of ours") {
            break status.code();
        }
        // The agent ends with its input, once it has answered.
        if stdin.is_some() && messages(&readers[0].1.lock().expect("no panic")) > 1 {
            stdin = None;
        }
        if began.elapsed() > PATIENCE && interrupts && !interrupted {
            interrupted = true;
            common::signal(child.id() as i32, nix::sys::signal::Signal::SIGINT);
        }
        // Where these tests run in the background, a shell has them ignore SIGINT, and so do their children.
        if began.elapsed() > PATIENCE * 2 && interrupts {
            common::signal(child.id() as i32, nix::sys::signal::Signal::SIGTERM);
        }
        if began.elapsed() > BOUND {
            let _ = child.kill();
            let _ = child.wait();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let took = began.elapsed();
    let output: Vec<u8> = readers
        .into_iter()
        .flat_map(|(thread, read)| {
            thread.join().expect("a reader");
            read.lock().expect("no panic").clone()
        })
        .collect();
    Outcome {
        code,
        took,
        memory,
        output: String::from_utf8_lossy(&output).into_owned(),
        heard: Vec::new(),
        interrupted,
    }
}

/// A thread that reads a stream to its end, and what it has read.
type Reader = (JoinHandle<()>, Arc<Mutex<Vec<u8>>>);

fn reader(mut stream: impl Read + Send + 'static) -> Reader {
    let read = Arc::<Mutex<Vec<u8>>>::default();
    let kept = Arc::clone(&read);
    let thread = std::thread::spawn(move || {
        let mut part = [0; 65_536];
        while let Ok(count @ 1..) = stream.read(&mut part) {
            kept.lock()
                .expect("no panic")
                .extend_from_slice(&part[..count]);
        }
    });
    (thread, read)
}

/// Whole messages of the agent's, each behind its length.
fn messages(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let Some((length, rest)) = bytes.split_first_chunk() {
        let Some(rest) = rest.get(u32::from_be_bytes(*length) as usize..) else {
            break;
        };
        bytes = rest;
        count += 1;
    }
    count
}

/// The most memory that the process has had, in bytes.
fn peak(child: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes << 10)
}

/// The text without sequences that set a colour.
fn without_colours(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match rest.strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => {
                plain.push('\u{1b}');
                plain.push_str(part);
            }
        }
    }
    plain
}

/// What is wrong with an outcome, if something is.
fn faults(victim: &Victim, misdeed: &Misdeed, outcome: &Outcome) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |text: String| faults.push(text);
    match outcome.code {
        None if outcome.took >= BOUND => fault(format!("it did not end within {BOUND:?}")),
        None if outcome.interrupted => {}
        None => fault("it was ended by a signal".into()),
        Some(101) => fault("it panicked".into()),
        Some(0) if !misdeed.may_succeed && !matches!(victim.server, Server::Agent) => {
            fault("it ended well".into());
        }
        Some(code) => {
            let says_what_to_do = outcome.output.contains("remedy: ")
                || !matches!(victim.server, Server::Options | Server::ConfigFrom);
            if code != 0 && (outcome.output.trim().is_empty() || !says_what_to_do) {
                fault("it says not what to do".into());
            }
        }
    }
    if outcome.memory > MEMORY {
        fault(format!("it took {} MiB", outcome.memory >> 20));
    }
    // The agent's frames begin with their length. Colours do no harm.
    let is_raw = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let output = without_colours(&outcome.output);
    if !matches!(victim.server, Server::Agent) && output.contains(is_raw) {
        fault("what the server said comes to the terminal as it is".into());
    }
    if outcome.output.len() > 64 << 10 {
        fault(format!("it says {} bytes", outcome.output.len()));
    }
    let heard = String::from_utf8_lossy(&outcome.heard);
    for (what, secret) in [
        ("a file", SECRET),
        ("the password", PASSWORD),
        ("/etc/passwd", "root:x:"),
    ] {
        if heard.contains(secret) {
            fault(format!("{what} was sent to the server"));
        }
    }
    faults
}

#[test]
fn hostile_servers_end_commands() {
    let only = std::env::var("NIAGARA_TEST_ONLY").unwrap_or_default();
    let pairs: Vec<(&Victim, &Misdeed)> = VICTIMS
        .iter()
        .flat_map(|victim| MISDEEDS.iter().map(move |misdeed| (victim, misdeed)))
        .filter(|(victim, misdeed)| format!("{}: {}", victim.name, misdeed.name).contains(&only))
        .collect();
    let (next, told) = (AtomicUsize::new(0), Mutex::new(String::new()));
    let longest = Mutex::new((Duration::ZERO, 0_u64));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((victim, misdeed)) = pairs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let outcome = suffer(victim, misdeed);
                    {
                        let mut longest = longest.lock().expect("no panic");
                        longest.0 = longest.0.max(outcome.took);
                        longest.1 = longest.1.max(outcome.memory);
                    }
                    let faults = faults(victim, misdeed, &outcome);
                    if !faults.is_empty() || !only.is_empty() {
                        let output: String = outcome.output.chars().take(600).collect();
                        let _ = writeln!(
                            told.lock().expect("no panic"),
                            "{}: {}: {} ({:?}, {:.1?}, {} MiB)\n    {}",
                            victim.name,
                            misdeed.name,
                            faults.join("; "),
                            outcome.code,
                            outcome.took,
                            outcome.memory >> 20,
                            output.escape_debug()
                        );
                    }
                }
            });
        }
    });
    let told = told.into_inner().expect("no panic");
    let (took, memory) = longest.into_inner().expect("no panic");
    eprintln!(
        "{} pairs; the longest took {took:.1?}, the greatest {} MiB",
        pairs.len(),
        memory >> 20
    );
    if !only.is_empty() {
        eprintln!("{told}");
    }
    let wrong = told
        .lines()
        .any(|line| !line.starts_with(' ') && !line.contains(":  ("));
    assert!(!wrong, "\n{told}");
}
