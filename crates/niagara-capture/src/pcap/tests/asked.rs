//! All that clients ask for: other users, fresh sessions, values of every kind, cursors, long statements.

use super::read;
use super::wire::*;
use crate::dropped::Cause;

fn change_user(user: &str, database: &str) -> Vec<u8> {
    let mut body = vec![0x11];
    body.extend_from_slice(user.as_bytes());
    body.extend_from_slice(b"\0\x04hash");
    body.extend_from_slice(database.as_bytes());
    body.extend_from_slice(b"\0\xff\0mysql_native_password\0");
    packet(0, &body)
}

#[test]
fn another_user_on_the_same_connection() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_001);
    link.log_in(&mut wire, PLAIN);
    link.ask(&mut wire, &prepare("SELECT 1"), &prepared(3, 0));
    // Asked for another password, as the account's plugin wants it.
    link.client(&mut wire, &change_user("joe", "other"));
    link.server(
        &mut wire,
        &packet(1, b"\xfecaching_sha2_password\0abcdefghijklmnopqrst\0"),
    );
    link.client(&mut wire, &packet(2, &[0x5a; 32]));
    link.server(&mut wire, &packet(3, &[1, 3]));
    link.server(&mut wire, &packet(4, &ok(0, AUTOCOMMIT)));
    link.ask(&mut wire, &query("SELECT 2"), &rows(2));
    // What was prepared before is gone.
    link.ask(&mut wire, &execute(3, None), &packet(1, &error(1243)));
    // One who is not let in: the server says goodbye.
    link.ask(&mut wire, &change_user("eve", ""), &packet(1, &error(1045)));
    link.close(&mut wire);
    let (told, dropped) = super::read_with_users(&wire.bytes);
    assert_eq!(
        told[2..],
        [
            "joe: ChangeUser joe@10.0.0.7 on other using TCP/IP Some(0) Some(0)",
            "joe: Query SELECT 2 Some(2) Some(0)",
            "joe: Quit  None None",
        ]
    );
    assert_eq!(dropped.count(Cause::UnknownPrepared), 1);
    assert_eq!(dropped.count(Cause::RefusedLogin), 1);
    assert_eq!(dropped.by_cause().count(), 2, "{dropped:?}");
}

#[test]
fn a_fresh_session_has_no_prepared_statements() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_002);
    link.log_in(&mut wire, PLAIN);
    let done = packet(1, &ok(0, AUTOCOMMIT));
    link.ask(&mut wire, &prepare("SELECT 1"), &prepared(3, 0));
    // One that the server does not know how to do.
    link.ask(&mut wire, &packet(0, b"\x1f"), &packet(1, &error(1047)));
    link.ask(&mut wire, &execute(3, None), &rows(1));
    link.ask(&mut wire, &packet(0, b"\x1f"), &done);
    link.ask(&mut wire, &execute(3, None), &packet(1, &error(1243)));
    link.ask(&mut wire, &packet(0, b"\x02other"), &done);
    link.ask(
        &mut wire,
        &packet(0, b"\x02nowhere"),
        &packet(1, &error(1049)),
    );
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[2..],
        [
            "Execute SELECT 1 Some(1) Some(0)",
            "ResetConnection  Some(0) Some(0)",
            "InitDb other Some(0) Some(0)",
            "InitDb nowhere Some(0) Some(1049)",
        ]
    );
    assert_eq!(dropped.count(Cause::UnknownPrepared), 1);
    assert_eq!(dropped.count(Cause::Command), 1);
}

#[test]
fn values_of_an_execution() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_003);
    link.log_in(&mut wire, PLAIN | DEPRECATE_EOF);
    let sql = "INSERT INTO t VALUES (?, ?, ?, '?')";
    let first = [0, 4, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0];
    link.ask(
        &mut wire,
        &prepare(sql),
        &packets(1, &[&first, COLUMN, COLUMN, COLUMN]),
    );
    let done = packet(1, &ok(1, AUTOCOMMIT));
    let head = [0x17, 4, 0, 0, 0, 0, 1, 0, 0, 0];
    // New types: an unsigned BIGINT, a decimal, a string; then the same ones, with a NULL.
    let types = [8, 0x80, 0xf6, 0, 0xfd, 0];
    let values = [&[0xff; 8][..], b"\x041.50", b"\x04it's"].concat();
    link.ask(
        &mut wire,
        &packet(0, &[&head[..], &[0, 1], &types, &values].concat()),
        &done,
    );
    let values = [&7_u64.to_le_bytes()[..], b"\x03now"].concat();
    link.ask(
        &mut wire,
        &packet(0, &[&head[..], &[0b010, 0], &values].concat()),
        &done,
    );
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[2..],
        [
            "Execute INSERT INTO t VALUES (18446744073709551615, 1.50, 'it''s', '?') Some(0) Some(0)",
            "Execute INSERT INTO t VALUES (7, NULL, 'now', '?') Some(0) Some(0)",
        ]
    );
    assert!(dropped.is_empty(), "{dropped:?}");
}

