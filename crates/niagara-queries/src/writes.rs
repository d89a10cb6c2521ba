//! Writes that a statement's text does not show. Those of triggers are counted; procedures, functions and foreign keys are named.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;
use sqlparser::dialect::MySqlDialect;
use sqlparser::tokenizer::{Token, Tokenizer, Word};

use crate::catalog::{Catalog, TableName, Trigger, is_same_name};
use crate::observe::Change;
use crate::statement::{Kind, Structure};

/// Rounds of triggers that set each other off.
const ROUNDS: usize = 4;
/// At most so many changes are followed.
const MOST: usize = 10_000;
/// Words behind which a statement of a body begins.
const BEGINNERS: [&str; 6] = ["begin", "then", "else", "do", "loop", "repeat"];
/// Words that such a statement begins with, where it writes.
const VERBS: [&str; 4] = ["insert", "replace", "update", "delete"];

/// What writes to a table without a statement that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// A trigger.
    Trigger,
    /// A procedure.
    Procedure,
    /// A function.
    Function,
    /// A foreign key, whose rows go or change with those that they refer to.
    ForeignKey,
}

/// What writes to a table and is not counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedWriter {
    pub by: Writer,
    pub name: String,
}

/// The body of a trigger or a routine.
#[derive(Debug, Default)]
struct Body {
    /// What it writes each time.
    writes: Vec<(Kind, TableName, BTreeSet<String>)>,
    /// Its names and keywords.
    words: Vec<String>,
    /// Some of what it writes is not understood.
    is_unread: bool,
}

/// The changes with those that triggers add: one for each row, whatever their conditions are.
pub(crate) fn with_triggers(mut changes: Vec<Change>, catalog: &Catalog) -> Vec<Change> {
    let mut first = 0;
    for _ in 0..ROUNDS {
        let added: Vec<Change> = (changes[first..].iter())
            .flat_map(|change| triggered(change, catalog))
            .take(MOST)
            .collect();
        first = changes.len();
        changes.extend(added);
    }
    changes
}

/// What the triggers of a change write.
fn triggered<'c>(change: &'c Change, catalog: &'c Catalog) -> impl Iterator<Item = Change> + 'c {
    let triggers = catalog.triggers.iter().filter(|one| sets_off(change, one));
    triggers.flat_map(move |trigger| {
        let body = Body::read(&trigger.body, &trigger.table.database, catalog);
        let writes = body.writes.into_iter();
        writes.map(move |(kind, table, columns)| Change {
            table,
            kind,
            columns,
            rows: change.rows,
        })
    })
}

/// Whether a change sets a trigger off.
fn sets_off(change: &Change, trigger: &Trigger) -> bool {
    let event = match change.kind {
        Kind::Insert => "INSERT",
        Kind::Update => "UPDATE",
        Kind::Delete => "DELETE",
        Kind::Select => return false,
    };
    change.table == trigger.table && trigger.event == event
}

/// What else writes to a table while the capture's statements run, whose `texts` these are and whose `changes` are counted.
pub(crate) fn not_counted<'t>(
    table: &TableName,
    changes: &[Change],
    texts: impl Iterator<Item = &'t str>,
    catalog: &Catalog,
) -> Vec<NamedWriter> {
    let mut found = Vec::new();
    let mut add = |by: Writer, name: &str| {
        let name = name.to_owned();
        found.push(NamedWriter { by, name });
    };
    let mut called: Vec<String> = texts
        .flat_map(|text| words(text).unwrap_or_default())
        .collect();
    for trigger in &catalog.triggers {
        if !changes.iter().any(|change| sets_off(change, trigger)) {
            continue;
        }
        let body = Body::read(&trigger.body, &trigger.table.database, catalog);
        if body.is_unread && body.names(&table.table) {
            add(Writer::Trigger, &trigger.name);
        }
        called.extend(body.words);
    }
    // What is called may call others, in any order.
    let mut waiting: Vec<_> = catalog.routines.iter().collect();
    loop {
        let is_called = |name: &str| called.iter().any(|word| is_same_name(word, name));
        let (now, later): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|one| is_called(&one.name));
        waiting = later;
        if now.is_empty() {
            break;
        }
        for routine in now {
            let body = Body::read(&routine.body, &routine.database, catalog);
            let writes = body.writes.iter().any(|(_, of, _)| of == table);
            if writes || (body.is_unread && body.names(&table.table)) {
                let by = match routine.is_function {
                    true => Writer::Function,
                    false => Writer::Procedure,
                };
                add(by, &routine.name);
            }
            called.extend(body.words);
        }
    }
    for key in catalog
        .foreign_keys
        .iter()
        .filter(|key| key.table == *table)
    {
        let follows = |change: &Change| match change.kind {
            Kind::Delete => key.follows_delete,
            Kind::Update => {
                let is_key = |column: &String| key.referenced_columns.contains(column);
                key.follows_update && change.columns.iter().any(is_key)
            }
            Kind::Insert | Kind::Select => false,
        };
        let mut of_referenced = changes.iter().filter(|one| one.table == key.referenced);
        if of_referenced.any(follows) {
            add(Writer::ForeignKey, &key.name);
        }
    }
    found
}

