//! The load comes from another host: servers listen where that host reaches them and nowhere else, its agent ends with
//! the study, and what goes wrong between the two says so.

mod common;

use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::namespace::{HOST, Namespace, agents_under, home_under, write_ssh};
use common::{Place, run, signal, wait_until};
use niagara_store::Store;
use nix::sys::signal::Signal;

/// A small comparison with its load from `HOST`, by way of the command `ssh`.
fn compare(place: &Place, ssh: &std::path::Path, b: &str) -> Command {
    let mut command = place.niagara(&["compare", "base", b]);
    command
        .args(["--client-host", HOST, "--ssh"])
        .arg(ssh)
        .args(SMALL)
        .args(["--couples", "3", "--max-duels", "8", "--out"])
        .arg(place.out());
    command
}

const SMALL: &[&str] = &[
    "--table-size",
    "1000",
    "--slice",
    "150ms",
    "--warm-up",
    "300ms",
    "--budget",
    "10m",
    "--seed",
    "11",
    // Tests run side by side: each is the others' disturbance.
    "--disturbance",
    "100%",
];

/// A TCP socket of a process: address here, address there, state.
struct Socket {
    here: Ipv4Addr,
    there: Ipv4Addr,
    state: u8,
}

const ESTABLISHED: u8 = 1;
const LISTENS: u8 = 10;

/// The IPv4 sockets of a process: those of `/proc/net/tcp` (proc_net(5)) whose inode it has open. By its port they would
/// not be its own alone: another process may hold the same number at another address, or for a connection of its own.
fn sockets_of(pid: i32) -> Vec<Socket> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let open: Vec<String> = descriptors
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok())
        .map(|target| target.to_string_lossy().into_owned())
        .collect();
    let address = |text: &str| -> Option<Ipv4Addr> {
        let (address, _port) = text.split_once(':')?;
        let address = u32::from_str_radix(address, 16).ok()?;
        // In the order that this machine keeps it in.
        Some(Ipv4Addr::from(address.to_ne_bytes()))
    };
    let text = std::fs::read_to_string("/proc/net/tcp").expect("/proc");
    text.lines()
        .skip(1)
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let inode = format!("socket:[{}]", fields.get(9)?);
            open.contains(&inode).then_some(Socket {
                here: address(fields.get(1)?)?,
                there: address(fields.get(2)?)?,
                state: u8::from_str_radix(fields.get(3)?, 16).ok()?,
            })
        })
        .collect()
}

/// Whether a server runs on a clone of the data, as those of duels do.
fn is_on_clone(pid: i32) -> bool {
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&command).contains("/clone-")
}

/// Transactions were done, and the other host's CPU time for them was counted: in all, for a slice on a busy machine may be
/// over before its load has begun.
fn assert_loaded(store: &Store) {
    let slices = store.slices(None).expect("slices");
    let transactions: u64 = slices.iter().map(|slice| slice.transactions).sum();
    let client: f64 = slices.iter().map(|slice| slice.client_cpu_seconds).sum();
    assert!(transactions > 0 && client > 0.0, "{transactions} {client}");
}

fn wait_for_agent(place: &Place, child: &mut Child) -> i32 {
    let mut found = None;
    wait_until("load agent", Duration::from_secs(300), || {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            panic!("niagara ended early: {status}");
        }
        found = agents_under(place.folder.path()).first().copied();
        found.is_some()
    });
    found.expect("just found")
}

