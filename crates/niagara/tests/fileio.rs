//! `niagara sysbench fileio`, on real files, beside sysbench itself.

mod common;

use std::path::Path;
use std::process::{Command, Stdio};

use common::run;

const SMALL: &str = "fileio --file-num=3 --file-total-size=384K";

fn niagara() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
    command.arg("sysbench");
    command
}

fn fileio(mut program: Command, folder: &Path, words: &str) -> (Option<i32>, String) {
    program
        .args(words.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null());
    let (code, stdout, stderr) = run(&mut program);
    (code, stdout + &stderr)
}

fn succeed(folder: &Path, words: &str) -> String {
    let words = format!("{SMALL} {words}");
    let (code, text) = fileio(niagara(), folder, &words);
    assert_eq!(code, Some(0), "{words}\n{text}");
    text
}

fn fail(folder: &Path, words: &str) -> String {
    let words = format!("{SMALL} {words}");
    let (code, text) = fileio(niagara(), folder, &words);
    assert_eq!(code, Some(1), "{words}\n{text}");
    text
}

/// The figure behind these words.
fn figure(text: &str, name: &str) -> f64 {
    let line = text
        .lines()
        .find(|line| line.trim_start().starts_with(name))
        .unwrap_or_else(|| panic!("no {name} in\n{text}"));
    let last = line.split_whitespace().last();
    last.and_then(|word| word.parse().ok())
        .unwrap_or_else(|| panic!("no figure in {line}"))
}

#[test]
fn every_mode_reads_and_writes_what_it_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let text = succeed(folder, "prepare");
    assert!(text.contains("393216 bytes written in "), "{text}");
    for number in 0..3 {
        let size = folder.join(format!("test_file.{number}"));
        assert_eq!(size.metadata().expect("a file").len(), 131_072);
    }
    for access in ["sync", "mmap", "async"] {
        for (mode, title, reads, writes) in [
            ("seqrewr", "sequential rewrite", false, true),
            ("seqrd", "sequential read", true, false),
            ("rndrd", "random read", true, false),
            ("rndwr", "random write", false, true),
            ("rndrw", "random r/w", true, true),
            ("seqwr", "sequential write (creation)", false, true),
        ] {
            let words = format!(
                "--file-test-mode={mode} --file-io-mode={access} --events=60 --file-async-backlog=8 --threads=2 \
                 --file-fsync-freq=20 run"
            );
            let text = succeed(folder, &words);
            assert!(text.contains(&format!("Doing {title} test")), "{text}");
            assert!(
                text.contains("total number of events:              60\n"),
                "{text}"
            );
            for (name, is_there) in [
                ("reads/s:", reads),
                ("writes/s:", writes),
                ("fsyncs/s:", writes),
                ("read, MiB/s:", reads),
                ("written, MiB/s:", writes),
            ] {
                assert_eq!(
                    figure(&text, name) > 0.0,
                    is_there,
                    "{words}: {name}\n{text}"
                );
            }
        }
    }
    succeed(folder, "cleanup");
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 0);
}

#[test]
fn contents_are_checked_whoever_has_written_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let words = format!("{SMALL} --validate prepare");
    let (code, text) = fileio(Command::new("sysbench"), folder, &words);
    assert_eq!(code, Some(0), "{text}");
    for access in ["sync", "mmap", "async"] {
        let text = succeed(
            folder,
            &format!(
                "--validate --file-test-mode=rndrw --file-io-mode={access} --threads=2 --events=200 run"
            ),
        );
        assert!(text.contains("Using checksums validation."), "{text}");
    }
    // sysbench is content with what was written here.
    let words = format!("{SMALL} --validate --file-test-mode=seqrd --events=24 run");
    let (code, text) = fileio(Command::new("sysbench"), folder, &words);
    assert_eq!(code, Some(0), "{text}");

    let path = folder.join("test_file.1");
    let mut bytes = std::fs::read(&path).expect("a file");
    bytes[20_000] ^= 1;
    std::fs::write(&path, bytes).expect("a file");
    for access in ["sync", "async"] {
        let text = fail(
            folder,
            &format!("--validate --file-test-mode=seqrd --file-io-mode={access} --events=24 run"),
        );
        assert!(
            text.contains("Checksum mismatch in block with offset: 16384")
                && text.contains("Validation failed on file 1"),
            "{text}"
        );
    }
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    for (words, said) in [
        ("run", "FATAL: Missing required argument: --file-test-mode"),
        (
            "--file-test-mode=foo run",
            "FATAL: Invalid IO operations mode: foo.",
        ),
        (
            "--file-test-mode=rndrd run",
            "FATAL: Cannot open file 'test_file.0' errno = 2 (No such file or directory)\nWARNING: Did you forget to run \
             the prepare step?",
        ),
        (
            "--file-io-mode=tape prepare",
            "FATAL: unknown I/O mode: tape",
        ),
        ("", "The 'fileio' test requires a command argument."),
    ] {
        let text = fail(folder, words);
        assert!(text.contains(said), "{words}\n{text}");
    }
    succeed(
        folder,
        "--file-total-size=3K --file-block-size=1024 prepare",
    );
    let text = fail(folder, "--file-test-mode=rndrd run");
    assert!(
        text.contains("Size of file 'test_file.0' is 1KiB, but at least 128KiB is expected."),
        "{text}"
    );
    let text = succeed(folder, "prepare");
    assert!(
        text.contains("Extending existing file test_file.0"),
        "{text}"
    );
    let text = fail(
        folder,
        "--file-num=1 --file-total-size=16K --validate --threads=2 --file-test-mode=rndrw run",
    );
    assert!(
        text.contains("contents cannot be checked by 2 threads on 1 block:"),
        "{text}"
    );
    let text = succeed(folder, "--file-extra-flags=sync,dsync prepare");
    assert!(
        text.contains("Extra file open flags: sync dsync \n")
            && text.contains("Reusing existing file test_file.2")
            && text.contains("No bytes written."),
        "{text}"
    );
}
