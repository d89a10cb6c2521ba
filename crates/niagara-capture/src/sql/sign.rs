//! Where a literal begins: what a sign there belongs to.

use super::byte::is_word;

/// Whether a sign behind this text belongs to the literal that follows: no operand ends here.
pub(crate) fn takes_sign(before: &[u8]) -> bool {
    if let None
    | Some(
        b'(' | b',' | b'=' | b'<' | b'>' | b'*' | b'/' | b'%' | b'-' | b'+' | b'&' | b'|' | b'^'
        | b'~' | b'!',
    ) = before.last()
    {
        return true;
    }
    let word = last_word(before);
    SIGNED.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Whether NULL, TRUE or FALSE behind this text is a value: `IS NULL`, `NOT NULL` and `ORDER BY NULL` mean something else than with
/// another value.
pub(super) fn takes_value(before: &[u8]) -> bool {
    let word = last_word(before);
    let is = |known: &[u8]| word.eq_ignore_ascii_case(known);
    takes_sign(before) && !is(b"not") && !is(b"by")
}

fn last_word(text: &[u8]) -> &[u8] {
    let start = text.iter().rposition(|&byte| !is_word(byte));
    &text[start.map_or(0, |place| place + 1)..]
}

/// Words behind which a sign belongs to a literal: reserved ones, for others may be columns.
const SIGNED: [&[u8]; 33] = [
    b"select",
    b"all",
    b"distinct",
    b"distinctrow",
    b"high_priority",
    b"sql_calc_found_rows",
    b"where",
    b"and",
    b"or",
    b"xor",
    b"not",
    b"between",
    b"like",
    b"rlike",
    b"regexp",
    b"div",
    b"mod",
    b"binary",
    b"case",
    b"when",
    b"then",
    b"else",
    b"elseif",
    b"if",
    b"while",
    b"return",
    b"on",
    b"having",
    b"by",
    b"interval",
    b"limit",
    b"default",
    b"from",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_belongs_to_a_literal_where_no_operand_ends() {
        for text in [
            "",
            "f(",
            "a,",
            "a =",
            "a <>",
            "a &",
            "a |",
            "a ^",
            "a ||",
            "a %",
            "~",
            "!",
            "select",
            "A DIV",
            "a mod",
            "a like",
            "a regexp",
            "order by",
            "a xor",
            "case",
            "default",
            "sub(a from",
        ] {
            assert!(takes_sign(text.as_bytes()), "{text}");
        }
        for text in ["a", "?", "f()", "`a`", "bylike", "t.a", "offset"] {
            assert!(!takes_sign(text.as_bytes()), "{text}");
        }
    }
}
