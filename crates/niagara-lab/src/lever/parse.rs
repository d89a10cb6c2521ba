//! From a file's text to a [`Lever`].

use std::collections::BTreeMap;
use std::path::Path;

use niagara_build::check_build_setting;
use niagara_origin::data::{ChangeStatement, change_statements};
use niagara_server::{Scheduling, normalise_variable};
use niagara_settings::with_process_settings;
use niagara_toml::{At, FileError, Found, Mistakes, Scalar, Text, finding};
use schemars::JsonSchema;
use serde::Deserialize;

use super::condition::Condition;
use super::cpu_choice::CpuChoice;
use super::definition::{Deploy, Elsewhere, Lever, Need, Promise, Role, When, WorkloadKind};
use super::expression::Expression;
use super::range::Range;
use super::read_measured::{MeasuredTable, measured};
use super::read_range::{RangeTable, range};
use super::risk::Risk;
use super::template::{Template, Value};
use super::version_range::VersionRange;

const HELP: &str = "docs/levers.md shows the format";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LeverFile {
    /// what it is called, as in "jemalloc"
    title: Text,
    /// of an exclusive choice its name, as in "malloc"; `level` goes with it
    factor: Option<At<Text>>,
    /// of an exclusive choice what it is set to, as in "jemalloc"
    level: Option<At<Text>>,
    /// what the untouched state of the choice is called, where it has a name
    default: Option<Text>,
    /// the lever of the same choice whose build this one adds to: [change.build] says what is added
    extends: Option<At<Text>>,
    /// under what it is listed, as in "memory allocation"
    theme: Text,
    /// what it costs beside speed: none, memory, durability, security, system, schema
    risk: Risk,
    /// what it is in a study
    #[serde(default)]
    role: Role,
    /// how often it helps
    #[serde(default)]
    promise: Promise,
    /// whether it is tried where nobody names it
    #[serde(default, rename = "try")]
    tried: Tried,
    /// what it does, when it helps, when it hurts
    why: Text,
    /// what whoever installs it has to know, as in "long statements may hold others up"
    caution: Option<Text>,
    /// where the facts come from, as in "MariaDB documentation: InnoDB system variables"
    source: Text,
    /// where it applies
    #[serde(default)]
    when: WhenTable,
    /// why it is not for a branch, or not for its other versions
    #[serde(default)]
    elsewhere: Elsewhere,
    /// what it cannot be together with: levers, as in "malloc=jemalloc", or all levels of a choice, as in "malloc"
    #[serde(default)]
    excludes: Vec<At<Text>>,
    /// what it sets
    #[serde(default)]
    change: ChangeTable,
    /// the values among which a tuning searches, of a variable
    range: Option<At<RangeTable>>,
    /// what it did where it was measured, [[measured]] before each
    #[serde(default)]
    measured: Vec<At<MeasuredTable>>,
    /// whether it touches what a server recovers from after a crash
    #[serde(default)]
    recovery: bool,
    /// what deploying takes beyond variables
    #[serde(default)]
    deploy: Deploy,
}

#[derive(Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tried {
    #[default]
    Always,
    Named,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct WhenTable {
    mariadb: Option<At<Text>>,
    mysql: Option<At<Text>>,
    percona: Option<At<Text>>,
    min_cpus: Option<u64>,
    min_memory: Option<At<Scalar>>,
    min_data: Option<At<Scalar>>,
    workload: WorkloadKind,
    engines: Vec<Text>,
    needs: Vec<Need>,
    lacks: Vec<Text>,
    variables: BTreeMap<String, At<Scalar>>,
}

with_process_settings! {
    #[derive(Default, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    ChangeTable<At<Text>, At<Text>, At<Scalar>> {
        config: BTreeMap<At<String>, At<Scalar>>,
        mariadb: BTreeMap<At<String>, At<Scalar>>,
        mysql: BTreeMap<At<String>, At<Scalar>>,
        build: BTreeMap<At<String>, Scalar>,
        /// statements that change the data, executed once on a copy; or files of them, from the lever's folder
        sql: Vec<At<Text>>,
    }
}

