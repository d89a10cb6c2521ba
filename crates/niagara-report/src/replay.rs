//! What a comparison by a capture has to say beside its verdict: fidelity, answers, digests. Text alone; the reports lay it
//! out.

use niagara_model::{DigestComparison, DigestFinding, Finding, ReplaySummary};

use crate::document::Table;
use crate::number;

/// Digests that are shown of those that were not called.
const MAX_UNDETECTED: usize = 10;

/// Statements that a server works on at a time, on average, below which it does nothing for most of the time: the share of the time in
/// which there is one at least is no more than that mean.
const BUSY: f64 = 0.5;

/// The tables of a replay: what was replayed, and every digest; none of a comparison without one.
pub(crate) fn tables(replay: &ReplaySummary) -> Vec<Table> {
    let mut fidelity = Table::new("The replay beside the capture", &[("", false)]);
    fidelity.rows = replay.facts().into_iter().map(|fact| vec![fact]).collect();
    fidelity
        .notes
        .push(format!("{}.", number::capital(&replay.verdict.to_string())));
    let mut digests = Table::new(
        "By digest",
        &[
            ("B is", false),
            ("Time, B over A", true),
            ("Share", true),
            ("A", true),
            ("B", true),
            ("Digest", false),
        ],
    );
    fidelity.short_notes = 1;
    let called = replay
        .digests
        .iter()
        .filter(|digest| digest.finding != DigestFinding::Undetected)
        .count();
    let shown = (called + MAX_UNDETECTED).min(replay.digests.len());
    digests.rows = replay.digests[..shown].iter().map(row).collect();
    digests.strong = (0..called).collect();
    digests.notes.push(note(replay, shown));
    digests.short_notes = 1;
    vec![fidelity, digests]
}

fn row(digest: &DigestComparison) -> Vec<String> {
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
        format!("{} {}", digest.digest, digest.text),
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

/// What a reader must know before believing the rest.
pub(crate) fn warnings(replay: &ReplaySummary) -> Vec<Finding> {
    let mut all = Vec::new();
    if !replay.verdict.is_good() {
        all.push(Finding::ReplayUnfit {
            shortcomings: replay.verdict.shortcomings().to_vec(),
        });
    }
    if let Some(in_flight) = replay.fidelity.in_flight.0
        && in_flight < BUSY
    {
        all.push(Finding::MostlyIdle {
            in_flight,
            limit: BUSY,
        });
    }
    let slow_here = replay.slow_here();
    if !slow_here.is_empty() {
        all.push(Finding::SlowHere { digests: slow_here });
    }
    if !replay.answers.is_empty() {
        all.push(Finding::ReplayAnswers {
            answers: replay.answers.clone(),
        });
    }
    let slower = replay
        .digests
        .iter()
        .filter(|digest| digest.finding == DigestFinding::Slower);
    let digests: Vec<DigestComparison> = slower.cloned().collect();
    if !digests.is_empty() {
        all.push(Finding::SlowerDigests { digests });
    }
    all
}
