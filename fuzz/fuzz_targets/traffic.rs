//! Recorded traffic: packets, streams, the protocol, values of prepared statements.
#![no_main]

use libfuzzer_sys::fuzz_target;
use niagara_capture::PcapReader;
use niagara_capture::dropped::Dropped;
use niagara_capture::sql::SqlMode;

fuzz_target!(|input: &[u8]| {
    let source = std::io::Cursor::new(input.to_vec());
    let Ok(mut reader) = PcapReader::new(source, "x.pcap".into(), SqlMode::default()) else {
        return;
    };
    let mut dropped = Dropped::default();
    while reader.next(&mut dropped).expect("memory can be read").is_some() {}
    reader.finish(&mut dropped);
    while reader.next(&mut dropped).expect("memory can be read").is_some() {}
});
