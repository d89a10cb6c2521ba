//! Why a capture on a server ended.

use serde::{Deserialize, Serialize};

/// Why a capture ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// Somebody said so.
    Asked,
    /// Its time was over.
    Time,
    /// Its log was as long as it may be.
    Size,
    /// The disk was nearly full.
    Disk,
    /// The command that started it has gone.
    ParentGone,
    /// The log could not be seen.
    LogGone,
}

impl End {
    /// The reason in words.
    pub fn text(self) -> &'static str {
        match self {
            End::Asked => "as asked",
            End::Time => "its time was over",
            End::Size => "its log was as long as it may be (--max-size)",
            End::Disk => "the disk was nearly full",
            End::ParentGone => "the command that started it was gone",
            End::LogGone => "its log could not be seen any more",
        }
    }
}