/// A server converts the parameter of LIMIT to an integer. It refuses a literal of another type there.
#[test]
fn a_number_of_rows_is_a_number() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_012);
    link.log_in(&mut wire, PLAIN);
    for (number, sql) in [
        (1_u8, "SELECT a FROM t WHERE b = ? LIMIT ? OFFSET ?"),
        (2, "SELECT a FROM t WHERE b IN (?) limit ?, ?"),
    ] {
        link.ask(&mut wire, &prepare(sql), &prepared(number.into(), 3));
        let head = [0x17, number, 0, 0, 0, 0, 1, 0, 0, 0];
        // Two strings and a double.
        let types = [0xfd, 0, 0xfd, 0, 5, 0];
        let values = [&b"\x013\x0210"[..], &20_f64.to_le_bytes()].concat();
        let asked = [&head[..], &[0, 1], &types, &values].concat();
        link.ask(&mut wire, &packet(0, &asked), &rows(1));
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(
        told[2].contains("WHERE b = '3' LIMIT 10 OFFSET 20 "),
        "{told:?}"
    );
    assert!(told[4].contains("b IN ('3') limit 10, 20 "), "{told:?}");
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn attributes_of_statements_are_none_of_their_values() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_004);
    link.log_in(&mut wire, PLAIN | QUERY_ATTRIBUTES);
    // One attribute: a name, and a text.
    let attributes = b"\x01\x01\0\x01\xfd\0\x05trace\x04abcd";
    let asked = [b"\x03", &attributes[..], b"SELECT 1"].concat();
    link.ask(&mut wire, &packet(0, &asked), &rows(1));
    link.ask(&mut wire, &prepare("SELECT ?"), &prepared(2, 1));
    // Two values: the parameter's, without a name, and an attribute's.
    let asked = [
        &[0x17, 2, 0, 0, 0, 8, 1, 0, 0, 0, 2, 0, 1][..],
        b"\x01\0\0\xfd\0\x05trace",
        b"\x07\x04abcd",
    ]
    .concat();
    link.ask(&mut wire, &packet(0, &asked), &rows(1));
    // Without the flag for attributes the number of parameters is there all the same.
    let asked = [
        &[0x17, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1][..],
        b"\x01\0\0",
        b"\x09",
    ]
    .concat();
    link.ask(&mut wire, &packet(0, &asked), &rows(1));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told[1], "Query SELECT 1 Some(1) Some(0)");
    assert_eq!(told[3], "Execute SELECT 7 Some(1) Some(0)");
    assert_eq!(told[4], "Execute SELECT 9 Some(1) Some(0)");
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn the_rows_of_a_cursor_belong_to_its_execution() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_005);
    link.log_in(&mut wire, PLAIN);
    let first = [0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    let opened = packets(1, &[&[1], COLUMN, &[0xfe, 0, 0, 0x42, 0]]);
    let fetch = packet(0, &[0x1c, 2, 0, 0, 0, 2, 0, 0, 0]);
    let row = [0, 0, 4, b'p', b'e', b'a', b'r'];
    let some = packets(1, &[&row, &row, &[0xfe, 0, 0, 0x42, 0]]);
    let last = packets(1, &[&row, &[0xfe, 0, 0, 0x82, 0]]);
    link.ask(
        &mut wire,
        &prepare("SELECT a FROM t"),
        &packets(1, &[&first, COLUMN, EOF]),
    );
    for all in [true, false] {
        let mut asked = execute(2, None);
        asked[9] = 1;
        link.ask(&mut wire, &asked, &opened);
        link.ask(&mut wire, &fetch, &some);
        if all {
            link.ask(&mut wire, &fetch, &last);
        }
        link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[2..],
        [
            "Execute SELECT a FROM t Some(3) Some(0)",
            "Query SELECT 1 Some(1) Some(0)",
            // How many rows it has nobody knows.
            "Execute SELECT a FROM t None Some(0)",
            "Query SELECT 1 Some(1) Some(0)",
        ]
    );
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn many_executions_in_one_command() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_006);
    link.log_in(&mut wire, PLAIN);
    link.ask(
        &mut wire,
        &prepare("INSERT INTO t VALUES (?, ?)"),
        &prepared(6, 2),
    );
    let bulk = |rows: &[u8]| {
        let head = [0xfa, 6, 0, 0, 0, 128, 0, 3, 0, 0xfd, 0];
        packet(0, &[&head[..], rows].concat())
    };
    let rows_of = [
        &b"\0\x01\0\0\0\0\x04pear"[..],
        b"\0\x02\0\0\0\x01",
        b"\0\x03\0\0\0\x02",
    ]
    .concat();
    link.ask(&mut wire, &bulk(&rows_of), &packet(1, &ok(3, AUTOCOMMIT)));
    link.ask(&mut wire, &bulk(&rows_of), &packet(1, &error(1062)));
    // A column that stays as it is.
    link.ask(
        &mut wire,
        &bulk(b"\0\x01\0\0\0\x03"),
        &packet(1, &ok(1, AUTOCOMMIT)),
    );
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[2..],
        [
            "Execute INSERT INTO t VALUES (1, 'pear') Some(0) Some(0)",
            "Execute INSERT INTO t VALUES (2, NULL) Some(0) Some(0)",
            "Execute INSERT INTO t VALUES (3, DEFAULT) Some(0) Some(0)",
            "Execute INSERT INTO t VALUES (1, 'pear') Some(0) Some(1062)",
            "Query SELECT 1 Some(1) Some(0)",
        ]
    );
    assert_eq!(dropped.count(Cause::UnknownPrepared), 1);
}

