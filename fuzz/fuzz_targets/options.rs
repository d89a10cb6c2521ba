//! The text of an option file: groups, quotes, escapes, what a copy goes without.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| niagara_origin::read_option_text(input));
