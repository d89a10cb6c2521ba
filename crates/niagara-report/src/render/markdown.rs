//! A document as Markdown: for issues, wikis, merge requests.

use std::fmt::Write;

use crate::document::{Block, Claim, Column, Document, Extent, Section, Table, Way};
use crate::number;

/// The whole document.
pub(crate) fn text(document: &Document) -> String {
    let mut page = Page(String::new());
    page.line(&format!("# {}", plain(document.introduction.title())));
    for paragraph in document.introduction.beneath_title() {
        page.line(&with_code(paragraph));
    }
    page.warnings(&document.warnings);
    for (depth, lead) in &document.lead {
        if depth.is_for(Extent::Text) {
            page.line(&plain(lead));
        }
    }
    for section in document.sections(Extent::Text) {
        if !section.heading.is_empty() {
            page.line(&format!("## {}", plain(&section.heading)));
        }
        page.blocks(section);
    }
    page.0
}

struct Page(String);

impl Page {
    fn warnings(&mut self, warnings: &[String]) {
        if warnings.is_empty() {
            return;
        }
        self.line("> **Before you believe the rest**");
        self.0.pop(); // the list belongs to the quotation
        for warning in warnings {
            self.row(&format!("> - {}", with_code(warning)));
        }
        self.row("");
    }

    fn blocks(&mut self, section: &Section) {
        for block in section.blocks(Extent::Text) {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(text) | Block::Note(text) => self.line(&with_code(text)),
            Block::List(lines) => self.list(lines.iter().map(|line| plain(line))),
            Block::Facts(facts) => {
                let rows = facts.titled();
                self.list(rows.map(|(name, value)| {
                    let lines: Vec<String> = value.lines().map(with_code).collect();
                    format!("{}: {}", plain(&name), lines.join("\n  - "))
                }));
            }
            Block::Table(table) => self.table(table),
            Block::Way(way) => self.way(way),
            Block::Claims(claims) => self.claims(claims),
            Block::Sides([a, b]) => {
                self.list([format!("A: {}", plain(a)), format!("B: {}", plain(b))].into_iter());
            }
            Block::Figure(_) => {}
            Block::Code(code) => {
                let fence = if code.contains("```") { "~~~~" } else { "```" };
                self.line(&format!("{fence}\n{code}\n{fence}"));
            }
            Block::Folded(folded) => {
                let detail = match folded.detail.as_str() {
                    "" => String::new(),
                    detail => format!(" ({})", plain(detail)),
                };
                self.line(&format!("**{}**{detail}", plain(&folded.title)));
                self.blocks(&folded.inner);
            }
        }
    }

    fn list(&mut self, lines: impl Iterator<Item = String>) {
        for line in lines {
            self.row(&format!("- {line}"));
        }
        self.row("");
    }

    fn table(&mut self, table: &Table) {
        let heads = table.columns.iter();
        let heads: Vec<(&str, Column)> = heads
            .map(|(name, column)| (name.as_str(), *column))
            .collect();
        let rows = table.rows.iter().enumerate().map(|(index, row)| {
            let is_strong = table.strong.contains(&index);
            let cells = row.iter().zip(&table.columns);
            let cells = cells.map(|(cell, (_, column))| match column {
                Column::Code => code(cell),
                _ if is_strong && !cell.is_empty() => format!("**{}**", plain(cell)),
                _ => plain(cell),
            });
            cells.collect()
        });
        self.rows(&heads, rows.collect());
    }

    fn way(&mut self, way: &Way) {
        let heads = [
            ("Lever", Column::Words),
            ("Id", Column::Code),
            ("Change", Column::Code),
            (way.judged_by, Column::Figures),
            ("Standing", Column::Words),
        ];
        let rows = way.steps.iter().map(|step| {
            let bold = |text: String| match step.total {
                true => format!("**{text}**"),
                false => text,
            };
            vec![
                bold(plain(&step.title)),
                code(&step.id),
                code(&step.change),
                bold(step.numbers.clone()),
                step.standing.clone(),
            ]
        });
        self.rows(&heads, rows.collect());
        self.line(&way.notes.join(" "));
    }

    fn claims(&mut self, claims: &[Claim]) {
        let heads = [
            ("B over A", Column::Words),
            ("Estimate", Column::Figures),
            ("How to read it", Column::Words),
        ];
        let rows = claims.iter().map(|claim| {
            let note = match claim.verdict.as_str() {
                "" => claim.note.clone(),
                verdict => format!("{verdict}, {}", claim.note),
            };
            vec![
                plain(&claim.title),
                number::estimate(&claim.estimate),
                plain(&note),
            ]
        });
        self.rows(&heads, rows.collect());
    }

    /// A table; names and cells are Markdown.
    fn rows(&mut self, heads: &[(&str, Column)], rows: Vec<Vec<String>>) {
        let names: Vec<String> = heads.iter().map(|(name, _)| plain(name)).collect();
        self.row(&format!("| {} |", names.join(" | ")));
        let rules: String = heads
            .iter()
            .map(|(_, column)| match column {
                Column::Figures => " ---: |",
                Column::Words | Column::Code => " --- |",
            })
            .collect();
        self.row(&format!("|{rules}"));
        for cells in rows {
            self.row(&format!("| {} |", cells.join(" | ")));
        }
        self.row("");
    }

    /// A paragraph.
    fn line(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = write!(self.0, "{text}\n\n");
    }

    fn row(&mut self, text: &str) {
        let _ = writeln!(self.0, "{text}"); // as above
    }
}

/// Text in which nothing is taken for markup.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '<' | '*' | '`' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

/// Text of which nothing but code between backticks is markup.
fn with_code(text: &str) -> String {
    match text.matches('`').count() {
        pairs if pairs > 0 && pairs % 2 == 0 => {
            let parts = text.split('`').enumerate();
            parts
                .map(|(place, part)| match place % 2 {
                    0 => plain(part),
                    _ => code(part),
                })
                .collect()
        }
        _ => plain(text),
    }
}

/// Text in the type of code, also within a table.
fn code(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let text = text.replace(['\n', '\r'], " ").replace('|', "\\|");
    if text.contains('`') {
        format!("`` {text} ``")
    } else {
        format!("`{text}`")
    }
}
