//! `[[measured]]` of a lever's file.

use anyhow::Result;

use super::measured::Measured;
use super::source::Table;

const NAME: &str = "[[measured]]";
const KEYS: [&str; 6] = ["server", "workload", "ratio", "low", "high", "source"];

/// Reads every `[[measured]]` of a file.
pub(super) fn measured(top: &Table<'_>) -> Result<Vec<Measured>> {
    let Some(node) = top.get("measured") else {
        return Ok(Vec::new());
    };
    node.list()?
        .iter()
        .map(|node| one(&node.table(NAME)?))
        .collect()
}

fn one(table: &Table<'_>) -> Result<Measured> {
    table.only(&KEYS)?;
    let ratio = |key: &str| -> Result<f64> {
        let node = table.get(key).ok_or_else(|| {
            table.error(
                &format!("`{key}` is missing"),
                &format!("add {key} = 1.05: throughput with the lever over throughput without it"),
            )
        })?;
        let ratio = node.number()?;
        if ratio > 0.0 && ratio.is_finite() {
            Ok(ratio)
        } else {
            Err(node.error("a ratio is above 0", "write 1.05 for a gain of 5 %"))
        }
    };
    let found = Measured {
        server: table.required("server", "mariadb-10.11")?.to_owned(),
        workload: table.required("workload", "oltp_read_only")?.to_owned(),
        ratio: ratio("ratio")?,
        low: ratio("low")?,
        high: ratio("high")?,
        source: table
            .required("source", "docs/results/t2000-ladder.md")?
            .to_owned(),
    };
    if found.low <= found.ratio && found.ratio <= found.high {
        Ok(found)
    } else {
        Err(table.error(
            "the ratio is not within its interval",
            "write the interval's lower end as `low`, its upper end as `high`",
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::lever::parse::parse;

    fn mistake(figures: &str) -> String {
        let head = "title = \"T\"\ntheme = \"t\"\nrisk = \"none\"\nwhy = \"w\"\nsource = \"s\"\n\
                    [change.config]\na = 1\n[[measured]]\nserver = \"mariadb-10.11\"\nworkload = \"w\"\n\
                    source = \"docs/results/x.md\"\n";
        parse("x", "levers/x.toml", &format!("{head}{figures}"))
            .expect_err("a mistake")
            .to_string()
    }

    #[test]
    fn mistakes_have_place_cause_and_remedy() {
        let error = mistake("ratio = 1.1\nlow = 1.2\nhigh = 1.3\n");
        assert!(
            error.starts_with("levers/x.toml:8:1: the ratio is not within its interval"),
            "{error}"
        );
        assert!(mistake("ratio = 1.1\nlow = 1.0\n").contains("`high` is missing\nremedy: add"));
        let error = mistake("ratio = -1\nlow = 1.0\nhigh = 2\n");
        assert!(
            error.contains("levers/x.toml:12:9: a ratio is above 0"),
            "{error}"
        );
        let error = mistake("ratio = \"much\"\nlow = 1.0\nhigh = 2\n");
        assert!(error.contains("a number was expected here"), "{error}");
    }
}
