//! Who reads what a command says may go, and files may be full: no panic, and the exit code tells.

mod common;

use std::fs::File;
use std::io::{PipeWriter, pipe};

use common::{Place, run};

fn without_reader() -> PipeWriter {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    writer
}

#[test]
fn a_closed_standard_output_is_no_panic() {
    for arguments in [&["levers"][..], &["server", "list"], &["doctor", "--json"]] {
        let place = Place::new();
        let mut niagara = place.niagara(arguments);
        let (code, _, stderr) = run(niagara.stdout(without_reader()));
        assert_eq!(code, Some(141), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_closed_standard_error_keeps_the_exit_code() {
    let place = Place::new();
    let mut niagara = place.niagara(&["tune", "mariadb-10.10"]);
    let (code, ..) = run(niagara.stderr(without_reader()));
    assert_eq!(code, Some(1));
}

#[test]
fn a_full_disk_is_told() {
    let place = Place::new();
    let full = File::options().write(true).open("/dev/full");
    let mut niagara = place.niagara(&["levers"]);
    let (code, _, stderr) = run(niagara.stdout(full.expect("/dev/full")));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("standard output"), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
}
