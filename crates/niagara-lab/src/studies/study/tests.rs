use super::*;

use niagara_error::Explain as _;
use niagara_model::{
    CompareSummary, Ending, Finding, Goal, Phase, Reason, SliceRecord, StudyHeader, Warning,
};
use niagara_stats::{ErrorBudget, Rule, Verdict};
use serde_json::json;

use crate::answering::comparison::comparison;
use crate::answering::failure_summary::why_unmeasured;
use crate::answering::sequential_test::{RunningTest, SequentialTest};
use crate::plans::observer::Silent;
use crate::studies::series::{Series, SeriesEnd};

const LONGEST: f64 = 4.0;

impl Study {
    /// A study in `folder`, for tests.
    pub(crate) fn for_tests(
        folder: &Path,
        budget_seconds: f64,
        duel_settings: DuelSettings,
    ) -> Result<Self> {
        let options = StudyOptions {
            folder: folder.to_owned(),
            budget_seconds,
            duel_settings,
            protocol: Protocol::Duel,
            begins_part: false,
        };
        Study::open(&record(), options)
    }
}

fn record() -> StudyRecord {
    StudyRecord {
        kind: "tune".into(),
        command: "niagara tune".into(),
        key: "k".into(),
        seed: 5,
        started_unix_ms: 0,
        plan: json!({}),
        machine: json!({}),
        niagara_version: "0".into(),
    }
}

fn open(folder: &Path) -> Result<Study> {
    let duel_settings = DuelSettings {
        couples: 4,
        slice_seconds: 0.5,
        ramp_seconds: 0.05,
        warm_up_seconds: LONGEST,
        disturbance: 0.05,
    };
    Study::for_tests(folder, 600.0, duel_settings)
}

/// A start that is steady after `ramp` of 40 tenths of a second.
fn start(ramp: usize) -> Vec<f64> {
    (0..40)
        .map(|i| {
            let wobble = ((i * 7919) % 13) as f64 / 3.0;
            1000.0 + wobble
                - if i < ramp {
                    700.0 - 20.0 * i as f64
                } else {
                    0.0
                }
        })
        .collect()
}

/// The variants of the duels.
pub(crate) fn variants(store: &Store) {
    for id in ["a", "b"] {
        store
            .add_variant(&VariantRecord {
                id: id.into(),
                label: id.into(),
                content: json!({}),
                command: String::new(),
                server_version: String::new(),
            })
            .expect("room");
    }
}

/// The duel of this number.
pub(crate) fn duel(seq: u32) -> DuelRecord {
    DuelRecord {
        seq,
        phase: Phase::Compare,
        subject: String::new(),
        variants: ["a".into(), "b".into()],
        seed: u64::from(seq),
        started_unix_ms: i64::from(seq) * 10_000,
        wall_seconds: 5.0,
        load_seconds: 4.0,
        score: Some(0.0),
        cpu_score: None,
        raw_score: None,
        latency_scores: None,
        p99_score: None,
        couples: 4,
        dropped: [0, 0],
        ending: Ending::Scored,
    }
}

/// What `once` does with a duel that was fought.
fn fought(study: &mut Study, seq: u32) {
    variants(&study.store);
    let curves = [start(5 + seq as usize), start(6)].map(as_kept);
    study.keep_curves(seq, &curves).expect("room");
    study
        .store
        .add_duel(&duel(seq), &[] as &[SliceRecord])
        .expect("room");
    study.learn_warm_up(&curves).expect("room");
}

#[test]
fn a_continued_study_settles_the_same_warm_up_after_the_same_duel() {
    let whole = tempfile::tempdir().expect("a temporary folder");
    let mut study = open(whole.path()).expect("new");
    for seq in 0..3 {
        assert_eq!(
            study.duel_settings().warm_up_seconds,
            LONGEST,
            "after {seq} duels"
        );
        fought(&mut study, seq);
    }
    let settled = study.duel_settings().warm_up_seconds;
    assert!(settled < LONGEST);

    let parts = tempfile::tempdir().expect("a temporary folder");
    for seq in 0..3 {
        let mut study = open(parts.path()).expect("new, or continued");
        assert_eq!(
            study.duel_settings().warm_up_seconds,
            LONGEST,
            "after {seq} duels"
        );
        fought(&mut study, seq);
    }
    let study = open(parts.path()).expect("continued");
    assert_eq!(study.duel_settings().warm_up_seconds, settled);
}

