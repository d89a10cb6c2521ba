//! Studies from files, on real servers: a ladder, a sweep, one that is interrupted and continued.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{Place, run, signal};
use niagara_model::{CellOutcome, Event, Reason, RungOutcome, Summary};
use niagara_store::Store;
use nix::sys::signal::Signal;

/// What all of these studies share: seconds on any machine. Tests run side by side: each is the others' disturbance.
const SMALL: &str = r#"title = "t"
asked = "asked then"
changed = "changed since"
measured = "measured now"
duels = 2
couples = 2
slice = "100ms"
warm_up = "200ms"
disturbance = "100%"
budget = "4m"
seed = 3
[workload]
name = "oltp_point_select"
options = { table_size = 1000 }
"#;

fn file(place: &Place, kind: &str, top: &str, rest: &str) -> PathBuf {
    file_with(place, kind, top, &format!("{SMALL}{rest}"))
}

/// The same with another workload and its options.
fn file_of(place: &Place, kind: &str, top: &str, workload: &str, options: &str) -> PathBuf {
    let text = SMALL
        .replace("oltp_point_select", workload)
        .replace("table_size = 1000", options);
    file_with(place, kind, top, &text)
}

fn file_with(place: &Place, kind: &str, top: &str, rest: &str) -> PathBuf {
    let path = place.folder.path().join(format!("{kind}.toml"));
    let text = format!("kind = \"{kind}\"\n{top}\n{rest}\n");
    std::fs::write(&path, text).expect("written");
    path
}

fn study(place: &Place, file: &std::path::Path) -> Command {
    let mut command = place.niagara(&["run"]);
    command.arg(file).arg("--out").arg(place.out());
    command
}

fn summary(place: &Place) -> Summary {
    Store::open_read_only(&place.out().join("results.db"))
        .expect("results")
        .summary()
        .expect("readable")
        .expect("a summary")
}

fn report(place: &Place) -> String {
    std::fs::read_to_string(place.out().join("report.html")).expect("a report")
}

