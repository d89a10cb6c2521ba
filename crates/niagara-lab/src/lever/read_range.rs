//! `[range]` of a lever's file.

use std::collections::BTreeMap;

use niagara_server::normalise_variable;
use niagara_toml::{At, Found, Scalar, Text, finding};
use schemars::JsonSchema;
use serde::Deserialize;

use super::expression::Expression;
use super::range::{Bounds, Range, Scale};

/// The keys themselves, or a table of them for each branch.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RangeTable {
    /// the lever's title with a searched number
    title: Option<Text>,
    variable: Option<Text>,
    from: Option<At<Scalar>>,
    to: Option<At<Scalar>>,
    #[serde(default)]
    scale: Scale,
    step: Option<At<Scalar>>,
    #[serde(default)]
    follows: BTreeMap<String, f64>,
    /// the range on MariaDB
    mariadb: Option<At<BoundsTable>>,
    /// the range on MySQL and Percona Server
    mysql: Option<At<BoundsTable>>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BoundsTable {
    variable: Option<Text>,
    from: Option<At<Scalar>>,
    to: Option<At<Scalar>>,
    #[serde(default)]
    scale: Scale,
    step: Option<At<Scalar>>,
    #[serde(default)]
    follows: BTreeMap<String, f64>,
}

/// What `[range]` says.
pub(super) fn range(table: At<RangeTable>) -> Found<Range> {
    let (at, table) = (table.at, table.value);
    let title = table.title.map(|title| title.to_string());
    let of = |branch: Option<At<BoundsTable>>| {
        branch
            .map(|table| bounds(table.at, table.value))
            .transpose()
    };
    if table.mariadb.is_none() && table.mysql.is_none() {
        let all = BoundsTable {
            variable: table.variable,
            from: table.from,
            to: table.to,
            scale: table.scale,
            step: table.step,
            follows: table.follows,
        };
        return Ok(Range {
            all: Some(bounds(at, all)?),
            title,
            ..Range::default()
        });
    }
    if table.variable.is_some() || table.from.is_some() || table.to.is_some() {
        return finding(
            at,
            "a range of every branch beside one of a branch",
            "write [range.mariadb] and [range.mysql], or neither",
        );
    }
    Ok(Range {
        all: None,
        mariadb: of(table.mariadb)?,
        mysql: of(table.mysql)?,
        title,
    })
}

fn bounds(at: usize, table: BoundsTable) -> Found<Bounds> {
    let missing = |key: &str, example: &str| {
        finding(
            at,
            format!("`{key}` is missing"),
            format!("add {key} = {example}"),
        )
    };
    let Some(variable) = table.variable else {
        return missing("variable", "\"innodb_io_capacity\"");
    };
    let (from, to) = match (&table.from, &table.to) {
        (None, _) => return missing("from", "100"),
        (_, None) => return missing("to", "20000"),
        (Some(from), Some(to)) => (from, to),
    };
    let (first, last) = (quantity(from)?, quantity(to)?);
    if let (Expression::Number(low), Expression::Number(high)) = (&first, &last) {
        if low >= high {
            return finding(
                to.at,
                "the range is empty",
                "let `to` be larger than `from`",
            );
        }
        if table.scale == Scale::Log && *low < 1.0 {
            return finding(
                to.at,
                "a logarithmic range cannot begin at 0",
                "begin at 1 or more, or write scale = \"linear\"",
            );
        }
    }
    let follows = table.follows.into_iter();
    Ok(Bounds {
        variable: normalise_variable(&variable),
        from: first,
        to: last,
        scale: table.scale,
        step: table.step.as_ref().map_or(Ok(1), step)?,
        follows: follows
            .map(|(name, times)| (normalise_variable(&name), times))
            .collect(),
    })
}

/// A number, a size or an expression: `100`, `"96M"`, `"= server_memory * 0.6"`.
fn quantity(text: &At<Scalar>) -> Found<Expression> {
    let (before, expression) = match text.strip_prefix('=') {
        Some(expression) => (2, expression),
        None => (1, &***text),
    };
    Expression::parse(expression).or_else(|error| error.found(text.at + before))
}

fn step(text: &At<Scalar>) -> Found<u64> {
    match quantity(text)? {
        Expression::Number(step) if step >= 1.0 => Ok(step as u64),
        _ => finding(
            text.at,
            "a whole number from 1 was expected here",
            "write as in 8 or \"1M\"",
        ),
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explanation;
    use niagara_server::Family;
    use niagara_server::machine::Fingerprint;

    use niagara_toml::FileError;

    use super::*;
    use crate::lever::parse::parse;
    use crate::lever::{Context, Lever, Span};

    fn lever(range: &str) -> Result<Lever, FileError> {
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
        let mistake =
            |range: &str| Explanation::from(lever(range).expect_err("a mistake")).to_string();
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
        assert!(error.contains("scale: unknown value `lin`"), "{error}");
        let error = mistake("[range]\nvariable = \"v\"\nto = 2\n");
        assert!(
            error.contains("`from` is missing\nremedy: add from = 100"),
            "{error}"
        );
        let error = mistake("[range]\nvariable = \"v\"\nfrom = 1\nto = 2\nstep = 0\n");
        assert!(error.contains("a whole number from 1"), "{error}");
    }
}
