//! Clients that do not wait for answers: each answer belongs to its own command.

use super::read;
use super::wire::*;
use crate::dropped::Cause;

#[test]
fn answers_belong_to_commands_in_their_order() {
    let mut wire = Wire::new();
    let mut link = Link::new(41_001);
    link.log_in(&mut wire, PLAIN);
    // All in one segment; an answer that is none of a statement's among them.
    let commands = [
        query("SELECT 1"),
        packet(0, b"\x0e"),
        query("INSERT INTO t VALUES (1)"),
        query("SELECT nothing"),
        query("SELECT 2; SELECT 3"),
        query("SELECT 4"),
    ];
    link.client(&mut wire, &commands.concat());
    let more = [0xfe, 0, 0, 10, 0];
    let two = packets(
        1,
        &[
            &[1],
            COLUMN,
            EOF,
            b"\x011",
            &more,
            &[1],
            COLUMN,
            EOF,
            b"\x011",
            EOF,
        ],
    );
    let answers = [
        rows(1),
        packet(1, &ok(0, AUTOCOMMIT)),
        packet(1, &ok(1, AUTOCOMMIT)),
        packet(1, &error(1054)),
        two,
        rows(4),
    ];
    for piece in answers.concat().chunks(17) {
        link.server(&mut wire, piece);
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[1..],
        [
            "Query SELECT 1 Some(1) Some(0)",
            "Query INSERT INTO t VALUES (1) Some(0) Some(0)",
            "Query SELECT nothing Some(0) Some(1054)",
            "Query SELECT 2; SELECT 3 Some(2) Some(0)",
            "Query SELECT 4 Some(4) Some(0)",
        ]
    );
    assert_eq!(dropped.count(Cause::Command), 1);
    assert_eq!(dropped.count(Cause::Gap), 0);
}

/// MariaDB's Connector/J (`usePipelineAuth`, `useBatchMultiSend`) and others: prepare and execute in one go.
#[test]
fn a_statement_is_executed_before_its_number_is_known() {
    let last = u32::MAX;
    let mut wire = Wire::new();
    let mut link = Link::new(41_002);
    link.log_in(&mut wire, PLAIN);
    let ahead = [&[0x18][..], &last.to_le_bytes(), &[0, 0], b"sent ahead"].concat();
    let with_text = [
        &[0x17][..],
        &last.to_le_bytes(),
        &[0, 1, 0, 0, 0, 0, 1, 0xfd, 0],
    ]
    .concat();
    let close = |statement: u32| packet(0, &[&[0x19][..], &statement.to_le_bytes()].concat());
    let commands = [
        prepare("SELECT ?"),
        execute(last, Some(7)),
        execute(last, Some(8)),
        prepare("INSERT INTO t VALUES (?)"),
        packet(0, &ahead),
        packet(0, &with_text),
        close(last),
        prepare("SELECT broken ?"),
        execute(last, Some(9)),
        execute(5, Some(10)),
        close(5),
        execute(5, Some(11)),
    ];
    link.client(&mut wire, &commands.concat());
    let answers = [
        prepared(5, 1),
        rows(1),
        rows(2),
        prepared(6, 1),
        packet(1, &ok(1, AUTOCOMMIT)),
        packet(1, &error(1064)),
        packet(1, &error(1243)),
        rows(3),
        packet(1, &error(1243)),
    ];
    link.server(&mut wire, &answers.concat());
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[1..],
        [
            "Prepare SELECT ? Some(0) Some(0)",
            "Execute SELECT 7 Some(1) Some(0)",
            "Execute SELECT 8 Some(2) Some(0)",
            "Prepare INSERT INTO t VALUES (?) Some(0) Some(0)",
            "Execute INSERT INTO t VALUES ('sent ahead') Some(0) Some(0)",
            "Prepare SELECT broken ? Some(0) Some(1064)",
            "Execute SELECT 10 Some(3) Some(0)",
        ]
    );
    assert_eq!(dropped.count(Cause::UnknownPrepared), 2);
    assert_eq!(dropped.count(Cause::Gap), 0);
}

#[test]
fn what_waits_begins_once_the_server_is_free() {
    let mut wire = Wire::new();
    let mut link = Link::new(41_003);
    link.log_in(&mut wire, PLAIN);
    link.client(&mut wire, &[query("SELECT 1"), query("SELECT 2")].concat());
    wire.wait(10_000);
    link.server(&mut wire, &rows(1));
    wire.wait(5_000);
    link.server(&mut wire, &rows(1));
    let times = super::times(&wire.bytes);
    let [_, first, second] = times[..] else {
        panic!("{times:?}");
    };
    assert_eq!(first.1, Some(10_100));
    assert_eq!(second, (first.0 + 10_100, Some(5_100)));
}

