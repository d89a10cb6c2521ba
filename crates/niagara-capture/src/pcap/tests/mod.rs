//! Recordings, made up: a small one in both formats, and what became of it by chance; what goes wrong on the way; all that
//! clients ask for.

mod all;
mod asked;
mod closed;
mod files;
mod gaps;
mod order;
mod wire;

use std::io::Cursor;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::PcapReader;
use crate::dropped::{Cause, Dropped};
use crate::log::{Entry, Stamp};
use crate::sql::SqlMode;

const RECORDED: [&[u8]; 2] = [
    include_bytes!("../../../../../fuzz/corpus/traffic/made-up.pcap"),
    include_bytes!("../../../../../fuzz/corpus/traffic/made-up.pcapng"),
];

/// What is told, as words; and what was dropped.
fn read(bytes: &[u8]) -> Option<(Vec<String>, Dropped)> {
    read_files(&[bytes])
}

/// The same of several files, one after another.
fn read_files(files: &[&[u8]]) -> Option<(Vec<String>, Dropped)> {
    told(files, |entry| {
        format!(
            "{:?} {} {:?} {:?}",
            entry.command,
            String::from_utf8_lossy(entry.text),
            entry.measured.rows_sent,
            entry.measured.error
        )
    })
}

/// Everything that is told, by what `take` takes of it.
fn told<T>(files: &[&[u8]], take: impl Fn(&Entry<'_>) -> T) -> Option<(Vec<T>, Dropped)> {
    let mut sources = files.iter().map(|bytes| Cursor::new(bytes.to_vec()));
    let mode = SqlMode::default();
    let mut reader = PcapReader::new(sources.next()?, "x.pcap".into(), mode).ok()?;
    let mut dropped = Dropped::default();
    let mut all = Vec::new();
    let mut is_over = false;
    loop {
        while let Some(told) = reader.next(&mut dropped).expect("memory can be read") {
            all.push(take(&told.entry()));
        }
        match sources.next() {
            Some(source) => reader.go_on_with(source, "y.pcap".into()).ok()?,
            None if is_over => return Some((all, dropped)),
            None => {
                reader.finish(&mut dropped);
                is_over = true;
            }
        }
    }
}

#[test]
fn a_recording_of_both_formats() {
    for bytes in RECORDED {
        let (told, dropped) = read(bytes).expect("recorded traffic");
        assert_eq!(
            told,
            [
                "Connect app@10.0.0.7 on shop using TCP/IP Some(0) Some(0)",
                "Query SELECT name FROM item WHERE id = 7 Some(1) Some(0)",
                "Prepare INSERT INTO item VALUES (?, ?) Some(0) Some(0)",
                "Execute INSERT INTO item VALUES (8, 'plum') Some(0) Some(0)",
                "Query SELECT nothing Some(0) Some(1054)",
                "Quit  None None",
            ]
        );
        assert!(dropped.is_empty(), "{dropped:?}");
    }
}

#[test]
fn the_version_is_told_without_what_is_said_for_replicas() {
    let source = Cursor::new(RECORDED[0].to_vec());
    let mut reader =
        PcapReader::new(source, "x.pcap".into(), SqlMode::default()).expect("recorded traffic");
    let mut dropped = Dropped::default();
    while reader
        .next(&mut dropped)
        .expect("memory can be read")
        .is_some()
    {}
    assert_eq!(reader.version(), Some("10.11.6-MariaDB"));
}

#[test]
fn a_block_that_is_shorter_than_its_own_head_ends_a_recording() {
    // Process information, which no server's traffic needs, of ten bytes.
    let mut bytes = RECORDED[1].to_vec();
    bytes.extend_from_slice(&[1, 0, 0, 0x80, 10, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0]);
    let (told, dropped) = read(&bytes).expect("recorded traffic");
    assert_eq!(told.len(), 6);
    assert_eq!(dropped.count(Cause::CutTail), 1);
}

#[test]
fn a_recording_cut_anywhere_gives_what_is_whole() {
    for bytes in RECORDED {
        let (whole, _) = read(bytes).expect("recorded traffic");
        let mut most = 0;
        for at in 0..bytes.len() {
            let Some((told, dropped)) = read(&bytes[..at]) else {
                assert!(at < 48, "{at}");
                continue;
            };
            // What was asked last may have no answer, or not all of it.
            let same = told.iter().zip(&whole).take_while(|(a, b)| a == b).count();
            assert!(same + 1 >= told.len() && same + 1 >= most, "{at}: {told:?}");
            assert!(dropped.count(Cause::CutTail) <= 1, "{at}");
            most = most.max(same);
        }
    }
}

#[test]
fn recordings_changed_at_random_are_read_without_a_panic() {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let all = all::everything();
    for turn in 0..3_000 {
        let recorded = [RECORDED[0], RECORDED[1], &all];
        let mut bytes = recorded[turn % 3].to_vec();
        for _ in 0..random.random_range(1..8) {
            let at = random.random_range(0..bytes.len());
            match random.random_range(0..4) {
                0 => bytes[at] ^= 1 << random.random_range(0..8),
                1 => bytes[at] = [0, 0xff, 0xfe, 0xfb, 0xfc, 3, 0x17][random.random_range(0..7)],
                2 => {
                    let end = (at + random.random_range(1..40)).min(bytes.len());
                    bytes.drain(at..end);
                }
                _ => bytes[at] = random.random(),
            }
            if bytes.is_empty() {
                break;
            }
        }
        read(&bytes);
    }
}

/// As [`read`], with the user before each.
fn read_with_users(bytes: &[u8]) -> (Vec<String>, Dropped) {
    let told = told(&[bytes], |entry| {
        format!(
            "{}: {:?} {} {:?} {:?}",
            String::from_utf8_lossy(entry.user),
            entry.command,
            String::from_utf8_lossy(entry.text),
            entry.measured.rows_sent,
            entry.measured.error
        )
    });
    told.expect("recorded traffic")
}

/// The start of each in microseconds, and its duration.
fn times(bytes: &[u8]) -> Vec<(i64, Option<u64>)> {
    let told = told(&[bytes], |entry| match entry.stamp {
        Stamp::Exact(start) => (start, entry.measured.duration_us),
        other => panic!("{other:?}"),
    });
    told.expect("recorded traffic").0
}

/// How the session stands after each: in a transaction, with autocommit.
fn standing(bytes: &[u8]) -> Vec<Option<(bool, bool)>> {
    let told = told(&[bytes], |entry| {
        let standing = entry.standing?;
        Some((standing.in_transaction, standing.autocommit))
    });
    told.expect("recorded traffic").0
}
