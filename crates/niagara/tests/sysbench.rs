//! `niagara sysbench` beside sysbench itself, on a real server: one is put in the other's place.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::existing::Existing;
use common::run;
use niagara_server::RunningServer;
use nix::sys::signal::Signal;
use regex::Regex;

/// The two programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Sysbench,
    Niagara,
}

const BOTH: [Tool; 2] = [Tool::Sysbench, Tool::Niagara];

impl Tool {
    fn command(self) -> Command {
        let mut command = match self {
            Tool::Sysbench => Command::new("sysbench"),
            Tool::Niagara => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_niagara"));
                command.arg("sysbench");
                command
            }
        };
        command.stdin(Stdio::null());
        command
    }

    /// Runs with words; exit code, standard output, standard error.
    fn run(self, words: &[&str]) -> (Option<i32>, String, String) {
        if self == Tool::Sysbench {
            let there = Command::new("sysbench").arg("--version").output();
            assert!(
                there.is_ok(),
                "these tests compare with sysbench: `scripts/setup test` installs it"
            );
        }
        run(self.command().args(words))
    }
}

/// A private server with an empty database.
struct Bench {
    server: RunningServer,
    folder: tempfile::TempDir,
}

const MARIADB: &str = "mariadb-10.11";
const FAMILIES: [&str; 2] = [MARIADB, "mysql-9.7"];

impl Bench {
    fn new() -> Bench {
        Self::on(MARIADB, &[])
    }

    /// A server of this name, with these variables beside its memory's size.
    fn on(name: &str, variables: &[(&str, &str)]) -> Bench {
        let memory = [("innodb_buffer_pool_size", "64M")];
        let Existing { server, place } = Existing::start(name, &[&memory, variables].concat());
        server
            .query("CREATE DATABASE IF NOT EXISTS sbtest")
            .expect("a database");
        Bench {
            server,
            folder: place.folder,
        }
    }

    /// The options that lead to the server.
    fn way(&self) -> Vec<String> {
        vec![
            format!("--mysql-socket={}", self.server.socket().display()),
            format!("--mysql-user={}", self.server.user()),
            format!("--mysql-password={}", self.server.password()),
        ]
    }

    fn command(&self, tool: Tool, words: &str) -> Command {
        let mut command = tool.command();
        command.args(words.split_whitespace()).args(self.way());
        command
    }

    fn run(&self, tool: Tool, words: &str) -> (Option<i32>, String, String) {
        let way = self.way();
        let mut all: Vec<&str> = words.split_whitespace().collect();
        all.extend(way.iter().map(String::as_str));
        tool.run(&all)
    }

    /// The same, and it has to end well; standard output.
    fn succeed(&self, tool: Tool, words: &str) -> String {
        let (code, stdout, stderr) = self.run(tool, words);
        assert_eq!(code, Some(0), "{tool:?} {words}:\n{stdout}{stderr}");
        stdout
    }

    /// The tables as the server describes them, and their rows.
    fn tables(&self) -> BTreeMap<String, (String, u64)> {
        let names = self
            .server
            .query("SHOW TABLES FROM sbtest")
            .expect("a query");
        names
            .into_iter()
            .flatten()
            .map(|name| {
                let described = self
                    .server
                    .query(&format!("SHOW CREATE TABLE sbtest.{name}"))
                    .expect("a query");
                let rows = self
                    .server
                    .query(&format!("SELECT COUNT(*) FROM sbtest.{name}"))
                    .expect("a query");
                // The next number depends on how inserts were cut into statements.
                let next = Regex::new(" AUTO_INCREMENT=[0-9]+").expect("a pattern");
                let described = next.replace(&described[0][1], "").into_owned();
                (name, (described, rows[0][0].parse().expect("a number")))
            })
            .collect()
    }
}

#[test]
fn what_one_prepares_the_other_runs_on_and_cleans_up() {
    for name in FAMILIES {
        what_one_prepares_the_other_runs_on(&Bench::on(name, &[]));
    }
}

