//! Duels that fail. Of levers that fail only together one is set aside, with a reason that names both, and the study continues; a load
//! that fails whatever the levers ends it.

mod common;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use common::{Place, SHORT_TUNING, run, signal, wait_until};
use niagara_model::{Event, Summary};
use niagara_store::Store;
use nix::sys::signal::Signal;

/// Each alone is taken by the server; together they keep it from starting.
const PAIR: [(&str, &str, &str); 2] = [
    ("apart-one", "One half", "log_bin = \"niagara-bin\""),
    ("apart-two", "Other half", "encrypt_binlog = \"ON\""),
];

fn levers(place: &Place) -> std::path::PathBuf {
    let folder = place.folder.path().join("levers");
    std::fs::create_dir(&folder).expect("a folder");
    for (id, title, setting) in PAIR {
        std::fs::write(
            folder.join(format!("{id}.toml")),
            format!(
                "title = \"{title}\"\ntheme = \"tables and caches\"\nrisk = \"none\"\nwhy = \"To see.\"\n\
                 source = \"None.\"\n[change]\nconfig = {{ {setting} }}\n"
            ),
        )
        .expect("a file");
    }
    folder
}

fn tune(place: &Place) -> Command {
    tune_with(place, "apart-one,apart-two,transport-unix")
}

/// A tuning with these levers of the folder and the program's own.
fn tune_with(place: &Place, only: &str) -> Command {
    let mut command = place.niagara(&[
        "tune",
        "mariadb-10.11",
        "--only",
        only,
        "--budget",
        "10m",
        "--threads",
        "2",
        "--table-size",
        "1000",
        "--disturbance",
        "100%",
        "--seed",
        "3",
        "--levers",
    ]);
    command
        .arg(place.folder.path().join("levers"))
        .args(SHORT_TUNING)
        .arg("--out")
        .arg(place.out());
    command
}

/// Waits for something that `child` brings about, which is not to end before.
fn wait_for(child: &mut Child, what: &str, holds: impl Fn() -> bool) {
    wait_until(what, Duration::from_secs(240), || {
        if let Some(status) = child.try_wait().expect("a child of ours") {
            panic!("niagara ended early: {status}");
        }
        holds()
    });
}

/// What the study decided about failed sides, as JSON.
fn blamed(place: &Place) -> Vec<String> {
    let Ok(store) = Store::open_read_only(&place.out().join("results.db")) else {
        return Vec::new();
    };
    let events = store.events().unwrap_or_default().into_iter();
    let decided = events.filter_map(|record| match record.event {
        Event::Decision { key, value } if key.starts_with("blame ") => Some(value.to_string()),
        _ => None,
    });
    decided.collect()
}

#[test]
fn two_levers_that_fail_only_together_cost_one_of_them_and_not_the_study() {
    let place = Place::new();
    levers(&place);
    let mut child = tune(&place)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("niagara starts");
    wait_for(&mut child, "lever to blame", || !blamed(&place).is_empty());
    signal(child.id() as i32, Signal::SIGKILL);
    child.wait().expect("niagara is gone");
    let before = blamed(&place);
    for word in [
        "apart-two",
        "One half",
        "Other half",
        "does-not-start-together",
    ] {
        assert!(before[0].contains(word), "no {word:?} in {before:?}");
    }

    // The same command takes the same way: nobody is blamed twice, and the screening continues without the one.
    let fought = place.duels().len();
    let mut child = tune(&place)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    wait_for(&mut child, "further duels", || {
        place.duels().len() >= fought + 6
    });
    signal(child.id() as i32, Signal::SIGINT);
    let output = child.wait_with_output().expect("niagara ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert_eq!(blamed(&place), before, "{stderr}");
    let later = place.duels();
    assert!(
        later[fought..].iter().all(|duel| duel.score.is_some()),
        "a duel failed again: {later:?}"
    );
    let store = Store::open_read_only(&place.out().join("results.db")).expect("readable");
    let Some(Summary::Tune(tune)) = store.summary().expect("readable") else {
        panic!("no summary of a tuning");
    };
    let aside = tune
        .not_tried
        .iter()
        .find(|lever| lever.lever == "apart-two")
        .expect("set aside");
    assert!(
        aside.reason.to_string().contains("One half"),
        "{}",
        aside.reason
    );
    // Stopped too early for the other to be told apart, but not for this.
    for lever in tune
        .not_tried
        .iter()
        .filter(|lever| lever.lever == "apart-one")
    {
        assert!(
            !lever.reason.to_string().contains("does not start"),
            "{}",
            lever.reason
        );
    }

    let (code, stdout, stderr) = run(place.niagara(&["report"]).arg(place.out()));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("together"), "{stdout}");
}

