//! Recordings of several files.

use super::read_files;
use super::wire::*;

#[test]
fn a_connection_goes_on_in_the_next_file() {
    let mut wire = Wire::new();
    let mut link = Link::new(45_001);
    link.log_in(&mut wire, PLAIN);
    link.ask(&mut wire, &prepare("SELECT ?"), &prepared(4, 1));
    let answer = rows(3);
    link.client(&mut wire, &query("SELECT 1"));
    link.server(&mut wire, &answer[..20]);
    let mut next = wire.next_file();
    link.server(&mut next, &answer[20..]);
    link.ask(&mut next, &execute(4, Some(7)), &rows(1));
    let (told, dropped) = read_files(&[&wire.bytes, &next.bytes]).unwrap();
    assert_eq!(
        told[2..],
        [
            "Query SELECT 1 Some(3) Some(0)",
            "Execute SELECT 7 Some(1) Some(0)"
        ]
    );
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn files_of_the_same_time_are_recordings_of_their_own() {
    let mut first = Wire::new();
    let mut second = Wire::new();
    for (wire, sql) in [(&mut first, "SELECT 1"), (&mut second, "SELECT 2")] {
        // The same ends, and other connections for all that is known.
        let mut link = Link::new(45_002);
        link.server(wire, &rows(1)[20..]);
        link.ask(wire, &query(sql), &rows(1));
        wire.wait(10_000_000);
        link.ask(wire, &query(sql), &rows(1));
    }
    let (told, dropped) = read_files(&[&first.bytes, &second.bytes]).unwrap();
    assert_eq!(
        told,
        [
            "Query SELECT 1 Some(1) Some(0)",
            "Query SELECT 1 Some(1) Some(0)",
            "Query SELECT 2 Some(1) Some(0)",
            "Query SELECT 2 Some(1) Some(0)",
        ]
    );
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn rotated_files_are_read_in_the_order_of_their_times() {
    let mut wire = Wire::new();
    let mut link = Link::new(45_003);
    link.log_in(&mut wire, PLAIN);
    let folder = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    for turn in 0..12 {
        link.ask(&mut wire, &query(&format!("SELECT {turn}")), &rows(1));
        // As tcpdump names them: x.pcap10 is before x.pcap2 where names are sorted.
        let path = folder.path().join(format!("x.pcap{turn}"));
        std::fs::write(&path, &wire.bytes).unwrap();
        files.push(path);
        wire = wire.next_file();
    }
    files.sort();
    let job = crate::Import {
        files,
        read: crate::log::ReadOptions::default(),
        output: folder.path().join("a.capture"),
        replace: true,
        counted: None,
        stored: None,
        clients: Vec::new(),
    };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let summary = crate::import(&job, &stop, |_| {}).unwrap();
    assert_eq!((summary.statements, summary.sessions), (12, 1));
    assert!(summary.dropped.is_empty(), "{:?}", summary.dropped);
    let names: Vec<&str> = summary
        .sources
        .iter()
        .map(|source| source.file.rsplit('p').next().unwrap())
        .collect();
    assert_eq!(
        names,
        ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]
    );
}
