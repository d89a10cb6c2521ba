//! `niagara profile` on real servers: what it hands over, and whether it names a planted cause first.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Place, SHORT_TUNING, run, socket_of};
use niagara_load::{Admin, Endpoint, TlsOptions, Transport};
use niagara_model::Summary;
use niagara_profile::kernel::{Access, Reach};
use niagara_store::Store;
use serde_json::Value;

/// A profile that takes seconds; `more` has the views.
fn small(place: &Place, variant: &[&str], more: &[&str]) -> Command {
    of_threads("8", place, variant, more)
}

/// The same over a number of connections.
fn of_threads(threads: &str, place: &Place, variant: &[&str], more: &[&str]) -> Command {
    let mut command = place.niagara(&["profile"]);
    command
        .args(variant)
        .args([
            "--threads",
            threads,
            "--table-size",
            "1000",
            "--workload",
            "oltp_point_select",
        ])
        .args([
            "--seconds",
            "2s",
            "--slice",
            "250ms",
            "--warm-up",
            "500ms",
            "--json",
            "--out",
        ])
        .arg(place.out())
        .args(more);
    command
}

fn document(command: &mut Command) -> Value {
    let (code, stdout, stderr) = run(command);
    let document: Value =
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"));
    // 1 where a view that was named cannot be had by this user, which each profile then says.
    let profiles = document["profiles"].as_array().cloned().unwrap_or_default();
    let missing = |profile: &Value| !profile["missing"].as_array().is_none_or(Vec::is_empty);
    let is_left_out = Access::probe().reach < Reach::Machine && profiles.iter().all(missing);
    assert!(
        code == Some(0) || (code == Some(1) && is_left_out),
        "{code:?}: {stderr}"
    );
    document
}

fn first_limit(document: &Value) -> (&str, &Value) {
    let profile = &document["profiles"][0];
    let first = profile["limits"][0]["limit"].as_str().unwrap_or("nothing");
    (first, profile)
}

/// Whether the kernel shows this user what waits; where it does not, a profile has to say so, and that is tested instead.
fn sees_waiting(profile: &Value) -> bool {
    if Access::probe().reach >= Reach::Kernel {
        return true;
    }
    let missing = profile["missing"].to_string();
    assert!(missing.contains("perf_event_paranoid"), "{missing}");
    false
}

#[test]
fn allocations_alone_are_printed_with_their_call_sites() {
    let place = Place::new();
    let mut command = place.niagara(&["profile", "base", "--views", "allocations"]);
    command.args(["--threads", "4", "--table-size", "1000"]);
    command.args(["--workload", "oltp_point_select", "--seconds", "2s"]);
    command.args(["--slice", "250ms", "--warm-up", "500ms", "--no-symbols"]);
    command.arg("--out").arg(place.out());
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    for word in ["Allocations", "pairs per query", "allocations and"] {
        assert!(stdout.contains(word), "{word}\n{stdout}");
    }
    // The functions of a call site, the one that asked the allocator first.
    assert!(stdout.contains(" ← "), "{stdout}");
}

/// As an application that connects for each page: threads without a connection wait in the server's cache of threads.
#[test]
fn threads_in_the_cache_are_idle() {
    let place = Place::new();
    let reconnecting = ["--views", "off-cpu", "--set", "reconnect=1"];
    let document = document(&mut of_threads("10", &place, &["base"], &reconnecting));
    let (_, profile) = first_limit(&document);
    if !sees_waiting(profile) {
        return;
    }
    let limits = profile["limits"].as_array().expect("a list");
    assert!(
        limits.iter().all(|limit| limit["limit"] != "locks"),
        "{limits:?}"
    );
}

