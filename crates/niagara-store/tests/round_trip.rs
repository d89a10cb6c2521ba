//! What goes in comes out, and files that are not results are named for what they are.

#[path = "../../niagara-model/tests/common/mod.rs"]
mod common;

use common::{comparison, duel, interval, slices, study, variant};
use niagara_error::Explanation;
use niagara_model::{
    CompareSummary, Ending, Event, EventRecord, FoughtOn, LostSetting, NodeAccount, NotTried,
    OriginNote, Phase, PointFailure, ProfileRecord, Reason, RoundRatio, SettingReason, StudyHeader,
    Summary, SweepCurve, SweepPoint, SweepSummary, Unevenness,
};
use niagara_stats::Estimate;
use niagara_store::{Store, StoreError};
use serde_json::json;

fn new_store(folder: &tempfile::TempDir) -> Store {
    Store::create(&folder.path().join("results.db"), &study()).expect("a fresh folder")
}

#[test]
fn everything_survives_being_closed_and_opened() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = new_store(&folder);
    let mut failed = duel(1);
    failed.phase = Phase::Claim;
    failed.subject = "jemalloc".into();
    failed.score = None;
    failed.cpu_score = None;
    failed.latency_scores = None;
    failed.raw_score = None;
    failed.p99_score = None;
    failed.ending = Ending::Failed {
        side: 1,
        reason: "did not start: unknown variable 'x'".into(),
    };
    let mut disturbed = duel(2);
    disturbed.score = None;
    disturbed.ending = Ending::Disturbed;

    store.add_variant(&variant("a")).expect("room");
    store.add_variant(&variant("b")).expect("room");
    store.add_variant(&variant("a")).expect("idempotent");
    store.add_duel(&duel(0), &slices(0)).expect("room");
    store.add_duel(&failed, &[]).expect("room");
    store.add_duel(&disturbed, &slices(2)).expect("room");
    store.add_run_time(100.0, 60.0).expect("room");
    store.add_run_time(50.5, 30.0).expect("room");
    drop(store);

    let store = Store::open(&folder.path().join("results.db")).expect("just written");
    assert_eq!(store.study().expect("there"), study());
    assert_eq!(
        store.variants().expect("there"),
        [variant("a"), variant("b")]
    );
    assert_eq!(store.duels().expect("there"), [duel(0), failed, disturbed]);
    assert_eq!(store.slices(Some(0)).expect("there"), slices(0));
    assert_eq!(store.slices(Some(1)).expect("there"), []);
    assert_eq!(store.slices(None).expect("there").len(), 80);
    let used = store.total_run_time().expect("there");
    assert_eq!((used.elapsed_seconds, used.load_seconds), (150.5, 90.0));
}

/// One event of each kind.
fn events() -> Vec<Event> {
    vec![
        Event::Resumed {
            command: "niagara tune mariadb-10.11".into(),
        },
        Event::NextPart {
            command: "niagara run matrix.toml".into(),
        },
        Event::SideFailed {
            error: Explanation::new("the server ended").remedy("look into its log"),
        },
        Event::SetAside(NotTried {
            lever: "query-cache".into(),
            title: "query cache on".into(),
            reason: Reason::SharedHost,
        }),
        Event::StartSettings {
            settings: vec![("log_bin".into(), "OFF".into())],
        },
        Event::Origin {
            note: OriginNote::LeftOut(LostSetting {
                setting: "server_id=5".into(),
                place: "/etc/my.cnf line 3".into(),
                reason: SettingReason::Replication,
            }),
        },
        Event::FoughtOn(FoughtOn {
            seq: 3,
            duel: "d-3".into(),
            node: "n1".into(),
            machine: "m".into(),
            worker: "w".into(),
            epoch: 2,
        }),
        Event::NodesHeld(NodeAccount {
            workers: 2,
            held: 0.1 + 0.2,
            ..NodeAccount::default()
        }),
        Event::Steps {
            duel: 3,
            seconds: [vec![("copy".into(), 2.5)], Vec::new()],
        },
        Event::Decision {
            key: "looks Claim malloc".into(),
            value: json!({"looks": [8, 12], "alpha": 0.05, "by_threads": {"8": null}}),
        },
    ]
}

