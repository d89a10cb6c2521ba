//! A screen of text that grows line by line: words broken to its width, painted where that was asked for.

use console::{measure_text_width, pad_str, truncate_str};

use crate::{ink, number};

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Paint {
    Plain,
    Bold,
    Gain,
    Loss,
    Warning,
}

pub(super) struct Screen {
    pub(super) out: String,
    colour: bool,
    pub(super) width: usize,
}

impl Screen {
    pub(super) fn new(colour: bool, width: usize) -> Self {
        Self {
            out: String::new(),
            colour,
            width: width.clamp(40, 160),
        }
    }

    pub(super) fn heading(&mut self, text: &str) {
        self.line("");
        self.wrapped("", text, Paint::Bold);
    }

    pub(super) fn facts(&mut self, facts: &[(String, String)]) {
        let names = facts.iter().map(|(name, _)| measure_text_width(name));
        let width = names.max().unwrap_or(0);
        for (name, text) in facts {
            let lead = format!(
                "  {}  ",
                pad_str(name, width, console::Alignment::Left, None)
            );
            let mut lines = text.lines();
            self.wrapped(&lead, lines.next().unwrap_or_default(), Paint::Plain);
            let entry = " ".repeat(measure_text_width(&lead)) + "- ";
            for line in lines {
                self.wrapped(&entry, line, Paint::Plain);
            }
        }
    }

    /// `text` behind `lead`, further lines indented to where it began.
    pub(super) fn wrapped(&mut self, lead: &str, text: &str, paint: Paint) {
        let indent = measure_text_width(lead);
        let room = self.width.saturating_sub(indent).max(16);
        for (i, part) in wrap(text, room).iter().enumerate() {
            let start = if i == 0 {
                lead.to_owned()
            } else {
                " ".repeat(indent)
            };
            if !part.is_empty() {
                let line = self.painted(&format!("{start}{part}"), paint);
                self.line(&line);
            }
        }
    }

    pub(super) fn line(&mut self, text: &str) {
        self.out.push_str(text);
        self.out.push('\n');
    }

    pub(super) fn painted(&self, text: &str, paint: Paint) -> String {
        let code = match paint {
            Paint::Plain => String::new(),
            // Bold in the terminal's own colour: nothing is dim, for on many a theme that cannot be read.
            Paint::Bold | Paint::Warning => "1".to_owned(),
            Paint::Gain => format!("38;5;{}", ink::GOOD),
            Paint::Loss => format!("38;5;{}", ink::BAD),
        };
        match self.colour {
            true => ink::painted(text, &code),
            false => text.to_owned(),
        }
    }
}

/// `text` in exactly `width` columns.
pub(super) fn cell(text: &str, width: usize) -> String {
    let cut = truncate_str(text, width, "…");
    pad_str(&cut, width, console::Alignment::Left, None).into_owned()
}

/// Lines of at most `width` columns; a longer word, or a ratio with its interval, keeps its line to itself.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let glued = number::unbroken(text);
    let words = glued
        .split([' ', '\n', '\t'])
        .filter(|word| !word.is_empty());
    for word in words.map(niagara_model::number::breakable) {
        // There is always a last line: it starts with one and only grows.
        let line = lines.last_mut().expect("never empty");
        if line.is_empty() {
            line.push_str(&word);
        } else if measure_text_width(line) + 1 + measure_text_width(&word) <= width {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    lines
}