/// JSON Schema (draft 2020-12) of lever files.
pub fn schema() -> serde_json::Value {
    niagara_toml::schema::<LeverFile>("Niagara lever")
}

/// Reads one lever; `file` is how errors call it.
///
/// # Errors
/// Its mistakes, with file, line, column, cause and remedy.
pub(crate) fn parse(id: &str, file: &str, text: &str) -> Result<Lever, FileError> {
    let read: LeverFile = niagara_toml::read(file, text, HELP, &[])?;
    let mut mistakes = Mistakes::of(file, text);
    if let (Some(half), None) | (None, Some(half)) = (&read.factor, &read.level) {
        let (there, missing) = match &read.factor {
            Some(_) => ("factor", "level"),
            None => ("level", "factor"),
        };
        mistakes.add(
            half.at,
            format!("`{there}` without `{missing}`"),
            "give both for an exclusive choice, as in factor = \"malloc\", level = \"jemalloc\", or neither",
        );
    }
    if let Some(base) = &read.extends
        && (read.factor.is_none() || read.change.build.is_empty())
    {
        mistakes.add(
            base.at,
            "`extends` is for levels of a choice that build",
            "give [change.build] with what is added, and the factor and level",
        );
    }
    let first_statement = read.change.sql.first().map(|entry| entry.at);
    let template = mistakes.take(change(read.change, file));
    if template == Some(Template::default()) {
        let remedy = format!("add [change] with what it sets; {HELP}");
        mistakes.add(0, "the lever changes nothing", remedy);
    }
    if let Some(statement) = first_statement
        && read.risk != Risk::Schema
    {
        mistakes.add(
            statement,
            "statements change tables, and the lever's risk says nothing of it",
            "write risk = \"schema\": it is tried with --allow schema, or where it is named",
        );
    }
    let when = mistakes.take(when(read.when));
    let range = mistakes.take(read.range.map_or_else(|| Ok(Range::default()), range));
    let extends = read.extends.map(|text| trimmed(text.value));
    let figures = read.measured.into_iter();
    let measured = figures.map(|table| measured(table, extends.as_deref()));
    let measured = mistakes.take(measured.collect::<Found<_>>());
    let parts = template.zip(when).zip(range.zip(measured));
    let lever = parts.map(|((template, when), (range, measured))| Lever {
        id: id.to_owned(),
        title: trimmed(read.title),
        factor: read.factor.map(|text| trimmed(text.value)),
        level: read.level.map(|text| trimmed(text.value)),
        default_level: read.default.map(trimmed),
        extends,
        theme: trimmed(read.theme),
        risk: read.risk,
        role: read.role,
        promise: read.promise,
        only_named: read.tried == Tried::Named,
        why: trimmed(read.why),
        caution: read.caution.map(trimmed),
        source: trimmed(read.source),
        when,
        elsewhere: read.elsewhere.on_one_line(),
        excludes: read.excludes.into_iter().map(exclusion).collect(),
        template,
        range,
        measured,
        recovery: read.recovery,
        deploy: Deploy {
            note: read.deploy.note.map(|note| note.trim().to_owned()),
            note_undo: read.deploy.note_undo.map(|undo| undo.trim().to_owned()),
            ..read.deploy
        },
        file: file.to_owned(),
    });
    mistakes.unless_any(lever)
}

fn trimmed(text: Text) -> String {
    text.trim().to_owned()
}

fn exclusion(name: At<Text>) -> At<String> {
    At {
        at: name.at,
        value: trimmed(name.value),
    }
}

