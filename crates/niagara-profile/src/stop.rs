//! The flag that ends a thread which reads what is recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a reading thread to end, whenever it is dropped: a view that fails leaves none behind that reads on.
#[derive(Debug, Default)]
pub(crate) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// What the thread looks at: `true` from when the stop is dropped.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