#[test]
fn a_comparison_from_another_host_ends_with_a_verdict() {
    let Some(network) = Namespace::new() else {
        return;
    };
    let place = Place::new();
    let ssh = network.ssh(place.folder.path());
    let mut child = compare(&place, &ssh, "cfg.innodb_io_capacity=400")
        .args(["--threads", "4", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    wait_for_agent(&place, &mut child);
    // Servers come and go: one that answers the other host is looked for until there is one.
    wait_until(
        "connections from the other host",
        Duration::from_secs(300),
        || {
            if let Some(status) = child.try_wait().expect("a child of ours") {
                panic!("niagara ended early: {status}");
            }
            // A server that makes the data image, where there is none yet, is for this host alone.
            let (in_duels, setting_up): (Vec<i32>, Vec<i32>) = place
                .servers()
                .into_iter()
                .partition(|&pid| is_on_clone(pid));
            for socket in setting_up.into_iter().flat_map(sockets_of) {
                assert!(socket.here.is_loopback(), "{}", socket.here);
            }
            let of_servers: Vec<Socket> = in_duels.into_iter().flat_map(sockets_of).collect();
            for socket in &of_servers {
                assert_eq!(socket.here, network.here);
            }
            let connected =
                |socket: &&Socket| socket.state == ESTABLISHED && socket.there == network.there;
            of_servers.iter().any(|socket| socket.state == LISTENS)
                && of_servers.iter().filter(connected).count() >= 4
        },
    );
    let output = child.wait_with_output().expect("niagara ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(place.servers(), Vec::<i32>::new());
    assert_eq!(agents_under(place.folder.path()), Vec::<i32>::new());

    let summary = String::from_utf8_lossy(&output.stdout);
    let summary = common::document::read(&summary).to_string();
    assert!(summary.contains("\"verdict\""), "{summary}");
    assert!(summary.contains(HOST), "{summary}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let machine = store.study().expect("a study").machine;
    let client = &machine["client_host"];
    assert_eq!(client["host"], HOST);
    assert_eq!(client["address"], network.there.to_string());
    assert_eq!(client["server_address"], network.here.to_string());
    assert_loaded(&store);
    let (code, stdout, stderr) = run(place.niagara(&["report"]).arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stdout.contains(HOST) && stdout.contains("is not observed"),
        "{stdout}"
    );
}

#[test]
fn an_agent_that_dies_is_an_error_and_what_was_measured_is_kept() {
    let Some(network) = Namespace::new() else {
        return;
    };
    let place = Place::new();
    let ssh = network.ssh(place.folder.path());
    let start = |stderr| {
        compare(&place, &ssh, "base")
            .args(["--threads", "2"])
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .expect("niagara starts")
    };
    let mut child = start(Stdio::piped());
    place.wait_for_duels(1, &mut child);
    signal(wait_for_agent(&place, &mut child), Signal::SIGKILL);
    let output = child.wait_with_output().expect("niagara ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let lost = format!("the load agent on {HOST} was lost");
    assert!(stderr.contains(&lost), "{stderr}");
    assert_eq!(place.servers(), Vec::<i32>::new());
    let kept = place.duels();
    assert!(!kept.is_empty());
    assert!(kept.iter().all(|duel| duel.score.is_some()), "{kept:?}");

    // The same command continues; and when it is killed, nothing is left here or there.
    let mut child = start(Stdio::null());
    place.wait_for_duels(kept.len() + 1, &mut child);
    signal(child.id() as i32, Signal::SIGKILL);
    child.wait().expect("niagara is gone");
    wait_until("end of servers and agent", Duration::from_secs(60), || {
        place.servers().is_empty() && agents_under(place.folder.path()).is_empty()
    });
    assert_eq!(place.duels()[..kept.len()], kept);
}

#[test]
fn a_sweep_counts_the_load_generators_cpu_where_it_is() {
    let Some(network) = Namespace::new() else {
        return;
    };
    let place = Place::new();
    // Nobody says by which address this host is reached.
    let ssh = write_ssh(
        place.folder.path(),
        "unset SSH_CONNECTION",
        &network.enter(),
    );
    let sweep = || {
        let mut command = place.niagara(&["sweep", "base", "--threads", "1,2", "--json"]);
        command
            .args(["--client-host", HOST, "--ssh"])
            .arg(&ssh)
            .args(SMALL)
            .args(["--couples", "2", "--starts", "2", "--no-profile", "--out"])
            .arg(place.out());
        command
    };
    let (code, _, stderr) = run(&mut sweep());
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("remedy") && stderr.contains("--server-address"),
        "{stderr}"
    );
    let here = network.here.to_string();
    let (code, stdout, stderr) = run(sweep().args(["--server-address", &here]));
    assert_eq!(code, Some(0), "{stderr}");
    let summary: serde_json::Value = serde_json::from_str(&stdout).expect("a summary");
    let text = summary.to_string();
    assert!(text.contains("\"client\":0.0"), "{text}");
    assert!(text.contains(HOST), "{text}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    assert_loaded(&store);
}

#[test]
fn what_cannot_be_from_another_host_is_told_with_its_remedy() {
    let place = Place::new();
    // This host by another way: what is tested here needs no cable.
    let ssh = write_ssh(
        place.folder.path(),
        "export SSH_CONNECTION=\"127.0.0.1 50022 127.0.0.1 22\"",
        "",
    );
    let refused = |command: &mut Command, words: &[&str]| {
        let (code, _, stderr) = run(command.args(["--threads", "1"]));
        assert_eq!(code, Some(1), "{stderr}");
        for word in words {
            assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
        }
        assert_eq!(agents_under(place.folder.path()), Vec::<i32>::new());
    };
    refused(
        &mut compare(&place, &ssh, "transport=unix"),
        &["transport=unix", "another host"],
    );
    let agents = home_under(place.folder.path()).join(".cache/niagara/agent");
    let copies = std::fs::read_dir(&agents)
        .expect("the agent's folder")
        .count();
    assert_eq!(copies, 1, "copied once, nothing half");
    // TEST-NET-3 is nobody's address.
    refused(
        compare(&place, &ssh, "base").args(["--server-address", "203.0.113.7"]),
        &["203.0.113.7", "remedy", "--server-address"],
    );
    let mut elsewhere = place.niagara(&["compare", "base", "base", "--client-host", "elsewhere"]);
    elsewhere.env("NIAGARA_SSH", &ssh);
    refused(
        &mut elsewhere,
        &["Could not resolve hostname elsewhere", "remedy"],
    );
    let mut option = place.niagara(&["compare", "base", "base", "--client-host=-oProxyCommand=x"]);
    refused(&mut option, &["not a host", "remedy"]);
    let mut alone = place.niagara(&["compare", "base", "base", "--ssh", "ssh"]);
    refused(&mut alone, &["--client-host", "remedy"]);
}
