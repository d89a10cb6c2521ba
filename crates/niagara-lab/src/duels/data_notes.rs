//! What is told of the user's data, for the results.

use std::sync::{Arc, Mutex, PoisonError};

/// What is told of the user's data when they are set up, each sentence once: the benches of a study share it, and it is kept with the
/// results.
#[derive(Debug, Clone, Default)]
pub(crate) struct DataNotes(Arc<Mutex<Vec<String>>>);

impl DataNotes {
    /// Adds a sentence, unless it is there.
    pub(crate) fn add(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }

    /// All of it until now.
    pub(crate) fn lines(&self) -> Vec<String> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.clone()
    }
}
