//! The character set that a text may be in, where nobody has said it.

/// What a literal looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guess {
    /// Every character set of clients has it so.
    Ascii,
    /// UTF-8.
    Utf8,
    /// Letters with accents, each of one byte among those of ASCII: latin1.
    Latin1,
    /// Text in a character set that cannot be told.
    Other,
    /// No text.
    Binary,
}

/// What a literal looks like.
pub(crate) fn guess(literal: &[u8]) -> Guess {
    if literal.is_ascii() {
        return Guess::Ascii;
    }
    let is_control = |b: &u8| *b < b' ' && !matches!(b, b'\t' | b'\r' | b'\n') || *b == 0x7f;
    let has = |text: &[u8]| memchr::memmem::find(literal, text).is_some();
    if literal.iter().any(is_control) || has(b"\\0") || has(b"\\Z") {
        return Guess::Binary;
    }
    if std::str::from_utf8(literal).is_ok() {
        return Guess::Utf8;
    }
    let (mut alone, mut together, mut run) = (0_usize, 0_usize, 0_usize);
    for byte in literal.iter().chain(b" ") {
        match byte {
            0x80.. => run += 1,
            _ => {
                alone += usize::from(run == 1);
                together += usize::from(run > 1);
                run = 0;
            }
        }
    }
    match alone > 2 * together {
        true => Guess::Latin1,
        false => Guess::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_told_apart() {
        for (literal, expected) in [
            (&b"'cafe'"[..], Guess::Ascii),
            ("'caf\u{e9}'".as_bytes(), Guess::Utf8),
            (b"'caf\xe9'", Guess::Latin1),
            (b"'na\xefve \x80 5'", Guess::Latin1),
            // Russian of Windows, Chinese of GBK.
            (b"'\xcf\xf0\xe8\xe2\xe5\xf2'", Guess::Other),
            (b"'\xc4\xe3\xba\xc3'", Guess::Other),
            (b"'\x00\xff\x01'", Guess::Binary),
            (b"'\\0\xe9a'", Guess::Binary),
        ] {
            assert_eq!(guess(literal), expected, "{}", literal.escape_ascii());
        }
    }
}
