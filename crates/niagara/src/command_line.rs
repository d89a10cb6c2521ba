//! The command that was typed.

use niagara_lab::WantedLevel;

use crate::load_args::is_pack;

/// Niagara's version, and the commit that it was built from where `make` built it.
pub const VERSION: &str = env!("NIAGARA_VERSION");

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

/// Options of a tuning that name its capture.
const OF_CAPTURE: [&str; 2] = ["--workload", "--capture"];
/// Options that a tuning and an advice have in common: the user's data, settings and machine.
const OF_ORIGIN: [&str; 8] = [
    "--data",
    "--schema",
    "--config",
    "--config-from",
    "--config-user",
    "--memory",
    "--cpus",
    "--servers",
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

/// The command that says what the statements of a kept tuning's capture need, called as `program`; `None` where it has no capture with
/// its data. `server`: the one that was tuned.
pub fn command_of_advice(kept: &str, program: &str, server: &str) -> Option<String> {
    let mut words = split(kept).into_iter().skip(1).peekable();
    words.next_if(|word| word == "tune")?;
    let words: Vec<String> = words.collect();
    let mut named = words.iter().filter_map(|word| word.rsplit('=').next());
    let mut advice = vec!["advise".to_owned()];
    match named.find(|word| is_pack(word)) {
        Some(pack) => advice.extend(["--pack".to_owned(), pack.to_owned()]),
        None => {
            let capture = value_of(&words, &OF_CAPTURE)?;
            value_of(&words, &["--data"])?;
            advice.extend(["--capture".to_owned(), capture.to_owned()]);
            advice.extend(["--server".to_owned(), server.to_owned()]);
        }
    }
    for option in OF_ORIGIN {
        let value = value_of(&words, &[option]);
        advice.extend(
            value
                .map(|value| [option.to_owned(), value.to_owned()])
                .into_iter()
                .flatten(),
        );
    }
    Some(called(program, advice.into_iter()))
}

/// The value of the first of these options.
fn value_of<'a>(words: &'a [String], options: &[&str]) -> Option<&'a str> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if options.contains(&word.as_str()) {
            return rest.next().map(String::as_str);
        }
        let joined = word.split_once('=');
        if let Some((_, value)) = joined.filter(|(name, _)| options.contains(name)) {
            return Some(value);
        }
    }
    None
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
    use clap::Args;

    use super::*;
    use crate::shared_args::OriginArgs;

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

    #[test]
    fn advice_is_asked_of_the_same_capture_and_data() {
        let of = |kept: &str| command_of_advice(kept, "./niagara", "mariadb-11.8");
        assert_eq!(
            of("niagara tune mariadb-11.8 --capture=shop.capture --data shop.sql --schema shop --budget 1h --seed 7").as_deref(),
            Some("./niagara advise --capture shop.capture --server mariadb-11.8 --data shop.sql --schema shop")
        );
        for pack in [
            "shop.niagara",
            "--pack shop.niagara",
            "--workload=shop.niagara",
        ] {
            assert_eq!(
                of(&format!("niagara tune {pack} --memory 64G")).as_deref(),
                Some("./niagara advise --pack shop.niagara --memory 64G")
            );
        }
        for without in [
            "niagara tune --workload shop.capture",
            "niagara tune",
            "niagara compare base x",
        ] {
            assert_eq!(of(without), None, "{without}");
        }
    }

    /// An option that is new among those of the origin has to be carried over.
    #[test]
    fn advice_knows_all_options_of_the_origin() {
        let command = OriginArgs::augment_args(clap::Command::new("tune"));
        let options = command.get_arguments().filter_map(clap::Arg::get_long);
        for option in options.filter(|option| *option != "pack") {
            assert!(
                OF_ORIGIN.contains(&format!("--{option}").as_str()),
                "{option}"
            );
        }
    }
}
