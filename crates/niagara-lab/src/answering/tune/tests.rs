//! A whole tuning on a real server, small: its parts end after numbers of duels that are decided beforehand, as those of a
//! study that continues are, so that no clock decides what is shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use niagara_check::{CheckFinding, CheckRecord, Outcome, Part, PartReport};
use niagara_load::{FileWorkload, WorkloadFile, WorkloadSpec};
use niagara_model::{
    CheckOutcome, CheckPart, DropReason, FinalCheck, Finding, Goal, OVER_SOCKET, Obstacle, Others,
    Recommendation, STEADY_SLICE_SECONDS, SliceRecord, TailGuard, TuneSummary,
};
use niagara_server::machine::Fingerprint;
use niagara_server::{Cache, Cancel, Catalog, Family, file_digest};
use niagara_stats::{Judgement, ROUND_DUELS, Rule};
use niagara_store::Store;

use super::*;
use crate::answering::answer::conduct;
use crate::duels::inventory::MeasuredMachine;
use crate::lever::{Change, Context, load};
use crate::plans::spec::{DuelSettings, Load};
use crate::studies::results_folder::RESULTS_FILE;

/// The distribution's server, which `scripts/setup test` installs.
const SERVER: &str = "/usr/sbin/mariadbd";
/// The lever whose range is searched.
const LEVER: &str = "io-capacity-high";
/// A lever that builds.
const BUILD: &str = "build-pgo";
/// Pages a second that a server may write by default, with the lever, and at the upper end of its range, are on both sides of
/// these.
const WITHIN_THE_RANGE: &str = "5000";
const AT_THE_LEVER: &str = "1000";
/// Every statement sleeps unless the server may write LIMIT pages a second. No machine hides that.
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
statements = ["SELECT name, IF(@@global.innodb_io_capacity < LIMIT, SLEEP(0.02), 0) FROM item WHERE id = :item"]
[transaction.draw]
item = { int = [1, "rows"] }
"#;
/// Duels of the screening, of the search (a round of its race), of the total.
const DUELS: [u64; 3] = [5, ROUND_DUELS as u64, 2];
/// An hour, so that every part has time whatever a start takes here.
const BUDGET_SECONDS: f64 = 3600.0;

/// Sees what is measured, and stops the study after this many duels of the search.
struct NoiseRun {
    cancel: Cancel,
    stop_after: usize,
    slices: usize,
    /// What each duel was for, and whether it was fought rather than recalled.
    duels: Vec<(Phase, bool)>,
    search_seconds: f64,
    /// What was shown last of a question.
    judged: Option<Judgement>,
    results: PathBuf,
    /// Before what is known of each duel is told: whether there is a report of how far the tuning came, should it be killed.
    reported: Vec<bool>,
}

impl NoiseRun {
    fn is_reported(&self) -> bool {
        let store = Store::open_read_only(&self.results);
        let found = store.ok().and_then(|store| store.summary().ok()?);
        let Some(Summary::Tune(tune)) = found else {
            return false;
        };
        let mut told = tune.header.warnings.iter();
        !tune.header.complete && told.any(|warning| warning.finding == Finding::Unfinished)
    }
}

impl Observer for NoiseRun {
    fn see(&mut self, event: Event<'_>) {
        match event {
            Event::Slice(_) => self.slices += 1,
            Event::Judged(judgement, _) => self.judged = Some(judgement.clone()),
            Event::Stage {
                name: "search",
                seconds,
            } => self.search_seconds = seconds,
            Event::Duel { record, .. } => {
                let was_fought = std::mem::take(&mut self.slices) > 0;
                self.duels.push((record.phase, was_fought));
                self.reported.push(self.is_reported());
                let searched = self.duels.iter().filter(|duel| duel.0 == Phase::Search);
                if searched.count() >= self.stop_after {
                    self.cancel.cancel();
                }
            }
            _ => {}
        }
    }
}

/// The lever that builds, as its file has it.
fn build_candidate() -> Candidate {
    let levers = load(&[]).expect("the shipped levers");
    let lever = levers.into_iter().find(|lever| lever.id() == BUILD);
    let mut change = Change::default();
    change.build.insert("pgo".into(), "oltp_insert".into());
    Candidate {
        lever: lever.expect("a shipped lever"),
        change,
        span: None,
        prior: None,
    }
}

