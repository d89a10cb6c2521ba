//! Two studies side by side, in every form.

mod fixture;

use niagara_model::{Finding, Goal, SeriesOfRuns, Summary, TuneSummary};
use niagara_report::{Format, Report, SideBySide, Source, View};
use niagara_stats::{Estimate, IntervalEstimate};
use serde_json::json;

fn report(summary: &Summary) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), summary, 2, 0.27);
    Report::load(&store).expect("just written")
}

fn tuned(tune: TuneSummary) -> Report {
    report(&Summary::Tune(Box::new(tune)))
}

/// The fixture's tuning, and the same on a machine with more CPUs and a newer kernel, where the socket matters less.
fn two_machines() -> [Report; 2] {
    let first = tuned(fixture::tune());
    let mut tune = fixture::tune();
    let total = tune.total.as_mut().expect("a total");
    total.throughput.estimate = fixture::estimate(1.182, 1.153, 1.212);
    total.cpu_per_transaction = Some(fixture::estimate(0.862, 0.851, 0.874));
    tune.rungs[0].screened.effect = fixture::estimate(1.081, 1.069, 1.093);
    tune.rungs.remove(3);
    tune.not_helped[0].effect = fixture::estimate(1.004, 0.994, 1.015);
    tune.not_helped.push(fixture::screened(
        "io-uring",
        "io_uring",
        "innodb_use_native_aio = ON",
        1.006,
    ));
    let mut second = tuned(tune);
    second.study.machine["cpu"] =
        json!({"model": "AMD EPYC 9654", "threads": 16, "flags": ["avx2", "bmi2"]});
    second.study.machine["system"] = json!({"kernel": "6.12.0-2-amd64"});
    second.study.command = "niagara tune mariadb-10.11 --budget 2h --seed 7".into();
    [first, second]
}

fn beside(reports: &[Report; 2]) -> SideBySide {
    SideBySide::of([&reports[0], &reports[1]], ["results/old", "results/new"])
}

fn on_terminal(both: &SideBySide, colour: bool, width: usize, verbose: bool) -> String {
    let view = View {
        colour,
        width,
        verbose,
    };
    fixture::written(&Source::from(both), Format::Text, view)
}

fn in_format(both: &SideBySide, format: Format) -> String {
    fixture::written(&Source::from(both), format, View::default())
}

#[test]
fn two_machines_on_a_terminal() {
    let reports = two_machines();
    let text = on_terminal(&beside(&reports), false, 140, false);
    insta::assert_snapshot!(text);
    assert!(text.starts_with(
        "The results differ, with differences in set-up: throughput B over A is × 1.31"
    ));
}

#[test]
fn narrow_terminals_get_narrow_lines() {
    let reports = two_machines();
    for width in [60, 80, 200] {
        let text = on_terminal(&beside(&reports), true, width, true);
        for line in text.lines() {
            let columns = console::measure_text_width(line);
            // A word longer than the terminal keeps its line to itself.
            assert!(
                columns <= width || !line.trim().contains(' '),
                "{width}: {line}"
            );
        }
    }
    insta::assert_snapshot!(on_terminal(&beside(&reports), false, 80, false));
}

#[test]
fn two_machines_in_markdown() {
    insta::assert_snapshot!(in_format(&beside(&two_machines()), Format::Markdown));
}