/// The names and keywords of a text; none of one that has no tokens.
fn words(text: &str) -> Option<Vec<String>> {
    let tokens = Tokenizer::new(&MySqlDialect {}, text).tokenize().ok()?;
    let words = tokens.into_iter().filter_map(|token| match token {
        Token::Word(word) => Some(word.value),
        _ => None,
    });
    Some(words.collect())
}

impl Body {
    /// Finds the statements that write, wherever they stand in blocks and conditions.
    fn read(text: &str, database: &str, catalog: &Catalog) -> Self {
        let mut body = Self::default();
        let Ok(tokens) = Tokenizer::new(&MySqlDialect {}, text).tokenize() else {
            body.is_unread = true;
            return body;
        };
        let mut statement: Option<String> = None;
        let mut is_beginning = true;
        for token in tokens.into_iter().chain([Token::SemiColon]) {
            if let Token::Word(word) = &token {
                body.words.push(word.value.clone());
            }
            match (&token, &mut statement) {
                (Token::SemiColon, _) => {
                    if let Some(text) = statement.take() {
                        body.take(&text, database, catalog);
                    }
                    is_beginning = true;
                }
                (token, Some(text)) => text.push_str(&token.to_string()),
                (Token::Whitespace(_), None) => {}
                (Token::Word(word), None) => {
                    if is_beginning && is_any(word, &VERBS) {
                        statement = Some(word.to_string());
                    }
                    is_beginning = is_any(word, &BEGINNERS);
                }
                (_, None) => is_beginning = false,
            }
        }
        body
    }

    fn take(&mut self, text: &str, database: &str, catalog: &Catalog) {
        let structure = Structure::read(text, database, catalog);
        let Some(structure) = structure.ok().filter(|one| !one.written.is_empty()) else {
            self.is_unread = true;
            return;
        };
        let written = structure.written.into_iter();
        self.writes
            .extend(written.map(|(table, columns)| (structure.kind, table, columns)));
    }

    /// Whether it names this.
    fn names(&self, name: &str) -> bool {
        self.words.iter().any(|word| is_same_name(word, name))
    }
}