fn what_one_prepares_the_other_runs_on(bench: &Bench) {
    let mut schemas = Vec::new();
    for (one, other) in [
        (Tool::Sysbench, Tool::Niagara),
        (Tool::Niagara, Tool::Sysbench),
    ] {
        let tables = "oltp_read_write --tables=2 --table-size=1500 --threads=2";
        bench.succeed(one, &format!("{tables} prepare"));
        let prepared = bench.tables();
        assert_eq!(prepared.len(), 2, "{prepared:?}");
        assert!(prepared.values().all(|(_, rows)| *rows == 1500));
        bench.succeed(other, &format!("{tables} prewarm"));
        let report = bench.succeed(other, &format!("{tables} --events=200 --time=0 run"));
        assert_eq!(figures(&report)["events"], 200.0, "{report}");
        // A row is deleted and inserted again.
        assert!(bench.tables().values().all(|(_, rows)| *rows == 1500));
        schemas.push(prepared);
        bench.succeed(other, &format!("{tables} cleanup"));
        assert!(bench.tables().is_empty());
    }
    assert_eq!(schemas[0], schemas[1]);
}

#[test]
fn other_ways_to_make_tables_are_the_same_too() {
    let bench = Bench::new();
    for words in [
        "oltp_insert --table-size=700 --auto-inc=off",
        "oltp_read_only --table_size=700 --secondary=on --create-secondary=false",
        "oltp_read_only --table_size=70 --mysql-storage-engine=aria",
        "select_random_points --table-size=700 --random-points=3",
        "bulk_insert --threads=3",
    ] {
        let made = BOTH.map(|tool| {
            bench.succeed(tool, &format!("{words} prepare"));
            let made = bench.tables();
            bench.succeed(tool, &format!("{words} cleanup"));
            made
        });
        assert!(!made[0].is_empty());
        assert_eq!(made[0], made[1], "{words}");
    }
}

/// What parsers look for, by the patterns they look with.
fn figures(report: &str) -> BTreeMap<&'static str, f64> {
    [
        ("read", r"(?m)^ +read: +(\d+)$"),
        ("write", r"(?m)^ +write: +(\d+)$"),
        ("other", r"(?m)^ +other: +(\d+)$"),
        ("total", r"(?m)^ +total: +(\d+)$"),
        (
            "transactions",
            r"transactions: +(\d+) +\([\d.]+ per sec\.\)",
        ),
        ("tps", r"transactions: +\d+ +\(([\d.]+) per sec\.\)"),
        ("queries", r"queries: +(\d+) +\([\d.]+ per sec\.\)"),
        ("qps", r"queries: +\d+ +\(([\d.]+) per sec\.\)"),
        ("errors", r"ignored errors: +(\d+) +\([\d.]+ per sec\.\)"),
        ("reconnects", r"reconnects: +(\d+) +\([\d.]+ per sec\.\)"),
        ("time", r"total time: +([\d.]+)s"),
        ("events", r"total number of events: +(\d+)"),
        ("min", r"(?m)^ +min: +([\d.]+)$"),
        ("avg", r"(?m)^ +avg: +([\d.]+)$"),
        ("max", r"(?m)^ +max: +([\d.]+)$"),
        ("percentile", r"(?m)^ +\d+th percentile: +([\d.]+)$"),
        ("sum", r"(?m)^ +sum: +([\d.]+)$"),
        ("events_avg", r"events \(avg/stddev\): +([\d.]+)/[\d.]+"),
        (
            "time_avg",
            r"execution time \(avg/stddev\): +([\d.]+)/[\d.]+",
        ),
    ]
    .into_iter()
    .map(|(name, pattern)| {
        let found = Regex::new(pattern)
            .expect("a pattern")
            .captures(report)
            .unwrap_or_else(|| panic!("no {name} in\n{report}"));
        (name, found[1].parse().expect("a number"))
    })
    .collect()
}

