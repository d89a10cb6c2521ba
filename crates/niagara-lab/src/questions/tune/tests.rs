//! A whole tuning on a real server, small: its parts end after numbers of duels that are decided beforehand, as those of a
//! study that continues are, so that no clock decides what is shown.

use std::path::Path;

use niagara_load::{FileWorkload, WorkloadFile, WorkloadSpec};
use niagara_server::machine::Fingerprint;
use niagara_server::{Cache, Cancel, Catalog, Family};
use niagara_stats::{ROUND_DUELS, Rule};
use niagara_store::{Goal, TuneSummary};

use super::*;
use crate::duels::spec::{DuelSettings, Load};
use crate::lever::{Context, load};
use crate::studies::answer::conduct;

/// The distribution's server, which `scripts/setup test` installs.
const SERVER: &str = "/usr/sbin/mariadbd";
/// The lever whose range is searched.
const LEVER: &str = "io-capacity-high";
/// Every statement sleeps unless the server may write 5000 pages a second: beyond what the lever sets, within its range. No
/// machine hides that.
const WORKLOAD: &str = r#"
title = "Slow below 5000"
[scale]
rows = 10

[[table]]
name = "item"
rows = "rows"
create = "CREATE TABLE item (id INT NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL) ENGINE = {engine}"
[table.columns]
id = "row"
name = { text = [8, 20] }

[[transaction]]
name = "look"
statements = ["SELECT name, IF(@@global.innodb_io_capacity < 5000, SLEEP(0.005), 0) FROM item WHERE id = :item"]
[transaction.draw]
item = { int = [1, "rows"] }
"#;
/// Duels of the screening, of the search (a round of its race), of the total.
const DUELS: [u64; 3] = [5, ROUND_DUELS as u64, 2];
/// An hour, so that every part has time whatever a start takes here.
const BUDGET_SECONDS: f64 = 3600.0;

/// Sees what is measured, and stops the study after this many duels of the search.
struct Watching {
    cancel: Cancel,
    stop_after: usize,
    slices: usize,
    /// What each duel was for, and whether it was fought rather than recalled.
    duels: Vec<(Phase, bool)>,
    search_seconds: f64,
}

impl Observer for Watching {
    fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Slice(_) => self.slices += 1,
            Event::Stage {
                name: "search",
                seconds,
            } => self.search_seconds = seconds,
            Event::Duel { record, .. } => {
                let was_fought = std::mem::take(&mut self.slices) > 0;
                self.duels.push((record.phase, was_fought));
                let searched = self.duels.iter().filter(|duel| duel.0 == Phase::Search);
                if searched.count() >= self.stop_after {
                    self.cancel.cancel();
                }
            }
            _ => {}
        }
    }
}

/// The lever as it applies to this server.
fn candidate() -> Candidate {
    let mut machine = Fingerprint::default();
    machine.cpu.threads = 2;
    machine.memory.bytes = 8 << 30;
    let version = "10.11.19".parse().expect("a version");
    let mut context = Context::new(Family::Mariadb, version, machine);
    context.writes = true;
    context.data_bytes = 1 << 30;
    let levers = load(&[]).expect("the shipped levers");
    let lever = levers.into_iter().find(|lever| lever.id() == LEVER);
    let lever = lever.expect("a shipped lever");
    Candidate {
        change: lever.applicability(&context).expect("applies"),
        span: lever.span(&context),
        prior: None,
        lever,
    }
}

fn options() -> TuneOptions {
    TuneOptions {
        base: Variant::base(SERVER),
        candidates: vec![candidate()],
        not_applicable: Vec::new(),
        goal: Goal::Throughput,
        rate: None,
        // Nothing is proven by so few duels: what is proven is checked for minutes.
        alpha: 1e-6,
        rule: Rule::default(),
        budget_seconds: BUDGET_SECONDS,
        screen_couples: Some(2),
        couples: Some(2),
        slice_seconds: 0.05,
        seed: 7,
        machine: String::new(),
        profile: None,
        noise: None,
    }
}

fn opened(folder: &Path) -> Study {
    let duel_settings = DuelSettings {
        couples: 2,
        slice_seconds: 0.05,
        ramp_seconds: 0.0,
        warm_up_seconds: 0.1,
        disturbance: 1.0,
    };
    Study::for_tests(folder, BUDGET_SECONDS, duel_settings).expect("a folder of its own")
}