fn when(table: WhenTable) -> Found<When> {
    let range = |text: Option<At<Text>>| {
        let parse = |text: At<Text>| {
            let remedy = "write as in \">=10.5, <11\", \"10.11\" or \"*\"";
            VersionRange::parse(&text).or_else(|cause| finding(text.at, cause, remedy))
        };
        text.map(parse).transpose()
    };
    let bytes = |size: Option<At<Scalar>>| {
        let parse = |size: At<Scalar>| match Expression::parse(&size) {
            Ok(Expression::Number(number)) => Ok(number as u64),
            _ => finding(
                size.at,
                "a size was expected here",
                "write as in \"512M\" or \"2G\"",
            ),
        };
        size.map(parse).transpose()
    };
    let variables =
        table
            .variables
            .into_iter()
            .map(|(name, wanted)| match Condition::parse(&wanted) {
                Ok(condition) => Ok((normalise_variable(&name), condition)),
                Err(cause) => finding(
                    wanted.at,
                    cause,
                    "write as in \"ON\", \"<2000\" or \">64M\"",
                ),
            });
    Ok(When {
        mariadb: range(table.mariadb)?,
        mysql: range(table.mysql)?,
        percona: range(table.percona)?,
        min_cpus: table.min_cpus,
        min_memory: bytes(table.min_memory)?,
        min_data: bytes(table.min_data)?,
        workload: table.workload,
        engines: table
            .engines
            .iter()
            .map(|name| name.to_lowercase())
            .collect(),
        needs: table.needs,
        lacks: table
            .lacks
            .iter()
            .map(|name| normalise_variable(name))
            .collect(),
        variables: variables.collect::<Found<_>>()?,
    })
}

fn change(mut table: ChangeTable, file: &str) -> Found<Template> {
    let runtime = table.take_process();
    Ok(Template {
        config: variables(table.config)?,
        mariadb: variables(table.mariadb)?,
        mysql: variables(table.mysql)?,
        runtime: runtime.resolve(cpus, scheduling, |_, text| value(&text))?,
        build: build(table.build)?,
        sql: sql(table.sql, file)?,
    })
}

/// `sql = […]` of the lever that messages call `file`.
fn sql(entries: Vec<At<Text>>, file: &str) -> Found<Vec<ChangeStatement>> {
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    let read = entries.into_iter().map(|entry| {
        change_statements(&entry, folder, file).or_else(|mistake| {
            let cause = mistake.cause();
            // The place of a mistake in this file is said anyway.
            let here = cause.strip_prefix(&format!("{file}: "));
            finding(entry.at, here.unwrap_or(&cause), mistake.remedy())
        })
    });
    let read: Vec<Vec<ChangeStatement>> = read.collect::<Found<_>>()?;
    Ok(read.concat())
}

/// `[change.build]`: what a variant has after `build.`; `"pgo.seconds" = 20` is one key.
fn build(table: BTreeMap<At<String>, Scalar>) -> Found<BTreeMap<String, String>> {
    let parts = table.into_iter().map(|(key, value)| {
        match check_build_setting(&key, &value, Path::new("")) {
            Ok(()) => Ok((key.value, value.0)),
            Err(mistake) => finding(key.at, mistake.cause, mistake.remedy),
        }
    });
    parts.collect()
}

fn variables(table: BTreeMap<At<String>, At<Scalar>>) -> Found<BTreeMap<String, Value>> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let variables = table.into_iter().map(|(name, text)| {
        let variable = normalise_variable(&name);
        if variable.is_empty() || !variable.chars().all(is_letter) {
            let cause = format!("`{}` is not a variable's name", *name);
            return finding(name.at, cause, "write as in innodb_io_capacity");
        }
        Ok((variable, value(&text)?))
    });
    variables.collect()
}

/// A literal, or an expression when it begins with `=`.
fn value(text: &At<Scalar>) -> Found<Value> {
    match text.strip_prefix('=') {
        None => Ok(Value::Literal(text.value.0.clone())),
        // Behind the quote and the `=`.
        Some(expression) => Expression::parse(expression)
            .map(Value::Computed)
            .or_else(|error| error.found(text.at + 2)),
    }
}

fn cpus(text: At<Text>) -> Found<CpuChoice> {
    CpuChoice::parse(&text).or_else(|error| error.found(text.at + 1))
}

/// The policy that a lever or a study file names.
pub(crate) fn scheduling(text: At<Text>) -> Found<Scheduling> {
    match Scheduling::parse(&text) {
        Some(policy) => Ok(policy),
        None => finding(
            text.at,
            format!("`{}` is not a scheduling policy", *text),
            Scheduling::WRITTEN,
        ),
    }
}

#[cfg(test)]
mod tests {
    use niagara_error::Explanation;

    use super::*;

