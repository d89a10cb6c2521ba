//! Passwords in the text of a statement, wherever in it they stand: in code, strings and comments.
//!
//! Every statement is looked through, so the first look is one of three letters in a row that hardly any text has. What it
//! finds is read as far as it takes to tell an account's password from a column of that name.

use super::byte::{is_space, is_word};

/// How far back the statement is read that a password belongs to, in bytes.
const MAX_BEFORE: usize = 2000;
/// How far ahead, in bytes.
const MAX_AFTER: usize = 400;
/// Places that are looked at at a time, and the bytes that takes.
const STEP: usize = 64;
const WINDOW: usize = STEP + 2;

/// Words of statements that change rows: what they set is a column.
const ROWS: [&[u8]; 6] = [
    b"update",
    b"insert",
    b"replace",
    b"into",
    b"duplicate",
    b"delete",
];
/// Words of statements that reach other servers: what they set is a password.
const SERVERS: [&[u8]; 9] = [
    b"server",
    b"slave",
    b"replica",
    b"master",
    b"source",
    b"group_replication",
    // Of storage engines that reach other servers: CONNECT, Spider.
    b"option_list",
    b"connection",
    b"wrapper",
];
/// Words before options in a string, whose values need no quotes: of CONNECT.
const OPTIONS: [&[u8]; 1] = [b"option_list"];
/// Words of statements about accounts.
const ACCOUNTS: [&[u8]; 4] = [b"user", b"grant", b"role", b"instance"];

/// Whether `text` has a password. `carries`: it may carry another statement in its strings, or parts of one.
pub(super) fn reveals(text: &[u8], carries: bool) -> bool {
    let mut start = 0;
    while let Some(window) = text[start..].first_chunk() {
        if has_any(window) && (start..start + STEP).any(|place| is_one(text, place, carries)) {
            return true;
        }
        start += STEP;
    }
    // The rest, filled up with what is nothing.
    let rest = &text[start..];
    let mut window = [0; WINDOW];
    window[..rest.len()].copy_from_slice(rest);
    has_any(&window) && (start..text.len()).any(|place| is_one(text, place, carries))
}

/// Whether `ssw` or `tif` begin at any place of a window but its last two, in any case of letters: the middles of "password"
/// and "identified". Without a branch, so that many places are looked at at once.
fn has_any(window: &[u8; WINDOW]) -> bool {
    let mut found = 0;
    for place in 0..STEP {
        // Letters in lower case; of what is none, nothing that is looked for.
        let one = window[place] | 0x20;
        let two = window[place + 1] | 0x20;
        let three = window[place + 2] | 0x20;
        let password = (one ^ b's') | (two ^ b's') | (three ^ b'w');
        let identified = (one ^ b't') | (two ^ b'i') | (three ^ b'f');
        found |= u8::from(password == 0) | u8::from(identified == 0);
    }
    found != 0
}

/// Whether one of the words at `place` stands before a password.
fn is_one(text: &[u8], place: usize, carries: bool) -> bool {
    is_middle(text, place)
        && is_password(text, place, carries)
            .or_else(|| is_identified(text, place, carries))
            .unwrap_or(false)
}

fn is_middle(text: &[u8], place: usize) -> bool {
    let three = text.get(place..place + 3).unwrap_or_default();
    three.eq_ignore_ascii_case(b"ssw") || three.eq_ignore_ascii_case(b"tif")
}

/// `word` whose letters from `offset` on are at `place`: what is before it and what is behind it.
fn around<'t>(
    text: &'t [u8],
    place: usize,
    word: &[u8],
    offset: usize,
) -> Option<(&'t [u8], &'t [u8])> {
    let start = place.checked_sub(offset)?;
    let here = text.get(start..start + word.len())?;
    let behind = &text[start + word.len()..];
    let before = &text[..start];
    (here.eq_ignore_ascii_case(word) && !behind.first().is_some_and(|&byte| is_word(byte)))
        .then_some((before, &behind[..behind.len().min(MAX_AFTER)]))
}

