//! No server outlives its owner, and what an owner that died left behind is found.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::{Bench, runs, soon};
use niagara_server::{Cache, ProcessSettings, sweep_stale};

/// Not a test: the process that the tests below start and kill. It launches a server and waits for its end.
#[test]
#[ignore = "started by the other tests of this file"]
fn owner_process() {
    let bench = Bench::new();
    let server = bench
        .launch(&ProcessSettings::default(), &[])
        .expect("started");
    if std::env::var_os("NIAGARA_TEST_FREEZE").is_some() {
        server.freeze().expect("frozen");
    }
    eprintln!("server {}", server.pid());
    loop {
        std::thread::park();
    }
}

fn kill_an_owner(freeze: bool) {
    common::empty_image(&common::install(common::SERVER));
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--exact", "owner_process", "--ignored", "--nocapture"]);
    if freeze {
        command.env("NIAGARA_TEST_FREEZE", "1");
    }
    let temporary = tempfile::tempdir().expect("a temporary folder");
    command
        .env("TMPDIR", temporary.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut owner = command.spawn().expect("started");
    let lines = BufReader::new(owner.stderr.take().expect("piped")).lines();
    let pid = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("server ")?.parse::<i32>().ok())
        .expect("a server was launched");
    assert!(runs(pid));
    owner.kill().expect("killed");
    owner.wait().expect("reaped");
    soon("the server follows its owner", || !runs(pid));

    // What it left on disk is found by the next start.
    let cache = fs::read_dir(temporary.path())
        .expect("there")
        .flatten()
        .next()
        .expect("its folder")
        .path();
    let cache = Cache::at(&cache.join("cache")).expect("its cache");
    assert_ne!(
        fs::read_dir(cache.work().expect("there"))
            .expect("there")
            .count(),
        0
    );
    sweep_stale(&cache).expect("swept");
    assert_eq!(
        fs::read_dir(cache.work().expect("there"))
            .expect("there")
            .count(),
        0
    );
    assert_eq!(
        fs::read_dir(cache.root().join("running"))
            .expect("there")
            .count(),
        0
    );
}

#[test]
fn kill_9_of_the_owner_ends_the_server() {
    kill_an_owner(false);
}

#[test]
fn kill_9_of_the_owner_ends_a_frozen_server() {
    kill_an_owner(true);
}

#[test]
fn a_server_whose_owner_is_gone_is_ended_by_the_sweep_and_no_other() {
    let bench = Bench::new();
    let stale = bench
        .launch(&ProcessSettings::default(), &[])
        .expect("started");
    let ours = bench
        .launch(&ProcessSettings::default(), &[])
        .expect("started");
    let entry = fs::read_dir(bench.cache.root().join("running"))
        .expect("there")
        .flatten()
        .map(|entry| entry.path())
        .find(|path| {
            path.to_string_lossy()
                .ends_with(&format!("-{}.json", stale.pid()))
        })
        .expect("on record");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(&entry).expect("there")).expect("valid");
    let run_folder = PathBuf::from(json["run_folder"].as_str().expect("a path"));
    // As if the process that launched it were gone: another file in the place of the one that is locked.
    let abandoned = bench
        .cache
        .work()
        .expect("there")
        .join("clone-999999-00000000");
    fs::create_dir(&abandoned).expect("made");
    for folder in [&run_folder, &abandoned] {
        let lock = folder.with_extension("lock");
        let _ = fs::remove_file(&lock);
        fs::write(&lock, "").expect("written");
    }
    // The place of a test runner's sockets, whose owner is gone, too; nothing else is made there without a lock.
    let short = bench.cache.short_work_folder("suite").expect("a folder");
    let left = short
        .path()
        .with_file_name(format!("suite-999999-{:08x}", std::process::id()));
    fs::create_dir(&left).expect("made");
    fs::write(left.with_extension("lock"), "").expect("written");
    // Nobody can tell whose this is.
    let unknown = abandoned.with_file_name("clone-999999-11111111");
    fs::create_dir(&unknown).expect("made");

    let swept = sweep_stale(&bench.cache).expect("swept");
    // The folder of /tmp is everybody's: another process's sweep may have been first there, or others left more.
    assert!(swept.servers == 1 && swept.folders >= 1, "{swept:?}");
    soon("what was left in /tmp is gone", || !left.exists());
    assert!(short.path().exists());
    soon("the stale server is gone", || !stale.is_alive());
    assert!(ours.is_alive());
    assert_eq!(ours.query("SELECT 1").expect("answered"), [["1"]]);
    assert!(!abandoned.exists() && !run_folder.exists() && !entry.exists());
    assert!(unknown.exists());
}
