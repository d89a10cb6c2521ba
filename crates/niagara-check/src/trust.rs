//! What the word of the server compared with is worth.

use std::fs;

use anyhow::{Context, Result};
use niagara_model::{CheckNote, Objection, SkipReason};
use niagara_server::{Cache, Catalog, Install, ServerDescription, file_digest, installed};

/// The catalogue's server of the family and series of `install`.
pub(super) fn packaged<'a>(
    catalog: &'a Catalog,
    install: &Install,
) -> Option<&'a ServerDescription> {
    let (family, series) = (install.family, install.version.series());
    catalog
        .iter()
        .find(|known| known.family == family && known.series == series)
}

/// That there is none to compare answers with.
pub(super) fn no_packaged(install: &Install) -> SkipReason {
    SkipReason::NothingToCompareWith {
        family: install.family.to_string(),
        series: install.version.series(),
    }
}

/// Why a comparison of `ours` with `theirs` recommends nothing, even where nothing differs; none for the packaged server
/// of the own series. A server agrees with itself, another build of the same patch has the same fault, and another branch
/// is asked only what is equal everywhere.
///
/// # Errors
/// A binary or the folder of fetched servers cannot be read.
pub(super) fn objection(
    cache: &Cache,
    ours: &Install,
    theirs: &Install,
) -> Result<Option<Objection>> {
    let place = |install: &Install| {
        let server = &install.server;
        fs::canonicalize(server)
            .with_context(|| format!("cannot read the binary {}", server.display()))
    };
    let (our_place, their_place) = (place(ours)?, place(theirs)?);
    if our_place == their_place {
        return Ok(Some(Objection::SameServer));
    }
    if ours.family != theirs.family || ours.version.series() != theirs.version.series() {
        return Ok(Some(Objection::OtherSeries {
            server: theirs.name.clone(),
            version: theirs.version_string.clone(),
            ours: ours.version_string.clone(),
        }));
    }
    let mut packaged = false;
    for fetched in installed(cache)? {
        packaged |= place(&fetched)? == their_place;
    }
    if !packaged {
        return Ok(Some(Objection::NotPackaged {
            server: theirs.name.clone(),
        }));
    }
    // A copy of the packaged server.
    if file_digest(&our_place)? == file_digest(&their_place)? {
        return Ok(Some(Objection::SameServer));
    }
    Ok(None)
}

/// The objection as a part's note.
pub(super) fn recommends_nothing(objection: Objection) -> CheckNote {
    CheckNote::RecommendsNothing { objection }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use niagara_server::Family;

    use super::*;

    fn install(name: &str, version: &str, folder: &Path, binary: &str) -> Install {
        let server = folder.join("usr/sbin/mariadbd");
        fs::create_dir_all(server.parent().expect("a folder")).expect("created");
        fs::write(&server, binary).expect("written");
        Install {
            name: name.into(),
            family: Family::Mariadb,
            version: version.parse().expect("a version"),
            version_string: format!("{version}-MariaDB"),
            basedir: folder.join("usr"),
            server,
            mallocs: BTreeMap::new(),
            own_malloc: "glibc".into(),
            packages: BTreeMap::new(),
            plugins: Vec::new(),
            libraries: None,
        }
    }

    /// A server as `niagara server get` leaves it.
    fn fetched(cache: &Cache, name: &str, version: &str, binary: &str) -> Install {
        let folder = cache.root().join("servers").join(name);
        let install = install(name, version, &folder, binary);
        let manifest = serde_json::to_vec(&install).expect("as JSON");
        fs::write(folder.join("install.json"), manifest).expect("written");
        install
    }

    #[test]
    fn only_the_packaged_server_of_the_own_series_recommends() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let cache = Cache::at(&folder.path().join("cache")).expect("a cache");
        let packaged = fetched(&cache, "mariadb-10.11", "10.11.19", "packaged");
        let other_series = fetched(&cache, "mariadb-11.8", "11.8.6", "other series");
        let build = |name: &str, binary: &str| {
            let folder = cache.root().join("builds").join(name).join("prefix");
            install(name, "10.11.18", &folder, binary)
        };
        let (ours, other) = (build("ours", "fast"), build("other", "plain"));
        let copy = build("copy", "packaged");
        let mut branch = fetched(&cache, "mysql", "10.11.19", "another branch");
        branch.family = Family::Mysql;

        let said =
            |ours: &Install, theirs: &Install| objection(&cache, ours, theirs).expect("read");
        assert_eq!(said(&ours, &packaged), None);
        for (ours, theirs, why) in [
            (&ours, &ours, "agrees with itself"),
            (&packaged, &packaged, "agrees with itself"),
            (&copy, &packaged, "agrees with itself"),
            (&ours, &other, "other is not the packaged server"),
            (&ours, &other_series, "is of another series"),
            (&ours, &branch, "is of another series"),
        ] {
            let told = said(ours, theirs).expect("an objection").to_string();
            assert!(told.contains(why), "{} {}: {told}", ours.name, theirs.name);
        }
        fs::remove_file(&ours.server).expect("removed");
        let error = objection(&cache, &ours, &packaged).expect_err("no binary");
        assert!(
            error.to_string().contains("cannot read the binary"),
            "{error}"
        );
    }
}
