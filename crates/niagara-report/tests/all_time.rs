//! Where what a side serves over all time and its median slice are two things, every form of the report says so.

mod fixture;

use fixture::{html, markdown};
use niagara_model::{Comparison, Deployment, RungOutcome, Summary};
use niagara_report::{DeployInput, Report, Study, View, headline, warnings};
use niagara_stats::{AllTime, Verdict};

/// B stands still in a fifth of its slices.
fn standing_still(comparison: &mut Comparison) {
    let judged = &mut comparison.throughput;
    judged.estimate = fixture::estimate(1.01, 1.006, 1.014);
    judged.verdict = Some(Verdict::Undetected);
    judged.withdrawn = true;
    comparison.all_time = Some(AllTime {
        estimate: fixture::estimate(0.82, 0.79, 0.85),
        over_score: Some(fixture::estimate(0.81, 0.79, 0.83)),
        disagrees: true,
        slow: [0.002, 0.2],
    });
}

fn compared(change: impl Fn(&mut Comparison)) -> Summary {
    let mut compare = fixture::compare();
    standing_still(&mut compare.comparison);
    change(&mut compare.comparison);
    Summary::Compare(Box::new(compare))
}

/// Every form, without line breaks.
fn forms(summary: &Summary) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), summary, 2, 0.01);
    let report = Report::load(&store).expect("just written");
    let terminal = |verbose| {
        let view = View {
            width: 100,
            verbose,
            ..View::default()
        };
        fixture::terminal(Study::of(&report), view)
    };
    let page = html(&report).replace('\u{a0}', " ");
    [terminal(false), terminal(true), markdown(&report), page]
        .iter()
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}

fn in_words(summary: &Summary) -> String {
    let told: Vec<String> = warnings(summary).iter().map(ToString::to_string).collect();
    told.join(" ")
}

#[test]
fn every_form_says_that_it_is_not_called_faster_and_why() {
    let summary = compared(|_| ());
    for text in forms(&summary) {
        for words in [
            "is not called faster than mariadb-10.11",
            "× 1.010 [1.006, 1.014] in the median slice, but × 0.82 [0.79, 0.85] over all time",
            "B stood still, or served less than half of its usual rate, in 20 % of its slices (A in 0.2 %)",
            "B served × 0.82 [0.79, 0.85] of what A did",
            "not faster over all time",
        ] {
            assert!(text.contains(words), "no {words:?} in\n{text}");
        }
        assert!(!text.contains("not detected"), "{text}");
    }
}

#[test]
fn where_it_is_faster_over_all_time_as_well_the_call_stands_with_a_caution() {
    let summary = compared(|comparison| {
        comparison.throughput.verdict = Some(Verdict::Faster);
        comparison.throughput.withdrawn = false;
        comparison.throughput.estimate = fixture::estimate(1.31, 1.28, 1.34);
        let all_time = comparison.all_time.as_mut().expect("set above");
        all_time.estimate = fixture::estimate(1.12, 1.05, 1.2);
    });
    assert!(headline(&summary).contains("is 31 % faster than"));
    let told = in_words(&summary);
    assert!(
        told.contains("It is faster over all time as well"),
        "{told}"
    );
    assert!(told.contains("B stood still"), "{told}");
    for text in forms(&summary) {
        assert!(text.contains("over all time"), "{text}");
    }
}

#[test]
fn the_side_that_stands_still_is_named_and_nothing_is_said_where_both_agree() {
    let a_stands_still = compared(|comparison| {
        comparison.throughput.withdrawn = false;
        let all_time = comparison.all_time.as_mut().expect("set above");
        all_time.estimate = fixture::estimate(1.2, 1.1, 1.3);
        all_time.over_score = Some(fixture::estimate(1.19, 1.1, 1.28));
        all_time.slow = [0.15, 0.0];
    });
    let told = in_words(&a_stands_still);
    assert!(told.contains("A stood still"), "{told}");
    assert!(!told.contains("not called faster"), "{told}");
    // Slow slices that are no standstills.
    let uneven = compared(|comparison| {
        comparison.throughput.withdrawn = false;
        comparison.all_time.as_mut().expect("set above").slow = [0.0; 2];
    });
    let told = in_words(&uneven);
    assert!(told.contains("B loses more by its slow slices"), "{told}");
    // Called faster, and less over all time, though that may be chance.
    let open = compared(|comparison| {
        comparison.throughput.withdrawn = false;
        comparison.throughput.verdict = Some(Verdict::Faster);
        let all_time = comparison.all_time.as_mut().expect("set above");
        all_time.estimate = fixture::estimate(0.97, 0.92, 1.02);
        all_time.disagrees = false;
    });
    let told = in_words(&open);
    assert!(told.contains("these duels leave open"), "{told}");
    assert!(
        headline(&open).contains("is 1.0 % faster"),
        "{}",
        headline(&open)
    );
    let agreed = compared(|comparison| {
        comparison.throughput.withdrawn = false;
        comparison.all_time.as_mut().expect("set above").disagrees = false;
    });
    assert_eq!(warnings(&agreed), []);
    // The figure is there all the same, but for one screen, which has throughput once.
    let forms = forms(&agreed);
    let (screen, others) = (&forms[0], &forms[1..]);
    assert!(!screen.contains("over all time"), "{screen}");
    assert!(others.iter().all(|text| text.contains("over all time")));
}

#[test]
fn a_tuning_whose_total_stands_still_hands_nothing_over() {
    let mut tune = fixture::tune();
    let total = tune.total.as_mut().expect("a total");
    standing_still(total);
    let claim = tune.rungs[0].claim.as_mut().expect("a claim");
    standing_still(claim);
    let title = tune.rungs[0].screened.title.clone();
    let summary = Summary::Tune(Box::new(tune));
    assert!(DeployInput::of(&summary).is_none());
    let levers = "mariadb-10.11 with 4 changes is not called faster";
    assert!(
        headline(&summary).starts_with(levers),
        "{}",
        headline(&summary)
    );
    for text in forms(&summary) {
        assert!(text.contains("The final variant stood still"), "{text}");
        let rung = format!("{title}: the server with it stood still");
        assert!(text.contains(&rung), "{text}");
    }
}

#[test]
fn rung_contradicted_over_all_time_is_told() {
    let mut compare = fixture::compare();
    standing_still(&mut compare.comparison);
    let mut claim = compare.comparison;
    claim.throughput.withdrawn = false;
    claim.throughput.verdict = Some(Verdict::Faster);
    let ladder = serde_json::json!({
        "kind": "ladder", "about": null, "protocol": "duel", "server": "s", "server_version": "1",
        "workload": "oltp_write_only", "goal": "throughput", "builds": [], "checks": [], "threads": 8, "seed": 1, "alpha": 0.05, "budget_seconds": 1.0,
        "elapsed_seconds": 1.0, "load_seconds": 1.0, "complete": true, "start": "s", "rungs": [],
        "total": null, "sd_duel": null, "warnings": [],
    });
    let Ok(Summary::Ladder(mut ladder)) = serde_json::from_value(ladder) else {
        panic!("a ladder");
    };
    ladder.header.deployment = Some(Deployment::default());
    ladder.rungs.push(niagara_model::LadderRung {
        title: "one".into(),
        change: String::new(),
        published: None,
        why: None,
        outcome: RungOutcome::Kept {
            claim: Box::new(claim),
        },
    });
    let told = in_words(&Summary::Ladder(ladder));
    assert!(
        told.contains("one: the server with it stood still"),
        "{told}"
    );
    assert!(
        told.contains("By now it would not be called faster"),
        "{told}"
    );
}
