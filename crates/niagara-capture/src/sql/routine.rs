//! Statements that only a stored routine or a trigger can have executed.

use super::byte::is_word;

/// What shows that a statement is one of a routine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoutineMark {
    /// Nothing does.
    #[default]
    None,
    /// The server has put values into the place of the routine's variables (`NAME_CONST`): it can be executed anywhere.
    Values,
    /// It has variables that exist only there: `NEW.a` of a trigger, `SELECT … INTO a`.
    Variables,
}

/// Words before the name of a database or a table.
const BEFORE_NAMES: [&[u8]; 9] = [
    b"from",
    b"join",
    b"into",
    b"update",
    b"table",
    b"tables",
    b"describe",
    b"desc",
    b"use",
];

impl RoutineMark {
    /// Of a digest's text.
    pub fn of(digest: &[u8]) -> RoutineMark {
        let has = |text: &[u8]| memchr::memmem::find(digest, text).is_some();
        let may_be_row = (has(b"new.") && is_row_of_trigger(digest, b"new"))
            || (has(b"old.") && is_row_of_trigger(digest, b"old"));
        if may_be_row || has(b" into ") && selects_into_variable(digest) {
            RoutineMark::Variables
        } else if has(b"name_const(") || has(b"name_const (") {
            RoutineMark::Values
        } else {
            RoutineMark::None
        }
    }
}

/// The places of a word in a text.
fn places<'a>(text: &'a [u8], word: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    memchr::memmem::find_iter(text, word).filter(move |&at| {
        let before = at.checked_sub(1).map(|before| text[before]);
        let after = text.get(at + word.len());
        before.is_none_or(|b| !is_word(b)) && after.is_none_or(|&b| !is_word(b))
    })
}

/// The last word before a place.
fn word_before(text: &[u8], at: usize) -> &[u8] {
    let head = text[..at].trim_ascii_end();
    let length = head.iter().rev().take_while(|&&b| is_word(b)).count();
    &head[head.len() - length..]
}

/// Whether `name` is the row that a trigger is about: it has columns, and is no table, alias or database here.
fn is_row_of_trigger(digest: &[u8], name: &[u8]) -> bool {
    // The definition of a trigger has it too, and is sent by a client.
    if super::digest_has_body(digest) {
        return false;
    }
    let mut is_row = false;
    for at in places(digest, name) {
        let is_quoted = at > 0 && matches!(digest[at - 1], b'`' | b'.' | b'@');
        let rest = &digest[at + name.len()..];
        if is_quoted || rest.first() != Some(&b'.') {
            return false;
        }
        if BEFORE_NAMES.contains(&word_before(digest, at)) {
            return false;
        }
        let column = rest[1..]
            .iter()
            .take_while(|&&b| is_word(b) || b == b'`')
            .count();
        if rest.get(1 + column) == Some(&b'.') {
            return false;
        }
        is_row = true;
    }
    is_row
}

/// `SELECT … INTO a`: into a variable that a routine has declared.
fn selects_into_variable(digest: &[u8]) -> bool {
    if !(digest.starts_with(b"select ") || digest.starts_with(b"with ")) {
        return false;
    }
    places(digest, b"into").any(|at| {
        let rest = digest[at + 4..].trim_ascii_start();
        let word = rest.split(|&b| !is_word(b)).next().unwrap_or_default();
        let is_name = rest.first().is_some_and(|&b| b == b'`' || is_word(b));
        is_name
            && !matches!(word, b"outfile" | b"dumpfile")
            && word_before(digest, at) != b"insert"
            && word_before(digest, at) != b"replace"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_routines_show_it() {
        for (digest, mark) in [
            (
                "insert into audit values(concat(?,new.id))",
                RoutineMark::Variables,
            ),
            (
                "update t set a = old.a where id = old.id",
                RoutineMark::Variables,
            ),
            (
                "select sum(a) into n from t where c = name_const(?,?)",
                RoutineMark::Variables,
            ),
            ("select a,b into x,y from t", RoutineMark::Variables),
            ("insert into t values(name_const(?,?))", RoutineMark::Values),
            ("select a into @n from t", RoutineMark::None),
            ("select a into outfile ? from t", RoutineMark::None),
            ("select * from old.orders", RoutineMark::None),
            ("select new.id from t as new", RoutineMark::None),
            (
                "select t.a from t join new.orders o on o.a = t.a",
                RoutineMark::None,
            ),
            (
                "insert into t values(...) as new on duplicate key update a = new.a",
                RoutineMark::None,
            ),
            ("select a.new.x, b from a", RoutineMark::None),
            ("insert into t select a from new", RoutineMark::None),
            (
                "create trigger x before insert on t for each row set new.a = ?",
                RoutineMark::None,
            ),
            ("select ?", RoutineMark::None),
        ] {
            assert_eq!(RoutineMark::of(digest.as_bytes()), mark, "{digest}");
        }
    }
}