/// The lever whose range is searched, as it applies to this server.
pub(super) fn candidate() -> Candidate {
    candidate_of(LEVER)
}

/// A lever as it applies to this server.
fn candidate_of(id: &str) -> Candidate {
    let mut machine = Fingerprint::default();
    machine.cpu.threads = 2;
    machine.memory.bytes = 8 << 30;
    let version = "10.11.19".parse().expect("a version");
    let mut context = Context::new(Family::Mariadb, version, machine);
    context.writes = true;
    context.data_bytes = 1 << 30;
    let levers = load(&[]).expect("the shipped levers");
    let lever = levers.into_iter().find(|lever| lever.id() == id);
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
        machine: MeasuredMachine::default(),
        cpus: 2,
        profile: None,
        noise: None,
        keep: Keep::Proven,
        guard: TailGuard::default(),
        remote_application: false,
        next: None,
        target_sizes: BTreeMap::new(),
    }
}

pub(super) fn opened(folder: &Path, slice_seconds: f64) -> Study {
    let duel_settings = DuelSettings {
        couples: 2,
        slice_seconds,
        ramp_seconds: 0.0,
        warm_up_seconds: 0.1,
        disturbance: 1.0,
    };
    Study::for_tests(folder, BUDGET_SECONDS, duel_settings).expect("a folder of its own")
}

/// One sitting of a search, stopped after this many of its duels; what is decided beforehand is kept by `decide`.
fn sitting(
    folder: &Path,
    stop_after: usize,
    decide: impl FnOnce(&Study) -> Result<()>,
) -> (TuneSummary, NoiseRun, Study) {
    let cache = Cache::open().expect("the shared cache");
    let mut bench = workbench(cache, WITHIN_THE_RANGE);
    tuned(&mut bench, folder, &options(), stop_after, decide)
}

/// A workbench whose load sleeps unless the server may write this many pages a second.
pub(super) fn workbench(cache: Cache, limit: &str) -> Workbench {
    workbench_of(cache, &WORKLOAD.replace("LIMIT", limit))
}

/// A workbench with a load of its own.
fn workbench_of(cache: Cache, workload: &str) -> Workbench {
    let workload = FileWorkload::read(WorkloadFile {
        path: "slow.toml".to_owned(),
        text: workload.to_owned(),
    });
    let load = Load {
        workload: WorkloadSpec::of(workload.expect("a workload")),
        engine: "InnoDB".to_owned(),
        threads: 1,
    };
    let catalog = Catalog::load(&[]).expect("the built-in catalogue");
    Workbench::new(cache, catalog, load, Cancel::default())
}

