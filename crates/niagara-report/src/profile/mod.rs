//! A profile, or two side by side: headings, sentences and tables are decided here, once for all formats.

mod content;
mod difference;
mod figures;
mod forms;
mod stored;

pub use content::headline;
pub(crate) use forms::document;
pub use forms::{Graph, Profiles};
pub(crate) use stored::sections_in_short;
pub use stored::{DiagnosedProfile, diagnosed_profiles, limits_in_short};

use crate::document::{Block, Depth, Section, Table};
use crate::number;

/// A part of a profile's report.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Content {
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
    /// Rows that one screen has at the most, of a table that has more elsewhere.
    pub on_screen: Option<usize>,
    /// Shown on the page and in Markdown only.
    pub long: bool,
}

impl From<Content> for Section {
    fn from(part: Content) -> Self {
        let depth = if part.long { Depth::Long } else { Depth::Every };
        let mut section = Self::new(depth, part.title.clone());
        if !part.intro.is_empty() {
            section = section.with_at(Depth::Long, Block::Note(part.intro));
        }
        if part.rows.is_empty() {
            return section.with(Block::List(part.notes));
        }
        let count = part.columns.len();
        let columns: Vec<(&str, bool)> = part
            .columns
            .iter()
            .enumerate()
            .map(|(index, name)| (name.as_str(), index > 0 && index < count - part.words))
            .collect();
        let table = Table {
            rows: part.rows,
            // What helps is said at length in the report.
            spare: (count - part.words..count).rev().collect(),
            ..Table::new(part.title, &columns)
        };
        let brief = part.on_screen.filter(|most| table.rows.len() > *most);
        section = match brief {
            Some(most) => {
                let all = number::count(table.rows.len(), "row");
                let mut first = table.clone();
                first.rows.truncate(most);
                section
                    .with_at(Depth::Brief, Block::Table(first))
                    .with_at(
                        Depth::Brief,
                        Block::Note(format!("The first {most} of {all}; the report has all.")),
                    )
                    .with_at(Depth::Long, Block::Table(table))
            }
            None => section.with(Block::Table(table)),
        };
        for note in part.notes {
            section = section.with(Block::Note(note));
        }
        section
    }
}
