//! The tables that a digest's text names, without parsing it.

use super::byte::{is_space, is_word};
use super::mode::SqlMode;
use super::scan::end_of_quotes;

/// Words before a table's name that are no part of it.
const FILLERS: [&[u8]; 12] = [
    b"table",
    b"tables",
    b"into",
    b"only",
    b"ignore",
    b"low_priority",
    b"high_priority",
    b"delayed",
    b"if",
    b"not",
    b"exists",
    b"lateral",
];
/// Words in the place of a name that are none.
const NO_NAMES: [&[u8]; 13] = [
    b"select",
    b"with",
    b"values",
    b"value",
    b"row",
    b"set",
    b"on",
    b"dual",
    b"outfile",
    b"dumpfile",
    b"view",
    b"status",
    b"from",
];
/// Words that end a list of tables: commas behind them bring none.
const ENDS: [&[u8]; 15] = [
    b"set",
    b"where",
    b"group",
    b"order",
    b"having",
    b"limit",
    b"window",
    b"values",
    b"value",
    b"union",
    b"except",
    b"intersect",
    b"procedure",
    b"for",
    b"lock",
];
/// Statements about several tables.
const OF_SEVERAL: [&[u8]; 9] = [
    b"drop",
    b"lock",
    b"optimize",
    b"analyze",
    b"check",
    b"checksum",
    b"repair",
    b"flush",
    b"truncate",
];

/// What is between two parentheses.
#[derive(Default, Clone, Copy)]
struct Level {
    /// A name comes next.
    expects: bool,
    /// Another one comes behind a comma.
    lists: bool,
    /// Its SELECT was there.
    selects: bool,
}

/// The tables that the text of a digest names, in their order and each once.
///
/// Aliases, columns and functions are no names; a common table expression is taken for a table.
pub fn tables_of(text: &[u8]) -> Vec<String> {
    let tokens = tokens(text);
    let first = tokens.first().copied().unwrap_or_default();
    let mut tables: Vec<String> = Vec::new();
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::default();
    let mut at = 0;
    while let Some(&token) = tokens.get(at) {
        let before = at.checked_sub(1).map_or(&b""[..], |before| tokens[before]);
        at += 1;
        match token {
            b"(" => {
                outer.push(Level {
                    expects: false,
                    ..level
                });
                // A join in parentheses, if anything.
                level = Level {
                    lists: level.expects,
                    expects: level.expects,
                    selects: false,
                };
                continue;
            }
            b")" => {
                level = outer.pop().unwrap_or_default();
                continue;
            }
            b"," => {
                level.expects = level.lists;
                continue;
            }
            _ => {}
        }
        if level.expects && FILLERS.contains(&token) {
            continue;
        }
        let expected = std::mem::take(&mut level.expects);
        if expected && is_name(token) && !NO_NAMES.contains(&token) {
            let (name, next) = name_at(&tokens, at - 1);
            at = next;
            // In a list of tables a parenthesis makes it a function.
            let is_function = level.lists && tokens.get(at) == Some(&&b"("[..]);
            if !is_function && !tables.contains(&name) {
                tables.push(name);
            }
            continue;
        }
        match token {
            b"select" => {
                level.selects = true;
                level.lists = false;
            }
            b"from" if first == b"show" => {
                level.expects = matches!(
                    before,
                    b"columns" | b"fields" | b"index" | b"indexes" | b"keys"
                );
            }
            // Of functions otherwise: `trim(? from a)`.
            b"from" if outer.is_empty() || level.selects => {
                level.expects = true;
                level.lists = true;
            }
            b"join" => level.expects = true,
            b"straight_join" => level.expects = level.lists,
            b"update" if !matches!(before, b"key" | b"for" | b"on") => {
                level.expects = true;
                level.lists = true;
            }
            b"into" => level.expects = !level.selects,
            b"table" | b"tables" => {
                level.expects = first != b"show" || before == b"create";
                level.lists = OF_SEVERAL.contains(&first);
            }
            // Functions have these names too.
            b"insert" | b"replace" | b"truncate" if before != b"or" => {
                level.expects = tokens.get(at) != Some(&&b"("[..]);
            }
            token if ENDS.contains(&token) => level.lists = false,
            _ => {}
        }
    }
    tables
}

fn is_name(token: &[u8]) -> bool {
    token[0] == b'`' || is_word(token[0])
}