/// One sitting of the tuning that `options` describe.
fn tuned(
    bench: &mut Workbench,
    folder: &Path,
    options: &TuneOptions,
    stop_after: usize,
    decide: impl FnOnce(&Study) -> Result<()>,
) -> (TuneSummary, NoiseRun, Study) {
    let mut watching = NoiseRun {
        cancel: bench.cancel().clone(),
        stop_after,
        slices: 0,
        duels: Vec::new(),
        search_seconds: 0.0,
        judged: None,
        results: folder.join(RESULTS_FILE),
        reported: Vec::new(),
    };
    bench.set_up(SERVER, &mut watching).expect("set up");
    let mut study = opened(folder, options.slice_seconds);
    decide(&study).expect("room");
    let mut tuning = TuneRun::new(bench, options);
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
    // Killed behind any duel, it leaves a report.
    assert_eq!(first.reported, [[false].as_slice(), &[true; 6]].concat());
    // Its share of the hour, but for what the total's first look takes.
    let share = SEARCH_SHARE * BUDGET_SECONDS;
    assert!(
        (0.5 * share..=share).contains(&first.search_seconds),
        "{}",
        first.search_seconds
    );
    assert!(!stopped.header.complete && stopped.total.is_none());
    drop(study);

    let (summary, second, study) = sitting(folder.path(), usize::MAX, |study| {
        study.keep(&checkpoint::search_ended(), &search)?;
        study.keep(&checkpoint::ended(Phase::Total, ""), &total)
    });
    assert_eq!(of_phases(&second.duels), [5, 11, 2]);
    // What was measured before is not measured again.
    let fought: Vec<bool> = second.duels.iter().map(|duel| duel.1).collect();
    assert_eq!(fought, [[false; 7].as_slice(), &[true; 11]].concat());
    assert!(summary.header.complete);
    let searched = summary.searched.as_ref().expect("a search");
    assert_eq!(u64::from(searched.duels), search);
    let range = &searched.ranges[0];
    assert!(range.start < 5000 && range.chosen >= 5000, "{range:?}");
    // The total speaks of duels that no part of the choice rests on, and of the value that was chosen.
    let judged = summary.total.as_ref().expect("a total").judged();
    assert_eq!(judged.duels as u64, total);
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

/// The suite of the server's own tests found something.
fn failed(bench: &Workbench, variant: &Variant) -> CheckRecord {
    let install = bench.install_of(variant).expect("put there");
    let digest = file_digest(&install.server).expect("readable");
    let mut record = CheckRecord::new(install, digest);
    record.note(PartReport {
        part: Part::Suite,
        outcome: Outcome::Failed,
        figures: Vec::new(),
        findings: vec![CheckFinding::TestWithoutVerdict {
            test: "main.select".to_owned(),
        }],
        more_findings: 0,
        left_out: Vec::new(),
        notes: Vec::new(),
        logs: None,
        seconds: 0.0,
        seed: 0,
        whole: true,
    });
    record
}

#[test]
fn a_build_that_fails_its_check_is_left_out_before_the_total_and_the_rest_is_judged() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
    let study_folder = folder.path().join("study");
    std::fs::create_dir(&study_folder).expect("made");
    let options = TuneOptions {
        candidates: vec![build_candidate(), candidate()],
        ..options()
    };
    let mut bench = workbench(cache.clone(), AT_THE_LEVER);
    let base = &options.base;
    let mut quiet = NoiseRun {
        cancel: Cancel::default(),
        stop_after: usize::MAX,
        slices: 0,
        duels: Vec::new(),
        search_seconds: 0.0,
        judged: None,
        results: PathBuf::new(),
        reported: Vec::new(),
    };
    bench.set_up(SERVER, &mut quiet).expect("set up");
    let built = base.with(BUILD, &options.candidates[0].change);
    let install = bench.install_of(base).expect("set up").clone();
    bench.put(&built, install, base);
    failed(&bench, &built).save(&cache).expect("kept");

    let (summary, watching, study) =
        tuned(&mut bench, &study_folder, &options, usize::MAX, |study| {
            study.keep(&checkpoint::screening_ended(), &10)?;
            study.keep(
                &checkpoint::promoted(),
                &vec![BUILD.to_owned(), LEVER.to_owned()],
            )?;
            study.keep(&checkpoint::searching(), &Vec::new())?;
            study.keep(&checkpoint::ended(Phase::Total, ""), &2)
        });
    assert_eq!(of_phases(&watching.duels), [10, 0, 2]);
    let rungs = summary
        .rungs
        .iter()
        .map(|rung| rung.screened.lever.as_str());
    assert_eq!(rungs.collect::<Vec<_>>(), [LEVER]);
    let said = |summary: &TuneSummary| {
        let mut told = summary.header.warnings.iter();
        told.any(|warning| {
            let text = warning.to_string();
            text.contains("left out before") && text.contains("main.select")
        })
    };
    assert!(said(&summary), "{:?}", summary.header.warnings);
    // What it was measured to do stays in the report, and no build is in what is judged.
    let measured = summary.not_helped.iter();
    assert!(measured.map(|lever| &lever.lever).any(|id| id == BUILD));
    assert!(
        summary.header.builds.is_empty(),
        "{:?}",
        summary.header.builds
    );
    let judged = summary.total.as_ref().expect("a total").judged();
    assert_eq!(judged.duels, 2);
    drop(study);

    // Whatever is known of the build in a later sitting, it takes the same way.
    std::fs::remove_dir_all(cache.root().join("checks")).expect("removed");
    let (again, third, _study) = tuned(&mut bench, &study_folder, &options, usize::MAX, |_| Ok(()));
    assert!(third.duels.iter().all(|duel| !duel.1), "{:?}", third.duels);
    assert_eq!(again.total, summary.total);
    assert!(said(&again), "{:?}", again.header.warnings);
}

/// A lever that does nothing under this load, and one that makes it faster and now and then much slower.
const IDLE: &str = "sort-buffer-large";
const TAIL: &str = "join-buffer-large";
/// The default of what the latter sets.
const JOIN_BUFFER: &str = "262144";

