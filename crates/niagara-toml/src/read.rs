//! From a text to a value.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use toml::de::DeTable;

use crate::check::{Format, check};
use crate::mistake::{FileError, Mistakes};
use crate::schema::schema;

/// Reads a text; `file` is how mistakes call it, `help` says where the format is shown, `formats` are the formats of texts that
/// the type's schema names.
///
/// # Errors
/// Every mistake of the file's structure, in the order in which they stand there.
pub fn read<T>(file: &str, text: &str, help: &str, formats: &[Format]) -> Result<T, FileError>
where
    T: DeserializeOwned + JsonSchema,
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
        Ok(table) => check(table.get_ref(), &schema::<T>(""), formats, &mut mistakes),
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
