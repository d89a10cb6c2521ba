//! Logs that real servers wrote: what is in them, read whole and cut at every byte.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::{import_all, lines, log, logs, options, text};
use niagara_capture::dropped::{Cause, Dropped};
use niagara_capture::file::{CaptureReader, EventKind, Order, Summary};
use niagara_capture::info::info;
use niagara_capture::log::{Dialect, Item, LogKind, LogReader, Meaning, Probe};
use niagara_capture::{CaptureError, Filter, filter};

struct Made {
    folder: tempfile::TempDir,
    summary: Summary,
    lines: Vec<String>,
}

impl Made {
    fn path(&self) -> PathBuf {
        self.folder.path().join("x.capture")
    }

    /// Statements of this text.
    fn count(&self, text: &str) -> usize {
        self.lines
            .iter()
            .filter(|line| line.ends_with(&format!(" {text}")))
            .count()
    }
}

fn made(files: &[PathBuf]) -> Made {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("x.capture");
    let summary = import_all(files, &output).unwrap();
    Made {
        lines: lines(&output),
        folder,
        summary,
    }
}

/// Those that the servers of the tests wrote.
fn servers_logs() -> Vec<PathBuf> {
    let mut paths = logs("-slow.log");
    paths.extend(logs("-general.log"));
    paths.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("mariadb-") || name.starts_with("mysql-")
    });
    paths
}

#[test]
fn nothing_but_known_causes_is_dropped() {
    for path in servers_logs() {
        let made = made(std::slice::from_ref(&path));
        let name = path.display();
        let summary = &made.summary;
        for (cause, drops) in summary.dropped.by_cause() {
            assert!(
                matches!(
                    cause,
                    Cause::Account
                        | Cause::SqlPrepared
                        | Cause::Command
                        | Cause::UnnamedPrepared
                        | Cause::Empty
                        | Cause::Internal
                ),
                "{name}: {cause:?} {drops:?}"
            );
        }
        let dropped: u64 = summary
            .dropped
            .by_cause()
            .map(|(_, drops)| drops.count)
            .sum();
        assert_eq!(
            summary.events + dropped,
            summary.sources[0].entries,
            "{name}"
        );
        assert_eq!(summary.events, made.lines.len() as u64);
        assert!(
            summary.dropped.count(Cause::Account) > 0 || name.to_string().contains("-c-"),
            "{name}"
        );
        for line in &made.lines {
            assert!(!line.to_lowercase().contains("identified by"), "{line}");
            assert!(!line.contains("secret"), "{line}");
        }
        let mode = made.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

#[test]
fn dialects_are_told_from_what_they_write() {
    for (name, kind, dialect) in [
        (
            "mariadb-10.11.19-a-slow.log",
            LogKind::Slow,
            Dialect::Mariadb,
        ),
        (
            "mariadb-11.8.6-b-general.log",
            LogKind::General,
            Dialect::Mariadb,
        ),
        ("mysql-9.7.4-a-slow.log", LogKind::Slow, Dialect::Mysql),
        (
            "mysql-9.7.4-b-general.log",
            LogKind::General,
            Dialect::Mysql,
        ),
        ("percona-8.0-slow.log", LogKind::Slow, Dialect::Percona),
    ] {
        let source = &made(&[log(name)]).summary.sources[0];
        assert_eq!((source.kind, source.dialect), (kind, dialect), "{name}");
        assert!(source.version.is_some(), "{name}");
    }
}

#[test]
fn headers_inside_of_strings_are_strings() {
    for path in logs("-a-slow.log")
        .into_iter()
        .chain(logs("-a-general.log"))
    {
        let made = made(std::slice::from_ref(&path));
        let hidden: Vec<&String> = made
            .lines
            .iter()
            .filter(|line| line.contains("select fake;"))
            .collect();
        assert_eq!(hidden.len(), 2, "{}", path.display());
        for line in hidden {
            assert!(
                line.contains(
                    r"select \'x\n# Time: 2031-01-01T00:00:00.000000Z\n# User@Host: evil[evil]"
                ),
                "{line}"
            );
            assert!(line.ends_with(r"select fake;\n\'"), "{line}");
        }
        assert_eq!(
            made.count(r"select \'two\nlines\',\n  1 -- comment ; here\n + 1 # hash"),
            2
        );
        assert_eq!(
            made.count(r"insert into t(b) values(_binary\'\x00\x01\n\r\xff\xfe;\x1a\')"),
            2
        );
    }
}

#[test]
fn a_slow_log_of_mariadb_has_its_sessions_and_times() {
    let made = made(&[log("mariadb-10.11.19-c-slow.log")]);
    assert_eq!(made.summary.order, Order::Completion);
    assert_eq!(made.summary.sources[0].seconds_mean, Meaning::Start);
    assert_eq!(made.summary.sessions, 4);
    let starts: BTreeMap<String, f64> = made
        .lines
        .iter()
        .map(|line| {
            let start = line.split("s=").nth(1).unwrap().split(' ').next().unwrap();
            let statement = line.splitn(6, ' ').nth(5).unwrap().trim_start().to_owned();
            (statement, start.parse::<f64>().unwrap() / 1e6)
        })
        .collect();
    // What the client's clock said is in the statements.
    for (statement, at) in [
        ("select sleep(1.3)", 1_795_380_310.009),
        ("update t set b=3", 1_795_380_311.310),
        ("select benchmark(", 1_795_380_313.812),
    ] {
        let (found, start) = starts
            .iter()
            .find(|(text, _)| text.contains(statement))
            .unwrap();
        assert!((start - at).abs() < 1.0, "{found}: {start} for {at}");
    }
    assert!(
        made.lines[4..9]
            .iter()
            .any(|line| line.contains("T< begin")),
        "{:#?}",
        made.lines
    );
    let benchmark = made
        .lines
        .iter()
        .find(|line| line.contains("benchmark"))
        .unwrap();
    // Began when the session was done with its lock wait, which ended with the other's commit.
    let start: f64 = benchmark
        .split("s=")
        .nth(1)
        .unwrap()
        .split(' ')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1_795_380_313e6..1_795_380_314e6).contains(&start));
}

