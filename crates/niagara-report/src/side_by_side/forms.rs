//! Two studies in every format.

use super::sections::{Scope, document};
use super::studies::SideBySide;
use crate::document::Extent;
use crate::render;

impl SideBySide {
    /// For other programs.
    ///
    /// # Errors
    /// None that plain data could cause.
    pub fn json(&self) -> serde_json::Result<String> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        Ok(text)
    }

    /// For the terminal; `verbose` lists what does not differ too.
    pub fn text(&self, colour: bool, width: usize, verbose: bool) -> String {
        let scope = match verbose {
            true => Scope::Everything,
            false => Scope::Short,
        };
        render::terminal_text(&document(self, scope), Extent::Text, colour, width)
    }

    /// For issues, wikis, merge requests.
    pub fn markdown(&self) -> String {
        render::markdown(&document(self, Scope::Whole))
    }

    /// One page: nothing from elsewhere, no script.
    pub fn html(&self) -> String {
        render::page(&document(self, Scope::Whole))
    }
}
