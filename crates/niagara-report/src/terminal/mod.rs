//! The report on a terminal: one screen that says what was found, what it takes to apply and what to do next; with
//! `verbose`, all there is.

mod compare;
mod ending;
mod screen;
mod tables;
mod tune;
mod waterfall;

use console::measure_text_width;
use niagara_store::Summary;

use crate::grid::Grid;
use crate::sides::Sides;
use crate::{study, wording};

pub(crate) use ending::is_unchecked;
pub use ending::{Files, keeps_deployed, may_deploy};
use screen::{Screen, wrap};

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
    let mut screen = Screen::new(view);
    screen.opening(&crate::headline(summary), &wording::warnings(summary));
    match (summary, view.verbose) {
        (Summary::Tune(tune), true) => screen.tune(tune),
        (Summary::Tune(tune), false) => screen.tune_in_short(tune),
        (Summary::Compare(compare), true) => screen.compare(compare),
        (Summary::Compare(compare), false) => screen.compare_in_short(compare),
        (Summary::Ladder(_) | Summary::Matrix(_) | Summary::Sweep(_), _) => screen.study(summary),
    }
    screen.costs(summary);
    if matches!(summary, Summary::Tune(_) | Summary::Compare(_)) {
        // Of a replay.
        for grid in study::grids(summary) {
            screen.full_grid(&grid);
        }
    }
    screen.ending(summary, view);
    screen.out
}

/// `text` behind `lead` in lines of at most `width` columns, further lines indented to where it began; a longer word, or a
/// ratio with its interval, keeps its line to itself.
pub fn wrapped(lead: &str, text: &str, width: usize) -> String {
    let indent = measure_text_width(lead);
    let room = width.saturating_sub(indent).max(16);
    let lines = wrap(text, room).join(&format!("\n{}", " ".repeat(indent)));
    format!("{lead}{lines}")
}

/// A page of tables for a terminal of `width` columns.
pub(crate) fn page(
    headline: &str,
    warnings: &[String],
    grids: &[Grid],
    colour: bool,
    width: usize,
) -> String {
    let mut screen = Screen::new(&View {
        colour,
        width,
        verbose: true,
        sides: None,
        limits: &[],
        files: None,
    });
    screen.opening(headline, warnings);
    for grid in grids {
        screen.full_grid(grid);
    }
    screen.out
}
