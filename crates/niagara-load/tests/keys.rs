//! The rows that sysbench draws and those that Niagara draws, for every distribution of sysbench 1.0.20. Zipf's, which
//! came after that release, is held to its exact probabilities by a unit test.

#![allow(clippy::unwrap_used)]

mod chi_square;
mod common;
mod sysbench_tool;

use chi_square::p_value;
use common::Server;
use mysql::prelude::Queryable;
use niagara_load::{
    Distribution, Driver, DriverOptions, SliceOptions, SysbenchTest, TableOptions, Workload,
    WorkloadBuilder, cleanup, prepare,
};
use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;
use sysbench_tool::{check_release, sysbench};

/// Both sides draw from fixed seeds, so the outcome is always the same; it must not be one in a million.
const SIGNIFICANCE: f64 = 1e-6;
const DRAWS: usize = 200_000;

/// What sysbench's default generator draws from `first` to `last`.
fn drawn_by_sysbench(options: &[&str], first: u32, last: u32) -> Vec<i32> {
    let mut script = tempfile::NamedTempFile::with_suffix(".lua").unwrap();
    write!(
        script,
        "function event()\n  for i = 1, {DRAWS} do\n    \
         io.write(sysbench.rand.default({first}, {last}), \"\\n\")\n  end\nend\n"
    )
    .unwrap();
    let mut arguments = vec![script.path().display().to_string()];
    arguments.extend(options.iter().map(|option| format!("--{option}")));
    arguments.extend(["--rand-seed=7", "--events=1", "--verbosity=0"].map(String::from));
    let drawn: Vec<i32> = sysbench(None, &arguments, "run")
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    assert_eq!(drawn.len(), DRAWS);
    drawn
}

/// What Niagara draws with the same options.
fn drawn_by_niagara(options: &[&str], first: u32, last: u32) -> Vec<i32> {
    distribution(options)
        .rows(first, last, 7)
        .take(DRAWS)
        .collect()
}

