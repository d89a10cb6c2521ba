//! What a statement's stored code may execute, as a machine that reads statements.

use std::sync::Arc;

use super::body::{Body, Node, Pattern, Seen};
use super::calls::{Calls, Insert};
use super::code::StoredCode;
use super::token::tokens;
use crate::sql::SqlMode;

/// Most places of a machine.
const MAX_PLACES: usize = 20_000;
/// Deepest calls of calls.
const MAX_DEPTH: u32 = 16;

/// A place of the machine.
#[derive(Debug, Default)]
struct Place {
    /// Where it may go without a statement.
    links: Vec<u32>,
    /// With which statement it goes where.
    step: Option<(Pattern, u32)>,
}

/// Everything that the stored code of a statement may execute.
#[derive(Debug)]
pub(super) struct Program {
    places: Vec<Place>,
    end: u32,
}

/// Where a program may be.
pub(super) type Places = Vec<u32>;

impl Program {
    /// Of a statement that is sent in this database; none of one that calls nothing which is logged.
    pub fn of(code: &StoredCode, text: &[u8], mode: SqlMode, database: &[u8]) -> Option<Program> {
        let tokens = tokens(text, mode);
        let calls = Calls::of(code, &tokens, database);
        if calls.is_empty() {
            return None;
        }
        [false, true].into_iter().find_map(|is_loose| {
            let mut builder = Builder {
                code,
                database,
                places: Vec::new(),
                depth: 0,
                is_loose,
            };
            let start = builder.place();
            let end = builder.calls(&calls, start);
            let is_whole = builder.places.len() < MAX_PLACES;
            let does = builder.places.iter().any(|place| place.step.is_some());
            (is_whole && does).then_some(Program {
                places: builder.places,
                end,
            })
        })
    }

    /// At its beginning.
    pub fn start(&self) -> Places {
        self.closure(vec![0])
    }

    /// Behind this statement; nowhere where it is none of the program's.
    pub fn step(&self, from: &Places, seen: &Seen) -> Places {
        let steps = from.iter().filter_map(|&at| {
            let (pattern, to) = self.places[at as usize].step.as_ref()?;
            pattern.is(seen).then_some(*to)
        });
        self.closure(steps.collect())
    }

    /// Whether it may be over here.
    pub fn may_end(&self, at: &Places) -> bool {
        at.contains(&self.end)
    }

    /// Whether anything may follow.
    pub fn may_go_on(&self, at: &Places) -> bool {
        at.iter().any(|&at| self.places[at as usize].step.is_some())
    }

    fn closure(&self, mut open: Vec<u32>) -> Places {
        let mut known: std::collections::BTreeSet<u32> = open.iter().copied().collect();
        while let Some(at) = open.pop() {
            for &link in &self.places[at as usize].links {
                if known.insert(link) {
                    open.push(link);
                }
            }
        }
        // Those that only lead on are of no use any more.
        let is_useful = |at: &u32| *at == self.end || self.places[*at as usize].step.is_some();
        known.into_iter().filter(is_useful).collect()
    }
}

/// Where control goes in a body.
#[derive(Default)]
struct Ways {
    end: u32,
    blocks: Vec<u32>,
    loops: Vec<u32>,
    in_handler: bool,
}

struct Builder<'c> {
    code: &'c StoredCode,
    database: &'c [u8],
    places: Vec<Place>,
    depth: u32,
    /// Rows are not counted.
    is_loose: bool,
}

