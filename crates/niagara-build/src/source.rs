//! The source that a server is built from: a distribution's source package, or a tree of the user's.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use niagara_error::{Remedy as _, bail};
use nix::fcntl::Flock;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::in_use::{InUse, use_name};
use crate::lock::lock;
use crate::patch::Patch;
use crate::step::BuildStopped;
use niagara_server::archive::{Apt, SourceDownload};
use niagara_server::file_name;
use niagara_server::{BuildDescription, EarlierSource, ServerDescription};
use niagara_server::{Cache, WorkFolder, write_private};
use niagara_server::{Family, Version};

const MANIFEST: &str = "source.json";
/// What a patched tree was made from.
const PATCHED: &str = "patched.json";
/// Held while a source is fetched, patched or removed.
pub(crate) const SOURCES_LOCK: &str = "sources";

/// A source tree that can be built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// `mariadb 1:10.11.18-0+deb12u1`, or the tree's path.
    pub name: String,
    /// Stands for the content, patches aside.
    pub digest: String,
    /// The tree itself.
    pub tree: PathBuf,
    /// The branch its `VERSION` file speaks of.
    pub family: Family,
    /// The version there.
    pub version: Version,
}

impl Source {
    /// The tree at `path`. Its content is known by the names, sizes and times of its files.
    ///
    /// # Errors
    /// No tree of a server there.
    pub fn from_path(path: &Path) -> Result<Source> {
        let tree = path
            .canonicalize()
            .with_context(|| format!("there is no source tree {}", path.display()))?;
        let (family, version) = version_of(&tree)?;
        let mut hasher = Sha256::new();
        digest_folder(&tree, &mut hasher)?;
        Ok(Source {
            name: tree.display().to_string(),
            digest: hex::encode(&hasher.finalize()[..16]),
            tree,
            family,
            version,
        })
    }

    /// The source package of a server: the newest of its series that is here, else the newest that the archive hands
    /// out; with `refresh` the archive is asked even so. A version that the archive lists but does not have (security
    /// archives are not mirrored everywhere) gives way to the next older one, which `progress` hears of. It stays as long as
    /// what comes with it says that it is used.
    ///
    /// # Errors
    /// Nothing to fetch it from; no tools to unpack it; a package that was tampered with; [`BuildStopped`] once
    /// `cancelled` says so.
    pub(crate) fn of_package(
        cache: &Cache,
        server: &ServerDescription,
        build: &BuildDescription,
        refresh: bool,
        cancelled: &dyn Fn() -> bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Source, InUse)> {
        let here = || -> Result<Option<(Source, InUse)>> {
            let found = match refresh {
                true => None,
                false => Source::of_package_here(cache, server, build),
            };
            let Some(source) = found else {
                return Ok(None);
            };
            let in_use = source.hold(cache)?;
            // It may have been removed before it was held.
            Ok(source.tree.is_dir().then_some((source, in_use)))
        };
        if let Some(held) = here()? {
            return Ok(held);
        }
        let _lock = lock(cache, SOURCES_LOCK, cancelled, &mut || {
            progress(&format!(
                "waiting: somebody else fetches the source of {}",
                server.name
            ));
        })?;
        if let Some(held) = here()? {
            return Ok(held);
        }
        let source = fetch(&sources(cache), server, build, cancelled, progress)?;
        let in_use = source.hold(cache)?;
        Ok((source, in_use))
    }

    /// The source package of a server, where it is here: the newest of its series.
    pub(crate) fn of_package_here(
        cache: &Cache,
        server: &ServerDescription,
        build: &BuildDescription,
    ) -> Option<Source> {
        find(&sources(cache), server, build)
    }

    /// Says that it is used.
    fn hold(&self, cache: &Cache) -> Result<InUse> {
        InUse::of(cache, &self.use_key())
    }

    /// What it is held under.
    fn use_key(&self) -> String {
        format!("source-{}", self.digest)
    }

