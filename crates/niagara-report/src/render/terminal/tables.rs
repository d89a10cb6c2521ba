//! Tables on a screen: side by side where they fit, beneath each other where they do not.

use console::{measure_text_width, pad_str};

use super::screen::{Paint, Screen, cell, wrap};
use crate::document::{Column, Table};

/// Narrower than this, what stood beside goes beneath.
const STACKED_BELOW: usize = 84;

/// Before what stands beneath a row's name.
const INDENT: &str = "    ";

pub(super) struct Row {
    pub(super) title: String,
    pub(super) estimate: String,
    pub(super) note: String,
    pub(super) paint: Paint,
}

impl Screen {
    /// A table on one screen: without the columns that can be spared where all do not fit.
    pub(super) fn short_grid(&mut self, grid: &Table) {
        let mut grid = grid.clone();
        for column in grid.spare.clone() {
            if self.fits(&grid) {
                break;
            }
            grid.leave_out(column);
        }
        self.grid(&grid);
    }

    fn fits(&self, grid: &Table) -> bool {
        grid.widths().iter().map(|width| width + 2).sum::<usize>() <= self.width
    }

    /// Columns side by side where they fit; else a block for each row.
    pub(super) fn grid(&mut self, grid: &Table) {
        if grid.rows.is_empty() {
            return;
        }
        if !self.fits(grid) {
            for (index, row) in grid.rows.iter().enumerate() {
                self.row_block(&grid.columns, row, grid.strong.contains(&index));
            }
            return;
        }
        let widths = grid.widths();
        let line = |cells: &mut dyn Iterator<Item = &String>| {
            let padded: Vec<String> = cells
                .zip(grid.columns.iter().zip(&widths))
                .map(|(cell, ((_, kind), width))| {
                    let side = if *kind == Column::Figures {
                        console::Alignment::Right
                    } else {
                        console::Alignment::Left
                    };
                    pad_str(cell, *width, side, None).into_owned()
                })
                .collect();
            format!("  {}", padded.join("  ").trim_end())
        };
        if grid.columns.iter().any(|(name, _)| !name.is_empty()) {
            let heads = line(&mut grid.columns.iter().map(|(name, _)| name));
            let heads = match grid.heading.is_empty() {
                true => self.painted(&heads, Paint::Bold),
                false => heads,
            };
            self.line(&heads);
        }
        for (index, row) in grid.rows.iter().enumerate() {
            let text = line(&mut row.iter());
            let paint = if grid.strong.contains(&index) {
                Paint::Bold
            } else {
                Paint::Plain
            };
            let text = self.painted(&text, paint);
            self.line(&text);
        }
    }

    /// A row of a table that is too wide: its name, beneath it what stands in the columns.
    fn row_block(&mut self, columns: &[(String, Column)], row: &[String], strong: bool) {
        let named = columns.iter().take_while(|(name, _)| name.is_empty());
        let named = named.count().max(1).min(row.len());
        let filled = |cells: &[String]| -> Vec<String> {
            let cells = cells.iter().filter(|cell| !cell.is_empty());
            cells.cloned().collect()
        };
        let paint = if strong { Paint::Bold } else { Paint::Plain };
        self.wrapped("  ", &filled(&row[..named]).join(" · "), paint);
        let parts: Vec<String> = columns
            .iter()
            .zip(row)
            .skip(named)
            .filter(|(_, cell)| !cell.is_empty())
            .map(|((name, _), cell)| match name.as_str() {
                "" => cell.clone(),
                name => format!("{name} {cell}"),
            })
            .collect();
        // As many on a line as fit; none is broken unless it is longer than a line.
        let mut line = String::new();
        for part in parts {
            let joined = format!("{line} · {part}");
            if line.is_empty() {
                line = part;
            } else if INDENT.len() + measure_text_width(&joined) <= self.width {
                line = joined;
            } else {
                self.wrapped(INDENT, &line, paint);
                line = part;
            }
        }
        self.wrapped(INDENT, &line, paint);
    }

    pub(super) fn table(&mut self, rows: &[Row]) {
        let width = |text: fn(&Row) -> &str| {
            let widths = rows.iter().map(|row| measure_text_width(text(row)));
            widths.max().unwrap_or(0)
        };
        let stacked = self.width < STACKED_BELOW;
        let most = if stacked {
            self.width - 28
        } else {
            self.width / 3 + 4
        };
        let title = width(|row| &row.title).min(most);
        let estimate = width(|row| &row.estimate);
        for row in rows {
            if stacked {
                let head = format!("  {}  {}", cell(&row.title, title), row.estimate);
                let head = self.painted(&head, row.paint);
                self.line(&head);
                self.wrapped("    ", &row.note, Paint::Plain);
                continue;
            }
            let head = format!(
                "  {}  {}  ",
                cell(&row.title, title),
                pad_str(&row.estimate, estimate, console::Alignment::Left, None)
            );
            let room = self.width.saturating_sub(2 + title + 2 + estimate + 2);
            let lines = wrap(&row.note, room.max(16));
            for (i, note) in lines.iter().enumerate() {
                let start = if i == 0 {
                    self.painted(&head, row.paint)
                } else {
                    " ".repeat(measure_text_width(&head))
                };
                self.line(format!("{start}{note}").trim_end());
            }
        }
    }
}