/// Every statement fails when it is executed, whatever the server's settings.
const FAILING: &str = r#"
title = "Two rows where one is wanted"
[[table]]
name = "item"
rows = 10
create = "CREATE TABLE item (id INT NOT NULL PRIMARY KEY) ENGINE = {engine}"
[table.columns]
id = "row"

[[transaction]]
name = "look"
statements = ["SELECT (SELECT id FROM item WHERE id > :from) FROM item WHERE id = 1"]
[transaction.draw]
from = { int = [1, 5] }
"#;

#[test]
fn a_load_that_fails_on_every_server_ends_the_screening_with_its_reason() {
    let place = Place::new();
    let workload = place.folder.path().join("failing.toml");
    std::fs::write(&workload, FAILING).expect("a file");
    let tuning = || {
        let mut command = place.niagara(&[
            "tune",
            "mariadb-10.11",
            "--only",
            "skip-name-resolve,net-buffer-large",
            "--budget",
            "10m",
            "--threads",
            "2",
            "--slice",
            "100ms",
            "--warm-up",
            "100ms",
            "--workload",
        ]);
        command.arg(&workload).arg("--out").arg(place.out());
        command
    };
    // The same command tries once more, and says the same.
    for _ in 0..2 {
        let (code, _, stderr) = run(&mut tuning());
        assert_eq!(code, Some(1), "{stderr}");
        for word in ["no duel of the screening", "1242", "\nremedy: "] {
            assert!(stderr.contains(word), "no {word:?} in\n{stderr}");
        }
    }
    // Six, and the start against itself, each time.
    assert_eq!(place.duels().len(), 14);
}

#[test]
fn a_lever_whose_server_starts_and_does_not_bear_the_load_is_set_aside() {
    let place = Place::new();
    let folder = place.folder.path().join("levers");
    std::fs::create_dir(&folder).expect("a folder");
    // Statements cannot be prepared from then on (1461), which no start does.
    std::fs::write(
        folder.join("nothing-prepared.toml"),
        "title = \"Nothing prepared\"\ntheme = \"tables and caches\"\nrisk = \"none\"\nwhy = \"To see.\"\nsource = \"None.\"\n\
         [change]\nconfig = { max_prepared_stmt_count = 0 }\n",
    )
    .expect("a file");
    let mut child = tune_with(&place, "nothing-prepared,transport-unix,net-buffer-large")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("niagara starts");
    wait_for(&mut child, "scored duels", || {
        let duels = place.duels();
        duels.iter().filter(|duel| duel.score.is_some()).count() >= 4
    });
    signal(child.id() as i32, Signal::SIGINT);
    let output = child.wait_with_output().expect("niagara ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    let store = Store::open_read_only(&place.out().join("results.db")).expect("readable");
    let Some(Summary::Tune(tune)) = store.summary().expect("readable") else {
        panic!("no summary of a tuning");
    };
    let mut aside = tune.not_tried.iter();
    let aside = aside.find(|lever| lever.lever == "nothing-prepared");
    let reason = aside.expect("set aside").reason.to_string();
    assert!(reason.contains("no server with it lasted"), "{reason}");
    assert!(reason.contains("1461"), "{reason}");
}
