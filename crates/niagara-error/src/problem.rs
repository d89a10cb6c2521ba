//! A cause and its remedies.

use std::error::Error;
use std::fmt;

use crate::Explanation;

/// What went wrong and what to do about it. Its `Display` is the cause alone.
#[derive(Debug)]
pub struct Problem {
    /// What went wrong; without it the error below says that.
    cause: Option<String>,
    below: Option<anyhow::Error>,
    pub(crate) details: Vec<String>,
    pub(crate) remedies: Vec<String>,
    /// What else is wrong.
    pub(crate) others: Vec<Explanation>,
}

impl Problem {
    /// Of a cause, without a remedy yet.
    pub fn new(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            below: None,
            details: Vec::new(),
            remedies: Vec::new(),
            others: Vec::new(),
        }
    }

    /// An error as it is, to be given a remedy.
    pub fn of(error: impl Into<anyhow::Error>) -> Self {
        Self {
            cause: None,
            below: Some(error.into()),
            details: Vec::new(),
            remedies: Vec::new(),
            others: Vec::new(),
        }
    }

    /// With what helps to understand it, as the end of a log.
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

    /// With the error that it comes of.
    #[must_use]
    pub fn because(mut self, error: impl Into<anyhow::Error>) -> Self {
        self.below = Some(error.into());
        self
    }

    /// The error whose words are this one's.
    pub(crate) fn itself(&self) -> Option<&anyhow::Error> {
        match self.cause {
            Some(_) => None,
            None => self.below.as_ref(),
        }
    }

    pub(crate) fn below(&self) -> Option<&anyhow::Error> {
        self.below.as_ref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.cause, &self.below) {
            (Some(cause), _) => f.write_str(cause),
            (None, Some(error)) => write!(f, "{error}"),
            (None, None) => Ok(()),
        }
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        let below: &(dyn Error + 'static) = self.below.as_ref()?.as_ref();
        match self.cause {
            Some(_) => Some(below),
            None => below.source(),
        }
    }
}

/// An error again, of what was kept or came over a wire.
impl From<Explanation> for Problem {
    fn from(told: Explanation) -> Self {
        Self {
            cause: Some(told.cause),
            below: None,
            details: told.details,
            remedies: told.remedies,
            others: told.others,
        }
    }
}

impl From<Explanation> for anyhow::Error {
    fn from(told: Explanation) -> Self {
        Self::new(Problem::from(told))
    }
}

/// Results whose error gets a remedy.
pub trait Remedy<T> {
    /// What to do where this failed.
    ///
    /// # Errors
    /// The error, with the remedy.
    fn remedy(self, remedy: &str) -> anyhow::Result<T>;

    /// [`remedy`](Remedy::remedy) whose words are made where they are needed.
    ///
    /// # Errors
    /// The error, with the remedy.
    fn remedy_with(self, remedy: impl FnOnce() -> String) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> Remedy<T> for Result<T, E> {
    fn remedy(self, remedy: &str) -> anyhow::Result<T> {
        self.remedy_with(|| remedy.to_owned())
    }

    fn remedy_with(self, remedy: impl FnOnce() -> String) -> anyhow::Result<T> {
        self.map_err(|error| Problem::of(error).remedy(remedy()).into())
    }
}
