//! `[[measured]]` of a lever's file.

use niagara_toml::{At, Found, Text, finding};
use schemars::JsonSchema;
use serde::Deserialize;

use super::measured::Measured;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct MeasuredTable {
    /// the server's name in the catalogue, as in "mariadb-10.11"
    server: Text,
    /// the workload, as in "oltp_read_only"
    workload: Text,
    /// throughput with the lever over throughput without it, as in 1.05
    ratio: At<f64>,
    /// lower end of its 95 % interval
    low: At<f64>,
    /// upper end of its 95 % interval
    high: At<f64>,
    /// what it was set against, where that is not the server's package: "gcc with the package's flags, 16 threads"
    over: Option<Text>,
    /// true where that is the same source built with the package's compiler and flags
    over_rebuild: Option<bool>,
    /// the lever that both sides had, where the figure is what this one adds to it: the one that it `extends`
    added_to: Option<At<Text>>,
    /// the machine's CPU, as in "AMD EPYC"
    machine: Option<Text>,
    /// where it is published, as in "docs/results/t2000-ladder.md"
    source: Text,
}

/// What one `[[measured]]` of a lever says that adds to the one named `extends`, where it does.
pub(super) fn measured(table: At<MeasuredTable>, extends: Option<&str>) -> Found<Measured> {
    let (at, table) = (table.at, table.value);
    for ratio in [&table.ratio, &table.low, &table.high] {
        if !(ratio.value > 0.0 && ratio.is_finite()) {
            return finding(
                ratio.at,
                "a ratio is above 0",
                "write 1.05 for a gain of 5 %",
            );
        }
    }
    if !(table.low.value..=table.high.value).contains(&table.ratio.value) {
        return finding(
            at,
            "the ratio is not within its interval",
            "write the interval's lower end as `low`, its upper end as `high`",
        );
    }
    if let Some(base) = &table.added_to
        && extends != Some(base.value.0.as_str())
    {
        let remedy = extends.map_or_else(
            || "leave it out: the figure is the lever's own gain".to_owned(),
            |extends| format!("write added_to = \"{extends}\", or leave it out where the figure is the whole build's gain"),
        );
        return finding(
            base.at,
            format!(
                "`added_to` names {}, which this lever does not extend",
                base.value.0
            ),
            remedy,
        );
    }
    Ok(Measured {
        server: table.server.0,
        workload: table.workload.0,
        ratio: table.ratio.value,
        low: table.low.value,
        high: table.high.value,
        over: table.over.map(|over| over.0),
        over_rebuild: table.over_rebuild == Some(true),
        added_to: table.added_to.map(|base| base.value.0),
        machine: table.machine.map(|machine| machine.0),
        source: table.source.0,
    })
}

#[cfg(test)]
mod tests {
    use niagara_error::Explanation;

    use crate::lever::parse::parse;

    fn mistake(figures: &str) -> String {
        let head = "title = \"T\"\ntheme = \"t\"\nrisk = \"none\"\nwhy = \"w\"\nsource = \"s\"\n\
                    [change.config]\na = 1\n[[measured]]\nserver = \"mariadb-10.11\"\nworkload = \"w\"\n\
                    source = \"docs/results/x.md\"\n";
        let error = parse("x", "levers/x.toml", &format!("{head}{figures}"));
        Explanation::from(&error.expect_err("a mistake")).to_string()
    }

    #[test]
    fn mistakes_have_place_cause_and_remedy() {
        let error = mistake("ratio = 1.1\nlow = 1.2\nhigh = 1.3\n");
        assert!(
            error.starts_with("levers/x.toml:8:1: the ratio is not within its interval"),
            "{error}"
        );
        assert!(
            mistake("ratio = 1.1\nlow = 1.0\n")
                .contains("`high` is missing in [[measured]]\nremedy: add")
        );
        let error = mistake("ratio = -1\nlow = 1.0\nhigh = 2\n");
        assert!(
            error.contains("levers/x.toml:12:9: a ratio is above 0"),
            "{error}"
        );
        let error = mistake("ratio = \"much\"\nlow = 1.0\nhigh = 2\n");
        assert!(error.contains("a number was expected here"), "{error}");
        let error = mistake("ratio = 1.1\nlow = 1.0\nhigh = 1.2\nadded_to = \"build-x\"\n");
        assert!(
            error.starts_with("levers/x.toml:15:12: `added_to` names build-x, which this lever does not extend\nremedy: leave it out"),
            "{error}"
        );
    }
}
