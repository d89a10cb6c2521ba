//! The characters of the picture: Unicode where the locale has it, else ASCII.

/// What the picture is drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glyphs {
    /// Time that has passed.
    pub done: char,
    /// Time that is left.
    pub left: char,
    /// Between the ends of an interval.
    pub within: char,
    /// The estimate.
    pub middle: char,
    /// The lower and the upper end.
    pub ends: [char; 2],
    /// The interval extends beyond the axis, to the left and to the right.
    pub beyond: [char; 2],
    /// No difference: a ratio of 1.
    pub one: char,
    /// Where a text was cut.
    pub cut: &'static str,
}

impl Glyphs {
    /// For terminals that show Unicode.
    pub const UNICODE: Self = Self {
        done: '█',
        left: '░',
        within: '─',
        middle: '●',
        ends: ['├', '┤'],
        beyond: ['◀', '▶'],
        one: '│',
        cut: "…",
    };

    /// For the others.
    pub const ASCII: Self = Self {
        done: '#',
        left: '.',
        within: '-',
        middle: 'o',
        ends: ['|', '|'],
        beyond: ['<', '>'],
        one: ':',
        cut: "~",
    };
}

/// Whether the locale's characters are UTF-8: the first of LC_ALL, LC_CTYPE and LANG that is set decides, as `setlocale`
/// has it; without any it is the C locale, which has ASCII alone.
pub fn is_utf8(variable: impl Fn(&str) -> Option<String>) -> bool {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(variable)
        .find(|value| !value.is_empty())
        .is_some_and(|locale| {
            let locale = locale.to_lowercase();
            locale.contains("utf-8") || locale.contains("utf8")
        })
}

/// `text` in ASCII, each character for one of the same width, as far as Niagara's own words need it.
pub fn plain(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '×' => 'x',
            '–' | '−' | '─' | '—' => '-',
            '·' | '│' | '┃' => '|',
            '“' | '”' => '"',
            '’' | '‘' => '\'',
            '█' => '#',
            '▒' => '=',
            '░' => '.',
            '●' => 'o',
            '…' => '~',
            '\u{a0}' | '\u{2009}' => ' ',
            'α' => 'a',
            '√' | '✓' => '+',
            '→' | '▶' => '>',
            '◀' => '<',
            '▲' => '^',
            '▼' => 'v',
            c => c,
        })
        .map(|c| match c.is_ascii() {
            true => c,
            false => '?',
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_decides() {
        let of = |set: &[(&str, &str)]| {
            is_utf8(|name| {
                let found = set.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(&[("LANG", "en_GB.UTF-8")]));
        assert!(of(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]));
        assert!(!of(&[("LANG", "POSIX")]));
        assert!(!of(&[]));
    }

    #[test]
    fn what_is_said_without_unicode_keeps_its_width() {
        let text = "× 1.31 [1.28, 1.34] · start (A) 1\u{2009}418 … α −2 ∞";
        let ascii = plain(text);
        assert!(ascii.is_ascii());
        assert_eq!(ascii.chars().count(), text.chars().count());
        assert!(ascii.starts_with("x 1.31 [1.28, 1.34] | start (A) 1 418"));
    }
}
