//! Statements that are sent in place of captured ones: a digest, and a statement with the captured literals in it by their numbers,
//! `?1` for the first.
//!
//! A list of literals in parentheses (`IN (1, 2, 3)`) is one place. A sign that belongs to a number is part of it.

use std::collections::HashMap;
use std::fmt;

use niagara_error::Explanation;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::sql::{COMMENT, Cut, LITERAL, SqlMode, takes_sign};
use crate::trace::{Action, NONE, Trace};

/// Digits of a digest's number that name it, at least.
const FEWEST_DIGITS: usize = 4;

/// A digest and what is sent in place of its statements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rewrite {
    /// The beginning of the digest's number.
    pub digest: String,
    /// The statement; `?1` is the first literal of the captured one.
    pub statement: String,
}

/// Why a rewrite cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RewriteMistake {
    /// No digest of the capture begins so.
    NoDigest {
        /// What was written.
        digest: String,
    },
    /// Several digests do.
    Ambiguous {
        /// What was written.
        digest: String,
        /// How many.
        digests: usize,
    },
    /// A digest has two statements.
    Twice {
        /// Its number.
        digest: String,
    },
    /// The statement has a number that no literal has.
    NoLiteral {
        /// The digest's number.
        digest: String,
        /// What was written: 3 for `?3`.
        number: usize,
        /// Literals of the digest's statements.
        literals: usize,
    },
    /// Statements of the digest have different numbers of literals.
    Varying {
        /// The digest's number.
        digest: String,
        /// The fewest.
        fewest: usize,
        /// The most.
        most: usize,
    },
}

impl RewriteMistake {
    /// What to do.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::NoDigest { .. } => "`niagara capture info CAPTURE` lists the digests",
            Self::Ambiguous { .. } => "write more of its digits",
            Self::Twice { .. } => "keep one of the statements",
            Self::NoLiteral { .. } => {
                "`niagara capture info CAPTURE DIGEST --as-rewrite` writes the statement with its numbers"
            }
            Self::Varying { .. } => "rewrite digests whose statements are alike",
        }
    }
}

impl fmt::Display for RewriteMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDigest { digest } => write!(f, "the capture has no digest {digest}"),
            Self::Ambiguous { digest, digests } => {
                write!(f, "{digests} digests of the capture begin with {digest}")
            }
            Self::Twice { digest } => write!(f, "the digest {digest} has two statements"),
            Self::NoLiteral {
                digest,
                number,
                literals,
            } => write!(
                f,
                "?{number} of digest {digest}: its statements have {literals} literals"
            ),
            Self::Varying {
                digest,
                fewest,
                most,
            } => write!(
                f,
                "statements of digest {digest} have {fewest} to {most} literals: none has a number of its own"
            ),
        }
    }
}

impl std::error::Error for RewriteMistake {}

niagara_error::remedied!(RewriteMistake, |mistake| Explanation::new(
    mistake.to_string()
)
.remedy(mistake.remedy()));

/// Texts that are sent in place of those of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RewrittenTexts {
    texts: HashMap<u32, Vec<u8>>,
}

impl RewrittenTexts {
    /// What is sent in place of the text at this place of the trace; none: the text itself.
    #[inline]
    pub fn get(&self, place: u32) -> Option<&[u8]> {
        self.texts.get(&place).map(Vec::as_slice)
    }