#[test]
fn events_of_every_kind_come_back_with_their_codes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = new_store(&folder);
    // By the compiler: an event that this does not know is not in the list either.
    let code = |event: &Event| match event {
        Event::Resumed { .. } => "resumed",
        Event::NextPart { .. } => "next-part",
        Event::SideFailed { .. } => "side-failed",
        Event::SetAside(_) => "set-aside",
        Event::StartSettings { .. } => "start-settings",
        Event::Origin { .. } => "origin",
        Event::FoughtOn(_) => "fought-on",
        Event::NodesHeld(_) => "nodes-held",
        Event::Steps { .. } => "steps",
        Event::Decision { .. } => "decision",
    };
    for (unix_ms, event) in (5..).zip(events()) {
        store.add_event(unix_ms, &event).expect("room");
    }
    drop(store);
    let store = Store::open(&folder.path().join("results.db")).expect("just written");
    let kept = store.events().expect("there");
    let records = (5..).zip(events());
    let records = records.map(|(unix_ms, event)| EventRecord { unix_ms, event });
    assert_eq!(kept, records.collect::<Vec<_>>());
    for EventRecord { event, .. } in &kept {
        assert_eq!(json!(event)["code"], code(event));
    }
    let account = store.node_account().expect("readable");
    assert_eq!(account.map(|account| account.workers), Some(2));
}

#[test]
fn an_event_that_could_not_be_read_again_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = new_store(&folder);
    let held = NodeAccount {
        held: f64::NAN,
        ..NodeAccount::default()
    };
    let refused = store.add_event(5, &Event::NodesHeld(held));
    assert!(matches!(refused, Err(StoreError::Nonsense { .. })));
    assert_eq!(store.events().expect("there"), []);
}

#[test]
fn profiles_are_kept_one_for_each_subject() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = new_store(&folder);
    let profile = |subject: &str, queries: u32| ProfileRecord {
        subject: subject.into(),
        content: serde_json::json!({ "queries": queries }),
    };
    for kept in [profile("b", 1), profile("a", 2), profile("b", 3)] {
        store.set_profile(&kept).expect("room");
    }
    drop(store);
    let path = folder.path().join("results.db");
    let kept = || Store::open_read_only(&path).and_then(|store| store.profiles());
    assert_eq!(kept().expect("there"), [profile("b", 3), profile("a", 2)]);
}

#[test]
fn the_newest_summary_counts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = new_store(&folder);
    assert_eq!(store.summary().expect("readable"), None);
    for duels in [8, 12] {
        store.set_summary(&summary(duels)).expect("room");
        assert_eq!(store.summary().expect("readable"), Some(summary(duels)));
    }
}

#[test]
fn a_summary_that_could_not_be_read_again_is_refused_at_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = new_store(&folder);
    let Summary::Compare(mut compare) = summary(8) else {
        unreachable!("made above as a comparison")
    };
    compare.comparison.tps = [f64::NAN, 1.0];
    store
        .set_summary(&Summary::Compare(compare.clone()))
        .expect("no throughput is no error");
    assert!(store.summary().is_ok());
    compare.header.elapsed_seconds = f64::NAN;
    let refused = store.set_summary(&Summary::Compare(compare));
    assert!(matches!(refused, Err(StoreError::Nonsense { .. })));
}

fn summary(duels: usize) -> Summary {
    Summary::Compare(Box::new(CompareSummary {
        header: StudyHeader {
            about: None,
            server: "mariadb-10.11".into(),
            server_version: "10.11.14-MariaDB-0+deb12u2".into(),
            workload: "oltp_read_only".into(),
            goal: niagara_model::Goal::Throughput,
            rate: None,
            protocol: "duel".into(),
            seed: u64::MAX,
            alpha: 0.05,
            budget_seconds: None,
            elapsed_seconds: 400.0,
            load_seconds: 300.0,
            complete: true,
            sd_duel: Some(0.012),
            builds: Vec::new(),
            checks: Vec::new(),
            deployment: None,
            warnings: vec![],
        },
        threads: 32,
        upgrade: None,
        runs: None,
        comparison: comparison(
            duels,
            Estimate::from_log(0.0, f64::NEG_INFINITY, f64::INFINITY),
        ),
    }))
}

#[test]
fn results_are_never_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = new_store(&folder);
    let again = Store::create(store.path(), &study());
    assert!(matches!(again, Err(StoreError::Exists { .. })));

    store.add_variant(&variant("a")).expect("room");
    store.add_variant(&variant("b")).expect("room");
    store.add_duel(&duel(0), &slices(0)).expect("room");
    let twice = store.add_duel(&duel(0), &[]);
    assert!(matches!(twice, Err(StoreError::DuelExists { seq: 0, .. })));
    assert_eq!(store.slices(None).expect("there").len(), 40);

    let mut unknown = duel(1);
    unknown.variants[1] = "never added".into();
    assert!(store.add_duel(&unknown, &[]).is_err());
}

#[test]
fn a_duel_with_one_bad_slice_is_not_there_at_all() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = new_store(&folder);
    store.add_variant(&variant("a")).expect("room");
    store.add_variant(&variant("b")).expect("room");
    let mut broken = slices(0);
    broken[30].seconds = f64::NAN;
    assert!(store.add_duel(&duel(0), &broken).is_err());
    assert_eq!(store.duels().expect("there"), []);
    assert_eq!(store.slices(None).expect("there"), []);
    store
        .add_duel(&duel(0), &slices(0))
        .expect("as if nothing had happened");
}

