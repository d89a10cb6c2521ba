//! How many couples the duels of a comparison have.

use anyhow::Result;

use crate::asking::question::StudyDescription;
use crate::plans::duel_plan::couples_for;
use crate::plans::spec::Protocol;
use crate::studies::checkpoint;
use crate::studies::history::History;
use crate::studies::study::Study;

/// The couples of `question`'s duels: those asked for, or else what pays best for its budget by what earlier comparisons
/// showed of this machine's noise; by the defaults while too little is known. `history` is absent where the load comes
/// from another host: it is of loads that came from this one.
pub fn couples_of(question: &StudyDescription, history: Option<&History>) -> u32 {
    let duel_settings = question.duel_settings();
    if question.couples.is_some() || question.protocol != Protocol::Duel {
        return duel_settings.couples;
    }
    let load = question.first_load();
    let best = history
        .and_then(|history| history.best_couples(&load, &duel_settings))
        .unwrap_or(duel_settings.couples);
    let seconds = question.budget.as_secs_f64();
    couples_for(&duel_settings, best, seconds, question.duels)
}

/// The same for a study: it keeps to its choice, whatever is learned of the noise later.
pub(crate) fn recalled_couples(
    study: &Study,
    question: &StudyDescription,
    history: Option<&History>,
) -> Result<u32> {
    study.recall_or(&checkpoint::couples(), || Ok(couples_of(question, history)))
}
