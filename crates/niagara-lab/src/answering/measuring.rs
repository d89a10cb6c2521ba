//! What every kind of question has in common once it is set up.

use anyhow::Result;
use niagara_model::{Finding, Summary};

use crate::answering::noise::Noise;
use crate::plans::observer::Observer;
use crate::studies::study::Study;

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
    /// [`Cancelled`](niagara_server::Cancelled) when stopped; the question cannot be asked like this.
    fn prepare(&mut self, _study: &mut Study, _observer: &mut dyn Observer) -> Result<()> {
        Ok(())
    }

    /// Measures until there is an answer or the time ends.
    ///
    /// # Errors
    /// [`Cancelled`](niagara_server::Cancelled) when stopped; nothing can be measured; results that cannot be written.
    fn measure(&mut self, study: &mut Study, observer: &mut dyn Observer) -> Result<()>;

    /// What a reader must know.
    fn warn(&mut self, finding: Finding);

    /// What is known so far; `complete` unless it was stopped.
    ///
    /// # Errors
    /// Results that cannot be read; [`Cancelled`](niagara_server::Cancelled) when it was stopped before there was anything to tell.
    fn found(&self, study: &Study, complete: bool) -> Result<Found>;
}
