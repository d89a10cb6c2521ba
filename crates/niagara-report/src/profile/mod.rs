//! A profile, or two side by side, as text, Markdown and a page.
//!
//! What is said is decided once ([`sections`]): headings, sentences and tables. The three forms only write it down.

mod content;
mod difference;
mod page;
mod plain;

pub use content::headline;
pub use page::{Graph, profile_html};
pub use plain::{profile_markdown, profile_text};

/// A part of the report.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Section {
    /// Its heading.
    pub title: String,
    /// What it shows, before its table.
    pub intro: String,
    /// Names of the columns; the first is a name, the others are numbers unless said otherwise.
    pub columns: Vec<String>,
    /// How many of the last columns hold words.
    pub words: usize,
    /// The rows.
    pub rows: Vec<Vec<String>>,
    /// After the table.
    pub notes: Vec<String>,
    /// Shown on the page and in Markdown only.
    pub long: bool,
}
