//! `[range]` of a lever's file.

use std::collections::BTreeMap;

use anyhow::Result;
use niagara_server::normalise_variable;

use super::expression::Expression;
use super::range::{Bounds, Range, Scale};
use super::source::{Node, Table};
use niagara_server::did_you_mean;

const KEYS: [&str; 6] = ["variable", "from", "to", "scale", "step", "follows"];
const BRANCHES: [&str; 2] = ["mariadb", "mysql"];
const SCALES: [(&str, Scale); 2] = [("linear", Scale::Linear), ("log", Scale::Log)];

/// Reads `[range]`: the keys themselves, or a table of them for each branch.
pub(super) fn range(table: &Table<'_>) -> Result<Range> {
    if BRANCHES.iter().all(|branch| table.get(branch).is_none()) {
        return Ok(Range {
            all: Some(bounds(table)?),
            ..Range::default()
        });
    }
    table.only(&BRANCHES)?;
    let of = |branch: &str, name: &'static str| -> Result<Option<Bounds>> {
        let inner = table.inner(branch, name)?;
        inner.map(|table| bounds(&table)).transpose()
    };
    Ok(Range {
        all: None,
        mariadb: of("mariadb", "[range.mariadb]")?,
        mysql: of("mysql", "[range.mysql]")?,
    })
}

fn bounds(table: &Table<'_>) -> Result<Bounds> {
    table.only(&KEYS)?;
    let end = |key: &str, example: &str| -> Result<Expression> {
        let node = table.get(key).ok_or_else(|| {
            table.error(
                &format!("`{key}` is missing"),
                &format!("add {key} = {example}"),
            )
        })?;
        quantity(&node)
    };
    let scale = match table.get("scale") {
        None => Scale::default(),
        Some(node) => scale(&node)?,
    };
    let (from, to) = (end("from", "100")?, end("to", "20000")?);
    if let (Expression::Number(low), Expression::Number(high)) = (&from, &to) {
        let node = table.get("to").or_else(|| table.get("from"));
        let refuse = |cause: &str, remedy: &str| match &node {
            Some(node) => node.error(cause, remedy),
            None => table.error(cause, remedy),
        };
        if low >= high {
            return Err(refuse(
                "the range is empty",
                "let `to` be larger than `from`",
            ));
        }
        if scale == Scale::Log && *low < 1.0 {
            return Err(refuse(
                "a logarithmic range cannot begin at 0",
                "begin at 1 or more, or write scale = \"linear\"",
            ));
        }
    }
    let follows = match table.inner("follows", "[range.follows]")? {
        None => BTreeMap::new(),
        Some(inner) => inner
            .entries()
            .map(|(name, _, node)| Ok((normalise_variable(name), node.number()?)))
            .collect::<Result<_>>()?,
    };
    Ok(Bounds {
        variable: normalise_variable(table.required("variable", "innodb_io_capacity")?),
        from,
        to,
        scale,
        step: match table.get("step") {
            None => 1,
            Some(node) => step(&node)?,
        },
        follows,
    })
}

/// A number, a size or an expression: `100`, `"96M"`, `"= server_memory * 0.6"`.
fn quantity(node: &Node<'_>) -> Result<Expression> {
    if let Ok(number) = node.integer() {
        return Ok(Expression::Number(number as f64));
    }
    let text = node.text()?;
    let (before, expression) = match text.strip_prefix('=') {
        Some(expression) => (1, expression),
        None => (0, text),
    };
    Expression::parse(expression)
        .map_err(|error| node.error_at(before + error.at, &error.cause, &error.remedy))
}

fn step(node: &Node<'_>) -> Result<u64> {
    match quantity(node)? {
        Expression::Number(step) if step >= 1.0 => Ok(step as u64),
        _ => Err(node.error(
            "a whole number from 1 was expected here",
            "write as in 8 or \"1M\"",
        )),
    }
}

