use super::*;

use niagara_error::{Explain as _, Explanation};
use niagara_load::WorkloadSpec;
use niagara_model::{
    CheckOutcome, CheckPart, Comparison, DuelRecord, FailedSide, Failure, Finding, Goal, Reason,
    SliceRecord, StudyHeader, StudyRecord, Warning,
};
use niagara_stats::Verdict;
use serde_json::json;

use crate::asking::level_sets::{AxisRecipe, LevelRecipe};
use crate::asking::recipe::VariantRecipe;
use crate::plans::spec::Load;
use crate::studies::study::tests::{duel, variants};

const THREADS: u32 = 4;

/// One axis of four levels under one load; this part of it.
fn study(part: &[&str]) -> (StudyDescription, MatrixQuestion) {
    let level = |name: &str| LevelRecipe {
        name: name.to_owned(),
        recipe: VariantRecipe::default(),
        only: BTreeMap::new(),
    };
    let matrix = MatrixQuestion {
        start: Box::default(),
        axes: vec![AxisRecipe {
            name: "options".to_owned(),
            levels: ["O2", "O3", "LTO", "PGO"].map(level).to_vec(),
        }],
        all: true,
        beside: Vec::new(),
        part: part
            .iter()
            .map(|level| format!("options={level}").parse().expect("AXIS=LEVEL"))
            .collect(),
    };
    let load = Load {
        workload: WorkloadSpec::default(),
        engine: "InnoDB".to_owned(),
        threads: THREADS,
    };
    let question = Question::Matrix(matrix.clone());
    (StudyDescription::of("s".to_owned(), load, question), matrix)
}

fn comparison(ratio: f64, duels: usize, verdict: Option<Verdict>) -> Comparison {
    let judged = json!({
        "duels": duels,
        "verdict": verdict,
        "estimate": { "ratio": ratio, "low": ratio * 0.95, "high": ratio * 1.1 },
        "w": 1.0,
        "critical": null,
        "predictive_power": 0.0,
        "next_look": null,
        "alpha": 0.05,
    });
    serde_json::from_value(json!({
        "a": "a", "b": "b", "goal": "throughput", "throughput": judged,
        "cpu_per_transaction": null, "latency_p50": null, "latency_p95": null,
        "tps": [1.0, 1.0], "dropped": [0, 0], "couples": 1,
    }))
    .expect("a comparison")
}

/// A cell with this ratio by so many duels.
fn cell(title: &str, ratio: f64, duels: usize) -> Cell {
    Cell {
        levels: vec![1],
        title: title.to_owned(),
        workload: 0,
        threads: THREADS,
        trained: false,
        p_over_table: None,
        outcome: CellOutcome::Measured {
            comparison: Box::new(comparison(ratio, duels, Some(Verdict::Undetected))),
        },
    }
}

fn not_tried(title: &str, is_left: bool) -> Cell {
    Cell {
        outcome: CellOutcome::NotTried {
            reason: match is_left {
                true => Reason::TimeEnded,
                false => Reason::NoLoad,
            },
        },
        ..cell(title, 1.0, 8)
    }
}

fn confirmed(title: &str, verdict: Option<Verdict>) -> Confirmed {
    Confirmed {
        title: title.to_owned(),
        workload: 0,
        threads: THREADS,
        subject: String::new(),
        comparison: comparison(1.1, 8, verdict),
    }
}

fn summary(cells: Vec<Cell>, confirmed: Option<Confirmed>, complete: bool) -> MatrixSummary {
    MatrixSummary {
        header: StudyHeader {
            about: None,
            server: "s".to_owned(),
            server_version: String::new(),
            workload: "w".to_owned(),
            goal: Goal::Throughput,
            rate: None,
            protocol: "duel".to_owned(),
            seed: 1,
            alpha: 0.05,
            budget_seconds: Some(1.0),
            elapsed_seconds: 1.0,
            load_seconds: 1.0,
            complete,
            sd_duel: None,
            builds: Vec::new(),
            checks: Vec::new(),
            deployment: None,
            warnings: Vec::new(),
        },
        parts: vec![MeasuredPart {
            levels: None,
            started_unix_ms: 0,
            cells: 1,
            budget_seconds: 1.0,
            elapsed_seconds: 1.0,
        }],
        next_part: None,
        axes: Vec::new(),
        workloads: vec![MatrixWorkload {
            name: "w".to_owned(),
            one_line: "w".to_owned(),
            trained: false,
        }],
        threads: vec![THREADS],
        cells,
        confirmed,
        other_confirmations: Vec::new(),
        controls: Vec::new(),
    }
}

