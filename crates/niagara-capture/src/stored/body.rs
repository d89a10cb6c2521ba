//! Bodies of stored functions and triggers: which statements they may execute, in which order.

use super::token::{Token, masked, plain, tokens};
use crate::sql::SqlMode;

/// Deepest blocks that are read.
const MAX_DEPTH: u32 = 64;

/// What shows a statement of a body in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Its first word, in lower case.
    first: Vec<u8>,
    plain: u64,
    /// Where it has variables: without their values.
    masked: Option<u64>,
}

/// A statement of a log.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    first: Vec<u8>,
    plain: u64,
    masked: u64,
    marked: bool,
}

impl Seen {
    /// Of a text. `marked`: it shows that a routine has executed it.
    pub fn of(text: &[u8], mode: SqlMode, marked: bool) -> Seen {
        let tokens = tokens(text, mode);
        Seen {
            first: first(&tokens),
            plain: plain(&tokens),
            masked: masked(&tokens, &[]),
            marked,
        }
    }
}

impl Pattern {
    /// Whether the statement may have been this one.
    pub fn is(&self, seen: &Seen) -> bool {
        let with_values =
            |masked: u64| masked == seen.masked || seen.marked && self.first == seen.first;
        self.plain == seen.plain || self.masked.is_some_and(with_values)
    }
}

fn first(tokens: &[Token<'_>]) -> Vec<u8> {
    let first = tokens.first().map(|token| token.text);
    first.unwrap_or_default().to_ascii_lowercase()
}

/// A part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// A statement that is logged, or may be.
    Statement {
        text: Vec<u8>,
        pattern: Pattern,
        is_sure: bool,
    },
    /// One that is not. It may call functions.
    Silent(Vec<u8>),
    /// A cursor is opened.
    Open,
    Choice(Vec<Vec<Node>>),
    Loop(Vec<Node>),
    Block(Vec<Node>),
    Leave,
    Iterate,
    Return,
}

/// What is done about an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Handler {
    pub nodes: Vec<Node>,
    pub exits: bool,
}

/// The body of a stored function or a trigger.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Body {
    pub nodes: Vec<Node>,
    pub handlers: Vec<Handler>,
    /// The statements of its cursors.
    pub cursors: Vec<Vec<u8>>,
    pub mode: SqlMode,
}

impl Body {
    /// Reads a body; `variables` are its parameters.
    pub fn read(text: &[u8], variables: Vec<Vec<u8>>, mode: SqlMode) -> Body {
        let mut parser = Parser {
            text,
            tokens: tokens(text, mode),
            at: 0,
            depth: 0,
            variables,
            body: Body {
                mode,
                ..Body::default()
            },
        };
        // New and old rows are no variables that the server writes values for.
        parser.body.nodes = parser.list();
        parser.body
    }
}

