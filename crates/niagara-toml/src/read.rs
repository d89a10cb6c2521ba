//! From a text to a value.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::check::{Format, check};
use crate::mistake::{FileError, Mistakes};
use crate::schema::schema_once;

/// Reads a text; `file` is how mistakes call it, `help` says where the format is shown, `formats` are the formats of texts that
/// the type's schema names.
///
/// # Errors
/// Every mistake of the file's structure, in the order in which they stand there.
pub fn read<T>(file: &str, text: &str, help: &str, formats: &[Format]) -> Result<T, FileError>
where
    T: DeserializeOwned + JsonSchema + 'static,
{
    let mut mistakes = Mistakes::of(file, text);
    let refuse = |mistakes: &mut Mistakes<'_>, error: &toml::de::Error, remedy: String| {
        let at = error.span().map_or(0, |span| span.start);
        mistakes.add(at, error.message().trim_end().replace('\n', ", "), remedy);
    };
    match DeTable::parse(text) {
        Err(error) => refuse(
            &mut mistakes,
            &error,
            format!("correct the TOML here; {help}"),
        ),
        Ok(table) => check(table.get_ref(), &schema_once::<T>(), formats, &mut mistakes),
    }
    if !mistakes.is_empty() {
        return Err(mistakes.into_error());
    }
    let value = toml::from_str(text);
    let value = value
        .map_err(|error| refuse(&mut mistakes, &error, help.to_owned()))
        .ok();
    mistakes.unless_any(value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;
    use serde::Deserialize;

    use niagara_error::Explanation;

    use super::*;
    use crate::schema::schema;
    use crate::{At, Scalar, Text, TextOr};

    #[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case")]
    enum Kind {
        New,
        /// With a description.
        Other,
    }

    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        /// its name
        name: At<Text>,
        #[schemars(range(min = 1, max = 9))]
        weight: Option<u32>,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        kind: Kind,
        #[serde(default)]
        set: BTreeMap<At<String>, At<Scalar>>,
        words: Option<TextOr<Vec<Text>>>,
        inner: Option<TextOr<Inner>>,
        #[serde(default)]
        list: Vec<Inner>,
        #[schemars(extend("format" = "even"))]
        number: Option<u32>,
    }

    const EVEN: Format = Format {
        name: "even",
        holds: |text| text.parse::<u32>().is_ok_and(|number| number % 2 == 0),
        what: "an even number",
        written: "as in 2",
    };

    fn outer(text: &str) -> Result<Outer, FileError> {
        read("x.toml", text, "the manual shows the format", &[EVEN])
    }

    fn mistakes(text: &str) -> Vec<String> {
        let FileError(found) = outer(text).expect_err("mistakes");
        let found = found.iter().map(Explanation::from);
        found.map(|told| told.to_string()).collect()
    }

    #[test]
    fn values_know_where_they_stand() {
        let text = "kind = \"new\"\nset = { a = 1, b = true }\nwords = [\"x\"]\ninner = { name = \"n\" }\n";
        let read = outer(text).expect("valid");
        let (name, value) = read.set.last_key_value().expect("two entries");
        assert_eq!((&text[name.at..=name.at], &*value.0), ("b", "ON"));
        assert_eq!(read.words, Some(TextOr::Other(vec![Text("x".into())])));
        let Some(TextOr::Other(inner)) = read.inner else {
            panic!("a table");
        };
        assert!(text[inner.name.at..].starts_with("\"n\""));
        assert_eq!(
            (read.list.len(), read.number, inner.weight),
            (0, None, None)
        );
        assert_eq!(read.kind, Kind::New);
    }

    #[test]
    fn all_mistakes_of_a_file_are_told_at_once() {
        let found = mistakes(
            "kind = \"nwe\"\nsett = {}\nwords = 3\ninner = 4\nnumber = 3\n[[list]]\nweight = 10\n",
        );
        let expected = [
            "x.toml:1:8: kind: unknown value `nwe`\nremedy: did you mean `new`? known: new, other",
            "x.toml:2:1: unknown key `sett` in this file\nremedy: did you mean `set`? keys: ",
            "x.toml:3:9: words: a text or a list of texts was expected here\nremedy: write a text, or a list of texts",
            "x.toml:4:9: inner: a text or a table was expected here\nremedy: write a text, or a table: name, weight",
            "x.toml:5:10: number: an even number was expected here\nremedy: write as in 2",
            "x.toml:6:1: `name` is missing in [[list]]\nremedy: add name: its name",
            "x.toml:7:10: weight: a whole number within bounds was expected here\nremedy: write a number from 1 to 9, without quotes",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn a_misspelled_key_is_not_missing_too() {
        let found = mistakes("kidn = \"new\"\n");
        assert_eq!(found.len(), 1, "{found:#?}");
        assert!(found[0].contains("did you mean `kind`?"), "{found:#?}");
    }

    #[test]
    fn what_is_not_toml_has_its_place_and_the_manual() {
        let found = mistakes("kind = \"new\nset = 1\n");
        assert!(found[0].starts_with("x.toml:1:"), "{found:#?}");
        assert!(
            found[0].contains("correct the TOML here; the manual"),
            "{found:#?}"
        );
    }

    #[test]
    fn the_schema_has_no_null_and_no_reference() {
        let text = schema::<Outer>("Outer").to_string();
        assert!(!text.contains("null") && !text.contains("$ref"), "{text}");
        assert!(text.contains("\"required\":[\"kind\"]"), "{text}");
    }
}