/// A report without what differs from run to run: numbers are a `#`, with the spaces that pad them.
fn shape(report: &str) -> Vec<String> {
    let number = Regex::new(r" *\d+(\.(\d+))?( +\()?").expect("a pattern");
    report
        .lines()
        .map(|line| {
            number
                .replace_all(line, |found: &regex::Captures<'_>| {
                    // How many decimals there are is part of the shape.
                    let decimals = found.get(2).map_or(0, |decimals| decimals.len());
                    format!(
                        "#{decimals}{}",
                        if found.get(3).is_some() { "(" } else { "" }
                    )
                })
                .into_owned()
        })
        .collect()
}

#[test]
fn one_set_of_patterns_reads_both_reports() {
    let bench = Bench::new();
    bench.succeed(
        Tool::Niagara,
        "oltp_read_write --tables=2 --table-size=2000 prepare",
    );
    let outputs = BOTH.map(|tool| {
        bench.succeed(
            tool,
            "oltp_read_write --tables=2 --table-size=2000 --threads=4 --time=3 --report-interval=1 \
             --percentile=99 --rand-type=uniform run",
        )
    });
    let line = Regex::new(
        r"^\[ (\d+)s \] thds: (\d+) tps: ([\d.]+) qps: ([\d.]+) \(r/w/o: ([\d.]+)/([\d.]+)/([\d.]+)\) lat \(ms,(\d+)%\): ([\d.]+) err/s: ([\d.]+) reconn/s: ([\d.]+)$",
    )
    .expect("a pattern");
    for output in &outputs {
        let seconds: Vec<String> = output
            .lines()
            .filter_map(|text| line.captures(text))
            .map(|found| {
                // A line that comes as the run ends counts the threads that have not ended yet.
                let (second, threads, percentile) = (&found[1], &found[2], &found[8]);
                assert!(second == "3" || threads == "4", "{found:?}");
                assert_eq!(percentile, "99");
                let number = |index: usize| found[index].parse::<f64>().expect("a number");
                let parts = number(5) + number(6) + number(7);
                assert!((parts - number(4)).abs() < 0.05, "{found:?}");
                assert!(number(3) > 0.0 && number(9) > 0.0, "{found:?}");
                found[1].to_owned()
            })
            .collect();
        assert!(seconds.starts_with(&["1".into(), "2".into()]), "{output}");
        let found = figures(output);
        assert_eq!(found["transactions"], found["events"]);
        assert_eq!(found["queries"], found["total"]);
        assert_eq!(
            found["read"] + found["write"] + found["other"],
            found["total"]
        );
        assert!(
            (found["tps"] * found["time"] / found["events"] - 1.0).abs() < 0.01,
            "{output}"
        );
        assert!(
            (found["events_avg"] * 4.0 - found["events"]).abs() < 0.01,
            "{output}"
        );
        assert!(
            (found["sum"] / 4000.0 / found["time_avg"] - 1.0).abs() < 0.01,
            "{output}"
        );
        assert!(
            (found["avg"] * found["events"] / found["sum"] - 1.0).abs() < 0.01,
            "{output}"
        );
        assert!(found["min"] <= found["avg"] && found["avg"] <= found["max"]);
        assert!(found["percentile"] <= found["max"] * 1.02, "{output}");
        assert!((3.0..4.0).contains(&found["time"]), "{output}");
    }
    // From where the load begins, without the intermediate lines (the last one may come or not): the same lines.
    let [sysbench, niagara] = outputs.map(|output| {
        let from = output
            .find("Running the test")
            .unwrap_or_else(|| panic!("no beginning in\n{output}"));
        let lines: Vec<&str> = output[from..]
            .lines()
            .filter(|text| !text.starts_with("[ "))
            .collect();
        shape(&lines.join("\n"))
    });
    assert_eq!(sysbench, niagara);
}

#[test]
fn statements_are_counted_as_sysbench_counts_them() {
    for name in FAMILIES {
        statements_are_counted_on(&Bench::on(name, &[]));
    }
}

