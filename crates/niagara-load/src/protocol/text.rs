//! What a server says in words, made fit to be shown: a hostile one could write to the terminal of whoever reads it.

/// The longest text that is kept, in characters: servers' own messages have 512 bytes at most.
const LONGEST: usize = 2048;

/// The text with a sign for each character that a terminal would obey, its end left out where it is long.
pub(crate) fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut shown: String = text.chars().take(LONGEST).map(harmless).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

/// The character, or a sign in its place where it commands something.
fn harmless(c: char) -> char {
    match c {
        '\n' | '\t' => c,
        // These turn the direction of what follows.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => char::REPLACEMENT_CHARACTER,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_commands_a_terminal() {
        for (text, expected) in [
            (&b"near 'a\n\tb' at line 1"[..], "near 'a\n\tb' at line 1"),
            (
                b"\x1b]0;x\x07\r\x00",
                "\u{fffd}]0;x\u{fffd}\u{fffd}\u{fffd}",
            ),
            (b"\xc2\x9b31m", "\u{fffd}31m"),
            ("a\u{202e}b".as_bytes(), "a\u{fffd}b"),
            (b"\xe9t\xe9", "\u{fffd}t\u{fffd}"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn long_texts_end_early() {
        let text = shown("é".repeat(5000).as_bytes());
        assert_eq!(text.chars().count(), LONGEST + 1);
        assert!(text.ends_with('…'));
    }
}
