//! Logs changed at random: nothing panics, and what was read is accounted for. Seeded: every run is the same.

mod common;

use std::path::PathBuf;

use common::{logs, options};
use niagara_capture::dropped::Dropped;
use niagara_capture::log::{Item, LogReader, Probe};
use niagara_capture::sql::{
    Charset, Class, Concern, Cut, SqlMode, classify, digest_text, effect_of, restore,
};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Pieces that matter to a reader of logs.
const PIECES: [&[u8]; 24] = [
    b"'",
    b"\"",
    b"`",
    b"\\",
    b";\n",
    b"\n",
    b"#",
    b"-- ",
    b"/*",
    b"*/",
    b"/*!",
    b"\0",
    b"# Time: ",
    b"# User@Host: ",
    b"# Query_time: 1.5",
    b"SET timestamp=1;\n",
    b"use `a;b`;\n",
    b"\t\t     4 Query\t",
    b"\xbf\\",
    b"18446744073709551615",
    b"# administrator command: Quit;\n",
    b". started with:\n",
    b"  QC_hit: ",
    b"set sql_mode='ANSI_QUOTES,NO_BACKSLASH_ESCAPES'",
];

fn mutate(random: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.random_range(1..6) {
        let at = random.random_range(0..=bytes.len());
        match random.random_range(0..5) {
            0 if at < bytes.len() => bytes[at] = random.random(),
            1 => {
                let end = (at + random.random_range(0..200)).min(bytes.len());
                bytes.drain(at..end);
            }
            2 => bytes.truncate(at),
            _ => {
                let piece = PIECES.choose(random).copied().unwrap_or(b"'");
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
}

/// Reads a log as an import does.
fn read(bytes: &[u8]) {
    let Some(probe) = Probe::of(bytes, &options().zone) else {
        return;
    };
    let mut reader = LogReader::new(bytes, PathBuf::from("x.log"), &probe, &options());
    let mut dropped = Dropped::default();
    let mut length = 0;
    while let Some(item) = reader.next(&mut dropped).expect("memory can be read") {
        let mut mode_after = None;
        if let Item::Entry(entry, mode) = item {
            length += entry.length;
            statement(entry.text, mode);
            mode_after = entry
                .thread
                .map(|thread| (thread, mode.with_character_set(b"gbk")));
        }
        if let Some((thread, mode)) = mode_after.filter(|(thread, _)| thread % 7 == 0) {
            reader.set_mode(thread, mode);
        }
    }
    let lost: u64 = dropped.by_cause().map(|(_, drops)| drops.bytes).sum();
    assert!(
        length as u64 + lost <= bytes.len() as u64,
        "nothing is read twice"
    );
}

fn statement(text: &[u8], mode: SqlMode) {
    let mut cut = Cut::default();
    cut.read(text, mode);
    let mut back = Vec::new();
    let parts = cut.parts.iter().map(|range| &text[range.clone()]);
    restore(&cut.skeleton, parts, &mut back).expect("as many parts as places");
    assert_eq!(back, text, "put together again");
    let digest = digest_text(cut.for_digest());
    assert_eq!(digest, digest_text(cut.for_digest()));
    let traits = classify(&digest);
    Concern::of(&digest).holds(text, b"mysql");
    for class in [traits.class, Class::Set, Class::Use] {
        effect_of(class, text);
    }
}

#[test]
fn changed_logs_are_read_without_a_panic() {
    let mut random = ChaCha8Rng::seed_from_u64(18);
    let logs: Vec<Vec<u8>> = logs(".log")
        .iter()
        .map(|path| std::fs::read(path).expect("a log"))
        .collect();
    for _ in 0..30_000 {
        let log = logs.choose(&mut random).expect("a log");
        // A few entries: what matters is between neighbours.
        let start = random.random_range(0..log.len());
        let end = (start + random.random_range(100..3_000)).min(log.len());
        let mut bytes = log[start..end].to_vec();
        mutate(&mut random, &mut bytes);
        read(&bytes);
    }
}

#[test]
fn any_bytes_are_a_statement() {
    let mut random = ChaCha8Rng::seed_from_u64(19);
    for _ in 0..100_000 {
        let mut text = Vec::new();
        for _ in 0..random.random_range(0..12) {
            if random.random_bool(0.7) {
                text.extend_from_slice(PIECES.choose(&mut random).copied().unwrap_or(b"'"));
            } else {
                let words: [&[u8]; 20] = [
                    b"select ",
                    b"in (",
                    b"values ",
                    b"1",
                    b", ",
                    b") ",
                    b"null",
                    b"-2.5e3",
                    b"x'ff'",
                    b"@a",
                    b"t.1",
                    b"with a as (",
                    b"(",
                    b"value (",
                    b"row (",
                    b"_utf8 ",
                    b"date ",
                    b"?",
                    b"set @@sql_mode = concat(",
                    b"`a``",
                ];
                text.extend_from_slice(words.choose(&mut random).copied().unwrap_or(b"1"));
            }
        }
        let mode = SqlMode {
            ansi_quotes: random.random(),
            no_backslash_escapes: random.random(),
            charset: [Charset::Plain, Charset::Gbk, Charset::Big5, Charset::Sjis]
                [random.random_range(0..4)],
        };
        statement(&text, mode);
    }
    // Whatever comes over the wire.
    let mut bytes = [0; 64];
    for _ in 0..50_000 {
        random.fill_bytes(&mut bytes);
        statement(&bytes, SqlMode::default());
    }
}