#[test]
fn curves_of_a_duel_that_was_lost_do_not_count() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut study = open(folder.path()).expect("new");
    fought(&mut study, 0);
    fought(&mut study, 1);
    // Killed between the curves and the duel.
    let steep = [start(30), start(30)];
    study.keep_curves(2, &steep).expect("room");
    drop(study);
    let mut study = open(folder.path()).expect("continued");
    assert_eq!(study.duel_settings().warm_up_seconds, LONGEST);
    fought(&mut study, 2);
    assert!(study.duel_settings().warm_up_seconds < LONGEST);
}

#[test]
fn decisions_are_kept_once_and_by_their_whole_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let study = open(folder.path()).expect("new");
    let decision = |key: &str, value| Event::Decision {
        key: key.to_owned(),
        value,
    };
    for (key, value) in [
        ("couples", 23),
        ("warm-up", 1),
        ("ended Claim malloc-jemalloc", 7),
    ] {
        study.note(&decision(key, json!(value))).expect("room");
    }
    let couples = || study.recall_or(&checkpoint::couples(), || Ok(40));
    assert_eq!(couples().expect("readable"), 23);
    assert_eq!(
        study.recall(&checkpoint::warm_up()).expect("readable"),
        Some(1.0)
    );
    let ended = checkpoint::ended(Phase::Claim, "malloc-jemalloc");
    assert_eq!(study.recall(&ended).expect("readable"), Some(7));
    let other = checkpoint::ended(Phase::Claim, "malloc");
    assert_eq!(study.recall(&other).expect("readable"), None);
    let promoted = || vec!["transport-unix".to_owned()];
    for decided in [promoted(), Vec::new()] {
        let kept = study.recall_or(&checkpoint::promoted(), || Ok(decided));
        assert_eq!(kept.expect("readable"), promoted());
    }
    let many = decision("couples", json!("many"));
    study.note(&many).expect("room");
    let error = format!("{:#}", couples().expect_err("no number"));
    assert!(
        error.contains("couples") && error.contains("--out"),
        "{error}"
    );
}

#[test]
fn a_study_is_run_by_one_at_a_time_and_keeps_its_seed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let study = open(folder.path()).expect("new");
    let error = open(folder.path()).err().expect("taken");
    let told = error.explain().to_string();
    assert!(told.contains("--out"), "{told}");
    assert_eq!(study.seed(), 5);
    drop(study);
    open(folder.path()).expect("free again");
}

/// A compiler that was not there is there when the study is continued, and the other way round.
#[test]
fn what_was_not_to_be_had_stays_so_while_duels_behind_it_are_recalled() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let had = |study: &mut Study, subject: &str| {
        let made = study.made_or_missing(subject, |_| Ok(Ok::<u32, Reason>(1)));
        made.expect("as it was")
    };
    let no_compiler = || Reason::NotAvailable {
        error: Box::new("no compiler".into()),
    };
    let lacking = |study: &mut Study, subject: &str| {
        study.made_or_missing(subject, |_| Ok(Err::<u32, Reason>(no_compiler())))
    };
    let no_compiler = Err(no_compiler());
    let mut study = open(folder.path()).expect("new");
    assert_eq!(lacking(&mut study, "first").expect("kept"), no_compiler);
    assert_eq!(had(&mut study, "second"), Ok(1));
    // Its duels have no subject.
    assert_eq!(had(&mut study, ""), Ok(1));
    fought(&mut study, 0);
    drop(study);

    let mut study = open(folder.path()).expect("continued");
    assert!(study.has_recalled());
    assert_eq!(had(&mut study, "first"), no_compiler);
    // It was not measured: it is left out, and is from here on.
    assert_eq!(lacking(&mut study, "second").expect("kept"), no_compiler);
    assert_eq!(had(&mut study, "second"), no_compiler);
    let error = lacking(&mut study, "").expect_err("it was measured");
    let error = error.explain().to_string();
    assert!(
        error.contains("no compiler") && error.contains("--out"),
        "{error}"
    );
    // Behind all that was measured it is tried again.
    study.next = study.recalled.len();
    assert_eq!(had(&mut study, "first"), Ok(1));
}

