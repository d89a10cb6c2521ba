//! The names of a packaged server's functions, from the distribution's debug packages.
//!
//! Packages are stripped; their symbols are in packages beside them: the C library's (`libc6-dbg`) in the archive
//! itself, the servers' (`…-dbgsym`) in an archive of its own, which not every mirror carries. They are fetched like the
//! server, without root and into the cache. Which file belongs to which binary is told by its build-id, so that a package
//! of another version does no harm.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::cache::{Cache, WorkFolder};
use crate::install::Install;
use crate::obtain::archive::{Apt, unpack_as_it_is};
use crate::obtain::catalog::{Archive, ServerDescription};

/// What could not be fetched is tried again after this time.
const TRY_AGAIN: Duration = Duration::from_secs(24 * 3600);
const RECORD: &str = "symbols.json";

/// Where symbols are, and what could not be had.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebugSymbols {
    /// The folder laid out as `/usr/lib/debug`; it may be empty.
    pub folder: PathBuf,
    /// Packages fetched.
    pub packages: Vec<String>,
    /// Packages that could not be fetched, each with the reason.
    pub missing: Vec<String>,
}

/// Fetches the symbols of a packaged server and of its C library, or returns what was fetched before. A package that
/// cannot be had is no error: it is listed.
///
/// # Errors
/// The cache cannot be written to.
pub fn debug_symbols(
    cache: &Cache,
    install: &Install,
    description: &ServerDescription,
    progress: &mut dyn FnMut(&str),
) -> Result<DebugSymbols> {
    let place = cache.root().join("symbols").join(install.identity());
    let known = || -> Option<DebugSymbols> {
        let record = place.join(RECORD);
        let found: DebugSymbols = serde_json::from_slice(&fs::read(&record).ok()?).ok()?;
        let age = SystemTime::now().duration_since(fs::metadata(&record).ok()?.modified().ok()?);
        (found.missing.is_empty() || age.is_ok_and(|age| age < TRY_AGAIN)).then_some(found)
    };
    if let Some(found) = known() {
        return Ok(found);
    }
    let _lock = cache.lock(&format!("symbols-{}", install.name), &mut || {
        progress("waiting: somebody else fetches the same symbols");
    })?;
    if let Some(found) = known() {
        return Ok(found);
    }
    let parent = cache.root().join("symbols");
    let work = WorkFolder::beside(&parent, "symbols")?;
    let mut found = DebugSymbols {
        folder: place.join("usr/lib/debug"),
        ..DebugSymbols::default()
    };
    for wanted in wanted(description) {
        progress(&format!("fetching {}", wanted.package));
        // The very version first: the archive may have moved on.
        let exact = install
            .packages
            .get(&wanted.of)
            .map(|version| format!("{}={version}", wanted.package));
        match from_any(&wanted.archives, &work, &wanted.package, exact.as_deref()) {
            Ok(()) => found.packages.push(wanted.package),
            Err(error) => {
                let text = format!("{error:#}");
                let short = text
                    .lines()
                    .find(|line| line.starts_with("E:"))
                    .or(text.lines().next());
                found.missing.push(format!(
                    "{}: {}",
                    wanted.package,
                    short.unwrap_or("it cannot be fetched")
                ));
            }
        }
    }
    if place.exists() {
        fs::remove_dir_all(&place)
            .with_context(|| format!("cannot replace {}", place.display()))?;
    }
    let files = work.path().join("files");
    fs::create_dir_all(&files)?;
    fs::write(files.join(RECORD), serde_json::to_vec_pretty(&found)?)?;
    fs::rename(&files, &place).with_context(|| format!("cannot write {}", place.display()))?;
    Ok(found)
}

/// A package of symbols.
struct Wanted {
    package: String,
    /// The package whose version it has.
    of: String,
    /// Where it is looked for, one after another: a mirror may carry some of them.
    archives: Vec<Archive>,
}

/// The symbols of the C library and of the server itself.
fn wanted(description: &ServerDescription) -> Vec<Wanted> {
    let mut wanted = vec![Wanted {
        package: "libc6-dbg".to_owned(),
        of: "libc6".to_owned(),
        archives: vec![description.archive.clone()],
    }];
    let debug_archives = debug_suites(&description.archive.suites)
        .into_iter()
        .rev()
        .map(|suite| Archive {
            distribution: description.archive.distribution,
            repository: None,
            suites: vec![suite],
        });
    wanted.extend(description.packages.first().map(|package| Wanted {
        package: format!("{package}-dbgsym"),
        of: package.clone(),
        archives: debug_archives.collect(),
    }));
    wanted
}

/// Unpacks the package from the first of these archives that has it: the exact version, else the one that is there.
fn from_any(
    archives: &[Archive],
    work: &WorkFolder,
    package: &str,
    exact: Option<&str>,
) -> Result<()> {
    let mut last = Ok(());
    for archive in archives {
        let state = work.path().join("apt");
        last = Apt::open(&state, archive).and_then(|apt| {
            let deb = match exact.map(|exact| apt.download_alone(exact)) {
                Some(Ok(deb)) => deb,
                Some(Err(_)) | None => apt.download_alone(package)?,
            };
            unpack_as_it_is(&deb, &work.path().join("files"))
        });
        let _ = fs::remove_dir_all(&state);
        if last.is_ok() {
            break;
        }
    }
    last
}

/// The suites of the debug archive: `bookworm` → `bookworm-debug`; updates have none of their own.
fn debug_suites(suites: &[String]) -> Vec<String> {
    let of_release = suites.iter().filter(|suite| !suite.ends_with("-updates"));
    of_release.map(|suite| format!("{suite}-debug")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_of_the_debug_archive() {
        let suites = ["bookworm", "bookworm-updates", "bookworm-security"].map(str::to_owned);
        assert_eq!(
            debug_suites(&suites),
            ["bookworm-debug", "bookworm-security-debug"]
        );
    }

    #[test]
    fn the_symbols_of_the_c_library_are_fetched_by_build_id() -> Result<()> {
        let shared = Cache::open()?;
        let catalog = crate::Catalog::load(&[])?;
        let description = catalog.get("mariadb-10.11")?;
        let install = crate::get(&shared, description, &mut |_| {})?;
        let found = debug_symbols(&shared, &install, description, &mut |_| {})?;
        assert!(
            found.packages.iter().any(|package| package == "libc6-dbg"),
            "{found:?}"
        );
        assert!(found.folder.join(".build-id").is_dir(), "{found:?}");
        // What this mirror does not carry is named with its package.
        assert!(found.packages.len() + found.missing.len() == 2, "{found:?}");
        Ok(())
    }
}
