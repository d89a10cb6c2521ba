//! The files that are handed over: `schema.sql`, its undo, and what to watch afterwards. Niagara applies nothing.

use std::fmt::Write as _;

use niagara_server::{HideClause, shell_quoted};

use crate::advice::{Advice, TableAdvice};
use crate::candidate::{Drop, DropReason};
use crate::catalog::{IndexPart, literal, quote, readable};
use crate::screen::Judged;
use crate::words::{bytes, for_statement, headline, index_size, is_hidden, number, percent, span};

/// The files by their names.
pub fn files(advice: &Advice) -> Vec<(&'static str, String)> {
    vec![
        ("schema.sql", schema(advice)),
        ("undo.sql", undo(advice)),
        ("watch.sql", watch(advice)),
    ]
}

/// The indexes of the set: table, index, and the statement that makes it.
pub fn set_statements(advice: &Advice) -> Vec<(String, String, String)> {
    let chosen = advice.screened.chosen().map(|one| {
        let candidate = &one.candidate;
        let name = candidate.name.clone();
        (candidate.table.to_string(), name, statement_of(one, &[]))
    });
    chosen.collect()
}

/// The statements that gather the statistics which were stale.
pub fn statistics_statements(advice: &Advice) -> Vec<String> {
    let tables = advice.statistics.iter();
    tables
        .map(|one| format!("ANALYZE TABLE {}", one.table.quoted()))
        .collect()
}

/// The indexes of the set by their tables, without the database, and their columns; the one that saves most first.
pub fn set_columns(advice: &Advice) -> Vec<(String, Vec<String>)> {
    let chosen = advice.screened.chosen().map(|one| {
        let parts = one.candidate.parts.iter();
        let columns = parts.map(IndexPart::in_words);
        (readable(&one.candidate.table.table), columns.collect())
    });
    chosen.collect()
}

/// The statement that makes an index and drops those that it replaces.
fn statement_of(one: &Judged, replaced: &[&Drop]) -> String {
    let drops = replaced.iter().map(|drop| drop_clause(&drop.index.name));
    format!(
        "ALTER TABLE {} {}{}",
        one.candidate.table.quoted(),
        clauses(one.candidate.add_clause(), drops),
        online(one.online)
    )
}

fn clauses(first: String, others: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = std::iter::once(first).chain(others).collect();
    all.join(", ")
}

fn drop_clause(index: &str) -> String {
    format!("DROP INDEX {}", quote(index))
}

/// The indexes that go because this new one is there. Its statement drops them, too: apart from it, a client that goes on after an error
/// would drop them though the new one is missing.
fn replaced_by<'a>(advice: &'a Advice, one: &Judged) -> Vec<&'a Drop> {
    let drops = advice.superfluous();
    drops.filter(|drop| is_replaced_by(drop, one)).collect()
}

fn is_replaced_by(drop: &Drop, one: &Judged) -> bool {
    let new = &one.candidate;
    drop.table == new.table && drop.reason.covered_by() == Some(new.name.as_str())
}

/// The indexes that go by statements of their own.
fn dropped_apart(advice: &Advice) -> impl DoubleEndedIterator<Item = &Drop> {
    advice.superfluous().filter(move |drop| {
        let mut chosen = advice.screened.chosen();
        !chosen.any(|one| is_replaced_by(drop, one))
    })
}

/// The statements that take the set back, in the order of [`set_statements`].
pub fn set_undo(advice: &Advice) -> Vec<String> {
    let chosen = advice.screened.chosen();
    chosen.map(|one| undo_of(one, &[])).collect()
}

/// Why the set is there, and what it took to build on the copy.
pub fn set_in_words(advice: &Advice) -> String {
    let chosen = || advice.screened.chosen();
    let seconds = chosen().filter_map(|one| one.build_seconds).sum();
    let space = chosen().filter_map(|one| one.bytes).sum();
    format!(
        "Counting on a copy of the data has chosen these indexes for the statements of the capture. Building them took {} there, and they take {}.",
        span(seconds),
        bytes(space)
    )
}

