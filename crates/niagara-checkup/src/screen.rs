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
    let _ = writeln!(out, "{}", in_lines("", &head, look.width));
    let busy = in_lines("", &words::busy(&checkup.time), look.width);
    let _ = writeln!(out, "{}", bold.apply_to(busy));
    let _ = writeln!(
        out,
        "{}\n",
        in_lines("", &words::busy_figures(&checkup.time), look.width)
    );
    findings(&mut out, checkup, look);
    statements(&mut out, checkup, look);
    let _ = writeln!(
        out,
        "{}",
        in_lines("Settings: ", &words::levers(&checkup.levers), look.width)
    );
    if look.levers {
        for lever in &checkup.levers {
            let lead = format!("  {:<32}", lever.lever);
            let _ = writeln!(
                out,
                "{}",
                in_lines(&lead, &words::lever_state(&lever.state), look.width)
            );
        }
    }
    for gap in &checkup.gaps {
        let _ = writeln!(
            out,
            "{}",
            in_lines("Not read: ", &words::gap(gap), look.width)
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
        let _ = writeln!(out, "{}", in_lines(&lead, &line.text, look.width));
        if let Some(remedy) = &line.remedy {
            let lead = format!("{indent}fix:   ");
            let _ = writeln!(
                out,
                "{}",
                in_lines(&lead, &words::remedy(remedy), look.width)
            );
        }
        // A command is copied as it stands, so it is never broken.
        let _ = writeln!(
            out,
            "{indent}{}: {}",
            words::shows(line.shows),
            visible(&line.proof)
        );
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
        let _ = writeln!(
            out,
            "{lead}{}",
            visible(&words::shortened(&digest.text, room - 1))
        );
    }
    let _ = writeln!(out);
}

fn proof(out: &mut String, checkup: &Checkup, look: Look) {
    let _ = writeln!(out, "\n{}", in_lines("", words::HOW_TO_PROVE, look.width));
    for command in [
        pack(&checkup.ground),
        Proof::Advise.command(&checkup.ground),
        tune(&checkup.ground),
    ] {
        let _ = writeln!(out, "  {}", visible(&command));
    }
}

/// A text behind `lead`, in lines of at most `width` columns.
fn in_lines(lead: &str, text: &str, width: usize) -> String {
    wrapped(lead, &visible(text), width)
}

/// The text on one line, without what a terminal would obey: names are whatever the server's users have made.
fn visible(text: &str) -> String {
    let letters = text.chars().map(|c| match c {
        // Those that turn the direction of what follows, too.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => c.escape_default().to_string(),
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    });
    letters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Digest, Statements, TableName};
    use crate::report::checkup;
    use crate::rules::tests::quiet;

    #[test]
    fn names_command_no_terminal() {
        let hostile = "a\u{1b}[2J\u{1b}[31m\nb\u{202e}\r\u{9b}c";
        let mut facts = quiet();
        facts.server.host = hostile.to_owned();
        let table = &mut facts.catalog.as_mut().unwrap().tables[0];
        table.indexes.clear();
        table.name = TableName {
            schema: hostile.to_owned(),
            table: hostile.to_owned(),
        };
        facts.statements = Some(Statements {
            seconds: 1.0,
            digests: vec![Digest {
                schema: Some(hostile.to_owned()),
                text: format!("SELECT `{hostile}`"),
                count: 1.0,
                seconds: 1.0,
                ..Digest::default()
            }],
        });
        let look = Look {
            colour: false,
            width: 80,
            levers: true,
        };
        let told = screen(&checkup(facts, &[], &[]).unwrap(), look);
        assert!(told.contains(r"without a primary key"), "{told}");
        assert!(
            told.contains(r"a\u{1b}[2J\u{1b}[31m\nb\u{202e}\r\u{9b}c"),
            "{told}"
        );
        let commands = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!told.contains(commands), "{told:?}");
        assert!(told.lines().all(|line| !line.starts_with('b')), "{told}");
    }
}
