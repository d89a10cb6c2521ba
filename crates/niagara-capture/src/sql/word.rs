//! What a statement changes in its session.

use super::byte::{is_dash_comment, is_executable, is_space, is_word};
use super::class::Class;
use super::mode::{SqlMode, UNKNOWN, WHAT_IT_WAS};
use super::scan::end_of_quotes;

/// A change of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The database in use.
    Database(Vec<u8>),
    /// `sql_mode`, as a list of modes: `@@SQL_MODE` in it is what it was, `?` what cannot be known.
    SqlMode(Vec<u8>),
    /// The character set of what the client sends.
    CharacterSet(Vec<u8>),
    /// Whether every statement is a transaction of its own.
    Autocommit(bool),
}

/// What a statement of this class changes, told from its text.
pub fn effect_of(class: Class, text: &[u8]) -> Vec<Effect> {
    match class {
        Class::Use => database(text).map(Effect::Database).into_iter().collect(),
        Class::Set => set(text),
        _ => Vec::new(),
    }
}

/// The tokens of a statement without its comments: words, what is in quotes, bytes of anything else.
#[derive(Clone)]
struct Tokens<'t> {
    text: &'t [u8],
    at: usize,
}

impl<'t> Tokens<'t> {
    fn of(text: &'t [u8]) -> Tokens<'t> {
        Tokens { text, at: 0 }
    }

    fn next_if(&mut self, is_wanted: impl Fn(&[u8]) -> bool) -> Option<&'t [u8]> {
        let mut ahead = self.clone();
        let token = ahead.next().filter(|token| is_wanted(token))?;
        *self = ahead;
        Some(token)
    }

    fn next_is(&mut self, word: &[u8]) -> bool {
        self.next_if(|token| token.eq_ignore_ascii_case(word))
            .is_some()
    }

    /// The next name or string, without its quotes.
    fn value(&mut self) -> Option<Vec<u8>> {
        self.next_if(is_value).map(plain)
    }

    /// What comes before the next comma or semicolon outside of parentheses.
    fn expression(&mut self) -> Tokens<'t> {
        let start = self.at;
        let mut depth = 0_u32;
        while let Some(token) = self.next_if(|token| depth > 0 || !matches!(token, b"," | b";")) {
            match token {
                b"(" => depth += 1,
                b")" => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        Tokens::of(&self.text[start..self.at])
    }

    /// The name or the string that this is as a whole.
    fn single(mut self) -> Option<Vec<u8>> {
        let value = self.value();
        value.filter(|_| self.next().is_none())
    }
}

impl<'t> Iterator for Tokens<'t> {
    type Item = &'t [u8];

    fn next(&mut self) -> Option<&'t [u8]> {
        loop {
            let rest = &self.text[self.at..];
            self.at += match rest {
                [byte, ..] if is_space(*byte) => 1,
                [b'#', ..] => line(rest),
                [b'-', ..] if is_dash_comment(rest, 0) => line(rest),
                // What is in it is executed.
                [b'/', b'*', ..] if is_executable(rest, 0) => {
                    let marks = |b: &&u8| matches!(b, b'!' | b'M' | b'0'..=b'9');
                    2 + rest[2..].iter().take_while(marks).count()
                }
                [b'*', b'/', ..] => 2,
                [b'/', b'*', inside @ ..] => {
                    memchr::memmem::find(inside, b"*/").map_or(rest.len(), |end| end + 4)
                }
                [first, ..] => {
                    let length = match first {
                        b'\'' | b'"' | b'`' => end_of_quotes(rest, 0, SqlMode::default()),
                        b'@' => rest.iter().take_while(|&&b| b == b'@').count(),
                        _ => rest.iter().take_while(|&&b| is_word(b)).count().max(1),
                    };
                    self.at += length;
                    return Some(&rest[..length]);
                }
                [] => return None,
            };
        }
    }
}

/// How long a line is.
fn line(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}

/// Whether a token is a name or a string.
fn is_value(token: &[u8]) -> bool {
    is_word(token[0]) || is_quote(token[0])
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'`')
}

/// A name or a string without its quotes.
fn plain(token: &[u8]) -> Vec<u8> {
    let [quote, inside @ .., last] = token else {
        return token.to_vec();
    };
    if !is_quote(*quote) || quote != last {
        return token.to_vec();
    }
    let mut plain = Vec::with_capacity(inside.len());
    let mut rest = inside.iter();
    while let Some(byte) = rest.next() {
        plain.push(*byte);
        if byte == quote {
            // It is doubled.
            rest.next();
        }
    }
    plain
}

