//! The command that was typed.

use niagara_lab::WantedLevel;

/// The option that names the levels of a part of a matrix.
const LEVEL: &str = "--level";

/// The command as typed, quoted where a shell would need it.
pub fn command_line() -> String {
    typed(words())
}

/// The command as typed, for another part of its matrix: the one of these levels.
pub fn command_of_part(levels: &[WantedLevel]) -> String {
    typed(with_levels(words(), levels).into_iter())
}

/// The words behind the program's name; what is not Unicode, as a file's name may be, is shown as well as it can be.
fn words() -> impl Iterator<Item = String> {
    let words = std::env::args_os().skip(1);
    words.map(|word| word.to_string_lossy().into_owned())
}

/// The words behind the program's name as a shell takes them, the name before them.
fn typed(words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+%@".contains(c);
    let quoted = words.map(|word| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    std::iter::once("niagara".to_owned())
        .chain(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

/// These words with other levels in place of those that they name.
fn with_levels(words: impl Iterator<Item = String>, levels: &[WantedLevel]) -> Vec<String> {
    let mut words = words;
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        if word == LEVEL {
            words.next();
        } else if word
            .strip_prefix(LEVEL)
            .is_none_or(|rest| !rest.starts_with('='))
        {
            kept.push(word);
        }
    }
    for level in levels {
        kept.extend([LEVEL.to_owned(), level.to_string()]);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_part_is_the_same_command_with_other_levels() {
        let words = "run x.toml --level a=b --out here --level=options=-O2 --levels";
        let words = || words.split(' ').map(str::to_owned);
        let levels = ["options=PGO + LTO".parse().expect("AXIS=LEVEL")];
        assert_eq!(
            typed(with_levels(words(), &levels).into_iter()),
            "niagara run x.toml --out here --levels --level 'options=PGO + LTO'"
        );
        assert_eq!(typed(words().take(2)), "niagara run x.toml");
    }
}
