//! Results on disk: every slice of every duel, in SQLite.

mod error;
mod lock;
mod store;

pub use error::{Result, StoreError};
pub use lock::StudyLock;
pub use store::{SCHEMA, Store};