/// Whether "password" at `place` stands before one; none: another word.
fn is_password(text: &[u8], place: usize, carries: bool) -> Option<bool> {
    let (before, behind) = around(text, place, b"password", 2)?;
    let name_start = before
        .iter()
        .rposition(|&byte| !is_word(byte))
        .map_or(0, |at| at + 1);
    let prefix = &before[name_start..];
    let next = skip_filler(behind);
    let value = next.strip_prefix(b"=").map(skip_filler);
    let has_value = value.is_some_and(begins_string);
    // MASTER_PASSWORD, SOURCE_PASSWORD.
    if prefix.eq_ignore_ascii_case(b"master_") || prefix.eq_ignore_ascii_case(b"source_") {
        return Some(carries || has_value);
    }
    let is_function = prefix.is_empty() || prefix.eq_ignore_ascii_case(b"old_");
    if is_function && let Some(inside) = next.strip_prefix(b"(") {
        return Some(carries || begins_string(skip_filler(inside)));
    }
    if !prefix.is_empty() {
        return Some(false);
    }
    let statement = statement_before(before);
    if let Some(rest) = without_word(statement, b"set") {
        let is_column = has_word(rest, &ROWS);
        let is_set = value.is_some() || begins_word(next, &[b"for", b"to"]);
        return Some(is_set && !is_column);
    }
    let before = tail(before);
    let is_option = value.is_some_and(|value| !begins_end(value)) && has_word(before, &OPTIONS);
    let reaches = has_word(before, &SERVERS);
    Some(((has_value || begins_string(next)) && reaches) || is_option)
}

/// Whether "identified" at `place` stands before a password, or a hash of one; none: another word.
fn is_identified(text: &[u8], place: usize, carries: bool) -> Option<bool> {
    let (before, behind) = around(text, place, b"identified", 4)?;
    let next = skip_filler(behind);
    if next.len() == behind.len() || !begins_word(next, &[b"by", b"as", b"with", b"via"]) {
        return Some(false);
    }
    let has_string = memchr::memchr2(b'\'', b'"', next).is_some();
    Some(carries || (has_string && has_word(tail(before), &ACCOUNTS)))
}

/// What is left behind white space, escapes for it, and comments.
fn skip_filler(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [byte, rest @ ..] if is_space(*byte) => rest,
            [b'\\', b'n' | b'r' | b't', rest @ ..] => rest,
            [b'/', b'*', rest @ ..] => match memchr::memmem::find(rest, b"*/") {
                Some(end) => &rest[end + 2..],
                None => return &[],
            },
            _ => return text,
        };
    }
}

/// Whether a string begins here, within another one perhaps.
fn begins_string(text: &[u8]) -> bool {
    let escapes = text.iter().take_while(|&&byte| byte == b'\\').count();
    matches!(text.get(escapes), Some(b'\'' | b'"'))
}

/// Whether options in a string end here, or one of them does.
fn begins_end(text: &[u8]) -> bool {
    matches!(text.first(), None | Some(b',' | b'\'' | b'"'))
}

fn begins_word(text: &[u8], words: &[&[u8]]) -> bool {
    let length = text
        .iter()
        .position(|&byte| !is_word(byte))
        .unwrap_or(text.len());
    words
        .iter()
        .any(|word| text[..length].eq_ignore_ascii_case(word))
}

fn has_word(text: &[u8], words: &[&[u8]]) -> bool {
    text.split(|&byte| !is_word(byte))
        .any(|word| words.iter().any(|wanted| word.eq_ignore_ascii_case(wanted)))
}

fn tail(text: &[u8]) -> &[u8] {
    &text[text.len().saturating_sub(MAX_BEFORE)..]
}

/// `text` without this word at its end, and filler around it; none where it ends otherwise.
fn without_word<'t>(text: &'t [u8], word: &[u8]) -> Option<&'t [u8]> {
    let text = trim_filler_end(text);
    let start = text.len().checked_sub(word.len())?;
    let is_word_there = text[start..].eq_ignore_ascii_case(word)
        && !text[..start].last().is_some_and(|&byte| is_word(byte));
    is_word_there.then(|| &text[..start])
}

fn trim_filler_end(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [rest @ .., byte] if is_space(*byte) => rest,
            [rest @ .., b'\\', b'n' | b'r' | b't'] => rest,
            [rest @ .., b'*', b'/'] => match memchr::memmem::rfind(rest, b"/*") {
                Some(start) => &rest[..start],
                None => return text,
            },
            _ => return text,
        };
    }
}