/// The subject of the duels that ask about a lever once more.
fn again(id: &str) -> String {
    format!("again {id}")
}

/// Keeps that the final variant of these candidates passed its checks: they take minutes.
fn keep_checked(study: &Study, options: &TuneOptions, chosen: &[usize]) -> Result<()> {
    let last = with_all(&options.base, &options.candidates, chosen);
    let passed = FinalCheck {
        part: CheckPart::Answers,
        outcome: CheckOutcome::Passed {
            figures: Vec::new(),
        },
        limits: Vec::new(),
    };
    study.keep(&checkpoint::final_checks(&last.id()), &vec![passed])
}

#[test]
fn only_levers_that_earned_it_are_handed_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = TuneOptions {
        candidates: [LEVER, TAIL, IDLE].map(candidate_of).into(),
        alpha: 0.05,
        slice_seconds: 0.2,
        screen_couples: Some(3),
        couples: Some(3),
        ..options()
    };
    let load = WORKLOAD.replace("LIMIT", AT_THE_LEVER).replace(
        " FROM item",
        &format!(
            ", IF(@@global.join_buffer_size > {JOIN_BUFFER}, IF(RAND() < 0.06, SLEEP(0.05), 0), SLEEP(0.006)) FROM item"
        ),
    );
    let mut bench = workbench_of(Cache::open().expect("the shared cache"), &load);
    let (summary, watching, study) =
        tuned(&mut bench, folder.path(), &options, usize::MAX, |study| {
            study.keep(&checkpoint::screening_ended(), &10)?;
            let promoted = [LEVER, TAIL, IDLE].map(str::to_owned);
            study.keep(&checkpoint::promoted(), &promoted.to_vec())?;
            study.keep(&checkpoint::searching(), &Vec::new())?;
            study.keep(&checkpoint::ended(Phase::Whole, ""), &5)?;
            // Two duels show nothing, and it is asked once more.
            study.keep(&checkpoint::ended(Phase::Claim, IDLE), &2)?;
            study.keep(&checkpoint::ended(Phase::Claim, &again(IDLE)), &3)?;
            study.keep(&checkpoint::ended(Phase::Total, ""), &6)?;
            keep_checked(study, &options, &[0])
        });
    let kept: Vec<&str> = (summary.rungs.iter())
        .map(|rung| rung.screened.lever.as_str())
        .collect();
    assert_eq!(kept, [LEVER], "{:?}", summary.dropped);
    let because = |id: &str| {
        let mut dropped = summary.dropped.iter();
        let found = dropped.find(|dropped| dropped.screened.lever == id);
        &found.expect("dropped").because
    };
    assert!(
        matches!(because(TAIL), DropReason::Tail { .. }),
        "{:?}",
        summary.dropped
    );
    assert_eq!(because(IDLE), &DropReason::NotShown);
    let asked: Vec<&str> = (study.done().iter())
        .filter(|duel| duel.phase == Phase::Claim)
        .map(|duel| duel.subject.as_str())
        .collect();
    // Few are asked about one by one.
    assert!(
        [LEVER, TAIL, IDLE]
            .iter()
            .all(|lever| asked.contains(lever)),
        "{asked:?}"
    );
    // Short slices do not decide about a tail.
    assert!(
        asked.contains(&format!("tail of {TAIL}").as_str()),
        "{asked:?}"
    );
    let is_again = |subject: &&&str| **subject == again(IDLE);
    assert_eq!(asked.iter().filter(is_again).count(), 3, "{asked:?}");
    // The total is of what is handed over, in duels of its own.
    assert_eq!(of_phases(&watching.duels)[2], 6);
    // Whoever watches has seen the figure that is kept.
    let total = summary
        .total
        .as_ref()
        .map(niagara_model::Comparison::judged);
    assert_eq!(watching.judged.as_ref(), total);
    assert!(
        summary.header.deployment.is_some(),
        "{:?}",
        summary.header.warnings
    );
    let Some(Recommendation::Install {
        changes,
        with_socket: false,
        over_socket: None,
        benefit,
    }) = &summary.recommendation
    else {
        panic!("{:?}", summary.recommendation);
    };
    assert_eq!((changes.len(), benefit.duels), (1, 6));
    // With an hour there is time for the tail of latency of steady load.
    assert_eq!(benefit.setting.slice_seconds, Some(STEADY_SLICE_SECONDS));
    assert_eq!(benefit.setting.lever_slice_seconds, Some(0.2));
    let of_total = |slice: &SliceRecord| {
        let mut duels = study.done().iter();
        duels.any(|duel| duel.seq == slice.duel && duel.phase == Phase::Total)
    };
    let slices = study.store().slices(None).expect("kept slices");
    let of_total: Vec<f64> = (slices.iter().filter(|slice| of_total(slice)))
        .map(|slice| slice.seconds)
        .collect();
    assert!(
        !of_total.is_empty() && of_total.iter().all(|seconds| *seconds > 0.9),
        "{of_total:?}"
    );
    assert_eq!(benefit.others, Others::NotShown { levers: 2 });
    // All of them together are told of, and not recommended.
    assert_eq!(summary.alternatives.len(), 1);
    drop(study);

    // A later sitting takes the same way without a duel.
    let (again, third, _study) = tuned(&mut bench, folder.path(), &options, usize::MAX, |_| Ok(()));
    assert!(third.duels.iter().all(|duel| !duel.1), "{:?}", third.duels);
    assert_eq!(again.total, summary.total);
    assert_eq!(again.dropped, summary.dropped);
}

