//! The words of matrices and sweeps.

mod fixture;

use fixture::{html, markdown};
use niagara_model::{
    Cell, CellOutcome, Confirmed, Control, FailedSide, Failure, MatrixSummary, MatrixWorkload,
    MeasuredPart, MethodControl, NextPart, OnNodes, Reason, RungOutcome, Summary, Unevenness,
};
use niagara_report::{InWords, Report, headline};
use niagara_stats::Verdict;

fn report(summary: &Summary) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), summary, 2, 0.27);
    Report::load(&store).expect("just written")
}

fn page(summary: &Summary) -> String {
    markdown(&report(summary))
}

fn has(text: &str, words: &[&str]) {
    for words in words {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
}

#[test]
fn a_sweep_of_three_sets_each_beside_the_first_and_the_one_before() {
    let mut sweep = fixture::sweep_of_three();
    sweep.curves[0].points[0].unevenness = Some(Unevenness {
        transactions: Some(fixture::interval(0.05, 0.0, 0.12)),
        seconds: None,
    });
    sweep.curves[1].points[0].unevenness = Some(Unevenness {
        transactions: Some(fixture::interval(0.0, 0.0, 0.0)),
        seconds: Some(fixture::interval(0.0, 0.0, f64::INFINITY)),
    });
    let text = page(&Summary::Sweep(Box::new(sweep)));
    has(
        &text,
        &[
            "Variants over each other, round by round",
            "| built over packaged | 8 | × 1.100 [1.050, 1.150] | 3 |",
            "| patched over packaged | 8 | × 1.200 [1.120, 1.280] | 3 |",
            "| patched over built | 8 | × 1.090 [one round] | 1 |",
            "| packaged | 1 | 5.0 % [0, 12 %] | – |",
            "| built | 1 | 0.0 % [0, 0.0 %] | 0.0 % [one start] |",
            "threads fairness prints the same deviation, not divided by the mean. Means and 95 % intervals",
        ],
    );
}

#[test]
fn programs_have_codes_and_words() {
    let sweep = Summary::Sweep(Box::new(fixture::sweep_of_three()));
    let json = serde_json::to_value(&sweep).expect("JSON");
    let curve = &json["curves"][0];
    assert_eq!(curve["points"][0]["breakdown"]["bound"], "cpu");
    assert_eq!(curve["knee"]["held_back_by"], "cpu");
    let found = InWords::of(&sweep).expect("bounds");
    assert_eq!(found.bounds.len(), 15);
    let first = &found.bounds[0];
    assert_eq!((first.curve.as_str(), first.threads), ("packaged", 1));
    assert!(
        first.text.starts_with("the CPUs are used up: server 37 %"),
        "{first:?}"
    );
    assert!(found.checks.is_empty() && found.replay.is_none());
}

#[test]
fn a_curve_that_falls_is_said_to() {
    let mut sweep = fixture::sweep_of_three();
    let told =
        |sweep: &niagara_model::SweepSummary| headline(&Summary::Sweep(Box::new(sweep.clone())));
    assert!(!told(&sweep).contains("falls"), "{}", told(&sweep));
    let curve = &mut sweep.curves[0];
    let mut last = curve.points[curve.points.len() - 1].clone();
    let best = curve.knee.as_ref().map(|knee| knee.best_threads);
    let best = curve
        .points
        .iter()
        .find(|point| Some(point.threads) == best);
    last.tps.value = 0.4 * best.expect("it is among the points").tps.value;
    last.threads = 512;
    curve.points.push(last);
    has(
        &told(&sweep),
        &[
            ": built over packaged × 1.10 [1.05, 1.15] with 8 threads; patched over packaged × 1.20 [1.12, 1.28] with 8 threads; ",
            "packaged falls to 40 % of its best with 512 threads",
        ],
    );
    let mut most = sweep.by_round[0].clone();
    most.threads = 64;
    most.ratio.value = 1.31;
    sweep.by_round.push(most);
    has(
        &told(&sweep),
        &[
            ": built over packaged × 1.10 [1.05, 1.15] (8 threads) to × 1.31 [1.05, 1.15] (64); patched",
        ],
    );
    // Of one variant, or before any ratio was measured.
    sweep.by_round.clear();
    has(
        &told(&sweep),
        &[
            "and falls to 40 % of its best with 512 threads (",
            "built does most with 16 threads, the most that was measured",
        ],
    );
}

#[test]
fn a_ladder_says_what_its_intervals_cover() {
    let text = page(&Summary::Ladder(Box::new(fixture::ladder())));
    has(
        &text,
        &[
            "at 75 % confidence",
            "stopped before a verdict, n = 4",
            "the gain is at least the lower end with 99 % confidence, and lies between both ends with 98 %",
            "The total's interval is of 95 %, two-sided.",
        ],
    );
}

fn told(matrix: &MatrixSummary) -> String {
    headline(&Summary::Matrix(Box::new(matrix.clone())))
}

#[test]
fn a_matrix_of_a_part_tells_the_spread_and_what_was_not_measured() {
    let text = page(&Summary::Matrix(Box::new(fixture::matrix(0.99))));
    has(
        &text,
        &[
            "oltp_read_only: how far fresh starts lie apart",
            "| Combination | Threads | Baseline | Combination | Over the baseline's |",
            "| -O3 | 16 | 3.0 % [2.0 %, 6.0 %] | 1.2 % [0.8 %, 2.4 %] | × 0.40 [0.20, 0.80] |",
            "| PGO, oltp_read_only, 16 threads | not measured yet: in no part that was asked for |",
        ],
    );
    assert!(!text.contains("several machines"), "{text}");
    assert!(!text.contains("% confidence"), "{text}");
    // Of too few duels the interval is not what was asked for.
    let mut few = fixture::matrix(0.99);
    let CellOutcome::Measured { comparison } = &mut few.cells[0].outcome else {
        panic!("measured");
    };
    comparison.throughput.confidence = Some(0.5);
    has(
        &page(&Summary::Matrix(Box::new(few))),
        &["at 50 % confidence"],
    );
}

#[test]
fn cells_that_differ_over_the_table_have_two_marks() {
    let mut matrix = fixture::matrix(1.1);
    for (p, verdict, row) in [
        (None, Verdict::Faster, "| -O3 | × 1.10 [1.07, 1.13] ▲ |"),
        (
            Some(0.2),
            Verdict::Faster,
            "| -O3 | × 1.10 [1.07, 1.13] ▲ |",
        ),
        (
            Some(0.05),
            Verdict::Faster,
            "| -O3 | × 1.10 [1.07, 1.13] ▲▲ |",
        ),
        (
            Some(0.05),
            Verdict::Undetected,
            "| -O3 | × 1.10 [1.07, 1.13] |",
        ),
    ] {
        let cell = &mut matrix.cells[0];
        cell.p_over_table = p;
        let CellOutcome::Measured { comparison } = &mut cell.outcome else {
            panic!("measured");
        };
        comparison.throughput.verdict = Some(verdict);
        has(&page(&Summary::Matrix(Box::new(matrix.clone()))), &[row]);
    }
}

#[test]
fn combinations_trained_with_the_load_that_they_are_measured_with_are_marked() {
    let mut crossed = fixture::matrix(1.1);
    crossed.workloads.push(MatrixWorkload {
        name: "commit".into(),
        ..crossed.workloads[0].clone()
    });
    let of_commit = crossed.cells.clone().into_iter();
    let of_commit = of_commit.map(|cell| Cell {
        workload: 1,
        ..cell
    });
    crossed.cells.extend(of_commit);
    let words = |matrix: &MatrixSummary| page(&Summary::Matrix(Box::new(matrix.clone())));
    has(&words(&crossed), &["commit: throughput over the baseline"]);
    crossed.workloads[0].trained = true;
    // As a summary says it that is from before combinations were told apart, and where all of them were trained alike.
    let alike = [
        "oltp_read_only, trained on: throughput over the baseline",
        "commit, held out: throughput over the baseline",
        "| -O3 | × 1.10",
    ];
    has(&words(&crossed), &alike);
    let trained = |matrix: &mut MatrixSummary, which: &[usize]| {
        for (index, cell) in matrix.cells.iter_mut().enumerate() {
            cell.trained = which.contains(&index);
        }
    };
    trained(&mut crossed, &[0, 1, 2]);
    has(&words(&crossed), &alike);
    trained(&mut crossed, &[0]);
    let text = words(&crossed);
    has(
        &text,
        &[
            "oltp_read_only, not held out: throughput over the baseline",
            "| -O3, trained with it | × 1.10",
            "| the package | × 1.40",
        ],
    );
    assert_eq!(text.matches("trained with it").count(), 1, "{text}");
    has(
        &html(&report(&Summary::Matrix(Box::new(crossed)))),
        &["oltp_read_only, not held out", "-O3, trained with it, 16"],
    );
}

#[test]
fn the_spread_of_several_machines_is_not_told_of_either_side() {
    let mut several = fixture::matrix(0.99);
    let CellOutcome::Measured { comparison } = &mut several.cells[0].outcome else {
        panic!("measured");
    };
    comparison.nodes = Some(OnNodes {
        names: vec!["n1".into(), "n2".into()],
        heterogeneity: None,
    });
    let text = page(&Summary::Matrix(Box::new(several)));
    has(
        &text,
        &[
            "| -O3 | 16 | – | – | × 0.40 [0.20, 0.80] |",
            "| the package | 16 | 3.0 % [2.0 %, 6.0 %] |",
            "starts were on several machines",
        ],
    );
    // Where the two are not alive together, the columns would say what they do not mean.
    let mut pairs = fixture::matrix(0.99);
    pairs.header.protocol = "pair".into();
    let text = page(&Summary::Matrix(Box::new(pairs)));
    assert!(!text.contains("lie apart"), "{text}");
}

#[test]
fn the_headline_of_a_matrix_says_how_far_it_came() {
    let part = fixture::matrix(0.99);
    assert_eq!(
        told(&part),
        "mariadb-10.11: none of the combinations measured was better on the whole than the baseline (2 of 3 cells measured)"
    );
    let mut whole = part.clone();
    whole.cells.remove(1);
    has(
        &told(&whole),
        &["no combination was better on the whole than the baseline (2 of 2 cells measured)"],
    );
    let mut stopped = part.clone();
    stopped.header.complete = false;
    has(
        &told(&stopped),
        &["2 of 3 cells measured, nothing confirmed yet"],
    );
    let mut beside = part;
    beside.cells.remove(0);
    has(
        &told(&beside),
        &["no combination was measured in all of its cells (1 of 2 cells measured)"],
    );
    has(
        &told(&fixture::matrix(1.1)),
        &["-O3 looked best, and could not be confirmed"],
    );
}

#[test]
fn a_matrix_in_parts_tells_them_what_each_confirmed_and_what_comes_next() {
    let mut whole = fixture::matrix(1.1);
    let part = |levels: Option<&str>, cells: usize| MeasuredPart {
        levels: levels.map(str::to_owned),
        started_unix_ms: 0,
        cells,
        budget_seconds: 3600.0,
        elapsed_seconds: 60.0,
    };
    whole.parts = vec![part(Some("options -O2, -O3"), 2)];
    whole.next_part = Some(NextPart {
        command: "niagara run x.toml --level options=PGO".into(),
        cells: 1,
        left: 1,
    });
    let words = |matrix: &MatrixSummary| page(&Summary::Matrix(Box::new(matrix.clone())));
    let first = words(&whole);
    has(
        &first,
        &[
            "1 cell is left; to measure more, into this report: niagara run x.toml --level options=PGO",
        ],
    );
    assert!(
        !first.contains("Parts") && !first.contains("Confirmations"),
        "{first}"
    );

    whole.parts.push(part(None, 1));
    whole.next_part = None;
    whole.threads.push(32);
    whole.cells.push(Cell {
        threads: 32,
        ..whole.cells[1].clone()
    });
    let confirmed = |title: &str, alpha: f64, verdict| {
        let estimate = fixture::estimate(1.1, 1.05, 1.15);
        let mut comparison = fixture::claim("base", title, 8, verdict, estimate);
        comparison.throughput.alpha = alpha;
        Confirmed {
            title: title.into(),
            workload: 0,
            threads: 16,
            subject: String::new(),
            comparison,
        }
    };
    whole.confirmed = Some(confirmed("PGO", 0.025, Verdict::Faster));
    whole.other_confirmations = vec![confirmed("-O3", 0.0125, Verdict::Undetected)];
    let control = |part: usize| MethodControl {
        control: Control::Negative,
        title: "Nothing".into(),
        comparison: None,
        reason: None,
        part: Some(part),
    };
    whole.controls = vec![control(1), control(2)];
    has(
        &words(&whole),
        &[
            "## Parts",
            "| options -O2, -O3 | 2 |",
            "| all | 1 |",
            "## Confirmations",
            "| -O3 | oltp_read_only, 16 threads | × 1.10 [1.05, 1.15] | 0.0125 |",
            "negative control, part 2: Nothing",
            "| PGO, all 2 cells | not measured yet: in no part that was asked for |",
        ],
    );
    // By its cells another one looks better, which was not confirmed.
    has(
        &told(&whole),
        &["the best combination that was confirmed, PGO, is "],
    );
}

/// A combination that crashed after some duels failed: it was neither cut short nor merely undetected.
#[test]
fn a_side_that_failed_is_told_as_failed_with_its_reason() {
    let mut part = fixture::matrix(1.1);
    let failed = FailedSide {
        side: 1,
        failure: Failure {
            variant: "base + O3".into(),
            error: "signal 11".into(),
        },
    };
    let CellOutcome::Measured { comparison } = &mut part.cells[0].outcome else {
        panic!("measured");
    };
    comparison.failed = Some(failed.clone());
    comparison.throughput.duels = 3;
    comparison.throughput.confidence = Some(0.75);
    part.cells[1].outcome = CellOutcome::NotTried {
        reason: Reason::SideFailed(Failure {
            variant: "base + PGO".into(),
            error: "no such library".into(),
        }),
    };
    has(
        &page(&Summary::Matrix(Box::new(part.clone()))),
        &[
            "## Failed, or not measured",
            "| -O3 | failed; × 1.10 [1.07, 1.13] at 75 % confidence |",
            "| PGO | failed |",
            "| -O3, oltp_read_only, 16 threads | base + O3 could not be measured: signal 11 |",
            "| PGO, oltp_read_only, 16 threads | base + PGO could not be measured: no such library |",
        ],
    );
    assert_eq!(
        told(&part),
        "mariadb-10.11: no combination was measured in all of its cells (1 of 3 cells measured, 2 failed)"
    );
    let mut climbed = fixture::ladder();
    let RungOutcome::NotKept { claim } = &mut climbed.rungs[1].outcome else {
        panic!("not kept");
    };
    claim.failed = Some(failed.clone());
    has(
        &page(&Summary::Ladder(Box::new(climbed))),
        &[
            "not kept: failed, n = ",
            "Failed: base + O3 could not be measured: signal 11",
        ],
    );
    let mut compare = fixture::compare();
    compare.comparison.failed = Some(failed);
    has(
        &headline(&Summary::Compare(Box::new(compare))),
        &[
            "base + O3 could not be measured: signal 11 for oltp_read_write, 64 threads (32 fresh duels counted)",
        ],
    );
}
