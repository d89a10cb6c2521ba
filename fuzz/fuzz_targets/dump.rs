//! The text of a dump: statements, what they are about, what is changed in them.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| niagara_origin::read_dump_text(input));