fn earlier(cells: Vec<Cell>, confirmed: Option<Confirmed>) -> Earlier {
    Earlier::of(summary(cells, confirmed, true), 0.025, Vec::new(), 6)
}

fn begun(part: &[&str], earlier: Earlier) -> PartOpening {
    let (study, matrix) = study(part);
    PartOpening::with(&study, &matrix, true, earlier, Vec::new())
}

fn rows(opening: &PartOpening) -> Vec<&str> {
    opening.rows.iter().map(String::as_str).collect()
}

fn command(levels: &[WantedLevel]) -> String {
    let levels: Vec<String> = levels.iter().map(WantedLevel::to_string).collect();
    format!("run {}", levels.join(" "))
}

#[test]
fn what_is_measured_is_not_set_up_again_but_for_the_best_that_is_to_be_confirmed() {
    let first = begun(&["O3"], Earlier::default());
    assert_eq!((rows(&first), first.adds), (vec!["O3", "baseline"], 1));
    let cells = || {
        vec![
            cell("O3", 1.1, 8),
            not_tried("LTO", true),
            not_tried("PGO", false),
        ]
    };
    // What could not be had is tried again where it is asked for.
    let second = begun(
        &["PGO", "O3"],
        earlier(cells(), Some(confirmed("O3", Some(Verdict::Undetected)))),
    );
    assert_eq!((rows(&second), second.adds), (vec!["PGO", "baseline"], 1));
    // There was no time to confirm the best.
    let second = begun(&["PGO"], earlier(cells(), None));
    assert_eq!(
        (rows(&second), second.adds),
        (vec!["O3", "PGO", "baseline"], 1)
    );
    let only = begun(&["O3"], earlier(cells(), None));
    assert!(!only.is_there());
    assert_eq!((rows(&only), only.adds), (vec!["O3", "baseline"], 0));
}

#[test]
fn whoever_asks_for_what_is_there_is_told_so_with_what_is_left() {
    let cells = vec![
        cell("O3", 1.1, 8),
        cell("LTO", 0.9, 8),
        not_tried("PGO", true),
    ];
    let there = begun(
        &["O3"],
        earlier(cells, Some(confirmed("O3", Some(Verdict::Faster)))),
    );
    assert!(there.is_there());
    let (study, matrix) = study(&["O3"]);
    let told = there.nothing_to_do(&matrix, &study, Path::new("there"), command);
    assert_eq!(
        Explanation::from(told).to_string(),
        "there has the one cell of this part of the matrix (options O2, O3); 2 of the 3 cells of the matrix are measured, 1 left\n\
         remedy: `run options=PGO` measures 1 of them; `niagara report there` shows what is there; to measure again, name \
         another folder with --out"
    );
}

#[test]
fn a_cell_within_which_a_part_ended_is_measured_anew() {
    let stopped = Cell {
        outcome: CellOutcome::Measured {
            comparison: Box::new(comparison(1.2, 8, None)),
        },
        ..cell("LTO", 1.0, 8)
    };
    let left = earlier(vec![cell("O3", 1.1, 8), stopped, cell("PGO", 1.5, 5)], None);
    for (title, is_known) in [("O3", true), ("LTO", false), ("PGO", false)] {
        assert_eq!(
            left.measured(title, (0, THREADS)).is_some(),
            is_known,
            "{title}"
        );
    }
    assert_eq!(begun(&[], left).adds, 2);
}

/// It is no matter of time: it is told as failed, with its reason, and tried again by whoever asks for it again.
#[test]
fn a_cell_that_a_side_ended_by_failing_was_not_cut_short() {
    let why = Failure {
        variant: "LTO".to_owned(),
        error: "signal 11".to_owned(),
    };
    let mut crashed = cell("LTO", 1.2, 3);
    let CellOutcome::Measured { comparison } = &mut crashed.outcome else {
        panic!("measured");
    };
    comparison.failed = Some(FailedSide {
        side: 1,
        failure: why.clone(),
    });
    assert!(is_cut_short(&cell("LTO", 1.2, 3), 6));
    assert!(!is_cut_short(&crashed, 6));
    let cells = vec![cell("O3", 1.1, 8), crashed, cell("PGO", 1.0, 8)];
    let (_, matrix) = study(&[]);
    assert_eq!(next_part(&matrix, &cells, 6, command), None);
    let left = earlier(cells, None);
    let kept = left.cells.iter().find(|cell| cell.title == "LTO");
    assert_eq!(kept.and_then(Cell::failure), Some(&why));
    assert_eq!(left.to_confirm(&[THREADS], 0.05), Some("O3"));
    assert_eq!(begun(&["LTO"], left.clone()).adds, 1);
    assert_eq!(begun(&["O3"], left).adds, 0);
}

