//! Everything that reads what a server sends: greeting, login, answers to prepares and to statements.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| niagara_load::decode(input));