/// The statement that `text` ends in the middle of, as far as it can be told without its beginning: it begins behind a
/// semicolon, in a string, or in a comment.
fn statement_before(text: &[u8]) -> &[u8] {
    let text = tail(text);
    let mut end = text.len();
    while let Some(at) = text[..end]
        .iter()
        .rposition(|byte| matches!(byte, b';' | b'\'' | b'"' | b'*' | b'#' | b'-'))
    {
        let is_start = match text[at] {
            b'*' if text.get(at + 1) == Some(&b'/') => {
                // A whole comment.
                end = memchr::memmem::rfind(&text[..at], b"/*").unwrap_or(0);
                continue;
            }
            b'*' => at > 0 && text[at - 1] == b'/' && text.get(at + 1) != Some(&b'!'),
            b'#' | b'-' => {
                let begins = text[at] == b'#' || text[..at].ends_with(b"-");
                begins && memchr::memchr(b'\n', &text[at..]).is_none()
            }
            _ => true,
        };
        if is_start {
            return &text[at + 1..];
        }
        end = at;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_wherever_they_stand() {
        for text in [
            // Several statements in one.
            "SELECT 1; SET PASSWORD = 'x'",
            "select 1;set/**/password for joe@localhost='x'",
            "SET STATEMENT max_statement_time=1 FOR SET PASSWORD = 'x'",
            "begin not atomic set  password\n= 'x'; end",
            "create procedure p() begin update t set a=1; set password for joe = 'x'; end",
            "create procedure p() set password = 'x'",
            "create event e on schedule every 1 day do alter user joe identified  by 'x'",
            // Comments.
            "SELECT 1 /* ALTER USER joe IDENTIFIED BY 'x' */",
            "update t set a=1 /* SET PASSWORD = 'x' */",
            "update t set a=1 -- SET PASSWORD = 'x'",
            "# change master to master_password='x'\nselect 1",
            // Strings.
            "insert into history values ('SET PASSWORD = ''x''')",
            r"insert into history values ('GRANT ALL ON *.* TO joe IDENTIFIED BY \'x\'')",
            "insert into history values ('change master to master_password = ''x''')",
            "insert into history values ('select PASSWORD(''x'')')",
            "insert into h values ('CREATE SERVER s OPTIONS (USER ''u'', PASSWORD ''x'')')",
            "insert into h values ('START REPLICA USER=''u'' PASSWORD=''x''')",
            // What other servers are reached by.
            "create table t (a int) engine=connect option_list='user=u,password=\"x\"'",
            "create table t (a int) engine=connect option_list='user=u,password=Tiger42,host=h'",
            "alter table t option_list='Password = Tiger42'",
            "insert into h values ('alter table t option_list=''password=x,user=u''')",
            "create table t (a int) engine=spider comment='wrapper \"mysql\", password \"x\"'",
        ] {
            assert!(reveals(text.as_bytes(), false), "{text}");
            assert!(reveals(text.to_uppercase().as_bytes(), false), "{text}");
            assert!(reveals(text.to_lowercase().as_bytes(), false), "{text}");
        }
        // White space as strings write it.
        let escaped = r#"insert into history values ('create user joe identified\nby "x"')"#;
        assert!(reveals(escaped.as_bytes(), false));
        // Parts of statements.
        for text in [
            "set @q = concat('alter user joe identified by ', quote(@p))",
            "set @q = concat('set password for joe = ', quote(@p))",
            "set @q = concat('change master to master_password=', quote(@p))",
            "set @q = 'select password(?)'",
        ] {
            assert!(reveals(text.as_bytes(), true), "{text}");
        }
    }

    #[test]
    fn columns_of_that_name_are_none() {
        for text in [
            "update users set password='x' where id=1",
            "UPDATE `users` SET `password`='x', password = 'y'",
            "update users /* trace */ set password='x'",
            "/* trace */ update users set password='x'",
            "update users set name='a', password='x'",
            "insert into users set password='x'",
            "insert into users (id, password) values (1, 'x')",
            "insert into t values (1) on duplicate key update password='x'",
            "select * from users where name='a' and password='x'",
            "select password, 'x' from users",
            "create table users (password varchar(255) default 'x' comment 'the password')",
            "insert into text values ('a species is identified by \"its\" leaves')",
            "insert into text values ('{\"password\": \"x\"}')",
            "insert into mail values ('Your password: x')",
            "create table t (a int) comment='user=u,password=x'",
            "alter table t option_list='user=u,password=,host=h'",
            "select passwords, identified from t where a='by'",
            "create procedure p() begin update users set password='x'; end",
            "select passwor",
            "tif",
            "",
        ] {
            assert!(!reveals(text.as_bytes(), false), "{text}");
        }
    }

    #[test]
    fn no_place_is_passed_over() {
        for length in 0..200 {
            for word in ["set PassWord for a", "user identiFIED by 'x'"] {
                let text = format!("{}{word}", " ".repeat(length));
                assert!(reveals(text.as_bytes(), false), "{length}");
                assert!(reveals(
                    format!("{text}{}", " ".repeat(130)).as_bytes(),
                    false
                ));
                let broken = text.replace("ss", "s").replace("FI", "");
                assert!(!reveals(broken.as_bytes(), false), "{length}");
            }
        }
    }
}