    /// The statements of `trace` that `rewrites` change.
    ///
    /// # Errors
    /// A digest that is not there; a number that no literal has.
    pub fn of(trace: &Trace, rewrites: &[Rewrite]) -> Result<Self, RewriteMistake> {
        let mut templates: HashMap<u32, (String, Vec<Piece<'_>>)> = HashMap::new();
        for rewrite in rewrites {
            let (place, digest) = place_of(trace, &rewrite.digest)?;
            let template = (digest.clone(), pieces(&rewrite.statement));
            if templates.insert(place, template).is_some() {
                return Err(RewriteMistake::Twice { digest });
            }
        }
        let mut counts: HashMap<u32, usize> = HashMap::new();
        let mut texts = HashMap::new();
        let mut cut = Cut::default();
        for step in &trace.steps {
            let template = templates.get(&step.digest);
            let Some((digest, pieces)) = template.filter(|_| step.action == Action::Query) else {
                continue;
            };
            if step.digest == NONE || texts.contains_key(&step.text) {
                continue;
            }
            let literals = literals_of(trace.text(step.text), &mut cut);
            let known = *counts.entry(step.digest).or_insert(literals.len());
            if known != literals.len() {
                return Err(RewriteMistake::Varying {
                    digest: digest.clone(),
                    fewest: known.min(literals.len()),
                    most: known.max(literals.len()),
                });
            }
            let text = filled(pieces, &literals).map_err(|number| RewriteMistake::NoLiteral {
                digest: digest.clone(),
                number,
                literals: literals.len(),
            })?;
            texts.insert(step.text, text);
        }
        Ok(Self { texts })
    }
}

/// The digest of a trace whose number begins so.
fn place_of(trace: &Trace, written: &str) -> Result<(u32, String), RewriteMistake> {
    let wanted = written.trim().to_lowercase();
    let numbers = (0_u32..).zip(trace.digests.iter().map(|one| one.digest.to_string()));
    let mut found: Vec<(u32, String)> = numbers
        .filter(|(_, number)| wanted.len() >= FEWEST_DIGITS && number.starts_with(&wanted))
        .collect();
    match (found.pop(), found.len()) {
        (Some(only), 0) => Ok(only),
        (Some(_), others) => Err(RewriteMistake::Ambiguous {
            digest: wanted,
            digests: others + 1,
        }),
        (None, _) => Err(RewriteMistake::NoDigest { digest: wanted }),
    }
}

/// A piece of a statement with numbers in it.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t [u8]),
    /// From 1.
    Literal(usize),
}

/// Takes a statement apart at its numbers; what is quoted has none.
fn pieces(statement: &str) -> Vec<Piece<'_>> {
    let text = statement.trim().trim_end_matches(';').as_bytes();
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    let mut quote = None;
    while let Some(&byte) = text.get(at) {
        match quote {
            Some(open) => {
                if byte == b'\\' && open != b'`' {
                    at += 1;
                } else if byte == open {
                    quote = None;
                }
                at += 1;
            }
            None if matches!(byte, b'\'' | b'"' | b'`') => {
                quote = Some(byte);
                at += 1;
            }
            None if byte == b'?' => {
                let digits = text[at + 1..].iter().take_while(|b| b.is_ascii_digit());
                let end = at + 1 + digits.count();
                let number = std::str::from_utf8(&text[at + 1..end]).ok();
                if let Some(number) = number.and_then(|number| number.parse().ok()) {
                    pieces.push(Piece::Text(&text[from..at]));
                    pieces.push(Piece::Literal(number));
                    from = end;
                }
                at = end;
            }
            None => at += 1,
        }
    }
    pieces.push(Piece::Text(&text[from.min(text.len())..]));
    pieces
}

fn filled(pieces: &[Piece<'_>], literals: &[Vec<u8>]) -> Result<Vec<u8>, usize> {
    let mut text = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(part) => text.extend_from_slice(part),
            Piece::Literal(number) => {
                let literal = number.checked_sub(1).and_then(|place| literals.get(place));
                text.extend_from_slice(literal.ok_or(*number)?);
            }
        }
    }
    Ok(text)
}

/// The literals of a statement, in their order, each with its sign.
fn literals_of(text: &[u8], cut: &mut Cut) -> Vec<Vec<u8>> {
    cut.read(text, SqlMode::default());
    let mut literals = Vec::new();
    let mut parts = cut.parts.iter();
    for (at, mark) in marks(&cut.skeleton) {
        let Some(range) = parts.next() else { break };
        if mark != LITERAL {
            continue;
        }
        let mut literal = Vec::new();
        literal.extend(sign_before(&cut.skeleton[..at]).map(|sign| cut.skeleton[sign]));
        literal.extend_from_slice(&text[range.clone()]);
        literals.push(literal);
    }
    literals
}

