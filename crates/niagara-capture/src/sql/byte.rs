//! Classes of bytes.

/// Whether a byte may be part of an unquoted name. Bytes above 127 belong to letters of some character set.
pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

/// What the server takes for white space.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Whether `--` at `at` begins a comment: white space, a control character or the end follows.
pub(super) fn is_dash_comment(text: &[u8], at: usize) -> bool {
    text.get(at + 1) == Some(&b'-')
        && text
            .get(at + 2)
            .is_none_or(|&next| is_space(next) || next < b' ')
}

/// Whether `/*` at `at` opens something whose inside the server executes: `/*! … */`, `/*M! … */`.
pub(super) fn is_executable(text: &[u8], at: usize) -> bool {
    matches!(text.get(at + 2..), Some([b'!', ..] | [b'M', b'!', ..]))
}
