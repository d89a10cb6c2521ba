//! An error as it is kept and shown.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong, with its causes, and what to do about it: the form in which results, events and JSON have an error.
#[derive(
    Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Explanation {
    /// What went wrong, its causes behind it.
    pub cause: String,
    /// What helps to understand it, as the end of a log: a line or more each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remedies: Vec<String>,
    /// What else is wrong, each with its own remedy, as the further mistakes of a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Explanation>,
}

impl Explanation {
    /// Of a cause, without a remedy yet.
    pub fn new(cause: impl Into<String>) -> Self {
        Self {
            cause: cause.into(),
            ..Self::default()
        }
    }

    /// With what helps to understand it.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.details.push(detail.into());
        self
    }

    /// With what to do about it; another one stands behind those before it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedies.push(remedy.into());
        self
    }

    /// With another one that helps to understand it, and its remedies.
    #[must_use]
    pub fn with(mut self, other: Explanation) -> Self {
        self.details.push(other.cause);
        self.details.extend(other.details);
        self.remedies.extend(other.remedies);
        self.others.extend(other.others);
        self
    }

    /// The first of several, with the others behind it.
    pub fn of_several(several: impl IntoIterator<Item = Explanation>) -> Self {
        let mut several = several.into_iter();
        let mut first = several.next().unwrap_or_default();
        first.others.extend(several);
        first
    }

    /// The first line of the cause.
    pub fn headline(&self) -> &str {
        self.cause.lines().next().unwrap_or_default()
    }

    /// The same with other words for the cause.
    #[must_use]
    pub fn with_cause(self, cause: impl FnOnce(&str) -> String) -> Self {
        Self {
            cause: cause(&self.cause),
            ..self
        }
    }
}

/// The one place that writes a remedy for people: the line that says what to do.
pub fn remedy_line(remedy: impl fmt::Display) -> String {
    format!("remedy: {remedy}")
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)?;
        for detail in &self.details {
            write!(f, "\n{detail}")?;
        }
        for remedy in &self.remedies {
            write!(f, "\n{}", remedy_line(remedy))?;
        }
        for other in &self.others {
            write!(f, "\n{other}")?;
        }
        Ok(())
    }
}

impl From<String> for Explanation {
    fn from(cause: String) -> Self {
        Self::new(cause)
    }
}

impl From<&str> for Explanation {
    fn from(cause: &str) -> Self {
        Self::new(cause)
    }
}
