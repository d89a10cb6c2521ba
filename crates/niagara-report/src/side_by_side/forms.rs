//! Two studies as text: for the terminal, as Markdown, as JSON.

use super::sections::{Extent, grids};
use super::studies::SideBySide;

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
        let extent = match verbose {
            true => Extent::Everything,
            false => Extent::Short,
        };
        let grids = grids(self, extent);
        crate::terminal::page(&self.headline, &self.warnings, &grids, colour, width)
    }

    /// For issues, wikis, merge requests.
    pub fn markdown(&self) -> String {
        let grids = grids(self, Extent::Whole);
        crate::markdown::page(&self.headline, &self.warnings, &grids)
    }
}