/// Whether a word is one of these keywords.
fn is_any(word: &Word, keywords: &[&str]) -> bool {
    let is = |keyword: &&str| word.value.eq_ignore_ascii_case(keyword);
    word.quote_style.is_none() && keywords.iter().any(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Column, ForeignKey, Routine, Table};

    fn name(table: &str) -> TableName {
        TableName {
            database: "shop".to_owned(),
            table: table.to_owned(),
        }
    }

    /// The tables `item`, `audit` and `total` of the columns `id` and `ref`.
    fn catalog(triggers: &[(&str, &str, &str)]) -> Catalog {
        let column = |name: &str| Column {
            name: name.to_owned(),
            type_name: "int".to_owned(),
            nullable: true,
            collation: None,
            length: None,
            bytes: None,
        };
        let table = |of: &str| Table {
            name: name(of),
            engine: Some("InnoDB".to_owned()),
            rows: 1000,
            data_bytes: 0,
            index_bytes: 0,
            columns: ["id", "ref"].map(column).into(),
            indexes: Vec::new(),
        };
        let triggers = triggers.iter().map(|(of, event, body)| Trigger {
            name: "after".to_owned(),
            table: name(of),
            event: (*event).to_owned(),
            body: (*body).to_owned(),
        });
        Catalog {
            tables: ["item", "audit", "total"]
                .map(|of| (name(of), table(of)))
                .into(),
            triggers: triggers.collect(),
            ..Catalog::default()
        }
    }

    fn change(table: &str, kind: Kind, columns: &[&str]) -> Change {
        Change {
            table: name(table),
            kind,
            columns: columns.iter().map(|name| (*name).to_owned()).collect(),
            rows: 7.0,
        }
    }

    #[test]
    fn triggers_write_once_for_each_row() {
        let body = "BEGIN DECLARE n INT; -- insert into total\n SET n = REPLACE(NEW.ref, 'a;', 'b'); \
                    IF n > 1 THEN INSERT INTO audit (ref) VALUES (CASE WHEN n THEN 1 ELSE 2 END); ELSE \
                    UPDATE `total` SET `ref` = `ref` + 1 WHERE id = NEW.id; END IF; END";
        let catalog = catalog(&[
            ("item", "INSERT", body),
            ("audit", "INSERT", "DELETE FROM total WHERE id = NEW.ref"),
            ("item", "UPDATE", "INSERT INTO audit VALUES (1, 2)"),
            // One that sets itself off ends, though the server would refuse it.
            ("total", "DELETE", "DELETE FROM total"),
        ]);
        let all = with_triggers(vec![change("item", Kind::Insert, &[])], &catalog);
        assert_eq!(
            all[..4],
            [
                change("item", Kind::Insert, &[]),
                change("audit", Kind::Insert, &[]),
                change("total", Kind::Update, &["ref"]),
                change("total", Kind::Delete, &[]),
            ]
        );
        assert!(all.len() < 10, "{all:?}");
    }

    #[test]
    fn bodies_of_any_kind_do_no_harm() {
        for body in [
            "",
            "BEGIN",
            "'",
            "BEGIN INSERT",
            "INSERT INTO",
            "THEN DELETE;;",
            "/*",
            "\u{1b}`",
        ] {
            let catalog = catalog(&[("item", "DELETE", body)]);
            let changes = vec![change("item", Kind::Delete, &[])];
            assert_eq!(with_triggers(changes, &catalog).len(), 1, "{body}");
        }
    }

    #[test]
    fn what_cannot_be_counted_is_named() {
        let mut catalog = catalog(&[
            // No table of this name is known.
            ("item", "INSERT", "INSERT INTO gone SELECT * FROM audit"),
            ("total", "INSERT", "CALL inner_one(1)"),
        ]);
        let routine = |name: &str, is_function: bool, body: &str| Routine {
            database: "shop".to_owned(),
            name: name.to_owned(),
            is_function,
            body: body.to_owned(),
        };
        catalog.routines = vec![
            routine(
                "inner_one",
                false,
                "BEGIN INSERT INTO audit VALUES (1, 2); END",
            ),
            routine("outer_one", false, "BEGIN CALL inner_one(1); END"),
            routine(
                "noting",
                true,
                "BEGIN UPDATE audit SET ref = 1; RETURN 1; END",
            ),
            routine("never", false, "DELETE FROM audit"),
        ];
        catalog.foreign_keys.push(ForeignKey {
            name: "of_total".to_owned(),
            table: name("audit"),
            columns: vec!["ref".to_owned()],
            referenced: name("total"),
            referenced_columns: vec!["id".to_owned()],
            follows_delete: true,
            follows_update: false,
        });
        let writers = |changes: &[Change], text: &str| -> Vec<String> {
            let found = not_counted(&name("audit"), changes, [text].into_iter(), &catalog);
            found
                .into_iter()
                .map(|one| format!("{} {}", one.by, one.name))
                .collect()
        };
        assert_eq!(writers(&[], "select ? from audit"), [""; 0]);
        assert_eq!(writers(&[], "call outer_one(?)"), ["procedure inner_one"]);
        assert_eq!(writers(&[], "select noting(?)"), ["function noting"]);
        let changes = [change("item", Kind::Insert, &[])];
        assert_eq!(writers(&changes, ""), ["trigger after"]);
        let changes = [change("total", Kind::Insert, &[])];
        assert_eq!(writers(&changes, ""), ["procedure inner_one"]);
        let changes = [change("total", Kind::Update, &["id"])];
        assert_eq!(writers(&changes, ""), [""; 0]);
        let changes = [change("total", Kind::Delete, &[])];
        assert_eq!(writers(&changes, ""), ["foreign key of_total"]);
    }
}