fn statements_are_counted_on(bench: &Bench) {
    bench.succeed(Tool::Sysbench, "oltp_read_write --table-size=3000 prepare");
    for test in [
        "oltp_read_write",
        "oltp_read_only",
        "oltp_point_select",
        "oltp_write_only",
        "oltp_update_index",
        "oltp_read_write --skip-trx=on --point-selects=3",
        "oltp_read_only --range-selects=off",
    ] {
        let [sysbench, niagara] = BOTH.map(|tool| {
            let found = figures(&bench.succeed(
                tool,
                // One connection deadlocks with nobody.
                &format!("{test} --table-size=3000 --events=60 --time=60 --threads=1 run"),
            ));
            [
                "events",
                "read",
                "write",
                "other",
                "total",
                "errors",
                "reconnects",
            ]
            .map(|name| found[name])
        });
        assert_eq!(sysbench, niagara, "{test}");
    }
    // Deletes that find no row are "other": of two rows at most two can be found.
    for tool in BOTH {
        bench.succeed(tool, "oltp_delete cleanup");
        bench.succeed(tool, "oltp_delete --table-size=2 prepare");
        let found = figures(&bench.succeed(
            tool,
            "oltp_delete --table-size=2 --events=40 --time=60 --threads=1 run",
        ));
        assert_eq!(found["write"] + found["other"], 40.0, "{tool:?} {found:?}");
        assert!((1.0..=2.0).contains(&found["write"]), "{tool:?} {found:?}");
    }
}

#[test]
fn encrypted_connections_and_lists_of_servers() {
    // MySQL makes itself a certificate; MariaDB is given one.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let file = |name: &str, text: String| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let certificate = file("cert.pem", made.cert.pem());
    let key = file("key.pem", made.signing_key.serialize_pem());
    let stranger = rcgen::generate_simple_self_signed(["other".to_owned()]).expect("a certificate");
    let stranger = file("stranger.pem", stranger.cert.pem());
    for name in FAMILIES {
        let given = [("ssl_cert", certificate.as_str()), ("ssl_key", &key)];
        let bench = Bench::on(name, if name == MARIADB { &given } else { &[] });
        bench.succeed(Tool::Niagara, "oltp_point_select --table-size=100 prepare");
        let accepted = || -> u64 {
            let rows = bench
                .server
                .query("SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")
                .expect("a query");
            rows[0][1].parse().expect("a number")
        };
        let by_tcp = |words: &str| {
            let way = [
                "--mysql-host=127.0.0.1,127.0.0.1".to_owned(),
                format!("--mysql-port={}", bench.server.tcp().port()),
                format!("--mysql-user={}", bench.server.user()),
                format!("--mysql-password={}", bench.server.password()),
            ];
            let all = words
                .split_whitespace()
                .chain(way.iter().map(String::as_str));
            Tool::Niagara.run(&all.collect::<Vec<_>>())
        };
        let run = "oltp_point_select --table-size=100 --threads=4 --events=100";
        let before = accepted();
        let (code, stdout, stderr) = by_tcp(&format!("{run} --mysql-ssl=required run"));
        assert_eq!(code, Some(0), "{name}: {stdout}{stderr}");
        assert_eq!(figures(&stdout)["events"], 100.0, "{stdout}");
        assert!(accepted() >= before + 4, "{name}: not encrypted");
        // Somebody else's authority.
        let other = format!("{run} --mysql-ssl=on --mysql-ssl-ca={stranger} run");
        let (code, stdout, stderr) = by_tcp(&other);
        assert_eq!(code, Some(1), "{name}: {stdout}{stderr}");
        assert!(stdout.contains("FATAL: unable to connect"), "{stdout}");
    }

    // Connections go to the servers in turn.
    let benches = [Bench::new(), Bench::new()];
    let sockets = benches.each_ref().map(|bench| {
        bench.succeed(Tool::Niagara, "oltp_point_select --table-size=100 prepare");
        bench
            .server
            .query("CREATE USER pair@localhost")
            .expect("an account");
        bench
            .server
            .query("GRANT ALL ON sbtest.* TO pair@localhost")
            .expect("its rights");
        bench.server.socket().display().to_string()
    });
    let list = format!("--mysql-socket={}", sockets.join(","));
    for tool in BOTH {
        let selects = || {
            benches.each_ref().map(|bench| -> u64 {
                let rows = bench
                    .server
                    .query("SHOW GLOBAL STATUS LIKE 'Com_select'")
                    .expect("a query");
                rows[0][1].parse().expect("a number")
            })
        };
        let before = selects();
        let words = "oltp_point_select --table-size=100 --threads=4 --time=1 --mysql-user=pair run";
        let all: Vec<&str> = words.split_whitespace().chain([list.as_str()]).collect();
        let (code, stdout, stderr) = tool.run(&all);
        assert_eq!(code, Some(0), "{tool:?}: {stdout}{stderr}");
        let after = selects();
        assert!(
            before
                .iter()
                .zip(after)
                .all(|(&before, after)| after > before),
            "{tool:?}: {before:?} {after:?}"
        );
    }
}