#[test]
fn a_slow_log_of_mysql_has_microseconds_errors_and_ends_of_sessions() {
    let made = made(&[log("mysql-9.7.4-a-slow.log")]);
    assert!(made.summary.exact_times);
    let mut errors = Vec::new();
    let mut ends = 0;
    CaptureReader::open(&made.path())
        .unwrap()
        .for_each(|event, dictionary| {
            ends += u32::from(event.kind == EventKind::Disconnect);
            if let Some(error) = event.measured.error.filter(|error| *error > 0) {
                errors.push((error, String::from_utf8(text(event, dictionary)).unwrap()));
            }
            assert_eq!(dictionary.name(event.user), b"root");
            Ok::<(), CaptureError>(())
        })
        .unwrap();
    let errors: Vec<(u32, &str)> = errors
        .iter()
        .map(|(error, text)| (*error, &text[..]))
        .collect();
    assert_eq!(
        errors,
        [
            (1146, "select * from missing"),
            (1062, "insert into t(id,v) values(1,'dup')"),
            (1305, "call nothere()")
        ]
    );
    assert_eq!(ends, 4);
    assert_eq!(
        made.lines[0],
        "0 Query Ddl s=1795380368688844 d=  create database if not exists shop"
    );
}

#[test]
fn a_general_log_has_logins_and_prepares() {
    for path in logs("-a-general.log") {
        let made = made(std::slice::from_ref(&path));
        let has = |kind: &str| {
            made.lines
                .iter()
                .filter(|line| line.contains(&format!(" {kind} ")))
                .count()
        };
        assert!(made.summary.has_connects);
        assert_eq!(
            (
                has("Connect"),
                has("Prepare"),
                has("Execute"),
                has("Database")
            ),
            (7, 4, 6, 2),
            "{}",
            path.display()
        );
        // Executed by SQL: once, as what it came to.
        assert_eq!(made.count("select 7 + 1"), 2, "{}", path.display());
        assert!(
            made.lines
                .iter()
                .any(|line| line.contains("d=other") && line.contains("in other"))
        );
    }
}

