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
        let expected = match turn {
            // What was said last before it is not known: something else may not have been answered yet.
            20 => format!("Query SELECT {turn} None None"),
            _ => format!("Query SELECT {turn} Some({}) Some(0)", turn + 1),
        };
        assert_eq!(*line, expected);
    }
    assert_eq!(dropped.count(Cause::UncertainAnswer), 1);
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

/// Asks so many questions at a time, of which those of `lost` are not recorded, then answers them all.
fn batch(wire: &mut Wire, link: &mut Link, turns: std::ops::Range<usize>, lost: &[usize]) {
    for turn in turns.clone() {
        link.lost = lost.contains(&turn);
        link.client(wire, &question(turn));
    }
    link.lost = false;
    for turn in turns {
        link.server(wire, &rows(turn + 1));
    }
}

/// Those of the questions that are told with their answers, and how many are told without.
fn known(told: &[String]) -> (Vec<usize>, usize) {
    let told: Vec<Vec<&str>> = (told.iter())
        .filter(|line| line.starts_with("Query SELECT "))
        .map(|line| line.split(' ').collect())
        .collect();
    let with: Vec<usize> = (told.iter())
        .filter(|words| words[3] != "None")
        .map(|words| words[2].parse().unwrap())
        .collect();
    let without = told.len() - with.len();
    (with, without)
}

#[test]
fn behind_a_gap_nobody_knows_which_answer_is_whose_of_those_who_do_not_wait() {
    // What is lost of the second batch.
    for lost in 3..6 {
        let mut wire = Wire::new();
        let mut link = Link::new(40_010);
        link.log_in(&mut wire, PLAIN);
        batch(&mut wire, &mut link, 0..3, &[]);
        batch(&mut wire, &mut link, 3..6, &[lost]);
        batch(&mut wire, &mut link, 6..9, &[]);
        let (told, dropped) = read(&wire.bytes).unwrap();
        let (with, without) = known(&told);
        // What is in front of the gap may have been read before it showed.
        assert!(with.iter().all(|&turn| turn < lost), "{lost}: {told:#?}");
        assert!(with.starts_with(&[0, 1, 2]), "{lost}: {told:#?}");
        assert_eq!(with.len() + without, 8, "{lost}: {told:#?}");
        assert_eq!(dropped.count(Cause::UncertainAnswer), without as u64);
        assert_eq!(dropped.count(Cause::Gap), 1, "{lost}: {dropped:?}");
    }
    // A piece of an answer.
    let mut wire = Wire::new();
    let mut link = Link::new(40_011);
    link.log_in(&mut wire, PLAIN);
    batch(&mut wire, &mut link, 0..3, &[]);
    link.client(&mut wire, &[question(3), question(4)].concat());
    link.unrecorded(false, &rows(4)[..20]);
    link.server(&mut wire, &[&rows(4)[20..], &rows(5)].concat());
    batch(&mut wire, &mut link, 5..7, &[]);
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(known(&told), (vec![0, 1, 2], 4), "{told:#?}");
    // One of them is lost in the gap.
    assert_eq!(dropped.count(Cause::UncertainAnswer), 3, "{dropped:?}");
    assert_eq!(dropped.count(Cause::Gap), 1, "{dropped:?}");
}

#[test]
fn a_client_that_does_not_wait_is_known_by_what_goes_on_behind_the_gap() {
    // Nothing was sent ahead before.
    for lost in [&[3][..], &[3, 4], &[3, 4, 5], &[4]] {
        let mut wire = Wire::new();
        let mut link = Link::new(40_012);
        link.log_in(&mut wire, PLAIN);
        for turn in 0..3 {
            link.ask(&mut wire, &question(turn), &rows(turn + 1));
        }
        batch(&mut wire, &mut link, 3..7, lost);
        batch(&mut wire, &mut link, 7..9, &[]);
        let (told, dropped) = read(&wire.bytes).unwrap();
        let (with, _) = known(&told);
        assert!(with.iter().all(|turn| *turn < lost[0]), "{told:#?}");
        assert!(dropped.count(Cause::UncertainAnswer) >= 3, "{dropped:?}");
    }
    // It was there before the recording: what the server says first it says without knowing what it was asked.
    let mut wire = Wire::new();
    let mut link = Link::new(40_013);
    link.server(&mut wire, &rows(1));
    let [asked, _] = link.numbers();
    link.client(&mut wire, &question(2));
    link.received[1] = Some(asked);
    link.server(&mut wire, &rows(2));
    link.received[1] = None;
    link.server(&mut wire, &rows(3));
    link.ask(&mut wire, &question(3), &rows(4));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(known(&told), (vec![], 2), "{told:#?}");
    assert_eq!(dropped.count(Cause::UncertainAnswer), 2, "{dropped:?}");
}

