//! Connections that cannot be read, and connections that were recorded twice: each is counted once.

use super::read;
use super::wire::*;
use crate::dropped::Cause;

/// Records of TLS whose fourth and fifth byte look like a command's.
fn sealed(length: u8) -> Vec<u8> {
    let mut bytes = vec![0x17, 3, 3, 0, length];
    bytes.resize(5 + usize::from(length), 0xa5);
    bytes
}

fn compressed(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[number, 0, 0, 0], body].concat()
}

#[test]
fn encrypted_connections_that_were_there_before() {
    let mut wire = Wire::new();
    for port in 42_001..42_004 {
        let mut link = Link::new(port);
        for length in 0x10..0x40 {
            link.client(&mut wire, &sealed(length));
            link.server(&mut wire, &sealed(length + 3));
        }
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(told.is_empty(), "{told:#?}");
    assert_eq!(dropped.count(Cause::Encrypted), 3);
    assert_eq!(dropped.by_cause().count(), 1, "{dropped:?}");
}

#[test]
fn encrypted_connections_whose_login_was_seen() {
    let mut wire = Wire::new();
    let mut link = Link::new(42_010);
    link.connect(&mut wire);
    link.server(&mut wire, &packet(0, &greeting(10)));
    link.client(&mut wire, &packet(1, &login(PLAIN | SSL)[..32]));
    link.client(&mut wire, &sealed(200));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(told.is_empty(), "{told:#?}");
    assert_eq!(dropped.count(Cause::Encrypted), 1);
}

#[test]
fn compressed_connections() {
    let mut wire = Wire::new();
    // One that was there before, and one whose login was seen.
    let mut before = Link::new(42_021);
    let mut seen = Link::new(42_022);
    seen.log_in(&mut wire, PLAIN | COMPRESS);
    for link in [&mut before, &mut seen] {
        for turn in 0..5 {
            let asked = compressed(0, &query(&format!("SELECT {turn}")));
            let answer = compressed(1, &rows(turn));
            link.ask(&mut wire, &asked, &answer);
        }
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(dropped.count(Cause::Compressed), 2);
    assert_eq!(dropped.by_cause().count(), 1, "{dropped:?}");
}

#[test]
fn what_the_server_does_not_offer_is_not_spoken() {
    let mut wire = Wire::new();
    let mut link = Link::new(42_030);
    link.connect(&mut wire);
    let mut plain = greeting(30);
    // The lower half of what it offers, without compression.
    plain[1 + 7 + 4 + 9] &= !(COMPRESS as u8);
    link.server(&mut wire, &packet(0, &plain));
    link.client(&mut wire, &packet(1, &login(PLAIN | COMPRESS)));
    link.server(&mut wire, &packet(2, &ok(0, AUTOCOMMIT)));
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn a_connection_that_is_recorded_twice_is_kept_once() {
    let mut wire = Wire::new();
    let (mut outside, mut inside) = (Link::new(42_040), Link::new(42_040).translated());
    outside.connect(&mut wire);
    inside.connect(&mut wire);
    let said = [
        (false, packet(0, &greeting(40))),
        (true, packet(1, &login(PLAIN))),
        (false, packet(2, &ok(0, AUTOCOMMIT))),
        (true, query("SELECT 1")),
        (false, rows(1)),
    ];
    for (from_client, bytes) in &said {
        for link in [&mut outside, &mut inside] {
            match from_client {
                true => link.client(&mut wire, bytes),
                false => link.server(&mut wire, bytes),
            }
        }
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert_eq!(dropped.count(Cause::Twice), 1);
}

#[test]
fn what_goes_to_replicas_is_the_servers_own() {
    let mut wire = Wire::new();
    let mut link = Link::new(42_050);
    link.log_in(&mut wire, PLAIN);
    link.ask(&mut wire, &query("SELECT @@server_id"), &rows(1));
    link.client(&mut wire, &packet(0, b"\x12\x04\0\0\0\0\0\x07\0\0\0bin.1"));
    for number in 1..50 {
        link.server(&mut wire, &packet(number, &[0; 60]));
        link.acknowledge(&mut wire);
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert_eq!(dropped.count(Cause::Internal), 1);
    assert_eq!(dropped.by_cause().count(), 1, "{dropped:?}");
}

#[test]
fn other_traffic_is_neither_kept_nor_counted() {
    let mut wire = Wire::new();
    for port in 0..50 {
        let mut link = Link::new(42_100 + port);
        link.connect(&mut wire);
        link.client(&mut wire, b"GET / HTTP/1.1\r\nHost: shop\r\n\r\n");
        link.server(&mut wire, b"HTTP/1.1 200 OK\r\n\r\nhello");
        if port % 2 == 0 {
            link.close(&mut wire);
        }
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(told.is_empty(), "{told:#?}");
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn packets_of_a_link_that_is_not_known_are_counted() {
    // Wireless.
    let mut wire = Wire::of_link(105);
    let mut link = Link::new(42_200);
    link.log_in(&mut wire, PLAIN);
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(told.is_empty(), "{told:#?}");
    assert_eq!(dropped.count(Cause::UnknownLink), 6);
}

#[test]
fn a_proxy_says_first_whom_it_speaks_for() {
    for (port, prelude) in [
        (42_300, &b"PROXY TCP4 192.0.2.1 192.0.2.2 5000 3306\r\n"[..]),
        (
            42_301,
            b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\x13\x88\x0c\xea",
        ),
    ] {
        let mut wire = Wire::new();
        let mut link = Link::new(port);
        link.connect(&mut wire);
        for byte in prelude {
            link.client(&mut wire, &[*byte]);
        }
        link.server(&mut wire, &packet(0, &greeting(port)));
        link.client(&mut wire, &packet(1, &login(PLAIN)));
        link.server(&mut wire, &packet(2, &ok(0, AUTOCOMMIT)));
        link.ask(&mut wire, &query("SELECT 1"), &rows(1));
        let (told, dropped) = read(&wire.bytes).unwrap();
        assert_eq!(told.len(), 2, "{told:#?}");
        assert!(dropped.is_empty(), "{dropped:?}");
    }
}

#[test]
fn connections_whose_end_nobody_recorded_make_room() {
    let mut wire = Wire::new();
    // More than are followed at a time.
    for client in 0..70_000_u32 {
        let [_, a, b, c] = client.to_be_bytes();
        let mut link = Link::new(42_400).from([11, a, b, c]);
        link.connect(&mut wire);
    }
    let mut link = Link::new(42_401);
    link.log_in(&mut wire, PLAIN);
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(dropped.is_empty(), "{dropped:?}");
}
