//! A goal of the user's choice, on real servers: a tail that throughput does not show, and CPU time per transaction.

mod common;

use common::{Place, SHORT_TUNING, item_workload, run};
use niagara_model::{CompareSummary, DuelRecord, Ending, Goal, Summary};
use niagara_stats::Verdict;
use niagara_store::Store;

/// One statement in 25 stalls for so many seconds where the server has a certain setting, which changes nothing else.
fn tail(seconds: f64) -> String {
    format!("IF(@@global.max_error_count = 65 AND RAND() < 0.04, SLEEP({seconds}), 0)")
}

fn compared(place: &Place, stall: f64, arguments: &[&str]) -> (CompareSummary, String) {
    let mut words = vec![
        "compare",
        "base",
        "cfg.max_error_count=65",
        "--workload",
        "tail.toml",
        "--warm-up",
        "200ms",
        "--couples",
        "6",
        "--max-duels",
        "7",
        "--budget",
        "4m",
        "--seed",
        "3",
        "--out",
        "study",
    ];
    words.extend(arguments);
    std::fs::write(
        place.folder.path().join("tail.toml"),
        item_workload(&tail(stall)),
    )
    .expect("a file");
    let (code, stdout, stderr) = run(&mut place.niagara(&words));
    assert_eq!(code, Some(0), "{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    match store.summary().expect("readable") {
        Some(Summary::Compare(compare)) => (*compare, stdout),
        other => panic!("a comparison, not {other:?}"),
    }
}

#[test]
fn a_planted_tail_is_found_at_a_fixed_rate() {
    let place = Place::new();
    // Far below what either side can do, so that the rate is served and only the tail differs; far above what a busy machine makes
    // a statement wait.
    let (compare, stdout) = compared(
        &place,
        0.1,
        &[
            "--goal",
            "p99",
            "--rate",
            "200",
            "--threads",
            "16",
            "--slice",
            "500ms",
        ],
    );
    let comparison = &compare.comparison;
    assert_eq!(comparison.goal, Goal::P99);
    let judged = comparison.judged();
    assert_eq!(judged.verdict, Some(Verdict::Slower), "{judged:?}");
    let tail = comparison.goal.figure(&judged.estimate);
    // How much larger depends on what else the machine does.
    assert!(tail.low > 1.0, "{tail:?}");
    // Equal rates: as many transactions on either side, but for chance. A busy machine may not serve the rate; but without one, the side
    // that stalls makes a tenth of the other's.
    let taken = comparison.taken.expect("it is metered");
    let throughput = comparison.throughput.estimate.ratio;
    let expected = match taken.iter().all(|share| *share < 0.1) {
        true => 0.9..1.1,
        false => 0.5..2.0,
    };
    assert!(expected.contains(&throughput), "{throughput}, {taken:?}");
    assert!(stdout.contains("99th percentile of latency"), "{stdout}");
}

#[test]
fn cpu_time_per_transaction_is_judged_and_throughput_stands_beside() {
    let place = Place::new();
    let (compare, stdout) = compared(
        &place,
        0.02,
        &["--goal", "cpu", "--threads", "4", "--slice", "200ms"],
    );
    let comparison = &compare.comparison;
    assert_eq!(comparison.goal, Goal::Cpu);
    assert!(comparison.on_goal.is_some() && comparison.judged().duels >= 6);
    // Sleeping costs throughput, and hardly any CPU.
    assert!(comparison.throughput.estimate.ratio < 0.9);
    assert!(comparison.judged().estimate.ratio > 0.5);
    assert!(stdout.contains("Server CPU per transaction"), "{stdout}");
}

/// By the protocol of 2008: five runs of each, the mean of the middle three, nothing that is judged.
#[test]
fn trimmed_series_end_with_runs_and_means() {
    let place = Place::new();
    let (compare, stdout) = compared(&place, 0.02, &["--protocol", "trimmed", "--slice", "200ms"]);
    assert_eq!(compare.comparison.throughput.verdict, None);
    let runs = compare.runs.expect("the runs");
    for (tps, mean) in runs.tps.iter().zip(runs.means()) {
        assert_eq!(tps.len(), 5, "{tps:?}");
        let worst = tps.iter().copied().fold(f64::INFINITY, f64::min);
        let best = tps.iter().copied().fold(0.0, f64::max);
        let middle = (tps.iter().sum::<f64>() - worst - best) / 3.0;
        assert!((mean - middle).abs() < 1e-9 * mean, "{mean} {tps:?}");
    }
    for word in ["run 5", "mean of the middle three", "without a verdict"] {
        assert!(stdout.contains(word), "{word}: {stdout}");
    }
    for word in ["undetected", "not judged", "× 1", "× 0"] {
        assert!(!stdout.contains(word), "{word}: {stdout}");
    }
}

#[test]
fn a_rate_without_a_latency_is_refused_with_the_remedy() {
    let place = Place::new();
    let (code, _, stderr) = run(&mut place.niagara(&["compare", "base", "base", "--rate", "100"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("remedy: --goal p99"), "{stderr}");
    let (code, _, stderr) =
        run(&mut place.niagara(&["tune", "mariadb-10.11", "--goal", "p99", "--rate", "120%"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("queue grows without end"), "{stderr}");
}

#[test]
fn a_tuning_has_room_for_its_connections() {
    let place = Place::new();
    // The server's own default is 151.
    let mut command = place.niagara(&[
        "tune",
        "mariadb-10.11",
        "--only",
        "transport-unix",
        "--threads",
        "170",
        "--table-size",
        "1000",
        "--budget",
        "1m",
        "--seed",
        "3",
        "--no-profile",
        "--out",
        "study",
    ]);
    let (code, _, stderr) = run(command.args(SHORT_TUNING));
    assert_eq!(code, Some(0), "{stderr}");
    let duels = place.duels();
    // Others may disturb a duel, and a lack of room makes it fail.
    let has_failed = |duel: &DuelRecord| matches!(duel.ending, Ending::Failed { .. });
    let failed = duels.iter().filter(|duel| has_failed(duel)).count();
    // How many the time is enough for is the machine's to say: one has all connections open.
    assert!(!duels.is_empty() && failed == 0, "{stderr}");
}
