//! Which answers follow from the data alone: told from a digest's text. No I/O here.

use niagara_capture::sql::Class;

/// What of an answer can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Determined {
    /// Nothing: it speaks of the server rather than of the data.
    Nothing,
    /// Whether it failed: it has no rows that mean anything.
    Error,
    /// The number of rows: those that were changed.
    Rows,
    /// The number of rows surely. Their contents may depend on the way in which the server finds them: ties under a LIMIT, a
    /// column that GROUP BY leaves open.
    RowsAndMostly,
    /// Everything.
    Contents,
}

/// Words of statements that speak of the server, the session or the moment.
const OF_THE_SERVER: [&str; 18] = [
    "information_schema",
    "performance_schema",
    "version",
    "connection_id",
    "uuid",
    "uuid_short",
    "sysdate",
    "sleep",
    "benchmark",
    "load_file",
    "get_lock",
    "release_lock",
    "is_free_lock",
    "is_used_lock",
    "user",
    "current_user",
    "session_user",
    "system_user",
];

/// Aggregate functions that do not depend on the order in which they see rows.
pub const AGGREGATES: [&str; 15] = [
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "var_pop",
    "var_samp",
    "variance",
];

/// Those that do, unless they say an order.
const IN_ORDER: [&str; 3] = ["group_concat(", "json_arrayagg(", "json_objectagg("];

/// From this length on, in bytes, a text may have been cut: what is behind is not known.
const CUT: usize = 16 << 10;

/// What of the answer to statements of this digest can be compared.
pub(super) fn determined(text: &str, class: Class) -> Determined {
    match class {
        Class::Write => return Determined::Rows,
        Class::Read => {}
        Class::Show | Class::Server | Class::Call => return Determined::Nothing,
        _ => return Determined::Error,
    }
    let has = |word: &str| words(text).any(|other| other == word);
    // User and system variables.
    if text.contains('@')
        || text.contains("mysql.")
        || OF_THE_SERVER
            .iter()
            .any(|word| has(word) && is_called_or_schema(text, word))
    {
        return Determined::Nothing;
    }
    let is_open = text.len() >= CUT
        || has("limit")
        || has("over")
        || has("fetch")
        || has("any_value")
        || IN_ORDER
            .iter()
            .any(|function| without_order(text, function))
        || groups_loosely(text);
    match is_open {
        true => Determined::RowsAndMostly,
        false => Determined::Contents,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'))
        .filter(|word| !word.is_empty())
}

/// A table may have a column `version`: as a function it has a parenthesis, as a schema a point.
fn is_called_or_schema(text: &str, word: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let behind = &rest[at + word.len()..];
        let begins = !rest[..at]
            .ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '`'));
        if begins && (behind.starts_with(['(', '.']) || word == "current_user") {
            return true;
        }
        rest = behind;
    }
    false
}

/// Whether an aggregate that depends on the order of rows is there without one.
fn without_order(text: &str, function: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find(function) {
        let arguments = &rest[at + function.len()..];
        let inside = &arguments[..closing(arguments)];
        if !inside.contains("order by") {
            return true;
        }
        rest = arguments;
    }
    false
}