/// The statement that drops a new index and makes those again that it replaced.
fn undo_of(one: &Judged, replaced: &[&Drop]) -> String {
    let mut made = replaced.iter().map(|drop| drop.undo_clause());
    let dropped = one.candidate.undo_clause();
    let clauses = match made.next() {
        Some(first) => clauses(first, made.chain([dropped])),
        None => dropped,
    };
    format!("ALTER TABLE {} {clauses}", one.candidate.table.quoted())
}

/// Whether the files have a statement.
pub fn has_schema(advice: &Advice) -> bool {
    advice.screened.chosen().next().is_some()
        || advice.superfluous().next().is_some()
        || !advice.statistics.is_empty()
}

/// What both files begin with that change tables: nobody is to wait for them.
pub fn bounded_wait() -> String {
    let why = "An ALTER waits for transactions that use its table, when it begins and when it ends, and every later statement on the table \
               waits behind it. After 10 s it stops with an error instead, and what it built is lost: run what is left of this file then.";
    format!("{}SET SESSION lock_wait_timeout = 10;\n", comment(why))
}

/// A text as a comment of one line: what a statement holds is not the file's business.
fn comment(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    format!("-- {line}\n")
}

/// What is done without stopping writes, where the server did it so on the copy.
fn online(is_online: bool) -> &'static str {
    match is_online {
        true => ", ALGORITHM=INPLACE, LOCK=NONE",
        false => "",
    }
}

/// The configuration file of a setting of the optimizer that duels proved; none where there is none.
pub fn optimizer(advice: &Advice) -> Option<String> {
    let one = advice.proven_setting()?;
    let mut out = String::new();
    let mut say = |text: &str| {
        let _ = writeln!(out, "# {text}");
    };
    say(&format!("{one}."));
    if advice.screened.chosen().next().is_some() {
        say("That is with the indexes of schema.sql: apply them first.");
    }
    say(
        "It may change the plan of any statement, also of those that the capture lacks: watch the slow log afterwards.",
    );
    if let Some(way) = advice.abilities.for_statement {
        say(&format!(
            "For one statement alone: {}",
            for_statement(way, &one.setting)
        ));
    }
    for effect in one.slower() {
        say(&format!(
            "statement {} takes more: {} rows and {} pages read, {} and {} with it",
            effect.digest,
            number(effect.before.rows),
            number(effect.before.pages),
            number(effect.after.rows),
            number(effect.after.pages)
        ));
    }
    say("Now, for new connections; note the old values first, which take it back:");
    for (name, value) in &one.setting.variables {
        say(&format!("  SELECT @@GLOBAL.{name};"));
        say(&format!("  SET GLOBAL {name} = {};", literal(value)));
    }
    say("After a restart, by a file that the server reads, such as one in /etc/mysql/conf.d:");
    out.push_str("[mysqld]\n");
    for (name, value) in &one.setting.variables {
        let _ = writeln!(out, "{name} = {value}");
    }
    Some(out)
}

/// What the disappearance of an index breaks.
const FORCED: &str = "No captured statement names it. Others that do (FORCE INDEX, USE INDEX) fail without it: look through the application.";

/// Why an index is dropped where the new one is made.
const TOGETHER: &str = "One statement makes the new index and drops the old: an error leaves the table as it was. Do not split it.";

/// What the beginning of an index has that the longer one has not.
const BEGINNING: &str = "A beginning is smaller, and InnoDB sorts rows of equal values in it by the primary key: statements that the capture lacks may need that.";

/// When an index that the set replaces may be hidden.
const AFTERWARDS: &str = "First all new indexes above have to be there: statements used this one until then. So never run this file with --force.";