#[test]
fn a_confirmation_that_was_not_brought_to_its_end_stands_for_nothing() {
    let of = |verdict, complete| {
        let summary = summary(
            vec![cell("O3", 1.1, 8)],
            Some(confirmed("O3", verdict)),
            complete,
        );
        Earlier::of(summary, 0.0, Vec::new(), 6)
    };
    assert_eq!(of(None, false).confirmed, None);
    for (verdict, complete) in [(Verdict::Faster, true), (Verdict::Undetected, false)] {
        let left = of(Some(verdict), complete);
        assert!(left.confirmed.is_some() && !left.is_unchecked);
    }
    // Of three duels it could not have called anything; where cells never can either, that is all there is.
    let why = || Failure {
        variant: "O3".to_owned(),
        error: "killed".to_owned(),
    };
    let mut few = confirmed("O3", Some(Verdict::Undetected));
    few.comparison.throughput.duels = 3;
    let mut crashed = few.clone();
    crashed.comparison.failed = Some(FailedSide {
        side: 1,
        failure: why(),
    });
    let tried = Earlier::of(summary(Vec::new(), Some(crashed), true), 0.0, Vec::new(), 6);
    assert!(tried.is_confirmed("O3", (0, THREADS)));
    for (fewest, stands) in [(6, false), (0, true)] {
        let summary = summary(Vec::new(), Some(few.clone()), true);
        let left = Earlier::of(summary, 0.0, Vec::new(), fewest);
        assert_eq!(left.confirmed.is_some(), stands);
    }
    // Nothing is left of the error probability: it would be judged by nothing.
    let mut spent = of(None, false);
    assert_eq!(spent.to_confirm(&[THREADS], 0.05), Some("O3"));
    spent.spent = 0.05;
    assert_eq!(spent.to_confirm(&[THREADS], 0.05), None);
}

/// It is as proven as before, and takes the place of an earlier one as before: nothing is spent on it again.
#[test]
fn what_was_proven_and_not_checked_is_checked_by_the_next_part() {
    let note = |check: BuildCheck| BuildNote {
        of: "best combination".to_owned(),
        recipe: "gcc".to_owned(),
        trained_on: Vec::new(),
        measured_on_training: false,
        releases: None,
        check,
    };
    let passed = FinalCheck {
        part: CheckPart::Answers,
        outcome: CheckOutcome::Passed {
            figures: Vec::new(),
        },
        limits: Vec::new(),
    };
    let unknown = || {
        note(BuildCheck::Unknown {
            undone: None,
            server: "PATH".to_owned(),
        })
    };
    let of = |verdict, checks: &[FinalCheck], builds: Vec<BuildNote>, complete| {
        let confirmed_one = Some(confirmed("O3", verdict));
        let mut summary = summary(vec![cell("O3", 1.1, 8)], confirmed_one, complete);
        summary.other_confirmations = vec![confirmed("LTO", Some(Verdict::Faster))];
        summary.header.checks = checks.to_vec();
        summary.header.builds = builds;
        Earlier::of(summary, 0.025, Vec::new(), 6)
    };
    let checked = std::slice::from_ref(&passed);
    // Stopped before its checks; and after them, its build could not be checked.
    for left in [
        of(Some(Verdict::Faster), &[], Vec::new(), false),
        of(Some(Verdict::Faster), checked, vec![unknown()], false),
    ] {
        assert!(left.is_unchecked && left.checks.is_empty());
        assert_eq!(left.to_check(), Some("O3"));
        assert_eq!(left.to_confirm(&[THREADS], 0.05), None);
        // Its servers are set up, whatever is asked for.
        let next = begun(&["O3"], left);
        assert!(!next.is_there());
        assert_eq!((rows(&next), next.adds), (vec!["O3", "baseline"], 0));
    }
    // Stopped within other cells, long after its checks; not proven at all.
    let built = note(BuildCheck::Passed { parts: Vec::new() });
    let left = of(Some(Verdict::Faster), checked, vec![built], false);
    assert!(!left.is_unchecked && left.checks.len() == 1);
    assert!(!of(Some(Verdict::Undetected), &[], Vec::new(), false).is_unchecked);
}

fn here(kernel: &str) -> HostIdentity {
    HostIdentity::Machine {
        cpu: "a CPU".to_owned(),
        cpus: 2,
        kernel: kernel.to_owned(),
        client: None,
    }
}

