//! Two captures of one server, side by side: what its statements take now, and what they took before. It is what was observed, no
//! experiment: whatever else changed between them is in the figures, too.

use std::collections::HashMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::CaptureError;
use crate::file::CaptureReader;

/// Stretches of time that a capture is cut into: their spread is what an interval rests on.
pub const STRETCHES: usize = 10;

/// A digest in both captures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DigestPair {
    /// Its number, 16 hexadecimal digits.
    pub digest: String,
    /// Its text, without literals.
    pub text: String,
    /// Executions, before and after.
    pub counts: [u64; 2],
    /// Time of all executions, in seconds, before and after.
    pub seconds: [f64; 2],
    /// Mean duration after over that before, stretch by stretch; stretches without an execution on either side are left out.
    pub ratios: Vec<f64>,
}

/// What a digest took in each stretch.
#[derive(Debug, Clone, Default)]
struct Tally {
    text: String,
    /// Executions and microseconds.
    stretches: [(u64, u64); STRETCHES],
}

impl Tally {
    fn mean(&self, stretch: usize) -> Option<f64> {
        let (count, micros) = self.stretches[stretch];
        (count > 0 && micros > 0).then(|| micros as f64 / count as f64)
    }

    fn count(&self) -> u64 {
        self.stretches.iter().map(|(count, _)| count).sum()
    }

    fn seconds(&self) -> f64 {
        let micros: u64 = self.stretches.iter().map(|(_, micros)| micros).sum();
        micros as f64 / 1e6
    }
}

/// The digests that are in both captures, those first that took most time before.
///
/// # Errors
/// A capture cannot be read.
pub fn before_after(captures: [&Path; 2]) -> Result<Vec<DigestPair>, CaptureError> {
    let [before, after] = captures;
    let (before, mut after) = (tallies(before)?, tallies(after)?);
    let mut pairs: Vec<DigestPair> = before
        .into_iter()
        .filter_map(|(digest, old)| {
            let new = after.remove(&digest)?;
            let ratio = |stretch| Some(new.mean(stretch)? / old.mean(stretch)?);
            Some(DigestPair {
                digest,
                counts: [old.count(), new.count()],
                seconds: [old.seconds(), new.seconds()],
                ratios: (0..STRETCHES).filter_map(ratio).collect(),
                text: old.text,
            })
        })
        .collect();
    pairs.sort_by(|x, y| {
        y.seconds[0]
            .total_cmp(&x.seconds[0])
            .then(x.digest.cmp(&y.digest))
    });
    Ok(pairs)
}

fn tallies(path: &Path) -> Result<HashMap<String, Tally>, CaptureError> {
    let mut reader = CaptureReader::open(path)?;
    let summary = reader.summary();
    let first = summary.first_us.unwrap_or(0);
    let length = summary.last_us.unwrap_or(0).saturating_sub(first).max(1);
    let mut tallies: HashMap<String, Tally> = HashMap::new();
    reader.for_each(|event, dictionary| {
        let (Some(template), Some(micros)) = (event.template, event.measured.duration_us) else {
            return Ok::<(), CaptureError>(());
        };
        if !event.kind.is_statement() {
            return Ok(());
        }
        let entry = dictionary.digest(dictionary.template(template).digest);
        let tally = tallies
            .entry(entry.digest.to_string())
            .or_insert_with(|| Tally {
                text: String::from_utf8_lossy(&entry.text).into_owned(),
                ..Tally::default()
            });
        let since = event.place.start_us.saturating_sub(first).max(0);
        let stretch = (i128::from(since) * STRETCHES as i128 / i128::from(length)) as usize;
        let (count, sum) = &mut tally.stretches[stretch.min(STRETCHES - 1)];
        *count += 1;
        *sum = sum.saturating_add(micros);
        Ok(())
    })?;
    Ok(tallies)
}
