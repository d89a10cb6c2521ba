//! A mistake in a file: where, what, and what to do about it.

use std::fmt;

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::Serialize;

/// One mistake of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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

/// The place and the cause.
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = (self.line, self.column);
        write!(f, "{}:{line}:{column}: {}", self.file, self.cause)
    }
}

impl From<&Mistake> for Explanation {
    fn from(mistake: &Mistake) -> Self {
        Self::new(mistake.to_string()).remedy(&mistake.remedy)
    }
}

/// The mistakes of a file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError(pub Vec<Mistake>);

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            write!(f, "{}{mistake}", if index > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for FileError {}

impl From<&FileError> for Explanation {
    fn from(error: &FileError) -> Self {
        Self::of_several(error.0.iter().map(Self::from))
    }
}

impl From<FileError> for Explanation {
    fn from(error: FileError) -> Self {
        Self::from(&error)
    }
}

niagara_error::remedied!(FileError, Explanation::from);

/// A mistake at a byte of a text whose file is not known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The byte.
    pub at: usize,
    /// What is wrong.
    pub cause: String,
    /// What to do.
    pub remedy: String,
}

/// What was understood, or the first mistake.
pub type Found<T> = Result<T, Finding>;

/// A mistake at byte `at`.
pub fn finding<T>(at: usize, cause: impl Into<String>, remedy: impl Into<String>) -> Found<T> {
    Err(Finding {
        at,
        cause: cause.into(),
        remedy: remedy.into(),
    })
}

/// The mistakes of one file so far.
#[derive(Debug)]
pub struct Mistakes<'a> {
    file: &'a str,
    text: &'a str,
    found: Vec<Finding>,
}

impl<'a> Mistakes<'a> {
    /// None yet of the file that messages call `file`.
    pub fn of(file: &'a str, text: &'a str) -> Self {
        Self {
            file,
            text,
            found: Vec::new(),
        }
    }

    /// Notes a mistake `at` a byte of the file.
    pub fn add(&mut self, at: usize, cause: impl Into<String>, remedy: impl Into<String>) {
        self.found.push(Finding {
            at,
            cause: cause.into(),
            remedy: remedy.into(),
        });
    }

    /// The file and line of a byte, as messages write them: `study.toml:7`.
    pub fn place(&self, at: usize) -> String {
        format!("{}:{}", self.file, line_of(self.text, at))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Takes what was understood, or notes why it was not.
    pub fn take<T>(&mut self, found: Found<T>) -> Option<T> {
        found.map_err(|mistake| self.found.push(mistake)).ok()
    }

    /// All of them, each once, in the order in which they stand in the file.
    pub(crate) fn into_error(mut self) -> FileError {
        self.found
            .sort_by(|one, other| (one.at, &one.cause).cmp(&(other.at, &other.cause)));
        self.found.dedup();
        let placed = |found: Finding| {
            let before = self.text.get(..found.at).unwrap_or(self.text);
            Mistake {
                file: self.file.to_owned(),
                line: line_of(self.text, found.at),
                column: before.chars().rev().take_while(|c| *c != '\n').count() + 1,
                cause: found.cause,
                remedy: found.remedy,
            }
        };
        FileError(self.found.into_iter().map(placed).collect())
    }

    /// `value`, unless there are mistakes.
    ///
    /// # Errors
    /// All of them.
    pub fn unless_any<T>(self, value: Option<T>) -> Result<T, FileError> {
        match value {
            Some(value) if self.found.is_empty() => Ok(value),
            _ => Err(self.into_error()),
        }
    }
}

/// The line of a byte, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).unwrap_or(text).matches('\n').count() + 1
}