#[test]
fn an_end_of_a_statement_that_is_lost_is_not_taken_for_something_sent_ahead() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_014);
    link.log_in(&mut wire, PLAIN);
    let close = packet(0, &[0x19, 4, 0, 0, 0]);
    for turn in 0..4 {
        link.ask(&mut wire, &prepare("SELECT ?"), &prepared(4, 1));
        link.ask(&mut wire, &execute(4, Some(7)), &rows(1));
        link.lost = turn == 2;
        link.client(&mut wire, &close);
        link.lost = false;
        link.ask(&mut wire, &question(turn), &rows(turn + 1));
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    // That nothing else is missing nobody knows.
    assert_eq!(known(&told), (vec![0, 1, 3], 1), "{told:#?}");
    assert_eq!(dropped.count(Cause::UncertainAnswer), 1, "{dropped:?}");
    assert_eq!(dropped.count(Cause::Gap), 1, "{dropped:?}");
}

#[test]
fn files_are_no_commands_where_answers_are_not_read() {
    let mut wire = Wire::new();
    let mut link = Link::new(40_015);
    link.log_in(&mut wire, PLAIN);
    batch(&mut wire, &mut link, 0..2, &[]);
    batch(&mut wire, &mut link, 2..4, &[2]);
    let load = query("LOAD DATA LOCAL INFILE 'x' INTO TABLE t");
    link.ask(&mut wire, &load, &packet(1, b"\xfbx"));
    for number in 2..602_u32 {
        let content = packet(number as u8, b"\x03SELECT 'from the file'\n");
        link.client(&mut wire, &content);
    }
    link.client(&mut wire, &packet(602_u32 as u8, b""));
    link.server(&mut wire, &packet(603_u32 as u8, &ok(200, AUTOCOMMIT)));
    link.ask(&mut wire, &question(4), &rows(1));
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert_eq!(
        told[3..],
        [
            "Query SELECT 3 None None",
            "Query LOAD DATA LOCAL INFILE 'x' INTO TABLE t None None",
            "Query SELECT 4 None None",
        ]
    );
    assert_eq!(dropped.count(Cause::UncertainAnswer), 3, "{dropped:?}");
}

/// How a client that asks goes about.
#[derive(Debug, Clone, Copy)]
enum Client {
    /// It asks so many questions at a time and waits for the answers to all of them.
    Batches(usize),
    /// It asks whenever less than so many are unanswered. What is said takes its time to arrive.
    Window(usize),
}

/// The question number `turn`, whose answer has one row more than that.
fn question(turn: usize) -> Vec<u8> {
    query(&format!("SELECT {turn}"))
}

/// The segments of a connection on which so many questions are asked, and how many of them there are before it shows that the
/// client does not wait.
fn segments(
    link: &mut Link,
    client: Client,
    questions: usize,
    random: &mut ChaCha8Rng,
) -> (Vec<Vec<u8>>, usize) {
    let mut all = Vec::new();
    let mut before = 0;
    match client {
        Client::Batches(ahead) => {
            for first in (0..questions).step_by(ahead) {
                let turns = first..(first + ahead).min(questions);
                all.extend(
                    turns
                        .clone()
                        .map(|turn| link.unrecorded(true, &question(turn))),
                );
                for answer in turns.map(|turn| rows(turn + 1)) {
                    all.extend(
                        answer
                            .chunks(300)
                            .map(|piece| link.unrecorded(false, piece)),
                    );
                }
            }
        }
        Client::Window(ahead) => {
            // Where the questions and answers end that were sent, and what is left of the answer that is being sent.
            let (mut asked, mut answered, mut rest) = (Vec::new(), Vec::new(), Vec::new());
            // What client and server have.
            let [client, server] = link.numbers();
            let mut has = [server, client];
            while answered.len() < questions || !rest.is_empty() {
                link.received = [Some(has[0]), Some(has[1])];
                let known = |ends: &[u32], has: u32| {
                    ends.iter()
                        .filter(|&&end| end.wrapping_sub(has) as i32 <= 0)
                        .count()
                };
                match random.random_range(0..6) {
                    0 => has[0] = link.numbers()[1],
                    1 => has[1] = link.numbers()[0],
                    2 | 3
                        if asked.len() < questions
                            && asked.len() - known(&answered, has[0]) < ahead =>
                    {
                        all.push(link.unrecorded(true, &question(asked.len())));
                        asked.push(link.numbers()[0]);
                        if before == 0 && asked.len() > known(&answered, has[0]) + 1 {
                            before = all.len();
                        }
                    }
                    _ if !rest.is_empty() => {
                        let size = 300.min(rest.len());
                        let piece: Vec<u8> = rest.drain(..size).collect();
                        all.push(link.unrecorded(false, &piece));
                        if rest.is_empty() {
                            answered.push(link.numbers()[1]);
                        }
                    }
                    _ if known(&asked, has[1]) > answered.len() => {
                        rest = rows(answered.len() + 1);
                    }
                    _ => {}
                }
            }
            link.received = [None; 2];
        }
    }
    (all, before)
}

