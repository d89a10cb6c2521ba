//! A checkup on a terminal.

use std::fmt::Write as _;

use console::Style;
use niagara_report::number::{grouped, percent};
use niagara_report::{ink, wrapped};

use crate::finding::Level;
use crate::proof::{Proof, pack, tune};
use crate::report::Checkup;
use crate::words;

/// Digests that are shown.
const DIGESTS: usize = 4;
/// Width of the word for the level.
const WORD: usize = 8;

/// How it is shown.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// With colours.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// Each lever, too.
    pub levers: bool,
}

/// The text.
pub fn screen(checkup: &Checkup, look: Look) -> String {
    let bold = Style::new().bold().force_styling(look.colour);
    let mut out = String::new();
    // Writing into a String does not fail.
    let head = words::server(&checkup.server, checkup.host.as_ref());
    let _ = writeln!(out, "{}", wrapped("", &head, look.width));
    let busy = wrapped("", &words::busy(&checkup.time), look.width);
    let _ = writeln!(out, "{}", bold.apply_to(busy));
    let _ = writeln!(
        out,
        "{}\n",
        wrapped("", &words::busy_figures(&checkup.time), look.width)
    );
    findings(&mut out, checkup, look);
    statements(&mut out, checkup, look);
    let _ = writeln!(
        out,
        "{}",
        wrapped("Settings: ", &words::levers(&checkup.levers), look.width)
    );
    if look.levers {
        for lever in &checkup.levers {
            let lead = format!("  {:<32}", lever.lever);
            let _ = writeln!(
                out,
                "{}",
                wrapped(&lead, &words::lever_state(&lever.state), look.width)
            );
        }
    }
    for gap in &checkup.gaps {
        let _ = writeln!(
            out,
            "{}",
            wrapped("Not read: ", &words::gap(gap), look.width)
        );
    }
    proof(&mut out, checkup, look);
    out
}

fn findings(out: &mut String, checkup: &Checkup, look: Look) {
    if checkup.findings.is_empty() {
        let _ = writeln!(out, "No finding.\n");
        return;
    }
    let indent = " ".repeat(WORD);
    for line in &checkup.findings {
        let style = match line.level {
            Level::Danger | Level::Fault => Style::new().color256(ink::BAD).bold(),
            Level::Cost => Style::new().color256(ink::BAD),
            Level::Note => Style::new(),
        };
        let word = format!("{:<WORD$}", words::level(line.level));
        let lead = style.force_styling(look.colour).apply_to(word).to_string();
        let _ = writeln!(out, "{}", wrapped(&lead, &line.text, look.width));
        if let Some(remedy) = &line.remedy {
            let lead = format!("{indent}fix:   ");
            let _ = writeln!(
                out,
                "{}",
                wrapped(&lead, &words::remedy(remedy), look.width)
            );
        }
        // A command is copied as it stands, so it is never broken.
        let _ = writeln!(out, "{indent}{}: {}", words::shows(line.shows), line.proof);
    }
    let _ = writeln!(out);
}

fn statements(out: &mut String, checkup: &Checkup, look: Look) {
    let Some(statements) = &checkup.statements else {
        return;
    };
    let _ = writeln!(
        out,
        "of time      count   mean ms  rows read  statement, since the start"
    );
    for digest in statements.digests.iter().take(DIGESTS) {
        let lead = format!(
            "{:>7} {:>10} {:>9.1} {:>10}  ",
            percent(digest.seconds / statements.seconds),
            grouped(digest.count),
            digest.seconds * 1000.0 / digest.count.max(1.0),
            grouped(digest.rows_examined / digest.count.max(1.0)),
        );
        let room = look.width.saturating_sub(42).max(20);
        let _ = writeln!(out, "{lead}{}", words::shortened(&digest.text, room - 1));
    }
    let _ = writeln!(out);
}

fn proof(out: &mut String, checkup: &Checkup, look: Look) {
    let _ = writeln!(out, "\n{}", wrapped("", words::HOW_TO_PROVE, look.width));
    let _ = writeln!(out, "  {}", pack(&checkup.ground));
    let _ = writeln!(out, "  {}", Proof::Advise.command(&checkup.ground));
    let _ = writeln!(out, "  {}", tune(&checkup.ground));
}