#[test]
fn debug_says_what_each_connection_did() {
    let bench = Bench::new();
    bench.succeed(Tool::Niagara, "oltp_point_select --table-size=500 prepare");
    let [sysbench, niagara] = BOTH.map(|tool| {
        let output = bench.succeed(
            tool,
            "oltp_point_select --table-size=500 --threads=2 --time=1 --debug run",
        );
        let from = output.find("Running the test").expect("a beginning");
        let (begin, end) = output[from..]
            .split_once("Threads started!")
            .expect("a beginning and an end");
        // Threads start in any order.
        let mut begin = shape(begin);
        begin.sort();
        let from = end.find("SQL statistics").expect("a report");
        (begin, shape(&end[from..]))
    });
    assert_eq!(sysbench, niagara);
}

#[test]
fn the_histogram_holds_every_event() {
    let bench = Bench::new();
    bench.succeed(Tool::Niagara, "oltp_point_select --table-size=500 prepare");
    let line = Regex::new(r"^ +([\d.]+) \|(\*{0,40}) +(\d+)$").expect("a pattern");
    let outputs = BOTH.map(|tool| {
        bench.succeed(
            tool,
            "oltp_point_select --table-size=500 --events=500 --histogram=on run",
        )
    });
    let mut values = Vec::new();
    for output in &outputs {
        assert!(
            output.contains(
                "Latency histogram (values are in milliseconds)\n       value  ------------- distribution ------------- count\n"
            ),
            "{output}"
        );
        let buckets: Vec<(f64, usize, u64)> = output
            .lines()
            .filter_map(|text| line.captures(text))
            .map(|found| {
                (
                    found[1].parse().expect("a number"),
                    found[2].len(),
                    found[3].parse().expect("a number"),
                )
            })
            .collect();
        assert_eq!(
            buckets.iter().map(|bucket| bucket.2).sum::<u64>(),
            500,
            "{output}"
        );
        assert!(buckets.iter().any(|bucket| bucket.1 == 40), "{output}");
        values.push(buckets.iter().map(|bucket| bucket.0).collect::<Vec<_>>());
    }
    // All values are of one grid: the logarithms of two differ by a whole number of steps, to three decimals of the
    // value.
    let step = 1e8_f64.ln() / 1023.0;
    let first = values[0][0];
    for value in values.concat() {
        let steps = (value / first).ln() / step;
        let blur = 2.0 * 0.0005 / value.min(first) / step;
        assert!(
            (steps - steps.round()).abs() <= blur,
            "{value} beside {first}: {steps}"
        );
    }
}

#[test]
fn a_rate_is_kept_and_its_queue_shown() {
    let bench = Bench::new();
    bench.succeed(Tool::Niagara, "oltp_point_select --table-size=500 prepare");
    let queue = Regex::new(r"^\[ \d+s \] queue length: \d+, concurrency: \d+$").expect("a pattern");
    for tool in BOTH {
        let output = bench.succeed(
            tool,
            "oltp_point_select --table-size=500 --rate=200 --threads=4 --time=3 --report-interval=1 run",
        );
        assert!(
            output.contains("Target transaction rate: 200/sec\n"),
            "{output}"
        );
        assert!(
            output.lines().filter(|text| queue.is_match(text)).count() >= 2,
            "{output}"
        );
        // 600 events of a Poisson process, and six standard deviations of them.
        let events = figures(&output)["events"];
        assert!((events - 600.0).abs() < 6.0 * 600.0_f64.sqrt(), "{output}");
    }
}