    const GOOD: &str = "\
title = \"jemalloc\"
factor = \"malloc\"
level = \"jemalloc\"
theme = \"memory allocation\"
risk = \"none\"
why = \"w\"
source = \"s\"
[change]
malloc = \"jemalloc\"
";

    fn mistake(from: &str, to: &str) -> String {
        let text = GOOD.replace(from, to);
        assert_ne!(text, GOOD, "the test changes something");
        let error = parse("x", "levers/x.toml", &text).expect_err("a mistake");
        Explanation::from(&error).to_string()
    }

    #[test]
    fn a_good_lever() {
        let lever =
            parse("malloc-jemalloc", "data/levers/malloc-jemalloc.toml", GOOD).expect("valid");
        assert_eq!(
            (lever.factor(), lever.level()),
            ("malloc", Some("jemalloc"))
        );
        assert_eq!(lever.spelling(), "malloc=jemalloc");
        assert_eq!(
            (lever.role(), lever.risk(), lever.promise()),
            (Role::Lever, Risk::None, Promise::Medium)
        );
    }

    #[test]
    fn mistakes_have_place_cause_and_remedy() {
        let error = mistake("malloc = \"jemalloc\"\n", "maloc = \"jemalloc\"\n");
        assert!(
            error.starts_with(
                "levers/x.toml:9:1: unknown key `maloc` in [change]\nremedy: did you mean `malloc`?"
            ),
            "{error}"
        );
        let error = mistake("\"none\"", "\"durabilty\"");
        assert!(
            error.starts_with(
                "levers/x.toml:5:8: risk: unknown value `durabilty`\nremedy: did you mean `durability`?"
            ),
            "{error}"
        );
        let error = mistake("level = \"jemalloc\"\n", "");
        assert!(
            error.starts_with("levers/x.toml:2:10: `factor` without `level`"),
            "{error}"
        );
        let error = mistake("[change]\nmalloc = \"jemalloc\"\n", "");
        assert!(
            error.contains("the lever changes nothing\nremedy: add [change]"),
            "{error}"
        );
        let error = mistake("source = \"s\"\n", "");
        assert!(error.contains("`source` is missing"), "{error}");
        let error = mistake("why = \"w\"", "why = \"w");
        assert!(error.starts_with("levers/x.toml:6:"), "{error}");
        let error = mistake(
            "malloc = \"jemalloc\"\n",
            "config = { a = \"= 2 * memroy\" }\n",
        );
        assert!(
            error.starts_with(
                "levers/x.toml:9:23: no name is called `memroy`\nremedy: did you mean `memory`?"
            ),
            "{error}"
        );
        let error = mistake("malloc = \"jemalloc\"\n", "scheduling = \"fifo\"\n");
        assert!(
            error.contains("`fifo` is not a scheduling policy"),
            "{error}"
        );
        let error = mistake("malloc = \"jemalloc\"\n", "lock_memory = \"yes\"\n");
        assert!(error.contains("write true or false"), "{error}");
        let error = mistake("[change]", "[change.build]\nlto = \"fat\"\n[change]");
        assert!(
            error.starts_with("levers/x.toml:9:1: `fat` is not a kind of LTO"),
            "{error}"
        );
        let error = mistake("why =", "extends = \"malloc-x\"\nwhy =");
        assert!(
            error.starts_with("levers/x.toml:6:11: `extends` is for levels of a choice that build"),
            "{error}"
        );
        let error = mistake("[change]", "[change]\nsql = [\"ANALYZE TABLE t\"]");
        assert!(
            error.starts_with("levers/x.toml:9:8: statements change tables")
                && error.contains("risk = \"schema\""),
            "{error}"
        );
        let error = mistake("[change]", "[change]\nsql = [\"GRANT ALL ON *.* TO a\"]");
        assert!(error.contains("it is about accounts"), "{error}");
        let error = mistake("[change]", "[when]\nmariadb = \"~10\"\n[change]");
        assert!(error.contains("`~` is not a comparison"), "{error}");
        let error = mistake("[change]", "[when]\nneeds = [\"hugetbl\"]\n[change]");
        assert!(error.contains("did you mean `hugetlb`?"), "{error}");
    }
}
