//! What is stored in databases and executes statements by itself.

use std::collections::HashMap;
use std::sync::Arc;

use super::body::Body;
use super::token::{Token, closed, tokens};
use crate::sql::SqlMode;

/// What fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    Insert,
    Update,
    Delete,
}

/// A trigger of a table.
#[derive(Debug, Clone)]
pub(super) struct Trigger {
    pub is_before: bool,
    pub events: Vec<Event>,
    pub body: Arc<Body>,
}

/// Things of a name, each with its database; an empty one where that is not known.
#[derive(Debug, Clone)]
struct NameMap<T>(HashMap<Vec<u8>, Vec<(Vec<u8>, T)>>);

impl<T> Default for NameMap<T> {
    fn default() -> Self {
        NameMap(HashMap::new())
    }
}

impl<T> NameMap<T> {
    fn add(&mut self, database: &[u8], name: Vec<u8>, thing: T) {
        let things = self.0.entry(name).or_default();
        things.push((database.to_ascii_lowercase(), thing));
    }

    /// Those that a name may mean in a database.
    fn get(&self, database: &[u8], name: &[u8]) -> Vec<&T> {
        let things = self.0.get(name).map_or(&[][..], Vec::as_slice);
        let may_be =
            |of: &[u8]| of.is_empty() || database.is_empty() || of.eq_ignore_ascii_case(database);
        let found = things.iter().filter(|(of, _)| may_be(of));
        found.map(|(_, thing)| thing).collect()
    }
}

/// Stored functions, triggers and views, as a dump has them.
#[derive(Debug, Clone, Default)]
pub struct StoredCode {
    functions: NameMap<Arc<Body>>,
    triggers: NameMap<Trigger>,
    /// The statements of views.
    views: NameMap<Arc<Vec<u8>>>,
    /// The database and the mode in which the dump's next statement is meant.
    database: Vec<u8>,
    mode: SqlMode,
    count: usize,
}

impl StoredCode {
    /// The database of the dump's next statements, where it does not say one.
    pub fn use_database(&mut self, name: &[u8]) {
        self.database = name.to_vec();
        self.mode = SqlMode::default();
    }

    /// Reads a statement of a dump; what defines nothing is passed over.
    pub fn read(&mut self, statement: &[u8]) {
        let tokens = tokens(statement, self.mode);
        let Some(first) = tokens.first() else {
            return;
        };
        if first.is("use") {
            let name = tokens.get(1).and_then(Token::name);
            self.database = name.unwrap_or_default();
        } else if first.is("set") {
            self.set(&tokens);
        } else if first.is("create") {
            self.create(statement, &tokens);
        }
    }

    /// Whether it has anything.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many functions, triggers and views it has.
    pub fn count(&self) -> usize {
        self.count
    }