#[test]
fn every_view_of_a_point_select_and_the_files() {
    let place = Place::new();
    let document = document(&mut small(&place, &["base"], &[]));
    let profile = &document["profiles"][0];
    let sum = |list: &Value, what: &str| -> f64 {
        let parts = list.as_array().into_iter().flatten();
        parts.filter_map(|part| part[what].as_f64()).sum()
    };
    // The views that need no permission.
    let allocations = &profile["allocations"];
    // One at the least: the ticket of the table's metadata lock.
    assert!(
        allocations["calls_per_query"].as_f64() > Some(0.9),
        "{allocations}"
    );
    assert!(
        (sum(&allocations["sites"], "share") - 1.0).abs() < 1e-6,
        "{allocations}"
    );
    assert!(
        allocations["paired_share"].as_f64() > Some(0.2),
        "{allocations}"
    );
    assert!(
        profile["locks"]["named"]
            .as_array()
            .is_some_and(|named| named.len() > 3),
        "{profile}"
    );
    assert!(
        profile["costs"]
            .as_array()
            .is_some_and(|costs| costs.len() >= 2),
        "{profile}"
    );
    if sees_waiting(profile) {
        let cpu = &profile["cpu"];
        // A busy machine leaves few samples, and shares of few scatter.
        assert!(cpu["samples"].as_u64() > Some(0), "{cpu}");
        let layers = sum(&cpu["layers"], "share");
        assert!((layers - 1.0).abs() < 0.02, "{cpu}");
        assert!(cpu["named_share"].as_f64() >= Some(0.75), "{cpu}");
        let time = &profile["time"];
        let parts = ["running", "ready", "client", "locks", "other"];
        let all: f64 = parts.iter().filter_map(|part| time[part].as_f64()).sum();
        assert!((all - 1.0).abs() < 0.02, "{time}");
        let page = std::fs::read_to_string(place.out().join("report.html")).expect("written");
        assert!(page.matches("data:image/svg+xml;base64,").count() == 2);
        assert!(place.out().join("cpu-a.folded").exists());
    }
    if Access::probe().reach == Reach::Machine {
        let calls = profile["syscalls"].as_array().cloned().unwrap_or_default();
        let of = |name: &str| {
            let found = calls.iter().find(|call| call["name"] == name);
            found
                .and_then(|call| call["per_query"].as_f64())
                .unwrap_or(0.0)
        };
        // One answer a query, whatever is sent besides.
        assert!((0.7..1.5).contains(&of("sendto")), "{calls:?}");
        assert!(of("recvfrom") > 0.7, "{calls:?}");
    }
    let markdown = std::fs::read_to_string(place.out().join("report.md")).expect("written");
    assert!(markdown.contains("## Allocations") && markdown.contains("## What looking cost"));
    assert!(place.servers().is_empty(), "no server is left");
    done_again_from_the_results(&place);
}