#[test]
fn executes_are_told_where_the_log_tells_them() {
    let made = made(&[log("mariadb-10.11.19-a-slow.log")]);
    let executes = made
        .lines
        .iter()
        .filter(|line| line.contains(" Execute "))
        .count();
    // Three by the protocol and one by SQL, each twice.
    assert_eq!(executes, 8);
    assert!(made.summary.has_prepared);
}

#[test]
fn percona_says_errors_and_its_rate() {
    let made = made(&[log("percona-8.0-slow.log")]);
    assert_eq!(made.summary.sampled, 10);
    assert_eq!(made.summary.dropped.count(Cause::Throttled), 5);
    // Of replication. The procedure's CALL is not in the log, so its statement is kept.
    assert_eq!(made.summary.dropped.count(Cause::Internal), 1);
    assert_eq!(made.lines.len(), 3, "{:#?}", made.lines);
    assert!(
        made.lines[0].contains("d=a  Last_errno: b;c"),
        "{:#?}",
        made.lines
    );
}

#[test]
fn the_mode_of_a_session_decides_where_its_strings_end() {
    let made = made(&[log("modes-slow.log")]);
    assert!(
        made.summary.dropped.is_empty(),
        "{:?}",
        made.summary.dropped
    );
    assert_eq!(made.lines.len(), 5, "{:#?}", made.lines);
    assert_eq!(made.count(r"select \'a\\\'"), 1, "{:#?}", made.lines);
}

#[test]
fn a_string_that_does_not_end_costs_one_statement() {
    let made = made(&[log("unterminated-slow.log")]);
    assert_eq!(made.summary.dropped.count(Cause::UnterminatedLiteral), 1);
    assert_eq!(made.lines.len(), 4, "{:#?}", made.lines);
}

/// What is read of `bytes`: texts of entries, and how much was dropped.
fn read(bytes: &[u8], probe: &Probe) -> (Vec<Vec<u8>>, Dropped) {
    let mut reader = LogReader::new(bytes, PathBuf::from("x.log"), probe, &options());
    let mut dropped = Dropped::default();
    let mut texts = Vec::new();
    while let Some(item) = reader.next(&mut dropped).unwrap() {
        if let Item::Entry(entry, _) = item {
            texts.push(entry.text.to_vec());
        }
    }
    (texts, dropped)
}

#[test]
fn a_log_cut_anywhere_gives_what_is_whole() {
    // As much as has all kinds of entries.
    cut_anywhere(6_000);
}

/// Every place of every sample: minutes without optimisation, so it is asked for (`--release -- --ignored`).
#[test]
#[ignore = "takes a minute with optimisation, much longer without"]
fn a_whole_log_cut_anywhere_gives_what_is_whole() {
    cut_anywhere(usize::MAX);
}

fn cut_anywhere(longest: usize) {
    for path in logs(".log") {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(longest);
        let name = path.display();
        let probe = Probe::of(&bytes, &options().zone).unwrap();
        let (whole, _) = read(&bytes, &probe);
        let mut most = 0;
        for at in 0..bytes.len() {
            let (head, dropped) = read(&bytes[..at], &probe);
            let same = head.iter().zip(&whole).take_while(|(a, b)| a == b).count();
            // What was whole at an earlier cut is whole at this one, but for the last entry: the beginning of the next
            // header may look like a line of its statement.
            assert!(same + 1 >= most, "{name} cut at {at}: {same} of {most}");
            most = most.max(same);
            // A cut in a statement of several lines may look like its end.
            assert!(
                same + 1 >= head.len(),
                "{name} cut at {at}: {} of {}",
                same,
                head.len()
            );
            let cut = dropped.count(Cause::CutTail) + dropped.count(Cause::CutHead);
            assert!(cut <= 1, "{name} cut at {at}: {dropped:?}");

            let (tail, _) = read(&bytes[at..], &probe);
            let same = tail
                .iter()
                .rev()
                .zip(whole.iter().rev())
                .take_while(|(a, b)| a == b)
                .count();
            // A head that lies inside of the string with a header in it is read as that header.
            assert!(
                same + 2 >= tail.len(),
                "{name} cut off up to {at}: {} of {}",
                same,
                tail.len()
            );
        }
        // But for the end, which a whole log may have cut as well.
        assert!(most + 1 >= whole.len(), "{name}: {most} of {}", whole.len());
    }
}