fn marks(skeleton: &[u8]) -> impl Iterator<Item = (usize, u8)> + '_ {
    let marks = skeleton.iter().copied().enumerate();
    marks.filter(|(_, byte)| matches!(*byte, LITERAL | COMMENT))
}

/// Where a sign stands that belongs to what follows.
fn sign_before(before: &[u8]) -> Option<usize> {
    let sign = before.len().checked_sub(1)?;
    if !matches!(before[sign], b'-' | b'+') {
        return None;
    }
    takes_sign(before[..sign].trim_ascii_end()).then_some(sign)
}

/// A captured statement with numbers in place of its literals, without comments: what a rewrite begins as.
pub fn numbered(text: &[u8]) -> String {
    let mut cut = Cut::default();
    cut.read(text, SqlMode::default());
    let mut out: Vec<u8> = Vec::new();
    let mut number = 0;
    let mut from = 0;
    for (at, mark) in marks(&cut.skeleton) {
        let sign = match mark {
            LITERAL => sign_before(&cut.skeleton[..at]),
            _ => None,
        };
        out.extend_from_slice(&cut.skeleton[from..sign.unwrap_or(at)]);
        if mark == LITERAL {
            number += 1;
            out.extend_from_slice(format!("?{number}").as_bytes());
        }
        from = at + 1;
    }
    out.extend_from_slice(&cut.skeleton[from..]);
    String::from_utf8_lossy(&out).trim().to_owned()
}

/// A rule for a proxy that rewrites statements by a regular expression: `match_pattern` and `replace_pattern` of ProxySQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyRule {
    /// Matches the captured statement with any literals; each literal is a group.
    pub pattern: String,
    /// What takes its place; `\1` is the first literal.
    pub replacement: String,
}

/// The highest number that a replacement can refer to.
const MAX_GROUP: usize = 9;
/// A literal as a client may write it: quoted, with or without what says its character set or type, or a number, with its sign.
const LITERAL_PATTERN: &str =
    r#"(?:\w*\s*'(?:[^'\\]|\\.|'')*'|\w*\s*"(?:[^"\\]|\\.|"")*"|[-+]?[\w.]+)"#;
/// Comments are matched whatever they say.
const COMMENT_PATTERN: &str = r"\s*(?:/\*.*?\*/)?\s*";

/// The rule that sends `statement` in place of statements such as the captured one; none where a proxy cannot refer to a literal.
pub fn proxy_rule(captured: &[u8], statement: &str) -> Option<ProxyRule> {
    let mut replacement = String::new();
    for piece in pieces(statement) {
        match piece {
            Piece::Text(text) => {
                replacement += &String::from_utf8_lossy(text).replace('\\', r"\\");
            }
            Piece::Literal(number) if number <= MAX_GROUP => {
                replacement += &format!(r"\{number}");
            }
            Piece::Literal(_) => return None,
        }
    }
    let mut cut = Cut::default();
    cut.read(captured, SqlMode::default());
    let skeleton = cut.skeleton.as_slice();
    let mut pattern = String::from("^\\s*");
    let mut from = 0;
    for (at, mark) in marks(skeleton) {
        let sign = match mark {
            LITERAL => sign_before(&skeleton[..at]),
            _ => None,
        };
        pattern += &escaped(&skeleton[from..sign.unwrap_or(at)]);
        let in_parentheses = skeleton[..at].trim_ascii_end().ends_with(b"(")
            && skeleton[at + 1..].trim_ascii_start().starts_with(b")");
        pattern += &match (mark, in_parentheses) {
            (LITERAL, false) => format!("({LITERAL_PATTERN})"),
            (LITERAL, true) => format!(r"({LITERAL_PATTERN}(?:\s*,\s*{LITERAL_PATTERN})*)"),
            _ => COMMENT_PATTERN.to_owned(),
        };
        from = at + 1;
    }
    pattern += &escaped(skeleton[from..].trim_ascii_end());
    pattern += "\\s*;?\\s*$";
    Some(ProxyRule {
        pattern,
        replacement,
    })
}

