//! A cause and its remedies.

use std::error::Error;
use std::fmt;

/// What went wrong and what to do about it. Its `Display` is the cause alone.
#[derive(Debug)]
pub struct Problem {
    /// What went wrong; without it the error below says that.
    cause: Option<String>,
    below: Option<anyhow::Error>,
    pub(crate) remedies: Vec<String>,
}

impl Problem {
    /// Of a cause, without a remedy yet.
    pub fn new(cause: impl Into<String>) -> Self {
        Self {
            cause: Some(cause.into()),
            below: None,
            remedies: Vec::new(),
        }
    }

    /// An error as it is, to be given a remedy.
    pub fn of(error: impl Into<anyhow::Error>) -> Self {
        Self {
            cause: None,
            below: Some(error.into()),
            remedies: Vec::new(),
        }
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