#[test]
fn the_size_of_what_is_read_at_a_time_changes_nothing() {
    struct Slow<'a>(&'a [u8], usize);
    impl std::io::Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let length = self.1.min(self.0.len()).min(buffer.len());
            buffer[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }
    for path in logs("-slow.log") {
        // Longer than what is read at a time, so that entries straddle.
        let bytes = std::fs::read(&path).unwrap().repeat(60);
        let probe = Probe::of(&bytes, &options().zone).unwrap();
        let (whole, dropped) = read(&bytes, &probe);
        let mut reader = LogReader::new(Slow(&bytes, 65_521), path.clone(), &probe, &options());
        let mut again = Dropped::default();
        let mut count = 0;
        while let Some(item) = reader.next(&mut again).unwrap() {
            if let Item::Entry(entry, _) = item {
                assert_eq!(entry.text, whole[count], "{} entry {count}", path.display());
                count += 1;
            }
        }
        assert_eq!(count, whole.len());
        for (cause, drops) in dropped.by_cause() {
            assert_eq!(again.count(cause), drops.count);
        }
    }
}

#[test]
fn compressed_and_rotated_logs_read_as_plain_ones() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (log("mysql-9.7.4-b-slow.log"), log("mysql-9.7.4-a-slow.log"));
    let plain = made(&[first.clone(), second.clone()]);
    let bytes = |path: &Path| std::fs::read(path).unwrap();
    let gzip = folder.path().join("slow.log.1.gz");
    let half = bytes(&first).len() / 2;
    // Two members, as after `cat a.gz b.gz`.
    let mut file = std::fs::File::create(&gzip).unwrap();
    for part in [&bytes(&first)[..half], &bytes(&first)[half..]] {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(part).unwrap();
        file.write_all(&encoder.finish().unwrap()).unwrap();
    }
    let zstd = folder.path().join("slow.log.zst");
    std::fs::write(&zstd, zstd::encode_all(&bytes(&second)[..], 1).unwrap()).unwrap();
    let xz = folder.path().join("slow.log.xz");
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(&bytes(&second)).unwrap();
    std::fs::write(&xz, encoder.finish().unwrap()).unwrap();
    // Given in the wrong order.
    for other in [zstd, xz] {
        assert_eq!(made(&[other, gzip.clone()]).lines, plain.lines);
    }
    // A compressed file that is cut gives what comes before.
    let cut = folder.path().join("cut.gz");
    let whole = bytes(&gzip);
    std::fs::write(&cut, &whole[..whole.len() - 40]).unwrap();
    let made = made(&[cut]);
    assert_eq!(
        made.summary.dropped.count(Cause::CutTail),
        1,
        "{:?}",
        made.summary.dropped
    );
    assert!(made.lines.len() > 20);
}

#[test]
fn a_log_without_an_entry_is_an_empty_capture() {
    let folder = tempfile::tempdir().unwrap();
    let (opened, fresh) = (
        folder.path().join("slow.log"),
        folder.path().join("slow.log.1"),
    );
    std::fs::write(&opened, "/usr/sbin/mariadbd, Version: 10.11.6-MariaDB (x). started with:\nTcp port: 0  Unix socket: /s\nTime\t\t    Id Command\tArgument\n").unwrap();
    std::fs::write(&fresh, "").unwrap();
    let made_of_nothing = made(&[opened.clone(), fresh.clone()]);
    assert!(made_of_nothing.lines.is_empty());
    assert!(
        made_of_nothing.summary.dropped.is_empty(),
        "{:?}",
        made_of_nothing.summary.dropped
    );
    assert_eq!(info(&made_of_nothing.path()).unwrap().digests.len(), 0);
    // Nobody knows their kind: they go with any.
    let general = log("mysql-9.7.4-b-general.log");
    assert_eq!(
        made(&[opened, fresh, general.clone()]).lines,
        made(&[general]).lines
    );
}

