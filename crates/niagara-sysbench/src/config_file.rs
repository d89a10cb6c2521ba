//! `--config-file`: one `name=value` a line, values separated by commas or spaces, `'` and `"` around values,
//! `#` before what is left out.

use crate::failure::Failure;
use crate::option::Kind;
use crate::values::Values;

/// A line that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// From 1.
    pub number: usize,
    pub name: String,
    pub values: Vec<String>,
}

/// The lines of a file. As in sysbench, lines without `=` are ignored.
pub fn lines(text: &str) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let Some((name, rest)) = line.split_once('=') else {
            continue;
        };
        let name = name.trim();
        if name.starts_with('#') {
            continue;
        }
        lines.push(Line {
            number,
            name: name.to_owned(),
            values: values(rest)
                .ok_or_else(|| format!("line {number}: a quotation mark is not closed"))?,
        });
    }
    Ok(lines)
}

fn values(mut rest: &str) -> Option<Vec<String>> {
    let separates = |c: char| c == ',' || c.is_whitespace();
    let mut values = Vec::new();
    loop {
        rest = rest.trim_start_matches(separates);
        let Some(first) = rest.chars().next().filter(|&c| c != '#') else {
            return Some(values);
        };
        let (value, after) = if matches!(first, '\'' | '"') {
            rest[1..].split_once(first)?
        } else {
            rest.split_at(rest.find(separates).unwrap_or(rest.len()))
        };
        values.push(value.to_owned());
        rest = after;
    }
}

/// Sets what a line says; `path` is for the error. Options that tests bring are not known yet and come back.
pub fn apply(values: &mut Values, path: &str, line: Line) -> Result<Option<Line>, Failure> {
    let place = |what: &str| Failure::usage(format!("{path}:{}: {what}", line.number));
    let Some(kind) = values.kind(&line.name) else {
        return Ok(Some(line));
    };
    match kind {
        Kind::File => {
            return Err(place(&format!(
                "'{}' cannot stand in a file of options",
                line.name
            )));
        }
        Kind::List => {
            // The kind was found, so the option is known.
            let _ = values.set_list(&line.name, line.values);
        }
        _ => {
            if line.values.len() > 1 {
                return Err(place(&format!(
                    "'{}' takes one value, here are {} (quotation marks keep them together)",
                    line.name,
                    line.values.len()
                )));
            }
            let value = line.values.first().map_or("", String::as_str);
            if values.set(&line.name, Some(value)).is_err() {
                return Err(place(&format!(
                    "'{}' is on or off, not '{value}'",
                    line.name
                )));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::option::{GENERAL, MYSQL};

    #[test]
    fn a_file_reads_like_sysbench_reads_it() {
        let text = "# a comment = here\nthreads=8\nmysql-host = a, b  c # and = more\n\
                    mysql_password='p, #\"w'\nnothing\ndebug=off\nmysql-db=\"\"\n";
        let lines = lines(text).unwrap();
        let seen: Vec<_> = lines
            .iter()
            .map(|line| (line.number, line.name.as_str(), line.values.join("|")))
            .collect();
        assert_eq!(
            seen,
            [
                (2, "threads", "8".to_owned()),
                (3, "mysql-host", "a|b|c".to_owned()),
                (4, "mysql_password", "p, #\"w".to_owned()),
                (6, "debug", "off".to_owned()),
                (7, "mysql-db", String::new()),
            ]
        );
        let mut values = Values::default();
        values.define(GENERAL);
        values.define(MYSQL);
        for line in lines {
            assert_eq!(apply(&mut values, "f", line), Ok(None));
        }
        assert_eq!(values.integer("threads"), Ok(8));
        assert_eq!(values.list("mysql-host"), ["a", "b", "c"]);
        assert!(!values.flag("debug"));
    }

    #[test]
    fn mistakes_have_their_place() {
        assert!(lines("a=1\nb='open\n").unwrap_err().contains("line 2"));
        let mut values = Values::default();
        values.define(GENERAL);
        for (text, word) in [
            ("\ndebug=perhaps", "on or off"),
            ("\ntime=1 2", "one value"),
            ("\nconfig-file=x", "cannot stand"),
        ] {
            let line = lines(text).unwrap().remove(0);
            let message = apply(&mut values, "my.cnf", line).unwrap_err().to_string();
            assert!(
                message.starts_with("my.cnf:2: ") && message.contains(word),
                "{message}"
            );
        }
        let line = lines("tables=4").unwrap().remove(0);
        assert_eq!(apply(&mut values, "f", line.clone()), Ok(Some(line)));
    }
}