/// One sitting, stopped after this many duels of the search; what is decided beforehand is kept by `decide`.
fn sitting(
    folder: &Path,
    stop_after: usize,
    decide: impl FnOnce(&Study) -> Result<()>,
) -> (TuneSummary, Watching, Study) {
    let cancel = Cancel::default();
    let workload = FileWorkload::read(WorkloadFile {
        path: "slow.toml".to_owned(),
        text: WORKLOAD.to_owned(),
    });
    let load = Load {
        workload: WorkloadSpec::of(workload.expect("a workload")),
        engine: "InnoDB".to_owned(),
        threads: 1,
    };
    let cache = Cache::open().expect("the shared cache");
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    let mut bench = Workbench::new(cache, catalog, load, cancel.clone());
    let mut watching = Watching {
        cancel,
        stop_after,
        slices: 0,
        duels: Vec::new(),
        search_seconds: 0.0,
    };
    bench.set_up(SERVER, &mut watching).expect("set up");
    let mut study = opened(folder);
    decide(&study).expect("room");
    let options = options();
    let mut tuning = Tuning::new(&bench, &options);
    let found = conduct(&mut tuning, &mut study, &mut watching).expect("tuned");
    let Found::Summary(Summary::Tune(summary)) = found else {
        panic!("a tuning");
    };
    (*summary, watching, study)
}

fn of_phases(duels: &[(Phase, bool)]) -> [usize; 3] {
    [Phase::Screen, Phase::Search, Phase::Total]
        .map(|phase| duels.iter().filter(|duel| duel.0 == phase).count())
}

#[test]
fn a_search_within_a_tuning_gets_its_time_and_its_winner_is_judged_by_fresh_duels() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [screening, search, total] = DUELS;
    let (stopped, first, study) = sitting(folder.path(), 2, |study| {
        study.keep(&checkpoint::screening_ended(), &screening)?;
        study.keep(&checkpoint::promoted(), &vec![LEVER.to_owned()])
    });
    assert_eq!(of_phases(&first.duels), [5, 2, 0]);
    // Its share of the hour, but for what the total's first look takes.
    let share = SEARCH_SHARE * BUDGET_SECONDS;
    assert!(
        (0.5 * share..=share).contains(&first.search_seconds),
        "{}",
        first.search_seconds
    );
    assert!(!stopped.complete && stopped.total.is_none());
    drop(study);

    let (summary, second, study) = sitting(folder.path(), usize::MAX, |study| {
        study.keep(&checkpoint::search_ended(), &search)?;
        study.keep(&checkpoint::ended(Phase::Total, ""), &total)
    });
    assert_eq!(of_phases(&second.duels), [5, 11, 2]);
    // What was measured before is not measured again.
    let fought: Vec<bool> = second.duels.iter().map(|duel| duel.1).collect();
    assert_eq!(fought, [[false; 7].as_slice(), &[true; 11]].concat());
    assert!(summary.complete);
    let searched = summary.searched.as_ref().expect("a search");
    assert_eq!(u64::from(searched.duels), search);
    let range = &searched.ranges[0];
    assert!(range.start < 5000 && range.chosen >= 5000, "{range:?}");
    // The total speaks of duels that no part of the choice rests on, and of the value that was chosen.
    let judged = summary.total.as_ref().expect("a total").judged();
    assert_eq!(judged.duels as u64, total);
    assert!(judged.estimate.ratio > 2.0, "{judged:?}");
    let chosen = study.done()[16..].iter().map(|duel| &duel.variants[1]);
    let variants = study.store().variants().expect("readable");
    for id in chosen {
        let variant = variants.iter().find(|variant| variant.id == *id);
        let config = &variant.expect("kept").content["config"];
        assert_eq!(config[&range.variable], range.chosen.to_string());
    }
    drop(study);

    let (again, third, _study) = sitting(folder.path(), usize::MAX, |_| Ok(()));
    assert!(third.duels.iter().all(|duel| !duel.1), "{:?}", third.duels);
    assert_eq!(again.searched, summary.searched);
    assert_eq!(again.total, summary.total);
}
