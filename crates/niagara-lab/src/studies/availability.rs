//! What was not to be had in a sitting: a rung or a cell without a server, a lever that does not apply, a build that failed. A sitting
//! that continues the study goes the same way, as long as it recalls duels of the one before.

use anyhow::Result;
use niagara_error::bail;
use niagara_model::Reason;

use crate::studies::checkpoint;
use crate::studies::study::Study;

impl Study {
    /// `made`, what a rung or a cell is measured with, or the reason why it is not to be had, which is kept. `subject` is what its
    /// duels are known by. Where duels of an earlier sitting are still to be recalled, the reason is that sitting's, if it had one, and
    /// nothing is made.
    ///
    /// # Errors
    /// It was measured by an earlier sitting and is not to be had any more; results that cannot be read or written; what `make` fails
    /// with.
    pub(crate) fn made_or_missing<T>(
        &mut self,
        subject: &str,
        make: impl FnOnce(&mut Self) -> Result<Result<T, Reason>>,
    ) -> Result<Result<T, Reason>> {
        let key = checkpoint::unavailable(subject);
        let is_recalling = self.has_recalled();
        if is_recalling && let Some(Some(reason)) = self.recall(&key)? {
            return Ok(Err(reason));
        }
        let made = make(self)?;
        let reason = made.as_ref().err();
        if let Some(reason) = reason
            && self.was_measured(subject)
        {
            bail!(
                "{}: {subject} was measured by this study, and is not to be had here any more: {reason}",
                self.folder().display();
                remedy: "see to it that it is there again and give the same command; or begin again with another --out"
            );
        }
        // What an earlier sitting had without measuring it may be left out now, and is from here on.
        if !is_recalling || reason.is_some() {
            self.keep(&key, &reason.cloned())?;
        }
        Ok(made)
    }

    /// Whether duels of it are among those that are still to be recalled.
    fn was_measured(&self, subject: &str) -> bool {
        let left = self.recalled.get(self.next..).unwrap_or_default();
        left.iter().any(|duel| duel.subject == subject)
    }
}
