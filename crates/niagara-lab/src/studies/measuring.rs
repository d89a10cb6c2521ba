//! The one way in which every question is measured: the clock, a stop on request, the end of the sitting, the summary.

use anyhow::Result;
use niagara_server::Cancelled;
use niagara_store::Summary;

use crate::questions::noise::Noise;
use crate::studies::observer::Observer;
use crate::studies::study::Study;

/// What every summary of a study that was stopped says.
const STOPPED: &str = "stopped on request: the same command continues from here";

/// What came of a question.
#[derive(Debug, Clone)]
pub enum Found {
    /// What is kept with the results and reported.
    Summary(Summary),
    /// How far apart identical servers are.
    Noise(Noise),
}

impl Found {
    /// Whether the question was answered to its end.
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Summary(summary) => summary.is_complete(),
            Self::Noise(_) => true,
        }
    }
}

/// A question that is set up and about to be measured.
pub(crate) trait Measuring {
    /// What has to be found out before the time counts.
    ///
    /// # Errors
    /// [`Cancelled`] when stopped; the question cannot be asked like this.
    fn prepare(&mut self, _study: &mut Study, _observer: &mut dyn Observer) -> Result<()> {
        Ok(())
    }

    /// Measures until there is an answer or the time ends.
    ///
    /// # Errors
    /// [`Cancelled`] when stopped; nothing can be measured; results that cannot be written.
    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()>;

    /// What a reader must know.
    fn warn(&mut self, text: &str);

    /// What is known so far; `complete` unless it was stopped.
    ///
    /// # Errors
    /// Results that cannot be read; [`Cancelled`] when it was stopped before there was anything to tell.
    fn found(&self, study: &Study, complete: bool) -> Result<Found>;
}

/// Measures to the end, the end of the time or a stop, which is no error: what was found until then comes back incomplete.
/// The summary is kept with the results.
///
/// # Errors
/// What no stop is to blame for.
pub(crate) fn conduct(
    measuring: &mut dyn Measuring,
    study: &mut Study,
    observer: &mut dyn Observer,
) -> Result<Found> {
    let ended = measuring.prepare(study, observer).and_then(|()| {
        study.start_clock();
        measuring.measure(study, observer)
    });
    study.end_sitting()?;
    let complete = match ended {
        Ok(()) => true,
        Err(error) if error.is::<Cancelled>() => {
            measuring.warn(STOPPED);
            false
        }
        Err(error) => return Err(error),
    };
    let found = measuring.found(study, complete)?;
    if let Found::Summary(summary) = &found {
        study.store().set_summary(summary)?;
    }
    Ok(found)
}