/// What is lost costs statements, or what is known of them; what is known is true. How many statements were told, and how many of them
/// with what was answered.
fn chance(seed: u64, client: Client, lost: f64, is_joined: bool) -> (usize, usize) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut wire = Wire::new();
    let mut link = Link::new(40_100);
    if !is_joined {
        link.log_in(&mut wire, PLAIN);
    }
    let (mut all, before) = segments(&mut link, client, 60, &mut random);
    if is_joined {
        all.drain(..random.random_range(0..all.len() / 2));
    }
    let mut place = 0;
    all.retain(|_| {
        place += 1;
        place <= before || !random.random_bool(lost)
    });
    // Twice, and out of order by little.
    for place in 0..all.len() {
        if random.random_bool(0.05) {
            let later = (place + random.random_range(0..4)).min(all.len());
            all.insert(later, all[place].clone());
        }
        if place > before && random.random_bool(0.1) {
            all.swap(place - 1, place);
        }
    }
    for segment in &all {
        wire.record(segment);
    }
    let (told, dropped) = read(&wire.bytes).unwrap();
    assert!(dropped.count(Cause::NoProtocol) == 0, "{seed}: {dropped:?}");
    let (mut known, mut last) = (0, None);
    let told = &told[usize::from(!is_joined)..];
    for line in told {
        let words: Vec<&str> = line.split(' ').collect();
        let turn: usize = words[2].parse().unwrap();
        assert!(last < Some(turn), "{seed}: {told:#?}");
        last = Some(turn);
        if words[3] != "None" {
            assert_eq!(
                line,
                &format!("Query SELECT {turn} Some({}) Some(0)", turn + 1),
                "{seed}: {told:#?}"
            );
            known += 1;
        }
    }
    (told.len(), known)
}

/// Seeds of every kind. It is true with three hundred of them, too, which take most of a minute.
const SEEDS: u64 = 10;

#[test]
fn what_is_told_is_true_whatever_was_lost() {
    let kinds = [
        // At least so many in a hundred are told, and with what was answered.
        (Client::Batches(1), 0.03, (94, 85)),
        (Client::Batches(1), 0.3, (60, 20)),
        (Client::Batches(3), 0.15, (75, 1)),
        (Client::Batches(6), 0.03, (94, 15)),
        (Client::Window(1), 0.1, (80, 60)),
        (Client::Window(2), 0.03, (94, 15)),
        (Client::Window(5), 0.1, (80, 3)),
    ];
    for (client, lost, least) in kinds {
        let mut sum = (0, 0);
        for seed in 0..SEEDS {
            let (told, known) = chance(seed, client, lost, false);
            sum = (sum.0 + told, sum.1 + known);
        }
        let percent = |count: usize| count as u64 * 100 / (SEEDS * 60);
        let found = (percent(sum.0), percent(sum.1));
        assert!(
            found.0 >= least.0 && found.1 >= least.1,
            "{client:?}: {found:?}"
        );
    }
    for seed in 0..SEEDS {
        for client in [Client::Batches(1), Client::Batches(4)] {
            chance(seed, client, 0.1, true);
        }
        for client in [Client::Batches(1), Client::Batches(6), Client::Window(3)] {
            assert_eq!(chance(seed, client, 0.0, false), (60, 60), "{seed}");
        }
    }
}
