//! Packets that were not recorded, or not in order, or not whole.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::read;
use super::wire::*;
use crate::dropped::Cause;

/// What a connection of three questions tells, where the segment number `lost` was not recorded.
fn without(lost: usize) -> (Vec<String>, u64, u64) {
    let mut wire = Wire::new();
    let mut link = Link::new(40_001);
    link.log_in(&mut wire, PLAIN);
    let mut number = 0;
    for turn in 0..40 {
        for from_client in [true, false] {
            link.lost = number == lost;
            match from_client {
                true => link.client(&mut wire, &query(&format!("SELECT {turn}"))),
                false => link.server(&mut wire, &rows(turn + 1)),
            }
            number += 1;
        }
    }
    link.lost = false;
    link.client(&mut wire, &packet(0, b"\x01"));
    link.close(&mut wire);
    let (told, dropped) = read(&wire.bytes).unwrap();
    (
        told,
        dropped.count(Cause::Gap),
        dropped.count(Cause::LostPackets),
    )
}

#[test]
fn a_missing_segment_costs_one_statement_and_is_counted() {
    let (whole, gaps, _) = without(usize::MAX);
    assert_eq!((whole.len(), gaps), (42, 0), "{whole:#?}");
    for lost in 0..80 {
        let (told, gaps, cut_off) = without(lost);
        assert_eq!((gaps, cut_off), (1, 0), "{lost}: {told:#?}");
        let turn = lost / 2 + 1;
        let mut expected = whole.clone();
        match lost % 2 {
            // What was asked.
            0 => drop(expected.remove(turn)),
            // What was answered.
            _ => expected[turn] = format!("Query SELECT {} None None", lost / 2),
        }
        assert_eq!(told, expected, "{lost}");
    }
}

#[test]
fn what_is_recorded_late_is_no_gap() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_002);
    link.log_in(&mut wire, PLAIN);
    for turn in 0..5 {
        let asked = link.unrecorded(true, &query(&format!("SELECT {turn}")));
        let answer = rows(3);
        let first = link.unrecorded(false, &answer[..20]);
        let rest = link.unrecorded(false, &answer[20..]);
        let received = link.unrecorded(true, &[]);
        // The answer before the question, the end before the beginning, all of it twice.
        for segment in [&received, &rest, &asked, &first, &first, &asked, &rest] {
            wire.record(segment);
        }
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(dropped.is_empty(), "{dropped:?}");
    assert_eq!(told.len(), 6, "{told:#?}");
    for line in &told[1..] {
        assert!(line.ends_with("Some(3) Some(0)"), "{told:#?}");
    }
}

#[test]
fn a_connection_that_never_comes_back_is_counted_as_cut_off() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_003);
    link.log_in(&mut wire, PLAIN);
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    link.lost = true;
    link.client(&mut wire, &query("SELECT 2")[..9]);
    link.lost = false;
    // The middle of something long, up to the end.
    for _ in 0..100 {
        link.client(&mut wire, &[b'x'; 700]);
        let received = link.unrecorded(false, &[]);
        wire.record(&received);
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert_eq!(dropped.count(Cause::Gap), 1);
    assert_eq!(dropped.count(Cause::LostPackets), 1);
}

#[test]
fn gaps_in_both_directions_at_once() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_004);
    link.log_in(&mut wire, PLAIN);
    for turn in 0..30 {
        link.lost = (10..20).contains(&turn);
        link.ask(
            &mut wire,
            &query(&format!("SELECT {turn}")),
            &rows(turn + 1),
        );
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(dropped.count(Cause::LostPackets), 0);
    assert!((1..=2).contains(&dropped.count(Cause::Gap)), "{dropped:?}");
    // The login, and those of which both were recorded.
    assert_eq!(told.len(), 21, "{told:#?}");
    for (line, turn) in told[1..].iter().zip((0..10).chain(20..30)) {
        let expected = format!("Query SELECT {turn} Some({}) Some(0)", turn + 1);
        assert_eq!(*line, expected);
    }
}

#[test]
fn packets_that_were_not_recorded_whole() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_005);
    link.log_in(&mut wire, PLAIN);
    for turn in 0..200 {
        let long = "a,".repeat(if turn % 2 == 0 { 0 } else { 100 });
        let asked = link.unrecorded(true, &query(&format!("SELECT {long} {turn}")));
        wire.record(&asked[..asked.len().min(96)]);
        let answer = link.unrecorded(false, &rows(5));
        wire.record(&answer[..answer.len().min(96)]);
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    let short: Vec<&String> = told.iter().filter(|line| !line.contains("a,")).collect();
    // All that were short enough, and none that was not.
    assert_eq!((short.len(), told.len()), (101, 101), "{told:#?}");
    assert!(dropped.count(Cause::Gap) >= 100, "{dropped:?}");
    assert_eq!(dropped.count(Cause::LostPackets), 0);
}

#[test]
fn only_what_clients_send_was_recorded() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_006);
    for turn in 0..100 {
        link.client(&mut wire, &query(&format!("SELECT {turn}")));
        link.unrecorded(false, &rows(2));
        link.acknowledge(&mut wire);
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 100, "{told:#?}");
    for (turn, line) in told.iter().enumerate() {
        assert_eq!(*line, format!("Query SELECT {turn} None None"));
    }
    assert!(dropped.count(Cause::Gap) > 0);
}

#[test]
fn the_end_of_a_login_is_missing() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_007);
    link.connect(&mut wire);
    link.server(&mut wire, &packet(0, &greeting(7)));
    link.client(&mut wire, &packet(1, &login(PLAIN)));
    link.unrecorded(false, &packet(2, &ok(0, AUTOCOMMIT)));
    for turn in 0..40 {
        link.ask(&mut wire, &query(&format!("SELECT {turn}")), &rows(1));
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 41, "{told:#?}");
    assert_eq!(
        told[0],
        "Connect app@10.0.0.7 on shop using TCP/IP None None"
    );
    assert_eq!(told[40], "Query SELECT 39 Some(1) Some(0)");
    assert_eq!(dropped.count(Cause::Gap), 1);
}