    /// This source with `patches` applied: a tree of its own that shares the untouched files.
    ///
    /// # Errors
    /// A patch that does not apply; [`BuildStopped`] once `cancelled` says so while another command unpacks a source.
    pub(crate) fn patched(
        &self,
        cache: &Cache,
        patches: &[Patch],
        cancelled: &dyn Fn() -> bool,
    ) -> Result<PathBuf> {
        if patches.is_empty() {
            return Ok(self.tree.clone());
        }
        let mut hasher = Sha256::new();
        hasher.update(self.digest.as_bytes());
        for patch in patches {
            hasher.update(patch.text.as_bytes());
        }
        let name = format!("patched-{}", hex::encode(&hasher.finalize()[..8]));
        let folder = sources(cache);
        let destination = folder.join(&name);
        let from = PatchedFrom {
            source: self.name.clone(),
            patches: patches.iter().map(|patch| patch.name.clone()).collect(),
        };
        let from = serde_json::to_vec_pretty(&from)?;
        let _lock = lock(cache, SOURCES_LOCK, cancelled, &mut || {})?;
        if destination.join("tree").is_dir() {
            write_private(&destination.join(PATCHED), &from)?;
            return Ok(destination.join("tree"));
        }
        let work = WorkFolder::beside(&folder, "patched")?;
        write_private(&work.path().join(PATCHED), &from)?;
        let tree = work.path().join("tree");
        link_tree(&self.tree, &tree)?;
        for patch in patches {
            patch.apply(&tree)?;
        }
        work.rename(&destination)?;
        Ok(destination.join("tree"))
    }
}

/// What a patched tree was made from.
#[derive(Serialize, Deserialize)]
struct PatchedFrom {
    /// The source's name.
    source: String,
    /// The names of the patches.
    patches: BTreeSet<String>,
}

/// The source trees that no build was made from, by `is_made_from`, which is told a source's name and the patches of a patched
/// tree: the folders of those that nobody uses, each with what says that nobody begins to while it is held. To be called with
/// [`SOURCES_LOCK`] held.
///
/// # Errors
/// A lock that cannot be had.
pub(crate) fn unneeded(
    cache: &Cache,
    is_made_from: &dyn Fn(&str, Option<&BTreeSet<String>>) -> bool,
) -> Result<Vec<(PathBuf, Option<Flock<File>>)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(sources(cache)).into_iter().flatten().flatten() {
        let folder = entry.path();
        if !folder.is_dir() {
            continue; // The lock of a tree in the making.
        }
        let mut alone = None;
        if let Some(source) = manifest::<Source>(&folder.join(MANIFEST)) {
            if is_made_from(&source.name, None) {
                continue;
            }
            alone = cache.try_lock(&use_name(&source.use_key()))?;
            if alone.is_none() {
                continue;
            }
        } else if let Some(from) = manifest::<PatchedFrom>(&folder.join(PATCHED))
            && is_made_from(&from.source, Some(&from.patches))
        {
            continue;
        }
        // Whatever else lies here is what was left half-way.
        found.push((folder, alone));
    }
    Ok(found)
}

/// What a file that describes a tree says; none where there is none that can be read.
fn manifest<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Fetches the newest version of a source package that the archive has, into a folder of its own in `folder`.
fn fetch(
    folder: &Path,
    server: &ServerDescription,
    build: &BuildDescription,
    cancelled: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(&str),
) -> Result<Source> {
    let package = &build.source;
    let work = WorkFolder::beside(folder, &server.name)?;
    progress(&format!(
        "reading the source lists of {}",
        server.archive.suites.join(", ")
    ));
    // Ctrl-C ends apt-get, too: what it says of that is not what went wrong.
    let unless_stopped = |error| match cancelled() {
        true => BuildStopped.into(),
        false => error,
    };
    let apt =
        Apt::open_sources(&work.path().join("apt"), &server.archive).map_err(unless_stopped)?;
    let mut missing = Vec::new();
    let listed = apt.source_versions(package)?.into_iter().map(Offer::Listed);
    let earlier = build.earlier.iter().cloned().map(Offer::Earlier);
    for offer in listed.chain(earlier) {
        if cancelled() {
            return Err(BuildStopped.into());
        }
        let version = offer.version().to_owned();
        let name = format!("{package} {version}");
        if let Some(source) = all(folder).into_iter().find(|here| here.name == name) {
            return Ok(source);
        }
        progress(&format!("downloading the source of {name}"));
        let download = match &offer {
            Offer::Listed(version) => apt.download_source(package, version),
            Offer::Earlier(earlier) => apt.download_earlier_source(package, earlier),
        };
        match download.map_err(unless_stopped)? {
            SourceDownload::Here(dsc) => {
                if cancelled() {
                    return Err(BuildStopped.into());
                }
                progress(&format!("unpacking {name}"));
                return unpack(work, folder, server, package, &version, &dsc);
            }
            SourceDownload::NotThere(told) => {
                progress(&format!(
                    "the archive does not have {name} ({told}); trying an older one"
                ));
                missing.push(told);
            }
        }
    }
    bail!(
        "the archive has none of the versions of the source package {package} that it lists or that are known from before:\n{}",
        missing.join("\n");
        remedy: "name another mirror in NIAGARA_DEBIAN_MIRROR and NIAGARA_DEBIAN_SECURITY_MIRROR, or \
         build a source tree of your own (source)"
    )
}