/// `niagara report` makes the files of a profile again, as they were.
fn done_again_from_the_results(place: &Place) {
    let files = || -> Vec<(PathBuf, Vec<u8>)> {
        let entries = std::fs::read_dir(place.out()).expect("the folder of the profile");
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<_> = paths
            .filter(|path| path.extension().is_some_and(|kind| kind != "db"))
            .map(|path| (path.clone(), std::fs::read(path).expect("a file")))
            .collect();
        files.sort();
        files
    };
    let before = files();
    assert!(before.len() >= 3, "{before:?}");
    for (path, _) in &before {
        std::fs::remove_file(path).expect("ours");
    }
    let mut report = place.niagara(&["report", "--format", "files"]);
    let (code, _, stderr) = run(report.arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
    let names = |files: &[(PathBuf, Vec<u8>)]| -> Vec<PathBuf> {
        files.iter().map(|(path, _)| path.clone()).collect()
    };
    let after = files();
    assert_eq!(names(&after), names(&before));
    for ((path, old), (_, new)) in before.iter().zip(&after) {
        assert!(old == new, "{} is another one", path.display());
    }
    let mut table = place.niagara(&["report", "--format", "csv"]);
    let (code, _, stderr) = run(table.arg(place.out()));
    assert_eq!(code, Some(1));
    assert!(
        stderr.contains("the slices of one study") && stderr.contains("json"),
        "{stderr}"
    );
}

#[test]
fn a_slow_malloc_is_named_first() {
    let place = Place::new();
    let library = slow_malloc(place.folder.path());
    let levers = place.folder.path().join("levers");
    std::fs::create_dir(&levers).expect("made");
    let text = format!(
        "title = \"slow malloc\"\ntheme = \"malloc\"\nrisk = \"none\"\n\
         why = \"A malloc that takes its time.\"\nsource = \"a test\"\n\n[when]\nmariadb = \"*\"\n\n[change.environment]\nLD_PRELOAD = \"{}\"\n",
        library.display()
    );
    std::fs::write(levers.join("slow-malloc.toml"), text).expect("written");
    let folder = levers.display().to_string();
    let more = ["--views", "cpu,off-cpu", "--levers", &folder];
    let document = document(&mut small(&place, &["slow-malloc"], &more));
    let (first, profile) = first_limit(&document);
    if sees_waiting(profile) {
        assert_eq!(first, "memory", "{}", profile["limits"]);
    }
}

/// A library whose malloc counts to some thousands before it does anything.
fn slow_malloc(folder: &Path) -> PathBuf {
    let source = folder.join("slow.c");
    std::fs::write(
        &source,
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <stddef.h>\nvoid *malloc(size_t n) {\n\
         static void *(*next)(size_t);\nif (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, \"malloc\");\n\
         for (volatile int i = 0; i < 200000; i++) {}\nreturn next(n);\n}\n",
    )
    .expect("written");
    let library = folder.join("libslow.so");
    let status = Command::new("cc")
        .args(["-O1", "-g", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .stderr(Stdio::inherit())
        .status()
        .expect("a C compiler: scripts/setup installs one");
    assert!(status.success());
    library
}

#[test]
fn a_table_cache_of_one_is_named_first() {
    let place = Place::new();
    let variant = "cfg.table_open_cache=1,cfg.table_open_cache_instances=1";
    let more = ["--views", "cpu,off-cpu", "--tables", "24"];
    let document = document(&mut of_threads("16", &place, &[variant], &more));
    let (first, profile) = first_limit(&document);
    if sees_waiting(profile) {
        assert_eq!(first, "table-cache", "{}", profile["limits"]);
    }
}

#[test]
fn more_connections_than_a_server_takes_by_default_are_given_room() {
    let place = Place::new();
    let document = document(&mut of_threads(
        "170",
        &place,
        &["base"],
        &["--views", "cpu"],
    ));
    let workload = document["profiles"][0]["workload"].to_string();
    assert!(workload.contains("170 threads"), "{workload}");
}

/// How long the hot session holds the table, and how long it lets the others in: short beside a slice of load.
const HELD: Duration = Duration::from_millis(90);
const FREE: Duration = Duration::from_millis(10);

#[test]
fn a_table_that_a_session_keeps_locking_is_named_first() {
    let place = Place::new();
    let mut command = small(&place, &["base"], &["--views", "cpu,off-cpu"]);
    let profile = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    let over = AtomicBool::new(false);
    let (output, blocked) = std::thread::scope(|scope| {
        let hot = scope.spawn(|| {
            let mut blocked = Vec::new();
            while !over.load(Ordering::Relaxed) {
                for server in place.servers() {
                    // One that starts, or ends, is tried again.
                    if let Some(mut session) = session(server) {
                        keep_locking(&mut session, &over, &mut blocked);
                    }
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            blocked
        });
        let output = profile.wait_with_output().expect("niagara ends");
        over.store(true, Ordering::Relaxed);
        (output, hot.join().expect("no panic"))
    });
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    // The session really stood in the way of the load, which is not on all the time: nearly all connections waited for the
    // table, time and again.
    let most = blocked.iter().filter(|&&waiting| waiting >= 6).count();
    assert!(most > 20, "{blocked:?}");
    let document = common::document::read(&String::from_utf8_lossy(&output.stdout));
    let (first, profile) = first_limit(&document);
    if sees_waiting(profile) {
        assert_eq!(first, "metadata-locks", "{}", profile["limits"]);
    }
}

/// A session of one's own on a private server: its account is beside its data.
fn session(server: i32) -> Option<Admin> {
    let command = std::fs::read(format!("/proc/{server}/cmdline")).ok()?;
    let command = String::from_utf8_lossy(&command).into_owned();
    let datadir = command
        .split('\0')
        .find_map(|word| word.strip_prefix("--datadir="))?;
    let account = std::fs::read(Path::new(datadir).join("niagara-account.json")).ok()?;
    let account: Value = serde_json::from_slice(&account).ok()?;
    let endpoint = Endpoint {
        transport: Transport::Unix(socket_of(server)?),
        user: account["user"].as_str()?.to_owned(),
        password: account["password"].as_str()?.to_owned(),
        database: "sbtest".to_owned(),
        tls: TlsOptions::default(),
    };
    Admin::connect(&endpoint, Duration::from_secs(10)).ok()
}

/// Takes and gives back the loaded table until the server is gone; notes how many waited for it each time.
fn keep_locking(session: &mut Admin, over: &AtomicBool, blocked: &mut Vec<u32>) {
    let number = |session: &mut Admin, what: &str| -> Option<u32> {
        let sql = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE {what}");
        session.value(&sql).ok()??.parse().ok()
    };
    while !over.load(Ordering::Relaxed) {
        // Not before the load is connected: while tables are made, nobody is to be held up.
        match number(session, "USER = 'niagara'") {
            Some(connections) if connections > 8 => {}
            Some(_) => {
                std::thread::sleep(FREE);
                continue;
            }
            None => return,
        }
        if session.rows("LOCK TABLES sbtest.sbtest1 WRITE").is_err() {
            return;
        }
        std::thread::sleep(HELD);
        match number(session, "STATE = 'Waiting for table metadata lock'") {
            Some(waiting) => blocked.push(waiting),
            None => return,
        }
        if session.rows("UNLOCK TABLES").is_err() {
            return;
        }
        std::thread::sleep(FREE);
    }
}

#[test]
fn without_privileges_what_the_kernel_allows_is_shown_and_the_rest_is_named() {
    let place = Place::new();
    let niagara = small(&place, &["base"], &[]);
    // Root without a capability is anybody to the kernel's perf events.
    let mut command = Command::new("setpriv");
    command
        .args(["--inh-caps=-all", "--bounding-set=-all", "--"])
        .arg(niagara.get_program())
        .args(niagara.get_args())
        .env("NIAGARA_WORK", place.work())
        .current_dir(place.folder.path())
        .stdin(Stdio::null());
    let document = document(&mut command);
    let profile = &document["profiles"][0];
    // SQL and the preloaded library need nobody's leave.
    assert!(!profile["locks"].is_null() && !profile["allocations"].is_null());
    assert!(profile["syscalls"].is_null(), "tracepoints are root's");
    let missing = profile["missing"].to_string();
    assert!(missing.contains("syscalls: "), "{missing}");
    let paranoid = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let paranoid: i32 = paranoid.map_or(4, |text| text.trim().parse().unwrap_or(4));
    if paranoid == 2 {
        // The server's own code is sampled; who waits is not seen, so nobody says that CPUs limit.
        // Few where the tests have to share the machine.
        assert!(profile["cpu"]["samples"].as_u64() > Some(0), "{profile}");
        assert!(profile["off_cpu"].is_null());
        assert!(missing.contains("off-cpu: "), "{missing}");
        assert!(
            missing.contains("kernel.perf_event_paranoid=1"),
            "{missing}"
        );
        let limits = profile["limits"].as_array().cloned().unwrap_or_default();
        assert!(
            limits.iter().all(|limit| limit["limit"] != "cpu"),
            "{limits:?}"
        );
    }
}

/// A server forgets what a connection waited for with the connection: a part of it is not sold as the whole.
#[test]
fn connections_that_do_not_last_have_no_named_locks() {
    let place = Place::new();
    let more = ["--views", "locks", "--set", "reconnect=50"];
    let document = document(&mut small(&place, &["base"], &more));
    let profile = &document["profiles"][0];
    let named = profile["locks"]["named"].as_array();
    assert_eq!(named.map(Vec::len), Some(0), "{profile}");
    let missing = profile["missing"].to_string();
    assert!(
        missing.contains("named locks: the load ends connections"),
        "{missing}"
    );
}

#[test]
fn two_variants_are_set_side_by_side() {
    let place = Place::new();
    let more = ["--views", "cpu,syscalls"];
    let document = document(&mut small(&place, &["base", "transport=unix"], &more));
    assert_eq!(document["profiles"].as_array().map(Vec::len), Some(2));
    let markdown = std::fs::read_to_string(place.out().join("report.md")).expect("written");
    assert!(
        markdown.contains("## What explains the change") || Access::probe().reach == Reach::Nothing
    );
    assert!(
        document["headline"]
            .as_str()
            .is_some_and(|line| line.contains("one start of each") && !line.contains('×')),
        "{document}"
    );
}

#[test]
fn a_tuning_says_within_its_budget_what_limits_its_final_variant() {
    let place = Place::new();
    let mut command = place.niagara(&[
        "tune",
        "mariadb-10.11",
        "--only",
        "transport-unix",
        "--budget",
        "1m",
        "--threads",
        "4",
        "--table-size",
        "1000",
        "--workload",
        "oltp_point_select",
        "--disturbance",
        "100%",
        "--seed",
        "3",
    ]);
    command.args(SHORT_TUNING).arg("--out").arg(place.out());
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let Ok(Some(Summary::Tune(tune))) = store.summary() else {
        panic!("no summary of a tuning");
    };
    assert!(tune.header.complete);
    assert!(
        tune.header.elapsed_seconds <= 1.2 * tune.header.budget_seconds.expect("asked"),
        "{} s",
        tune.header.elapsed_seconds
    );
    let seen = niagara_report::diagnosed_profiles(&store).expect("readable");
    assert_eq!(seen.len(), 1);
    let heading = "What limits the final variant now";
    assert_eq!(seen[0].subject, "the final variant");
    assert!(stdout.contains(heading), "{stdout}");
    let profile = serde_json::to_value(&seen[0].profile).expect("JSON");
    if sees_waiting(&profile) {
        assert!(!seen[0].profile.limits.is_empty(), "{profile}");
    }
    for format in ["markdown", "html"] {
        let mut report = place.niagara(&["report", "--format", format]);
        let (code, page, stderr) = run(report.arg(place.out()));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(page.contains(heading), "{format}");
    }
}

#[test]
fn an_unknown_view_lists_the_known() {
    let place = Place::new();
    let (code, _, stderr) = run(&mut place.niagara(&["profile", "--views", "cpu,disk"]));
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("off-cpu, syscalls, locks, allocations"),
        "{stderr}"
    );
}

/// Nothing is left that a report would take for the newest study.
#[test]
fn a_profile_of_a_server_that_does_not_start_leaves_no_folder() {
    let place = Place::new();
    let variant = ["base+cfg.innodb_no_such_variable=1"];
    let (code, _, stderr) = run(&mut small(&place, &variant, &["--views", "cpu"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("cannot profile"), "{stderr}");
    assert!(!place.out().exists());
}
