//! `niagara report A B`: two studies side by side.

use std::path::Path;

use anyhow::{Result, bail};
use niagara_report::{Format, Report, SideBySide, Source};
use niagara_store::Store;

use crate::json::{self, Document, Printed};
use crate::report_output::print_written;

/// What each study holds, with the folder that it is called by.
pub type Opened<'a> = (&'a Path, Store);

impl Printed for SideBySide {
    const DOCUMENT: Document = Document::SideBySide;
}

/// Prints both beside each other.
///
/// # Errors
/// The same folder twice; a form that is made for one study only; results that cannot be read.
pub fn print(studies: [Opened<'_>; 2], format: Format, verbose: bool) -> Result<()> {
    let [(first, _), (second, _)] = &studies;
    if first.canonicalize()? == second.canonicalize()? {
        bail!(
            "{} was named twice: name the folders of two studies",
            first.display()
        );
    }
    let names = names([first, second]);
    let reports = [Report::load(&studies[0].1)?, Report::load(&studies[1].1)?];
    let both = SideBySide::of(
        [&reports[0], &reports[1]],
        [names[0].as_str(), names[1].as_str()],
    );
    let source = Source::from(&both).with_json(json::text(&both)? + "\n");
    print_written(&source, format, verbose)
}

/// The folders' own names where these differ, else their paths.
fn names(folders: [&Path; 2]) -> [String; 2] {
    let own = folders.map(|folder| folder.file_name().map(|name| name.display().to_string()));
    match own {
        [Some(first), Some(second)] if first != second => [first, second],
        _ => folders.map(|folder| folder.display().to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn studies_are_called_by_what_tells_them_apart() {
        let of = |a: &str, b: &str| names([Path::new(a), Path::new(b)]);
        assert_eq!(of("results/before", "results/after/"), ["before", "after"]);
        assert_eq!(of("one/tune", "two/tune"), ["one/tune", "two/tune"]);
    }
}
