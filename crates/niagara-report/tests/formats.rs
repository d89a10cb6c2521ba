//! Every kind of study in every format.

mod fixture;

use fixture::{html, markdown};
use niagara_model::Summary;
use niagara_report::{Report, Study, View};

fn report(summary: &Summary) -> Report {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = fixture::store(&folder.path().join("results.db"), summary, 2, 0.27);
    Report::load(&store).expect("just written")
}

/// On a terminal of 100 columns: one screen, or everything.
fn terminal(report: &Report, verbose: bool) -> String {
    let view = View {
        width: 100,
        verbose,
        ..View::default()
    };
    fixture::terminal(Study::of(report), view)
}

/// The page's elements, a line each, without its style and pictures.
fn page(report: &Report) -> String {
    let page = html(report);
    let (_, body) = page.split_once("</style>").expect("a style");
    let mut parts = body.split("<svg");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (_, rest) = part.split_once("</svg>").expect("a picture ends");
        text += "[picture]";
        text += rest;
    }
    text.replace('<', "\n<")
}

fn formats(name: &str, summary: &Summary) {
    let report = report(summary);
    let texts = [
        ("screen", terminal(&report, false)),
        ("verbose", terminal(&report, true)),
        ("markdown", markdown(&report)),
        ("page", page(&report)),
    ];
    for (format, text) in texts {
        insta::assert_snapshot!(format!("{name}_{format}"), text);
    }
}

#[test]
fn tuning() {
    formats("tune", &Summary::Tune(Box::new(fixture::tune())));
}

#[test]
fn comparison() {
    formats("compare", &Summary::Compare(Box::new(fixture::compare())));
}

#[test]
fn upgrade() {
    formats("upgrade", &Summary::Compare(Box::new(fixture::upgrade())));
}

#[test]
fn ladder() {
    formats("ladder", &Summary::Ladder(Box::new(fixture::ladder())));
}

#[test]
fn matrix() {
    formats("matrix", &Summary::Matrix(Box::new(fixture::matrix(1.1))));
}

#[test]
fn sweep() {
    formats(
        "sweep",
        &Summary::Sweep(Box::new(fixture::sweep_of_three())),
    );
}