#[test]
fn nothing_is_written_to_results_that_changed_since_they_were_chosen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let study = open(folder.path()).expect("new");
    let kept = study.store.events().expect("readable").len();
    let options = StudyOptions {
        folder: folder.path().to_owned(),
        budget_seconds: 600.0,
        duel_settings: study.duel_settings,
        protocol: Protocol::Duel,
        begins_part: true,
    };
    drop(study);
    let refused = Study::open_if(&record(), options, |there| {
        assert!(there.is_some(), "it is there");
        bail!("another part is there")
    });
    let error = refused.err().expect("refused");
    assert_eq!(error.to_string(), "another part is there");
    let store = Store::open_read_only(&folder.path().join(RESULTS_FILE)).expect("there");
    assert_eq!(store.events().expect("readable").len(), kept);
    open(folder.path()).expect("free again");
}

/// What is measured in parts: nothing that one of them measured, decided or used of its time is another one's.
#[test]
fn a_part_begins_behind_what_is_there_and_is_continued_by_itself() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let part = |begins_part: bool| {
        let options = StudyOptions {
            folder: folder.path().to_owned(),
            budget_seconds: 600.0,
            duel_settings: DuelSettings {
                couples: 4,
                slice_seconds: 0.5,
                ramp_seconds: 0.05,
                warm_up_seconds: LONGEST,
                disturbance: 0.05,
            },
            protocol: Protocol::Duel,
            begins_part,
        };
        Study::open(&record(), options).expect("new, or continued")
    };
    let mut study = part(true);
    fought(&mut study, 0);
    fought(&mut study, 1);
    study.keep(&checkpoint::couples(), &4).expect("room");
    // Killed: no time is kept but that of its duels.
    drop(study);
    let mut study = part(true);
    assert!(!study.is_resumed() && !study.has_recalled());
    assert_eq!(study.earlier_parts().len(), 2);
    assert_eq!(
        study.recall(&checkpoint::couples()).expect("readable"),
        None
    );
    assert_eq!((study.used_seconds(), study.total_seconds()), (0.0, 10.0));
    assert_eq!(study.left_seconds(), 600.0);
    study.keep(&checkpoint::couples(), &8).expect("room");
    fought(&mut study, 2);
    drop(study);
    let study = part(false);
    assert!(study.is_resumed() && study.has_recalled());
    assert_eq!((study.used_seconds(), study.total_seconds()), (5.0, 15.0));
    let couples = checkpoint::couples();
    assert_eq!(study.recall(&couples).expect("readable"), Some(8));
}

/// The budget is what all sittings together may take, also those that were killed.
#[test]
fn the_time_of_a_killed_sitting_counts_beside_that_of_one_that_ended_in_order() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut study = open(folder.path()).expect("new");
    fought(&mut study, 0);
    fought(&mut study, 1);
    // Ended in order after 100 seconds, ten of which were duels.
    study.store.add_run_time(100.0, 8.0).expect("room");
    study.keep(&checkpoint::time_kept(), &2).expect("room");
    drop(study);
    let mut study = open(folder.path()).expect("continued");
    assert_eq!((study.used_seconds(), study.load_seconds()), (100.0, 8.0));
    fought(&mut study, 2);
    // Killed.
    drop(study);
    for _ in 0..2 {
        let study = open(folder.path()).expect("continued");
        assert_eq!((study.used_seconds(), study.load_seconds()), (105.0, 12.0));
    }
}

#[test]
fn a_sitting_that_is_stopped_while_it_recalls_keeps_no_duel_s_time_twice() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut study = open(folder.path()).expect("new");
    fought(&mut study, 0);
    fought(&mut study, 1);
    drop(study);
    let mut study = open(folder.path()).expect("continued");
    study.start_clock();
    study.end_sitting().expect("room");
    drop(study);
    let used = open(folder.path()).expect("continued").used_seconds();
    assert!((10.0..11.0).contains(&used), "{used}");
}

