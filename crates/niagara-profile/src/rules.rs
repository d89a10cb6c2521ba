//! What the files of layers, limits and names share: how one is read, and what `*` means in a function's name.

use anyhow::Result;
use include_dir::Dir;
use regex::{Regex, RegexSet};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// The files of `dir` (`layers`, `limits`, `names`) that hold rules: the file's name without its ending, and its text.
pub(crate) fn files(
    dir: &'static Dir<'static>,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    dir.files().filter_map(|file| {
        let name = file.path().to_str()?.strip_suffix(".toml")?;
        Some((name, file.contents_utf8()?))
    })
}

/// Reads the file `name` of the folder `kind`.
///
/// # Errors
/// What is wrong with it, with its line.
pub(crate) fn read<T: DeserializeOwned + JsonSchema + 'static>(
    kind: &str,
    name: &str,
    text: &str,
) -> Result<T> {
    let help = format!("{kind}/README.md tells what such a file may say");
    Ok(niagara_toml::read(
        &format!("{kind}/{name}.toml"),
        text,
        &help,
        &[],
    )?)
}

/// Any of these names, each whole, `*` standing for anything; their places are those in `names`.
///
/// # Errors
/// They are too many for one machine.
pub(crate) fn any_of<'n>(names: impl IntoIterator<Item = &'n String>) -> Result<RegexSet> {
    Ok(RegexSet::new(names.into_iter().map(|name| whole(name)))?)
}

/// The same where nobody asks which; `None` of no name, which fits anything.
///
/// # Errors
/// They are too many for one machine.
pub(crate) fn one_of(names: &[String]) -> Result<Option<Regex>> {
    if names.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = names.iter().map(|name| whole(name)).collect();
    Ok(Some(Regex::new(&names.join("|"))?))
}

fn whole(name: &str) -> String {
    format!("^{}$", regex::escape(name).replace(r"\*", ".*"))
}

#[cfg(test)]
mod tests {
    use niagara_error::Explain as _;

    use super::*;

    #[derive(Debug, serde::Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Rule {
        #[expect(dead_code, reason = "only read")]
        title: String,
    }

    #[test]
    fn a_mistake_is_told_with_its_file_and_line() {
        let error = read::<Rule>("limits", "mine", "title = \"é\"\n\ncolour = 2\n")
            .unwrap_err()
            .explain()
            .to_string();
        assert!(
            error.starts_with("limits/mine.toml:3:1: unknown key `colour`"),
            "{error}"
        );
        let error = read::<Rule>("limits", "mine", "title = \"")
            .unwrap_err()
            .explain()
            .to_string();
        assert!(error.contains("limits/README.md"), "{error}");
    }

    #[test]
    fn names_are_whole_and_stars_stand_for_anything() {
        let names = ["MDL_*", "fsync", "operator new(*)"].map(str::to_owned);
        let set = any_of(&names).unwrap();
        let one = one_of(&names).unwrap().unwrap();
        for (name, at) in [
            ("MDL_wait::timed_wait", Some(0)),
            ("fsync", Some(1)),
            ("operator new(unsigned long)", Some(2)),
            ("os_fsync", None),
            ("fsync_all", None),
        ] {
            assert_eq!(set.matches(name).into_iter().next(), at, "{name}");
            assert_eq!(one.is_match(name), at.is_some(), "{name}");
        }
        assert!(one_of(&[]).unwrap().is_none());
    }
}
