//! Where a report that was written down goes: to standard output, or into a study's folder.

use std::path::Path;

use anyhow::Result;
use niagara_report::{Format, Source, View, written};

use crate::progress::{colour_on_stdout, columns_of_stdout};
use crate::whole_file::write;

/// A source on standard output.
pub fn print_written(source: &Source<'_>, format: Format, verbose: bool) -> Result<()> {
    let view = View {
        colour: colour_on_stdout(),
        width: columns_of_stdout(),
        verbose,
    };
    say_text!("{}", written(source, format, &view)?);
    Ok(())
}

/// Writes report.html and report.md.
pub fn write_pages(folder: &Path, source: &Source<'_>) -> Result<()> {
    for (name, format) in [
        ("report.html", Format::Html),
        ("report.md", Format::Markdown),
    ] {
        let text = written(source, format, &View::default())?;
        write(&folder.join(name), &text)?;
    }
    Ok(())
}
