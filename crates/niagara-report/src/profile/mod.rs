//! A profile, or two side by side, as text, Markdown and a page.
//!
//! What is said is decided once ([`sections`]): headings, sentences and tables. The three forms only write it down.

mod content;
mod difference;
mod figures;
mod page;
mod plain;
mod stored;

pub use content::headline;
pub(crate) use page::part;
pub use page::{Graph, profile_html};
pub(crate) use plain::markdown;
pub use plain::{profile_markdown, profile_text};
pub(crate) use stored::sections_in_short;
pub use stored::{DiagnosedProfile, diagnosed_profiles, limits_in_short};

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
