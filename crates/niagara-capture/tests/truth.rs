//! Logs that are written here at random, so that all of what is in them is known: what is read of them is that, or is counted as lost.

#![allow(clippy::unwrap_used)]

mod common;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;
use std::path::PathBuf;

use common::{import_all, options};
use niagara_capture::dropped::{Cause, Dropped};
use niagara_capture::log::{Item, LogReader, Probe};

/// SplitMix64 (Steele, Lea, Flood): the same numbers for the same seed everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Mariadb,
    Mysql,
    MysqlExtra,
    Percona,
    MariadbGeneral,
    MysqlGeneral,
    /// As the first releases of MySQL 5.7 write it.
    OldMysqlGeneral,
}

const DIALECTS: [Dialect; 7] = [
    Dialect::Mariadb,
    Dialect::Mysql,
    Dialect::MysqlExtra,
    Dialect::Percona,
    Dialect::MariadbGeneral,
    Dialect::MysqlGeneral,
    Dialect::OldMysqlGeneral,
];

impl Dialect {
    fn is_general(self) -> bool {
        matches!(
            self,
            Dialect::MariadbGeneral | Dialect::MysqlGeneral | Dialect::OldMysqlGeneral
        )
    }

    fn banner(self) -> &'static str {
        match self {
            Dialect::Mariadb | Dialect::MariadbGeneral => {
                "/usr/sbin/mariadbd, Version: 10.11.19-MariaDB-log (source). started with:\n\
                 Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
                 Time\t\t    Id Command\tArgument\n"
            }
            Dialect::Percona => {
                "/usr/sbin/mysqld, Version: 8.0.36-28 (Percona Server (GPL), Release 28). started with:\n\
                 Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
                 Time                 Id Command    Argument\n"
            }
            _ => {
                "/usr/sbin/mysqld, Version: 8.0.36 (MySQL Community Server - GPL). started with:\n\
                 Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n\
                 Time                 Id Command    Argument\n"
            }
        }
    }

    /// What stands before a statement of second `at` since the log's beginning.
    fn header(self, at: usize, random: &mut Random) -> String {
        let (hour, minute, second) = (8 + at / 3600, at / 60 % 60, at % 60);
        let stamp = 1_795_161_600 + at;
        let thread = 40 + random.below(3);
        let user = random.of(&["app[app] @ web [10.0.3.4]", "root[root] @ localhost []"]);
        let time = format!(
            "2026-11-20T{hour:02}:{minute:02}:{second:02}.{:06}Z",
            random.below(1_000_000)
        );
        let times = format!(
            "Query_time: 0.{:06}  Lock_time: 0.000002  Rows_sent: 1  Rows_examined: {}",
            random.below(900_000),
            random.below(50)
        );
        let mut text = String::new();
        let _ = match self {
            Dialect::Mariadb => {
                if random.one_in(3) {
                    let _ = writeln!(text, "# Time: 261120 {hour:2}:{minute:02}:{second:02}");
                }
                write!(
                    text,
                    "# User@Host: {user}\n# Thread_id: {thread}  Schema: shop  QC_hit: No\n# {times}\n\
                     # Rows_affected: 0  Bytes_sent: 60\n"
                )
            }
            Dialect::Mysql | Dialect::MysqlExtra => {
                let more = match self {
                    Dialect::MysqlExtra => format!(
                        " Thread_id: {thread} Errno: 0 Killed: 0 Bytes_received: 0 Bytes_sent: 60 Read_first: 0 Read_last: 0 \
                         Start: {time} End: {time}"
                    ),
                    _ => String::new(),
                };
                write!(
                    text,
                    "# Time: {time}\n# User@Host: {user}  Id: {thread:5}\n# {times}{more}\n"
                )
            }
            Dialect::Percona => write!(
                text,
                "# Time: {time}\n# User@Host: {user}  Id: {thread:5}\n# Schema: shop  Last_errno: 0  Killed: 0\n# {times}  \
                 Rows_affected: 0  Bytes_sent: 60\n# Tmp_tables: 0  Tmp_disk_tables: 0  Tmp_table_sizes: 0\n"
            ),
            Dialect::MariadbGeneral => {
                let time = match random.one_in(3) {
                    true => format!("261120 {hour:2}:{minute:02}:{second:02}"),
                    false => "\t".to_owned(),
                };
                write!(text, "{time}\t{thread:6} Query\t")
            }
            Dialect::MysqlGeneral => write!(text, "{time}\t{thread:5} Query\t"),
            Dialect::OldMysqlGeneral => write!(text, "{time}{thread:5} Query\t"),
        };
        if !self.is_general() {
            if random.one_in(20) {
                text += random.of(&[
                    "# Some_new_field: 7  Another: x\n",
                    "  Tmp_tables: 1  Tmp_disk_tables: 0\n",
                ]);
            }
            if random.one_in(5) && self != Dialect::Mariadb {
                text += "use shop;\n";
            }
            let _ = writeln!(text, "SET timestamp={stamp};");
        }
        text
    }

    /// What ends a statement.
    fn end(self) -> &'static str {
        match self.is_general() {
            true => "\n",
            false => ";\n",
        }
    }
}

