//! What a statement changes in its session.

use super::byte::{is_space, is_word};
use super::class::Class;

/// A change of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// The database in use.
    Database(Vec<u8>),
    /// `sql_mode`, as a list of modes.
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

/// A name or a string at the beginning of `text` without its quotes, and what follows it.
fn value(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let text = text.trim_ascii_start();
    match *text.first()? {
        quote @ (b'\'' | b'"' | b'`') => {
            let length = memchr::memchr(quote, &text[1..])?;
            Some((text[1..=length].to_vec(), &text[length + 2..]))
        }
        _ => {
            let length = text
                .iter()
                .position(|&b| !is_word(b) && b != b'.' && b != b'-')
                .unwrap_or(text.len());
            (length > 0).then(|| (text[..length].to_vec(), &text[length..]))
        }
    }
}

fn database(text: &[u8]) -> Option<Vec<u8>> {
    let at = find_word(text, b"use")?;
    value(&text[at + 3..]).map(|(name, _)| name)
}

fn find_word(text: &[u8], word: &[u8]) -> Option<usize> {
    (0..text.len().saturating_sub(word.len() - 1)).find(|&at| {
        text[at..at + word.len()].eq_ignore_ascii_case(word)
            && (at == 0 || !is_word(text[at - 1]))
            && text.get(at + word.len()).is_none_or(|&b| !is_word(b))
    })
}

/// What comes after `name` and an equal sign.
fn assigned(text: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    let at = find_word(text, name)?;
    let rest = text[at + name.len()..].trim_ascii_start();
    let rest = rest.strip_prefix(b":").unwrap_or(rest);
    let rest = rest.strip_prefix(b"=")?;
    value(rest).map(|(value, _)| value)
}

fn set(text: &[u8]) -> Vec<Effect> {
    // Long assignments are values of the application's own variables.
    let text = &text[..text.len().min(2000)];
    let mut effects = Vec::new();
    if let Some(list) = assigned(text, b"sql_mode") {
        effects.push(Effect::SqlMode(list));
    }
    if let Some(value) = assigned(text, b"autocommit") {
        let off = matches!(
            value.to_ascii_lowercase().as_slice(),
            b"0" | b"off" | b"false"
        );
        effects.push(Effect::Autocommit(!off));
    }
    if let Some(set) = character_set(text) {
        effects.push(Effect::CharacterSet(set));
    }
    effects
}

fn character_set(text: &[u8]) -> Option<Vec<u8>> {
    if let Some(set) = assigned(text, b"character_set_client") {
        return Some(set);
    }
    let rest = text.trim_ascii_start().get(3..)?;
    let mut rest = rest.trim_ascii_start();
    for word in [&b"names"[..], b"character", b"charset"] {
        if rest.len() > word.len()
            && rest[..word.len()].eq_ignore_ascii_case(word)
            && is_space(rest[word.len()])
        {
            rest = rest[word.len()..].trim_ascii_start();
            if word == b"character" {
                rest = rest.get(3..)?;
            }
            return value(rest).map(|(name, _)| name);
        }
    }
    None
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
        assert_eq!(set("set @x=1"), []);
        assert_eq!(set("set"), []);
        for (text, name) in [
            ("use other", "other"),
            ("USE `a b;c`", "a b;c"),
            ("/* x */ use\nt1", "t1"),
        ] {
            assert_eq!(
                effect_of(Class::Use, text.as_bytes()),
                [Effect::Database(name.as_bytes().to_vec())]
            );
        }
    }
}