#[test]
fn statements_longer_than_a_packet() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_007);
    link.log_in(&mut wire, PLAIN);
    let long = |length: usize| {
        let mut body = b"\x03INSERT INTO t VALUES ('".to_vec();
        body.resize(length - 2, b'x');
        body.extend_from_slice(b"')");
        let mut parts: Vec<&[u8]> = body.chunks(0xff_ffff).collect();
        if length.is_multiple_of(0xff_ffff) {
            parts.push(&[]);
        }
        packets(0, &parts)
    };
    for (length, answer) in [
        // Of two packets, of two of which one is empty, and longer than what is read.
        (0xff_ffff + 1000, 2),
        (0xff_ffff, 2),
        ((64 << 20) + 5, 5),
    ] {
        link.client_in_pieces(&mut wire, &long(length), 60_000);
        link.server(&mut wire, &packet(answer, &ok(1, AUTOCOMMIT)));
    }
    // A row that is longer than a packet.
    let mut parts = packets(1, &[&[1], COLUMN, EOF]);
    let row = vec![b'y'; 0xff_ffff + 5];
    parts.extend(packet(4, &row[..0xff_ffff]));
    parts.extend(packet(5, &row[0xff_ffff..]));
    parts.extend(packet(6, EOF));
    link.client(&mut wire, &query("SELECT 1"));
    for piece in parts.chunks(60_000) {
        link.server(&mut wire, piece);
    }
    link.ask(&mut wire, &query("SELECT 2"), &rows(2));
    let (told, dropped) = read(&wire.bytes).unwrap();
    let lengths: Vec<usize> = told[1..].iter().map(String::len).collect();
    let around = "Query  Some(0) Some(0)".len();
    assert_eq!(lengths[..2], [0xff_ffff + 999 + around, 0xff_fffe + around]);
    assert_eq!(
        told[3..],
        [
            "Query SELECT 1 Some(1) Some(0)",
            "Query SELECT 2 Some(2) Some(0)"
        ]
    );
    assert_eq!(dropped.count(Cause::TooLong), 1);
    assert_eq!(dropped.by_cause().count(), 1, "{dropped:?}");
}

