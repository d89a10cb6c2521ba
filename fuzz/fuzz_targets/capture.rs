//! Everything that reads a server's logs: what they are, where entries end, statements, their digests.
#![no_main]

use libfuzzer_sys::fuzz_target;
use niagara_capture::dropped::Dropped;
use niagara_capture::log::{Item, LogReader, Probe, ReadOptions};
use niagara_capture::sql::{Class, Concern, Cut, SqlMode, classify, digest_text, effect_of, restore};

fuzz_target!(|input: &[u8]| {
    statement(input, SqlMode::default());
    let options = ReadOptions {
        zone: jiff::tz::TimeZone::UTC,
        ..ReadOptions::default()
    };
    let Some(probe) = Probe::of(input, &options.zone) else {
        return;
    };
    let mut reader = LogReader::new(input, "x.log".into(), &probe, &options);
    let mut dropped = Dropped::default();
    let mut length = 0;
    while let Some(item) = reader.next(&mut dropped).expect("memory can be read") {
        if let Item::Entry(entry, mode) = item {
            length += entry.length;
            statement(entry.text, mode);
        }
    }
    let lost: u64 = dropped.by_cause().map(|(_, drops)| drops.bytes).sum();
    assert!(length as u64 + lost <= input.len() as u64, "nothing is read twice");
});

fn statement(text: &[u8], mode: SqlMode) {
    let mut cut = Cut::default();
    cut.read(text, mode);
    let mut back = Vec::new();
    let parts = cut.parts.iter().map(|range| &text[range.clone()]);
    restore(&cut.skeleton, parts, &mut back).expect("as many parts as places");
    assert_eq!(back, text, "put together again");
    let digest = digest_text(cut.for_digest());
    Concern::of(&digest).holds(text, b"mysql");
    for class in [classify(&digest).class, Class::Set, Class::Use] {
        effect_of(class, text);
    }
}
