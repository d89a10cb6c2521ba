//! The statement as the server has resolved it: `EXPLAIN …; SHOW WARNINGS`, without what no parser knows.
//!
//! MariaDB and MySQL print marks of their optimizers among the SQL: `<cache>(…)`, `<in_optimizer>(a,<exists>(…))`,
//! `semi join (…)`, `/* select#1 */`. What is left when they are gone is SQL again, with every column's table.

/// Words in angle brackets that stand before an argument: what they hold is the expression.
const JOINS: [(&str, &str); 4] = [
    (" semi join ", " join "),
    (" anti join ", " join "),
    (" straight_join ", " join "),
    ("semi join (", "join ("),
];

/// The statement without the optimizer's marks.
pub fn without_marks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            quote @ (b'\'' | b'"' | b'`') => {
                let end = end_of_quotes(bytes, at, quote);
                out.push_str(&text[at..end]);
                at = end;
            }
            b'/' if bytes.get(at + 1) == Some(&b'*') => {
                at = text[at + 2..]
                    .find("*/")
                    .map_or(bytes.len(), |i| at + i + 4);
                out.push(' ');
            }
            b'<' => match mark(&text[at..]) {
                Some(length) => at += length,
                None => {
                    out.push('<');
                    at += 1;
                }
            },
            _ => {
                let length = text[at..].chars().next().map_or(1, char::len_utf8);
                out.push_str(&text[at..at + length]);
                at += length;
            }
        }
    }
    for (from, to) in JOINS {
        out = replace_outside_quotes(&out, from, to);
    }
    out
}

/// The length of a mark such as `<cache>` at the beginning of `text`; none where it is a comparison, which has a space behind it.
fn mark(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    if !matches!(bytes.get(1), Some(b'a'..=b'z' | b'`')) {
        return None;
    }
    let mut at = 1;
    loop {
        match *bytes.get(at)? {
            b'>' => return Some(at + 1),
            b'`' => at = end_of_quotes(bytes, at, b'`'),
            byte if byte.is_ascii_alphanumeric() || b" _,.".contains(&byte) => at += 1,
            _ => return None,
        }
    }
}

/// The place behind the quotes that open at `start`; the end of the text where they are not closed.
pub(crate) fn end_of_quotes(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote != b'`' => at += 2,
            byte if byte == quote => {
                if bytes.get(at + 1) == Some(&quote) {
                    at += 2;
                } else {
                    return at + 1;
                }
            }
            _ => at += 1,
        }
    }
    bytes.len()
}

fn replace_outside_quotes(text: &str, from: &str, to: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if let quote @ (b'\'' | b'"' | b'`') = bytes[at] {
            let end = end_of_quotes(bytes, at, quote).min(bytes.len());
            out.push_str(&text[at..end]);
            at = end;
        } else if text[at..].starts_with(from) {
            out.push_str(to);
            at += from.len();
        } else {
            let length = text[at..].chars().next().map_or(1, char::len_utf8);
            out.push_str(&text[at..at + length]);
            at += length;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_taken_away() {
        for (text, expected) in [
            (
                "/* select#1 */ select `a` from `t` where `t`.`b` between <cache>('2020') and <cache>(1)",
                "  select `a` from `t` where `t`.`b` between ('2020') and (1)",
            ),
            (
                "select 1 from `t` semi join (`u`) where 1",
                "select 1 from `t` join (`u`) where 1",
            ),
            ("select `a` < 3 and 4 > `b`", "select `a` < 3 and 4 > `b`"),
            (
                "select '<cache>' , \"/* x */\"",
                "select '<cache>' , \"/* x */\"",
            ),
            ("select <expr_cache><`s`.`t`.`a`>(1)", "select (1)"),
            ("select <expr_cache><`s`.`Öl-Fässer`.`>`>(1)", "select (1)"),
        ] {
            assert_eq!(without_marks(text), expected);
        }
    }

    #[test]
    fn unclosed_quotes_do_no_harm() {
        for text in ["select 'a", "select `a", "/* x", "<", "'\\"] {
            let _ = without_marks(text);
        }
    }
}
