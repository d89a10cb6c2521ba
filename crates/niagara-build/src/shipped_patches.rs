//! The source changes that come with the program: `data/patches/NAME.patch` with `data/patches/NAME.toml`.

use anyhow::Result;
use include_dir::{Dir, include_dir};
use niagara_error::anyhow;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../data/patches");

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
                "there is no patch `{name}`";
                remedy: "name one of: {}", patch_names().join(", ")
            )
        })
}

/// Name and text of every patch's lever, its change of the build included; what `NAME.toml` says stays on its lines.
pub fn lever_texts() -> impl Iterator<Item = (String, String)> {
    BUILT_IN.files().filter_map(|file| {
        let name = file.path().file_name()?.to_str()?.strip_suffix(".toml")?;
        let text = file.contents_utf8()?;
        Some((
            name.to_owned(),
            format!("{text}\n[change.build]\npatches = \"{name}\"\n"),
        ))
    })
}