#[test]
fn the_page_has_everything_and_nothing_from_elsewhere() {
    let page = in_format(&beside(&two_machines()), Format::Html);
    if let Some(folder) = std::env::var_os("NIAGARA_TEST_PAGES") {
        let file = std::path::Path::new(&folder).join("side-by-side.html");
        std::fs::write(file, &page).expect("room");
    }
    for words in [
        "second over first",
        "What differs in set-up",
        "AMD EPYC 9654",
        "results/old",
        "Bonferroni",
        "<svg viewBox",
        "What does not differ",
    ] {
        assert!(page.contains(words), "{words}");
    }
    for outside in ["http:", "https:", "src=", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn json_says_what_differs_and_how_it_was_judged() {
    let value = serde_json::to_value(beside(&two_machines())).expect("plain data");
    assert_eq!(value["total"]["differs"], true);
    assert_eq!(value["alpha"], 0.05);
    let parts = value["parts"].as_array().expect("levers");
    // Three of the total's other figures, and every lever that both tried.
    assert_eq!(value["family"], parts.len() + 3);
    assert_eq!(
        value["only_in"][0],
        json!(["Buffered reads on the server's socket"])
    );
    assert_eq!(value["only_in"][1], json!(["io_uring"]));
    let kernel = value["set_up"]
        .as_array()
        .expect("facts")
        .iter()
        .find(|fact| fact["name"] == "system › kernel");
    assert_eq!(kernel.expect("the kernel")["differs"], true);
}

#[test]
fn a_study_beside_its_repetition_shows_no_difference() {
    let reports = [tuned(fixture::tune()), tuned(fixture::tune())];
    let both = beside(&reports);
    assert!(
        both.headline
            .starts_with("No difference between the results was detected, with the same set-up"),
        "{}",
        both.headline
    );
    assert!(both.set_up.iter().all(|fact| !fact.differs));
    assert!(both.parts.iter().all(|part| !part.differs));
    assert!(on_terminal(&both, false, 100, false).contains("Nothing that was recorded"));
}

/// Of many levers one that differs by little is no news: the family's intervals are wider than its own.
#[test]
fn a_lever_is_judged_together_with_all_the_others() {
    let first = tuned(fixture::tune());
    let mut tune = fixture::tune();
    let apart = 2.3 * 0.0052 * std::f64::consts::SQRT_2;
    let lever = &mut tune.not_helped[1];
    lever.effect = Estimate::from_log_std_err(lever.effect.ratio.ln() + apart, 0.0052, 1.96);
    let second = tuned(tune);
    let both = beside(&[first, second]);
    let part = both.parts.iter().find(|part| part.title == "jemalloc");
    let part = part.expect("in both");
    assert!(!part.differs, "{part:?}");
    // Judged alone it would have been.
    let alone = niagara_stats::difference(&part.estimates[0], &part.estimates[1]);
    assert!(alone.low > 1.0, "{alone:?}");
}

#[test]
fn what_was_not_decided_by_the_same_figure_is_not_compared() {
    let first = tuned(fixture::tune());
    let mut tune = fixture::tune();
    tune.header.goal = Goal::Cpu;
    let total = tune.total.as_mut().expect("a total");
    total.goal = Goal::Cpu;
    total.on_goal = Some(total.throughput.clone());
    let both = beside(&[first, tuned(tune)]);
    assert!(both.total.is_none() && both.parts.is_empty());
    assert!(
        both.warnings
            .iter()
            .any(|warning| warning.contains("different figures")),
        "{:?}",
        both.warnings
    );
}

#[test]
fn different_questions_share_what_they_decided_by() {
    let tune = tuned(fixture::tune());
    let compare = report(&Summary::Compare(Box::new(fixture::compare())));
    let both = beside(&[tune, compare]);
    assert!(both.total.as_ref().is_some_and(|total| total.differs));
    assert!(both.parts.is_empty());
    assert!(both.warnings[0].starts_with("Different questions were asked (tune and compare)"));
}

/// By what the variants are called: the other sweep has one more, and another order.
#[test]
fn sweeps_of_several_variants_share_their_ratios() {
    let of = |sweep| report(&Summary::Sweep(Box::new(sweep)));
    let first = fixture::sweep_of_three();
    let mut second = fixture::sweep_of_three();
    second.curves.swap(1, 2);
    for one in &mut second.by_round {
        let swapped = |index: usize| [0, 2, 1][index];
        (one.of, one.over) = (swapped(one.of), swapped(one.over));
    }
    second.by_round[0].ratio = IntervalEstimate {
        value: 1.4,
        low: 1.38,
        high: 1.42,
    };
    second.curves[1].title = "patched twice".into();
    let both = beside(&[of(first), of(second)]);
    let [part] = both.parts.as_slice() else {
        panic!("one ratio in both: {:?}", both.parts);
    };
    assert_eq!(part.title, "built over packaged, 8 threads");
    assert!(part.differs, "{part:?}");
    assert_eq!(part.standings, ["n = 3", "n = 3"]);
    let alone = [
        "patched over packaged, 8 threads",
        "patched over built, 8 threads",
    ];
    assert_eq!(both.only_in[0], alone);
}

#[test]
fn a_study_that_was_stopped_before_it_knew_anything() {
    let tune = tuned(fixture::tune());
    let mut nothing = tuned(fixture::tune());
    nothing.summary = None;
    let both = beside(&[tune, nothing]);
    assert!(both.headline.contains("no figure in common"));
    assert!(on_terminal(&both, false, 80, true).contains("was not measured to its end"));
    assert!(!in_format(&both, Format::Markdown).contains("NaN"));
}

/// A tuning claims a gain alone, at 5 %: what stands beside its total has intervals of 90 %.
#[test]
fn what_stands_beside_a_claim_of_a_gain_is_widened_from_what_its_interval_leaves_out() {
    let width = |alpha: f64| {
        let tuned = |mut tune: TuneSummary| {
            let total = tune.total.as_mut().expect("a total");
            total.throughput.alpha = alpha;
            tuned(tune)
        };
        let reports = [tuned(fixture::tune()), tuned(fixture::tune())];
        let both = beside(&reports);
        let of = &both.beside[0].difference;
        of.high.ln() - of.low.ln()
    };
    // z(0.975) / z(0.95): both are made as wide as the family of differences asks for.
    let ratio = width(0.1) / width(0.05);
    assert!((ratio - 1.95996 / 1.64485).abs() < 1e-4, "{ratio}");
}

/// The protocol of 2008 has means without an interval: they are shown, and no verdict is promised.
#[test]
fn trimmed_series_have_means_and_no_verdict() {
    let series = |tps: [[f64; 5]; 2]| {
        let mut compare = fixture::compare();
        compare.header.protocol = "trimmed".into();
        compare.header.warnings = vec![Finding::TrimmedProtocol.into()];
        compare.comparison.throughput.verdict = None;
        compare.runs = Some(SeriesOfRuns {
            tps: tps.map(|runs| runs.to_vec()),
        });
        report(&Summary::Compare(Box::new(compare)))
    };
    let reports = [
        series([
            [100.0, 140.0, 120.0, 111.0, 132.0],
            [210.0, 150.0, 160.0, 170.0, 183.0],
        ]),
        series([
            [300.0, 340.0, 320.0, 311.0, 332.0],
            [410.0, 350.0, 360.0, 370.0, 383.0],
        ]),
    ];
    let both = beside(&reports);
    for text in [
        on_terminal(&both, false, 140, false),
        in_format(&both, Format::Markdown),
        in_format(&both, Format::Html),
    ] {
        for word in [
            "The protocol of 2008 gives no verdict",
            "means of the middle three of five runs",
            "121",
            "171",
            "321",
            "371",
        ] {
            assert!(text.contains(word), "{word}\n{text}");
        }
        for word in ["not judged", "Too few duels", "second over first", "n = 0"] {
            assert!(!text.contains(word), "{word}\n{text}");
        }
    }
    // Beside duels.
    let duels = report(&Summary::Compare(Box::new(fixture::compare())));
    let [first, _] = reports;
    let both = SideBySide::of([&first, &duels], ["old", "new"]);
    let text = on_terminal(&both, false, 140, false);
    assert!(
        text.contains("new is not compared with it") && text.contains("geometric means over duels"),
        "{text}"
    );
}