/// A part of a statement as a regular expression that takes any white space.
fn escaped(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let mut out = String::new();
    let mut is_space = false;
    for c in text.trim_end_matches(';').chars() {
        if c.is_ascii_whitespace() {
            if !is_space {
                out += r"\s+";
            }
            is_space = true;
            continue;
        }
        is_space = false;
        if r"\.+*?()|[]{}^$".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(captured: &str, statement: &str) -> Result<String, usize> {
        let literals = literals_of(captured.as_bytes(), &mut Cut::default());
        filled(&pieces(statement), &literals)
            .map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn literals_take_the_place_of_their_numbers() {
        let captured = "SELECT a FROM t WHERE b = -5 AND c IN (1, 2, 3) AND d = 'it''s' LIMIT 10";
        for (statement, expected) in [
            (
                "SELECT a FROM t FORCE INDEX (x) WHERE c IN (?2) AND b = ?1 LIMIT ?4;",
                "SELECT a FROM t FORCE INDEX (x) WHERE c IN (1, 2, 3) AND b = -5 LIMIT 10",
            ),
            ("SELECT ?3, '?1', ?", "SELECT 'it''s', '?1', ?"),
            ("SELECT `?1`, \"\\\"?2\", ?1", "SELECT `?1`, \"\\\"?2\", -5"),
        ] {
            assert_eq!(rewritten(captured, statement).as_deref(), Ok(expected));
        }
        assert_eq!(rewritten(captured, "SELECT ?5"), Err(5));
        assert_eq!(rewritten(captured, "SELECT ?0"), Err(0));
    }

    #[test]
    fn a_proxy_refers_to_literals_by_groups() {
        let captured = b"SELECT a.b FROM t WHERE c = -5 AND d IN (1, 2) AND e = 'x' LIMIT 10;";
        let rule = proxy_rule(
            captured,
            "SELECT a.b FROM t FORCE INDEX (i) WHERE e = ?3 AND c = ?1 AND d IN (?2) LIMIT ?4",
        )
        .expect("a rule");
        assert!(
            rule.pattern
                .starts_with(r"^\s*SELECT\s+a\.b\s+FROM\s+t\s+WHERE\s+c\s+=\s+("),
            "{}",
            rule.pattern
        );
        assert!(rule.pattern.ends_with(r"\s*;?\s*$"));
        assert_eq!(
            rule.replacement,
            r"SELECT a.b FROM t FORCE INDEX (i) WHERE e = \3 AND c = \1 AND d IN (\2) LIMIT \4"
        );
        assert_eq!(proxy_rule(captured, "SELECT ?10"), None);
    }

    #[test]
    fn a_proxys_rule_finds_the_statement_that_it_was_made_of() {
        for captured in [
            "SELECT a FROM t WHERE b = -5 AND c IN (1, 2, 3) AND d = 'it''s' LIMIT 10",
            "SELECT a FROM t WHERE b = DATE '2026-01-01' AND c = _binary 'x' AND d = _utf8mb4\"y\"",
        ] {
            let rule = proxy_rule(captured.as_bytes(), "SELECT ?1").expect("a rule");
            let pattern = regex::Regex::new(&rule.pattern).expect("a pattern");
            assert!(pattern.is_match(captured), "{captured}: {}", rule.pattern);
        }
    }

    #[test]
    fn numbered_text_is_the_statement_itself() {
        for captured in [
            "SELECT a FROM t WHERE b = -5 AND c IN (1, 2, 3) /* x */ AND d = 'it''s' LIMIT 10",
            "INSERT INTO t (a, b) VALUES (1, 'x'), (2, 'y')",
            "SELECT a - 1, b FROM t WHERE c BETWEEN -2 AND +3",
        ] {
            let statement = numbered(captured.as_bytes());
            assert!(!statement.contains("it''s"), "{statement}");
            let back = rewritten(captured, &statement).expect("all numbers");
            assert_eq!(back, captured.replace("/* x */", ""));
        }
        assert_eq!(
            numbered(b"SELECT a FROM t WHERE b = -5 AND c IN (1, 2)"),
            "SELECT a FROM t WHERE b = ?1 AND c IN (?2)"
        );
    }
}
