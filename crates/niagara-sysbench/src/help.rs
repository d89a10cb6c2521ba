//! `--help` and `TEST help`, laid out as sysbench does.

use crate::machine_test::MachineTest;
use crate::option::{DATABASE, Definition, GENERAL, LOG, MYSQL, SEED, of_test, workload_options};
use niagara_load::{OptionGroup, SysbenchTest};
use std::fmt::Write;

/// The general help.
pub fn general() -> String {
    let mut text = String::from(
        "Usage:\n  niagara sysbench [options]... [testname] [command]\n\n\
         The command line and the report of sysbench 1.0, with Niagara's load generator behind them.\n\n\
         Commands that most tests have: prepare run cleanup help\n\
         Those of oltp and select tests also: prewarm\n\n\
         Options stand anywhere and take their values after an equals sign.\n\n",
    );
    let dashes = |definitions: &[Definition]| table(definitions, '-');
    let mut random = workload_options(&[OptionGroup::Random]);
    random.extend_from_slice(SEED);
    let mut database = DATABASE.to_vec();
    database.extend(workload_options(&[OptionGroup::Database]));
    for (title, definitions) in [
        ("General", GENERAL),
        ("Random number", &random),
        ("Log", LOG),
        ("Database", &database),
        ("mysql", MYSQL),
    ] {
        // Writing to a string does not fail, here and below.
        let _ = writeln!(text, "{title} options:\n{}", dashes(definitions));
    }
    text.push_str("Tests:\n");
    for kind in SysbenchTest::ALL {
        let _ = writeln!(text, "  {kind}");
    }
    text.push_str("\nOr a script: its path, or - for standard input.\n\nTests of the machine:\n");
    for test in MachineTest::ALL {
        let _ = writeln!(text, "  {} - {}", test.name(), test.title());
    }
    text.push_str(
        "\nNot here: tests of files, PostgreSQL.\n\n\
         See 'niagara sysbench <testname> help' for the options of a test.\n\n",
    );
    text
}

/// A test's help.
pub fn test(kind: SysbenchTest) -> String {
    format!("{kind} options:\n{}", table(&of_test(kind), '_'))
}

/// The lines on the options of a script, each name as the script writes it.
pub fn script(definitions: &[Definition]) -> String {
    lines(definitions, |name| name.to_owned())
}

/// One line per option, descriptions aligned; `joint` stands between the words of a name.
pub fn table(definitions: &[Definition], joint: char) -> String {
    lines(definitions, |name| {
        name.replace(['-', '_'], &joint.to_string())
    })
}

fn lines(definitions: &[Definition], spelled: impl Fn(&str) -> String) -> String {
    let forms: Vec<String> = definitions
        .iter()
        .map(|definition| {
            let name = spelled(definition.name);
            format!("--{name}{}", definition.kind.form())
        })
        .collect();
    let width = forms.iter().map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for (form, definition) in forms.iter().zip(definitions) {
        let _ = write!(text, "  {form:width$} {}", definition.help);
        if let Some(default) = definition.default {
            let _ = write!(text, " [{default}]");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_a_help() {
        let text = general();
        for word in [
            "--threads=N ",
            "--mysql-host=[LIST,...] ",
            "--rand-type=STRING ",
            "--db-ps-mode=STRING ",
            "--rand-seed=N ",
            "[off]\n",
            "  oltp_read_write\n",
        ] {
            assert!(text.contains(word), "no {word:?} in\n{text}");
        }
        let text = test(SysbenchTest::SelectRandomRanges);
        assert!(
            text.starts_with("select_random_ranges options:\n  --auto_inc[=on|off] "),
            "{text}"
        );
        assert!(text.contains("--number_of_ranges=N "), "{text}");
        assert!(!test(SysbenchTest::OltpInsert).contains("number_of_ranges"));
    }
}