/// A statement that has `number` and no other of six digits.
fn statement(number: usize, general: bool, random: &mut Random) -> String {
    let mut text = format!("select {number}");
    for _ in 0..random.below(4) {
        text += match random.below(14) {
            0 => ", 'a literal'",
            1 => ",\n  b",
            2 => ", 'it''s', \"she said \\\"no\\\"\"",
            3 => ", 'two\nlines'",
            4 => ", 'ends;\nhere'",
            5 => ", `a;b`, \"it's\"",
            6 => " /* a comment; isn't it */",
            7 => ", 'back\\\\slash\\''",
            8 => " -- a comment\n , 3",
            9 => " # a comment; isn\n , 4",
            10 => ", '\u{e9}\u{20ac}\u{1}'",
            11 => "\n\n, 5",
            // A log in a literal.
            12 if !general => {
                ", 'x\n# Time: 2026-11-20T07:59:00.000000Z\n# User@Host: evil[evil] @ web [10.0.3.4]  Id:     9\n\
                 # Query_time: 0.000100  Lock_time: 0.000002 Rows_sent: 1  Rows_examined: 0\nSET timestamp=1795161540;\n\
                 select fake;\n'"
            }
            _ => ", t.c",
        };
    }
    match random.below(12) {
        0 if !general => format!("create procedure p() begin\n select 1;\n {text};\nend"),
        1 => format!("insert into t values ({number}, 'x')"),
        _ => text + " from t",
    }
}

/// Lines that are put between entries, with how many pieces are read of them.
const NOISE: [&str; 7] = [
    "\n",
    "\n\n  \n",
    "# rotated by logrotate 2026-11-20\n",
    "-- rotated\n",
    "somebody's note, with an apostrophe\n",
    "2026-11-20T08:00:01.000000Z 0 [Note] InnoDB: can't open \"x\n",
    "Nov 20 08:00:01 db1 logrotate[9]: rotated\n",
];

/// What is put between entries of a general log, which does not say where a statement ends.
const GENERAL_NOISE: [&str; 2] = [
    "2026-11-20T08:00:01.000000Z 0 [Note] InnoDB: can't open \"x\n",
    "2026-11-20  8:00:01 0 [Warning] Aborted connection 7\n",
];

/// A log, and the statements in it that are whole, by their numbers; in how many places some were cut.
struct Written {
    log: Vec<u8>,
    whole: HashMap<usize, String>,
    cut: usize,
}

const FIRST: usize = 100_000;

fn written(dialect: Dialect, seed: u64) -> Written {
    let mut random = Random(seed);
    let mut log = dialect.banner().as_bytes().to_vec();
    let mut whole = HashMap::new();
    let mut cut = 0;
    let mut at = 0;
    let mut last_was_cut = false;
    let entries = 12 + random.below(30);
    for place in 0..entries {
        at += [0, 0, 1, 7, 600][random.below(5)];
        let number = FIRST + place;
        let header = dialect.header(at, &mut random);
        // A log that says no time before its first one.
        let header = match place {
            0 if dialect == Dialect::MariadbGeneral => "261120  8:00:00\t    40 Query\t".to_owned(),
            _ => header,
        };
        let text = statement(number, dialect.is_general(), &mut random);
        let entry = format!("{header}{text}{}", dialect.end());
        if random.one_in(12) && place + 1 < entries {
            // Cut before its end, and before the number of it could be said twice.
            let length = header.len() + random.below(text.len());
            let length = match random.one_in(4) {
                true => random.below(header.len()).max(1),
                false => length,
            };
            let begins = &entry.as_bytes()[..length];
            // Behind a semicolon a cut is no cut that can be seen.
            let begins = begins.strip_suffix(b"\n").unwrap_or(begins);
            log.extend_from_slice(begins.strip_suffix(b";").unwrap_or(begins));
            cut += usize::from(!last_was_cut);
            last_was_cut = true;
            match random.below(3) {
                0 => log.extend(vec![0; 1 + random.below(200)]),
                1 => log.extend_from_slice(dialect.banner().as_bytes()),
                _ => {}
            }
            continue;
        }
        log.extend_from_slice(entry.as_bytes());
        whole.insert(number, text);
        last_was_cut = false;
        if random.one_in(6) {
            let noise = match dialect.is_general() {
                true => random.of(&GENERAL_NOISE),
                false => random.of(&NOISE),
            };
            log.extend_from_slice(noise.as_bytes());
        }
        match random.below(20) {
            0 => log.extend(vec![0; 1 + random.below(5000)]),
            1 => log.extend_from_slice(dialect.banner().as_bytes()),
            _ => {}
        }
    }
    Written { log, whole, cut }
}

