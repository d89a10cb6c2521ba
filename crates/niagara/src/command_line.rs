//! The command that was typed.

use niagara_lab::WantedLevel;

/// The option that names the levels of a part of a matrix.
const LEVEL: &str = "--level";
/// Options that one tuning has otherwise than another of the same server under the same load.
const OF_ONE_TUNING: [&str; 6] = [
    "--budget",
    "--seed",
    "--out",
    "--only",
    "--also",
    "--without",
];

/// The command as typed, quoted where a shell would need it.
pub fn command_line() -> String {
    typed(words())
}

/// The command as typed, for another part of its matrix: the one of these levels.
pub fn command_of_part(levels: &[WantedLevel]) -> String {
    typed(with_levels(words(), levels).into_iter())
}

/// The command of a tuning that was kept, called as `program` and without what another one has otherwise; `None` of other commands.
pub fn command_of_another_tuning(kept: &str, program: &str) -> Option<String> {
    let mut words = split(kept).into_iter().skip(1).peekable();
    words.next_if(|word| word == "tune")?;
    let words = without(words, &OF_ONE_TUNING).into_iter();
    Some(called(
        program,
        std::iter::once("tune".to_owned()).chain(words),
    ))
}

/// The words of a command as [`called`] writes it.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_quoted = false;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            '\\' if !is_quoted => word.extend(letters.next()),
            ' ' if !is_quoted => words.push(std::mem::take(&mut word)),
            other => word.push(other),
        }
    }
    words.push(word);
    words
}

/// The words behind the program's name; what is not Unicode, as a file's name may be, is shown as well as it can be.
fn words() -> impl Iterator<Item = String> {
    let words = std::env::args_os().skip(1);
    words.map(|word| word.to_string_lossy().into_owned())
}

/// The words behind the program's name as a shell takes them, the name before them.
fn typed(words: impl Iterator<Item = String>) -> String {
    called("niagara", words)
}

/// The same of a program of this name.
fn called(program: &str, words: impl Iterator<Item = String>) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+%@".contains(c);
    let words = std::iter::once(program.to_owned()).chain(words);
    let quoted = words.map(|word| match !word.is_empty() && word.chars().all(plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', r"'\''")),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// These words without these options and their values.
fn without(mut words: impl Iterator<Item = String>, options: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        let is_with_value = |option: &&str| {
            let rest = word.strip_prefix(*option);
            rest.is_some_and(|rest| rest.starts_with('='))
        };
        if options.contains(&word.as_str()) {
            words.next();
        } else if !options.iter().any(is_with_value) {
            kept.push(word);
        }
    }
    kept
}

/// These words with other levels in place of those that they name.
fn with_levels(words: impl Iterator<Item = String>, levels: &[WantedLevel]) -> Vec<String> {
    let mut kept = without(words, &[LEVEL]);
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

    #[test]
    fn another_tuning_has_the_same_server_and_load() {
        let words = [
            "tune",
            "mariadb-10.11",
            "--threads",
            "32",
            "--budget=3m",
            "--levers",
            "it's mine",
            "--only",
            "a,b",
            "--seed",
            "7",
            "--out",
            "here",
        ];
        let kept = typed(words.into_iter().map(str::to_owned));
        assert_eq!(
            command_of_another_tuning(&kept, "./niagara").as_deref(),
            Some(r"./niagara tune mariadb-10.11 --threads 32 --levers 'it'\''s mine'")
        );
        assert_eq!(
            command_of_another_tuning("niagara run x.toml", "niagara"),
            None
        );
    }
}
