//! The study for other programs.

use serde::Serialize;

use crate::Report;

/// Counted up when a field changes its meaning or disappears.
const FORMAT: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    headline: String,
    #[serde(flatten)]
    report: &'a Report,
}

/// Study, summary, variants, duels and events, indented. Slices: see [`crate::csv`].
///
/// # Errors
/// A document in the results (machine, plan) cannot be written as JSON.
pub fn json(report: &Report) -> serde_json::Result<String> {
    let mut text = serde_json::to_string_pretty(&Document {
        format: FORMAT,
        headline: report.headline(),
        report,
    })?;
    text.push('\n');
    Ok(text)
}
