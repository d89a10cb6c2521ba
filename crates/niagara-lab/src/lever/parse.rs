//! From a file's text to a [`Lever`].

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;
use niagara_server::{Scheduling, TransportKind, normalise_variable};

use super::cpu_choice::{self, CpuChoice};
use super::definition::{Deploy, Elsewhere, Lever, Need, Promise, Role, When, WorkloadKind};
use super::expression::{Expression, ExpressionError};
use super::read_measured::measured;
use super::read_range::range;
use super::risk::Risk;
use super::source::{Node, Source, Table};
use super::template::{Template, Value};
use super::version_range::VersionRange;
use niagara_build::check_build_setting;
use niagara_server::did_you_mean;

const TOP: [&str; 18] = [
    "title",
    "factor",
    "level",
    "default",
    "theme",
    "risk",
    "role",
    "promise",
    "try",
    "why",
    "source",
    "when",
    "elsewhere",
    "change",
    "range",
    "measured",
    "recovery",
    "deploy",
];
const ELSEWHERE: [&str; 3] = ["mariadb", "mysql", "percona"];
const WHEN: [&str; 10] = [
    "mariadb",
    "mysql",
    "percona",
    "min_cpus",
    "min_memory",
    "min_data",
    "workload",
    "engines",
    "needs",
    "variables",
];
const CHANGE: [&str; 12] = [
    "config",
    "mariadb",
    "mysql",
    "malloc",
    "huge_pages_heap",
    "transport",
    "server_cpus",
    "client_cpus",
    "scheduling",
    "environment",
    "lock_memory",
    "build",
];

/// Reads one lever; `file` is how errors call it.
///
/// # Errors
/// The first mistake, with file, line, column, cause and remedy.
pub(crate) fn parse(id: &str, file: &str, text: &str) -> Result<Lever> {
    let source = Source { file, text };
    let toml = source.toml()?;
    let top = source.table(&toml);
    top.only(&TOP)?;
    let factor = top.optional("factor")?.map(str::to_owned);
    let level = top.optional("level")?.map(str::to_owned);
    let default_level = top.optional("default")?.map(str::to_owned);
    if factor.is_some() != level.is_some() {
        let (there, missing) = if factor.is_some() {
            ("factor", "level")
        } else {
            ("level", "factor")
        };
        let node = top.get(there);
        let cause = format!("`{there}` without `{missing}`");
        let remedy = "give both for an exclusive choice, as in factor = \"malloc\", level = \"jemalloc\", or neither";
        return Err(node.map_or_else(
            || top.error(&cause, remedy),
            |node| node.error(&cause, remedy),
        ));
    }
    let template = match top.inner("change", "[change]")? {
        Some(table) => change(&table)?,
        None => Template::default(),
    };
    if template == Template::default() {
        let remedy = format!("add [change] with at least one of: {}", CHANGE.join(", "));
        return Err(top.error("the lever changes nothing", &remedy));
    }
    Ok(Lever {
        id: id.to_owned(),
        title: top.required("title", "jemalloc")?.to_owned(),
        factor,
        level,
        default_level,
        theme: top.required("theme", "memory allocation")?.to_owned(),
        risk: word(&top, "risk", &RISKS, None)?,
        role: word(&top, "role", &ROLES, Some(Role::Lever))?,
        promise: word(&top, "promise", &PROMISES, Some(Promise::Medium))?,
        only_named: word(
            &top,
            "try",
            &[("always", false), ("named", true)],
            Some(false),
        )?,
        why: top
            .required("why", "what it does, when it helps, when it hurts")?
            .to_owned(),
        source: top
            .required("source", "MariaDB documentation: InnoDB system variables")?
            .to_owned(),
        when: top
            .inner("when", "[when]")?
            .map(|table| when(&table))
            .transpose()?
            .unwrap_or_default(),
        elsewhere: top
            .inner("elsewhere", "[elsewhere]")?
            .map(|table| elsewhere(&table))
            .transpose()?
            .unwrap_or_default(),
        template,
        range: top
            .inner("range", "[range]")?
            .map(|table| range(&table))
            .transpose()?
            .unwrap_or_default(),
        measured: measured(&top)?,
        recovery: top
            .get("recovery")
            .map(|node| node.yes_no())
            .transpose()?
            .unwrap_or_default(),
        deploy: top
            .inner("deploy", "[deploy]")?
            .map(|table| deploy(&table))
            .transpose()?
            .unwrap_or_default(),
        file: file.to_owned(),
    })
}

const RISKS: [(&str, Risk); 5] = [
    ("none", Risk::None),
    ("memory", Risk::Memory),
    ("durability", Risk::Durability),
    ("security", Risk::Security),
    ("system", Risk::System),
];
/// The last two are how files spelt it before: still read, not offered.
const ROLES: [(&str, Role); 5] = [
    ("lever", Role::Lever),
    ("negative-control", Role::NegativeControl),
    ("positive-control", Role::PositiveControl),
    ("decoy", Role::NegativeControl),
    ("control", Role::PositiveControl),
];
const PROMISES: [(&str, Promise); 3] = [
    ("high", Promise::High),
    ("medium", Promise::Medium),
    ("low", Promise::Low),
];
const NEEDS: [(&str, Need); 6] = [
    ("thp", Need::Thp),
    ("hugetlb", Need::Hugetlb),
    ("numa", Need::Numa),
    ("smt", Need::Smt),
    ("raise-priority", Need::RaisePriority),
    ("lock-memory", Need::LockMemory),
];