#[test]
fn a_lever_that_does_nothing_is_not_handed_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = TuneOptions {
        candidates: [IDLE, TAIL].map(candidate_of).into(),
        alpha: 0.05,
        ..options()
    };
    // Neither does anything under this load.
    let mut bench = workbench(Cache::open().expect("the shared cache"), AT_THE_LEVER);
    let (summary, watching, _study) =
        tuned(&mut bench, folder.path(), &options, usize::MAX, |study| {
            study.keep(&checkpoint::screening_ended(), &8)?;
            let promoted = [IDLE, TAIL].map(str::to_owned);
            study.keep(&checkpoint::promoted(), &promoted.to_vec())?;
            study.keep(&checkpoint::searching(), &Vec::new())?;
            for (phase, subject) in [
                (Phase::Whole, ""),
                (Phase::Claim, IDLE),
                (Phase::Claim, TAIL),
                (Phase::Claim, &again(IDLE)),
                (Phase::Claim, &again(TAIL)),
            ] {
                study.keep(&checkpoint::ended(phase, subject), &2)?;
            }
            Ok(())
        });
    assert!(summary.header.complete && summary.rungs.is_empty() && summary.total.is_none());
    assert_eq!(of_phases(&watching.duels)[2], 0);
    assert_eq!(summary.dropped.len(), 2);
    assert!(summary.header.deployment.is_none());
    let Some(Recommendation::Nothing { because, .. }) = &summary.recommendation else {
        panic!("{:?}", summary.recommendation);
    };
    assert!(matches!(because, Obstacle::NotShown { .. }), "{because:?}");
}

/// Fresh duels with the socket on both sides say what remains over it.
#[test]
fn what_remains_over_the_socket_has_duels_of_its_own() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = TuneOptions {
        candidates: ["transport-unix", LEVER].map(candidate_of).into(),
        alpha: 0.05,
        slice_seconds: 0.1,
        ..options()
    };
    let mut bench = workbench(Cache::open().expect("the shared cache"), AT_THE_LEVER);
    let mut watching = NoiseRun {
        cancel: bench.cancel().clone(),
        stop_after: usize::MAX,
        slices: 0,
        duels: Vec::new(),
        search_seconds: 0.0,
        judged: None,
        results: folder.path().join(RESULTS_FILE),
        reported: Vec::new(),
    };
    bench.set_up(SERVER, &mut watching).expect("set up");
    let mut study = opened(folder.path(), options.slice_seconds);
    for (phase, subject) in [(Phase::Total, ""), (Phase::Claim, OVER_SOCKET)] {
        let ended = checkpoint::ended(phase, subject);
        study.keep(&ended, &5).expect("room");
    }
    let mut tuning = TuneRun::new(&bench, &options);
    let kept = vec![0, 1];
    let judged = tuning.judge_kept(&mut study, &kept, kept.clone(), &mut watching);
    judged.expect("duels");
    let total = tuning.found.total.clone().expect("a total");
    let own = tuning.found.over_socket.clone().expect("duels of its own");
    assert_eq!((total.judged().duels, own.judged().duels), (5, 5));
    assert_eq!(own.b, total.b);
    assert_ne!(own.a, total.a);
}
