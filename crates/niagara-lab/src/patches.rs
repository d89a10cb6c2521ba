//! Source changes: `patches/NAME.patch` with `patches/NAME.toml`, each a lever that changes the build.

use anyhow::{Context, Result, anyhow, bail};
use include_dir::{Dir, include_dir};
use niagara_server::Family;
use niagara_server::build::{Patch, Source};

use crate::lever;

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

/// The patch of this name for `source`, of a version that its `[when]` names.
///
/// # Errors
/// No patch has this name; it was not written for this version.
pub(crate) fn patch(name: &str, source: &Source) -> Result<Patch> {
    let text = patch_text(name)?;
    let levers = lever::load(&[])?;
    let lever = levers
        .iter()
        .find(|lever| lever.id() == name)
        .with_context(|| format!("patches/{name}.patch has no {name}.toml beside it"))?;
    let when = lever.when();
    let range = when.range(source.family);
    if when.names_families() && !range.is_some_and(|range| range.holds(&source.version)) {
        let fits: Vec<String> = [Family::Mariadb, Family::Mysql, Family::Percona]
            .iter()
            .filter_map(|family| Some(format!("{family} {}", when.range(*family)?)))
            .collect();
        bail!(
            "the patch {name} is not for {} {} ({}): it is written for {}\n\
             remedy: leave it out, build a version that it is written for, or write it anew for this one \
             (patches/README.md)",
            source.family,
            source.version,
            source.name,
            fits.join(" and ")
        );
    }
    Ok(Patch {
        name: name.to_owned(),
        text: text.to_owned(),
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

    #[test]
    fn a_patch_is_for_the_versions_that_it_names() {
        let source = |family, version: &str| Source {
            name: "/a/tree".into(),
            digest: "d".into(),
            tree: "/a/tree".into(),
            family,
            version: version.parse().expect("a version"),
        };
        let of = |family, version| patch("metadata-tickets-kept", &source(family, version));
        let fits = of(Family::Mariadb, "10.11.18").expect("fits");
        assert!(fits.text.contains("\n--- a/sql/mdl.cc"));
        for (family, version) in [(Family::Mariadb, "12.0.2"), (Family::Mysql, "9.7.4")] {
            let error = of(family, version).expect_err("another").to_string();
            for part in [
                "metadata-tickets-kept",
                version,
                "MariaDB >=10.11, <11.9",
                "remedy",
            ] {
                assert!(error.contains(part), "{part}: {error}");
            }
        }
    }

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
