//! A sample of the executions of some digests, with their literals.

use std::collections::HashMap;
use std::path::Path;

use crate::error::CaptureError;
use crate::file::{CaptureReader, EventKind};
use crate::sql::{Digest, restore};

/// Longest statement that is sampled, in bytes.
const MAX_TEXT: usize = 256 << 10;

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// The statement as it was sent: private.
    pub text: Vec<u8>,
    /// The database in use; empty for none.
    pub database: Vec<u8>,
    /// Its start, in microseconds since 1970.
    pub start_us: i64,
    /// Its duration, in microseconds.
    pub duration_us: Option<u64>,
    /// Rows sent.
    pub rows_sent: Option<u64>,
    /// Rows read to find them.
    pub rows_examined: Option<u64>,
}

/// The samples of one digest while a capture is read.
#[derive(Debug, Default)]
struct Reservoir {
    seen: u64,
    fastest: Option<Sample>,
    slowest: Option<Sample>,
    others: Vec<Sample>,
}

impl Reservoir {
    /// Takes the execution that `make` makes, if chance, or its time, says so.
    fn see(
        &mut self,
        digest: Digest,
        size: usize,
        duration_us: Option<u64>,
        make: impl FnOnce() -> Option<Sample>,
    ) {
        self.seen += 1;
        let time = |sample: &Option<Sample>| sample.as_ref().map(|sample| sample.duration_us);
        let is_slowest = time(&self.slowest).is_none_or(|slowest| duration_us > slowest);
        let is_fastest =
            size > 2 && time(&self.fastest).is_none_or(|fastest| duration_us < fastest);
        let room = size.saturating_sub(2);
        // Algorithm R; chance is a function of the digest and the count, so that the same capture gives the same sample.
        let place = match self.others.len() < room {
            true => Some(self.others.len()),
            false if room == 0 => None,
            false => {
                let chance =
                    xxhash_rust::xxh3::xxh3_64_with_seed(&self.seen.to_le_bytes(), digest.0);
                let place = (chance % self.seen) as usize;
                (place < room).then_some(place)
            }
        };
        if !is_slowest && !is_fastest && place.is_none() {
            return;
        }
        let Some(sample) = make() else { return };
        if let Some(place) = place {
            match self.others.get_mut(place) {
                Some(other) => *other = sample.clone(),
                None => self.others.push(sample.clone()),
            }
        }
        if is_fastest {
            self.fastest = Some(sample.clone());
        }
        if is_slowest {
            self.slowest = Some(sample);
        }
    }

    /// The slowest first, then the fastest, then the others; statements that are the same once.
    fn finish(self) -> Vec<Sample> {
        let mut samples: Vec<Sample> = Vec::new();
        for sample in self
            .slowest
            .into_iter()
            .chain(self.fastest)
            .chain(self.others)
        {
            let is_known =
                |other: &Sample| other.text == sample.text && other.database == sample.database;
            if !samples.iter().any(is_known) {
                samples.push(sample);
            }
        }
        samples
    }
}

/// For each digest of `wanted` at most as many executions as it says: the slowest, the fastest, and others by chance. The same
/// capture gives the same sample. What failed when it was captured is left out.
///
/// # Errors
/// The file cannot be read or is damaged.
pub fn samples(
    path: &Path,
    wanted: &HashMap<Digest, usize>,
) -> Result<HashMap<Digest, Vec<Sample>>, CaptureError> {
    let mut reservoirs: HashMap<Digest, Reservoir> = HashMap::new();
    CaptureReader::open(path)?.for_each(|event, dictionary| {
        let executes = matches!(event.kind, EventKind::Query | EventKind::Execute);
        let (true, Some(template)) = (executes, event.template) else {
            return Ok(());
        };
        let template = dictionary.template(template);
        let digest = dictionary.digest(template.digest).digest;
        let measured = event.measured;
        let Some(&size) = wanted.get(&digest).filter(|&&size| size > 0) else {
            return Ok(());
        };
        if measured.error.is_some_and(|error| error > 0) {
            return Ok(());
        }
        reservoirs
            .entry(digest)
            .or_default()
            .see(digest, size, measured.duration_us, || {
                let mut text = Vec::new();
                restore(&template.skeleton, event.parts(), &mut text)?;
                (text.len() <= MAX_TEXT).then(|| Sample {
                    text,
                    database: dictionary.name(event.database).to_vec(),
                    start_us: event.place.start_us,
                    duration_us: measured.duration_us,
                    rows_sent: measured.rows_sent,
                    rows_examined: measured.rows_examined,
                })
            });
        Ok::<(), CaptureError>(())
    })?;
    let finished = reservoirs.into_iter();
    Ok(finished
        .map(|(digest, reservoir)| (digest, reservoir.finish()))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(number: u64) -> Sample {
        Sample {
            text: format!("select {number}").into_bytes(),
            database: Vec::new(),
            start_us: 0,
            duration_us: Some(number * 37 % 1000),
            rows_sent: None,
            rows_examined: None,
        }
    }

    #[test]
    fn samples_hold_the_extremes() {
        let taken = || {
            let mut reservoir = Reservoir::default();
            for number in 1..=1000 {
                let sample = sample(number);
                reservoir.see(Digest(7), 20, sample.duration_us, || Some(sample));
            }
            reservoir.finish()
        };
        let samples = taken();
        assert!((18..=20).contains(&samples.len()), "{}", samples.len());
        assert_eq!(samples[0].duration_us, Some(999));
        assert_eq!(samples[1].duration_us, Some(0));
        assert_eq!(samples, taken());
    }

    #[test]
    fn samples_of_one_are_the_slowest() {
        let mut reservoir = Reservoir::default();
        for number in 1..=100 {
            let sample = sample(number);
            reservoir.see(Digest(7), 1, sample.duration_us, || Some(sample));
        }
        let samples = reservoir.finish();
        assert_eq!(samples.len(), 1);
        assert_eq!(
            samples[0].duration_us,
            (1..=100).map(|n| n * 37 % 1000).max()
        );
    }
}
