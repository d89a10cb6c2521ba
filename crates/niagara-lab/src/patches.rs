//! Source changes: `patches/NAME.patch` with `patches/NAME.toml`, each a lever that changes the build.

use anyhow::{Result, anyhow};
use include_dir::{Dir, include_dir};

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../patches");

/// The names of all patches.
pub fn patch_names() -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN
        .files()
        .filter(|file| file.path().extension().is_some_and(|end| end == "patch"))
        .filter_map(|file| Some(file.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// The text of a patch, as `patch -p1` takes it.
///
/// # Errors
/// No patch has this name; the error lists those that there are.
pub fn patch_text(name: &str) -> Result<&'static str> {
    BUILT_IN
        .get_file(format!("{name}.patch"))
        .and_then(|file| file.contents_utf8())
        .ok_or_else(|| {
            anyhow!(
                "there is no patch `{name}`\nremedy: name one of: {}",
                patch_names().join(", ")
            )
        })
}

/// Name and text of every patch's lever, its change of the build included; what `NAME.toml` says stays on its lines.
pub(crate) fn lever_texts() -> impl Iterator<Item = (String, String)> {
    BUILT_IN.files().filter_map(|file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(".toml")?;
        let text = file.contents_utf8()?;
        Some((
            name.to_owned(),
            format!("{text}\n[change.build]\npatches = \"{name}\"\n"),
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lever;

    #[test]
    fn every_patch_is_a_lever_and_a_diff() {
        let levers = lever::load(&[]).expect("valid");
        let names = patch_names();
        assert!(names.len() >= 3);
        assert_eq!(
            lever_texts().count(),
            names.len(),
            "a .toml for every .patch"
        );
        for name in names {
            let text = patch_text(&name).expect("there");
            assert!(
                text.contains("\n--- a/") && text.contains("\n@@ "),
                "{name}"
            );
            let lever = levers.iter().find(|lever| lever.id() == name);
            let lever = lever.unwrap_or_else(|| panic!("{name} is no lever"));
            assert!(
                lever.only_named(),
                "{name}: a build is made only when asked for"
            );
            let (families, readme) = (
                lever.when().clone(),
                include_str!("../../../patches/README.md"),
            );
            assert!(
                families.mariadb.is_some() || families.mysql.is_some(),
                "{name}"
            );
            assert!(
                readme.contains(&format!("| `{name}` |")),
                "{name} in patches/README.md"
            );
        }
        let error = patch_text("nothing").expect_err("unknown").to_string();
        assert!(error.contains("socket-reads-buffered"), "{error}");
    }
}
