//! Throughput over all time under load, of results that were written before it was told.

mod common;

use common::{comparison, duel, slices, study, variant};
use niagara_stats::{Estimate, Look, Verdict};
use niagara_store::{
    CompareSummary, Comparison, Deployment, DuelRecord, LadderRung, LadderSummary, Phase,
    RungOutcome, SliceRecord, Store, StudyRecord, Summary, duel_totals,
};
use serde_json::json;

/// Duels of eight, of couples in which B serves 1 % more, but stands still in every fifth.
fn standing_still(phase: Phase, subject: &str, from: u32) -> Vec<(DuelRecord, Vec<SliceRecord>)> {
    let one = |seq: u32| {
        let mut own = slices(seq);
        for slice in &mut own {
            slice.transactions = match (slice.side, slice.couple % 5) {
                (1, 0) => 0,
                (1, _) => 707,
                _ => 700,
            };
        }
        let record = DuelRecord {
            phase,
            subject: subject.into(),
            score: Some(1.01f64.ln() + 1e-4 * f64::from(seq)),
            ..duel(seq)
        };
        (record, own)
    };
    (from..from + 8).map(one).collect()
}

/// What an older version kept of them.
fn called_faster() -> Comparison {
    let mut found = comparison(8, Estimate::from_log(0.0104, 0.0099, 0.0108));
    found.throughput.verdict = Some(Verdict::Faster);
    found.throughput.critical = Some(36);
    found.throughput.looks = vec![Look {
        duels: 8,
        critical: Some(36),
    }];
    found
}

fn compared(comparison: Comparison) -> Summary {
    Summary::Compare(Box::new(CompareSummary {
        about: None,
        protocol: "duel".into(),
        workload: "oltp_write_only".into(),
        threads: 32,
        seed: 1,
        elapsed_seconds: 400.0,
        load_seconds: 300.0,
        complete: true,
        builds: Vec::new(),
        comparison,
        deployment: Some(Deployment::default()),
        sd_duel: None,
        warnings: Vec::new(),
    }))
}

/// The summary as it is read of results of these duels, with the study's plan.
fn read(
    plan: serde_json::Value,
    duels: &[(DuelRecord, Vec<SliceRecord>)],
    summary: &Summary,
) -> Summary {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let study = StudyRecord { plan, ..study() };
    let mut store =
        Store::create(&folder.path().join("results.db"), &study).expect("a fresh folder");
    for id in ["a", "b"] {
        store.add_variant(&variant(id)).expect("room");
    }
    for (duel, slices) in duels {
        store.add_duel(duel, slices).expect("room");
    }
    store.set_summary(summary).expect("room");
    let found = store.summary_over_all_time().expect("readable");
    assert_eq!(
        store.summary().expect("readable").as_ref(),
        Some(summary),
        "what is stored stays"
    );
    found.expect("there")
}

fn comparison_in(summary: Summary) -> (Comparison, Option<Deployment>) {
    match summary {
        Summary::Compare(compare) => (compare.comparison, compare.deployment),
        other => panic!("{other:?}"),
    }
}

#[test]
fn older_results_get_the_figure_from_their_slices_and_a_call_that_it_contradicts_is_taken_back() {
    let duels = standing_still(Phase::Compare, "", 0);
    let (found, deployment) = comparison_in(read(json!({}), &duels, &compared(called_faster())));
    let all_time = found.all_time.expect("its slices are there");
    // Couples that were dropped, the fourth, count as well.
    assert!(
        (all_time.estimate.ratio - 0.8 * 1.01).abs() < 1e-9,
        "{all_time:?}"
    );
    assert_eq!((all_time.slow, all_time.disagrees), ([0.0, 0.2], true));
    assert_eq!(found.throughput.verdict, Some(Verdict::Undetected));
    assert!(found.throughput.withdrawn);
    assert_eq!(deployment, None, "nothing is handed over");
    // Read again, nothing changes.
    let again = read(json!({}), &duels, &compared(found.clone()));
    assert_eq!(comparison_in(again).0, found);
}

