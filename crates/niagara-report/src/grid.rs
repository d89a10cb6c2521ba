//! A table, as every form of the report lays it out.

use console::measure_text_width;

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
    /// How many of the notes, from the first on, one screen has.
    pub short_notes: usize,
    /// Columns that one screen does without where not all of them fit: places from the right to the left, the first goes first.
    pub spare: Vec<usize>,
    /// Nothing for one screen at all.
    pub long: bool,
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
            short_notes: 0,
            spare: Vec::new(),
            long: false,
        }
    }

    /// Columns that each column takes.
    pub(crate) fn widths(&self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let widths = columns.map(|(index, (name, _))| {
            let cells = self.rows.iter().filter_map(|row| row.get(index));
            let widest = cells.map(|cell| measure_text_width(cell)).max();
            widest.unwrap_or(0).max(measure_text_width(name))
        });
        widths.collect()
    }

    /// Takes a column out, where it has it.
    pub(crate) fn leave_out(&mut self, column: usize) {
        if column < self.columns.len() {
            self.columns.remove(column);
        }
        for row in self.rows.iter_mut().filter(|row| column < row.len()) {
            row.remove(column);
        }
    }
}
