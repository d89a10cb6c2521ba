//! A table, as every form of the report lays it out.

/// A table, for the terminal, Markdown and the page alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// What stands above it.
    pub heading: String,
    /// Headings of the columns; `true` where numbers stand, to the right.
    pub columns: Vec<(String, bool)>,
    /// Cells, row by row.
    pub rows: Vec<Vec<String>>,
    /// Rows that are printed bold.
    pub strong: Vec<usize>,
    /// What stands beneath it.
    pub notes: Vec<String>,
}

impl Grid {
    pub(crate) fn new(heading: impl Into<String>, columns: &[(&str, bool)]) -> Self {
        Self {
            heading: heading.into(),
            columns: columns
                .iter()
                .map(|(name, number)| ((*name).to_owned(), *number))
                .collect(),
            rows: Vec::new(),
            strong: Vec::new(),
            notes: Vec::new(),
        }
    }
}
