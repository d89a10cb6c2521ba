//! Statements that have statements in them.

use super::class::words;
use super::cut::Cut;
use super::digest::digest_text;
use super::mode::SqlMode;

/// As much of a statement as tells what it is, in bytes.
const HEAD: usize = 4096;

/// Whether a statement has a body of statements, as far as it is there.
pub(crate) fn has_body(text: &[u8]) -> bool {
    let mut cut = Cut::default();
    cut.read(&text[..text.len().min(HEAD)], SqlMode::default());
    digest_has_body(&digest_text(cut.for_digest()))
}

/// `CREATE PROCEDURE … BEGIN …; … END`, `BEGIN NOT ATOMIC …; … END`.
pub(crate) fn digest_has_body(digest: &[u8]) -> bool {
    let head = digest.split(|&byte| byte == b';').next();
    let mut words = words(head.unwrap_or_default());
    match words.next() {
        // Other things may have these names.
        Some(b"create" | b"alter") => words
            .take_while(|word| !matches!(*word, b"table" | b"view" | b"index" | b"database"))
            .any(|word| {
                matches!(
                    word,
                    b"procedure" | b"function" | b"trigger" | b"event" | b"package"
                )
            }),
        Some(b"begin") => words.next() == Some(b"not"),
        _ => false,
    }
}

/// A digest's text has no literals and no comments: a semicolon separates statements, or ends the last; but for the bodies of
/// procedures and the like, which are one statement.
pub(crate) fn digest_is_several(digest: &[u8]) -> bool {
    if digest_has_body(digest) {
        return false;
    }
    let mut rest = digest.splitn(2, |&byte| byte == b';');
    rest.next();
    rest.next().is_some_and(|rest| {
        rest.iter()
            .any(|byte| !byte.is_ascii_whitespace() && *byte != b';')
    })
}
