//! `niagara compare --before A.capture --after B.capture`: did production become faster? Observed, by digest.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use niagara_capture::{DigestPair, before_after};
use niagara_error::bail;
use niagara_report::number;
use niagara_stats::{Estimate, IntervalEstimate};
use schemars::JsonSchema;
use serde::Serialize;

use crate::json::{self, Document, Printed};

/// Stretches that an interval rests on at the least.
const FEWEST: usize = 3;
/// Digests that are shown.
const SHOWN: usize = 20;
/// Longest text of a digest, in characters.
const TEXT: usize = 70;

/// A digest with its ratio.
#[derive(Serialize, JsonSchema)]
struct Row {
    /// The digest.
    #[serde(rename = "digest")]
    pair: DigestPair,
    /// Its mean duration, after over before: below 1 it became faster.
    #[serde(rename = "mean_duration_after_over_before")]
    ratio: Estimate,
}

/// What changed between two captures: observed, for whatever else changed is in it, too.
#[derive(Serialize, JsonSchema)]
pub(crate) struct BeforeAfter {
    /// The probability that an interval leaves the truth out, one by one.
    alpha: f64,
    /// Those that both captures have often enough.
    digests: Vec<Row>,
}

impl Printed for BeforeAfter {
    const DOCUMENT: Document = Document::BeforeAfter;
}

/// The mean duration of each digest, after over before, with intervals over stretches of time.
///
/// # Errors
/// A capture cannot be read, or no digest can be compared.
pub(crate) fn run(before: &Path, after: &Path, alpha: f64, as_json: bool) -> Result<ExitCode> {
    let pairs = before_after([before, after])?;
    let common = pairs.len();
    let rows: Vec<Row> = pairs
        .into_iter()
        .filter(|pair| pair.ratios.len() >= FEWEST)
        .filter_map(|pair| {
            let IntervalEstimate { value, low, high } =
                IntervalEstimate::geometric(&pair.ratios, alpha)?;
            let ratio = Estimate {
                ratio: value,
                low,
                high,
            };
            Some(Row { pair, ratio })
        })
        .collect();
    if rows.is_empty() {
        bail!(
            "{} and {} have {} in common, and none with durations in {FEWEST} stretches of time or more",
            before.display(),
            after.display(),
            number::count(common, "digest");
            remedy: "capture longer, at the same time of day, from a source that has durations (a slow log, recorded traffic)"
        );
    }
    if as_json {
        json::print(&BeforeAfter {
            alpha,
            digests: rows,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&rows, alpha);
    Ok(ExitCode::SUCCESS)
}

fn say(rows: &[Row], alpha: f64) {
    let count =
        |wanted: fn(&Estimate) -> bool| rows.iter().filter(|row| wanted(&row.ratio)).count();
    say!(
        "Of {} in both captures {} became faster, {} slower; of the others no change is shown.",
        number::count(rows.len(), "digest"),
        count(|ratio| ratio.high < 1.0),
        count(|ratio| ratio.low > 1.0)
    );
    say!(
        "Observed, not an experiment: whatever else changed between the captures is in these figures, too. For a proof use a duel."
    );
    say!();
    say!("Mean duration, after over before (below 1 is faster)");
    for row in rows.iter().take(SHOWN) {
        let text: String = row.pair.text.chars().take(TEXT).collect();
        let [old, new] = row.pair.counts;
        say!(
            "  {:<26} {:>9} to {:>9} times  {}  {text}",
            number::estimate(&row.ratio),
            old,
            new,
            row.pair.digest
        );
    }
    if rows.len() > SHOWN {
        say!("  and {} more (--json has all)", rows.len() - SHOWN);
    }
    say!();
    say!(
        "Intervals of {} % each, over ten stretches of time; about {:.1} of {} would leave the truth out by chance.",
        number::confidence(alpha),
        alpha * rows.len() as f64,
        rows.len()
    );
}