#[test]
fn progress_of_a_long_statement_is_no_error() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_008);
    link.log_in(&mut wire, PLAIN);
    let progress = b"\xff\xff\xff\x01\x01\x02\x10\x27\0\x04copy";
    link.ask(
        &mut wire,
        &query("ALTER TABLE t ADD b INT"),
        &packets(1, &[progress, progress, &ok(0, AUTOCOMMIT)]),
    );
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[1..],
        [
            "Query ALTER TABLE t ADD b INT Some(0) Some(0)",
            "Query SELECT 1 Some(1) Some(0)",
        ]
    );
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn how_the_session_stands_is_told_with_each_statement() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_009);
    link.log_in(&mut wire, PLAIN);
    let open = packet(1, &ok(0, IN_TRANSACTION));
    link.ask(&mut wire, &query("BEGIN"), &open);
    link.ask(&mut wire, &query("COMMIT"), &packet(1, &ok(0, AUTOCOMMIT)));
    link.ask(&mut wire, &query("SET autocommit=0"), &packet(1, &ok(0, 0)));
    link.ask(
        &mut wire,
        &query("SELECT nothing"),
        &packet(1, &error(1054)),
    );
    let standing = super::standing(&wire.bytes);
    let expected = [(true, true), (false, true), (false, false)];
    assert_eq!(standing[1..4], expected.map(Some));
    assert_eq!(standing[4], None);
}

#[test]
fn a_backslash_is_what_the_server_says_it_is() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_010);
    link.log_in(&mut wire, PLAIN);
    link.ask(&mut wire, &prepare("SELECT ?"), &prepared(1, 1));
    let with_text = packet(0, b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x02a\\");
    link.ask(&mut wire, &with_text, &rows(1));
    // NO_BACKSLASH_ESCAPES, and without it again.
    let said = [[0, 0, 0, 2, 2, 0, 0], [0, 0, 0, 2, 0, 0, 0]];
    for status in said {
        link.ask(&mut wire, &query("SET sql_mode=@a"), &packet(1, &status));
        link.ask(&mut wire, &with_text, &rows(1));
    }
    let (told, _) = read(&wire.bytes).unwrap();
    let executed: Vec<&str> = told
        .iter()
        .filter_map(|line| line.strip_prefix("Execute SELECT "))
        .collect();
    assert!(executed[0].starts_with(r"'a\\' "), "{executed:?}");
    assert!(executed[1].starts_with(r"'a\' "), "{executed:?}");
    // Rows say it is off already.
    assert!(executed[2].starts_with(r"'a\\' "), "{executed:?}");
}

#[test]
fn passwords_of_accounts_are_in_no_capture() {
    let mut wire = Wire::new();
    let mut link = Link::new(43_011);
    link.log_in(&mut wire, PLAIN);
    let done = packet(1, &ok(0, AUTOCOMMIT));
    for sql in [
        "SET PASSWORD = 'hunter2'",
        "SELECT 1; ALTER USER joe IDENTIFIED BY 'hunter2'",
        "SELECT 1 /* SET PASSWORD = 'hunter2' */",
    ] {
        link.ask(&mut wire, &query(sql), &done);
        link.ask(&mut wire, &prepare(sql), &packet(1, &error(1295)));
    }
    // In the values of an execution.
    link.ask(&mut wire, &prepare("SELECT PASSWORD(?)"), &prepared(1, 1));
    let with_text = packet(0, b"\x17\x01\0\0\0\0\x01\0\0\0\0\x01\xfd\0\x07hunter2");
    link.ask(&mut wire, &with_text, &rows(1));
    link.ask(&mut wire, &query("SELECT 'kept'"), &rows(1));
    let folder = tempfile::tempdir().unwrap();
    let (path, output) = (
        folder.path().join("a.pcap"),
        folder.path().join("a.capture"),
    );
    std::fs::write(&path, &wire.bytes).unwrap();
    let job = crate::Import {
        files: vec![path],
        read: crate::log::ReadOptions::default(),
        output: output.clone(),
        replace: true,
        counted: None,
        stored: None,
        clients: Vec::new(),
    };
    let stop = std::sync::atomic::AtomicBool::new(false);
    let summary = crate::import(&job, &stop, |_| {}).unwrap();
    assert_eq!(summary.dropped.count(Cause::Account), 8);
    let mut all = Vec::new();
    crate::export(&output, &mut all, true, &output).unwrap();
    let all = String::from_utf8(all).unwrap();
    assert!(all.contains("'kept'") && !all.contains("hunter2"), "{all}");
}