fn database(text: &[u8]) -> Option<Vec<u8>> {
    let mut tokens = Tokens::of(text);
    tokens.find(|token| token.eq_ignore_ascii_case(b"use"))?;
    tokens.value()
}

fn set(text: &[u8]) -> Vec<Effect> {
    // Long assignments are values of the application's own variables.
    let mut tokens = Tokens::of(&text[..text.len().min(2000)]);
    let mut effects = Vec::new();
    // SET STATEMENT changes nothing that lasts.
    while tokens.next_is(b"set") && !tokens.next_is(b"statement") {
        // A scope holds for the assignments behind it, too.
        let mut is_own = true;
        loop {
            effects.extend(assignment(&mut tokens, &mut is_own));
            tokens.expression();
            if !tokens.next_is(b",") {
                break;
            }
        }
        while tokens.next_is(b";") {}
    }
    effects
}

/// What an assignment changes. `is_own`: a variable without `@@` is one of the session.
fn assignment(tokens: &mut Tokens<'_>, is_own: &mut bool) -> Option<Effect> {
    let is_character = tokens.next_is(b"character");
    if (is_character && tokens.next_is(b"set"))
        || tokens.next_is(b"names")
        || tokens.next_is(b"charset")
    {
        return tokens.value().map(Effect::CharacterSet);
    }
    let is_of_session = if tokens.next_is(b"@@") {
        let is_of_session = scope(tokens).unwrap_or(true);
        tokens.next_is(b".");
        is_of_session
    } else {
        *is_own = scope(tokens).unwrap_or(*is_own);
        *is_own
    };
    // None behind `@`: a variable of the user's.
    let name = tokens.value()?;
    tokens.next_is(b":");
    if !tokens.next_is(b"=") || !is_of_session {
        return None;
    }
    let value = tokens.expression();
    match name.to_ascii_lowercase().as_slice() {
        b"sql_mode" => Some(Effect::SqlMode(modes(value))),
        b"autocommit" => is_on(&value.single()?).map(Effect::Autocommit),
        b"character_set_client" => value.single().map(Effect::CharacterSet),
        _ => None,
    }
}

/// Whether the variable that follows is the session's; none where nothing says it.
fn scope(tokens: &mut Tokens<'_>) -> Option<bool> {
    let mut is_any = |words: &[&[u8]]| words.iter().any(|word| tokens.next_is(word));
    let is_of_session = is_any(&[b"session", b"local"]);
    let is_said = is_of_session || is_any(&[b"global", b"persist", b"persist_only"]);
    is_said.then_some(is_of_session)
}

/// Whether a switch is on, where that can be told.
fn is_on(value: &[u8]) -> Option<bool> {
    match value.to_ascii_lowercase().as_slice() {
        b"0" | b"off" | b"false" => Some(false),
        b"1" | b"on" | b"true" | b"default" => Some(true),
        _ => None,
    }
}