#[test]
fn what_failed_is_tried_again_once_by_each_sitting_that_takes_over() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut study = open(folder.path()).expect("new");
    assert!(!study.tries_again().expect("readable"));
    fought(&mut study, 0);
    fought(&mut study, 1);
    drop(study);
    let mut study = open(folder.path()).expect("continued");
    assert!(
        !study.tries_again().expect("readable"),
        "all to be recalled"
    );
    study.next = 2;
    assert!(study.tries_again().expect("readable"));
    study.next = 3;
    assert!(!study.tries_again().expect("readable"), "its own duel");
    fought(&mut study, 2);
    fought(&mut study, 3);
    drop(study);
    // A third sitting takes the way of the second, and tries again on its own.
    let mut study = open(folder.path()).expect("continued");
    for (next, expected) in [(0, false), (1, false), (2, true), (3, false), (4, true)] {
        study.next = next;
        assert_eq!(study.tries_again().expect("readable"), expected, "{next}");
    }
}

/// B against A by up to 44 duels.
fn comparison_of(sides: &[Variant; 2]) -> SequentialTest<'_> {
    SequentialTest {
        phase: Phase::Compare,
        subject: "",
        goal: Goal::Throughput,
        a: &sides[0],
        b: &sides[1],
        errors: ErrorBudget::two_sided(0.05, 44),
        rule: Rule::default(),
        shape: 4.into(),
        seed: 1,
        reserve_seconds: 0.0,
        must_answer: true,
        narrow_to: None,
        continues: None,
        best_part: None,
    }
}

/// A duel that B did not survive, or A.
pub(crate) fn failed(seq: u32, side: u8) -> DuelRecord {
    DuelRecord {
        score: None,
        ending: Ending::Failed {
            side,
            reason: "killed".into(),
        },
        ..duel(seq)
    }
}

#[test]
fn a_comparison_that_failed_is_tried_again_by_the_same_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut study = open(folder.path()).expect("new");
    let sides = [Variant::base("a"), Variant::base("b")];
    let test = comparison_of(&sides);
    let failed = |seq: u32| failed(seq, 1);
    // The duels that it asks for until it gives up, of those that are there and of this sitting's.
    let asked = |study: &mut Study, from: u32, most: u32| {
        let mut running = RunningTest::begin(study, &test).expect("readable");
        let asked = (0..most).take_while(|&seq| {
            study.next = seq as usize;
            let next = running.next(study, &mut Silent).expect("readable");
            if next.is_some() {
                running.take(study, failed(seq), &mut Silent).expect("room");
                if seq >= from {
                    study.store.add_duel(&failed(seq), &[]).expect("room");
                }
            }
            next.is_some()
        });
        asked.count()
    };
    variants(&study.store);
    assert_eq!(asked(&mut study, 0, 9), 2);
    drop(study);
    let mut study = open(folder.path()).expect("continued");
    assert_eq!(asked(&mut study, 2, 9), 4);
    drop(study);
    let mut study = open(folder.path()).expect("continued");
    assert_eq!(asked(&mut study, 4, 9), 6);
}

/// B wins every duel that both survive; what of it is claimed depends on how it fares in the others.
#[test]
fn a_side_that_fails_again_and_again_is_not_called_faster() {
    let sides = [Variant::base("a"), Variant::base("b")];
    let test = comparison_of(&sides);
    let of = |sign: f64, failing: &dyn Fn(u32) -> Option<u8>| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut study = open(folder.path()).expect("new");
        let mut running = RunningTest::begin(&study, &test).expect("readable");
        for seq in 0..44 {
            study.next = seq as usize;
            if running
                .next(&study, &mut Silent)
                .expect("readable")
                .is_none()
            {
                break;
            }
            let record = match failing(seq) {
                Some(side) => failed(seq, side),
                None => DuelRecord {
                    score: Some(sign * (0.10 + f64::from(seq) * 1e-3)),
                    ..duel(seq)
                },
            };
            running.take(&study, record, &mut Silent).expect("room");
        }
        running.outcome(SeriesEnd::Finished)
    };
    let outcome = |failing: &dyn Fn(u32) -> Option<u8>| of(1.0, failing);
    let verdict = |failing: &dyn Fn(u32) -> Option<u8>| outcome(failing).judgement.verdict;
    assert_eq!(verdict(&|_| None), Some(Verdict::Faster));
    assert_eq!(
        verdict(&|seq| (seq == 3).then_some(1)),
        Some(Verdict::Faster)
    );
    // It dies in every second duel.
    let every_second = outcome(&|seq| (seq % 2 == 1).then_some(1));
    assert_eq!(every_second.judgement.verdict, Some(Verdict::Undetected));
    assert!(
        every_second
            .findings
            .iter()
            .any(|found| matches!(found, Finding::FasterWhereBothSurvived { .. })),
        "{:?}",
        every_second.findings
    );
    // It wins seven times and dies twice in a row, after A had failed once.
    let at_last = outcome(&|seq| match seq {
        0 => Some(0),
        1..8 => None,
        _ => Some(1),
    });
    assert_eq!(at_last.judgement.verdict, Some(Verdict::Undetected));
    let failure = at_last.failure.expect("B failed");
    assert_eq!(failure.variant, "b");
    assert_eq!(at_last.failed_side, Some(1));
    // Whatever is called A: it wins every duel that it survives, and dies in every second one.
    let of_a = of(-1.0, &|seq| (seq % 2 == 1).then_some(0));
    assert_eq!(of_a.judgement.verdict, Some(Verdict::Undetected));
    assert!(
        of_a.findings
            .iter()
            .any(|found| found.to_string().starts_with("a was faster")),
        "{:?}",
        of_a.findings
    );
    // That B loses and dies is no reason not to call it slower.
    let of_b = of(-1.0, &|seq| (seq % 2 == 1).then_some(1));
    assert_eq!(of_b.judgement.verdict, Some(Verdict::Slower));
}

