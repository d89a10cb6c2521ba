//! The report on a terminal: one screen that says what was found, what it takes to apply and what to do next; with
//! `verbose`, all there is.

mod ending;
mod screen;
mod tables;
mod waterfall;

use console::measure_text_width;

use crate::document::{Block, Claim, Document, Extent, Medium};
use crate::node_account::node_account_lines;
use crate::number;
use crate::source::{Source, Subject};

use screen::{Paint, Screen, wrap};
use tables::Row;
use waterfall::paint_of;

/// How a terminal shows something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// ANSI colours.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Everything; else one screen that counts what it leaves out.
    pub verbose: bool,
}

impl Default for View {
    /// One screen of 80 columns without colours.
    fn default() -> Self {
        Self {
            colour: false,
            width: 80,
            verbose: false,
        }
    }
}

/// A source for a terminal, with where its files are below it.
pub(crate) fn text(source: &Source<'_>, view: &View) -> String {
    let verbose = view.verbose;
    let document = source.document(Medium::Terminal { verbose });
    let mut screen = Screen::new(view.colour, view.width);
    screen.document(&document, source.extent_on_terminal(verbose));
    match source.subject {
        Subject::Study(study) => {
            if let Some(summary) = study.summary {
                screen.ending(summary, &study, verbose);
            }
            let report = study.report();
            if let Some(account) = report.and_then(|report| report.nodes_held.as_ref()) {
                screen.line("");
                for line in node_account_lines(account) {
                    screen.wrapped("nodes:   ", &line, Paint::Plain);
                }
            }
        }
        Subject::Profiles(profiles) => {
            if let Some(page) = profiles.page {
                screen.line("");
                screen.line(&format!("report: {}", page.display()));
            }
        }
        Subject::SideBySide(_) | Subject::Advice(_) => {}
    }
    screen.out
}

impl Screen {
    fn document(&mut self, document: &Document, extent: Extent) {
        self.wrapped("", &document.introduction.headline, Paint::Bold);
        for paragraph in &document.introduction.paragraphs {
            self.wrapped("", paragraph, Paint::Plain);
        }
        if !document.warnings.is_empty() {
            self.line("");
        }
        for warning in &document.warnings {
            self.wrapped("  ! ", warning, Paint::Warning);
        }
        for (depth, lead) in &document.lead {
            if depth.is_for(extent) {
                self.wrapped("  ", lead, Paint::Plain);
            }
        }
        for section in document.sections(extent) {
            self.heading(&section.heading);
            for block in section.blocks(extent) {
                self.block(block, extent);
            }
        }
    }

    fn block(&mut self, block: &Block, extent: Extent) {
        match block {
            Block::Text(text) | Block::Note(text) => self.wrapped("  ", text, Paint::Plain),
            Block::List(lines) => {
                for line in lines {
                    self.wrapped("  ", line, Paint::Plain);
                }
            }
            Block::Facts(facts) if facts.has_long_names() => {
                for (name, value) in &facts.rows {
                    self.wrapped("  ", &format!("{name}: {value}"), Paint::Plain);
                }
            }
            Block::Facts(facts) => self.facts(&facts.rows),
            Block::Table(table) if extent == Extent::Screen => self.short_grid(table),
            Block::Table(table) => self.grid(table),
            Block::Way(way) if extent == Extent::Screen => self.way_in_short(way),
            Block::Way(way) => self.way(way),
            Block::Claims(claims) => self.claims(claims),
            Block::Sides([a, b]) => {
                self.facts(&[("A".to_owned(), a.clone()), ("B".to_owned(), b.clone())]);
            }
            Block::Figure(_) => {}
            Block::Code(code) => {
                for line in code.lines() {
                    self.line(&format!("  {line}"));
                }
            }
            Block::Folded(folded) => {
                let title = format!("{} {}", folded.title, folded.detail);
                self.wrapped("  ", title.trim_end(), Paint::Bold);
                for block in folded.inner.blocks(extent) {
                    self.block(block, extent);
                }
            }
        }
    }

    fn claims(&mut self, claims: &[Claim]) {
        let rows: Vec<Row> = claims
            .iter()
            .map(|claim| Row {
                title: claim.title.clone(),
                estimate: number::estimate(&claim.estimate),
                note: match claim.verdict.is_empty() || claim.note.is_empty() {
                    true => format!("{}{}", claim.verdict, claim.note),
                    false => format!("{}, {}", claim.verdict, claim.note),
                },
                paint: paint_of(claim.tone),
            })
            .collect();
        self.table(&rows);
    }
}

/// `text` behind `lead` in lines of at most `width` columns, further lines indented to where it began; a longer word, or a
/// ratio with its interval, keeps its line to itself.
pub fn wrapped(lead: &str, text: &str, width: usize) -> String {
    let indent = measure_text_width(lead);
    let room = width.saturating_sub(indent).max(16);
    let lines = wrap(text, room).join(&format!("\n{}", " ".repeat(indent)));
    format!("{lead}{lines}")
}
