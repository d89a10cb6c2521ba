//! From words to a test, a command and values.

use crate::config_file::{self, Line};
use crate::failure::Failure;
use crate::option::{
    BEYOND, DATABASE, Definition, GENERAL, Kind, LOG, MYSQL, POSTGRES, SEED, workload_options,
};
use crate::values::Values;
use niagara_load::OptionGroup;

/// A command line whose test is not parsed yet.
#[derive(Debug, Clone)]
pub struct CommandLine {
    pub test: Option<String>,
    pub command: Option<String>,
    pub values: Values,
    /// The test came by the old `--test=NAME`.
    pub old_test_option: bool,
    /// Options that only a test can know, in their order.
    later: Vec<Later>,
}

#[derive(Debug, Clone)]
enum Later {
    Word(String),
    FileLine { path: String, line: Line },
}

/// Reads words; `read_file` reads a file of options whole.
pub fn parse(
    words: &[String],
    read_file: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<CommandLine, Failure> {
    let mut values = Values::default();
    let workloads = workload_options(&[OptionGroup::Random, OptionGroup::Database]);
    for group in [
        GENERAL, BEYOND, SEED, LOG, DATABASE, MYSQL, POSTGRES, &workloads,
    ] {
        values.define(group);
    }
    let mut parsed = CommandLine {
        test: None,
        command: None,
        values,
        old_test_option: false,
        later: Vec::new(),
    };
    for (index, word) in words.iter().enumerate() {
        let Some(option) = word.strip_prefix("--") else {
            if parsed.test.is_none() {
                parsed.test = Some(word.clone());
            } else if parsed.command.is_none() {
                parsed.command = Some(word.clone());
            } else {
                return Err(stray(words, index));
            }
            continue;
        };
        let (name, value) = split(option);
        if name == "test" && value.is_some() {
            parsed.old_test_option = true;
            parsed.test = value.filter(|test| !test.is_empty()).map(str::to_owned);
        } else if parsed.values.kind(name) == Some(Kind::File) {
            // Only --config-file is a file.
            parsed.read_options(value.unwrap_or_default(), read_file)?;
        } else if parsed.values.set(name, value).is_err() {
            parsed.later.push(Later::Word(word.clone()));
        }
    }
    Ok(parsed)
}

fn split(option: &str) -> (&str, Option<&str>) {
    match option.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (option, None),
    }
}

/// A third word. Often it is meant as the value of the option before it.
fn stray(words: &[String], index: usize) -> Failure {
    let word = &words[index];
    let failure = Failure::usage(format!("Unrecognized command line argument: {word}"));
    let before = index.checked_sub(1).map(|before| words[before].as_str());
    match before {
        Some(option) if option.starts_with("--") && !option.contains('=') => failure.and(format!(
            "(a value follows its option after an equals sign: {option}={word})"
        )),
        _ => failure,
    }
}

impl CommandLine {
    fn read_options(
        &mut self,
        path: &str,
        read_file: &dyn Fn(&str) -> std::io::Result<String>,
    ) -> Result<(), Failure> {
        if path.is_empty() {
            return Ok(());
        }
        let text = read_file(path).map_err(|error| {
            Failure::usage(format!("{path}: {error}"))
                .and("niagara sysbench: not run without the options of --config-file")
        })?;
        let lines =
            config_file::lines(&text).map_err(|what| Failure::usage(format!("{path}: {what}")))?;
        for line in lines {
            if let Some(line) = config_file::apply(&mut self.values, path, line)? {
                let path = path.to_owned();
                self.later.push(Later::FileLine { path, line });
            }
        }
        Ok(())
    }

    /// Makes known whatever is still unknown: of a script that does not say which options it has.
    pub fn take_any_options(&mut self) {
        for later in &self.later {
            match later {
                Later::Word(word) => {
                    let (name, _) = split(word.trim_start_matches("--"));
                    self.values.define_text(name);
                }
                Later::FileLine { line, .. } => self.values.define_text(&line.name),
            }
        }
    }