fn schema(advice: &Advice) -> String {
    let mut out = comment(&headline(advice));
    for caution in &advice.cautions {
        out.push_str(&comment(&caution.to_string()));
    }
    out.push_str(&comment("Niagara applies nothing. One statement a line; undo.sql takes all of it back; watch.sql says what to look at."));
    out.push_str(&bounded_wait());
    for one in &advice.statistics {
        let _ = write!(
            out,
            "\n{}ANALYZE TABLE {};\n",
            comment(&one.to_string()),
            one.table.quoted()
        );
    }
    for one in advice.screened.chosen() {
        out.push('\n');
        out.push_str(&why(advice, one));
        let replaced = replaced_by(advice, one);
        for drop in &replaced {
            out.push_str(&why_gone(drop));
        }
        if !replaced.is_empty() {
            out.push_str(&comment(TOGETHER));
            out.push_str(&comment(FORCED));
        }
        let statement = statement_of(one, &replaced);
        let _ = writeln!(out, "{statement};");
        // What is there is shown in no time.
        if one.candidate.hidden.is_none() {
            for line in large_table(&statement) {
                out.push_str(&comment(&line));
            }
        }
    }
    for drop in dropped_apart(advice) {
        out.push('\n');
        out.push_str(&why_gone(drop));
        out.push_str(&comment(FORCED));
        if drop.reason == DropReason::NotUsedBesideSet {
            out.push_str(&comment(AFTERWARDS));
        }
        out.push_str(&drop_statement(advice, drop));
    }
    for table in &advice.tables {
        let statement = match table {
            TableAdvice::NoPrimaryKey { .. } => {
                "by hand: which columns identify a row is the application's to say".to_owned()
            }
            TableAdvice::TableLocks { table, .. } => {
                format!("ALTER TABLE {} ENGINE=InnoDB;", table.quoted())
            }
        };
        let _ = write!(out, "\n{}", comment(&format!("Not counted: {table}")));
        out.push_str(&comment(&statement));
    }
    out
}

/// Why an index goes.
fn why_gone(drop: &Drop) -> String {
    let mut out = comment(&format!("{}: {}", drop.title(), drop.reason));
    if let DropReason::LeftPrefix { .. } = drop.reason {
        out.push_str(&comment(BEGINNING));
    }
    out
}

/// Why an index is in the set, what it takes here, and which statements it serves.
fn why(advice: &Advice, one: &Judged) -> String {
    let purposes: Vec<String> = one
        .candidate
        .purposes
        .iter()
        .map(ToString::to_string)
        .collect();
    let work = advice.screened.work_before.max(1.0);
    let mut out = comment(&format!(
        "{}{}: {}. Without it {} of the counted work comes back. Writes take {} more.",
        one.candidate.table,
        crate::catalog::parts_in_words(&one.candidate.parts),
        purposes.join(", "),
        percent(one.saves / work),
        percent(one.costs / work)
    ));
    for effect in &advice.screened.effects {
        let Some(digest) = advice
            .digests
            .iter()
            .find(|digest| digest.digest == effect.digest)
        else {
            continue;
        };
        if !one.serves.contains(&effect.digest) {
            continue;
        }
        out.push_str(&comment(&format!(
            "statement {} ({} of the time): {} rows and {} pages read before, {} and {} with the set",
            digest.digest,
            percent(digest.share),
            number(effect.before.rows),
            number(effect.before.pages),
            number(effect.after.rows),
            number(effect.after.pages)
        )));
    }
    out.push_str(&comment(&match one.candidate.hidden {
        Some(_) => format!("{}.", is_hidden(&one.candidate.name)),
        None => format!(
            "Built here in {}, {}{}.",
            span(one.build_seconds.unwrap_or(0.0)),
            index_size(one.bytes),
            match one.online {
                true => ", while the table could be written to",
                false => "; the server does not build it online: writes to the table wait",
            }
        ),
    }));
    out
}

/// What a statement ends with that tools for large tables must not be given.
const ALTER_OPTIONS: [&str; 2] = [", ALGORITHM=INPLACE", ", LOCK=NONE"];

/// The tools for tables that are too large, or too busy, for a statement of the form `ALTER TABLE name clauses`, a line each; none for
/// other statements.
pub fn large_table(statement: &str) -> Vec<String> {
    let Some((names, mut clauses)) = altered(statement) else {
        return Vec::new();
    };
    while let Some(shorter) = (ALTER_OPTIONS.iter()).find_map(|option| clauses.strip_suffix(option))
    {
        clauses = shorter;
    }
    let (database, table) = match &names[..] {
        [database, table] => (database.as_str(), table.as_str()),
        [table] => ("DATABASE", table.as_str()),
        _ => return Vec::new(),
    };
    // Between its parts there are commas. Source: DSNParser.pm of Percona Toolkit.
    let part = |name: &str| name.replace(',', "\\,");
    let source = format!("D={},t={}", part(database), part(table));
    let alter = shell_quoted(clauses);
    vec![
        "for a large live table, one of (gh-ost takes no foreign keys and triggers; where other tables refer to this one, the other \
         needs --alter-foreign-keys-method, too):"
            .to_owned(),
        format!(
            "  gh-ost --database={} --table={} --alter={alter} --execute",
            shell_quoted(database),
            shell_quoted(table)
        ),
        format!(
            "  pt-online-schema-change --alter {alter} {} --execute",
            shell_quoted(&source)
        ),
    ]
}

