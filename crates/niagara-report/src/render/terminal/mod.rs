//! The report on a terminal: one screen that says what was found, what it takes to apply and what to do next; with
//! `verbose`, all there is.

mod ending;
mod screen;
mod tables;
mod waterfall;

use console::measure_text_width;
use niagara_store::Summary;

use crate::document::{Block, Claim, Document, Extent};
use crate::{Sides, build, number};

pub use ending::Files;
use screen::{Paint, Screen, wrap};
use tables::Row;
use waterfall::paint_of;

/// How a summary is shown on a terminal.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// ANSI colours.
    pub colour: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Everything; else one screen that counts what it leaves out.
    pub verbose: bool,
    /// Absolute figures of both sides, where the results hold them.
    pub sides: Option<&'a Sides>,
    /// What limits what was profiled, a sentence each.
    pub limits: &'a [String],
    /// Where the study's files are.
    pub files: Option<&'a Files>,
}

/// The summary for a terminal.
pub fn terminal(summary: &Summary, view: &View<'_>) -> String {
    let document = build::study(summary, view.sides, None);
    let extent = match view.verbose {
        true => Extent::Text,
        false => Extent::Screen,
    };
    let mut screen = Screen::new(view.colour, view.width);
    screen.document(&document, extent);
    screen.ending(summary, view);
    screen.out
}

/// Any document for a terminal of `width` columns.
pub(crate) fn text(document: &Document, extent: Extent, colour: bool, width: usize) -> String {
    let mut screen = Screen::new(colour, width);
    screen.document(document, extent);
    screen.out
}

impl Screen {
    fn document(&mut self, document: &Document, extent: Extent) {
        self.wrapped("", &document.headline, Paint::Bold);
        if let Some(proof) = &document.proof {
            self.wrapped("", proof, Paint::Plain);
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