    /// Reads the options of the test that was found. What is still unknown is refused.
    pub(crate) fn read_test_options(&mut self, groups: &[&[Definition]]) -> Result<(), Failure> {
        for group in groups {
            self.values.define(group);
        }
        for later in std::mem::take(&mut self.later) {
            match later {
                Later::Word(word) => {
                    let (name, value) = split(word.trim_start_matches("--"));
                    if self.values.set(name, value).is_err() {
                        return Err(Failure::usage(format!("invalid option: {word}")));
                    }
                }
                Later::FileLine { path, line } => {
                    if let Some(line) = config_file::apply(&mut self.values, &path, line)? {
                        return Err(Failure::usage(format!(
                            "{path}:{}: invalid option: {}",
                            line.number, line.name
                        )));
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::of_test;
    use niagara_load::SysbenchTest;

    fn line(words: &str) -> Result<CommandLine, Failure> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        parse(&words, &|path| match path {
            "options" => Ok("threads=3\ntable-size=77\nmysql-user=me\n".to_owned()),
            "wrong" => Ok("threads=3\n\nno-such=1\n".to_owned()),
            _ => Err(std::io::ErrorKind::NotFound.into()),
        })
    }

    #[test]
    fn options_stand_anywhere() {
        for words in [
            "oltp_read_write --threads=4 --tables=2 run",
            "--threads=4 --tables=2 oltp_read_write run",
            "oltp_read_write run --threads=9 --tables=2 --threads=4",
        ] {
            let mut parsed = line(words).unwrap();
            assert_eq!(parsed.test.as_deref(), Some("oltp_read_write"));
            assert_eq!(parsed.command.as_deref(), Some("run"));
            parsed
                .read_test_options(&[&of_test(SysbenchTest::OltpReadOnly)])
                .unwrap();
            assert_eq!(parsed.values.integer("threads"), Ok(4), "{words}");
            assert_eq!(parsed.values.number("tables"), Ok(2.0));
            assert_eq!(parsed.values.number("table_size"), Ok(10_000.0));
        }
    }

    #[test]
    fn a_third_word_is_refused() {
        let failure = line("foo bar baz").unwrap_err();
        assert_eq!(failure.lines, ["Unrecognized command line argument: baz"]);
        let failure = line("oltp_read_only run --threads 4").unwrap_err();
        assert_eq!(failure.lines[0], "Unrecognized command line argument: 4");
        assert!(failure.lines[1].contains("--threads=4"), "{failure}");
    }

    #[test]
    fn unknown_options_are_refused_with_the_test_known() {
        for words in [
            "oltp_read_only --unknown=3 run",
            "oltp_read_only --debug=perhaps run",
        ] {
            let mut parsed = line(words).unwrap();
            let failure = parsed
                .read_test_options(&[&of_test(SysbenchTest::OltpReadOnly)])
                .unwrap_err();
            let word = words.split(' ').nth(1).unwrap();
            assert_eq!(failure.lines, [format!("invalid option: {word}")]);
        }
    }

    #[test]
    fn the_old_way_to_name_a_test() {
        let parsed = line("--test=oltp_read_only run").unwrap();
        assert!(parsed.old_test_option);
        assert_eq!(parsed.test.as_deref(), Some("oltp_read_only"));
        assert_eq!(parsed.command.as_deref(), Some("run"));
    }

    #[test]
    fn a_file_counts_where_it_stands() {
        let mut parsed =
            line("oltp_read_only --threads=1 --config-file=options --mysql-user=you run").unwrap();
        parsed
            .read_test_options(&[&of_test(SysbenchTest::OltpReadOnly)])
            .unwrap();
        assert_eq!(parsed.values.integer("threads"), Ok(3));
        assert_eq!(parsed.values.number("table-size"), Ok(77.0));
        assert_eq!(parsed.values.text("mysql-user"), Some("you"));

        let mut parsed = line("oltp_read_only --config-file=wrong run").unwrap();
        let failure = parsed
            .read_test_options(&[&of_test(SysbenchTest::OltpReadOnly)])
            .unwrap_err();
        assert_eq!(failure.lines, ["wrong:3: invalid option: no-such"]);
        assert!(line("oltp_read_only --config-file=missing run").is_err());
    }
}