#[test]
fn checkpoints_report_and_reset() {
    let bench = Bench::new();
    bench.succeed(Tool::Niagara, "oltp_point_select --table-size=500 prepare");
    for tool in BOTH {
        let output = bench.succeed(
            tool,
            "oltp_point_select --table-size=500 --threads=2 --time=3 --report-checkpoints=1,2 run",
        );
        assert!(
            output.contains("Report checkpoint(s) at 1, 2 seconds\n"),
            "{output}"
        );
        let parts: Vec<&str> = output.split("SQL statistics:").skip(1).collect();
        assert_eq!(parts.len(), 3, "{output}");
        for (part, time) in parts.iter().zip([1.0, 2.0, 3.0]) {
            let found = figures(part);
            assert!((found["time"] - time).abs() < 0.5, "{output}");
            // Each part has a second's events.
            assert!(
                (found["tps"] / found["events"] - 1.0).abs() < 0.5,
                "{output}"
            );
            assert!(
                (found["events_avg"] * 2.0 / found["events"] - 1.0).abs() < 0.05,
                "{output}"
            );
        }
        for second in ["[ 1s ] Checkpoint report:\n", "[ 2s ] Checkpoint report:\n"] {
            assert!(output.contains(second), "{output}");
        }
    }
}

#[test]
fn exit_codes_and_their_reasons_are_the_same() {
    let bench = Bench::new();
    let no_server = "oltp_read_only --mysql-host=127.0.0.1 --mysql-port=1 run";
    for (words, reason) in [
        (
            "oltp_read_only --no-such-option=1 run",
            "invalid option: --no-such-option=1",
        ),
        (
            "oltp_read_only --skip-trx=perhaps run",
            "invalid option: --skip-trx=perhaps",
        ),
        (
            "oltp_read_only --debug=perhaps run",
            "invalid option: --debug=perhaps",
        ),
        (
            "oltp_read_only --threads=four run",
            "Invalid value for the 'threads' option: 'four'",
        ),
        (
            "oltp_read_only --report-interval=1x run",
            "Invalid value for the 'report_interval' option: '1x'",
        ),
        (
            "oltp_read_only --threads=0 run",
            "Invalid value for --threads: 0.",
        ),
        (
            "oltp_read_only --percentile=101 run",
            "Invalid value for --percentile: 101",
        ),
        (
            "oltp_read_only --percentile=0 --histogram run",
            "--histogram cannot be used with --percentile=0",
        ),
        (
            "oltp_read_only --verbosity=6 run",
            "Invalid value for verbosity: 6",
        ),
        (
            "oltp_read_only --rand-type=normal run",
            "Invalid random numbers distribution: normal.",
        ),
        (
            "oltp_read_only --db-driver=oracle run",
            "invalid database driver name: 'oracle'",
        ),
        (
            "oltp_read_only --report-checkpoints=1,x run",
            "Invalid value for --report-checkpoints: 'x'",
        ),
        ("oltp_read_only", "Command is required"),
        ("oltp_read_only start", "Unknown command: start"),
        (
            "oltp_read_only run now",
            "Unrecognized command line argument: now",
        ),
        (
            "oltp run",
            "Cannot find benchmark 'oltp': no such built-in test, file or module",
        ),
        (
            "oltp_read_only --mysql-socket=/no/such run",
            "unable to connect to MySQL server on socket '/no/such', aborting...",
        ),
        (
            "oltp_read_only --mysql-socket=/no/such run",
            "error 2002: Can't connect to local server through socket '/no/such' (2)",
        ),
        (
            "oltp_read_only --mysql-socket=/no/such run",
            "FATAL: Thread initialization failed!",
        ),
        (
            "oltp_read_only --db-ps-mode=off --mysql-socket=/no/such run",
            "FATAL: Invalid value for db-ps-mode: off",
        ),
        (
            "oltp_read_only --mysql-socket=/no/such prepare",
            "unable to connect to MySQL server on socket '/no/such', aborting...",
        ),
        (
            no_server,
            "unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...",
        ),
    ] {
        for tool in BOTH {
            let words: Vec<&str> = words.split_whitespace().collect();
            let (code, stdout, stderr) = tool.run(&words);
            assert_eq!(code, Some(1), "{tool:?} {words:?}:\n{stdout}{stderr}");
            assert!(
                stdout.contains(reason) || stderr.contains(reason),
                "{tool:?} {words:?}: no {reason:?} in\n{stdout}{stderr}"
            );
            assert!(!stderr.contains("panicked"), "{stderr}");
        }
    }
    for (words, reason) in [
        // No tables were made.
        ("oltp_read_only run", "1146"),
        ("oltp_read_only --mysql-db=no_such run", "1049"),
        ("oltp_read_only --mysql-db=no_such prepare", "1049"),
        ("oltp_read_only --mysql-password=wrong run", "1045"),
    ] {
        for tool in BOTH {
            let mut all = bench.way();
            all.extend(words.split_whitespace().map(str::to_owned));
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let (code, stdout, stderr) = tool.run(&all);
            assert_eq!(code, Some(1), "{tool:?} {words}:\n{stdout}{stderr}");
            assert!(
                stdout
                    .lines()
                    .any(|line| line.starts_with("FATAL: ") && line.contains(reason)),
                "{tool:?} {words}: no {reason} in\n{stdout}{stderr}"
            );
        }
    }
    let mut helps = Vec::new();
    for tool in BOTH {
        for words in [
            &["--help"][..],
            &["--version"],
            &["oltp_read_only", "help"],
            &["oltp_read_only", "--threads=4", "help"],
        ] {
            let (code, stdout, stderr) = tool.run(words);
            assert_eq!(code, Some(0), "{tool:?} {words:?}:\n{stdout}{stderr}");
            assert!(!stdout.is_empty());
        }
        let version = tool.run(&["--version"]).1;
        assert!(version.starts_with("sysbench 1.0.20"), "{version}");
        // Drivers and the tests that are compiled in are each program's own.
        let help = tool.run(&["--help"]).1;
        let (before, after) = help
            .split_once("Compiled-in database drivers:")
            .expect("the drivers");
        let (_, after) = after.split_once("See 'sysbench").expect("the end");
        helps.push(format!("{before}{after}"));
    }
    // Programs read the help to learn what there is.
    assert_eq!(helps[0], helps[1]);
    // Tables that are there already.
    for tool in BOTH {
        bench.succeed(tool, "oltp_read_only --table-size=10 prepare");
        let (code, stdout, _) = bench.run(tool, "oltp_read_only --table-size=10 prepare");
        assert_eq!(code, Some(1), "{tool:?}:\n{stdout}");
        assert!(stdout.contains("1050"), "{tool:?}:\n{stdout}");
        bench.succeed(tool, "oltp_read_only cleanup");
    }
}

