//! What a comparison by a capture has to say beside its verdict: fidelity, answers, digests. Text alone; the reports lay it
//! out.

use console::truncate_str;
use niagara_model::{BUSY_FROM, DigestComparison, DigestFinding, Finding, ReplaySummary};

use crate::document::{Depth, Section, Table};
use crate::number;

/// Digests that are shown of those that were not called.
const MAX_UNDETECTED: usize = 10;
/// Digests that one screen has room for.
const MAX_ON_SCREEN: usize = 6;
/// Characters of a statement on one screen.
const MAX_TEXT: usize = 36;

/// What was replayed, and every digest; on one screen the digests that were called alone.
pub(crate) fn sections(replay: &ReplaySummary) -> Vec<Section> {
    let long = [fidelity(replay), digests(replay)].map(Section::from);
    let long = long.map(|section| section.at(Depth::Long));
    let brief = Section::from(called_in_short(replay)).at(Depth::Brief);
    long.into_iter().chain([brief]).collect()
}

/// A line each for one screen: the replay, where nothing speaks against it, and the digests, where none was called.
pub(crate) fn in_short(replay: &ReplaySummary) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, value: String| facts.push((name.to_owned(), value));
    // A warning says what speaks against it.
    if replay.verdict.is_good() {
        let answered = number::grouped(replay.fidelity.replayed as f64);
        fact(
            "Replay",
            format!(
                "{answered} captured statements were answered; {}",
                replay.verdict
            ),
        );
    }
    if called(replay).next().is_none() && !replay.digests.is_empty() {
        let count = number::count(replay.digests.len(), "kind");
        fact(
            "Statements",
            format!("none was shown slower or faster ({count} looked at)"),
        );
    }
    facts
}

/// Digests that are slower or faster.
fn called(replay: &ReplaySummary) -> impl Iterator<Item = &DigestComparison> {
    let digests = replay.digests.iter();
    digests.filter(|digest| digest.finding != DigestFinding::Undetected)
}

fn fidelity(replay: &ReplaySummary) -> Table {
    let mut table = Table::new("The replay beside the capture", &[("", false)]);
    table.rows = replay.facts().into_iter().map(|fact| vec![fact]).collect();
    table
        .notes
        .push(format!("{}.", number::capital(&replay.verdict.to_string())));
    table
}

fn digests(replay: &ReplaySummary) -> Table {
    let mut table = by_digest();
    let called = called(replay).count();
    let shown = (called + MAX_UNDETECTED).min(replay.digests.len());
    let rows = replay.digests[..shown].iter();
    table.rows = rows
        .map(|digest| row(digest, format!("{} {}", digest.digest, digest.text)))
        .collect();
    table.strong = (0..called).collect();
    table.notes.push(note(replay, shown));
    table
}

/// The digests that were called, a line each; no rows where none was.
fn called_in_short(replay: &ReplaySummary) -> Table {
    let mut table = by_digest();
    table.rows = called(replay)
        .take(MAX_ON_SCREEN)
        .map(|digest| {
            let number: String = digest.digest.chars().take(8).collect();
            let text = truncate_str(&digest.text, MAX_TEXT, "…");
            row(digest, format!("{number} {text}"))
        })
        .collect();
    table.spare = vec![4, 3, 2];
    let others = replay.digests.len() - table.rows.len();
    if others > 0 && !table.rows.is_empty() {
        table.notes.push(format!("{others} more: --verbose."));
        table.short_notes = 1;
    }
    table
}

fn by_digest() -> Table {
    Table::new(
        "By digest",
        &[
            ("B is", false),
            ("Time, B over A", true),
            ("Share", true),
            ("A", true),
            ("B", true),
            ("Digest", false),
        ],
    )
}

/// A digest with its statement, told as `statement`.
fn row(digest: &DigestComparison, statement: String) -> Vec<String> {
    let [a, b] = digest.mean_us.map(|mean| format!("{mean:.0} µs"));
    let finding = match digest.finding {
        DigestFinding::Slower => "slower",
        DigestFinding::Faster => "faster",
        DigestFinding::Undetected => "undetected",
    };
    vec![
        finding.to_owned(),
        number::estimate(&digest.latency),
        format!("{:.1} %", digest.share * 100.0),
        a,
        b,
        statement,
    ]
}

/// How the table was made, and what it leaves out.
fn note(replay: &ReplaySummary, shown: usize) -> String {
    let rest = match replay.digests.len() - shown {
        0 => String::new(),
        1 => " 1 more was undetected.".to_owned(),
        count => format!(" {count} more were undetected."),
    };
    format!(
        "Mean time per execution, each ratio with its own 95 % interval, from {}; share of all time on A. Slower and \
         faster are called so that all of them together are wrong with a probability of {} at most (Holm), as if the duels' number had been \
         fixed beforehand.{rest}",
        number::count(replay.duels, "duel"),
        replay.alpha
    )
}

/// That the captured database had little to do, where it had.
pub(crate) fn idleness(replay: &ReplaySummary) -> Option<Finding> {
    let in_flight = replay
        .fidelity
        .in_flight
        .0
        .filter(|count| *count < BUSY_FROM)?;
    Some(Finding::MostlyIdle {
        in_flight,
        limit: BUSY_FROM,
    })
}

/// What a reader must know before believing the rest.
pub(crate) fn warnings(replay: &ReplaySummary) -> Vec<Finding> {
    let mut all = Vec::new();
    if !replay.verdict.is_good() {
        all.push(Finding::ReplayUnfit {
            shortcomings: replay.verdict.shortcomings().to_vec(),
        });
    }
    all.extend(idleness(replay));
    let slow_here = replay.slow_here();
    if !slow_here.is_empty() {
        all.push(Finding::SlowHere { digests: slow_here });
    }
    if !replay.answers.is_empty() {
        all.push(Finding::ReplayAnswers {
            answers: replay.answers.clone(),
        });
    }
    let slower = called(replay).filter(|digest| digest.finding == DigestFinding::Slower);
    let digests: Vec<DigestComparison> = slower.cloned().collect();
    if !digests.is_empty() {
        all.push(Finding::SlowerDigests { digests });
    }
    all
}