    fn set(&mut self, tokens: &[Token<'_>]) {
        let place = tokens.iter().position(|token| token.is("sql_mode"));
        let value = place.and_then(|place| tokens.get(place + 2));
        if let Some(value) = value.filter(|value| value.is_literal()) {
            let list = value.text.trim_ascii_start();
            let list = list.get(1..list.len().saturating_sub(1));
            self.mode = self.mode.with_list(list.unwrap_or_default());
        }
    }

    fn create(&mut self, statement: &[u8], tokens: &[Token<'_>]) {
        let kinds = ["function", "trigger", "view"];
        let others = [
            "table",
            "procedure",
            "event",
            "database",
            "package",
            "index",
            "sequence",
        ];
        let found = tokens
            .iter()
            .take(32)
            .position(|token| token.is_any(&kinds) || token.is_any(&others));
        let Some(kind) = found.filter(|&at| tokens[at].is_any(&kinds)) else {
            return;
        };
        let mut at = kind + 1;
        while tokens
            .get(at)
            .is_some_and(|token| token.is_any(&["if", "not", "exists"]))
        {
            at += 1;
        }
        let Some((database, name, next)) = qualified(tokens, at) else {
            return;
        };
        let database = database.unwrap_or_else(|| self.database.clone());
        let text_from = |at: usize| tokens.get(at).map(|token| &statement[token.start..]);
        if tokens[kind].is("view") {
            if let Some(text) = text_from(next) {
                self.views.add(&database, name, Arc::new(text.to_vec()));
                self.count += 1;
            }
        } else if tokens[kind].is("function") {
            let after = closed(tokens, next);
            let parameters = tokens.get(next..after).unwrap_or_default();
            let begin = (after..tokens.len()).find(|&at| begins_body(tokens, at));
            if let Some(text) = begin.and_then(text_from) {
                let body = Body::read(text, names_of(parameters), self.mode);
                self.functions.add(&database, name, Arc::new(body));
                self.count += 1;
            }
        } else {
            self.trigger(statement, tokens, next, &database);
        }
    }

    fn trigger(&mut self, statement: &[u8], tokens: &[Token<'_>], at: usize, database: &[u8]) {
        let Some(on) = (at..tokens.len()).find(|&at| tokens[at].is("on")) else {
            return;
        };
        let head = &tokens[at..on];
        let has = |word: &str| head.iter().any(|token| token.is(word));
        let events = [
            ("insert", Event::Insert),
            ("update", Event::Update),
            ("delete", Event::Delete),
        ];
        let events = events.into_iter().filter(|(word, _)| has(word));
        let Some((of, table, next)) = qualified(tokens, on + 1) else {
            return;
        };
        // FOR EACH ROW, and perhaps the trigger that it follows.
        let mut begin = next + 3;
        if tokens
            .get(begin)
            .is_some_and(|token| token.is_any(&["follows", "precedes"]))
        {
            begin = qualified(tokens, begin + 1).map_or(begin, |(_, _, next)| next);
        }
        let Some(first) = tokens.get(begin) else {
            return;
        };
        let body = Body::read(&statement[first.start..], Vec::new(), self.mode);
        let trigger = Trigger {
            is_before: has("before"),
            events: events.map(|(_, event)| event).collect(),
            body: Arc::new(body),
        };
        let database = of.unwrap_or_else(|| database.to_vec());
        self.triggers.add(&database, table, trigger);
        self.count += 1;
    }

    /// The functions that a name may mean.
    pub(super) fn functions(&self, database: &[u8], name: &[u8]) -> Vec<Arc<Body>> {
        self.functions
            .get(database, name)
            .into_iter()
            .cloned()
            .collect()
    }

    /// The triggers of a table, in their order.
    pub(super) fn triggers(&self, database: &[u8], table: &[u8]) -> Vec<&Trigger> {
        self.triggers.get(database, table)
    }

    /// The statements of the views that a name may mean.
    pub(super) fn views(&self, database: &[u8], name: &[u8]) -> Vec<Arc<Vec<u8>>> {
        self.views
            .get(database, name)
            .into_iter()
            .cloned()
            .collect()
    }
}

/// A database, a name, and the place behind them.
type Qualified = (Option<Vec<u8>>, Vec<u8>, usize);

/// A name at a place, perhaps with its database before it.
pub(super) fn qualified(tokens: &[Token<'_>], at: usize) -> Option<Qualified> {
    let name = tokens.get(at)?.name()?;
    if tokens.get(at + 1).is_some_and(|token| token.is_sign(b'.')) {
        let second = tokens.get(at + 2)?.name()?;
        return Some((Some(name), second, at + 3));
    }
    Some((None, name, at + 1))
}

/// The names of parameters, in their parentheses.
fn names_of(tokens: &[Token<'_>]) -> Vec<Vec<u8>> {
    let mut depth = 0_u32;
    let mut names = Vec::new();
    let mut may_begin = false;
    for token in tokens {
        if token.is_sign(b'(') {
            depth += 1;
            may_begin = depth == 1;
        } else if token.is_sign(b')') {
            depth = depth.saturating_sub(1);
        } else if token.is_sign(b',') {
            may_begin = depth == 1;
        } else if may_begin && !token.is_any(&["in", "out", "inout"]) {
            names.extend(token.name());
            may_begin = false;
        }
    }
    names
}

/// Whether a function's body begins at this place, behind its parameters.
fn begins_body(tokens: &[Token<'_>], at: usize) -> bool {
    const WORDS: [&str; 15] = [
        "begin", "return", "if", "case", "loop", "while", "repeat", "for", "select", "insert",
        "update", "delete", "replace", "do", "call",
    ];
    let token = tokens[at];
    let after_type = at > 0 && tokens[at - 1].is_any(&["returns", "character", "char"]);
    let is_label = tokens.get(at + 1).is_some_and(|next| next.is_sign(b':'));
    token.is_any(&WORDS) || is_label || token.is("set") && !after_type
}
