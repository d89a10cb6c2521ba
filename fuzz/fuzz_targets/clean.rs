//! What takes away from a log what is around it, then the reader of the log on what is left.
#![no_main]

use std::io::Read;

use libfuzzer_sys::fuzz_target;
use niagara_capture::dropped::Dropped;
use niagara_capture::log::{LogReader, Probe, ReadOptions, cleaned};

fuzz_target!(|input: &[u8]| {
    let Ok(mut reader) = cleaned(input.to_vec()) else {
        return;
    };
    let mut text = Vec::new();
    if reader.read_to_end(&mut text).is_err() {
        return;
    }
    // Events as JSON are written out; all else becomes shorter.
    let begin = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input).trim_ascii_start();
    if !matches!(begin.first(), Some(b'{' | b'[' | b'"')) {
        assert!(text.len() <= input.len(), "{} of {}", text.len(), input.len());
    }
    let options = ReadOptions {
        zone: jiff::tz::TimeZone::UTC,
        ..ReadOptions::default()
    };
    let Some(probe) = Probe::of(&text, &options.zone) else {
        return;
    };
    let mut reader = LogReader::new(&text[..], "x.log".into(), &probe, &options);
    let mut dropped = Dropped::default();
    while reader.next(&mut dropped).expect("memory can be read").is_some() {}
});
