//! Which stored code a statement calls.

use std::sync::Arc;

use super::body::Body;
use super::code::{Event, StoredCode, Trigger, qualified};
use super::token::{Token, closed};

/// What a statement calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// The functions that it names, in their order: each with what it may be.
    pub functions: Vec<Vec<Arc<Body>>>,
    /// They are called once each, and surely.
    pub is_once: bool,
    /// They are called once each, at most.
    pub is_bounded: bool,
    /// Functions of views, called for rows.
    pub of_views: Vec<Arc<Body>>,
    /// Bodies of triggers, fired for rows.
    pub triggers: Vec<Arc<Body>>,
    /// Rows that are inserted one by one.
    pub insert: Option<Insert>,
}

/// Rows that a statement inserts, and what each of them fires.
#[derive(Debug, Default, Clone)]
pub(super) struct Insert {
    pub rows: usize,
    pub before: Vec<Arc<Body>>,
    pub after: Vec<Arc<Body>>,
    /// What fires instead of that, or before it.
    pub updates: Vec<Arc<Body>>,
    pub deletes: Vec<Arc<Body>>,
    /// A row may be left out.
    pub may_skip: bool,
}

/// Deepest views of views.
const MAX_VIEWS: u32 = 8;

impl Calls {
    /// Of a statement that is sent in this database.
    pub fn of(code: &StoredCode, tokens: &[Token<'_>], database: &[u8]) -> Calls {
        let mut calls = Calls::default();
        calls.named(code, tokens, database);
        calls.written(code, tokens, database);
        calls
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        let fires = |insert: &Insert| {
            [
                &insert.before,
                &insert.after,
                &insert.updates,
                &insert.deletes,
            ]
            .into_iter()
            .any(|list| !list.is_empty())
        };
        self.functions.is_empty()
            && self.of_views.is_empty()
            && self.triggers.is_empty()
            && !self.insert.as_ref().is_some_and(fires)
    }

    fn named(&mut self, code: &StoredCode, tokens: &[Token<'_>], database: &[u8]) {
        let mut depth = 0_u32;
        let mut inside = false;
        for at in 0..tokens.len() {
            let token = tokens[at];
            if token.is_sign(b'(') {
                depth += 1;
            } else if token.is_sign(b')') {
                depth = depth.saturating_sub(1);
            }
            if at > 0 && tokens[at - 1].is_sign(b'.') {
                continue;
            }
            let Some((of, name, next)) = qualified(tokens, at) else {
                continue;
            };
            let of = of.unwrap_or_else(|| database.to_vec());
            if tokens.get(next).is_some_and(|token| token.is_sign(b'(')) {
                let bodies = code.functions(&of, &name);
                if !bodies.is_empty() {
                    self.functions.push(bodies);
                    inside |= depth > 0;
                }
            }
            for view in code.views(&of, &name) {
                let mut bodies = Vec::new();
                functions_of_view(code, &view, &of, &mut bodies, 0);
                self.of_views.append(&mut bodies);
            }
        }
        let has = |words: &[&str]| tokens.iter().any(|token| token.is_any(words));
        self.is_bounded = !has(&[
            "from", "update", "delete", "insert", "replace", "load", "loop",
        ]) && !tokens.iter().any(|token| token.is_sign(b';'));
        self.is_once = self.is_bounded && !inside && !has(&["case", "and", "or", "xor", "if"]);
    }

    /// What the rows fire that a statement writes.
    fn written(&mut self, code: &StoredCode, tokens: &[Token<'_>], database: &[u8]) {
        let has = |word: &str| tokens.iter().any(|token| token.is(word));
        let Some(first) = tokens.first() else {
            return;
        };
        let is_several = tokens.iter().rev().skip(1).any(|token| token.is_sign(b';'));
        if first.is_any(&["insert", "replace"])
            && !is_several
            && self.inserted(code, tokens, database)
        {
            return;
        }
        let events = [
            ("insert", Event::Insert),
            ("replace", Event::Insert),
            ("load", Event::Insert),
            ("update", Event::Update),
            ("delete", Event::Delete),
            ("replace", Event::Delete),
        ];
        let events: Vec<Event> = events
            .into_iter()
            .filter(|(word, _)| has(word))
            .map(|(_, event)| event)
            .collect();
        if events.is_empty() {
            return;
        }
        for at in 0..tokens.len() {
            let Some((of, name, _)) = qualified(tokens, at) else {
                continue;
            };
            let of = of.unwrap_or_else(|| database.to_vec());
            self.fire(code, &of, &name, &events, 0);
        }
    }

    fn fire(&mut self, code: &StoredCode, of: &[u8], name: &[u8], events: &[Event], depth: u32) {
        let fires = |trigger: &&Trigger| trigger.events.iter().any(|one| events.contains(one));
        let fired = code.triggers(of, name).into_iter().filter(fires);
        self.triggers
            .extend(fired.map(|trigger| Arc::clone(&trigger.body)));
        if depth < MAX_VIEWS {
            for view in code.views(of, name) {
                let tokens = super::token::tokens(&view, Default::default());
                for at in 0..tokens.len() {
                    if let Some((other, name, _)) = qualified(&tokens, at) {
                        let other = other.unwrap_or_else(|| of.to_vec());
                        self.fire(code, &other, &name, events, depth + 1);
                    }
                }
            }
        }
    }

    /// Rows that stand in the statement, of a table; false where they come from elsewhere.
    fn inserted(&mut self, code: &StoredCode, tokens: &[Token<'_>], database: &[u8]) -> bool {
        let mut at = 1;
        let modifiers = ["low_priority", "delayed", "high_priority", "ignore", "into"];
        while tokens.get(at).is_some_and(|token| token.is_any(&modifiers)) {
            at += 1;
        }
        let Some((of, name, next)) = qualified(tokens, at) else {
            return false;
        };
        let of = of.unwrap_or_else(|| database.to_vec());
        if !code.views(&of, &name).is_empty() {
            return false;
        }
        let Some(rows) = rows(tokens, next) else {
            return false;
        };
        let triggers = code.triggers(&of, &name);
        let of_event = |event: Event, before: Option<bool>| -> Vec<Arc<Body>> {
            let fires = |trigger: &&&Trigger| {
                trigger.events.contains(&event)
                    && before.is_none_or(|before| trigger.is_before == before)
            };
            let fired = triggers.iter().filter(fires);
            fired.map(|trigger| Arc::clone(&trigger.body)).collect()
        };
        let has = |word: &str| tokens.iter().any(|token| token.is(word));
        let replaces = tokens[0].is("replace");
        let both = |event| [of_event(event, Some(true)), of_event(event, Some(false))].concat();
        self.insert = Some(Insert {
            rows,
            before: of_event(Event::Insert, Some(true)),
            after: of_event(Event::Insert, Some(false)),
            updates: match has("duplicate") {
                true => both(Event::Update),
                false => Vec::new(),
            },
            deletes: match replaces {
                true => both(Event::Delete),
                false => Vec::new(),
            },
            may_skip: has("ignore") || has("duplicate"),
        });
        true
    }
}

/// How many rows stand in an INSERT, from behind its table's name on; none where they do not.
fn rows(tokens: &[Token<'_>], mut at: usize) -> Option<usize> {
    // Columns.
    at = closed(tokens, at);
    let word = tokens.get(at)?;
    if word.is("set") {
        return Some(1);
    }
    if !word.is_any(&["values", "value"]) {
        return None;
    }
    at += 1;
    let mut rows = 0;
    loop {
        at += usize::from(tokens.get(at).is_some_and(|token| token.is("row")));
        if !tokens.get(at).is_some_and(|token| token.is_sign(b'(')) {
            return (rows > 0).then_some(rows);
        }
        at = closed(tokens, at);
        rows += 1;
        if !tokens.get(at).is_some_and(|token| token.is_sign(b',')) {
            return Some(rows);
        }
        at += 1;
    }
}

fn functions_of_view(
    code: &StoredCode,
    view: &[u8],
    database: &[u8],
    bodies: &mut Vec<Arc<Body>>,
    depth: u32,
) {
    if depth > MAX_VIEWS {
        return;
    }
    let tokens = super::token::tokens(view, Default::default());
    for at in 0..tokens.len() {
        let Some((of, name, next)) = qualified(&tokens, at) else {
            continue;
        };
        let of = of.unwrap_or_else(|| database.to_vec());
        if tokens.get(next).is_some_and(|token| token.is_sign(b'(')) {
            bodies.extend(code.functions(&of, &name));
        }
        for view in code.views(&of, &name) {
            functions_of_view(code, &view, &of, bodies, depth + 1);
        }
    }
}