/// The list of modes that a value is: a list as it is written, or strings that CONCAT adds to what was set.
fn modes(value: Tokens<'_>) -> Vec<u8> {
    if let Some(list) = value.clone().single()
        && !list.eq_ignore_ascii_case(b"default")
    {
        return list;
    }
    let mut list = Vec::new();
    for token in value {
        match token.to_ascii_lowercase().as_slice() {
            [b'\'' | b'"', ..] => list.extend(plain(token)),
            b"sql_mode" => list.extend_from_slice(WHAT_IT_WAS),
            b"(" | b")" | b"," | b"." | b"@@" | b"session" | b"local" => continue,
            b"select" | b"concat" | b"concat_ws" => continue,
            _ => return UNKNOWN.to_vec(),
        }
        list.push(b',');
    }
    match list.is_empty() {
        true => UNKNOWN.to_vec(),
        false => list,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_told_from_the_text() {
        let set = |text: &str| effect_of(Class::Set, text.as_bytes());
        assert_eq!(
            set("SET SESSION sql_mode='ANSI_QUOTES,STRICT_ALL_TABLES'"),
            [Effect::SqlMode(b"ANSI_QUOTES,STRICT_ALL_TABLES".to_vec())]
        );
        assert_eq!(
            set("set @@session.sql_mode := \"\""),
            [Effect::SqlMode(Vec::new())]
        );
        assert_eq!(set("set autocommit=0"), [Effect::Autocommit(false)]);
        assert_eq!(set("SET AUTOCOMMIT = ON"), [Effect::Autocommit(true)]);
        assert_eq!(
            set("set names gbk"),
            [Effect::CharacterSet(b"gbk".to_vec())]
        );
        assert_eq!(
            set("set names 'utf8mb4' collate x"),
            [Effect::CharacterSet(b"utf8mb4".to_vec())]
        );
        assert_eq!(
            set("set character set latin1"),
            [Effect::CharacterSet(b"latin1".to_vec())]
        );
        assert_eq!(
            set("SET @@local.character_set_client = 'gbk', NAMES DEFAULT"),
            [
                Effect::CharacterSet(b"gbk".to_vec()),
                Effect::CharacterSet(b"DEFAULT".to_vec())
            ]
        );
        assert_eq!(
            set("SET @OLD_AUTOCOMMIT=@@AUTOCOMMIT, AUTOCOMMIT=0; SET autocommit=1;"),
            [Effect::Autocommit(false), Effect::Autocommit(true)]
        );
        for text in [
            "set @x=1",
            "set autocommit=@old",
            "set character_set_client = @saved_cs_client",
            "set @autocommit=0, session wait_timeout = 5",
            "set @a='autocommit=0', @b=(select 1, sql_mode=1)",
            "/* set autocommit=0 */ set @a=1 -- , autocommit=0",
            "set session wait_timeout = 5, global autocommit = 0",
            "set @@global.autocommit = 0",
            "set statement autocommit = 0 for set @a = 1",
        ] {
            assert_eq!(set(text), [], "{text}");
        }
        assert_eq!(set("set"), []);
        for (text, name) in [
            ("use other", "other"),
            ("USE `a b;c`", "a b;c"),
            ("/* x */ use\nt1", "t1"),
            ("/* use the index */ use b", "b"),
            ("-- use c\n# use d\nuse /* e */ b;", "b"),
            ("/*!50000 use b */", "b"),
            ("use `a``b`", "a`b"),
        ] {
            assert_eq!(
                effect_of(Class::Use, text.as_bytes()),
                [Effect::Database(name.as_bytes().to_vec())]
            );
        }
    }
    #[test]
    fn modes_are_told_from_the_text() {
        for (text, list) in [
            ("set sql_mode=''", ""),
            ("set sql_mode=ansi_quotes", "ansi_quotes"),
            ("SET `sql_mode` = 4", "4"),
            (
                "SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='ANSI_QUOTES'",
                "ANSI_QUOTES",
            ),
            (
                "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;",
                "NO_AUTO_VALUE_ON_ZERO",
            ),
            ("set @@local.sql_mode /* sql_mode='' */ = 'ansi'", "ansi"),
            (
                "SET sql_mode=CONCAT(@@sql_mode,',ANSI_QUOTES')",
                "@@SQL_MODE,,ANSI_QUOTES,",
            ),
            (
                "set session sql_mode=(select concat_ws(',', 'ansi', @@session.sql_mode)), @a=1",
                ",,ansi,@@SQL_MODE,",
            ),
            ("set sql_mode=@@local.sql_mode", "@@SQL_MODE,"),
            // What cannot be told.
            ("SET sql_mode=@saved_sql_mode", "?"),
            ("SET SQL_MODE = DEFAULT", "?"),
            ("SET sql_mode=@@global.sql_mode", "?"),
            ("SET sql_mode=concat(@@sql_mode, @more)", "?"),
            (
                "SET sql_mode=(select replace(@@sql_mode,'ANSI_QUOTES',''))",
                "?",
            ),
            ("SET sql_mode=?", "?"),
            ("SET sql_mode=", "?"),
        ] {
            assert_eq!(
                effect_of(Class::Set, text.as_bytes()),
                [Effect::SqlMode(list.as_bytes().to_vec())],
                "{text}"
            );
        }
        for text in [
            "set @sql_mode='ANSI_QUOTES'",
            "set global sql_mode='ANSI_QUOTES', sql_mode='ANSI'",
            "set persist_only sql_mode='ANSI_QUOTES'",
            "set @@persist.sql_mode='ANSI_QUOTES'",
            "set statement sql_mode='ANSI_QUOTES' for set @a=1",
        ] {
            assert_eq!(effect_of(Class::Set, text.as_bytes()), [], "{text}");
        }
    }
}
