//! Results on disk: every slice of every duel, in SQLite.

mod deployment;
mod error;
mod event;
mod lock;
mod record;
mod store;
mod study_summary;
mod summary;

pub use deployment::{DeployBuild, DeployMalloc, Deployment};
pub use error::{Result, StoreError};
pub use event::{EventRecord, RunTime};
pub use lock::{LOCK_FILE, StudyLock};
pub use record::{DuelRecord, Ending, Phase, SliceRecord, StudyRecord, VariantRecord};
pub use store::Store;
pub use study_summary::About;
pub use summary::{
    CompareSummary, Comparison, NotTried, Rung, Screened, Summary, Together, TuneSummary,
};
