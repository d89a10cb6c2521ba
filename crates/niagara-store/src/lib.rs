//! Results on disk: every slice of every duel, in SQLite.

mod error;
mod event;
mod record;
mod store;
mod summary;

pub use error::{Result, StoreError};
pub use event::{EventRecord, RunTime};
pub use record::{DuelRecord, Ending, Phase, SliceRecord, StudyRecord, VariantRecord};
pub use store::Store;
pub use summary::{
    CompareSummary, Comparison, NotTried, Rung, Screened, Summary, Together, TuneSummary,
};
