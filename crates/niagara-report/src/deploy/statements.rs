//! Statements that are handed over: changes of tables with their undo, and rewrites with rules for ProxySQL.

use niagara_model::DeployRewrite;
use niagara_queries::schema::{bounded_wait, large_table};

use super::{DeployInput, in_columns};

/// Changes of tables.
pub const SCHEMA: &str = "schema.sql";
/// What takes them back.
pub const UNDO: &str = "undo.sql";
/// Rules for ProxySQL.
pub const PROXYSQL: &str = "proxysql.sql";
/// The changed statements, for the application.
pub const STATEMENTS: &str = "statements.sql";
/// What to do where [`UNDO`] stops, as it does first of all where [`SCHEMA`] had stopped before its end.
pub const NOTHING_THERE: &str = "Error 1091 or 1061 means that a statement has nothing to take back: schema.sql had stopped before it, or \
    undo.sql has run already. Delete its line, and run the file again.";
/// What the comments of rules begin with: how they are found again.
const MARK: &str = "niagara";

/// The files, as far as there is something in them.
pub(super) fn files(input: &DeployInput) -> Vec<(String, String)> {
    let variant = &input.variant;
    let mut files = Vec::new();
    if !variant.schema.is_empty() {
        files.push((SCHEMA, schema(input)));
    }
    if !variant.schema_undo.is_empty() {
        files.push((UNDO, undo(input)));
    }
    if !variant.rewrites.is_empty() {
        files.push((STATEMENTS, statements(input)));
    }
    if variant.rewrites.iter().any(|one| one.rule.is_some()) {
        files.push((PROXYSQL, proxysql(input)));
    }
    let files = files.into_iter();
    files.map(|(name, text)| (name.to_owned(), text)).collect()
}

/// A text as comments of SQL.
fn comment(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line: String = line.chars().filter(|c| !c.is_control()).collect();
        format!("-- {}", line.trim_end()).trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn head(input: &DeployInput) -> String {
    comment(&in_columns(&format!(
        "Found by Niagara for {}.\n{}\nSee README.md. Niagara applies nothing.",
        input.server, input.evidence
    )))
}

fn schema(input: &DeployInput) -> String {
    let mut out = head(input);
    for rung in &input.rungs {
        // Those that set variables are told of in the option file.
        if rung.sets.is_empty() {
            out += &comment(&in_columns(&format!("{}.\n{}", rung.told(), rung.why)));
        }
    }
    out += &format!("\n{}", bounded_wait());
    for statement in &input.variant.schema {
        out += &format!("\n{};\n", in_one_line(statement));
        for line in large_table(statement) {
            out += &comment(&line);
        }
    }
    out
}

fn undo(input: &DeployInput) -> String {
    let mut out = comment("Takes back what schema.sql does, in reverse order.");
    out += &comment(NOTHING_THERE);
    out += &bounded_wait();
    for statement in &input.variant.schema_undo {
        out += &format!("{};\n", in_one_line(statement));
    }
    out
}

fn in_one_line(statement: &str) -> String {
    statement.replace(['\n', '\r'], " ")
}

fn statements(input: &DeployInput) -> String {
    let mut out = head(input);
    out += &comment("For the application; ?1 is the first literal of the statement before.");
    for one in &input.variant.rewrites {
        out += &format!("\n{}", comment(&format!("digest {}, before:", one.digest)));
        out += &comment(&format!("  {}", one.before));
        out += &format!("{};\n", in_one_line(&one.statement));
    }
    out
}

fn proxysql(input: &DeployInput) -> String {
    let mut out = head(input);
    out += &comment(
        "For the admin interface of ProxySQL. Each pattern is made from one captured statement: test it before, and watch its hits in\n\
         stats_mysql_query_rules. A rule stands before all that are there, and those behind it still choose where a statement goes.",
    );
    for one in &input.variant.rewrites {
        out += &rule(one);
    }
    out += "\nLOAD MYSQL QUERY RULES TO RUNTIME;\nSAVE MYSQL QUERY RULES TO DISK;\n";
    out += &comment(&format!(
        "Undo: DELETE FROM mysql_query_rules WHERE comment LIKE '{MARK} %'; then the two statements above."
    ));
    out
}

fn rule(one: &DeployRewrite) -> String {
    let title = comment(&format!("digest {}: {}", one.digest, one.before));
    let Some([pattern, replacement]) = &one.rule else {
        let reason =
            "No rule: ProxySQL refers to nine literals at most. Change it in the application.";
        return format!("\n{title}{}", comment(reason));
    };
    // ProxySQL's own database takes backslashes as they are.
    let quoted = |text: &str| format!("'{}'", in_one_line(text).replace('\'', "''"));
    format!(
        "\n{title}INSERT INTO mysql_query_rules (rule_id, active, match_pattern, re_modifiers, replace_pattern, apply, comment) \
         SELECT COALESCE(MIN(rule_id), 1000) - 1, 1, {}, 'CASELESS', {}, 0, {} FROM mysql_query_rules;\n",
        quoted(pattern),
        quoted(replacement),
        quoted(&format!("{MARK} {}", one.digest))
    )
}