#[test]
fn what_the_study_held_for_worthwhile_is_what_it_is_held_against() {
    let duels = standing_still(Phase::Compare, "", 0);
    let plan = json!({ "min_effect": 0.5 });
    let (found, deployment) = comparison_in(read(plan, &duels, &compared(called_faster())));
    let all_time = found.all_time.expect("its slices are there");
    assert!(!all_time.disagrees, "{all_time:?}");
    assert_eq!(found.throughput.verdict, Some(Verdict::Faster));
    assert!(deployment.is_some());
}

#[test]
fn without_the_duels_that_were_judged_there_is_no_figure() {
    let duels = standing_still(Phase::Compare, "", 0);
    let mut no_slices = duels.clone();
    no_slices.iter_mut().for_each(|(_, slices)| slices.clear());
    let other_question = standing_still(Phase::Total, "", 0);
    for duels in [&duels[..7], &no_slices, &other_question] {
        let kept = compared(called_faster());
        assert_eq!(read(json!({}), duels, &kept), kept);
    }
    // What arrives at a fixed rate is what both serve.
    let mut at_rate = called_faster();
    at_rate.rate = Some(900.0);
    let kept = compared(at_rate);
    assert_eq!(read(json!({}), &duels, &kept), kept);
}

/// Later rungs began from it: that cannot be undone, and is told.
#[test]
fn a_rung_of_a_ladder_that_was_kept_is_told_about_and_stays_kept() {
    let rung = |title: &str, outcome| LadderRung {
        title: title.into(),
        change: String::new(),
        published: None,
        why: None,
        outcome,
    };
    let claim = || Box::new(called_faster());
    let ladder = LadderSummary {
        about: None,
        protocol: "duel".into(),
        server: "mariadb-10.11".into(),
        server_version: String::new(),
        workload: String::new(),
        threads: 8,
        seed: 1,
        alpha: 0.05,
        budget_seconds: 1.0,
        elapsed_seconds: 1.0,
        load_seconds: 1.0,
        complete: true,
        start: "mariadb-10.11".into(),
        rungs: vec![rung("one", RungOutcome::Kept { claim: claim() })],
        controls: Vec::new(),
        builds: Vec::new(),
        total: Some(called_faster()),
        checks: Vec::new(),
        deployment: Some(Deployment::default()),
        sd_duel: None,
        warnings: Vec::new(),
    };
    let mut duels = standing_still(Phase::Claim, "one", 0);
    duels.extend(standing_still(Phase::Total, "", 8));
    let Summary::Ladder(found) = read(json!({}), &duels, &Summary::Ladder(Box::new(ladder))) else {
        panic!("a ladder");
    };
    let RungOutcome::Kept { claim } = &found.rungs[0].outcome else {
        panic!("kept");
    };
    assert!(claim.all_time.is_some_and(|all_time| all_time.disagrees));
    assert_eq!(claim.throughput.verdict, Some(Verdict::Faster));
    let total = found.total.as_ref().expect("a total");
    assert!(total.throughput.withdrawn && found.deployment.is_none());
}

#[test]
fn slices_of_couples_of_which_one_is_missing_do_not_count() {
    let duel = DuelRecord {
        score: Some(0.0),
        ..duel(3)
    };
    let mut own = slices(3);
    let whole = duel_totals(&duel, &own).expect("twenty couples");
    assert_eq!(whole.slices, [20, 20]);
    own.retain(|slice| (slice.couple, slice.side) != (19, 1));
    // Those of other duels neither.
    own.extend(slices(4));
    let cut_short = duel_totals(&duel, &own).expect("nineteen couples");
    assert_eq!(cut_short.slices, [19, 19]);
    let without_score = DuelRecord {
        score: None,
        ..duel
    };
    assert_eq!(duel_totals(&without_score, &own), None);
}
