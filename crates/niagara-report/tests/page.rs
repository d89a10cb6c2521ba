//! The page: whole, closed, alone, and without a number that is none.

mod fixture;

use std::collections::BTreeMap;

use fixture::html;
use niagara_model::{Deployment, Finding, Summary, Warning};
use niagara_report::Report;
use niagara_settings::{ProcessSettings, TransportKind};
use niagara_stats::Estimate;
use niagara_store::Store;

/// Elements that HTML leaves unclosed.
const VOID: [&str; 5] = ["meta", "br", "hr", "link", "wbr"];

/// A page for `summary`; written to a folder too when `NIAGARA_TEST_PAGES` names one, for people to view.
fn page(name: &str, summary: &Summary, duels: u32, ln: f64) -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), summary, duels, ln);
    show(name, &store)
}

fn show(name: &str, store: &Store) -> String {
    let report = Report::load(store).expect("just written");
    let page = html(&report);
    if let Some(folder) = std::env::var_os("NIAGARA_TEST_PAGES") {
        std::fs::write(
            std::path::Path::new(&folder).join(format!("{name}.html")),
            &page,
        )
        .expect("room");
    }
    check(&page);
    page
}

fn check(page: &str) {
    assert!(page.starts_with("<!DOCTYPE html>"));
    for outside in ["http:", "https:", "src=", "@import", "<link", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let (_, body) = page.split_once("</style>").expect("the page has a style");
    let mut open: Vec<&str> = Vec::new();
    for piece in page.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("every tag ends");
        if tag.starts_with('!') {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else {
            let name = tag.split_whitespace().next().expect("every tag has a name");
            if !VOID.contains(&name) {
                open.push(name);
            }
        }
        if let Some((name, attributes)) = tag.split_once(' ')
            && [
                "path", "line", "rect", "circle", "polygon", "polyline", "text", "svg",
            ]
            .contains(&name)
            && !attributes.contains("aria-label")
        {
            assert!(
                !attributes.contains("NaN") && !attributes.contains("inf"),
                "{tag}"
            );
        }
    }
    assert_eq!(open, Vec::<&str>::new());
    assert!(!body.contains("NaN"), "a number that is none");
    assert!(!body.contains("no effect"));
}

#[test]
fn a_tuned_server() {
    let mut tune = fixture::tune();
    tune.header.deployment = Some(Deployment {
        family: "mariadb".into(),
        config: BTreeMap::from([("thread_handling".into(), "pool-of-threads".into())]),
        runtime: ProcessSettings {
            transport: Some(TransportKind::Unix),
            ..ProcessSettings::default()
        },
        machine: "Intel Xeon (Skylake) @ 2.20GHz, 2 CPUs".into(),
        risks: BTreeMap::from([("memory".into(), vec!["Thread pool".into()])]),
        ..Deployment::default()
    });
    let page = page("tune", &Summary::Tune(Box::new(tune)), 12, 0.2716);
    // What a manager reads first comes first.
    let order = [
        "<h1>",
        "Waterfall: ",
        "In one option file: thread_handling = pool-of-threads; then one restart",
        "connect through the Unix socket",
        "The server takes more memory (Thread pool). Durability is untouched.",
        "For engineers:",
        "Transactions per second",
        "To repeat it</h2>",
    ];
    let places = order.map(|words| page.find(words).expect(words));
    assert!(places.is_sorted(), "{places:?}");
    assert_eq!(
        page.matches("<svg viewBox").count(),
        10,
        "five charts in two sizes"
    );
    for word in [
        "proven",
        "screened",
        "negative-control",
        "positive-control",
        "not confirmed",
        "aria-label",
        "closed",
    ] {
        assert!(page.contains(word), "{word}");
    }
    assert!(!page.contains("decision"));
}

#[test]
fn a_tuned_server_with_warnings_and_escapes() {
    let mut tune = fixture::tune();
    tune.header.complete = false;
    tune.header.warnings = vec![Warning::about(
        "<script>alert(1)</script> & the negative control",
        Finding::Stopped,
    )];
    tune.rungs[0].screened.title = "a < b \"quoted\"".into();
    let page = page("warned", &Summary::Tune(Box::new(tune)), 12, 0.2716);
    assert!(page.contains("&lt;script&gt;"));
    assert!(page.contains("a &lt; b &quot;quoted&quot;"));
}

#[test]
fn a_comparison() {
    page(
        "compare",
        &Summary::Compare(Box::new(fixture::compare())),
        32,
        0.0012,
    );
}

#[test]
fn degenerate_studies_still_make_a_page() {
    let unbounded = Estimate {
        ratio: 1.02,
        low: 0.0,
        high: f64::INFINITY,
    };
    let mut compare = fixture::compare();
    compare.comparison.throughput.estimate = unbounded;
    compare.comparison.throughput.duels = 1;
    compare.comparison.throughput.verdict = None;
    compare.comparison.latency_p50 = None;
    compare.comparison.cpu_per_transaction = Some(unbounded);
    page(
        "one-duel",
        &Summary::Compare(Box::new(compare.clone())),
        1,
        0.02,
    );
    compare.comparison.throughput.duels = 0;
    compare.comparison.tps = [f64::NAN; 2];
    page("no-duel", &Summary::Compare(Box::new(compare)), 0, 0.0);

    let mut tune = fixture::tune();
    tune.rungs.clear();
    tune.total = None;
    tune.not_helped.clear();
    tune.not_tried.clear();
    tune.negative_control = None;
    tune.positive_control = None;
    tune.header.sd_duel = None;
    tune.header.elapsed_seconds = 0.0;
    page("nothing", &Summary::Tune(Box::new(tune.clone())), 0, 0.0);
    tune.rungs = fixture::tune().rungs;
    for rung in &mut tune.rungs {
        rung.claim = None;
        rung.screened.effect = unbounded;
        rung.screened.std_err = f64::INFINITY;
    }
    page("unbounded", &Summary::Tune(Box::new(tune)), 0, 0.0);
}

#[test]
fn a_study_without_a_summary_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let study = fixture::study("noise", "niagara doctor --noise");
    let store = Store::create(&folder.path().join("results.db"), &study).expect("a fresh folder");
    assert!(show("none", &store).contains("Stopped before the first result"));
}

#[test]
fn a_study_of_noise_is_told_as_such() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let summary = Summary::Compare(Box::new(fixture::compare()));
    let store = fixture::store(&folder.path().join("results.db"), &summary, 9, 0.0);
    let mut report = Report::load(&store).expect("just written");
    report.summary = None;
    report.study.kind = "noise".into();
    for duel in &mut report.duels {
        duel.phase = niagara_model::Phase::Noise;
    }
    let page = html(&report);
    check(&page);
    let (_, title) = page.split_once("<h1>").expect("a headline");
    assert!(
        title.starts_with("Identical variants differ by a standard deviation of "),
        "{}",
        &title[..99]
    );
}

#[test]
fn identical_slices_and_no_histograms() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let summary = Summary::Compare(Box::new(fixture::compare()));
    let store = fixture::store(&folder.path().join("results.db"), &summary, 2, 0.0);
    let mut report = Report::load(&store).expect("just written");
    for slice in &mut report.slices {
        slice.transactions = 0;
        slice.started_unix_ms = 5;
        slice.histogram = "not a histogram".into();
    }
    for duel in &mut report.duels {
        duel.score = Some(f64::NEG_INFINITY);
    }
    check(&html(&report));
}
