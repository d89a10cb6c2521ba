//! What an error of any type tells.

use std::error::Error;
use std::{fmt, io};

use crate::remedied::own_explanation;
use crate::{Explanation, Problem};

impl Explanation {
    /// Of an error and all its causes.
    pub fn of(error: &(dyn Error + 'static)) -> Self {
        let mut causes = Vec::new();
        let mut found = Self::default();
        let mut link = Some(error);
        while let Some(error) = link {
            // What an I/O error wraps has its words.
            if let Some(inner) = error.downcast_ref().and_then(io::Error::get_ref) {
                link = Some(inner);
                continue;
            }
            let Some(problem) = error.downcast_ref::<Problem>() else {
                let (cause, below) = found.add(error);
                causes.push(cause);
                link = below;
                continue;
            };
            found.details.extend(problem.details.iter().cloned());
            found.remedies.extend(problem.remedies.iter().cloned());
            found.others.extend(problem.others.iter().cloned());
            if problem.itself().is_none() {
                causes.push(problem.to_string());
            }
            link = problem.below().map(|below| below.as_ref());
        }
        found.cause = causes.join(": ");
        found
    }

    /// Takes over what an error that is no [`Problem`] knows of its remedies; its words and the next link. Whoever handed
    /// it on may have said what to do: that one knew what was being done.
    fn add<'a>(
        &mut self,
        error: &'a (dyn Error + 'static),
    ) -> (String, Option<&'a (dyn Error + 'static)>) {
        let Some(own) = own_explanation(error) else {
            return (error.to_string(), error.source());
        };
        self.details.extend(own.details);
        if self.remedies.is_empty() {
            self.remedies = own.remedies;
        }
        self.others.extend(own.others);
        (own.cause, error.source())
    }
}

impl From<&anyhow::Error> for Explanation {
    fn from(error: &anyhow::Error) -> Self {
        Self::of(error.as_ref())
    }
}

impl From<Problem> for Explanation {
    fn from(problem: Problem) -> Self {
        Self::of(&problem)
    }
}

/// Questions to an error.
pub trait Explain {
    /// It and its causes, with what to do.
    fn explain(&self) -> Explanation;

    /// The error of this type that it is or comes of.
    fn find<T: fmt::Display + fmt::Debug + Send + Sync + 'static>(&self) -> Option<&T>;

    /// Whether it is or comes of an error of this type.
    fn has<T: fmt::Display + fmt::Debug + Send + Sync + 'static>(&self) -> bool {
        self.find::<T>().is_some()
    }
}

impl Explain for anyhow::Error {
    fn explain(&self) -> Explanation {
        self.into()
    }

    fn find<T: fmt::Display + fmt::Debug + Send + Sync + 'static>(&self) -> Option<&T> {
        // A context is seen by anyhow alone, what is below a `Problem` only here.
        self.downcast_ref().or_else(|| {
            let mut problems = self
                .chain()
                .filter_map(|link| link.downcast_ref::<Problem>());
            problems.find_map(|problem| problem.below()?.find())
        })
    }
}