#[test]
fn files_that_are_not_results_are_named_for_what_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let message = |path: &std::path::Path| match Store::open(path) {
        Ok(_) => panic!("opened"),
        Err(e) => e.to_string(),
    };

    assert!(message(&at("none.db")).contains("no results there"));
    assert!(!at("none.db").exists());

    std::fs::write(at("text.db"), "sysbench 1.0.20\n".repeat(100)).expect("room");
    assert!(message(&at("text.db")).contains("not an SQLite database"));
    assert!(matches!(
        Store::create(&at("text.db"), &study()),
        Err(StoreError::Exists { .. })
    ));

    std::fs::write(at("empty.db"), "").expect("room");
    assert!(message(&at("empty.db")).contains("holds no study"));
    Store::create(&at("empty.db"), &study()).expect("nothing is lost by it");

    let other = rusqlite::Connection::open(at("other.db")).expect("room");
    other.execute_batch("CREATE TABLE t (x)").expect("room");
    assert!(message(&at("other.db")).contains("another program"));

    Store::create(&at("new.db"), &study()).expect("room");
    let newer = rusqlite::Connection::open(at("new.db")).expect("there");
    newer
        .execute_batch("PRAGMA user_version = 99")
        .expect("room");
    assert!(message(&at("new.db")).contains("format 99"));
}

#[test]
fn a_damaged_file_is_called_damaged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = new_store(&folder);
    let path = store.path().to_owned();
    store.add_variant(&variant("a")).expect("room");
    store.add_variant(&variant("b")).expect("room");
    for seq in 0..5 {
        store.add_duel(&duel(seq), &slices(seq)).expect("room");
    }
    drop(store);
    let mut bytes = std::fs::read(&path).expect("there");
    let end = bytes.len() * 9 / 10;
    bytes[8192..end].fill(0xa5);
    std::fs::write(&path, bytes).expect("room");
    assert!(matches!(
        Store::open(&path),
        Err(StoreError::Corrupt { .. })
    ));
}

/// A sweep of two variants that were measured each alone; codes of errors and thread counts are keys.
fn swept() -> Summary {
    let level = interval(5.0, 4.0, 6.0);
    let point = SweepPoint {
        threads: 8,
        starts: 3,
        tps: level,
        p50_ms: level,
        p95_ms: level,
        p99_ms: level,
        disturbed: [0, 9],
        errors: [(1213, 40), (1205, 2)].into(),
        breakdown: None,
        unevenness: Some(Unevenness {
            transactions: Some(interval(0.01, 0.0, 0.02)),
            seconds: None,
        }),
    };
    let curve = SweepCurve {
        title: "base".into(),
        label: "mariadb-10.11".into(),
        server_version: String::new(),
        points: vec![point],
        law: None,
        knee: None,
        failures: [(
            1024,
            PointFailure::NotMeasured {
                error: "it did not start".into(),
                by_other: false,
            },
        )]
        .into(),
    };
    Summary::Sweep(Box::new(SweepSummary {
        header: StudyHeader {
            about: None,
            server: "mariadb-10.11".into(),
            server_version: "10.11.14-MariaDB-0+deb12u2".into(),
            workload: "tpcc".into(),
            goal: niagara_model::Goal::Throughput,
            rate: None,
            protocol: "solo".into(),
            seed: 1,
            alpha: 0.05,
            budget_seconds: Some(60.0),
            elapsed_seconds: 60.0,
            load_seconds: 50.0,
            complete: true,
            sd_duel: None,
            builds: Vec::new(),
            checks: Vec::new(),
            deployment: None,
            warnings: Vec::new(),
        },
        curves: vec![curve.clone(), curve],
        ratios: Vec::new(),
        by_round: vec![RoundRatio {
            threads: 8,
            of: 1,
            over: 0,
            ratio: interval(1.1, 0.0, f64::INFINITY),
            rounds: 1,
        }],
    }))
}

#[test]
fn a_sweep_with_errors_and_failures_comes_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = new_store(&folder);
    store.set_summary(&swept()).expect("room");
    assert_eq!(store.summary().expect("there"), Some(swept()));
}

#[test]
fn the_schema_answers_questions_in_sql() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut store = new_store(&folder);
    store.add_variant(&variant("a")).expect("room");
    store.add_variant(&variant("b")).expect("room");
    store.add_duel(&duel(0), &slices(0)).expect("room");
    let direct = rusqlite::Connection::open(store.path()).expect("there");
    let (label, tps): (String, f64) = direct
        .query_row(
            "SELECT label, avg(tps) FROM slice_rate WHERE NOT disturbed GROUP BY label",
            [],
            |r| Ok((r.get(0)?, r.get(1)?)),
        )
        .expect("one row and more");
    assert_eq!(label, "label of a");
    assert!((tps - 1419.7).abs() < 0.1, "{tps}");
}