/// A version of a source package that can be asked for.
enum Offer {
    /// One that the archive's lists have.
    Listed(String),
    /// One that they had.
    Earlier(EarlierSource),
}

impl Offer {
    fn version(&self) -> &str {
        match self {
            Offer::Listed(version) => version,
            Offer::Earlier(earlier) => &earlier.version,
        }
    }
}

/// Unpacks a source package in `work` and moves it to its place in `folder`.
fn unpack(
    work: WorkFolder,
    folder: &Path,
    server: &ServerDescription,
    package: &str,
    version: &str,
    dsc: &Path,
) -> Result<Source> {
    let tree = work.path().join("tree");
    let output = Command::new("dpkg-source")
        .args(["--no-check", "-x"])
        .args([dsc, tree.as_path()])
        .env("LC_ALL", "C")
        .output()
        .context("cannot run dpkg-source")
        .remedy("apt install dpkg-dev patch")?;
    if !output.status.success() {
        bail!(
            "dpkg-source -x {} failed: {}", dsc.display(), String::from_utf8_lossy(&output.stderr).trim();
            remedy: "room on the disk, then the same command; it fetches the source anew"
        );
    }
    let (family, found) = version_of(&tree)?;
    if found.series() != server.series {
        bail!(
            "the archive holds the source of {found}, not of {}", server.series;
            remedy: "name that series, or a source tree by its path (--source)"
        );
    }
    let dsc_digest = Sha256::digest(fs::read(dsc)?);
    fs::remove_dir_all(work.path().join("apt"))?;
    let destination = folder.join(file_name(&format!("{package}-{version}")));
    let source = Source {
        name: format!("{package} {version}"),
        digest: hex::encode(&dsc_digest[..16]),
        tree: destination.join("tree"),
        family,
        version: found,
    };
    write_private(
        &work.path().join(MANIFEST),
        &serde_json::to_vec_pretty(&source)?,
    )?;
    if destination.exists() {
        fs::remove_dir_all(&destination)?;
    }
    work.rename(&destination)?;
    Ok(source)
}

/// Where sources are kept.
pub(crate) fn sources(cache: &Cache) -> PathBuf {
    cache.root().join("builds/sources")
}

/// The newest source of this server's package and series that is here.
fn find(folder: &Path, server: &ServerDescription, build: &BuildDescription) -> Option<Source> {
    let package = format!("{} ", build.source);
    let of_server = |source: &Source| {
        source.name.starts_with(&package) && source.version.series() == server.series
    };
    // The archive's versions of one release of the server are told apart by when they were fetched: never an older one
    // after a newer one.
    all(folder)
        .into_iter()
        .filter(of_server)
        .max_by_key(|source| {
            let manifest = source.tree.with_file_name(MANIFEST);
            let fetched = fs::metadata(manifest).and_then(|found| found.modified());
            (source.version, fetched.ok())
        })
}

/// The tree of the source package of this name (`mariadb 1:10.11.18-0+deb12u1`), where it is here.
pub(crate) fn tree_of(cache: &Cache, name: &str) -> Option<PathBuf> {
    let mut here = all(&sources(cache)).into_iter();
    here.find(|source| source.name == name)
        .map(|source| source.tree)
}

/// All source packages that are here.
fn all(folder: &Path) -> Vec<Source> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| manifest(&entry.path().join(MANIFEST)))
        .filter(|source: &Source| source.tree.is_dir())
        .collect()
}

/// Family and version by the tree's own file: `VERSION` (MariaDB), `MYSQL_VERSION` or `VERSION` (MySQL).
fn version_of(tree: &Path) -> Result<(Family, Version)> {
    let read = |name: &str| fs::read_to_string(tree.join(name)).ok();
    let text = read("MYSQL_VERSION").or_else(|| read("VERSION"));
    let field = |name: &str| -> Option<u32> {
        text.as_ref()?.lines().find_map(|line| {
            line.trim()
                .strip_prefix(name)?
                .strip_prefix('=')?
                .trim()
                .parse()
                .ok()
        })
    };
    let numbers = (
        field("MYSQL_VERSION_MAJOR"),
        field("MYSQL_VERSION_MINOR"),
        field("MYSQL_VERSION_PATCH"),
    );
    let (Some(major), Some(minor), Some(patch)) = numbers else {
        bail!(
            "{} is not a source tree of a MySQL-family server: no VERSION or MYSQL_VERSION file with \
             MYSQL_VERSION_MAJOR, MINOR and PATCH", tree.display();
            remedy: "give the top folder of the tree"
        );
    };
    // MariaDB's numbers begin at 10, MySQL's have not come that far.
    let family = match major >= 10 && read("MYSQL_VERSION").is_none() {
        true => Family::Mariadb,
        false => Family::Mysql,
    };
    Ok((
        family,
        Version {
            major,
            minor,
            patch,
        },
    ))
}