fn scale(node: &Node<'_>) -> Result<Scale> {
    let text = node.text()?;
    let known = SCALES.iter().find(|(name, _)| *name == text);
    known.map(|(_, scale)| *scale).ok_or_else(|| {
        let names = SCALES.map(|(name, _)| name);
        node.error(
            &format!("`{text}` is not a scale"),
            &format!(
                "{}known: {}",
                did_you_mean(text, names.into_iter()),
                names.join(", ")
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use niagara_server::Family;
    use niagara_server::machine::Fingerprint;

    use super::*;
    use crate::lever::parse::parse;
    use crate::lever::{Context, Lever, Span};

    fn lever(range: &str) -> Result<Lever> {
        let head = "title = \"T\"\ntheme = \"t\"\nrisk = \"none\"\nwhy = \"w\"\nsource = \"s\"\n\
                    [change.config]\na = 1\n";
        parse("x", "levers/x.toml", &format!("{head}{range}"))
    }

    fn span(range: &str, family: Family) -> Option<Span> {
        let mut machine = Fingerprint::default();
        machine.cpu.threads = 4;
        machine.memory.bytes = 8 << 30;
        let version = "10.11.19".parse().expect("a version");
        let context = Context::new(family, version, machine);
        lever(range).expect("valid").span(&context)
    }

    #[test]
    fn a_range_for_every_branch_or_for_one() {
        let all = "[range]\nvariable = \"innodb-io-capacity\"\nfrom = 100\nto = 20000\nscale = \"log\"\n\
                   [range.follows]\ninnodb_io_capacity_max = 2\n";
        let found = span(all, Family::Mysql).expect("there is a range");
        assert_eq!(
            found.one_line(),
            "innodb_io_capacity from 100 to 20000, logarithmic"
        );
        assert_eq!(
            found.follows,
            BTreeMap::from([("innodb_io_capacity_max".to_owned(), 2.0)])
        );
        let one = "[range.mariadb]\nvariable = \"innodb_log_file_size\"\nfrom = \"96M\"\nto = \"4G\"\nstep = \"1M\"\n";
        assert_eq!(span(one, Family::Mysql), None);
        let found = span(one, Family::Mariadb).expect("there is a range");
        assert_eq!((found.from, found.to), (96 << 20, 4 << 30));
    }

    #[test]
    fn a_range_that_the_machine_leaves_nothing_of_is_none() {
        let within =
            |to: &str| format!("[range]\nvariable = \"b\"\nfrom = \"128M\"\nto = \"{to}\"\n");
        assert_eq!(
            span(&within("= server_memory * 0.5"), Family::Mariadb).map(|span| span.to),
            Some(2 << 30)
        );
        assert_eq!(span(&within("= data"), Family::Mariadb), None);
    }

    #[test]
    fn mistakes_have_place_cause_and_remedy() {
        let mistake = |range: &str| lever(range).expect_err("a mistake").to_string();
        let error = mistake("[range]\nvariable = \"v\"\nfrom = 0\nto = 8\nscale = \"log\"\n");
        assert!(
            error.starts_with(
                "levers/x.toml:11:6: a logarithmic range cannot begin at 0\nremedy: begin at 1"
            ),
            "{error}"
        );
        let error = mistake("[range]\nvariable = \"v\"\nfrom = 8\nto = 8\n");
        assert!(
            error.contains("the range is empty\nremedy: let `to`"),
            "{error}"
        );
        let error = mistake("[range]\nvariable = \"v\"\nfrom = 1\nto = \"= cpu\"\n");
        assert!(error.contains("did you mean `cpus`?"), "{error}");
        let error = mistake("[range]\nvariable = \"v\"\nfrom = 1\nto = 2\nscale = \"lin\"\n");
        assert!(error.contains("`lin` is not a scale"), "{error}");
        let error = mistake("[range]\nvariable = \"v\"\nto = 2\n");
        assert!(
            error.contains("`from` is missing\nremedy: add from = 100"),
            "{error}"
        );
        let error = mistake("[range]\nvariable = \"v\"\nfrom = 1\nto = 2\nstep = 0\n");
        assert!(error.contains("a whole number from 1"), "{error}");
    }
}