/// A duel of the confirmation of the first part.
fn confirming_duel(results: &Path) {
    let mut store = Store::open(results).expect("there");
    variants(&store);
    let duel = DuelRecord {
        phase: Phase::Total,
        score: Some(0.1),
        ..duel(0)
    };
    let slices: &[SliceRecord] = &[];
    store.add_duel(&duel, slices).expect("room");
}

#[test]
fn a_part_that_was_stopped_is_continued_by_its_own_command_alone() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let record = StudyRecord {
        kind: "matrix".into(),
        command: "niagara run".into(),
        key: "k".into(),
        seed: 5,
        started_unix_ms: 0,
        plan: json!({}),
        machine: json!({}),
        niagara_version: "0".into(),
    };
    let store = Store::create(&folder.path().join("results.db"), &record).expect("new");
    let (_, first) = study(&["O3"]);
    let keep = |event| store.add_event(0, &event).expect("room");
    let begun = begun(&["O3"], Earlier::default());
    let record = begun.record(&first, here("6.1"), BTreeMap::new());
    let used = json!({"elapsed_seconds": 0.0, "load_seconds": 0.0});
    keep(part_begun().event(json!({"duels": 0, "used": used})));
    keep(part_record().event(json!(record)));
    keep(checkpoint::told().event(json!([{"code": "stopped"}])));
    keep(checkpoint::confirmation().event(json!(0.025)));
    let next = |part: &[&str]| {
        let (study, matrix) = study(part);
        PartOpening::read(&study, &matrix, Some(&store)).expect("readable")
    };
    let sum_up = |complete: bool| {
        let cells = vec![
            cell("O3", 1.1, 8),
            not_tried("LTO", true),
            not_tried("PGO", true),
        ];
        let summary = summary(cells, None, complete);
        store
            .set_summary(&Summary::Matrix(Box::new(summary)))
            .expect("room");
    };
    // Stopped before anything was summed up, then after a cell.
    assert!(!next(&["O3"]).begins && next(&["LTO"]).begins);
    sum_up(false);
    let same = next(&["O3"]);
    assert_eq!((same.begins, same.earlier), (false, Earlier::default()));
    let other = next(&["LTO"]);
    assert!(other.begins);
    // The time ended before the first duel of its confirmation: that saw nothing.
    assert_eq!((other.earlier.spent, other.earlier.parts.len()), (0.0, 1));
    confirming_duel(&folder.path().join("results.db"));
    let later = next(&["LTO"]);
    assert_eq!(later.earlier.spent, 0.025);
    // What was chosen before is not what is there now.
    assert!(!other.is_still(&later).expect("JSON"));
    assert!(later.is_still(&next(&["LTO"])).expect("JSON"));
    assert!(!later.is_still(&next(&["O3"])).expect("JSON"));
    assert_eq!(other.earlier.warnings, [Warning::from(Finding::Stopped)]);
    sum_up(true);
    assert!(next(&["O3"]).begins);

    let folder = Path::new("there");
    assert!(other.check_place(folder, &here("6.1")).is_ok());
    let error = other
        .check_place(folder, &here("6.2"))
        .expect_err("another kernel");
    let error = error.explain().to_string();
    assert!(
        error.contains("kernel 6.1 then, 6.2 now") && error.contains("--out"),
        "{error}"
    );
    let error = other
        .check_place(folder, &HostIdentity::Nodes)
        .expect_err("nodes");
    assert!(
        error
            .explain()
            .to_string()
            .contains("on one machine then, on nodes"),
        "{error}"
    );
}

#[test]
fn parts_by_different_binaries_of_a_server_are_kept_apart() {
    let of = |baseline: &str, other: &str| {
        BTreeMap::from([
            ("s".to_owned(), baseline.to_owned()),
            (other.to_owned(), "x".to_owned()),
        ])
    };
    let (_, matrix) = study(&["O3"]);
    let mut opening = begun(&["LTO"], Earlier::default());
    opening.records = vec![opening.record(&matrix, here("6.1"), of("1", "s (O3)"))];
    assert!(
        opening
            .check_binaries(Path::new("there"), &of("1", "s (LTO)"))
            .is_ok()
    );
    let error = opening.check_binaries(Path::new("there"), &of("2", "s (LTO)"));
    let error = error.expect_err("rebuilt").explain().to_string();
    assert!(
        error.contains("another binary of s than") && error.contains("--out"),
        "{error}"
    );
}

#[test]
fn a_combination_is_confirmed_at_the_middle_of_the_thread_counts() {
    for (threads, middle) in [
        (&[32][..], 32),
        (&[8, 32], 32),
        (&[16, 32, 64, 128, 256], 64),
    ] {
        assert_eq!(confirming(&[], threads), (0, middle));
    }
}