#[test]
fn commands_without_an_answer_and_those_with_a_text_take_their_turns() {
    let mut wire = Wire::new();
    let mut link = Link::new(41_004);
    link.log_in(&mut wire, PLAIN);
    let fields = packet(0, b"\x04item\0%");
    let reset = packet(0, &[0x1a, 9, 0, 0, 0]);
    let commands = [
        packet(0, b"\x09"),
        fields,
        reset,
        packet(0, &[0x19, 9, 0, 0, 0]),
        query("SELECT 1"),
    ];
    link.client(&mut wire, &commands.concat());
    let answers = [
        packet(1, b"Uptime: 9  Threads: 1  Questions: 4711"),
        packets(1, &[COLUMN, COLUMN, COLUMN, EOF]),
        packet(1, &ok(0, AUTOCOMMIT)),
        rows(7),
    ];
    link.server(&mut wire, &answers.concat());
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told[1..], ["Query SELECT 1 Some(7) Some(0)"]);
    assert_eq!(dropped.count(Cause::Command), 2);
    assert_eq!(dropped.count(Cause::Gap), 0);
}

#[test]
fn a_file_of_the_clients_is_no_command() {
    let mut wire = Wire::new();
    let mut link = Link::new(41_005);
    link.log_in(&mut wire, PLAIN);
    link.ask(
        &mut wire,
        &query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t"),
        &packet(1, b"\xfbx"),
    );
    // More packets than numbers; what is in them looks like commands.
    let content = b"\x03SELECT 'from the file'\n";
    for number in 2..602_u32 {
        link.client(&mut wire, &packet(number as u8, content));
        link.acknowledge(&mut wire);
    }
    link.client(&mut wire, &packet(602_u32 as u8, b""));
    link.server(&mut wire, &packet(603_u32 as u8, &ok(200, AUTOCOMMIT)));
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    // One that the server refuses, and that the client does not send.
    link.ask(
        &mut wire,
        &query("LOAD DATA LOCAL INFILE 'y' INTO TABLE t"),
        &packet(1, &error(3948)),
    );
    link.ask(&mut wire, &query("SELECT 2"), &rows(2));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[1..],
        [
            "Query LOAD DATA LOCAL INFILE 'x' INTO TABLE t Some(0) Some(0)",
            "Query SELECT 1 Some(1) Some(0)",
            "Query LOAD DATA LOCAL INFILE 'y' INTO TABLE t Some(0) Some(3948)",
            "Query SELECT 2 Some(2) Some(0)",
        ]
    );
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn an_answer_that_is_not_understood_costs_itself() {
    let mut wire = Wire::new();
    let mut link = Link::new(41_006);
    link.log_in(&mut wire, PLAIN);
    for turn in 0..10 {
        link.client(&mut wire, &query(&format!("SELECT {turn}")));
        match turn {
            // Nothing that a server says; more than it should.
            3 => link.server(&mut wire, &packet(1, b"\xfd\0\0\0")),
            5 => link.server(&mut wire, &[rows(1), rows(1)].concat()),
            _ => link.server(&mut wire, &rows(turn)),
        }
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    let known: Vec<usize> = (0..10)
        .filter(|turn| told[turn + 1].ends_with(&format!("Some({turn}) Some(0)")))
        .collect();
    assert_eq!(told.len(), 11, "{told:#?}");
    assert_eq!(known, [0, 1, 2, 4, 6, 7, 8, 9], "{told:#?}");
    assert_eq!(dropped.count(Cause::Gap), 2, "{dropped:?}");
}

#[test]
fn a_clock_that_is_set_back_goes_on() {
    let mut wire = Wire::new();
    let mut link = Link::new(41_007);
    link.log_in(&mut wire, PLAIN);
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    link.client(&mut wire, &query("SELECT 2"));
    wire.set_back(3_600_000_000);
    link.server(&mut wire, &rows(1));
    link.client(&mut wire, &query("SELECT 3"));
    wire.wait(500_000);
    link.server(&mut wire, &rows(1));
    let times = super::times(&wire.bytes);
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(times[3].1, Some(500_100));
}
