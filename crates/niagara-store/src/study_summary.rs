//! What the studies of a file came to.

use serde::{Deserialize, Serialize};

/// Words that open a study: what was asked then, what has changed since, what is measured now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// For people.
    pub title: String,
    /// What was asked then, and what came out.
    pub asked: String,
    /// What has changed since.
    pub changed: String,
    /// What is measured now.
    pub measured: String,
    /// Where the published figures come from.
    pub source: Option<String>,
    /// The published table, as text.
    pub published: Option<String>,
    /// `small` or `original`.
    pub size: String,
    /// How this size differs from the other.
    pub note: Option<String>,
}