/// The names of the table that `ALTER TABLE` changes, and what stands behind them.
fn altered(statement: &str) -> Option<(Vec<String>, &str)> {
    const BEGINNING: &str = "alter table ";
    let head = statement.get(..BEGINNING.len())?;
    let mut rest = statement.get(BEGINNING.len()..)?.trim_start();
    if !head.eq_ignore_ascii_case(BEGINNING) {
        return None;
    }
    let mut names = Vec::new();
    loop {
        let name;
        (name, rest) = first_name(rest)?;
        names.push(name);
        match rest.strip_prefix('.') {
            Some(next) => rest = next,
            None => return Some((names, rest.trim())),
        }
    }
}

/// The name at the beginning of a text, bare or in backticks, and what stands behind it.
fn first_name(text: &str) -> Option<(String, &str)> {
    let Some(mut quoted) = text.strip_prefix('`') else {
        let end = text.find(|c: char| c.is_whitespace() || c == '.')?;
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut name = String::new();
    loop {
        let (part, rest) = quoted.split_once('`')?;
        name.push_str(part);
        // Two backticks are one of the name.
        let Some(rest) = rest.strip_prefix('`') else {
            return Some((name, rest));
        };
        name.push('`');
        quoted = rest;
    }
}

/// What may be missed is hidden first, where the server hides indexes: to show it again takes no time.
fn drop_statement(advice: &Advice, drop: &Drop) -> String {
    let table = drop.table.quoted();
    let name = quote(&drop.index.name);
    let hide = advice.abilities.hiding.map(|hiding| {
        format!(
            "ALTER TABLE {table} ALTER INDEX {name} {};\n",
            hiding.hides()
        )
    });
    let gone = format!("ALTER TABLE {table} DROP INDEX {name}, ALGORITHM=INPLACE, LOCK=NONE;\n");
    match (&drop.reason, hide) {
        (DropReason::Duplicate { .. }, _) | (DropReason::LeftPrefix { .. }, None) => gone,
        (_, Some(hide)) => format!(
            "{hide}{}",
            comment(&format!(
                "when nobody has missed it for a full cycle of the business: {}",
                gone.trim_end()
            ))
        ),
        (DropReason::NeverUsed | DropReason::NotUsedBesideSet, None) => comment(gone.trim_end()),
    }
}

/// Wherever the file stops, each statement has the index that it used before, or the new one that it uses now.
fn undo(advice: &Advice) -> String {
    let mut out = comment("Takes back what schema.sql does. Fresh statistics stay.");
    out.push_str(&comment(UNDO_ERRORS));
    out.push_str(&bounded_wait());
    let is_used = |drop: &&Drop| drop.reason == DropReason::NotUsedBesideSet;
    let (used, unused): (Vec<&Drop>, Vec<&Drop>) = dropped_apart(advice).rev().partition(is_used);
    // Statements use these again as soon as the new ones are gone. If one cannot come back, the new ones have to stay.
    for drop in used {
        out.push_str(&restored(advice, drop));
    }
    let chosen: Vec<&Judged> = advice.screened.chosen().collect();
    for one in chosen.into_iter().rev() {
        let _ = writeln!(out, "{};", undo_of(one, &replaced_by(advice, one)));
    }
    // No statement waits for these. One that was hidden may be dropped by now, and keeps no new index by its error.
    for drop in unused {
        out.push_str(&restored(advice, drop));
    }
    out
}

/// What to do where undo.sql stops.
const UNDO_ERRORS: &str = "An error may say that an index is there, or gone, already: look by SHOW INDEX, then run what is left of this \
                           file. Never use --force: a statement may lose its new index while its old one is missing.";

/// The statement that brings an index back, and what to do where it fails.
fn restored(advice: &Advice, drop: &Drop) -> String {
    let table = drop.table.quoted();
    let made = format!("ALTER TABLE {table} {};", drop.undo_clause());
    let shown = advice.abilities.hiding.map(HideClause::shows);
    match (&drop.reason, shown) {
        (DropReason::Duplicate { .. }, _) | (DropReason::LeftPrefix { .. }, None) => {
            format!("{made}\n")
        }
        (_, Some(shown)) => format!(
            "{}ALTER TABLE {table} ALTER INDEX {} {shown};\n",
            comment(&format!(
                "if {} is dropped by now, this in place of the next line: {made}",
                drop.title()
            )),
            quote(&drop.index.name)
        ),
        (DropReason::NeverUsed | DropReason::NotUsedBesideSet, None) => {
            comment(&format!("if {} is dropped by now: {made}", drop.title()))
        }
    }
}

fn watch(advice: &Advice) -> String {
    let mut out = comment("What to look at when schema.sql was applied.");
    for one in advice.screened.chosen() {
        let table = one.candidate.table.quoted();
        let _ = writeln!(
            out,
            "SHOW INDEX FROM {table} WHERE Key_name = '{}';",
            one.candidate.name.replace('\'', "''")
        );
    }
    for effect in &advice.screened.effects {
        let Some(digest) = advice
            .digests
            .iter()
            .find(|digest| digest.digest == effect.digest)
        else {
            continue;
        };
        out.push('\n');
        out.push_str(&comment(&format!(
            "{}: about {} rows examined for each execution, {} before. EXPLAIN one of:",
            digest.digest,
            number(effect.after.rows),
            number(effect.before.rows)
        )));
        out.push_str(&comment(&format!("  {}", digest.text)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::tests::{chosen, counted, superfluous};

    /// What a client executes of a file, without its head.
    fn statements(file: &str) -> Vec<&str> {
        let lines = file.lines().filter(|line| line.starts_with("ALTER"));
        lines.collect()
    }

    #[test]
    fn new_indexes_go_before_unused_ones_return() {
        let drops = || {
            vec![
                superfluous("old", &["b"], DropReason::NeverUsed),
                superfluous("needed", &["c"], DropReason::NotUsedBesideSet),
                superfluous("twin", &["d"], DropReason::Duplicate { of: "d".to_owned() }),
            ]
        };
        for (hiding, shown) in [
            (HideClause::Ignored, "NOT IGNORED"),
            (HideClause::Invisible, "VISIBLE"),
        ] {
            let undone = undo(&counted(
                Some(hiding),
                vec![chosen("idx_a", &["a"])],
                drops(),
            ));
            let expected = [
                format!("ALTER TABLE `shop`.`item` ALTER INDEX `needed` {shown};"),
                "ALTER TABLE `shop`.`item` DROP INDEX `idx_a`;".to_owned(),
                "ALTER TABLE `shop`.`item` ADD INDEX `twin` (`d`);".to_owned(),
                format!("ALTER TABLE `shop`.`item` ALTER INDEX `old` {shown};"),
            ];
            assert_eq!(statements(&undone), expected);
            // A hidden one that was dropped, as schema.sql advises, is made again.
            for made in ["`needed` (`c`)", "`old` (`b`)"] {
                let instead = format!(": ALTER TABLE `shop`.`item` ADD INDEX {made};\n");
                assert!(undone.contains(&instead), "{undone}");
            }
        }
        let undone = undo(&counted(None, Vec::new(), drops()));
        assert_eq!(
            statements(&undone),
            ["ALTER TABLE `shop`.`item` ADD INDEX `twin` (`d`);"]
        );
    }

    #[test]
    fn an_index_goes_in_its_successors_statement() {
        let left = |of: &str| DropReason::LeftPrefix { of: of.to_owned() };
        let drops = vec![
            superfluous("a", &["a"], left("ab")),
            superfluous("ab", &["a", "b"], left("idx_a_b_c")),
            superfluous("needed", &["d"], DropReason::NotUsedBesideSet),
        ];
        let judged = vec![
            chosen("idx_a_b_c", &["a", "b", "c"]),
            chosen("idx_e", &["e"]),
        ];
        let advice = counted(Some(HideClause::Ignored), judged, drops);
        let schema = schema(&advice);
        assert_eq!(
            statements(&schema),
            [
                "ALTER TABLE `shop`.`item` ADD INDEX `idx_a_b_c` (`a`, `b`, `c`), DROP INDEX `ab`, ALGORITHM=INPLACE, LOCK=NONE;",
                "ALTER TABLE `shop`.`item` ADD INDEX `idx_e` (`e`), ALGORITHM=INPLACE, LOCK=NONE;",
                "ALTER TABLE `shop`.`item` ALTER INDEX `a` IGNORED;",
                "ALTER TABLE `shop`.`item` ALTER INDEX `needed` IGNORED;",
            ]
        );
        assert!(
            schema.contains(
                "--alter 'ADD INDEX `idx_a_b_c` (`a`, `b`, `c`), DROP INDEX `ab`' D=shop,t=item"
            ),
            "{schema}"
        );
        let warning = format!("-- {AFTERWARDS}\nALTER TABLE `shop`.`item` ALTER INDEX `needed`");
        assert!(schema.contains(&warning), "{schema}");
        assert_eq!(
            statements(&undo(&advice)),
            [
                "ALTER TABLE `shop`.`item` ALTER INDEX `needed` NOT IGNORED;",
                "ALTER TABLE `shop`.`item` DROP INDEX `idx_e`;",
                "ALTER TABLE `shop`.`item` ADD INDEX `ab` (`a`, `b`), DROP INDEX `idx_a_b_c`;",
                "ALTER TABLE `shop`.`item` ALTER INDEX `a` NOT IGNORED;",
            ]
        );
        assert_eq!(schema.matches(BEGINNING).count(), 2, "{schema}");
        // Duels, and a lever, are of the new indexes alone.
        for ((_, _, made), undone) in set_statements(&advice).iter().zip(set_undo(&advice)) {
            assert!(!made.contains("DROP") && !undone.contains("ADD"), "{made}");
        }
    }

    #[test]
    fn a_beginning_is_dropped_where_it_cannot_be_hidden() {
        let left = DropReason::LeftPrefix {
            of: "ab".to_owned(),
        };
        let drops = vec![superfluous("a", &["a"], left)];
        let advice = counted(None, Vec::new(), drops);
        assert_eq!(
            statements(&schema(&advice)),
            ["ALTER TABLE `shop`.`item` DROP INDEX `a`, ALGORITHM=INPLACE, LOCK=NONE;"]
        );
        assert_eq!(
            statements(&undo(&advice)),
            ["ALTER TABLE `shop`.`item` ADD INDEX `a` (`a`);"]
        );
    }

    #[test]
    fn tools_for_large_tables_get_names_and_clauses() {
        let end = "ADD INDEX `idx_key` (`key`, `c,d`), ALGORITHM=INPLACE, LOCK=NONE";
        for (table, gh_ost, percona) in [
            (
                "`shop`.`item`",
                "--database=shop --table=item",
                "D=shop,t=item",
            ),
            (
                "`Läden App`.`-- x`",
                "--database='Läden App' --table='-- x'",
                "'D=Läden App,t=-- x'",
            ),
            (
                "`a``b`.`c,d=$e`",
                "--database='a`b' --table='c,d=$e'",
                "'D=a`b,t=c\\,d=$e'",
            ),
            (
                "`it's`.`a.b`",
                r"--database='it'\''s' --table=a.b",
                r"'D=it'\''s,t=a.b'",
            ),
        ] {
            let lines = large_table(&format!("ALTER TABLE {table} {end}"));
            let alter = "'ADD INDEX `idx_key` (`key`, `c,d`)'";
            assert_eq!(
                lines[1..],
                [
                    format!("  gh-ost {gh_ost} --alter={alter} --execute"),
                    format!("  pt-online-schema-change --alter {alter} {percona} --execute"),
                ]
            );
        }
        assert!(
            large_table("alter table t add index i (a)")[2].ends_with("D=DATABASE,t=t --execute")
        );
        for other in [
            "ANALYZE TABLE t",
            "",
            "ALTER TABLE",
            "ALTER TABLE `t",
            "ALTER TABLE `t``",
            "alter tablé",
        ] {
            assert!(large_table(other).is_empty(), "{other}");
        }
    }
}