/// Names, sizes and times of all files but those of version control.
fn digest_folder(folder: &Path, hasher: &mut Sha256) -> Result<()> {
    let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name();
        let metadata = entry.metadata()?;
        if metadata.is_dir() {
            if name != ".git" {
                hasher.update(name.as_encoded_bytes());
                digest_folder(&entry.path(), hasher)?;
            }
        } else {
            hasher.update(name.as_encoded_bytes());
            for number in [
                metadata.len() as i64,
                metadata.mtime(),
                metadata.mtime_nsec(),
            ] {
                hasher.update(number.to_le_bytes());
            }
        }
    }
    Ok(())
}

/// The same folders with hard links to the same files; patch(1) replaces what it changes, it does not write into it.
fn link_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_tree(&entry.path(), &target)?;
        } else if entry.file_type()?.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, target)?;
        } else {
            fs::hard_link(entry.path(), &target)
                .or_else(|_| fs::copy(entry.path(), &target).map(drop))
                .with_context(|| format!("cannot link {}", target.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shipped_patches::{lever_texts, patch_names, patch_text};
    use niagara_server::Catalog;

    /// Whether the patch's own file says that it is for such a server: `mariadb = ">=10.11, <11.9"` under `[when]`.
    fn is_for(name: &str, source: &Source) -> bool {
        let mut texts = lever_texts();
        let (_, text) = texts.find(|(lever, _)| lever == name).expect("described");
        let text: toml::Table = text.parse().expect("valid");
        let branch = source.family.to_string().to_lowercase();
        let Some(range) = text["when"].get(branch).and_then(toml::Value::as_str) else {
            return false;
        };
        let version = |text: &str| -> Version { text.parse().expect("a version") };
        range.split(", ").all(|term| {
            let from = term.strip_prefix(">=").map(version);
            let below = term.strip_prefix('<').map(version);
            from.is_none_or(|from| from <= source.version)
                && below.is_none_or(|below| source.version < below)
        })
    }

    /// Of whatever sources were fetched for builds; where none was, nothing is fetched for this.
    #[test]
    fn every_patch_fits_the_sources_that_are_here() {
        let cache = Cache::open().expect("the shared cache");
        for source in all(&sources(&cache)) {
            for name in patch_names() {
                if !is_for(&name, &source) {
                    continue;
                }
                let text = patch_text(&name).expect("shipped").to_owned();
                let fits = Patch { name, text }.fits(&source.tree);
                fits.unwrap_or_else(|error| panic!("{}: {error:#}", source.name));
            }
        }
    }

    #[test]
    fn a_patch_is_for_the_servers_that_its_file_names() {
        let source = |family, version: &str| Source {
            name: String::new(),
            digest: String::new(),
            tree: PathBuf::new(),
            family,
            version: version.parse().expect("a version"),
        };
        let name = "heap-table-name-inside";
        for (family, version, is) in [
            (Family::Mariadb, "10.11.18", true),
            (Family::Mariadb, "11.8.6", true),
            (Family::Mariadb, "11.9.0", false),
            (Family::Mysql, "9.7.2", false),
        ] {
            assert_eq!(is_for(name, &source(family, version)), is, "{version}");
        }
    }

    #[test]
    fn of_two_packages_of_one_release_the_one_fetched_last_is_taken() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let catalog = Catalog::load(&[]).expect("valid files");
        let server = catalog.get("mariadb-10.11").expect("known");
        let build = server.build.as_ref().expect("can be built");
        let put = |version: &str, release: &str, age: u64| {
            let place = folder.path().join(file_name(version));
            fs::create_dir_all(place.join("tree")).expect("made");
            let source = Source {
                name: format!("mariadb {version}"),
                digest: version.to_owned(),
                tree: place.join("tree"),
                family: Family::Mariadb,
                version: release.parse().expect("a version"),
            };
            let manifest = place.join(MANIFEST);
            fs::write(&manifest, serde_json::to_vec(&source).expect("JSON")).expect("written");
            let then = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
            let file = fs::File::options().write(true).open(manifest);
            file.and_then(|file| file.set_modified(then)).expect("set");
        };
        put("1:10.11.18-0+deb12u2", "10.11.18", 10);
        put("1:10.11.18-0+deb12u1", "10.11.18", 99);
        put("1:10.11.17-0+deb12u1", "10.11.17", 0);
        put("1:11.8.6-0+deb13u1", "11.8.6", 0);
        let found = find(folder.path(), server, build).expect("there");
        assert_eq!(found.digest, "1:10.11.18-0+deb12u2");
    }
}
