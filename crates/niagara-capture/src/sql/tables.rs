//! The tables that a digest's text names, without parsing it.

/// Words that a table's name follows.
const BEFORE: [&[u8]; 6] = [
    b"from",
    b"join",
    b"update",
    b"into",
    b"table",
    b"straight_join",
];
/// Words that follow those and are no names.
const NO_NAMES: [&[u8]; 12] = [
    b"select",
    b"lateral",
    b"ignore",
    b"low_priority",
    b"delayed",
    b"if",
    b"exists",
    b"set",
    b"values",
    b"dual",
    b"outfile",
    b"dumpfile",
];

/// The tables that the text of a digest names after FROM, JOIN, UPDATE, INTO, TABLE, in their order and each once.
///
/// What is in parentheses after FROM, and aliases, are no names; a common table expression is taken for a table.
pub fn tables_of(text: &[u8]) -> Vec<String> {
    let tokens = tokens(text);
    let mut tables: Vec<String> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let token = tokens[at];
        at += 1;
        if !BEFORE.contains(&token) {
            continue;
        }
        // `FROM a, b AS c`: names after commas too, until another word of the grammar comes.
        while let Some((name, next)) = name_at(&tokens, at) {
            if !tables.contains(&name) {
                tables.push(name);
            }
            at = next;
            // An alias.
            if tokens.get(at) == Some(&&b"as"[..]) {
                at += 2;
            } else if tokens.get(at + 1) == Some(&&b","[..]) {
                at += 1;
            }
            if tokens.get(at) != Some(&&b","[..]) || token != b"from" {
                break;
            }
            at += 1;
        }
    }
    tables
}

/// A name, perhaps with its database before it, and the place behind it.
fn name_at(tokens: &[&[u8]], mut at: usize) -> Option<(String, usize)> {
    while tokens
        .get(at)
        .is_some_and(|token| NO_NAMES[2..7].contains(token))
    {
        at += 1;
    }
    let is_name = |token: &&[u8]| {
        (token[0] == b'`' || super::byte::is_word(token[0])) && !NO_NAMES.contains(token)
    };
    let mut name = plain(tokens.get(at).copied().filter(is_name)?);
    at += 1;
    if tokens.get(at) == Some(&&b"."[..]) {
        let second = tokens.get(at + 1).copied().filter(is_name)?;
        name = format!("{name}.{}", plain(second));
        at += 2;
    }
    // A function.
    if tokens.get(at) == Some(&&b"("[..]) && tokens.get(at.wrapping_sub(2)) != Some(&&b"into"[..]) {
        return None;
    }
    Some((name, at))
}

fn plain(token: &[u8]) -> String {
    String::from_utf8_lossy(token)
        .trim_matches('`')
        .replace("``", "`")
}

/// Words, quoted names, and single bytes of everything else.
fn tokens(text: &[u8]) -> Vec<&[u8]> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        let end = match byte {
            b'`' => memchr::memchr(b'`', &text[at + 1..]).map_or(text.len(), |i| at + i + 2),
            _ if super::byte::is_word(byte) => {
                let rest = text[at..].iter();
                at + rest.take_while(|&&b| super::byte::is_word(b)).count()
            }
            _ => at + 1,
        };
        if !super::byte::is_space(byte) {
            tokens.push(&text[at..end]);
        }
        at = end;
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
            ("select ?", &[]),
        ] {
            assert_eq!(tables_of(text.as_bytes()), expected, "{text}");
        }
    }
}
