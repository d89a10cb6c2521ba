//! Studies of every kind on a cluster (`make test-fleet`), with real servers: the nodes share this machine, so that duels are run one
//! at a time.

use std::process::Command;

use niagara_model::Summary;
use niagara_store::Store;

use crate::cluster::on_cluster;
use crate::common::{Place, run};
use crate::{cache, check_seconds, shared};

/// Slices and tables so small that a duel takes a second or two.
const SMALL: [&str; 10] = [
    "--table-size",
    "1000",
    "--couples",
    "3",
    "--slice",
    "150ms",
    "--warm-up",
    "300ms",
    "--seed",
    "11",
];

fn on_nodes(command: &mut Command, place: &Place, nodes: &str) {
    command
        .args(["--on", "slurm", "--nodes", nodes, "--disturbance", "100%"])
        .args(["--worker-argument", "--one-at-a-time"])
        .arg("--node-dir")
        .arg(cache())
        .arg("--shared")
        .arg(shared(place))
        .arg("--out")
        .arg(place.out());
}

/// What a study came to, its node-seconds checked; duels were run by more than one worker where there was time for that.
fn summary(place: &Place, command: &mut Command) -> Summary {
    on_cluster();
    let (code, stdout, stderr) = run(command);
    eprintln!("{stderr}{stdout}");
    assert_eq!(code, Some(0));
    check_seconds(place, &stdout);
    let store = Store::open_read_only(&place.out().join("results.db")).expect("results");
    store.summary().expect("readable").expect("there")
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_sweep_runs_its_points_on_nodes() {
    let place = Place::new();
    let mut command = place.niagara(&["sweep", "base", "--threads", "1,2,4", "--starts", "2"]);
    command.args(SMALL).args(["--budget", "3m", "--no-profile"]);
    on_nodes(&mut command, &place, "2");
    let Summary::Sweep(sweep) = summary(&place, &mut command) else {
        panic!("no sweep");
    };
    let starts: Vec<u32> = sweep.curves[0]
        .points
        .iter()
        .map(|point| point.starts)
        .collect();
    assert_eq!(starts, [2, 2, 2]);
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_ladder_of_a_file_runs_on_nodes() {
    let place = Place::new();
    let file = place.folder.path().join("ladder.toml");
    let text = r#"
kind = "ladder"
title = "small"
asked = "a"
changed = "c"
measured = "m"
server = "mariadb-10.11"
threads = 2
duels = 12
couples = 3
slice = "150ms"
warm_up = "300ms"
budget = "4m"
start = "base"
[workload]
name = "oltp_read_only"
options = { table_size = 1000 }
[variants.base]
title = "as packaged"
[[rungs]]
title = "a Unix socket"
why = "less network"
levers = ["transport=unix"]
"#;
    std::fs::write(&file, text).expect("written");
    let mut command = place.niagara(&["run"]);
    command.arg(&file).args(["--seed", "11", "--no-profile"]);
    on_nodes(&mut command, &place, "2");
    let Summary::Ladder(ladder) = summary(&place, &mut command) else {
        panic!("no ladder");
    };
    assert_eq!(ladder.rungs.len(), 1);
}

/// The second part goes on in the shared folder of the first one; one on this machine does not go into their report.
#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn parts_of_a_matrix_run_on_nodes() {
    let place = Place::new();
    let file = place.folder.path().join("matrix.toml");
    let text = r#"
kind = "matrix"
title = "small"
asked = "a"
changed = "c"
measured = "m"
server = "mariadb-10.11"
threads = [2]
duels = 2
couples = 3
slice = "150ms"
warm_up = "300ms"
budget = "4m"
controls = false
[workload]
name = "oltp_read_only"
options = { table_size = 1000 }
[[axes]]
name = "neighbours"
levels = [{ name = "1" }, { name = "0", config = { innodb_flush_neighbors = 0 } }, { name = "2", config = { innodb_flush_neighbors = 2 } }, { name = "3", config = { innodb_io_capacity = 300 } }]
"#;
    std::fs::write(&file, text).expect("written");
    let part = |level: &str| {
        let mut command = place.niagara(&["run"]);
        command.arg(&file).args(["--seed", "11", "--level", level]);
        command
    };
    let mut summed_up = None;
    for level in ["neighbours=0", "neighbours=2"] {
        let mut command = part(level);
        on_nodes(&mut command, &place, "1");
        summed_up = Some(summary(&place, &mut command));
    }
    let Some(Summary::Matrix(matrix)) = summed_up else {
        panic!("no matrix");
    };
    assert_eq!((matrix.parts.len(), matrix.cells.len()), (2, 3));
    for cell in &matrix.cells[..2] {
        let comparison = cell.comparison().expect("measured");
        assert!(comparison.nodes.is_some(), "{cell:?}");
    }
    let here = run(part("neighbours=3")
        .args(["--disturbance", "100%", "--out"])
        .arg(place.out()));
    assert_eq!(here.0, Some(1), "{}", here.2);
    for words in [
        "on nodes of a cluster then, on one machine now",
        "\nremedy: ",
    ] {
        assert!(here.2.contains(words), "no {words:?} in\n{}", here.2);
    }
}

#[test]
#[ignore = "needs a cluster: make test-fleet"]
fn a_tuning_runs_on_nodes() {
    let place = Place::new();
    let mut command = place.niagara(&["tune", "mariadb-10.11", "--threads", "2"]);
    command.args(SMALL).args([
        "--budget",
        "60s",
        "--only",
        "malloc-jemalloc,transport-unix",
        "--no-profile",
    ]);
    on_nodes(&mut command, &place, "2");
    let Summary::Tune(tune) = summary(&place, &mut command) else {
        panic!("no tuning");
    };
    let screened = tune.rungs.len() + tune.not_helped.len();
    assert!(screened >= 2, "{screened}");
}