#[test]
fn a_connection_that_was_there_before_is_read_from_its_first_command_on() {
    for eofs in [true, false] {
        let mut wire = Wire::new();
        let mut link = Link::new(40_008);
        // The end of an answer, and one half of a command.
        link.server(&mut wire, &rows(3)[30..]);
        let asked = query(&"a,".repeat(500));
        link.client(&mut wire, &asked[600..]);
        link.server(&mut wire, &rows(1));
        for turn in 0..3 {
            let answer = match eofs {
                true => rows(turn),
                false => {
                    let mut bodies: Vec<&[u8]> = vec![&[1], COLUMN];
                    bodies.extend(std::iter::repeat_n(&b"\x04pear"[..], turn));
                    bodies.push(&[0xfe, 0, 0, 2, 0, 0, 0]);
                    packets(1, &bodies)
                }
            };
            link.ask(&mut wire, &query(&format!("SELECT {turn}")), &answer);
        }
        // Prepared by somebody who did not see the login: whether its answer ends with an EOF shows too late.
        link.ask(&mut wire, &prepare("SELECT ?"), &prepared(9, 1));
        link.ask(&mut wire, &execute(9, Some(5)), &rows(2));
        let (told, dropped) = read(&wire.bytes).unwrap();
        assert_eq!(
            told,
            [
                "Query SELECT 0 Some(0) Some(0)",
                "Query SELECT 1 Some(1) Some(0)",
                "Query SELECT 2 Some(2) Some(0)",
                "Prepare SELECT ? Some(0) Some(0)",
                "Execute SELECT 5 Some(2) Some(0)",
            ]
        );
        assert!(dropped.is_empty(), "{dropped:?}");
    }
}

#[test]
fn a_request_that_was_not_recorded_is_no_loss() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_009);
    link.server(&mut wire, &packet(0, &greeting(9)));
    link.client(&mut wire, &packet(1, &login(PLAIN)));
    link.server(&mut wire, &packet(2, &ok(0, AUTOCOMMIT)));
    link.ask(&mut wire, &query("SELECT 1"), &rows(1));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(told.len(), 2, "{told:#?}");
    assert!(told[0].starts_with("Connect app"), "{told:#?}");
    assert!(dropped.is_empty(), "{dropped:?}");
}

/// Segments of a connection on which `ahead` questions are asked at a time, `rounds` times; the answer to each has one row
/// more than its number.
fn segments(link: &mut Link, rounds: usize, ahead: usize) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for round in 0..rounds {
        let turns = round * ahead..(round + 1) * ahead;
        for turn in turns.clone() {
            all.push(link.unrecorded(true, &query(&format!("SELECT {turn}"))));
        }
        for turn in turns {
            for piece in rows(turn + 1).chunks(300) {
                all.push(link.unrecorded(false, piece));
            }
        }
    }
    all
}

/// What is lost costs statements, or what is known of them; what is known is true.
fn chance(seed: u64, ahead: usize, lost: f64) -> (usize, usize) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut wire = Wire::new();
    let mut link = Link::new(40_100);
    link.log_in(&mut wire, PLAIN);
    let mut all = segments(&mut link, 60 / ahead, ahead);
    // That it does not wait is seen once, before anything is lost.
    let first = 2 * ahead;
    let mut place = 0;
    all.retain(|_| {
        place += 1;
        place <= first || !random.random_bool(lost)
    });
    // Twice, and out of order by little.
    for place in 0..all.len() {
        if random.random_bool(0.05) {
            let later = (place + random.random_range(0..4)).min(all.len());
            all.insert(later, all[place].clone());
        }
        if place > 0 && random.random_bool(0.1) {
            all.swap(place - 1, place);
        }
    }
    for segment in &all {
        wire.record(segment);
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(dropped.count(Cause::NoProtocol) == 0, "{seed}: {dropped:?}");
    let (mut known, mut last) = (0, None);
    for line in &told[1..] {
        let words: Vec<&str> = line.split(' ').collect();
        let turn: usize = words[2].parse().unwrap();
        assert!(last < Some(turn), "{seed}: {told:#?}");
        last = Some(turn);
        if words[3] != "None" {
            assert_eq!(
                line,
                &format!("Query SELECT {turn} Some({}) Some(0)", turn + 1),
                "{seed}"
            );
            known += 1;
        }
    }
    (told.len() - 1, known)
}

#[test]
fn what_is_told_is_true_whatever_was_lost() {
    let mut sum = (0, 0);
    for seed in 0..300 {
        let (told, known) = chance(seed, 1, 0.03);
        sum = (sum.0 + told, sum.1 + known);
    }
    // Of 18,000.
    assert!(sum.0 > 16_000 && sum.1 > 12_000, "{sum:?}");
    // Who does not wait: behind what is lost nobody knows which answer is whose, until the client has waited again.
    let mut sum = (0, 0);
    for seed in 0..300 {
        let (told, known) = chance(seed, 6, 0.03);
        sum = (sum.0 + told, sum.1 + known);
    }
    assert!(sum.0 > 16_000 && sum.1 > 8_000, "{sum:?}");
    for seed in 0..300 {
        chance(seed, 3, 0.15);
        chance(seed, 1, 0.3);
    }
    for seed in 0..100 {
        assert_eq!(chance(seed, 1, 0.0), (60, 60), "{seed}");
        assert_eq!(chance(seed, 6, 0.0), (60, 60), "{seed}");
    }
}
