//! Which database of the data a load is in.

use anyhow::Result;
use niagara_error::bail;

/// Names that are shown of a longer list.
const SHOWN: usize = 8;

/// The database among `there` that was asked for, else the only one; `None` of several, where nobody asked for one.
///
/// # Errors
/// There is none of the name asked for; with those that there are.
pub fn database_of<'a>(asked: Option<&'a str>, there: &'a [String]) -> Result<Option<&'a str>> {
    match (asked, there) {
        (Some(asked), _) if there.iter().any(|name| name == asked) => Ok(Some(asked)),
        (Some(asked), _) => bail!(
            "the data have no database {asked}; there are: {}", databases_in_words(there);
            remedy: "name one of these by --schema"
        ),
        (None, [only]) => Ok(Some(only.as_str())),
        (None, _) => Ok(None),
    }
}

/// The names of databases, the first ones of many.
pub fn databases_in_words(there: &[String]) -> String {
    let names: Vec<&str> = there.iter().take(SHOWN).map(String::as_str).collect();
    let more = match there.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", names.join(", "))
}
