//! `niagara profile` on real servers: what it hands over, and whether it names a planted cause first.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Place, run};
use niagara_profile::kernel::{Access, Reach};
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
    assert_eq!(code, Some(0), "{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}\n{stderr}"))
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
    assert!(
        allocations["calls_per_query"].as_f64() > Some(1.0),
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
        assert!(cpu["samples"].as_u64() > Some(100), "{cpu}");
        let layers = sum(&cpu["layers"], "share");
        assert!((layers - 1.0).abs() < 0.02, "{cpu}");
        assert!(cpu["named_share"].as_f64() >= Some(0.9), "{cpu}");
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
            .is_some_and(|line| line.contains("× ")),
        "{document}"
    );
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
