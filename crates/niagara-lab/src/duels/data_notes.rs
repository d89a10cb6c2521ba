//! What is told of the user's data, for the results.

use std::sync::{Arc, Mutex, PoisonError};

use niagara_model::OriginNote;

/// Notes on the user's data, each once. The benches of a study share them, and the results keep them.
#[derive(Debug, Clone, Default)]
pub(crate) struct DataNotes(Arc<Mutex<Vec<OriginNote>>>);

impl DataNotes {
    /// Adds a note, unless it is there.
    pub(crate) fn add(&self, note: OriginNote) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }

    /// All of them until now.
    pub(crate) fn all(&self) -> Vec<OriginNote> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.clone()
    }
}