/// The name at this place, perhaps with its database before it, and the place behind it.
fn name_at(tokens: &[&[u8]], at: usize) -> (String, usize) {
    let name = plain(tokens[at]);
    match tokens.get(at + 1..) {
        Some([b".", second, ..]) if is_name(second) => {
            (format!("{name}.{}", plain(second)), at + 3)
        }
        _ => (name, at + 1),
    }
}

fn plain(token: &[u8]) -> String {
    let inside = token.strip_prefix(b"`").unwrap_or(token);
    let inside = inside.strip_suffix(b"`").unwrap_or(inside);
    String::from_utf8_lossy(inside).replace("``", "`")
}

/// Words, quoted names, and single bytes of everything else but hints.
fn tokens(text: &[u8]) -> Vec<&[u8]> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = match rest {
            [b'`', ..] => end_of_quotes(rest, 0, SqlMode::default()),
            [b'/', b'*', inside @ ..] => {
                at += memchr::memmem::find(inside, b"*/").map_or(rest.len(), |end| end + 4);
                continue;
            }
            _ => rest.iter().take_while(|&&b| is_word(b)).count().max(1),
        };
        if !is_space(rest[0]) {
            tokens.push(&rest[..length]);
        }
        at += length;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_found_in_digests() {
        for (text, expected) in [
            ("select * from a where x = ?", &["a"][..]),
            (
                "select * from shop.a as b, c d join `e f` on b.x = d.x",
                &["shop.a", "c", "e f"],
            ),
            (
                "select * from(select ? from inner_one) x join t2 using(id)",
                &["inner_one", "t2"],
            ),
            ("insert into t(a) values(...)", &["t"]),
            ("insert ignore into t values(...)", &["t"]),
            ("update low_priority t set a = ?", &["t"]),
            ("delete from t where a in(...)", &["t"]),
            (
                "insert into t19(a) values(...) on duplicate key update b = ?",
                &["t19"],
            ),
            ("load data infile ? into table t32", &["t32"]),
            ("select extract(year from d) from t", &["t"]),
            (
                "select trim(leading ? from y),(select max(z) from t2) from t",
                &["t2", "t"],
            ),
            ("update t5, t6 set a = ?, b = ?", &["t5", "t6"]),
            (
                "update t5 as x join t6 y using(a), t7 set a = ?",
                &["t5", "t6", "t7"],
            ),
            ("update /*+ BKA(t) */ ignore t set a = ?", &["t"]),
            ("insert t44(a) values(...)", &["t44"]),
            (
                "insert ignore t44 select insert(a, ?, ?, b) from t45",
                &["t44", "t45"],
            ),
            (
                "replace low_priority t44 set a = replace(a, ?, ?)",
                &["t44"],
            ),
            ("truncate t20", &["t20"]),
            ("truncate table t20", &["t20"]),
            ("select truncate(a, ?) from t", &["t"]),
            (
                "select * from t22 left join(t23 cross join t24) on a = b",
                &["t22", "t23", "t24"],
            ),
            (
                "select * from(a, b c),(select ? from d) e, f order by a, b",
                &["a", "b", "d", "f"],
            ),
            (
                "select * from((a join b) join c) where a in(...), x",
                &["a", "b", "c"],
            ),
            (
                "select straight_join a, b from t straight_join u",
                &["t", "u"],
            ),
            ("select * from t for update skip locked", &["t"]),
            (
                "select a from t where b in(select b from u), v",
                &["t", "u"],
            ),
            ("select a into @x from t", &["t"]),
            ("select a from t into outfile ?", &["t"]),
            ("select * from json_table(a, ?) j, t", &["t"]),
            ("delete t1, t2 from t1 join t2", &["t1", "t2"]),
            ("create table if not exists t(a int, b int)", &["t"]),
            ("create or replace table t(a int)", &["t"]),
            ("create or replace view v as select * from t", &["t"]),
            (
                "create table t(a timestamp on update current_timestamp)",
                &["t"],
            ),
            ("alter table t add a int, add b int", &["t"]),
            ("drop table if exists a, b", &["a", "b"]),
            ("lock tables a read, b write", &["a", "b"]),
            ("show full columns from t from db", &["t"]),
            ("show tables from db", &[]),
            ("show table status from db like ?", &[]),
            ("show create table t", &["t"]),
            ("with a as(select * from t) select * from a", &["t", "a"]),
            ("select a from `x``y`", &["x`y"]),
            ("select a from `", &[""]),
            ("", &[]),
            ("select ?", &[]),
        ] {
            assert_eq!(tables_of(text.as_bytes()), expected, "{text}");
        }
    }
}