/// A question of which the time ended behind a duel that a side did not survive was not left for want of time alone.
#[test]
fn a_duel_that_failed_before_the_time_ended_is_told() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let study = open(folder.path()).expect("new");
    let sides = [Variant::base("a"), Variant::base("b")];
    let test = comparison_of(&sides);
    let mut running = RunningTest::begin(&study, &test).expect("readable");
    let told = |running: &RunningTest<'_>| why_unmeasured(&running.outcome(SeriesEnd::OutOfTime));
    assert_eq!(told(&running), None);
    running
        .take(&study, failed(0, 1), &mut Silent)
        .expect("room");
    assert_eq!(
        told(&running).map(|reason| reason.to_string()).as_deref(),
        Some("the time ended after a duel that failed: b could not be measured: killed")
    );
}

/// The slices of a duel of ten couples in which B serves `gain` times what A does and stands still in `still` of them.
fn slices_of(seq: u32, gain: f64, still: u32) -> Vec<SliceRecord> {
    let of = |couple: u32, side: u8| SliceRecord {
        duel: seq,
        couple,
        side,
        first: side == 0,
        started_unix_ms: 0,
        seconds: 1.0,
        transactions: match side {
            0 => 1000,
            _ if couple < still => 0,
            _ => (1000.0 * gain).round() as u64,
        },
        queries: 0,
        errors: BTreeMap::new(),
        latency_us: [1; 5],
        server_cpu_seconds: 1.0,
        client_cpu_seconds: 1.0,
        transactions_whole: 1000,
        client_context_switches: 0,
        server_context_switches: 0,
        steal: 0.0,
        taken: 0.0,
        generator_busy: 0.0,
        disturbed: false,
        histogram: String::new(),
    };
    (0..10)
        .flat_map(|couple| [of(couple, 0), of(couple, 1)])
        .collect()
}

/// B does 5 % more in its median slice; whether that is called depends on what it serves over all time.
#[test]
fn a_side_that_stands_still_in_a_fifth_of_its_slices_is_not_called_faster() {
    let sides = [Variant::base("a"), Variant::base("b")];
    let found = |still: u32, rate: Option<f64>| {
        let test = comparison_of(&sides);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut study = open(folder.path()).expect("new");
        if let Some(rate) = rate {
            study.set_rate(rate);
        }
        variants(&study.store);
        let mut running = RunningTest::begin(&study, &test).expect("readable");
        for seq in 0..8 {
            study.next = seq as usize;
            let next = running.next(&study, &mut Silent).expect("readable");
            assert!(next.is_some(), "after {seq} duels");
            let record = DuelRecord {
                score: Some(0.05 + f64::from(seq) * 1e-3),
                ..duel(seq)
            };
            let slices = slices_of(seq, 1.05, still);
            study.store.add_duel(&record, &slices).expect("room");
            running.take(&study, record, &mut Silent).expect("readable");
        }
        // A look: what is kept now is what is told of a process that is killed.
        let killed = running.outcome(SeriesEnd::GoesOn).judgement.verdict;
        let outcome = running.outcome(SeriesEnd::Finished);
        assert_eq!(killed, outcome.judgement.verdict);
        comparison(&study, &test, &outcome).expect("readable")
    };
    let steady = found(0, None);
    assert_eq!(steady.judged().verdict, Some(Verdict::Faster));
    let all_time = steady.all_time.expect("eight duels");
    assert!((all_time.estimate.ratio - 1.05).abs() < 1e-9 && !all_time.disagrees);

    let still = found(2, None);
    assert_eq!(still.judged().verdict, Some(Verdict::Undetected));
    assert!(still.judged().withdrawn);
    let all_time = still.all_time.expect("eight duels");
    assert!(
        (all_time.estimate.ratio - 0.84).abs() < 1e-9,
        "{all_time:?}"
    );
    assert_eq!(all_time.slow, [0.0, 0.2]);

    // What arrives at a fixed rate is what both serve.
    assert_eq!(found(2, Some(900.0)).all_time, None);
}