#[test]
fn what_is_in_a_capture_adds_up() {
    for path in logs(".log") {
        let made = made(std::slice::from_ref(&path));
        let found = info(&made.path()).unwrap();
        let name = path.display();
        let count: u64 = found.digests.iter().map(|digest| digest.count).sum();
        assert_eq!(count, made.summary.statements, "{name}");
        let share: f64 = found.digests.iter().map(|digest| digest.share).sum();
        assert!((share - 1.0).abs() < 1e-9, "{name}: {share}");
        let classes: u64 = found.classes.iter().map(|class| class.count).sum();
        assert_eq!(classes, count);
        let intervals: u64 = found
            .concurrency
            .intervals
            .iter()
            .map(|interval| interval.statements)
            .sum();
        assert_eq!(intervals, count);
        for digest in &found.digests {
            assert_eq!(
                digest.latency.is_some(),
                found.statement_seconds.is_some(),
                "{digest:?}"
            );
            if let Some(latency) = &digest.latency {
                assert!(
                    latency.p50_ms <= latency.p95_ms && latency.p95_ms <= latency.max_ms,
                    "{digest:?}"
                );
            }
            assert!(
                !digest.text.contains("secret") && !digest.text.contains('\''),
                "{digest:?}"
            );
        }
        if let (Some(mean), Some(seconds)) = (found.concurrency.mean, found.statement_seconds) {
            assert!(
                (mean * found.seconds - seconds).abs() < 1e-3,
                "{name}: {mean} {seconds}"
            );
        }
    }
}

#[test]
fn a_part_is_a_capture_too() {
    let made = made(&[log("mariadb-10.11.19-a-slow.log")]);
    let part = made.folder.path().join("part.capture");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let keep = |filter_by: Filter| {
        let summary = filter(&made.path(), &part, true, &filter_by, &stop).unwrap();
        let kept = lines(&part);
        assert_eq!(
            kept.len() as u64 + summary.dropped.count(Cause::Filtered),
            made.lines.len() as u64
        );
        assert!(kept.iter().all(|line| made.lines.contains(line)));
        kept
    };
    assert_eq!(keep(Filter::default()), made.lines);
    let reads = keep(Filter {
        read_only: true,
        ..Filter::default()
    });
    assert!(
        reads
            .iter()
            .all(|line| !line.contains(" Write ") && !line.contains(" Ddl "))
    );
    let shop = keep(Filter {
        databases: vec!["shop".to_owned()],
        ..Filter::default()
    });
    assert!(!shop.is_empty() && shop.iter().all(|line| line.contains("d=shop")));
    let with_none = keep(Filter {
        databases: vec!["shop".to_owned()],
        without_database: true,
        ..Filter::default()
    });
    let nothing = Filter {
        users: vec!["nobody".to_owned()],
        ..Filter::default()
    };
    let none = made.folder.path().join("none.capture");
    let error = filter(&made.path(), &none, true, &nothing, &stop).unwrap_err();
    assert!(error.to_string().contains("no statement in it"), "{error}");
    assert!(!none.exists());
    let in_shop_or_none = |line: &String| line.contains("d=shop") || line.contains("d= ");
    assert!(with_none.len() > shop.len() && with_none.iter().all(in_shop_or_none));
    let digest = info(&made.path()).unwrap().digests[0].clone();
    let one = keep(Filter {
        digests: vec![digest.digest[..8].to_owned()],
        ..Filter::default()
    });
    assert_eq!(one.len() as u64, digest.count);
    let middle = 1_795_379_602_000_000;
    let early = keep(Filter {
        to_us: Some(middle),
        ..Filter::default()
    });
    let late = keep(Filter {
        from_us: Some(middle),
        ..Filter::default()
    });
    assert_eq!(early.len() + late.len(), made.lines.len());
}

#[test]
fn a_damaged_capture_is_refused_wherever_it_is_damaged() {
    let made = made(&[log("mysql-9.7.4-b-slow.log")]);
    let whole = std::fs::read(made.path()).unwrap();
    let path = made.folder.path().join("damaged.capture");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        CaptureReader::open(&path)?.for_each(|_, _| Ok::<(), CaptureError>(()))
    };
    read(&whole).unwrap();
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x15;
        // The lengths and the kinds of blocks have no checksum of their own, but what they lead to has.
        assert!(read(&damaged).is_err(), "byte {at} of {}", whole.len());
    }
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_err(), "cut at {length}");
    }
}
