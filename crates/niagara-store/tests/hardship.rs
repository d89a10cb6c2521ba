//! Killed writers, full disks, readers in another process.

#[path = "../../niagara-model/tests/common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{duel, slices, study, variant};
use niagara_model::Event;
use niagara_store::{Store, StoreError};

const WRITE_TO: &str = "NIAGARA_TEST_WRITE_TO";

/// Not a test of its own: the process that the others start, watch and kill.
#[test]
fn writer() {
    let Some(path) = std::env::var_os(WRITE_TO).map(PathBuf::from) else {
        return;
    };
    let mut store = Store::open(&path).expect("made by the parent");
    let next = store.duels().expect("readable").len() as u32;
    for seq in next.. {
        store.add_duel(&duel(seq), &slices(seq)).expect("room");
    }
}

fn start_writer(path: &Path) -> Child {
    Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "writer"])
        .env(WRITE_TO, path)
        .stdout(Stdio::null())
        .spawn()
        .expect("this test can be run again")
}

fn store_with_variants(path: &Path) -> Store {
    let store = Store::create(path, &study()).expect("a fresh folder");
    store.add_variant(&variant("a")).expect("room");
    store.add_variant(&variant("b")).expect("room");
    store
}

fn assert_whole(store: &Store) -> usize {
    let duels = store.duels().expect("readable");
    for (position, found) in duels.iter().enumerate() {
        let seq = position as u32;
        assert_eq!(*found, duel(seq));
        assert_eq!(store.slices(Some(seq)).expect("readable"), slices(seq));
    }
    duels.len()
}

#[test]
fn a_killed_writer_leaves_whole_duels_and_the_next_continues() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("results.db");
    drop(store_with_variants(&path));
    let mut before = 0;
    for round in 0..12 {
        let mut child = start_writer(&path);
        std::thread::sleep(Duration::from_millis(60 + 7 * round));
        child.kill().expect("it runs until killed");
        child.wait().expect("it was started");
        let store = if round % 2 == 0 {
            Store::open(&path)
        } else {
            Store::open_read_only(&path)
        };
        let now = assert_whole(&store.expect("readable after a kill"));
        assert!(now >= before);
        before = now;
    }
    assert!(before > 0, "no writer came to write");
}

#[test]
fn another_process_reads_while_one_writes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("results.db");
    drop(store_with_variants(&path));
    let mut child = start_writer(&path);
    let mut seen = 0;
    let mut grew = 0;
    for _ in 0..500 {
        let store = Store::open_read_only(&path).expect("readable while written");
        let now = store.duels().expect("readable while written").len();
        let slices = store.slices(None).expect("readable while written").len();
        assert_eq!(slices % 40, 0, "half a duel was seen");
        grew += usize::from(now > seen);
        seen = now;
        if grew > 5 {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(
        child.try_wait().expect("started").is_none(),
        "the writer fell over"
    );
    child.kill().expect("it runs until killed");
    child.wait().expect("it was started");
    assert!(grew > 1);
}

/// Unmounts when dropped, so that a failing test leaves nothing mounted.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    fn mount(size: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        mounted.then_some(SmallDisk(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[test]
fn a_full_disk_costs_the_running_duel_only() {
    let Some(disk) = SmallDisk::mount("512k") else {
        eprintln!("skipped: mounting a small disk needs root");
        return;
    };
    let path = disk.0.path().join("results.db");
    let mut store = store_with_variants(&path);
    let mut seq = 0;
    let error = loop {
        match store.add_duel(&duel(seq), &slices(seq)) {
            Ok(()) => seq += 1,
            Err(e) => break e,
        }
        assert!(seq < 1000, "the disk does not fill");
    };
    assert!(seq > 0, "nothing fitted at all");
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error}");
    let text = error.explanation().to_string();
    for part in ["results.db", "KiB free", "free some space", "continues"] {
        assert!(text.contains(part), "{text}");
    }

    // Fill what is left, so that not even a journal fits: reading must still work.
    let _ = std::fs::write(disk.0.path().join("filler"), vec![1; 600 * 1024]);
    assert_eq!(
        assert_whole(&store),
        seq as usize,
        "the store continues reading"
    );
    drop(store);
    let reader = Store::open_read_only(&path).expect("readable on a full disk");
    assert_eq!(assert_whole(&reader), seq as usize);
    drop(reader);
    drop(Store::open(&path).expect("opens on a full disk"));

    std::fs::remove_file(disk.0.path().join("filler")).expect("there");
    let mut store = Store::open(&path).expect("after space was freed");
    let resumed = Event::Resumed {
        command: "niagara tune".into(),
    };
    assert!(store.add_event(0, &resumed).is_ok());
    let _ = store.add_duel(&duel(seq), &[]);
    assert!(assert_whole_but_last(&store, seq));
}

fn assert_whole_but_last(store: &Store, last: u32) -> bool {
    (0..last).all(|seq| store.slices(Some(seq)).expect("readable") == slices(seq))
}

#[test]
fn a_study_cannot_begin_on_a_full_disk_and_says_so() {
    let Some(disk) = SmallDisk::mount("64k") else {
        eprintln!("skipped: mounting a small disk needs root");
        return;
    };
    let _ = std::fs::write(disk.0.path().join("filler"), vec![1; 100 * 1024]);
    match Store::create(&disk.0.path().join("results.db"), &study()) {
        Ok(_) => panic!("there was no room"),
        Err(e) => assert!(matches!(e, StoreError::DiskFull { .. }), "{e}"),
    }
}