/// Where the parenthesis ends that was opened before `text`; its length where it does not.
fn closing(text: &str) -> usize {
    let mut depth = 1_u32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Whether a column is selected that GROUP BY does not name: of which row it is, is open.
fn groups_loosely(text: &str) -> bool {
    let Some(at) = text.find(" group by ") else {
        return false;
    };
    let grouped = &text[at + " group by ".len()..];
    let ends = [" having ", " order by ", " limit ", " with rollup", ")"];
    let end = ends.iter().filter_map(|word| grouped.find(word)).min();
    let grouped: Vec<&str> = at_commas(&grouped[..end.unwrap_or(grouped.len())]).collect();
    let Some(items) = select_list(text, at) else {
        return true;
    };
    let follows = |item: &str| {
        let item = item.trim();
        let item = item.split(" as ").next().unwrap_or(item).trim();
        let is_aggregate = AGGREGATES
            .iter()
            .chain(&["group_concat", "json_arrayagg", "json_objectagg"])
            .any(|name| {
                item.strip_prefix(name).is_some_and(|rest| {
                    // The whole item, and nothing behind it.
                    rest.strip_prefix('(')
                        .is_some_and(|rest| closing(rest) + 1 == rest.len())
                })
            });
        item == "?" || is_aggregate || grouped.iter().any(|column| same_column(column, item))
    };
    !at_commas(items).all(follows)
}

/// The select list that belongs to what stands at `at`: of the last SELECT before it, outside of parentheses that are closed.
fn select_list(text: &str, at: usize) -> Option<&str> {
    let before = &text[..at];
    let begin = before
        .rmatch_indices("select ")
        .map(|(place, word)| place + word.len())
        .find(|&place| balanced(&before[place..]))?;
    let list = &before[begin..];
    let mut depth = 0_i32;
    let mut end = list.len();
    for (place, byte) in list.bytes().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            b' ' if depth == 0 && list[place..].starts_with(" from ") => {
                end = place;
                break;
            }
            _ => {}
        }
    }
    let list = &list[..end];
    Some(list.strip_prefix("distinct ").unwrap_or(list))
}

/// Whether no parenthesis is closed that was not opened in it.
fn balanced(text: &str) -> bool {
    let mut depth = 0_i32;
    text.bytes().all(|byte| {
        depth += i32::from(byte == b'(') - i32::from(byte == b')');
        depth >= 0
    })
}

/// Pieces between commas outside of parentheses.
fn at_commas(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |c| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    })
}

/// Whether two names mean the same column: `t.a` and `a` are taken for one.
fn same_column(one: &str, other: &str) -> bool {
    fn name(text: &str) -> &str {
        let text = text
            .trim()
            .trim_end_matches(" asc")
            .trim_end_matches(" desc");
        text.rsplit('.').next().unwrap_or(text).trim_matches('`')
    }
    name(one) == name(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_from_the_data_is_told_from_the_text() {
        use Determined::*;
        for (text, expected) in [
            ("select a, b from t where id = ?", Contents),
            ("select a from t order by a", Contents),
            ("select now() from t", Contents),
            ("select version from page where id = ?", Contents),
            ("select p.user from page p", Contents),
            ("select version()", Nothing),
            ("select uuid()", Nothing),
            ("select @x := @x + ? from t", Nothing),
            ("select table_name from information_schema.tables", Nothing),
            ("select user from mysql.user", Nothing),
            ("select a from t limit ?", RowsAndMostly),
            ("select a from t order by a limit ?", RowsAndMostly),
            (
                "select a, row_number() over (order by a) from t",
                RowsAndMostly,
            ),
            ("select group_concat(a) from t", RowsAndMostly),
            ("select group_concat(a order by a) from t", Contents),
            ("select a, count(*) from t group by a", Contents),
            (
                "select t.a, count(*) as n, max(b) from t group by a having n > ?",
                Contents,
            ),
            ("select a, b, count(*) from t group by a", RowsAndMostly),
            ("select * from t group by a", RowsAndMostly),
            (
                "select x from (select a as x, sum(b) from t group by a) as s",
                Contents,
            ),
        ] {
            assert_eq!(determined(text, Class::Read), expected, "{text}");
        }
        assert_eq!(determined("update t set a = ?", Class::Write), Rows);
        assert_eq!(determined("show tables", Class::Show), Nothing);
        assert_eq!(determined("begin", Class::Begin), Error);
    }

    #[test]
    fn any_text_has_an_answer() {
        for text in [
            "",
            ")",
            "select ",
            " group by ",
            "select ) group by (",
            "group_concat(",
            "ä select ü group by ö,",
        ] {
            determined(text, Class::Read);
        }
    }
}