fn distribution(options: &[&str]) -> Distribution {
    let mut builder = WorkloadBuilder::new(SysbenchTest::OltpReadOnly);
    for option in options {
        let (name, value) = option.split_once('=').unwrap();
        assert!(builder.set(name, value).unwrap(), "{option}");
    }
    match builder.build().unwrap().workload {
        Workload::Sysbench(sysbench) => sysbench.distribution,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_distribution_is_that_of_sysbench() {
    check_release();
    for options in [
        &[][..],
        &["rand-type=uniform"],
        &["rand-type=gaussian"],
        &["rand-type=gaussian", "rand-spec-iter=2"],
        &["rand-type=special"],
        &[
            "rand-type=special",
            "rand-spec-iter=3",
            "rand-spec-pct=20",
            "rand-spec-res=40",
        ],
        &["rand-type=special", "rand-spec-res=100"],
        &["rand-type=special", "rand-spec-res=0"],
        &["rand-type=pareto"],
        &["rand-type=pareto", "rand-pareto-h=0.05"],
    ] {
        for (first, last) in [(1, 10_000), (1, 7), (333, 666)] {
            let p = p_value(
                &drawn_by_sysbench(options, first, last),
                &drawn_by_niagara(options, first, last),
            );
            println!("{options:?} from {first} to {last}: p = {p:.3}");
            assert!(
                p > SIGNIFICANCE,
                "{options:?} from {first} to {last}: p = {p}"
            );
        }
    }
}

/// Small differences in a parameter, or of one row, are found: the test above can fail.
#[test]
fn what_is_not_the_same_is_told_apart() {
    for (of_sysbench, of_niagara) in [
        ("rand-type=uniform", "rand-type=gaussian"),
        ("rand-spec-res=75", "rand-spec-res=72"),
        ("rand-spec-pct=1", "rand-spec-pct=2"),
        ("rand-pareto-h=0.2", "rand-pareto-h=0.22"),
    ] {
        let kind = if of_sysbench.contains("pareto") {
            "rand-type=pareto"
        } else {
            "rand-type=special"
        };
        let p = p_value(
            &drawn_by_sysbench(&[kind, of_sysbench], 1, 1000),
            &drawn_by_niagara(&[kind, of_niagara], 1, 1000),
        );
        println!("{of_sysbench}, {of_niagara}: p = {p:e}");
        assert!(p < SIGNIFICANCE, "{of_sysbench}, {of_niagara}: p = {p}");
    }
    let p = p_value(
        &drawn_by_sysbench(&["rand-type=uniform"], 1, 100),
        &drawn_by_niagara(&["rand-type=uniform"], 0, 99),
    );
    assert!(p < SIGNIFICANCE, "{p}");
}

/// The first keys of every connection's executed statements. The parts of the connections lie one after the other, so
/// the order of their means is the order of the connections, whichever was made first.
fn keys_in_the_log(server: &Server, kind: SysbenchTest) -> Vec<Vec<i32>> {
    let statements: Vec<(u64, String)> = server
        .root()
        .query(
            "SELECT thread_id, CONVERT(argument USING utf8mb4) FROM mysql.general_log \
             WHERE command_type = 'Execute' AND argument LIKE '%FROM sbtest1%'",
        )
        .unwrap();
    // The end of a range follows from its beginning.
    let each = if kind == SysbenchTest::SelectRandomRanges {
        2
    } else {
        1
    };
    let mut keys: BTreeMap<u64, Vec<i32>> = BTreeMap::new();
    for (connection, sql) in statements {
        let (_, condition) = sql.split_once("WHERE").unwrap();
        let numbers = condition
            .split(|letter: char| !letter.is_ascii_digit())
            .filter_map(|word| word.parse::<i32>().ok());
        keys.entry(connection)
            .or_default()
            .extend(numbers.step_by(each));
    }
    let mut keys: Vec<Vec<i32>> = keys.into_values().collect();
    let mean =
        |keys: &[i32]| keys.iter().map(|&key| f64::from(key)).sum::<f64>() / keys.len() as f64;
    keys.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    keys
}

/// The statements whose keys each connection takes from a part of its own, all the way to the server.
#[test]
fn the_parts_of_the_connections_are_those_of_sysbench() {
    check_release();
    let server = Server::start_with(&["--general-log=ON", "--log-output=TABLE"]);
    let mut root = server.root();
    for (kind, random) in [
        (SysbenchTest::SelectRandomPoints, "uniform"),
        (SysbenchTest::SelectRandomPoints, "pareto"),
        (SysbenchTest::SelectRandomRanges, "uniform"),
        (SysbenchTest::SelectRandomRanges, "special"),
        (SysbenchTest::OltpPointSelect, "pareto"),
    ] {
        let mut builder = WorkloadBuilder::new(kind);
        let mut arguments = vec![kind.to_string()];
        let rand_type = format!("rand-type={random}");
        let count = match kind {
            SysbenchTest::SelectRandomPoints => "random-points=50",
            SysbenchTest::SelectRandomRanges => "number-of-ranges=50",
            _ => "point-selects=10",
        };
        for option in ["table-size=1000", &rand_type, count] {
            arguments.push(format!("--{option}"));
            let (name, value) = option.split_once('=').unwrap();
            assert!(builder.set(name, value).unwrap());
        }
        let spec = builder.build().unwrap();
        prepare(&server.unix(), &spec, "innodb", &mut |_, _| {}).unwrap();

        root.query_drop("TRUNCATE mysql.general_log").unwrap();
        arguments.extend(["--threads=3", "--rand-seed=7", "--time=1"].map(String::from));
        sysbench(Some(&server.unix()), &arguments, "run");
        let theirs = keys_in_the_log(&server, kind);

        let options = DriverOptions {
            connections: 3,
            ..DriverOptions::default()
        };
        let mut driver = Driver::connect(&[server.unix()], &spec, &options).unwrap();
        root.query_drop("TRUNCATE mysql.general_log").unwrap();
        let slice = SliceOptions {
            duration: Duration::from_secs(1),
            ..SliceOptions::default()
        };
        driver.slice(0, &slice).unwrap();
        driver.disconnect();
        let ours = keys_in_the_log(&server, kind);

        assert_eq!((theirs.len(), ours.len()), (3, 3), "{kind}");
        for (theirs, ours) in theirs.iter().zip(&ours) {
            let draws = theirs.len().min(ours.len()).min(20_000);
            let p = p_value(&theirs[..draws], &ours[..draws]);
            println!("{kind} {random}: {draws} keys, p = {p:.3}");
            assert!(draws >= 500, "{kind}: only {draws} keys in a second");
            assert!(p > SIGNIFICANCE, "{kind} {random}: p = {p}");
        }
        cleanup(&server.unix(), &spec, &TableOptions::default(), &mut |_| {}).unwrap();
    }
}