/// Forty slices of a duel: of all couples but the first two B's is as fast as A's; in those two others take a third of the CPUs, from B.
fn provoked(duel: u32) -> Vec<SliceRecord> {
    let slice = |couple: u32, side: u8| {
        let taken = match (side, couple) {
            (1, 0 | 1) => 0.34,
            // What is taken from either is never quite the same.
            _ => 0.01 * f64::from((duel + (1 + u32::from(side)) * couple) % 3),
        };
        SliceRecord {
            duel,
            couple,
            side,
            first: side == 0,
            started_unix_ms: 0,
            seconds: 1.0,
            transactions: (1000.0 * (1.0 - taken)) as u64,
            queries: 1000,
            errors: BTreeMap::new(),
            latency_us: [1000; 5],
            server_cpu_seconds: 1.0,
            client_cpu_seconds: 0.1,
            transactions_whole: 1000,
            client_context_switches: 0,
            server_context_switches: 0,
            steal: 0.0,
            taken,
            generator_busy: 0.0,
            disturbed: false,
            histogram: String::new(),
        }
    };
    let couples = (0..20).map(|couple| [slice(couple, 0), slice(couple, 1)]);
    couples.collect::<Vec<_>>().concat()
}

/// What B provokes in a few slices of each duel no duel tells from chance; all of them do, and then nothing is allowed for it.
#[test]
fn what_one_side_provokes_now_and_then_is_allowed_for_nowhere() {
    let sides = [Variant::base("a"), Variant::base("b")];
    let test = comparison_of(&sides);
    let outcome = |disturbance: f64, known: &dyn Fn(&Study)| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let duel_settings = DuelSettings {
            couples: 20,
            slice_seconds: 1.0,
            ramp_seconds: 0.0,
            warm_up_seconds: LONGEST,
            disturbance,
        };
        let mut study = Study::for_tests(folder.path(), 600.0, duel_settings).expect("new");
        variants(&study.store);
        known(&study);
        let mut running = RunningTest::begin(&study, &test).expect("readable");
        for seq in 0..8 {
            let record = DuelRecord {
                // As allowed for, and as measured.
                score: Some(0.001),
                raw_score: Some(-0.02),
                ..duel(seq)
            };
            study.store.add_duel(&record, &provoked(seq)).expect("room");
            study.next = seq as usize + 1;
            running.take(&study, record, &mut Silent).expect("readable");
        }
        let outcome = running.outcome(SeriesEnd::Finished);
        let told = comparison(&study, &test, &outcome).expect("readable");
        (outcome, told)
    };
    let (outcome_found, told) = outcome(0.05, &|_| {});
    assert_eq!(
        (outcome_found.as_measured, told.as_measured),
        (Some(1), Some(1))
    );
    // By its own slices: neither score that the record has.
    for found in &outcome_found.duels {
        assert_eq!(found.score, found.raw_score);
        let score = found.score.expect("scored");
        assert!(score.abs() < 0.02 && score != 0.001, "{score}");
    }
    assert!(
        matches!(
            told.caution,
            Some(Finding::TakenFromOneSide { side: 1, .. })
        ),
        "{:?}",
        told.caution
    );
    // Where nothing is allowed for, and in results from before it was asked, duels count as they are.
    let before = |study: &Study| {
        let key = checkpoint::asks_for_side(Phase::Compare, "");
        study.keep(&key, &false).expect("room");
    };
    for (found, _) in [outcome(1.0, &|_| {}), outcome(0.05, &before)] {
        assert_eq!(found.as_measured, None);
        assert!(found.duels.iter().all(|duel| duel.score == Some(0.001)));
    }
}