/// What a SET assigns, each by itself.
fn assignments(text: &[u8], mode: SqlMode) -> Vec<&[u8]> {
    let tokens = tokens(text, mode);
    let (mut parts, mut depth) = (Vec::new(), 0_u32);
    let mut start = tokens.get(1).map_or(text.len(), |token| token.start);
    for token in &tokens {
        if token.is_sign(b'(') {
            depth += 1;
        } else if token.is_sign(b')') {
            depth = depth.saturating_sub(1);
        } else if token.is_sign(b',') && depth == 0 {
            parts.push(&text[start..token.start]);
            start = token.end();
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Words that end a list of statements.
const ENDS: [&str; 5] = ["end", "else", "elseif", "when", "until"];

struct Parser<'t> {
    text: &'t [u8],
    tokens: Vec<Token<'t>>,
    at: usize,
    depth: u32,
    variables: Vec<Vec<u8>>,
    body: Body,
}

impl<'t> Parser<'t> {
    fn here(&self) -> Option<Token<'t>> {
        self.tokens.get(self.at).copied()
    }

    fn takes(&mut self, word: &str) -> bool {
        let is = self.here().is_some_and(|token| token.is(word));
        self.at += usize::from(is);
        is
    }

    fn takes_sign(&mut self, sign: u8) -> bool {
        let is = self.here().is_some_and(|token| token.is_sign(sign));
        self.at += usize::from(is);
        is
    }

    /// Past the semicolon that ends what begins here; the text before it.
    fn rest_of_statement(&mut self) -> &'t [u8] {
        let from = self.at;
        while self.here().is_some_and(|token| !token.is_sign(b';')) {
            self.at += 1;
        }
        let text = self.between(from, self.at);
        self.takes_sign(b';');
        text
    }

    fn between(&self, from: usize, to: usize) -> &'t [u8] {
        match (self.tokens.get(from), self.tokens[..to].last()) {
            (Some(first), Some(last)) if from < to => &self.text[first.start..last.end()],
            _ => b"",
        }
    }

    /// Past one of these words, which no CASE … END hides; the text before it.
    fn until(&mut self, words: &[&str]) -> &'t [u8] {
        let from = self.at;
        let mut cases = 0_u32;
        while let Some(token) = self.here() {
            if token.is_sign(b';') {
                break;
            }
            if cases == 0 && token.is_any(words) {
                let text = self.between(from, self.at);
                self.at += 1;
                return text;
            }
            if token.is("case") {
                cases += 1;
            } else if token.is("end") {
                cases = cases.saturating_sub(1);
            }
            self.at += 1;
        }
        self.between(from, self.at)
    }

    fn list(&mut self) -> Vec<Node> {
        let mut nodes = Vec::new();
        self.depth += 1;
        loop {
            while self.takes_sign(b';') {}
            let Some(token) = self.here().filter(|token| !token.is_any(&ENDS)) else {
                break;
            };
            if self.depth > MAX_DEPTH {
                self.at = self.tokens.len();
                break;
            }
            self.statement(token, &mut nodes);
        }
        self.depth -= 1;
        nodes
    }

    fn statement(&mut self, token: Token<'t>, nodes: &mut Vec<Node>) {
        let next = self.tokens.get(self.at + 1);
        if token.name().is_some() && next.is_some_and(|next| next.is_sign(b':')) {
            // A label.
            self.at += 2;
            return;
        }
        let is_block = |word| token.is(word);
        if is_block("begin") {
            self.at += 1;
            if self.takes("not") {
                self.takes("atomic");
            }
            let inner = self.list();
            self.rest_of_statement();
            nodes.push(Node::Block(inner));
        } else if is_block("if") {
            self.at += 1;
            self.choice(false, nodes);
        } else if is_block("case") {
            self.at += 1;
            let value = self.until(&["when"]);
            nodes.push(Node::Silent(value.to_vec()));
            self.choice(true, nodes);
        } else if token.is_any(&["loop", "while", "for"]) {
            self.at += 1;
            if !token.is("loop") {
                let head = self.until(&["do", "loop"]);
                nodes.push(Node::Silent(head.to_vec()));
                self.variables
                    .extend(tokens(head, self.body.mode).first().and_then(Token::name));
            }
            let inner = self.list();
            self.rest_of_statement();
            nodes.push(Node::Loop(inner));
        } else if is_block("repeat") {
            self.at += 1;
            let inner = self.list();
            let condition = self.rest_of_statement();
            nodes.extend(inner.iter().cloned());
            nodes.push(Node::Silent(condition.to_vec()));
            nodes.push(Node::Loop(inner));
        } else if is_block("declare") {
            self.declaration(nodes);
        } else if is_block("return") {
            nodes.push(Node::Silent(self.rest_of_statement().to_vec()));
            nodes.push(Node::Return);
        } else if is_block("leave") {
            self.rest_of_statement();
            nodes.push(Node::Leave);
        } else if is_block("iterate") {
            self.rest_of_statement();
            nodes.push(Node::Iterate);
        } else if token.is_any(&["open", "fetch", "close"]) {
            self.rest_of_statement();
            nodes.push(Node::Open);
        } else {
            let text = self.rest_of_statement();
            if !is_block("set") {
                nodes.push(self.logged(text.to_vec(), true));
                return;
            }
            // That of local variables is not logged, and each variable has its own.
            nodes.push(self.logged(text.to_vec(), false));
            let parts = assignments(text, self.body.mode);
            for part in parts.iter().filter(|_| parts.len() > 1) {
                let text = [b"SET ", *part].concat();
                nodes.push(self.logged(text, false));
            }
        }
    }

    fn logged(&self, text: Vec<u8>, is_sure: bool) -> Node {
        let pattern = self.pattern(&text);
        Node::Statement {
            text,
            pattern,
            is_sure,
        }
    }

    fn pattern(&self, text: &[u8]) -> Pattern {
        let tokens = tokens(text, self.body.mode);
        let is_variable = |token: &Token<'_>| {
            let name = token.name();
            name.is_some_and(|name| {
                self.variables.contains(&name) || matches!(&name[..], b"new" | b"old")
            })
        };
        Pattern {
            first: first(&tokens),
            plain: plain(&tokens),
            masked: (tokens.iter().any(is_variable)).then(|| masked(&tokens, &self.variables)),
        }
    }

    /// Branches, from the first condition on.
    fn choice(&mut self, of_case: bool, nodes: &mut Vec<Node>) {
        let mut branches = Vec::new();
        loop {
            let condition = self.until(&["then"]);
            nodes.push(Node::Silent(condition.to_vec()));
            branches.push(self.list());
            let again = match of_case {
                true => self.takes("when"),
                false => self.takes("elseif"),
            };
            if !again {
                break;
            }
        }
        match self.takes("else") {
            true => branches.push(self.list()),
            false => branches.push(Vec::new()),
        }
        self.rest_of_statement();
        nodes.push(Node::Choice(branches));
    }

    fn declaration(&mut self, nodes: &mut Vec<Node>) {
        let from = self.at;
        self.at += 1;
        let exits = !self.takes("continue");
        if exits && !self.takes("exit") && !self.takes("undo") || !self.takes("handler") {
            self.at = from;
            let text = self.rest_of_statement();
            let tokens = tokens(text, self.body.mode);
            let is_cursor = tokens
                .get(2..4)
                .is_some_and(|words| words.iter().any(|word| word.is("cursor")));
            if is_cursor {
                self.body.cursors.push(text.to_vec());
                return;
            }
            for token in tokens.iter().skip(1) {
                if let Some(name) = token.name() {
                    self.variables.push(name);
                } else if !token.is_sign(b',') {
                    break;
                }
            }
            nodes.push(Node::Silent(text.to_vec()));
            return;
        }
        self.takes("for");
        // Conditions: the handler's statement follows the last one.
        loop {
            if self.takes("sqlstate") {
                self.takes("value");
            } else {
                self.takes("not");
            }
            self.at += 1;
            if !self.takes_sign(b',') {
                break;
            }
        }
        let mut handled = Vec::new();
        if let Some(token) = self.here().filter(|token| !token.is_any(&ENDS)) {
            self.depth += 1;
            if self.depth <= MAX_DEPTH {
                self.statement(token, &mut handled);
            } else {
                self.at = self.tokens.len();
            }
            self.depth -= 1;
        }
        self.body.handlers.push(Handler {
            nodes: handled,
            exits,
        });
    }
}