impl Builder<'_> {
    fn place(&mut self) -> u32 {
        self.places.push(Place::default());
        (self.places.len() - 1) as u32
    }

    fn link(&mut self, from: u32, to: u32) {
        self.places[from as usize].links.push(to);
    }

    fn is_full(&self) -> bool {
        self.places.len() >= MAX_PLACES || self.depth > MAX_DEPTH
    }

    /// What is called, from this place on; where it is over.
    fn calls(&mut self, calls: &Calls, mut at: u32) -> u32 {
        if self.is_full() {
            return at;
        }
        self.depth += 1;
        if let Some(insert) = calls.insert.as_ref().filter(|_| !self.is_loose) {
            let functions: Vec<Arc<Body>> =
                [calls.functions.concat(), calls.of_views.clone()].concat();
            for _ in 0..insert.rows {
                at = self.any_of(&functions, at);
                at = self.row(insert, at);
            }
        } else if calls.is_once {
            for bodies in &calls.functions {
                at = self.one_of(bodies, at);
            }
        } else if calls.is_bounded && calls.of_views.is_empty() {
            for _ in &calls.functions {
                let out = self.one_of(&calls.functions.concat(), at);
                self.link(at, out);
                at = out;
            }
        } else {
            let mut all = [calls.functions.concat(), calls.of_views.clone()].concat();
            all.extend(calls.triggers.iter().cloned());
            if let Some(insert) = &calls.insert {
                for list in [
                    &insert.before,
                    &insert.after,
                    &insert.updates,
                    &insert.deletes,
                ] {
                    all.extend(list.iter().cloned());
                }
            }
            at = self.any_of(&all, at);
        }
        self.depth -= 1;
        at
    }

    fn row(&mut self, insert: &Insert, at: u32) -> u32 {
        let before = self.all_of(&insert.before, at);
        let replaced = self.any_of(&insert.deletes, before);
        let out = self.all_of(&insert.after, replaced);
        if insert.may_skip {
            self.link(before, out);
        }
        if !insert.updates.is_empty() {
            let updated = self.all_of(&insert.updates, before);
            self.link(updated, out);
        }
        out
    }

    fn all_of(&mut self, bodies: &[Arc<Body>], mut at: u32) -> u32 {
        for body in bodies {
            at = self.body(body, at);
        }
        // A place of its own: links to it are none to the place before.
        let out = self.place();
        self.link(at, out);
        out
    }

    fn one_of(&mut self, bodies: &[Arc<Body>], at: u32) -> u32 {
        let out = self.place();
        for body in bodies {
            let end = self.body(body, at);
            self.link(end, out);
        }
        out
    }

    /// So often, and in such an order, as they may be.
    fn any_of(&mut self, bodies: &[Arc<Body>], at: u32) -> u32 {
        if bodies.is_empty() {
            return at;
        }
        let again = self.place();
        self.link(at, again);
        for body in bodies {
            let end = self.body(body, again);
            self.link(end, again);
        }
        let out = self.place();
        self.link(again, out);
        out
    }

    fn body(&mut self, body: &Body, at: u32) -> u32 {
        let end = self.place();
        if self.is_full() {
            self.link(at, end);
            return end;
        }
        let mut ways = Ways {
            end,
            ..Ways::default()
        };
        let last = self.list(body, &body.nodes, at, &mut ways);
        self.link(last, end);
        end
    }

    fn list(&mut self, body: &Body, nodes: &[Node], mut at: u32, ways: &mut Ways) -> u32 {
        for node in nodes {
            if self.is_full() {
                return at;
            }
            at = self.node(body, node, at, ways);
        }
        at
    }

    fn node(&mut self, body: &Body, node: &Node, at: u32, ways: &mut Ways) -> u32 {
        match node {
            Node::Statement {
                text,
                pattern,
                is_sure,
            } => {
                // A place has one step.
                let from = self.place();
                self.link(at, from);
                let next = self.place();
                self.places[from as usize].step = Some((pattern.clone(), next));
                if !is_sure {
                    self.link(from, next);
                }
                let tokens = tokens(text, body.mode);
                // What a procedure does is not logged, whoever calls it.
                let calls = Calls::of(self.code, &tokens, self.database);
                let next = self.calls(&calls, next);
                self.handled(body, at, next, ways)
            }
            Node::Silent(text) => {
                let calls = Calls::of(self.code, &tokens(text, body.mode), self.database);
                match calls.is_empty() {
                    true => at,
                    false => {
                        let out = self.calls(&calls, at);
                        self.link(at, out);
                        self.handled(body, at, out, ways)
                    }
                }
            }
            Node::Open => {
                let mut called = Vec::new();
                for text in &body.cursors {
                    let calls = Calls::of(self.code, &tokens(text, body.mode), self.database);
                    called.append(&mut calls.functions.concat());
                    called.extend(calls.of_views);
                }
                let out = self.any_of(&called, at);
                self.handled(body, at, out, ways)
            }
            Node::Choice(branches) => {
                let out = self.place();
                for branch in branches {
                    let end = self.list(body, branch, at, ways);
                    self.link(end, out);
                }
                out
            }
            Node::Loop(nodes) => {
                let (again, out) = (self.place(), self.place());
                self.link(at, again);
                self.link(again, out);
                ways.blocks.push(out);
                ways.loops.push(again);
                let end = self.list(body, nodes, again, ways);
                ways.loops.pop();
                ways.blocks.pop();
                self.link(end, again);
                out
            }
            Node::Block(nodes) => {
                let out = self.place();
                ways.blocks.push(out);
                let end = self.list(body, nodes, at, ways);
                ways.blocks.pop();
                self.link(end, out);
                out
            }
            Node::Leave => self.go(at, &ways.blocks.clone()),
            Node::Iterate => self.go(at, &ways.loops.clone()),
            Node::Return => self.go(at, &[ways.end]),
        }
    }

    /// What handlers do about an error between these places.
    fn handled(&mut self, body: &Body, from: u32, at: u32, ways: &mut Ways) -> u32 {
        if ways.in_handler || body.handlers.is_empty() {
            return at;
        }
        let out = self.place();
        self.link(at, out);
        ways.in_handler = true;
        for handler in &body.handlers {
            let begin = self.place();
            // The statement is logged before it fails, and what is silent is not.
            self.link(at, begin);
            self.link(from, begin);
            let end = self.list(body, &handler.nodes, begin, ways);
            let to = match handler.exits {
                true => ways.end,
                false => out,
            };
            self.link(end, to);
        }
        ways.in_handler = false;
        out
    }

    /// To these places; nothing that follows is reached from here.
    fn go(&mut self, at: u32, to: &[u32]) -> u32 {
        for &to in to {
            self.link(at, to);
        }
        self.place()
    }
}
