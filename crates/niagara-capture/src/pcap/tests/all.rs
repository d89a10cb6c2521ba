//! One recording with all that is asked and all that goes wrong, for who changes recordings by chance.

use super::wire::*;

/// All of it.
pub(super) fn everything() -> Vec<u8> {
    let mut wire = Wire::new();
    let done = packet(1, &ok(1, AUTOCOMMIT));
    // Who does not wait.
    let mut link = Link::new(44_001);
    link.log_in(&mut wire, PLAIN);
    let asked = [
        query("BEGIN"),
        prepare("INSERT INTO t VALUES (?)"),
        execute(u32::MAX, Some(7)),
        packet(0, &[0x18, 1, 0, 0, 0, 0, 0, b'x']),
        packet(0, &[0x1a, 1, 0, 0, 0]),
        packet(0, &[0x19, 1, 0, 0, 0]),
        packet(0, b"\x09"),
        query("COMMIT"),
    ];
    link.client(&mut wire, &asked.concat());
    let answers = [
        packet(1, &ok(0, IN_TRANSACTION)),
        prepared(1, 1),
        done.clone(),
        done.clone(),
        packet(1, b"Uptime: 1"),
        done.clone(),
    ];
    link.server(&mut wire, &answers.concat());
    link.client(&mut wire, &packet(0, b"\x01"));
    link.close(&mut wire);
    // Attributes of a statement.
    let mut link = Link::new(44_008);
    link.log_in(&mut wire, PLAIN | QUERY_ATTRIBUTES);
    let asked = packet(0, b"\x03\x01\x01\0\x01\xfd\0\x01a\x01bSELECT 1");
    link.ask(&mut wire, &asked, &rows(1));
    // Another user, a cursor, many executions, a file.
    let mut link = Link::new(44_002);
    link.log_in(&mut wire, PLAIN);
    link.client(&mut wire, &packet(0, b"\x11joe\0\x04hashother\0\xff\0a\0"));
    link.server(&mut wire, &packet(1, b"\xfea\0salt\0"));
    link.client(&mut wire, &packet(2, b"hash"));
    link.server(&mut wire, &packet(3, &ok(0, AUTOCOMMIT)));
    link.ask(&mut wire, &prepare("SELECT ?"), &prepared(2, 1));
    let opened = packets(1, &[&[1], COLUMN, &[0xfe, 0, 0, 0x42, 0]]);
    link.ask(&mut wire, &execute(2, Some(1)), &opened);
    let last = packets(1, &[&[0, 0, 1, b'a'], &[0xfe, 0, 0, 0x82, 0]]);
    link.ask(
        &mut wire,
        &packet(0, &[0x1c, 2, 0, 0, 0, 9, 0, 0, 0]),
        &last,
    );
    let bulk = [0xfa, 2, 0, 0, 0, 128, 0, 1, 0, 0, 5, 1, 2];
    link.ask(&mut wire, &packet(0, &bulk), &done);
    link.ask(
        &mut wire,
        &query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t"),
        &packet(1, b"\xfbx"),
    );
    link.client(&mut wire, &packets(2, &[b"a\tb\n", b""]));
    link.server(&mut wire, &packet(4, &ok(1, AUTOCOMMIT)));
    link.ask(&mut wire, &packet(0, b"\x1f"), &done);
    // What is missing.
    let mut link = Link::new(44_003);
    link.log_in(&mut wire, PLAIN | DEPRECATE_EOF);
    for turn in 0..80 {
        link.lost = turn % 30 == 7;
        link.client(&mut wire, &query(&format!("SELECT {turn}")));
        link.lost = turn % 30 == 11;
        let rows = packets(1, &[&[1], COLUMN, b"\x011", &[0xfe, 0, 0, 2, 0, 0, 0]]);
        link.server(&mut wire, &rows);
    }
    // What was there before; what cannot be read.
    link = Link::new(44_004);
    link.ask(&mut wire, &query("SELECT 1"), &rows(2));
    link = Link::new(44_005);
    link.ask(&mut wire, &[0x17, 3, 3, 0, 2, 1, 1], &[0x17, 3, 3, 0, 1, 1]);
    link = Link::new(44_006);
    let packed = [&[13, 0, 0, 0, 0, 0, 0][..], &query("SELECT 1")].concat();
    link.ask(&mut wire, &packed, &[3, 0, 0, 1, 99, 0, 0, 0x78, 0x9c, 1]);
    link = Link::new(44_007);
    link.connect(&mut wire);
    link.client(&mut wire, b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 3306\r\n");
    link.server(&mut wire, &packet(0, &greeting(7)));
    link.client(&mut wire, &packet(1, &login(PLAIN | SSL)[..32]));
    wire.bytes
}

/// Writes it as a first input of the fuzzer: `cargo test -p niagara-capture --lib seeds -- --ignored`.
#[test]
#[ignore = "writes into fuzz/corpus"]
fn seeds_of_the_fuzzer() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fuzz/corpus/traffic/made-up-all.pcap"
    );
    std::fs::write(path, everything()).unwrap();
}

#[test]
fn everything_is_told_or_counted() {
    use crate::dropped::Cause;
    let (told, dropped) = super::read(&everything()).unwrap();
    for cause in [
        Cause::Gap,
        Cause::Encrypted,
        Cause::Compressed,
        Cause::Command,
    ] {
        assert!(dropped.count(cause) > 0, "{cause:?}: {dropped:?}");
    }
    assert_eq!(dropped.count(Cause::LostPackets), 0, "{dropped:?}");
    for begins in [
        "Query BEGIN",
        "Execute INSERT INTO t VALUES (7)",
        "ChangeUser joe",
        "Execute SELECT 1 Some(1)",
        "Execute SELECT 5",
        "Query LOAD DATA",
        "ResetConnection",
        "Query SELECT 79 Some(1)",
    ] {
        assert!(
            told.iter().any(|line| line.starts_with(begins)),
            "{begins}: {told:#?}"
        );
    }
}