/// A key whose value is one of a few words.
fn word<T: Copy>(
    table: &Table<'_>,
    key: &str,
    known: &[(&str, T)],
    absent: Option<T>,
) -> Result<T> {
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    match (table.get(key), absent) {
        (Some(node), _) => one_of(&node, key, known),
        (None, Some(value)) => Ok(value),
        (None, None) => Err(table.error(
            &format!("`{key}` is missing"),
            &format!("add {key} = \"…\" with one of: {}", names.join(", ")),
        )),
    }
}

fn one_of<T: Copy>(node: &Node<'_>, what: &str, known: &[(&str, T)]) -> Result<T> {
    let text = node.text()?;
    if let Some((_, value)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(*value);
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let cause = format!("`{text}` is no {what}");
    let remedy = format!(
        "{}known: {}",
        did_you_mean(text, names.iter().copied()),
        names.join(", ")
    );
    Err(node.error(&cause, &remedy))
}

fn when(table: &Table<'_>) -> Result<When> {
    table.only(&WHEN)?;
    let range = |key: &str| -> Result<Option<VersionRange>> {
        let Some(node) = table.get(key) else {
            return Ok(None);
        };
        let parsed = VersionRange::parse(node.text()?).map_err(|cause| {
            node.error(&cause, "write as in \">=10.5, <11\", \"10.11\" or \"*\"")
        })?;
        Ok(Some(parsed))
    };
    let bytes = |key: &str| -> Result<Option<u64>> {
        let Some(node) = table.get(key) else {
            return Ok(None);
        };
        if let Ok(number) = node.integer() {
            return Ok(Some(number));
        }
        match Expression::parse(node.text()?) {
            Ok(Expression::Number(number)) => Ok(Some(number as u64)),
            _ => Err(node.error("a size was expected here", "write as in \"512M\" or \"2G\"")),
        }
    };
    let needs = match table.get("needs") {
        None => Vec::new(),
        Some(node) => node
            .list()?
            .iter()
            .map(|need| one_of(need, "need", &NEEDS))
            .collect::<Result<_>>()?,
    };
    let engines = match table.get("engines") {
        None => Vec::new(),
        Some(node) => node
            .list()?
            .iter()
            .map(|name| Ok(name.text()?.to_lowercase()))
            .collect::<Result<_>>()?,
    };
    let kinds = [("any", WorkloadKind::Any), ("writes", WorkloadKind::Writes)];
    Ok(When {
        mariadb: range("mariadb")?,
        mysql: range("mysql")?,
        percona: range("percona")?,
        min_cpus: table
            .get("min_cpus")
            .map(|node| node.integer())
            .transpose()?,
        min_memory: bytes("min_memory")?,
        min_data: bytes("min_data")?,
        workload: word(table, "workload", &kinds, Some(WorkloadKind::Any))?,
        engines,
        needs,
        variables: when_variables(table)?,
    })
}

/// `[when.variables]`: what the server must already run with.
fn when_variables(table: &Table<'_>) -> Result<BTreeMap<String, String>> {
    let Some(inner) = table.inner("variables", "[when.variables]")? else {
        return Ok(BTreeMap::new());
    };
    inner
        .entries()
        .map(|(name, _, node)| Ok((normalise_variable(name), node.scalar()?)))
        .collect()
}

fn elsewhere(table: &Table<'_>) -> Result<Elsewhere> {
    table.only(&ELSEWHERE)?;
    let reason = |key: &str| -> Result<Option<String>> {
        let Some(text) = table.optional(key)? else {
            return Ok(None);
        };
        Ok(Some(text.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    Ok(Elsewhere {
        mariadb: reason("mariadb")?,
        mysql: reason("mysql")?,
        percona: reason("percona")?,
    })
}

fn change(table: &Table<'_>) -> Result<Template> {
    table.only(&CHANGE)?;
    let flag = |key: &str| table.get(key).map(|node| node.yes_no()).transpose();
    let transports = [("tcp", TransportKind::Tcp), ("unix", TransportKind::Unix)];
    Ok(Template {
        config: variables(table, "config", "[change.config]")?,
        mariadb: variables(table, "mariadb", "[change.mariadb]")?,
        mysql: variables(table, "mysql", "[change.mysql]")?,
        malloc: table.optional("malloc")?.map(str::to_owned),
        huge_pages_heap: flag("huge_pages_heap")?,
        transport: table
            .get("transport")
            .map(|node| one_of(&node, "transport", &transports))
            .transpose()?,
        server_cpus: cpus(table, "server_cpus")?,
        client_cpus: cpus(table, "client_cpus")?,
        scheduling: table
            .get("scheduling")
            .map(|node| scheduling(&node))
            .transpose()?,
        environment: environment(table)?,
        lock_memory: flag("lock_memory")?,
        build: build(table)?,
    })
}

/// `[change.build]`: what a variant has after `build.`; `"pgo.seconds" = 20` is one key.
fn build(table: &Table<'_>) -> Result<BTreeMap<String, String>> {
    let Some(inner) = table.inner("build", "[change.build]")? else {
        return Ok(BTreeMap::new());
    };
    let mut found = BTreeMap::new();
    for (key, at, node) in inner.entries() {
        let value = node.scalar()?;
        check_build_setting(key, &value, Path::new(""))
            .map_err(|mistake| inner.source.error(at, &mistake.cause, &mistake.remedy))?;
        found.insert(key.to_owned(), value);
    }
    Ok(found)
}

fn variables(table: &Table<'_>, key: &str, name: &'static str) -> Result<BTreeMap<String, Value>> {
    let Some(inner) = table.inner(key, name)? else {
        return Ok(BTreeMap::new());
    };
    let mut found = BTreeMap::new();
    for (name, at, node) in inner.entries() {
        let variable = normalise_variable(name);
        if variable.is_empty()
            || !variable
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.')
        {
            return Err(inner.source.error(
                at,
                &format!("`{name}` is no variable's name"),
                "write as in innodb_io_capacity",
            ));
        }
        found.insert(variable, value(&node)?);
    }
    Ok(found)
}

fn environment(table: &Table<'_>) -> Result<BTreeMap<String, Value>> {
    let Some(inner) = table.inner("environment", "[change.environment]")? else {
        return Ok(BTreeMap::new());
    };
    inner
        .entries()
        .map(|(name, _, node)| Ok((name.to_owned(), value(&node)?)))
        .collect()
}

/// A literal, or an expression when it begins with `=`.
fn value(node: &Node<'_>) -> Result<Value> {
    let text = node.scalar()?;
    match text.strip_prefix('=') {
        None => Ok(Value::Literal(text)),
        Some(expression) => {
            let parsed = Expression::parse(expression).map_err(|error| inside(node, 1, &error))?;
            Ok(Value::Computed(parsed))
        }
    }
}

fn cpus(table: &Table<'_>, key: &str) -> Result<Option<CpuChoice>> {
    let Some(node) = table.get(key) else {
        return Ok(None);
    };
    let choice = CpuChoice::parse(node.text().map_err(|_| {
        node.error(
            "a choice of CPUs was expected here",
            &format!("write one of: {}", cpu_choice::FORMS),
        )
    })?)
    .map_err(|error| inside(&node, 0, &error))?;
    Ok(Some(choice))
}

fn scheduling(node: &Node<'_>) -> Result<Scheduling> {
    let text = node.text()?;
    if text == "batch" {
        return Ok(Scheduling::Batch);
    }
    let nice = text
        .strip_prefix("nice ")
        .and_then(|number| number.trim().parse::<i32>().ok());
    match nice.filter(|nice| (-20..=19).contains(nice)) {
        Some(nice) => Ok(Scheduling::Nice(nice)),
        None => Err(node.error(
            &format!("`{text}` is no scheduling"),
            "write \"batch\" or \"nice N\" with N from -20 to 19",
        )),
    }
}

fn deploy(table: &Table<'_>) -> Result<Deploy> {
    table.only(&["packages", "note"])?;
    let packages = match table.get("packages") {
        None => Vec::new(),
        Some(node) => node
            .list()?
            .iter()
            .map(|name| Ok(name.text()?.to_owned()))
            .collect::<Result<_>>()?,
    };
    Ok(Deploy {
        packages,
        note: table.optional("note")?.map(|note| note.trim().to_owned()),
    })
}

fn inside(node: &Node<'_>, before: usize, error: &ExpressionError) -> anyhow::Error {
    node.error_at(before + error.at, &error.cause, &error.remedy)
}

#[cfg(test)]
mod tests {
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
        parse("x", "levers/x.toml", &text)
            .expect_err("a mistake")
            .to_string()
    }

    #[test]
    fn a_good_lever() {
        let lever = parse("malloc-jemalloc", "levers/malloc-jemalloc.toml", GOOD).expect("valid");
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
                "levers/x.toml:5:8: `durabilty` is no risk\nremedy: did you mean `durability`?"
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
        assert!(error.contains("`fifo` is no scheduling"), "{error}");
        let error = mistake("malloc = \"jemalloc\"\n", "lock_memory = \"yes\"\n");
        assert!(error.contains("write true or false"), "{error}");
        let error = mistake("[change]", "[change.build]\nlto = \"fat\"\n[change]");
        assert!(
            error.starts_with("levers/x.toml:9:1: `fat` is no kind of LTO"),
            "{error}"
        );
        let error = mistake("[change]", "[when]\nmariadb = \"~10\"\n[change]");
        assert!(error.contains("`~` is no comparison"), "{error}");
        let error = mistake("[change]", "[when]\nneeds = [\"hugetbl\"]\n[change]");
        assert!(error.contains("did you mean `hugetlb`?"), "{error}");
    }
}