#[test]
fn a_ladder_continues_past_rungs_that_cannot_be_tried() {
    let place = Place::new();
    let rungs = r#"
[[rungs]]
title = "prefetch"
cannot = "the compiler does it"
published = "-0.47 %"
[[rungs]]
title = "Unix socket"
levers = ["transport=unix"]
[[rungs]]
title = "no such thing"
config = { innodb_no_such_variable = 1 }
[[rungs]]
title = "a build that fails"
build = { source = "tree" }
[[rungs]]
title = "a compiler that is not here"
build = { compiler = "gcc-99" }
"#;
    let tree = place.folder.path().join("tree");
    std::fs::create_dir(&tree).expect("room");
    for (file, text) in [
        (
            "VERSION",
            "MYSQL_VERSION_MAJOR=10\nMYSQL_VERSION_MINOR=11\nMYSQL_VERSION_PATCH=1\n",
        ),
        ("CMakeLists.txt", "message(FATAL_ERROR \"not today\")\n"),
    ] {
        std::fs::write(tree.join(file), text).expect("room");
    }
    let path = file(&place, "ladder", "threads = 2", rungs);
    let (code, stdout, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("Rung by rung"), "{stdout}");
    let Summary::Ladder(ladder) = summary(&place) else {
        panic!("a ladder");
    };
    assert!(ladder.header.complete);
    assert_eq!(ladder.rungs.len(), 5);
    let reason = |index: usize| match &ladder.rungs[index].outcome {
        RungOutcome::NotTried { reason } => reason.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(reason(0), "the compiler does it");
    assert!(
        reason(2).contains("innodb_no_such_variable"),
        "{}",
        reason(2)
    );
    // A machine without what building takes says that first.
    assert!(
        reason(3).contains("not today") || reason(3).contains("apt install"),
        "{}",
        reason(3)
    );
    assert!(reason(4).contains("gcc-99"), "{}", reason(4));
    let claim = ladder.rungs[1].claim().expect("measured");
    // Two duels prove nothing, and the ladder says so.
    assert_eq!(claim.throughput.duels, 2);
    assert!(
        ladder
            .header
            .warnings
            .iter()
            .any(|warning| warning.to_string().contains("prove nothing"))
    );
    let page = report(&place);
    for words in [
        "asked then",
        "changed since",
        "measured now",
        "-0.47 %",
        "the compiler does it",
    ] {
        assert!(page.contains(words), "no {words:?} in the report");
    }
    remove_builds_of(&place, &tree);
}

#[test]
fn a_rung_whose_build_takes_longer_than_there_is_time_for_is_left_out() {
    let place = Place::new();
    let rungs = r#"
[[rungs]]
title = "never built"
build = { flags = "-O1 -DTHIS_IS_NEVER_BUILT" }
[[rungs]]
title = "Unix socket"
levers = ["transport=unix"]
"#;
    let path = file(&place, "ladder", "threads = 2\ncontrols = false", rungs);
    let (code, _, stderr) = run(study(&place, &path).args(["--build-budget", "0m"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(report(&place).contains("--build-budget"));
    let Summary::Ladder(ladder) = summary(&place) else {
        panic!("a ladder");
    };
    let RungOutcome::NotTried { reason } = &ladder.rungs[0].outcome else {
        panic!("{:?}", ladder.rungs[0].outcome);
    };
    assert!(
        matches!(reason, Reason::BuildBudget { takes: Some(_), .. }),
        "{reason}"
    );
    ladder.rungs[1].claim().expect("measured");
    // What is nothing without its servers has no such time.
    let sides = "threads = 2\na = \"base\"\nb = \"transport=unix\"";
    let other = file(&place, "compare", sides, "");
    let (code, _, stderr) = run(study(&place, &other).args(["--build-budget", "1h"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("is for ladders"), "{stderr}");
}

/// Removes what failed builds of a tree left in the cache, which all tests share: a build that failed is kept to be continued.
fn remove_builds_of(place: &Place, tree: &Path) {
    let (code, stdout, stderr) = run(&mut place.niagara(&["server", "build", "list", "--json"]));
    assert_eq!(code, Some(0), "{stderr}");
    let builds: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let of_tree = builds["items"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|build| build["source"].as_str() == tree.to_str());
    for key in of_tree.filter_map(|build| build["key"].as_str()) {
        let (code, _, stderr) = run(&mut place.niagara(&["server", "build", "remove", key]));
        assert_eq!(code, Some(0), "{stderr}");
    }
}

#[test]
fn a_sweep_says_where_the_time_goes() {
    let place = Place::new();
    let mut command = place.niagara(&[
        "sweep",
        "base",
        "--threads",
        "1,2,4",
        "--workload",
        "oltp_point_select",
        "--table-size",
        "1000",
        "--starts",
        "2",
        "--couples",
        "2",
        "--slice",
        "150ms",
        "--warm-up",
        "200ms",
        "--disturbance",
        "100%",
        "--seed",
        "4",
        "--budget",
        "4m",
        "--out",
    ]);
    command.arg(place.out());
    let (code, stdout, stderr) = run(&mut command);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("throughput and latency"), "{stdout}");
    let Summary::Sweep(sweep) = summary(&place) else {
        panic!("a sweep");
    };
    assert!(sweep.header.complete && sweep.curves.len() == 1);
    let curve = &sweep.curves[0];
    let threads: Vec<u32> = curve.points.iter().map(|point| point.threads).collect();
    assert_eq!(threads, [1, 2, 4]);
    for point in &curve.points {
        assert_eq!(point.starts, 2);
        assert!(point.tps.low > 0.0 && point.tps.low <= point.tps.value);
        let breakdown = point.breakdown.as_ref().expect("counters");
        assert!(
            breakdown.server > 0.0 && breakdown.on_cpu > 0.0,
            "{breakdown:?}"
        );
        assert_eq!(breakdown.row_locks, Some(0.0), "nobody writes");
        assert_eq!(breakdown.threads, point.threads);
    }
    assert!(curve.law.is_some() && curve.knee.is_some());
    let page = report(&place);
    for words in ["Throughput over threads", "The scalability law"] {
        assert!(page.contains(words), "no {words:?} on the page");
    }
    let (code, markdown, _) = run(place
        .niagara(&["report", "--format", "markdown"])
        .arg(place.out()));
    assert_eq!(code, Some(0));
    assert!(markdown.contains("where the time goes"), "{markdown}");
    // What limits at the knee is in the results, so that every report made from them has it.
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let seen = niagara_report::diagnosed_profiles(&store).expect("readable");
    let knee = curve.knee.as_ref().map_or(0, |knee| knee.threads);
    assert_eq!(seen.len(), 1);
    assert!(
        seen[0]
            .subject
            .contains(&format!("at its knee, {knee} thread")),
        "{}",
        seen[0].subject
    );
    let heading = format!("What limits {} now", seen[0].subject);
    assert!(stdout.contains(&heading), "{stdout}");
    assert!(markdown.contains(&format!("## {heading}")), "{markdown}");
    assert!(report(&place).contains(&heading));
    assert!(sweep.header.elapsed_seconds < 1.2 * sweep.header.budget_seconds.expect("asked"));
}

#[test]
fn two_variants_of_a_sweep_meet_in_duels() {
    let place = Place::new();
    let path = file(
        &place,
        "sweep",
        "threads = [1, 2]\nsweep = [\"base\", \"transport=unix\"]",
        "",
    );
    let (code, _, stderr) = run(study(&place, &path).arg("--no-profile"));
    assert_eq!(code, Some(0), "{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let seen = niagara_report::diagnosed_profiles(&store).expect("readable");
    assert!(seen.is_empty(), "nobody was to look: {seen:?}");
    let Summary::Sweep(sweep) = summary(&place) else {
        panic!("a sweep");
    };
    assert_eq!(sweep.header.protocol, "duel");
    assert_eq!((sweep.curves.len(), sweep.ratios.len()), (2, 2));
    assert!(sweep.ratios.iter().all(|at| at.duels == 2));
    assert!(
        sweep.curves[1].law.is_none(),
        "two thread counts are no law"
    );
}

#[test]
fn several_variants_of_a_sweep_are_set_beside_each_other_round_by_round() {
    let place = Place::new();
    let path = file(
        &place,
        "sweep",
        "threads = [1, 4]\nsweep = [\"base\", \"transport=unix\", \"cfg.innodb_flush_neighbors=0\"]",
        "",
    );
    let (code, stdout, stderr) = run(study(&place, &path).arg("--no-profile"));
    assert_eq!(code, Some(0), "{stderr}");
    let Summary::Sweep(sweep) = summary(&place) else {
        panic!("a sweep");
    };
    assert!(sweep.ratios.is_empty(), "nobody met in duels");
    let pairs: Vec<(u32, usize, usize, u32)> = (sweep.by_round.iter())
        .map(|one| (one.threads, one.of, one.over, one.rounds))
        .collect();
    let both = [1, 4].map(|threads| [(1, 0), (2, 0), (2, 1)].map(|(a, b)| (threads, a, b, 2)));
    assert_eq!(pairs, both.concat());
    assert!(stdout.contains("round by round"), "{stdout}");
    for curve in &sweep.curves {
        let [alone, together] = curve.points.as_slice() else {
            panic!("two points");
        };
        assert_eq!(alone.unevenness, None, "one connection is served as itself");
        let unevenness = together.unevenness.as_ref().expect("four connections");
        let of_transactions = unevenness.transactions.expect("starts that tell it");
        assert!(of_transactions.value > 0.0, "{unevenness:?}");
    }
    assert!(report(&place).contains("Fairness"));
}

#[test]
fn engines_meet_in_duels() {
    let place = Place::new();
    let engines = "threads = 2\nsweep = [\"engine=Aria\", \"engine=MyISAM\"]";
    let path = file_of(
        &place,
        "sweep",
        engines,
        "oltp_read_write",
        "table_size = 1000",
    );
    let (code, _, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(0), "{stderr}");
    let Summary::Sweep(sweep) = summary(&place) else {
        panic!("a sweep");
    };
    for (curve, engine) in sweep.curves.iter().zip(["Aria", "MyISAM"]) {
        assert!(curve.label.contains(engine), "{}", curve.label);
        assert!(curve.points[0].tps.value > 0.0);
    }
    assert_eq!(sweep.ratios[0].duels, 2);
}

/// What a comparison kept of its plan: decisions, and of every duel its couples, seed and variants.
fn kept_plan(place: &Place) -> (Vec<String>, Vec<String>) {
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    let decisions = store.events().expect("readable").into_iter();
    let decisions = decisions.filter_map(|record| match record.event {
        Event::Decision { key, value } if key == "couples" || key.starts_with("looks ") => {
            Some(format!("{key} {value}"))
        }
        _ => None,
    });
    let duels = store.duels().expect("readable").into_iter();
    (
        decisions.collect(),
        duels
            .map(|duel| format!("{} {} {:?}", duel.couples, duel.seed, duel.variants))
            .collect(),
    )
}

#[test]
fn a_comparison_of_a_file_runs_as_the_same_one_of_the_command_line() {
    let of_file = Place::new();
    let sides = "a = \"base\"\nb = \"transport=unix\"\nthreads = 2";
    let path = file_of(
        &of_file,
        "compare",
        sides,
        "oltp_point_select",
        "table_size = 1000, tables = 1",
    );
    let text = std::fs::read_to_string(&path).expect("there");
    // Two duels fill the budget, so that it decides their couples.
    let text = text.replace("couples = 2\n", "").replace("4m", "20s");
    std::fs::write(&path, text).expect("written");
    let (code, _, stderr) = run(&mut study(&of_file, &path));
    assert_eq!(code, Some(0), "{stderr}");
    let typed = Place::new();
    let line = "compare base transport=unix --threads 2 --workload oltp_point_select --table-size 1000 --tables 1 \
                --max-duels 2 --slice 100ms --warm-up 200ms --disturbance 100% --budget 20s --seed 3 --out";
    let words: Vec<&str> = line.split_whitespace().collect();
    let (code, _, stderr) = run(typed.niagara(&words).arg(typed.out()));
    assert_eq!(code, Some(0), "{stderr}");
    let [one, other] = [&of_file, &typed].map(kept_plan);
    assert_eq!(one.0.len(), 2, "couples and looks: {:?}", one.0);
    assert_eq!(one.0, other.0);
    // A busy machine may have time for one of the two.
    let both = one.1.len().min(other.1.len()).min(2);
    assert!(both > 0, "{:?} {:?}", one.1, other.1);
    assert_eq!(one.1[..both], other.1[..both]);
    let key = |place: &Place| {
        let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
        store.study().expect("begun").key
    };
    assert_eq!(key(&of_file), key(&typed));
}

#[test]
fn a_study_takes_a_workload_that_stands_beside_it() {
    let place = Place::new();
    let shop = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/shop.toml");
    let kept = place.folder.path().join("loads");
    std::fs::create_dir(&kept).expect("a folder");
    std::fs::copy(shop, kept.join("shop.toml")).expect("room");
    let path = file_of(
        &place,
        "sweep",
        "threads = [1, 2]",
        "loads/shop.toml",
        "customers = 500",
    );
    // From elsewhere: its path begins at the study's folder.
    let (code, _, stderr) =
        run(study(&place, &path).current_dir(place.folder.path().join("loads")));
    assert_eq!(code, Some(0), "{stderr}");
    let Summary::Sweep(sweep) = summary(&place) else {
        panic!("a sweep");
    };
    assert!(
        sweep.header.workload.starts_with("shop (A small shop)"),
        "{}",
        sweep.header.workload
    );
    assert_eq!(sweep.curves[0].points.len(), 2);

    let bad = std::fs::read_to_string(shop).expect("the example");
    let bad = bad.replace("weight = 3", "weight = -3");
    std::fs::write(kept.join("shop.toml"), bad).expect("room");
    let (code, _, stderr) = run(place.niagara(&["study", "check"]).arg(&path));
    assert_eq!(code, Some(1), "{stderr}");
    let (study, workload) = ("sweep.toml:15:8: ", "loads/shop.toml:");
    assert!(
        stderr.contains(study) && stderr.contains(workload),
        "{stderr}"
    );
}

#[test]
fn a_study_compares_by_a_job() {
    let place = Place::new();
    let sides = "a = \"base\"\nb = \"transport=unix\"";
    let path = file_of(&place, "compare", sides, "report", "rows = 20000");
    let (code, stdout, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("medians of 2 pairs"), "{stdout}");
    let Summary::Compare(compared) = summary(&place) else {
        panic!("a comparison");
    };
    assert_eq!(
        (compared.header.protocol.as_str(), compared.threads),
        ("pair", 1)
    );
    let steps = std::fs::read_to_string(place.out().join("steps.txt")).expect("the table");
    assert!(steps.contains("filter the whole table"), "{steps}");
}

/// Of runs one after the other it would say nothing: what moves the machine is not in both.
#[test]
fn how_far_starts_lie_apart_is_told_of_duels_alone() {
    let place = Place::new();
    let sides = "a = \"base\"\nb = \"transport=unix\"\nprotocol = \"pair\"";
    let text = SMALL.replace("duels = 2", "duels = 4");
    let path = file_with(&place, "compare", sides, &text);
    let (code, _, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(0), "{stderr}");
    let Summary::Compare(compared) = summary(&place) else {
        panic!("a comparison");
    };
    assert_eq!(compared.header.protocol, "pair");
    assert_eq!(compared.comparison.stability, None);
}

#[test]
fn a_matrix_is_filled_cell_by_cell() {
    let place = Place::new();
    let axes = r#"
[[axes]]
name = "transport"
levels = [{ name = "TCP" }, { name = "Unix", levers = ["transport=unix"] }]
[[axes]]
name = "neighbours"
levels = [{ name = "1" }, { name = "0", config = { innodb_flush_neighbors = 0 } }, { name = "none", levers = ["numa-interleave"] }]
"#;
    let path = file(
        &place,
        "matrix",
        "threads = [1, 2]\ncombine = \"each\"",
        axes,
    );
    let (code, stdout, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("Combination"), "{stdout}");
    let Summary::Matrix(matrix) = summary(&place) else {
        panic!("a matrix");
    };
    // Three levels beside the baseline, at two thread counts.
    assert_eq!(matrix.cells.len(), 6);
    for cell in &matrix.cells {
        match &cell.outcome {
            CellOutcome::Measured { comparison } => assert_eq!(comparison.throughput.duels, 2),
            CellOutcome::NotTried { reason } => {
                assert!(!cell.is_left());
                assert!(
                    cell.title == "none" && reason.to_string().contains("numa"),
                    "{}: {reason}",
                    cell.title
                );
            }
        }
    }
}

/// Parts of a matrix, one after the other, with a variant beside it, and how far starts lie apart: one report, in which nothing is
/// measured twice. What is not asked for builds nothing.
#[test]
fn parts_of_a_matrix_go_into_one_report_and_the_rest_is_left() {
    let place = Place::new();
    let axes = r#"
[[axes]]
name = "neighbours"
levels = [{ name = "1" }, { name = "0", config = { innodb_flush_neighbors = 0 } }, { name = "2", config = { innodb_flush_neighbors = 2 } }, { name = "built", build = { compiler = "gcc" } }]
[size.small]
part = { neighbours = ["0"] }
duels = 4
"#;
    let top = "threads = [2]\nbeside = [\"transport=unix\"]\ncontrols = false";
    let path = file(&place, "matrix", top, axes);
    let matrix = || match summary(&place) {
        Summary::Matrix(matrix) => *matrix,
        _ => panic!("a matrix"),
    };
    // What is measured of each row: by how many duels; none of one that is not.
    let measured = || -> Vec<(String, Option<usize>)> {
        let cells = matrix().cells.into_iter();
        cells
            .map(|cell| {
                let duels = cell.comparison().map(|found| found.throughput.duels);
                assert_eq!(cell.is_left(), duels.is_none(), "{cell:?}");
                (cell.title, duels)
            })
            .collect()
    };
    let (code, stdout, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(0), "{stderr}");
    let first = measured();
    let titles: Vec<&str> = first.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles, ["0", "2", "built", "transport=unix"]);
    let is_there: Vec<bool> = first.iter().map(|(_, duels)| duels.is_some()).collect();
    assert_eq!(is_there, [true, false, false, true]);
    for cell in matrix().cells {
        let comparison = cell
            .comparison()
            .filter(|found| found.throughput.duels == 4);
        if let Some(comparison) = comparison {
            let stability = comparison.stability.expect("four starts");
            assert!(stability.ratio.low < stability.ratio.high, "{stability:?}");
        }
    }
    // A sentence may be on two lines.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "2 of 4 cells",
        "left: 2 cells are left; to measure 1 of them, into this report: niagara run",
    ] {
        assert!(flat(&stdout).contains(words), "no {words:?} in\n{stdout}");
    }
    assert!(flat(&stdout).contains("--level neighbours=2"), "{stdout}");
    assert!(report(&place).contains("Part of the matrix: neighbours 1, 0."));
    let kept = place.duels();

    let second = |more: &[&str]| {
        run(study(&place, &path)
            .args(["--level", "neighbours=2"])
            .args(more))
    };
    let (code, stdout, stderr) = second(&["--plan", "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let plan: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let counts = ["there", "questions", "left"].map(|name| plan[name].as_u64());
    assert_eq!(counts, [Some(1), Some(2), Some(1)], "{stdout}");
    // Another budget is that of the part: it makes no other study.
    let (code, _, stderr) = second(&["--budget", "3m"]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(
        stderr.contains("2 of its 4 cells are there, 1 to be measured"),
        "{stderr}"
    );
    let duels = place.duels();
    assert_eq!(duels[..kept.len()], kept);
    assert!(duels.len() > kept.len());
    for duel in &duels[kept.len()..] {
        assert!(
            ["2, 2 threads", "part 2"].contains(&duel.subject.as_str()),
            "{duel:?}"
        );
    }
    let both = measured();
    assert!(both[1].1.is_some(), "{both:?}");
    for row in [0, 2, 3] {
        assert_eq!(both[row], first[row]);
    }
    let whole = matrix();
    let cells: Vec<usize> = whole.parts.iter().map(|part| part.cells).collect();
    assert_eq!(
        (cells, whole.header.budget_seconds),
        (vec![2, 1], Some(420.0))
    );
    // Options are kept whole where a line ends.
    let page = report(&place).replace("<span class=\"option\">", "");
    let page = page.replace("</span>", "");
    for words in [
        "neighbours 1, 0",
        "neighbours 1, 2",
        "--level neighbours=built",
    ] {
        assert!(page.contains(words), "no {words:?} on the page");
    }

    // Asked for again, a part that is there says so.
    let (code, _, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(1), "{stderr}");
    for words in [
        "has all 2 cells of this part of the matrix (neighbours 1, 0)",
        "3 of the 4 cells of the matrix are measured, 1 left",
        "--level neighbours=built` measures 1 of them",
    ] {
        assert!(stderr.contains(words), "no {words:?} in\n{stderr}");
    }
    assert_eq!(place.duels().len(), duels.len());
}

/// Another server than the file's; a name that is none is told before anything is set up.
#[test]
fn a_study_is_asked_of_another_server() {
    let place = Place::new();
    let path = file(
        &place,
        "compare",
        "a = \"base\"\nb = \"transport=unix\"",
        "",
    );
    let plan = |server: &str| {
        let mut command = place.niagara(&["run"]);
        run(command.arg(&path).args(["--plan", "--server", server]))
    };
    let (code, _, stderr) = plan("mariadb-11.8");
    assert_eq!(code, Some(0), "{stderr}");
    let (code, _, stderr) = plan("mariadb-11.9");
    assert_eq!(code, Some(1), "{stderr}");
    assert!(
        stderr.contains("no server is called `mariadb-11.9`\nknown: ")
            && stderr.contains("\nremedy: name one of these; or give the path"),
        "{stderr}"
    );
}

#[test]
fn an_interrupted_study_continues() {
    let place = Place::new();
    let path = file(&place, "sweep", "threads = [1, 2, 4]", "");
    let mut child = study(&place, &path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    place.wait_for_duels(2, &mut child);
    signal(child.id() as i32, Signal::SIGINT);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(place.servers(), Vec::<i32>::new());
    let kept = place.duels();
    assert!(!summary(&place).is_complete());
    let (code, _, stderr) = run(&mut study(&place, &path));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("continuing the study"), "{stderr}");
    let duels = place.duels();
    assert_eq!(duels.len(), 6);
    assert_eq!(duels[..kept.len()], kept);
    assert!(summary(&place).is_complete());
}

#[test]
fn a_plan_says_what_it_can_show_and_runs_nothing() {
    let place = Place::new();
    let path = file(&place, "sweep", "threads = [1, 2, 4]", "");
    let (code, stdout, stderr) = run(place.niagara(&["run", "--plan", "--json"]).arg(&path));
    assert_eq!(code, Some(0), "{stderr}");
    let plan: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    assert_eq!(
        (plan["questions"].as_u64(), plan["duels_each"].as_u64()),
        (Some(3), Some(2))
    );
    assert!(
        plan["duel_seconds"]
            .as_f64()
            .is_some_and(|seconds| seconds > 1.0)
    );
    assert!(!place.out().exists());
}

#[test]
fn a_file_with_mistakes_is_told_line_by_line() {
    let place = Place::new();
    let path = file(&place, "sweep", "threds = 2", "");
    for verb in [&["run"][..], &["study", "check"]] {
        let (code, _, stderr) = run(place.niagara(verb).arg(&path));
        assert_eq!(code, Some(1), "{stderr}");
        assert!(
            stderr.contains("sweep.toml:2:1: unknown key `threds`"),
            "{stderr}"
        );
        assert!(stderr.contains("did you mean `threads`?"), "{stderr}");
    }
}