#[test]
fn every_option_of_sysbench_is_known() {
    let option = Regex::new(r"(?m)^  --([a-z_-]+)").expect("a pattern");
    let names = |tool: Tool, words: &[&str]| -> Vec<String> {
        let (_, stdout, _) = tool.run(words);
        option
            .captures_iter(&stdout)
            .map(|found| found[1].replace('-', "_"))
            .collect()
    };
    for words in [
        &["--help"][..],
        &["oltp_read_write", "help"],
        &["select_random_points", "help"],
        &["select_random_ranges", "help"],
    ] {
        let ours = names(Tool::Niagara, words);
        let theirs = names(Tool::Sysbench, words);
        assert!(theirs.len() > 10, "{theirs:?}");
        for name in theirs {
            // The other database's are recognised, and refused with a reason.
            assert!(
                ours.contains(&name) || name.starts_with("pgsql_"),
                "{words:?}: {name}"
            );
        }
    }
}

#[test]
fn unsupported_options_are_refused_with_the_reason() {
    for (words, reason) in [
        (
            "oltp_read_only --mysql-compression=on run",
            "compressed protocol",
        ),
        ("oltp_read_only --mysql-dry-run run", "what a script costs"),
        ("oltp_read_only --pgsql-host=x run", "MySQL family"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let (code, _, stderr) = Tool::Niagara.run(&words);
        assert_eq!(code, Some(1), "{words:?}: {stderr}");
        assert!(
            stderr.contains("is not supported") && stderr.contains(reason),
            "{words:?}: {stderr}"
        );
    }
}

#[test]
fn a_file_of_options() {
    let bench = Bench::new();
    let file = bench.folder.path().join("options");
    let mut text = bench.way().join("\n").replace("--", "");
    text += "\n# tables=9\nthreads=3\nevents = 30\ntable-size=200\n";
    std::fs::write(&file, text).expect("a file");
    let option = format!("--config-file={}", file.display());
    for command in ["prepare", "run", "cleanup"] {
        let (code, stdout, stderr) = Tool::Niagara.run(&["oltp_point_select", &option, command]);
        assert_eq!(code, Some(0), "{stdout}{stderr}");
        match command {
            "prepare" => assert_eq!(bench.tables()["sbtest1"].1, 200),
            "run" => {
                assert!(stdout.contains("Number of threads: 3\n"), "{stdout}");
                assert_eq!(figures(&stdout)["events"], 30.0);
            }
            _ => assert!(bench.tables().is_empty()),
        }
    }
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let bench = Bench::new();
    bench.succeed(Tool::Niagara, "oltp_point_select --table-size=500 prepare");
    let log = bench.folder.path().join("out");
    let mut child = bench
        .command(
            Tool::Niagara,
            "oltp_point_select --table-size=500 --threads=2 --time=300 --report-interval=1 run",
        )
        .stdout(std::fs::File::create(&log).expect("a file"))
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    wait_for(&log, "[ 1s ] thds: 2 ", &mut child);
    common::signal(child.id() as i32, Signal::SIGINT);
    let status = child.wait().expect("a child of ours");
    assert_eq!(status.code(), Some(130));
    let output = std::fs::read_to_string(&log).expect("a file");
    let found = figures(&output);
    assert!(found["events"] > 0.0 && found["time"] < 200.0, "{output}");
}

#[test]
fn a_forced_shutdown_reports_and_says_so() {
    let bench = Bench::new();
    bench.succeed(Tool::Niagara, "oltp_update_index --table-size=500 prepare");
    for tool in BOTH {
        let log = bench.folder.path().join("out");
        let mut child = bench
            .command(
                tool,
                "oltp_update_index --table-size=500 --threads=2 --time=3 --report-interval=1 --forced-shutdown=1 run",
            )
            .stdout(std::fs::File::create(&log).expect("a file"))
            .spawn()
            .expect("the tool starts");
        wait_for(&log, "[ 1s ] thds: 2 ", &mut child);
        // The connection of these queries holds the lock.
        bench
            .server
            .query("FLUSH TABLES WITH READ LOCK")
            .expect("a lock");
        let status = child.wait().expect("a child of ours");
        bench.server.query("UNLOCK TABLES").expect("no lock");
        let output = std::fs::read_to_string(&log).expect("a file");
        // Sysbench leaves while its threads are in a query, and now and then crashes over it, after its report.
        let crashed = tool == Tool::Sysbench && status.code().is_none();
        assert!(
            status.code() == Some(2) || crashed,
            "{tool:?}: {status}\n{output}"
        );
        assert!(
            output.contains("FATAL: The --max-time limit has expired, forcing shutdown..."),
            "{output}"
        );
        assert!(figures(&output)["events"] > 0.0, "{output}");
    }
}

/// Waits until a file has a text.
fn wait_for(file: &Path, text: &str, child: &mut std::process::Child) {
    let began = Instant::now();
    loop {
        let content = std::fs::read_to_string(file).unwrap_or_default();
        if content.contains(text) {
            return;
        }
        if let Some(status) = child.try_wait().expect("a child of ours") {
            panic!("it ended early, {status}:\n{content}");
        }
        if began.elapsed() > Duration::from_secs(60) {
            let _ = child.kill();
            let _ = child.wait();
            panic!("no {text:?} within a minute:\n{content}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}