/// What a comparison came to so far.
fn told(study: &Study, test: &SequentialTest<'_>, running: &RunningTest<'_>) -> Result<Summary> {
    let outcome = running.outcome(SeriesEnd::GoesOn);
    Ok(Summary::Compare(Box::new(CompareSummary {
        header: StudyHeader {
            about: None,
            server: "a".into(),
            server_version: String::new(),
            workload: "w".into(),
            goal: Goal::Throughput,
            rate: None,
            protocol: "duel".into(),
            seed: 1,
            alpha: 0.05,
            budget_seconds: None,
            elapsed_seconds: study.used_seconds(),
            load_seconds: study.load_seconds(),
            complete: false,
            sd_duel: None,
            builds: Vec::new(),
            checks: Vec::new(),
            deployment: None,
            warnings: outcome
                .findings
                .iter()
                .cloned()
                .map(Warning::from)
                .collect(),
        },
        threads: 1,
        upgrade: None,
        runs: None,
        comparison: comparison(study, test, &outcome)?,
    })))
}

/// Should the process be killed between two duels, what it kept by then is what is reported.
#[test]
fn how_far_a_study_came_is_kept_as_it_goes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let reported = || {
        let store = Store::open_read_only(&folder.path().join(RESULTS_FILE)).expect("there");
        match store.summary().expect("readable") {
            Some(Summary::Compare(found)) => Some(found),
            _ => None,
        }
    };
    let sides = [Variant::base("a"), Variant::base("b")];
    let test = comparison_of(&sides);
    let mut study = open(folder.path()).expect("new");
    let mut running = RunningTest::begin(&study, &test).expect("readable");
    let asked = running.next(&study, &mut Silent).expect("readable");
    assert!(asked.is_some());
    assert_eq!(reported(), None);
    let take = |running: &mut RunningTest<'_>, study: &Study, seq: u32| {
        let record = DuelRecord {
            score: Some(0.1),
            ..duel(seq)
        };
        running.take(study, record, &mut Silent).expect("readable");
    };
    fought(&mut study, 0);
    take(&mut running, &study, 0);
    // What cannot be told is no reason to stop measuring.
    study.tell_so_far(|_| bail!("a figure that is none"));
    assert_eq!(reported(), None);
    study.told = None;
    study.tell_so_far(|study| told(study, &test, &running));
    // Killed.
    drop(study);
    let found = reported().expect("kept");
    assert!(!found.header.complete);
    let judged = found.comparison.judged();
    assert_eq!((judged.duels, judged.verdict), (1, None));
    let said = |words: &str| {
        found
            .header
            .warnings
            .iter()
            .any(|one| one.to_string().contains(words))
    };
    assert!(said("interrupted before a verdict"), "{found:?}");
    assert!(said("the same command continues"), "{found:?}");

    // What is known again while its duels are recalled is less.
    let mut study = open(folder.path()).expect("continued");
    let mut running = RunningTest::begin(&study, &test).expect("readable");
    study.tell_so_far(|_| panic!("the results say more"));
    assert_eq!(reported().expect("kept").comparison.judged().duels, 1);
    take(&mut running, &study, 0);
    take(&mut running, &study, 1);
    study.next = 2;
    study.tell_so_far(|study| told(study, &test, &running));
    assert_eq!(reported().expect("kept").comparison.judged().duels, 2);
}

#[test]
fn steps_are_of_duels_that_are_stored_each_once() {
    let steps = |seconds: f64| {
        let step = StepTime {
            name: "copy".into(),
            seconds,
        };
        [vec![step.clone()], vec![step]]
    };
    let kept = |duel: u32, seconds: f64| Event::Steps {
        duel,
        seconds: [0, 1].map(|_| vec![("copy".to_owned(), seconds)]),
    };
    // The second duel was lost with its process and fought again; the third is about to be stored.
    let events = [kept(0, 1.0), kept(1, 2.0), kept(1, 3.0), kept(2, 4.0)];
    let told = steps_of_duels(events.into_iter(), 2);
    assert_eq!(told, [steps(1.0), steps(3.0)]);
}
