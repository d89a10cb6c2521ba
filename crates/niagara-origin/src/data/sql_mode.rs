//! The SQL mode that a statement sets: of another release a mode may be among its words that this server does not have.

use std::ops::Range;

/// Where the value of `sql_mode` stands in a statement, without its quotes; none where it sets none by a text.
pub(crate) fn value_of_mode(statement: &[u8]) -> Option<Range<usize>> {
    const NAME: &[u8] = b"sql_mode";
    let mut from = 0;
    while let Some(found) = statement[from..]
        .windows(NAME.len())
        .position(|part| part.eq_ignore_ascii_case(NAME))
    {
        from += found + NAME.len();
        let rest = statement[from..].trim_ascii_start();
        let rest = rest.strip_prefix(b":").unwrap_or(rest);
        let Some(rest) = rest.strip_prefix(b"=").map(<[u8]>::trim_ascii_start) else {
            continue;
        };
        let Some((&quote, text)) = rest.split_first() else {
            continue;
        };
        if quote != b'\'' && quote != b'"' {
            continue;
        }
        let start = statement.len() - text.len();
        let length = memchr::memchr(quote, text)?;
        return Some(start..start + length);
    }
    None
}

/// The modes of a value, one by one.
pub(crate) fn modes(value: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(value).into_owned();
    let words = text.split(',').map(str::trim);
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The statement with these modes alone.
pub(crate) fn with_modes(statement: &[u8], value: Range<usize>, kept: &[String]) -> Vec<u8> {
    [
        &statement[..value.start],
        kept.join(",").as_bytes(),
        &statement[value.end..],
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_found_in_every_form() {
        for (text, expected) in [
            (
                "/*!50003 SET sql_mode              = 'ANSI,NO_AUTO_CREATE_USER' */ ",
                Some("ANSI,NO_AUTO_CREATE_USER"),
            ),
            (
                "/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */",
                Some("NO_AUTO_VALUE_ON_ZERO"),
            ),
            ("SET SQL_MODE = \"ANSI\"", Some("ANSI")),
            ("SET @@SESSION.sql_mode := ''", Some("")),
            ("SET SQL_MODE=@OLD_SQL_MODE", None),
            ("SET sql_mode = DEFAULT", None),
            ("SET sql_mode='open", None),
        ] {
            let found = value_of_mode(text.as_bytes());
            let found = found.map(|range| &text[range]);
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn a_statement_keeps_the_modes_that_are_known() {
        let text = b"SET sql_mode = 'ANSI,DB2, TRADITIONAL' /* x */";
        let value = value_of_mode(text).unwrap();
        assert_eq!(modes(&text[value.clone()]), ["ANSI", "DB2", "TRADITIONAL"]);
        let kept = ["ANSI".to_owned(), "TRADITIONAL".to_owned()];
        assert_eq!(
            with_modes(text, value, &kept),
            b"SET sql_mode = 'ANSI,TRADITIONAL' /* x */"
        );
    }
}
