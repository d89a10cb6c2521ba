//! Source changes: `data/patches/NAME.patch` with `data/patches/NAME.toml`, each a lever that changes the build.

use anyhow::{Context, Result};
use niagara_build::{Patch, Source, patch_text};
use niagara_error::bail;
use niagara_server::Family;

use crate::lever;

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
            "the patch {name} is not for {} {} ({}): it is written for {}",
            source.family,
            source.version,
            source.name,
            fits.join(" and ");
            remedy: "leave it out, build a version that it is written for, or write it again for this one \
             (data/patches/README.md)"
        );
    }
    Ok(Patch {
        name: name.to_owned(),
        text: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use niagara_build::{lever_texts, patch_names};
    use niagara_error::Explain as _;

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
            let error = of(family, version)
                .expect_err("another")
                .explain()
                .to_string();
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
            let lever = lever.unwrap_or_else(|| panic!("{name} is not a lever"));
            assert!(
                lever.only_named,
                "{name}: a build is made only when asked for"
            );
            let (families, readme) = (
                lever.when().clone(),
                include_str!("../../../../data/patches/README.md"),
            );
            assert!(
                families.mariadb.is_some() || families.mysql.is_some(),
                "{name}"
            );
            assert!(
                readme.contains(&format!("| `{name}` |")),
                "{name} in data/patches/README.md"
            );
        }
        let error = patch_text("nothing")
            .expect_err("unknown")
            .explain()
            .to_string();
        assert!(error.contains("socket-reads-buffered"), "{error}");
    }
}
