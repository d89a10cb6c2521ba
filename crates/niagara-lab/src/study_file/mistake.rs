//! A mistake in a file: where, what, and what to do about it.

use std::fmt;

use serde::Serialize;

/// One mistake of a study file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mistake {
    /// The file, as the user named it.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}\nremedy: {}",
            self.file, self.line, self.column, self.cause, self.remedy
        )
    }
}

/// The mistakes of one file, in the order they stand there.
#[derive(Debug)]
pub(crate) struct Mistakes<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<(usize, Mistake)>,
}

impl<'a> Mistakes<'a> {
    pub(crate) fn of(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            found: Vec::new(),
        }
    }

    /// Notes a mistake `at` a byte of the file.
    pub(crate) fn add(&mut self, at: usize, cause: impl Into<String>, remedy: impl Into<String>) {
        let before = self.text.get(..at).unwrap_or(self.text);
        let mistake = Mistake {
            file: self.file.to_owned(),
            line: before.matches('\n').count() + 1,
            column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
            cause: cause.into(),
            remedy: remedy.into(),
        };
        self.found.push((at, mistake));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn into_vec(mut self) -> Vec<Mistake> {
        // What is wrong in both sizes is said once.
        self.found.sort_by(|(at, one), (other_at, other)| {
            (at, &one.cause).cmp(&(other_at, &other.cause))
        });
        self.found.dedup_by(|one, other| one.1 == other.1);
        self.found.into_iter().map(|(_, mistake)| mistake).collect()
    }
}
