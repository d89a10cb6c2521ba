//! The command that was typed.

/// The command as typed, quoted where a shell would need it.
pub fn command_line() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+%@".contains(c);
    std::env::args()
        .enumerate()
        .map(|(index, word)| match index {
            0 => "niagara".to_owned(),
            _ if !word.is_empty() && word.chars().all(plain) => word,
            _ => format!("'{}'", word.replace('\'', r"'\''")),
        })
        .collect::<Vec<_>>()
        .join(" ")
}