/// The numbers in a text.
fn numbers(text: &str) -> Vec<usize> {
    let mut numbers: Vec<usize> = text
        .split(|c: char| !c.is_ascii_digit())
        .filter(|word| word.len() == 6)
        .filter_map(|word| word.parse().ok())
        .filter(|number| (FIRST..FIRST + 100).contains(number))
        .collect();
    numbers.dedup();
    numbers
}

/// What of a log was read: texts, and what was dropped.
fn read(log: &[u8]) -> (Vec<String>, Dropped) {
    let probe = Probe::of(log, &options().zone).unwrap();
    let mut reader = LogReader::new(log, PathBuf::from("x.log"), &probe, &options());
    let mut dropped = Dropped::default();
    let mut texts = Vec::new();
    while let Some(item) = reader.next(&mut dropped).unwrap() {
        if let Item::Entry(entry, _) = item {
            texts.push(String::from_utf8_lossy(entry.text).into_owned());
        }
    }
    (texts, dropped)
}

#[test]
fn statements_are_found_or_counted_as_lost() {
    let (mut all, mut found_all, mut cut_all) = (0, 0, 0);
    let mut failed = Vec::new();
    for dialect in DIALECTS {
        for seed in 0..150 {
            let Written { log, whole, cut } = written(dialect, seed);
            let (texts, dropped) = read(&log);
            let mut wrong = Vec::new();
            let mut found = 0;
            let mut missing: BTreeSet<usize> = whole.keys().copied().collect();
            for text in &texts {
                let numbers = numbers(text);
                let known = numbers.first().and_then(|number| whole.get(number));
                let is_whole = known.is_some_and(|known| known.trim_end() == text.trim_end());
                found += usize::from(is_whole);
                numbers.iter().for_each(|number| {
                    missing.remove(number);
                });
                if numbers.len() > 1 {
                    wrong.push(format!("glued: {text}"));
                } else if !(is_whole
                    // A cut of which nobody can tell that it is one.
                    || known.is_none() && dialect.is_general()
                    || numbers.is_empty())
                {
                    wrong.push(format!("neither whole nor cut: {text}"));
                }
            }
            let is_loss = |cause| {
                !matches!(
                    cause,
                    Cause::Blank | Cause::CommentLines | Cause::UnknownHeaderLine
                )
            };
            let lost = dropped.by_cause().filter(|(cause, _)| is_loss(*cause));
            let lost: u64 = lost.map(|(_, drops)| drops.count).sum();
            if found + (lost as usize) < whole.len() || cut > 0 && lost == 0 {
                wrong.push(format!("{found} found, {lost} lost"));
            }
            // Each cut may cost what it is cut into, and little more: where a literal was cut, those up to the next quotes.
            if found + 3 * cut < whole.len() || found > whole.len() {
                wrong.push(format!("{found} found"));
            }
            if !wrong.is_empty() {
                failed.push(format!(
                    "{dialect:?} {seed}, {} whole, {cut} cut, missing {missing:?}, {dropped:?}\n{}",
                    whole.len(),
                    wrong.join("\n")
                ));
            }
            all += whole.len();
            found_all += found;
            cut_all += cut;
        }
    }
    assert!(failed.is_empty(), "{}: {}", failed.len(), failed.join("\n"));
    eprintln!("{found_all} of {all} found beside {cut_all} that were cut");
    assert!(found_all * 100 >= all * 97, "{found_all} of {all}");
}

#[test]
fn what_is_around_a_log_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.log");
    let output = folder.path().join("x.capture");
    let mut random = Random(7);
    for dialect in DIALECTS {
        for _ in 0..4 {
            let mut log = dialect.banner().to_owned();
            for place in 0..20 {
                let header = dialect.header(place, &mut random);
                let header = match (place, dialect) {
                    (0, Dialect::MariadbGeneral) => "261120  8:00:00\t    40 Query\t".to_owned(),
                    _ => header,
                };
                let number = FIRST + place;
                log += &format!("{header}select {number},\n 'a\nb' from t{}", dialect.end());
            }
            let lines = || log.split_inclusive('\n');
            let each = |prefix: &str| lines().map(|line| format!("{prefix}{line}")).collect();
            let json = |key: &str| {
                lines()
                    .map(|line| {
                        format!("{{\"{key}\": {}}}\n", serde_json::to_string(line).unwrap())
                    })
                    .collect::<String>()
            };
            let around: [String; 6] = [
                log.replace('\n', "\r\n"),
                format!("\u{feff}{log}"),
                each("2026-11-20T08:00:01.000000000Z "),
                each("db-1  | "),
                json("message"),
                json("log"),
            ];
            std::fs::write(&path, &log).unwrap();
            let plain = import_all(std::slice::from_ref(&path), &output).unwrap();
            let lines = common::lines(&output);
            assert_eq!(plain.statements, 20, "{dialect:?}");
            assert!(plain.dropped.count(Cause::StrayLines) == 0);
            for text in around {
                std::fs::write(&path, &text).unwrap();
                import_all(std::slice::from_ref(&path), &output).unwrap();
                assert_eq!(common::lines(&output), lines, "{dialect:?}\n{text}");
            }
        }
    }
}
