//! `--help` and `TEST help`, laid out as sysbench does.

use crate::option::{
    BEYOND, DATABASE, Definition, GENERAL, LOG, MYSQL, SEED, labelled_options, of_test,
};
use niagara_load::{OptionGroup, SysbenchTest};
use std::fmt::Write;

/// The general help. Where sysbench tells what it was built with, Niagara tells what it has beyond that.
pub fn general() -> String {
    let mut text = String::from(
        "Usage:\n  sysbench [options]... [testname] [command]\n\n\
         Commands implemented by most tests: prepare run cleanup help\n\n",
    );
    let (mut random, more_random) = labelled_options(&[OptionGroup::Random]);
    // Between the percentages of one distribution and the parameter of the other.
    let place = random.len().saturating_sub(1);
    random.splice(place..place, SEED.iter().copied());
    let (prepared, more_database) = labelled_options(&[OptionGroup::Database]);
    let (driver, debug) = DATABASE.split_at(1);
    let database = [driver, prepared.as_slice(), debug].concat();
    let beyond = [BEYOND, more_random.as_slice(), more_database.as_slice()].concat();
    let (verbosity, log) = LOG.split_at(1);
    // Writing to a string does not fail, here and below.
    let _ = write!(
        text,
        "General options:\n{}\nPseudo-Random Numbers Generator options:\n{}\nLog options:\n{}\n{}\n\
         General database options:\n\n{}\n\nCompiled-in database drivers:\n  mysql - MySQL driver\n\n\
         mysql options:\n{}\nOptions beyond those of sysbench 1.0.20:\n{}\n",
        dashed(GENERAL),
        dashed(&random),
        dashed(verbosity),
        dashed(log),
        dashed(&database),
        dashed(MYSQL),
        dashed(&beyond),
    );
    text.push_str("This is niagara sysbench. Its own workloads, which need no script:\n");
    for kind in SysbenchTest::ALL {
        let _ = writeln!(text, "  {kind}");
    }
    text.push_str("A script is named by its path, or - for standard input.\n\nSee 'sysbench <testname> help' for a list of options for each test.\n\n");
    text
}

fn dashed(definitions: &[Definition]) -> String {
    table(definitions, '-')
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
