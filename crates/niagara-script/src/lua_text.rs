//! The text of a script, from its bytes.

/// What is no UTF-8, as of a file in Latin-1, becomes an escape by its number: within quotation marks that is the same byte to Lua, and
/// in a comment it does not matter.
pub fn lua_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Three digits: what follows may be another one.
            text.push_str(&format!("\\{byte:03}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_utf8_stay_what_they_are_within_quotation_marks() {
        assert_eq!(lua_text("s = 'é'".as_bytes()), "s = 'é'");
        assert_eq!(lua_text(b"s = '\xe91\x80'"), "s = '\\2331\\128'");
    }
}
